//! The k largest eigenpairs of a matrix at hand: by iteration where that pays, else directly.

use super::eigh::direct;
use super::{Dense, Eigen, LanczosOptions, Operator, lanczos};
use crate::error::{Error, Result};
use crate::threads::Team;

/// Below this many dimensions the direct road is cheaper than any iteration.
const DIRECT_DIM: usize = 300;
/// An iteration pays while the pairs are at most one in this many of the dimensions.
const LEADING_SHARE: usize = 20;

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
