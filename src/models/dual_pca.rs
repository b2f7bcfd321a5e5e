//! Dual PCA: the n x n side of wide data. Eigenvectors U of Xc Xc' give sigma = sqrt(lambda) and components Xc'U / sigma;
//! nothing d x d is ever formed.

use super::pca::PcaOptions;
use super::plan::Solver;
use super::roads::{leading_pairs_of, pairs_of, singular_of, tolerance, wanted};
use crate::covariance::gram;
use crate::error::Result;
use crate::linalg::{
    Eigen, GramOf, Qr, Singular, complete, eigh, first_small, product, rank, small_svd, transpose_times,
    transposed_product,
};
use crate::simd::{Centered, Lane};
use crate::threads::Team;
use nalgebra::DMatrix;

/// The pairs of centred rows from their Gram matrix: those wanted, or all min(n, d).
pub(super) fn gram_pairs<T: Lane>(rows: &Centered<T>, options: &PcaOptions, team: &Team) -> Result<Singular> {
    let scaled = gram(rows, team)?;
    let mut found = match wanted(options, rows.rows().min(rows.cols())) {
        Some(k) => leading_pairs_of(&scaled.matrix, k, options, team)?,
        None => eigh(&scaled.matrix, team)?,
    };
    let unit = 2f64.powi(scaled.exponent);
    found.values.iter_mut().for_each(|v| *v *= unit);
    components_of(rows, found, team)
}

/// The `k` leading pairs by products with the data alone; the Gram matrix where the iteration gives up.
pub(super) fn leading_pairs<T: Lane>(
    rows: &Centered<T>,
    k: usize,
    solver: Solver,
    options: &PcaOptions,
    team: &Team,
) -> Result<Singular> {
    let operator = GramOf::new(rows);
    match pairs_of(&operator, k, solver, tolerance::<T>(options.tol), options, team)? {
        Some(found) => components_of(rows, found, team),
        None => gram_pairs(rows, options, team),
    }
}

/// Components (d x k) from eigenvectors U (n x k) of the Gram matrix.
///
/// v_j = Xc'u_j / sigma_j keeps its digits while sigma_j is not small. The small ones are measured again: the SVD of
/// Xc'U over them, after their part along the large components (rounding times sigma_1) is removed.
fn components_of<T: Lane>(rows: &Centered<T>, found: Eigen, team: &Team) -> Result<Singular> {
    let (n, d) = (rows.rows(), rows.cols());
    let pairs = singular_of(found).truncated(n.min(d));
    let images = transpose_times(rows, pairs.vectors.as_slice(), team)?;
    let mut values = pairs.values;
    let mut vectors = DMatrix::from_vec(d, values.len(), images);
    let first = first_small::<T>(&values);
    for (mut column, sigma) in vectors.column_iter_mut().zip(&values[..first]) {
        column /= *sigma;
    }
    let m = values.len() - first;
    if m > 0 {
        team.check()?;
        let large: DMatrix<f64> = vectors.columns(0, first).into_owned();
        let mut small: DMatrix<f64> = vectors.columns(first, m).into_owned();
        // Twice: what the first projection leaves along a large component is rounding of that component's own size.
        for _ in 0..2 {
            small -= product(&large, &transposed_product(&large, &small));
        }
        let qr = Qr::of(small.as_slice(), d, m);
        let measured = small_svd(&qr.r())?;
        vectors.columns_mut(first, m).copy_from(&qr.q_times(&measured.left));
        values[first..].copy_from_slice(&measured.values);
    }
    let living = rank(&values, n.min(d), T::EPSILON);
    complete(&mut vectors, living);
    Ok(Singular { values, vectors }.sorted())
}
