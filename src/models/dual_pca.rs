//! Dual PCA: the n x n side of wide data. Eigenvectors U of Xc Xc' give sigma = sqrt(lambda) and components
//! Xc'U / sigma; nothing d x d is ever formed.

use super::pca::PcaOptions;
use super::plan::Solver;
use super::roads::{Found, leading_pairs_of, pairs_of, singular_values_of, tolerance, wanted};
use crate::covariance::gram;
use crate::error::Result;
use crate::linalg::{
    Eigen, GramOf, Qr, Singular, complete, eigh, first_small, rank, skew, small_svd, straighten, transpose_times,
};
use crate::power;
use crate::simd::{Centered, Lane};
use crate::threads::Team;
use nalgebra::DMatrix;

/// The pairs of centred rows from their Gram matrix: those wanted, or all min(n, d).
pub(super) fn gram_pairs<T: Lane>(rows: &Centered<T>, options: &PcaOptions, team: &Team) -> Result<Found> {
    let scaled = gram(rows, team)?;
    let unit = power::power(scaled.exponent);
    let p = rows.rows().min(rows.cols());
    if let Some(k) = wanted(options, p) {
        let residual = tolerance::<f64>(options).max(T::EPSILON);
        let found = in_unit(leading_pairs_of(&scaled.matrix, k, options, team)?, unit);
        if first_small::<T>(&singular_values_of(&found)) == k {
            return components_of(rows, found, residual, Solver::Gram, team);
        }
    }
    let all = in_unit(eigh(&scaled.matrix, team)?, unit);
    components_of(rows, all, T::EPSILON, Solver::Gram, team)
}

fn in_unit(mut found: Eigen, unit: f64) -> Eigen {
    found.values.iter_mut().for_each(|v| *v *= unit);
    found
}

/// The `k` leading pairs by products with the data alone; from the Gram matrix where the iteration gives up.
pub(super) fn leading_pairs<T: Lane>(
    rows: &Centered<T>,
    k: usize,
    solver: Solver,
    options: &PcaOptions,
    team: &Team,
) -> Result<Found> {
    let operator = GramOf::new(rows);
    let tol = tolerance::<T>(options);
    match pairs_of(&operator, k, solver, tol, options, team)? {
        Some(found) => components_of(rows, found, tol, solver, team),
        None => gram_pairs(rows, options, team),
    }
}

/// Components (d x k) from eigenvectors U (n x k) of the Gram matrix, found by `solver`.
///
/// v_j = Xc'u_j / sigma_j with sigma_j = |Xc'u_j|, the Rayleigh quotient of u_j without its square. It keeps its digits
/// while sigma_j is not small. Where small directions live, the squares have hidden them and what they share with the
/// large ones: then the singular values are computed without squaring. Where all small ones are dead, the large ones
/// are completed to an orthonormal basis. Of more rows than columns, p of the n eigenvectors are here: those beyond the
/// large ones are any of the n - d that the columns do not reach, whose images say nothing about the small directions.
///
/// Eigenvectors with a residual of `residual` sigma_1^2 have images that miss a right angle by residual
/// sigma_1^2 / (sigma_i sigma_j). Where that may be more than rounding, and is, the SVD of all images together sets
/// them right, or, where the square of it would be let pass, a step of Gram and Schmidt.
fn components_of<T: Lane>(
    rows: &Centered<T>,
    found: Eigen,
    residual: f64,
    solver: Solver,
    team: &Team,
) -> Result<Found> {
    let p = rows.rows().min(rows.cols());
    let pairs = Singular { values: singular_values_of(&found), vectors: found.vectors }.truncated(p);
    let first = first_small::<T>(&pairs.values);
    if rows.rows() > rows.cols() && first < pairs.values.len() {
        return Found::full(rows, team);
    }
    let images = transpose_times(rows, pairs.vectors.as_slice(), team)?;
    let mut vectors = DMatrix::from_vec(rows.cols(), pairs.values.len(), images);
    let mut values: Vec<f64> = vectors.column_iter().map(|image| image.norm()).collect();
    if rank(&values, p, T::EPSILON) > first {
        return Found::full(rows, team);
    }
    let allowed = (ORTHOGONALITY * rows.cols() as f64 * T::EPSILON).min(SKEW);
    let bound = skew_bound(&values[..first], residual);
    let images = &vectors.as_slice()[..first * rows.cols()];
    let skewed = bound > allowed && skew(images, &values[..first]) > allowed / ORTHOGONALITY;
    if skewed && bound * bound > allowed {
        let (turned, measured) = orthogonal(images, rows.cols(), first)?;
        vectors.columns_mut(0, first).copy_from(&turned);
        values[..first].copy_from_slice(&measured);
    } else {
        for (mut column, sigma) in vectors.column_iter_mut().zip(&values).take(first) {
            column /= *sigma;
        }
        if skewed {
            straighten(&mut vectors.as_mut_slice()[..first * rows.cols()], rows.cols());
        }
    }
    complete(&mut vectors, first);
    values[first..].fill(0.0);
    let complete = values.len() == p;
    Ok(Found { pairs: Singular { values, vectors }.sorted(), complete, solver })
}

/// A bound of this many roundings a column on how far components miss a right angle is let pass: the miss itself is
/// about that many times smaller, for roundings of different signs add up to little.
const ORTHOGONALITY: f64 = 20.0;
/// And no bound beyond this, so that the many roundings a column of `f32` do not show: a miss of 2.5e-6.
const SKEW: f64 = 5e-5;

/// How far images of these lengths, of vectors good to `residual`, may miss a right angle.
fn skew_bound(lengths: &[f64], residual: f64) -> f64 {
    match (lengths.first(), lengths.last()) {
        (Some(first), Some(last)) => residual * (first / last).powi(2),
        _ => 0.0,
    }
}

/// Left singular vectors and singular values of d x k images, by QR: 4 d k^2 operations.
fn orthogonal(images: &[f64], d: usize, k: usize) -> Result<(DMatrix<f64>, Vec<f64>)> {
    let qr = Qr::of(images, d, k)?;
    let measured = small_svd(&qr.r())?;
    Ok((qr.q_times(&measured.left), measured.values))
}
