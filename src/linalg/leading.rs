//! The k largest eigenpairs of a matrix at hand: by iteration where that pays, else directly.

use super::eigh::direct;
use super::{Dense, Eigen, LanczosOptions, Operator, fix_signs, lanczos, symmetric};
use crate::error::{Error, Result};
use crate::matrix::{Element, MatrixView};
use crate::threads::Team;

/// Below this many dimensions the direct road is cheaper than any iteration.
const DIRECT_DIM: usize = 300;
/// An iteration pays while the pairs are at most one in this many of the dimensions.
const LEADING_SHARE: usize = 20;

/// Relative residual of leading pairs found by iteration where nobody asks for another: the direct road's own accuracy
/// at a few thousand dimensions.
pub const RESIDUAL: f64 = 1e-12;

/// Whether `k` of `dim` eigenpairs are few enough for an iteration.
#[must_use]
pub fn leading_pays(k: usize, dim: usize) -> bool {
    dim > DIRECT_DIM && k * LEADING_SHARE <= dim
}

/// The `k` largest eigenvalues with their vectors, |A v - theta v| <= tol theta_1 each.
///
/// # Errors
/// [`Error::Value`] when k exceeds the dimension; [`Error::NoConvergence`], [`Error::Interrupted`].
pub fn leading(matrix: Dense, k: usize, tol: f64, seed: u64, team: &Team) -> Result<Eigen> {
    let dim = matrix.dim();
    if k > dim {
        return Err(Error::value("k", k, format!("at most the dimension {dim} of the matrix")));
    }
    if leading_pays(k, dim) {
        // A product costs 2 dim^2 operations and the direct road about 4/3 dim^3, at a third of the speed of products:
        // after dim / 2 products the direct road is cheaper.
        let limits = LanczosOptions { tol, seed, max_products: Some(dim / 2) };
        if let Some(found) = lanczos(&matrix, k, &limits, team)? {
            return Ok(found);
        }
    }
    direct(matrix, k, team)
}

/// The `k` largest eigenvalues of a symmetric matrix of any layout, called `what` in errors, each pair with a relative
/// residual of [`RESIDUAL`]; signs fixed.
///
/// # Errors
/// Those of [`symmetric()`] and [`leading()`].
pub fn leading_pairs<T: Element>(a: MatrixView<T>, what: &'static str, k: usize, team: &Team) -> Result<Eigen> {
    let entries = symmetric(a, what)?;
    let mut found = leading(Dense::new(&entries, a.rows())?, k, RESIDUAL, 0, team)?;
    fix_signs(&mut found.vectors, T::EPSILON);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_either_type_by_hand() {
        fn check<T: Element>(a: &[T], tolerance: f64) {
            let found = leading_pairs(MatrixView::new(a, 2, 2).unwrap(), "A", 1, &Team::solo()).unwrap();
            assert!((found.values[0] - 3.0).abs() < tolerance);
            assert!(found.vectors.iter().all(|x| (x - 0.5f64.sqrt()).abs() < tolerance));
        }
        check(&[2.0f64, 1.0, 1.0, 2.0], 1e-15);
        check(&[2.0f32, 1.0, 1.0, 2.0], 1e-7);
        let error = leading_pairs(MatrixView::new(&[1.0, 2.0], 1, 2).unwrap(), "A", 1, &Team::solo()).unwrap_err();
        assert!(error.to_string().starts_with("A must be"), "{error}");
    }
}
