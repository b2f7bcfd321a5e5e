//! Sample weights (frequencies): checked once, and brought near 1 chunk by chunk, so that they take no memory of their
//! own.

use crate::error::{Error, Result};
use crate::matrix::{Element, MatrixView};
use crate::power::{exponent, scale};
use crate::simd::Lane;
use crate::simd::panel::Weights;
use std::ops::{Range, RangeInclusive};

/// The argument that errors name.
pub(super) const NAME: &str = "sample_weight";

/// Binary orders of magnitude that the weights of rows summed together may span, in `f32` and in `f64`: they and their
/// products with squares near 1 are normal numbers.
const TOGETHER: [i32; 2] = [120, 1000];
/// The same where lighter rows lie so far away that they count: the products of either end keep their digits in any
/// type.
const APART: i32 = 60;

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

/// What rows count: a frequency, times a factor for each row that has come after them. Rows of frequency 0 are absent
/// and make no other row older.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowWeights<'a> {
    /// One frequency a row, checked; without, each is 1.
    given: Option<&'a [f64]>,
    /// In (0, 1].
    factor: f64,
}

impl<'a> RowWeights<'a> {
    /// Those of `rows` rows; `None` where each counts 1.
    pub(super) fn new(given: Option<&'a [f64]>, factor: f64, rows: usize) -> Result<Option<Self>> {
        given.map_or(Ok(()), |weights| check_weights(weights, rows))?;
        Ok((given.is_some() || factor < 1.0).then_some(Self { given, factor }))
    }
}

/// The weights of one chunk after the other, as they are, and some of them times 4^-level, so that their roots are near
/// 1 in any element type.
#[derive(Debug)]
pub(super) struct ChunkWeights<T> {
    original: Vec<f64>,
    weights: Vec<T>,
    roots: Vec<T>,
    /// The weights taken are measured in units of 4^level.
    pub(super) level: i32,
    /// Number of rows that are present.
    pub(super) count: u64,
}

impl<T> Default for ChunkWeights<T> {
    fn default() -> Self {
        Self { original: Vec::new(), weights: Vec::new(), roots: Vec::new(), level: 0, count: 0 }
    }
}

impl<T: Lane> ChunkWeights<T> {
    /// Takes the rows in `range`: all those that can be summed together with the heaviest. What everything before them
    /// is multiplied by: the factor for each of them.
    pub(super) fn fill(&mut self, rows: RowWeights, range: Range<usize>) -> f64 {
        self.original.clear();
        match rows.given {
            Some(given) => self.original.extend_from_slice(&given[range]),
            None => self.original.resize(range.len(), 1.0),
        }
        self.count = self.original.iter().filter(|w| **w > 0.0).count() as u64;
        let mut kept = 1.0;
        if rows.factor < 1.0 {
            let mut after = 0;
            for weight in self.original.iter_mut().rev().filter(|w| **w > 0.0) {
                *weight *= rows.factor.powi(after);
                after += 1;
            }
            kept = rows.factor.powi(after);
        }
        let heaviest = self.heaviest_below(i32::MAX).unwrap_or(0);
        self.take(heaviest - TOGETHER[usize::from(T::DOUBLE)] + 1..=heaviest);
        kept
    }

    /// Takes the weights of these binary exponents alone; the others are 0.
    pub(super) fn take(&mut self, band: RangeInclusive<i32>) {
        self.level = band.end().div_euclid(2);
        self.weights.clear();
        self.roots.clear();
        for &weight in &self.original {
            let weight = if band.contains(&exponent(weight)) { scale(weight, -2 * self.level) } else { 0.0 };
            self.weights.push(T::of(weight));
            self.roots.push(T::of(weight.sqrt()));
        }
    }

    /// The exponents of the heaviest rows below 2^(exponent - 1) with those that can be summed with them wherever they
    /// lie.
    pub(super) fn band_below(&self, exponent: i32) -> Option<RangeInclusive<i32>> {
        self.heaviest_below(exponent).map(|heaviest| heaviest - APART + 1..=heaviest)
    }

    fn heaviest_below(&self, below: i32) -> Option<i32> {
        let present = self.original.iter().filter(|w| **w > 0.0);
        present.map(|&w| exponent(w)).filter(|&e| e < below).max()
    }

    /// The rows that have been taken, for packing.
    pub(super) fn taken(&self) -> Weights<'_, T> {
        Weights { weights: &self.weights, roots: &self.roots }
    }

    /// Sum of the weights taken.
    pub(super) fn weight(&self) -> f64 {
        self.each().filter(|(_, taken, _)| *taken).map(|(_, _, weight)| weight).sum()
    }

    /// The rows that are present and too light to have been taken, each with its weight.
    pub(super) fn light(&self) -> impl Iterator<Item = (usize, f64)> {
        self.each().filter(|(_, taken, weight)| !taken && *weight > 0.0).map(|(i, _, weight)| (i, weight))
    }

    /// Refuses rows of `x` that have not been taken, so that nobody will look at them, and are not finite.
    pub(super) fn check_others(&self, x: MatrixView<T>) -> Result<()> {
        self.each().filter(|(_, taken, _)| !taken).try_for_each(|(i, ..)| x.rows_in(i..i + 1).check_finite("X"))
    }

    /// Each row, whether it has been taken, and its weight.
    fn each(&self) -> impl Iterator<Item = (usize, bool, f64)> {
        self.original.iter().zip(&self.weights).enumerate().map(|(i, (&w, taken))| (i, *taken != T::zeroed(), w))
    }
}

/// The first row of the largest weight: distances are taken from it, for one that hardly counts may lie so far away
/// that the others are lost beside it.
#[must_use]
pub fn heaviest<T: Element>(weights: &[T]) -> usize {
    let largest = weights.iter().fold(T::of(0.0), |most, &w| if w > most { w } else { most });
    weights.iter().position(|&w| w == largest).unwrap_or(0)
}

/// Sum of weights in their element type.
pub(super) fn total<T: Element>(weights: &[T]) -> f64 {
    weights.iter().map(|&w| w.into()).sum()
}
