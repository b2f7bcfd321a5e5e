//! Kernel matrices that come from outside: what makes one.

use crate::error::{Error, Result};
use crate::matrix::{Element, MatrixView};

/// Largest difference between K_ij and K_ji, in units of eps max|K|, that passes for rounding: that of an inner product
/// of a few hundred thousand terms.
const ASYMMETRY: f64 = 1e3;

/// Rows and columns of a square in which a matrix is compared with its transpose: both halves stay in the first cache.
const SQUARE: usize = 32;

/// Square, finite and symmetric to rounding, or an error that says what it is instead. Time O(n^2).
///
/// # Errors
/// [`Error::Value`], [`Error::NotFinite`].
pub fn check_symmetric<T: Element>(k: MatrixView<T>, what: &'static str) -> Result<()> {
    let n = k.rows();
    if k.cols() != n {
        let found = format!("an array of shape ({n}, {})", k.cols());
        return Err(Error::value(what, found, "a square matrix when its kernel is \"precomputed\""));
    }
    let (mut largest, mut off, mut at, mut finite) = (0.0f64, 0.0f64, (0, 0), true);
    for (a, b) in (0..n).step_by(SQUARE).flat_map(|a| (a..n).step_by(SQUARE).map(move |b| (a, b))) {
        for (i, j) in (a..n.min(a + SQUARE)).flat_map(|i| (b..n.min(b + SQUARE)).map(move |j| (i, j))) {
            let (upper, lower) = (k.at(i, j), k.at(j, i));
            largest = largest.max(upper.abs()).max(lower.abs());
            finite &= upper.is_finite() && lower.is_finite();
            if (upper - lower).abs() > off {
                (off, at) = ((upper - lower).abs(), (i, j));
            }
        }
    }
    if !finite {
        k.check_finite(what)?;
    }
    if off > ASYMMETRY * T::EPSILON * largest {
        let (i, j) = at;
        let found = format!("entries ({i}, {j}) = {} and ({j}, {i}) = {}", k.at(i, j), k.at(j, i));
        return Err(Error::value(what, found, "a symmetric matrix when its kernel is \"precomputed\""));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_passes_and_more_is_named_by_place() {
        let check = |data: &[f64], rows: usize| {
            check_symmetric(MatrixView::new(data, rows, data.len() / rows).unwrap(), "K").map_err(|e| e.to_string())
        };
        assert_eq!(check(&[2.0, 1.0, 1.0 + 1e-15, 2.0], 2), Ok(()));
        let refusal = check(&[2.0, 1.0, 0.5, 2.0], 2).unwrap_err();
        assert!(refusal.contains("entries (0, 1) = 1 and (1, 0) = 0.5"), "{refusal}");
        assert!(check(&[1.0, 2.0], 1).unwrap_err().contains("shape (1, 2)"));
        assert!(check(&[1.0, f64::NAN, f64::NAN, 1.0], 2).unwrap_err().contains("NaN"));
    }
}
