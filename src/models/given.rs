//! The road over a covariance that is given, without rows.

use super::pca::PcaOptions;
use super::plan::Solver;
use super::roads::{Solved, singular_pairs};
use crate::error::{Error, Result};
use crate::linalg::{eigh, negative_share, symmetric};
use crate::matrix::{Element, MatrixView};
use crate::power;
use crate::threads::Team;
use nalgebra::DMatrix;

/// How many times its own rounding a covariance given from outside may stray below zero: others round on the way too.
const NEGATIVE_SLACK: f64 = 100.0;

/// All pairs of a covariance whose divisor was `samples - ddof`.
///
/// # Errors
/// [`Error::Value`] for a matrix that is not symmetric or not positive semidefinite beyond the rounding of its type,
/// [`Error::Shape`] for a mean of another length, else those of [`eigh`].
pub(super) fn solve_covariance<T: Element>(
    covariance: MatrixView<T>,
    mean: Vec<f64>,
    samples: usize,
    options: &PcaOptions,
    team: &Team,
) -> Result<Solved> {
    let d = covariance.rows();
    let covariance = DMatrix::from_vec(d, d, symmetric(covariance, "covariance")?.into_owned());
    if mean.len() != d {
        return Err(Error::Shape { what: "mean", found: mean.len(), wanted: d });
    }
    let slack = (d as f64 * T::EPSILON * NEGATIVE_SLACK).min(negative_share::<T>());
    let divisor = samples as f64 - f64::from(options.ddof);
    let largest = covariance.diagonal().iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    // In a unit of its own, for the scatter may leave the range of numbers where the covariance does not.
    let level = if options.scale || largest == 0.0 { 0 } else { power::exponent(largest).div_euclid(2) };
    let (matrix, scale) = if options.scale {
        let scale = deviations(&covariance, slack)?;
        (correlation(&covariance, &scale) * divisor, Some(scale))
    } else {
        (covariance.map(|v| power::scale(v, -2 * level)) * divisor, None)
    };
    let all = eigh(&matrix, team)?;
    let (largest, least) = (all.values.first().copied().unwrap_or(0.0), all.values.last().copied().unwrap_or(0.0));
    if -least > slack * largest.max(-least) {
        let value = |lambda: f64| power::scale(lambda / divisor, 2 * level);
        let place = if scale.is_some() { " in its correlation matrix" } else { "" };
        return Err(indefinite(format!(
            "an eigenvalue of {:e} beside a largest of {:e}{place}",
            value(least),
            value(largest)
        )));
    }
    Ok(Solved {
        total: matrix.trace(),
        pairs: singular_pairs(all),
        rest: None,
        complete: true,
        exponent: level,
        mean,
        mean_rest: vec![0.0; d],
        scale,
        weight: samples as f64,
        rows: samples,
        solver: Solver::Covariance,
    })
}

/// Roots of the diagonal, 0 for a variance of 0: a constant column, which varies with no other.
///
/// What is not positive must be 0 to rounding, `slack` of the largest, and its covariances c_ij too: [[c_jj, c_ij],
/// [c_ij, 0]] has the eigenvalue -c_ij^2 / c_jj, which must not be more than `slack` c_jj.
fn deviations(covariance: &DMatrix<f64>, slack: f64) -> Result<Vec<f64>> {
    let variances = covariance.diagonal();
    let largest = variances.max().max(0.0);
    for (i, &variance) in variances.iter().enumerate().filter(|(_, v)| **v <= 0.0) {
        if -variance > slack * largest {
            return Err(indefinite(format!("a variance of {variance:e} in entry ({i}, {i})")));
        }
        let beyond = |(j, c): (usize, &f64)| j != i && c.abs() > slack.sqrt() * variances[j].max(0.0);
        if let Some(j) = covariance.column(i).iter().enumerate().position(beyond) {
            let value = covariance[(i, j)];
            return Err(indefinite(format!(
                "{value:e} in entry ({i}, {j}) beside a variance of {variance:e} in ({i}, {i})"
            )));
        }
    }
    Ok(variances.iter().map(|v| v.max(0.0).sqrt()).collect())
}

/// c_ij / (s_i s_j), 0 where one of them is 0.
fn correlation(covariance: &DMatrix<f64>, scale: &[f64]) -> DMatrix<f64> {
    let inverse = |j: usize| if scale[j] > 0.0 { 1.0 / scale[j] } else { 0.0 };
    DMatrix::from_fn(scale.len(), scale.len(), |i, j| covariance[(i, j)] * inverse(i) * inverse(j))
}

fn indefinite(found: String) -> Error {
    Error::value("covariance", found, "positive semidefinite")
}
