//! Moments as bytes and back, in the container of the frozen files.

use super::container::{Container, Numbers, write};
use crate::covariance::{Moments, MomentsState};
use crate::error::Result;

/// What the header calls it.
const CLASS: &str = "Moments";

/// Its arrays.
const NAMES: [&str; 7] = ["count", "weight", "epsilon", "mean_high", "mean_low", "exponents", "scatter"];

/// The whole state; [`moments_from_bytes`] gives it back bit for bit.
#[must_use]
pub fn moments_to_bytes(moments: &Moments) -> Vec<u8> {
    let MomentsState { count, weight, mean_high, mean_low, exponents, scatter, epsilon } = moments.state();
    let (one, width, packed) = ([1], [exponents.len()], [scatter.len()]);
    write(
        CLASS,
        &[
            ("count", &one, Numbers::U64(&[count])),
            ("weight", &one, Numbers::F64(&[weight])),
            ("epsilon", &one, Numbers::F64(&[epsilon])),
            ("mean_high", &width, Numbers::F64(&mean_high)),
            ("mean_low", &width, Numbers::F64(&mean_low)),
            ("exponents", &width, Numbers::I32(&exponents)),
            ("scatter", &packed, Numbers::F64(&scatter)),
        ],
    )
}

/// What [`moments_to_bytes`] wrote.
///
/// # Errors
/// [`crate::Error::Value`] for anything else, and for numbers that no rows can have given.
pub fn moments_from_bytes(data: &[u8]) -> Result<Moments> {
    let file = Container::open(data, CLASS, &NAMES)?;
    let width: [usize; 1] = file.shape("exponents")?;
    let packed: [usize; 1] = file.shape("scatter")?;
    let one = |name| Ok(file.read::<f64>(name, &[1])?.first().copied().unwrap_or_default());
    let state = MomentsState {
        count: file.read("count", &[1])?.first().copied().unwrap_or_default(),
        weight: one("weight")?,
        epsilon: one("epsilon")?,
        mean_high: file.read("mean_high", &width)?,
        mean_low: file.read("mean_low", &width)?,
        exponents: file.read("exponents", &width)?,
        scatter: file.read("scatter", &packed)?,
    };
    Moments::from_state(state).ok_or_else(|| file.refuse("numbers that no rows can have given".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::MatrixView;
    use crate::{Team, covariance::MomentsOptions};

    fn moments() -> Moments {
        let data: Vec<f64> = (0..30).map(|i| f64::from((i * 7) % 11) + 1e8).collect();
        Moments::of(MatrixView::new(&data, 10, 3).unwrap(), &MomentsOptions::default(), &Team::solo()).unwrap()
    }

    #[test]
    fn the_state_comes_back_bit_for_bit() {
        for state in [moments(), Moments::new(4).unwrap()] {
            assert_eq!(moments_from_bytes(&moments_to_bytes(&state)).unwrap(), state);
        }
    }

    #[test]
    fn impossible_numbers_are_refused() {
        let good = moments().state();
        let bad = [
            MomentsState { weight: -1.0, ..good.clone() },
            MomentsState { weight: f64::NAN, ..good.clone() },
            MomentsState { scatter: vec![-1.0; 6], ..good.clone() },
            MomentsState { scatter: vec![1.0; 5], ..good.clone() },
            MomentsState { mean_high: vec![f64::INFINITY; 3], ..good.clone() },
            MomentsState { exponents: vec![100_000; 3], ..good.clone() },
            MomentsState { count: 0, ..good.clone() },
            MomentsState { epsilon: 0.9, ..good.clone() },
            MomentsState { scatter: vec![1.0, 5.0, 0.0, 1.0, 0.0, 1.0], ..good.clone() },
            MomentsState { scatter: vec![0.0, 5.0, 0.0, 1.0, 0.0, 1.0], ..good },
        ];
        assert!(bad.into_iter().all(|state| Moments::from_state(state).is_none()));
    }
}
