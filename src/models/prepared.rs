//! Data ready for the roads that stream it: means and standard deviations found, weights folded in, unit chosen.

use super::pca::PcaOptions;
use super::plan::Solver;
use super::roads::Solved;
use crate::covariance::{Columns, check_weights, heaviest};
use crate::error::{Error, Result};
use crate::linalg::Singular;
use crate::matrix::MatrixView;
use crate::power;
use crate::simd::{Centered, Lane};
use crate::threads::Team;

/// Rows, the mean and factor that make them `(x - mean) factor`, and the sums that a model needs.
pub(super) struct Prepared<'a, T> {
    source: Source<'a, T>,
    /// What is still to be subtracted: nothing where weights have been folded in.
    shift: Vec<f64>,
    shift_rest: Vec<f64>,
    factor: Option<Vec<f64>>,
    mean: Vec<f64>,
    scale: Option<Vec<f64>>,
    exponent: i32,
    /// Sum of the squares of all prepared entries.
    pub(super) total: f64,
    weight: f64,
}

/// The caller's rows, or centred ones multiplied by the roots of their weights (rows of weight 0 left out).
enum Source<'a, T> {
    Borrowed(MatrixView<'a, T>),
    Weighted { data: Vec<T>, rows: usize },
}

impl<'a, T: Lane> Prepared<'a, T> {
    /// Two reads of the data at most: one for the columns, one more to fold weights in.
    pub(super) fn new(
        x: MatrixView<'a, T>,
        weights: Option<&[f64]>,
        options: &PcaOptions,
        team: &Team,
    ) -> Result<Self> {
        let d = x.cols();
        let Some(weights) = weights else {
            let columns = Columns::of(x, options.center, team)?;
            let shift = [columns.mean.clone(), columns.mean_rest.clone()];
            return Self::of_columns(
                Source::Borrowed(x),
                shift,
                columns.mean.clone(),
                &columns,
                x.rows() as f64,
                options,
            );
        };
        check_weights(weights, x.rows())?;
        x.check_finite("X")?;
        let weight = weights.iter().sum();
        let mean = if options.center { weighted_mean(x, weights, weight) } else { vec![0.0; d] };
        let (data, rows) = fold(x, weights, &mean);
        let columns = Columns::of(MatrixView::new(&data, rows, d)?, false, team)?;
        Self::of_columns(Source::Weighted { data, rows }, [vec![0.0; d], vec![0.0; d]], mean, &columns, weight, options)
    }

    fn of_columns(
        source: Source<'a, T>,
        [shift, shift_rest]: [Vec<f64>; 2],
        mean: Vec<f64>,
        columns: &Columns,
        weight: f64,
        options: &PcaOptions,
    ) -> Result<Self> {
        let divisor = weight - f64::from(options.ddof);
        if divisor <= 0.0 {
            return Err(Error::TooFew { what: "X", found: columns.count, wanted: options.ddof as usize + 1 });
        }
        if options.scale {
            let deviation = |j: usize, by: f64| power::scale((columns.squares[j] / by).sqrt(), columns.exponents[j]);
            let alive = |j: usize| deviation(j, weight) > T::EPSILON * mean[j].abs();
            let scale: Vec<f64> = (0..mean.len()).map(|j| if alive(j) { deviation(j, divisor) } else { 0.0 }).collect();
            let total = scale.iter().filter(|&&s| s > 0.0).count() as f64 * divisor;
            let factor = Some(inverses(&scale));
            return Ok(Self {
                source,
                shift,
                shift_rest,
                factor,
                mean,
                scale: Some(scale),
                exponent: 0,
                total,
                weight,
            });
        }
        let varying = columns.exponents.iter().zip(&columns.squares).filter(|(_, s)| **s > 0.0);
        let unit = varying.map(|(&e, _)| e).max().unwrap_or(0);
        let exponent = if unit.abs() > plain_exponents::<T>() { unit } else { 0 };
        let factor = (exponent != 0).then(|| vec![2f64.powi(-exponent); mean.len()]);
        let squares = columns.squares.iter().zip(&columns.exponents);
        let total = squares.map(|(&s, &e)| power::scale(s, 2 * (e - exponent))).sum();
        Ok(Self { source, shift, shift_rest, factor, mean, scale: None, exponent, total, weight })
    }

    /// The data again with what `solved` knows, in its unit.
    pub(super) fn known(x: MatrixView<'a, T>, weights: Option<&[f64]>, solved: &Solved) -> Self {
        let mean = solved.mean.clone();
        let zeros = || vec![0.0; mean.len()];
        let (source, shift, shift_rest) = match weights {
            None => (Source::Borrowed(x), mean.clone(), solved.mean_rest.clone()),
            Some(weights) => {
                let (data, rows) = fold(x, weights, &mean);
                (Source::Weighted { data, rows }, zeros(), zeros())
            }
        };
        let factor = match &solved.scale {
            Some(scale) => Some(inverses(scale)),
            None => (solved.exponent != 0).then(|| vec![2f64.powi(-solved.exponent); mean.len()]),
        };
        let (exponent, total, weight) = (solved.exponent, solved.total, solved.weight);
        Self { source, shift, shift_rest, factor, mean, scale: solved.scale.clone(), exponent, total, weight }
    }

    /// The prepared rows.
    pub(super) fn centered(&self) -> Centered<'_, T> {
        Centered::new(self.view(), &self.shift, self.factor.as_deref()).with_rest_of_mean(&self.shift_rest)
    }

    fn view(&self) -> MatrixView<'_, T> {
        match &self.source {
            Source::Borrowed(x) => *x,
            Source::Weighted { data, rows } => {
                let cols = self.mean.len();
                MatrixView::new(data, *rows, cols).unwrap_or(MatrixView::empty(cols))
            }
        }
    }

    /// The pairs found on these rows, with everything a model needs.
    pub(super) fn solved(self, pairs: Singular, complete: bool, solver: Solver) -> Solved {
        let rows = self.view().rows();
        let Self { mean, shift_rest, scale, exponent, total, weight, .. } = self;
        Solved {
            pairs,
            total,
            rest: None,
            complete,
            exponent,
            mean,
            mean_rest: shift_rest,
            scale,
            weight,
            rows,
            solver,
        }
    }
}

/// Binary exponents up to which sums of squares stay normal without a unit of their own.
fn plain_exponents<T: Lane>() -> i32 {
    if T::DOUBLE { 300 } else { 30 }
}

/// 1/s, 0 for 0.
fn inverses(scale: &[f64]) -> Vec<f64> {
    scale.iter().map(|&s| if s > 0.0 { 1.0 / s } else { 0.0 }).collect()
}

/// sum w x / sum w, by distances from the heaviest row so that an offset costs nothing.
fn weighted_mean<T: Lane>(x: MatrixView<T>, weights: &[f64], total: f64) -> Vec<f64> {
    let start = heaviest(weights);
    let column = |j: usize| {
        let base = x.at(start, j);
        let offset: f64 =
            weights.iter().enumerate().filter(|(_, w)| **w > 0.0).map(|(i, w)| w / total * (x.at(i, j) - base)).sum();
        base + offset
    };
    (0..x.cols()).map(column).collect()
}

/// sqrt(w) (x - mean) for the rows of positive weight.
fn fold<T: Lane>(x: MatrixView<T>, weights: &[f64], mean: &[f64]) -> (Vec<T>, usize) {
    let living: Vec<usize> = (0..x.rows()).filter(|&i| weights[i] > 0.0).collect();
    let mut data = Vec::with_capacity(living.len() * mean.len());
    for &i in &living {
        let root = weights[i].sqrt();
        data.extend(mean.iter().enumerate().map(|(j, m)| T::of((x.at(i, j) - m) * root)));
    }
    (data, living.len())
}
