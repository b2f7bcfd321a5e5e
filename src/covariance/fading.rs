//! Rows that count less the more rows have come after them.

use super::moments::{Moments, MomentsOptions};
use super::weights::NAME;
use crate::error::{Error, Result};
use crate::matrix::MatrixView;
use crate::simd::Lane;
use crate::threads::Team;

/// The moments of a batch, and the share of its weight that everything before the batch keeps.
///
/// With a factor f a row of weight w that j rows have followed counts w f^j, so the sizes of the batches do not matter.
/// Rows of weight 0 are absent: they make nothing older.
#[derive(Clone, Debug)]
pub struct Fading {
    pub(super) rows: Moments,
    kept: f64,
}

impl Fading {
    /// Of the rows of `x` (n x d) in their order; `factor` in (0, 1], and 1 forgets nothing.
    ///
    /// # Errors
    /// Those of [`Moments::of`], and [`Error::Value`] for another factor.
    pub fn of<T: Lane>(x: MatrixView<T>, weights: Option<&[f64]>, factor: f64, team: &Team) -> Result<Self> {
        if !(factor > 0.0 && factor <= 1.0) {
            return Err(Error::value("factor", factor, "in (0, 1]"));
        }
        Moments::faded(x, &MomentsOptions { center: true, weights }, factor, team)
    }

    pub(super) fn new(rows: Moments, kept: f64) -> Self {
        Self { rows, kept }
    }

    /// All of the parts, in order; of no rows and no columns without any.
    pub(super) fn joined(mut parts: impl Iterator<Item = Result<Self>>) -> Result<Self> {
        let mut whole = parts.next().unwrap_or_else(|| Ok(Self::new(Moments::new(0)?, 1.0)))?;
        for part in parts {
            let part = part?;
            whole.rows.append(&part)?;
            whole.kept *= part.kept;
        }
        Ok(whole)
    }
}

impl Moments {
    /// Adds a batch; on an error nothing has changed.
    ///
    /// # Errors
    /// [`Error::Shape`] when the number of columns differs, [`Error::Value`] for weights without a finite sum.
    pub fn append(&mut self, batch: &Fading) -> Result<()> {
        let Fading { rows, kept } = batch;
        if rows.dim() != self.dim() {
            return Err(Error::Shape { what: "X", found: rows.dim(), wanted: self.dim() });
        }
        self.sum_of_weights(*kept, rows, NAME)?;
        self.fade(*kept);
        self.add(rows, NAME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [f64; 8] = [1.0, 0.0, 3.0, 4.0, -1.0, 2.0, 0.5, -3.0];

    fn state(splits: &[usize], weights: Option<&[f64]>, factor: f64) -> Moments {
        let mut moments = Moments::new(2).unwrap();
        let mut start = 0;
        for &n in splits {
            let x = MatrixView::new(&ROWS[2 * start..2 * (start + n)], n, 2).unwrap();
            let weights = weights.map(|w| &w[start..start + n]);
            moments.append(&Fading::of(x, weights, factor, &Team::solo()).unwrap()).unwrap();
            start += n;
        }
        moments
    }

    #[test]
    fn the_last_row_counts_whole_and_each_earlier_one_half_of_the_next() {
        let moments = state(&[4], None, 0.5);
        assert_eq!(moments.weight(), 1.0 + 0.5 + 0.25 + 0.125);
        assert_eq!(moments.count(), 4);
        let mean = (0.5 - 0.5 + 0.25 * 3.0 + 0.125) / 1.875;
        assert!((moments.mean()[0] - mean).abs() < 1e-15);
    }

    #[test]
    fn splits_do_not_matter_and_absent_rows_make_nothing_older() {
        for (weights, splits) in [
            (None, &[1, 1, 2][..]),
            (None, &[3, 1]),
            (Some(&[2.0, 0.0, 1.0, 3.0][..]), &[3, 1]),
            (Some(&[2.0, 0.0, 1.0, 3.0][..]), &[1, 3]),
        ] {
            let whole = state(&[4], weights, 0.7).covariance(1.0).unwrap();
            assert!((state(splits, weights, 0.7).covariance(1.0).unwrap() - whole).amax() < 1e-14);
        }
    }

    #[test]
    fn a_weight_that_vanishes_leaves_the_count() {
        let moments = state(&[2, 2], None, 1e-200);
        assert_eq!((moments.count(), moments.mean()), (4, vec![0.5, -3.0]));
    }

    #[test]
    fn another_factor_is_refused() {
        let x = MatrixView::new(&ROWS, 4, 2).unwrap();
        for factor in [0.0, -1.0, 1.5, f64::NAN] {
            assert!(Fading::of(x, None, factor, &Team::solo()).is_err());
        }
    }
}
