//! The pilot of a chunk of rows: a point near its mean and a unit for each column, from a few of its rows.

use super::weights::heaviest;
use crate::matrix::{Element, MatrixView};
use crate::power::{exponent, power};
use crate::simd::panel::{Shift, Weights};
use crate::simd::tiling::Shape;
use crate::simd::{Lane, Spread};
use std::ops::Range;

/// Fewest and most rows in a sample: n/16 of the chunk between them.
const SAMPLE: (usize, usize) = (64, 256);
/// The share of the rows that are sampled is one in this many.
const SHARE: usize = 16;
/// Neighbouring rows sampled together: a cache line of a column, and enough for the prefetcher.
const BLOCK: usize = 8;

/// What the rows of a chunk are measured by.
#[derive(Debug)]
pub(super) struct Pilot<T> {
    /// Column j is measured in units of 2^exponent_j: its largest distance from the center in the sample is near 1.
    pub(super) exponents: Vec<i32>,
    /// The units, and the centers: the mean of the sample, rounded to the element type (0 without centring).
    pub(super) shift: Shift<T>,
    /// Columns that are 0 throughout the sample: their unit is a guess.
    pub(super) guessed: Vec<usize>,
    /// Columns that vary in the sample.
    varying: Vec<usize>,
}

/// Which rows the pilot looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sample {
    /// A few, evenly spread, so that sorted or drifting data are met everywhere.
    Spread,
    /// All of them.
    All,
}

impl<T: Lane> Pilot<T> {
    /// Of the chunk `x`. With weights all rows are looked at: a heavy row outside the sample would spoil the center.
    pub(super) fn of(
        x: MatrixView<T>,
        weights: Option<Weights<T>>,
        centered: bool,
        sample: Sample,
        shape: Shape,
    ) -> Self {
        let weights = weights.map(|w| w.weights);
        let start = weights.map_or(0, heaviest);
        let mut base = vec![T::zeroed(); x.cols()];
        if centered {
            x.copy_rows(start..start + 1, &mut base);
        }
        let mut spread = Spread::new(base);
        let looked_at = if sample == Sample::All || weights.is_some() { x.rows() } else { size(x.rows()) };
        if looked_at == x.rows() {
            look(x, 0..x.rows(), weights, &mut spread);
        } else {
            let blocks = looked_at / BLOCK;
            for b in 0..blocks {
                let start = b * (x.rows() - BLOCK) / (blocks - 1);
                look(x, start..start + BLOCK, None, &mut spread);
            }
        }
        let total = weights.map_or(looked_at as f64, |w| w.iter().map(|&w| w.into()).sum());
        Self::from_spread(spread, total, centered, shape)
    }

    /// Whether a column that was 0 in the sample is not 0, but so small in its guessed unit that `square(j)`, the sum
    /// of its squares, is lost.
    pub(super) fn lost(&self, x: MatrixView<T>, square: impl Fn(usize) -> f64) -> bool {
        let small = <T as Element>::MIN_POSITIVE.sqrt();
        let lost = |&j: &usize| square(j) < small && (0..x.rows()).any(|i| x.at(i, j) != 0.0);
        self.guessed.iter().any(lost)
    }

    /// Whether the rows furthest away weigh so little that the squares of the others have lost digits in their unit:
    /// `square(j)`, the sum of the squares of `rows` rows, each of them off by the smallest normal number.
    pub(super) fn blurred(&self, rows: usize, square: impl Fn(usize) -> f64) -> bool {
        let least = rows as f64 * <T as Element>::MIN_POSITIVE / T::EPSILON;
        self.varying.iter().any(|&j| square(j) < least)
    }

    fn from_spread(spread: Spread<T>, total: f64, centered: bool, shape: Shape) -> Self {
        let range = (exponent(T::MIN_POSITIVE), exponent(T::MAX) - 2);
        let (mut center, cols) = (spread.base, spread.low.len());
        let (mut exponents, mut guessed, mut varying) = (vec![0; cols], Vec::new(), Vec::with_capacity(cols));
        let mut largest = i32::MIN;
        for j in 0..cols {
            let (low, high): (f64, f64) = (spread.low[j].into(), spread.high[j].into());
            if centered {
                let mean = center[j].into() + spread.sum[j].into() / total;
                // Distances beyond the largest number: halfway is near enough.
                center[j] = T::of(if mean.is_finite() { mean } else { 0.5 * low + 0.5 * high });
            }
            let c: f64 = center[j].into();
            let distance = (high - c).max(c - low);
            if distance > 0.0 {
                exponents[j] = exponent(distance).clamp(range.0, range.1);
                largest = largest.max(exponents[j]);
                if low < high {
                    varying.push(j);
                }
            } else if c != 0.0 {
                exponents[j] = exponent(c).clamp(range.0, range.1);
            } else {
                guessed.push(j);
            }
        }
        for &j in &guessed {
            exponents[j] = if largest == i32::MIN { 0 } else { largest };
        }
        let units = exponents.iter().map(|&e| T::of(power(-e)));
        Self { shift: Shift::new(center, units, shape), exponents, guessed, varying }
    }
}

/// Number of rows sampled out of `rows`. The center then lies within sqrt(S_jj / m) of the mean, S_jj the scatter and m
/// the sample, so that the correction loses a factor of at most 1 + n/m <= 33, and about 1 + 1/m unless the sample is
/// singular.
fn size(rows: usize) -> usize {
    let wanted = (rows / SHARE).clamp(SAMPLE.0, SAMPLE.1) / BLOCK * BLOCK;
    if wanted >= rows { rows } else { wanted }
}

/// Adds the rows in `range` to the spread, whatever their layout.
fn look<T: Lane>(x: MatrixView<T>, range: Range<usize>, weights: Option<&[T]>, spread: &mut Spread<T>) {
    if x.has_contiguous_rows() {
        return spread.add(x.rows_in(range.clone()), weights.map(|w| &w[range]));
    }
    let mut gathered = vec![T::zeroed(); range.len().min(SAMPLE.0) * x.cols()];
    for start in range.clone().step_by(SAMPLE.0) {
        let rows = start..range.end.min(start + SAMPLE.0);
        let gathered = &mut gathered[..rows.len() * x.cols()];
        x.copy_rows(rows.clone(), gathered);
        if let Ok(view) = MatrixView::new(gathered, rows.len(), x.cols()) {
            spread.add(view, weights.map(|w| &w[rows]));
        }
    }
}
