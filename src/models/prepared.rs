//! Data ready for the roads that stream it: means and standard deviations found, weights folded in, unit chosen.

use super::folded::{Folded, weighted_mean};
use super::pca::PcaOptions;
use super::plan::Solver;
use super::roads::Solved;
use crate::covariance::{Columns, check_weights};
use crate::error::{Error, Result};
use crate::linalg::Singular;
use crate::matrix::MatrixView;
use crate::power;
use crate::simd::{Centered, Lane};
use crate::threads::Team;
use std::mem::take;

/// Rows, the mean and factor that make them `(x - mean) factor`, and the sums that a model needs.
pub(super) struct Prepared<'a, T> {
    source: Source<'a, T>,
    /// What is still to be subtracted, in two parts: nothing where weights have been folded in.
    shift: [Vec<f64>; 2],
    factor: Option<Vec<f64>>,
    mean: Vec<f64>,
    mean_rest: Vec<f64>,
    scale: Option<Vec<f64>>,
    exponent: i32,
    /// Sum of the squares of all prepared entries.
    pub(super) total: f64,
    weight: f64,
}

/// The caller's rows, or centred ones with their weights folded in.
enum Source<'a, T> {
    Borrowed(MatrixView<'a, T>),
    Weighted(Folded<T>),
}

impl<T: Lane> Source<'_, T> {
    fn view(&self) -> MatrixView<'_, T> {
        match self {
            Self::Borrowed(x) => *x,
            Self::Weighted(folded) => folded.view(),
        }
    }

    /// Rows come in units of 2^level.
    fn level(&self) -> i32 {
        match self {
            Self::Borrowed(_) => 0,
            Self::Weighted(folded) => folded.level,
        }
    }

    /// What of the mean is still to be subtracted.
    fn shift(&self, mean: &[f64], rest: &[f64]) -> [Vec<f64>; 2] {
        match self {
            Self::Borrowed(_) => [mean.to_vec(), rest.to_vec()],
            Self::Weighted(_) => [vec![0.0; mean.len()], vec![0.0; mean.len()]],
        }
    }
}

impl<'a, T: Lane> Prepared<'a, T> {
    /// One read of the data; with weights two more for the mean, and one to fold them in.
    pub(super) fn new(
        x: MatrixView<'a, T>,
        weights: Option<&[f64]>,
        options: &PcaOptions,
        team: &Team,
    ) -> Result<Self> {
        let Some(weights) = weights else {
            let mut columns = Columns::of(x, options.center, team)?;
            let mean = (take(&mut columns.mean), take(&mut columns.mean_rest));
            return Self::of_columns(Source::Borrowed(x), mean, &columns, x.rows() as f64, options);
        };
        check_weights(weights, x.rows())?;
        x.check_finite("X")?;
        let zeros = || vec![0.0; x.cols()];
        let mean = if options.center { weighted_mean(x, weights) } else { (zeros(), zeros()) };
        let folded = Folded::new(x, weights, &mean.0, &mean.1)?;
        let columns = Columns::of(folded.view(), false, team)?;
        Self::of_columns(Source::Weighted(folded), mean, &columns, weights.iter().sum(), options)
    }

    fn of_columns(
        source: Source<'a, T>,
        (mean, mean_rest): (Vec<f64>, Vec<f64>),
        columns: &Columns,
        weight: f64,
        options: &PcaOptions,
    ) -> Result<Self> {
        let divisor = weight - f64::from(options.ddof);
        if divisor <= 0.0 {
            return Err(Error::TooFew { what: "X", found: columns.count, wanted: options.ddof as usize + 1 });
        }
        let (level, shift) = (source.level(), source.shift(&mean, &mean_rest));
        let (scale, factor, total, unit);
        if options.scale {
            // Divisors in the unit of the weights, as the squares are.
            let [weight, divisor] = [weight, divisor].map(|by| power::scale(by, -2 * level));
            let deviation = |j: usize, by: f64| power::scale((columns.squares[j] / by).sqrt(), columns.exponents[j]);
            let alive = |j: usize| deviation(j, weight) > T::EPSILON * mean[j].abs();
            let found: Vec<f64> = (0..mean.len()).map(|j| if alive(j) { deviation(j, divisor) } else { 0.0 }).collect();
            total = found.iter().filter(|&&s| s > 0.0).count() as f64 * divisor;
            factor = Some(inverses(&found, 0));
            (scale, unit) = (Some(found), 0);
        } else {
            let varying = columns.exponents.iter().zip(&columns.squares).filter(|(_, s)| **s > 0.0);
            let largest = varying.map(|(&e, _)| e).max().unwrap_or(0);
            unit = if largest.abs() > plain_exponents::<T>() { largest } else { 0 };
            factor = powers(-unit, mean.len());
            let squares = columns.squares.iter().zip(&columns.exponents);
            total = squares.map(|(&s, &e)| power::scale(s, 2 * (e - unit))).sum();
            scale = None;
        }
        Ok(Self { source, shift, factor, mean, mean_rest, scale, exponent: unit + level, total, weight })
    }

    /// The data again with what `solved` knows, in its unit.
    ///
    /// # Errors
    /// [`Error::Memory`] for the copy that weights are folded into.
    pub(super) fn known(x: MatrixView<'a, T>, weights: Option<&[f64]>, solved: &Solved) -> Result<Self> {
        let (mean, mean_rest) = (solved.mean.clone(), solved.mean_rest.clone());
        let source = match weights {
            None => Source::Borrowed(x),
            Some(weights) => Source::Weighted(Folded::new(x, weights, &mean, &mean_rest)?),
        };
        let unit = source.level() - solved.exponent;
        let factor = match &solved.scale {
            Some(scale) => Some(inverses(scale, unit)),
            None => powers(unit, mean.len()),
        };
        let (exponent, total, weight) = (solved.exponent, solved.total, solved.weight);
        let shift = source.shift(&mean, &mean_rest);
        Ok(Self { source, shift, factor, mean, mean_rest, scale: solved.scale.clone(), exponent, total, weight })
    }

    /// The prepared rows.
    pub(super) fn centered(&self) -> Centered<'_, T> {
        let [high, low] = &self.shift;
        Centered::new(self.source.view(), high, self.factor.as_deref()).with_rest_of_mean(low)
    }

    /// The pairs found on these rows, with everything a model needs.
    pub(super) fn solved(self, pairs: Singular, complete: bool, solver: Solver) -> Solved {
        let rows = self.source.view().rows();
        let Self { mean, mean_rest, scale, exponent, total, weight, .. } = self;
        Solved { pairs, total, rest: None, complete, exponent, mean, mean_rest, scale, weight, rows, solver }
    }
}

/// Binary exponents up to which sums of squares stay normal without a unit of their own.
fn plain_exponents<T: Lane>() -> i32 {
    if T::DOUBLE { 300 } else { 30 }
}

/// 2^unit / s, 0 for 0.
fn inverses(scale: &[f64], unit: i32) -> Vec<f64> {
    scale.iter().map(|&s| if s > 0.0 { power::scale(1.0 / s, unit) } else { 0.0 }).collect()
}

/// 2^unit for each of `d` columns; nothing where that is 1.
fn powers(unit: i32, d: usize) -> Option<Vec<f64>> {
    (unit != 0).then(|| vec![power::power(unit); d])
}
