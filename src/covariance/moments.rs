//! Mean and scatter of rows in one read: exact at any offset, in any unit, mergeable.

mod merge;

use super::chunk::{Scratch, Source};
use super::fading::Fading;
use super::product::{groups, team_within};
use super::scaled::{Scaled, row_start, unpack};
use super::state::MomentsState;
use super::weights::{NAME, RowWeights};
use crate::error::{Error, Result};
use crate::matrix::{MatrixView, zeros};
use crate::memory;
use crate::power::{exponent, power, scale};
use crate::simd::Lane;
use crate::threads::{Team, parts_of};
use nalgebra::DMatrix;
use std::ops::Range;

/// Most rows that share a pilot: bounds what the correction can lose to 1 + 8192/256.
const CHUNK_ROWS: usize = 8192;
/// Groups whose moments are held at once, at least, before they are merged: all of them would need four times the
/// memory.
const WAVE: usize = 4;
/// Exponents up to which the product of two powers of two is a normal number.
const PLAIN: i32 = 500;
/// How [`Moments`] read their rows.
#[derive(Clone, Copy, Debug)]
pub struct MomentsOptions<'a> {
    /// Whether moments are taken about the mean (otherwise about 0, and the mean is 0).
    pub center: bool,
    /// Frequencies of the rows: weight 0 leaves a row out, weight 2 counts it twice.
    pub weights: Option<&'a [f64]>,
}

impl Default for MomentsOptions<'_> {
    fn default() -> Self {
        Self { center: true, weights: None }
    }
}

/// Weight, mean and scatter `sum w (x - mu)(x - mu)'` of the rows seen so far.
///
/// The mean is kept as the unevaluated sum of two numbers, the scatter in one power-of-two unit a column, so neither an
/// offset (10^10) nor a scale (10^-300 to 10^300) costs a digit. Moments of parts merge into the moments of the whole
/// (Chan, Golub, LeVeque 1983): `S = S_a + S_b + w_a w_b / (w_a + w_b) delta delta'`, `delta = mu_b - mu_a`, where the
/// difference of the high parts is nearly exact.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    dim: usize,
    count: u64,
    weight: f64,
    mean_high: Vec<f64>,
    mean_low: Vec<f64>,
    /// Entry (i, j) of the scatter is measured in units of 2^(exponent_i + exponent_j).
    exponents: Vec<i32>,
    /// Upper triangle, row by row.
    scatter: Vec<f64>,
    /// Machine epsilon of the coarsest data seen.
    epsilon: f64,
}

impl Moments {
    /// Of no rows of `dim` columns.
    ///
    /// # Errors
    /// [`Error::Memory`] where the machine has no room for the dim (dim + 1) / 2 numbers of the scatter.
    pub fn new(dim: usize) -> Result<Self> {
        let entries = dim.checked_add(1).and_then(|next| dim.checked_mul(next)).map_or(usize::MAX, |twice| twice / 2);
        let scatter = zeros(entries, "the scatter")?;
        let mean = vec![0.0; dim];
        Ok(Self::from_parts([mean.clone(), mean], vec![0; dim], scatter, 0.0))
    }

    /// Of the rows of `x` (n x d), read once.
    ///
    /// Chunks of rows are measured from a pilot near their mean and packed as `(x - pilot) * unit`; register tiles sum
    /// their products, in `f64` across panels. The pilot's distance from the mean is then taken out of the scatter, and
    /// the chunks are merged. Time n d (d + 1) flops, memory O(d^2).
    ///
    /// # Errors
    /// [`Error::NotFinite`] for NaN or infinity in `x`, [`Error::TooFew`] without rows, [`Error::Value`] or
    /// [`Error::Shape`] for weights that are negative, not finite, all zero, or not one a row.
    pub fn of<T: Lane>(x: MatrixView<T>, options: &MomentsOptions, team: &Team) -> Result<Self> {
        Ok(Self::faded(x, options, 1.0, team)?.rows)
    }

    /// [`Moments::of`] rows that fade by `factor` with each row after them.
    pub(super) fn faded<T: Lane>(
        x: MatrixView<T>,
        options: &MomentsOptions,
        factor: f64,
        team: &Team,
    ) -> Result<Fading> {
        if x.rows() == 0 {
            return Err(Error::TooFew { what: "X", found: 0, wanted: 1 });
        }
        let weights = RowWeights::new(options.weights, factor, x.rows())?;
        let source = Source { x, weights, centered: options.center };
        let inner = team_within(team, x.cols());
        let groups = groups(x.rows(), x.cols());
        let waves = groups.chunks(WAVE.next_multiple_of(team.threads()));
        let parts = waves.flat_map(|wave| team.map(wave.to_vec(), |rows| Self::of_group(source, rows, &inner)));
        Fading::joined(parts).map_err(|error| match error {
            // Which chunk was met first must not decide between NaN and infinity.
            Error::NotFinite { .. } => x.check_finite("X").err().unwrap_or(error),
            other => other,
        })
    }

    /// The moments of one group of chunks.
    fn of_group<T: Lane>(source: Source<T>, rows: Range<usize>, team: &Team) -> Result<Fading> {
        let count = rows.len().div_ceil(CHUNK_ROWS);
        let mut scratch = Scratch::new(rows.len().div_ceil(count.max(1)), source.x.cols(), team)?;
        Fading::joined(parts_of(rows, count).map(|chunk| scratch.moments(source, chunk, team)))
    }

    /// Adds the rows of `x`; on an error nothing has changed.
    ///
    /// # Errors
    /// Those of [`Moments::of`], and [`Error::Shape`] when the number of columns differs.
    pub fn update<T: Lane>(&mut self, x: MatrixView<T>, options: &MomentsOptions, team: &Team) -> Result<()> {
        self.check_dim("X", x.cols())?;
        self.add(&Self::of(x, options, team)?, NAME)
    }

    /// Adds the rows that `other` has seen.
    ///
    /// # Errors
    /// [`Error::Shape`] when the number of columns differs, [`Error::Value`] for weights without a finite sum.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.check_dim("other", other.dim)?;
        self.add(other, "other")
    }

    /// Multiplies the weight of everything seen so far; the number of rows stays.
    ///
    /// # Errors
    /// [`Error::Value`] unless 0 < factor <= 1.
    pub fn forget(&mut self, factor: f64) -> Result<()> {
        if !(factor > 0.0 && factor <= 1.0) {
            return Err(Error::value("factor", factor, "in (0, 1]"));
        }
        self.fade(factor);
        Ok(())
    }

    /// [`forget`](Self::forget), of everything for the factor 0.
    pub(super) fn fade(&mut self, factor: f64) {
        if factor == 1.0 || self.weight == 0.0 {
            return;
        }
        let (before, after) = (self.weight, self.weight * factor);
        // By as much as the weight, rounded at the end of the range, in units in which the squares stay near 1.
        let (left, level) = near_one(after);
        let (whole, above) = near_one(before);
        self.scatter.iter_mut().for_each(|s| *s *= left / whole);
        self.exponents.iter_mut().for_each(|e| *e += level - above);
        self.weight = after;
    }

    /// Number of columns.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of rows seen, those of weight 0 left out.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the weights.
    #[must_use]
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The mean, rounded to `f64`.
    #[must_use]
    pub fn mean(&self) -> Vec<f64> {
        self.mean_high.clone()
    }

    /// The mean as a high part ([`Moments::mean`]) and what it leaves.
    #[must_use]
    pub fn mean_parts(&self) -> (&[f64], &[f64]) {
        (&self.mean_high, &self.mean_low)
    }

    /// `sum w (x - mu)(x - mu)'`, exactly symmetric, in one unit.
    #[must_use]
    pub fn scatter(&self) -> Scaled {
        let unit = (0..self.dim).filter(|&j| self.scatter_at(j, j) > 0.0).map(|j| self.exponents[j]).max().unwrap_or(0);
        let factors: Vec<f64> = self.exponents.iter().map(|&e| power(e.min(unit) - unit)).collect();
        let matrix = unpack(self.dim, &self.scatter, |i, row| {
            row.iter_mut().zip(&factors[i..]).for_each(|(s, f)| *s *= factors[i] * f);
        });
        Scaled { matrix, exponent: 2 * unit }
    }

    /// `scatter / (weight - ddof)`, exactly symmetric; entries beyond the range of `f64` are honestly 0 or infinite.
    ///
    /// # Errors
    /// [`Error::Value`] when the divisor is not positive, [`Error::Memory`].
    pub fn covariance(&self, ddof: f64) -> Result<DMatrix<f64>> {
        let (divisor, level) = near_one(self.divisor(ddof)?);
        memory::check_matrices::<f64>(1, (self.dim, self.dim), "the covariance matrix")?;
        let exponents: Vec<i32> = self.exponents.iter().map(|e| e - level).collect();
        if exponents.iter().all(|e| e.abs() <= PLAIN) {
            let factors: Vec<f64> = exponents.iter().map(|&e| power(e)).collect();
            return Ok(unpack(self.dim, &self.scatter, |i, row| {
                row.iter_mut().zip(&factors[i..]).for_each(|(s, f)| *s = *s / divisor * (factors[i] * f));
            }));
        }
        Ok(unpack(self.dim, &self.scatter, |i, row| {
            for (s, e) in row.iter_mut().zip(&exponents[i..]) {
                *s = scale(*s / divisor, exponents[i] + e);
            }
        }))
    }

    /// Standard deviation of each column, right even where its square would overflow or vanish.
    ///
    /// # Errors
    /// [`Error::Value`] when `weight - ddof` is not positive.
    pub fn deviations(&self, ddof: f64) -> Result<Vec<f64>> {
        let divisor = self.divisor(ddof)?;
        Ok((0..self.dim).map(|j| self.deviation(j, divisor)).collect())
    }

    fn deviation(&self, j: usize, divisor: f64) -> f64 {
        let (divisor, level) = near_one(divisor);
        scale((self.scatter_at(j, j) / divisor).sqrt(), self.exponents[j] - level)
    }

    /// Squares of the [`deviations`](Self::deviations); honestly 0 or infinite beyond the range of `f64`.
    ///
    /// # Errors
    /// [`Error::Value`] when `weight - ddof` is not positive.
    pub fn variances(&self, ddof: f64) -> Result<Vec<f64>> {
        let (divisor, level) = near_one(self.divisor(ddof)?);
        Ok((0..self.dim).map(|j| scale(self.scatter_at(j, j) / divisor, 2 * (self.exponents[j] - level))).collect())
    }

    /// Machine epsilon of the coarsest data seen, 0 before any.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// Whether data in single precision are among what was seen.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.epsilon == f64::from(f32::EPSILON)
    }

    /// Which columns vary. A column whose standard deviation (divisor: the weight) is at most `eps |mean|`, the spacing
    /// of its own numbers, is constant to rounding; a column of equal numbers has scatter exactly 0.
    #[must_use]
    pub fn alive(&self) -> Vec<bool> {
        let alive = |j: usize| self.deviation(j, self.weight) > self.epsilon * self.mean_high[j].abs();
        (0..self.dim).map(alive).collect()
    }

    /// `S_ij / sqrt(S_ii S_jj)`: ones on the diagonal, rows and columns of 0 for the columns that are not
    /// [`alive`](Self::alive).
    #[must_use]
    pub fn correlation(&self) -> DMatrix<f64> {
        let root = |(j, alive)| if alive { 1.0 / self.scatter_at(j, j).sqrt() } else { 0.0 };
        let roots: Vec<f64> = self.alive().into_iter().enumerate().map(root).collect();
        unpack(self.dim, &self.scatter, |i, row| {
            row.iter_mut().zip(&roots[i..]).for_each(|(s, root)| *s = (*s * roots[i] * root).clamp(-1.0, 1.0));
            row[0] = f64::from(u8::from(roots[i] > 0.0));
        })
    }

    /// Its numbers, for storing them.
    #[must_use]
    pub fn state(&self) -> MomentsState {
        let Self { count, weight, mean_high, mean_low, exponents, scatter, epsilon, .. } = self.clone();
        MomentsState { count, weight, mean_high, mean_low, exponents, scatter, epsilon }
    }

    /// The moments of stored numbers; `None` where no rows can have given them.
    #[must_use]
    pub fn from_state(state: MomentsState) -> Option<Self> {
        if !state.is_possible() {
            return None;
        }
        let MomentsState { count, weight, mean_high, mean_low, exponents, scatter, epsilon } = state;
        Some(Self { dim: exponents.len(), count, weight, mean_high, mean_low, exponents, scatter, epsilon })
    }

    pub(super) fn from_parts(
        [mean_high, mean_low]: [Vec<f64>; 2],
        exponents: Vec<i32>,
        scatter: Vec<f64>,
        epsilon: f64,
    ) -> Self {
        Self { dim: exponents.len(), count: 0, weight: 0.0, mean_high, mean_low, exponents, scatter, epsilon }
    }

    /// What the chunk counted; its scatter was summed with weights in units of 4^level.
    pub(super) fn set_rows(&mut self, count: u64, weight: f64, level: i32) {
        (self.count, self.weight) = (count, weight);
        self.exponents.iter_mut().for_each(|e| *e += level);
    }

    /// Entry (j, j) of the scatter, in units of 4^exponent.
    pub(super) fn square(&self, j: usize) -> (f64, i32) {
        (self.scatter_at(j, j), self.exponents[j])
    }

    /// Entry (i, j >= i) of the scatter in its unit.
    fn scatter_at(&self, i: usize, j: usize) -> f64 {
        self.scatter[row_start(self.dim, i) + j - i]
    }

    /// Whether the diagonal is finite; the rest is bounded by it.
    pub(super) fn scatter_is_finite(&self) -> bool {
        (0..self.dim).all(|j| self.scatter_at(j, j).is_finite())
    }

    fn check_dim(&self, what: &'static str, found: usize) -> Result<()> {
        if found == self.dim { Ok(()) } else { Err(Error::Shape { what, found, wanted: self.dim }) }
    }

    fn divisor(&self, ddof: f64) -> Result<f64> {
        let divisor = self.weight - ddof;
        if divisor > 0.0 {
            return Ok(divisor);
        }
        Err(Error::value("ddof", ddof, format!("less than the weight of the samples ({})", self.weight)))
    }
}

/// A positive number as (m, level): m 4^level, m near 1.
pub(crate) fn near_one(x: f64) -> (f64, i32) {
    let level = if x > 0.0 && x.is_finite() { exponent(x).div_euclid(2) } else { 0 };
    (scale(x, -2 * level), level)
}
