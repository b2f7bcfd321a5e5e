//! Sample weights (frequencies), checked and brought near 1.

use crate::error::{Error, Result};
use crate::matrix::{Element, MatrixView};
use crate::power::{exponent, scale};
use crate::simd::Lane;
use crate::simd::panel::Weights;
use std::ops::Range;

/// The argument that errors name.
const NAME: &str = "sample_weight";

/// Refuses weights that are negative, not finite, all zero, or not one for each of `rows` rows.
///
/// # Errors
/// [`Error::Value`], [`Error::Shape`] naming `sample_weight`.
pub fn check_weights(weights: &[f64], rows: usize) -> Result<()> {
    if weights.len() != rows {
        return Err(Error::Shape { what: NAME, found: weights.len(), wanted: rows });
    }
    if let Some(bad) = weights.iter().find(|w| !w.is_finite() || **w < 0.0) {
        return Err(Error::value(NAME, bad, "finite and not negative"));
    }
    let total: f64 = weights.iter().sum();
    if !(total > 0.0 && total.is_finite()) {
        return Err(Error::value(
            NAME,
            format!("weights that sum to {total}"),
            "positive somewhere, with a finite sum",
        ));
    }
    Ok(())
}

/// Weights times 4^-level, so that their roots are near 1 in any element type.
#[derive(Debug)]
pub(super) struct RowWeights<'a, T> {
    original: &'a [f64],
    weights: Vec<T>,
    roots: Vec<T>,
    /// Weights are measured in units of 4^level.
    pub(super) level: i32,
}

impl<'a, T: Lane> RowWeights<'a, T> {
    /// Checks the weights of the rows of `x`; rows left out must still be finite.
    pub(super) fn new(original: &'a [f64], x: MatrixView<T>) -> Result<Self> {
        check_weights(original, x.rows())?;
        let largest = original.iter().copied().fold(0.0, f64::max);
        let level = exponent(largest).div_euclid(2);
        let scaled: Vec<f64> = original.iter().map(|&w| scale(w, -2 * level)).collect();
        let weights: Vec<T> = scaled.iter().map(|&w| T::of(w)).collect();
        for (i, _) in weights.iter().enumerate().filter(|(_, w)| **w == T::zeroed()) {
            x.rows_in(i..i + 1).check_finite("X")?;
        }
        Ok(Self { original, roots: scaled.iter().map(|&w| T::of(w.sqrt())).collect(), weights, level })
    }

    /// The weights of the rows in `range`, for packing.
    pub(super) fn rows(&self, range: Range<usize>) -> Weights<'_, T> {
        Weights { weights: &self.weights[range.clone()], roots: &self.roots[range] }
    }

    /// Number of rows in `range` that are present, and the sum of their weights.
    pub(super) fn count(&self, range: Range<usize>) -> (u64, f64) {
        let original = &self.original[range];
        (original.iter().filter(|w| **w > 0.0).count() as u64, original.iter().sum())
    }
}

/// The first row of the largest weight: distances are taken from it, for one that hardly counts may lie so far away that
/// the others are lost beside it.
#[must_use]
pub fn heaviest<T: Element>(weights: &[T]) -> usize {
    let largest = weights.iter().fold(T::of(0.0), |most, &w| if w > most { w } else { most });
    weights.iter().position(|&w| w == largest).unwrap_or(0)
}

/// Sum of weights in their element type.
pub(super) fn total<T: Element>(weights: &[T]) -> f64 {
    weights.iter().map(|&w| w.into()).sum()
}
