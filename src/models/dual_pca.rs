//! Dual PCA: the n x n side of wide data. Eigenvectors U of Xc Xc' give sigma = sqrt(lambda) and components Xc'U / sigma;
//! nothing d x d is ever formed.

use super::pca::PcaOptions;
use super::plan::Solver;
use super::roads::{leading_pairs_of, pairs_of, singular_values_of, tolerance, wanted};
use crate::covariance::gram;
use crate::error::Result;
use crate::linalg::{Eigen, GramOf, Singular, complete, eigh, first_small, rank, singular, transpose_times};
use crate::power;
use crate::simd::{Centered, Lane};
use crate::threads::Team;
use nalgebra::DMatrix;

/// The pairs of centred rows from their Gram matrix: those wanted, or all min(n, d); and whether they are all.
pub(super) fn gram_pairs<T: Lane>(rows: &Centered<T>, options: &PcaOptions, team: &Team) -> Result<(Singular, bool)> {
    let scaled = gram(rows, team)?;
    let unit = power::power(scaled.exponent);
    let p = rows.rows().min(rows.cols());
    if let Some(k) = wanted(options, p) {
        let found = in_unit(leading_pairs_of(&scaled.matrix, k, options, team)?, unit);
        if first_small::<T>(&singular_values_of(&found)) == k {
            return Ok((components_of(rows, found, team)?, false));
        }
    }
    let all = in_unit(eigh(&scaled.matrix, team)?, unit);
    Ok((components_of(rows, all, team)?, true))
}

fn in_unit(mut found: Eigen, unit: f64) -> Eigen {
    found.values.iter_mut().for_each(|v| *v *= unit);
    found
}

/// The `k` leading pairs by products with the data alone, and whether they are all; the Gram matrix where the iteration
/// gives up.
pub(super) fn leading_pairs<T: Lane>(
    rows: &Centered<T>,
    k: usize,
    solver: Solver,
    options: &PcaOptions,
    team: &Team,
) -> Result<(Singular, bool)> {
    let operator = GramOf::new(rows);
    match pairs_of(&operator, k, solver, tolerance::<T>(options.tol), options, team)? {
        Some(found) => Ok((components_of(rows, found, team)?, k == rows.rows().min(rows.cols()))),
        None => gram_pairs(rows, options, team),
    }
}

/// Components (d x k) from eigenvectors U (n x k) of the Gram matrix.
///
/// v_j = Xc'u_j / sigma_j with sigma_j = |Xc'u_j|, the Rayleigh quotient of u_j without its square. It keeps its digits
/// while sigma_j is not small. Where small directions live, the squares have hidden them and what they share with the
/// large ones: then the singular values are computed without squaring. Where all small ones are dead, the large ones are
/// completed to an orthonormal basis.
fn components_of<T: Lane>(rows: &Centered<T>, found: Eigen, team: &Team) -> Result<Singular> {
    let p = rows.rows().min(rows.cols());
    let pairs = Singular { values: singular_values_of(&found), vectors: found.vectors }.truncated(p);
    let first = first_small::<T>(&pairs.values);
    let images = transpose_times(rows, pairs.vectors.as_slice(), team)?;
    let mut vectors = DMatrix::from_vec(rows.cols(), pairs.values.len(), images);
    let mut values: Vec<f64> = vectors.column_iter().map(|image| image.norm()).collect();
    for (mut column, sigma) in vectors.column_iter_mut().zip(&values).take(first) {
        column /= *sigma;
    }
    let living = rank(&values, p, T::EPSILON);
    if living > first {
        return singular(rows, team);
    }
    complete(&mut vectors, first);
    values[first..].fill(0.0);
    Ok(Singular { values, vectors }.sorted())
}
