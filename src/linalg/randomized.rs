//! The leading eigenpairs of a symmetric matrix in a fixed number of products: randomised block Krylov iteration.

use super::eigh::Eigen;
use super::krylov::Krylov;
use super::operator::Operator;
use crate::error::{Error, Result};
use crate::threads::Team;
use nalgebra::DMatrix;

/// Vectors of the Krylov space that are kept without compression, whatever the block.
const LEAST_CAPACITY: usize = 256;
/// Blocks of the Krylov space that are kept when the block is large: the leading Ritz vectors of two and two new ones.
const BLOCKS: usize = 4;

/// Size and length of the iteration.
#[derive(Clone, Copy, Debug)]
pub struct RandomizedOptions {
    /// Random vectors beyond the pairs asked for.
    pub oversamples: usize,
    /// Power iterations: the block is multiplied `iterations + 2` times.
    pub iterations: usize,
    /// Seed of the random start.
    pub seed: u64,
}

impl RandomizedOptions {
    /// scikit-learn's choice for k components of a matrix whose shorter side is `side`: 7 for few, 4 otherwise.
    #[must_use]
    pub fn default_iterations(k: usize, side: usize) -> usize {
        if 10 * k < side { 7 } else { 4 }
    }
}

/// Approximations to the `k` largest eigenvalues (algebraically) of A, with orthonormal vectors: fixed cost, no promise
/// on the error where the spectrum is flat. [`lanczos`](super::lanczos()) verifies its residuals.
///
/// Rayleigh-Ritz over the whole block Krylov space `[W, AW, ..., A^(q+1) W]` of a random W with k + oversamples
/// columns, orthonormalised block by block. It contains the space that subspace iteration with q power iterations ends
/// in, so its values are never smaller, and usually far better; nothing overflows for any number of iterations. Where
/// the space would hold more than 256 vectors and four blocks, only its leading Ritz vectors go on.
///
/// Cost: (q + 2)(k + oversamples) products; memory 2 dim m with m the vectors kept. Same bits for any team.
///
/// # Errors
/// [`Error::Value`] when k exceeds the dimension, [`Error::NotFinite`], [`Error::Interrupted`].
///
/// References: Halko, Martinsson, Tropp (2011), "Finding structure with randomness"; Musco and Musco (2015),
/// "Randomized block Krylov methods for stronger and faster approximate singular value decomposition".
pub fn randomized(operator: &dyn Operator, k: usize, options: &RandomizedOptions, team: &Team) -> Result<Eigen> {
    let dim = operator.dim();
    if k > dim {
        return Err(Error::value("k", k, format!("at most the dimension {dim} of the matrix")));
    }
    if k == 0 {
        return Ok(Eigen { values: Vec::new(), vectors: DMatrix::zeros(dim, 0) });
    }
    let width = k.saturating_add(options.oversamples).min(dim);
    let products = options.iterations.saturating_add(2);
    let capacity = (BLOCKS * width).max(LEAST_CAPACITY).min(products.saturating_mul(width)).min(dim);
    let mut space = Krylov::new(operator, width, capacity, options.seed)?;
    for _ in 0..products {
        if space.pending() == 0 {
            break; // the whole space: the pairs are exact
        }
        if space.is_full() {
            let leading = space.ritz(capacity.saturating_sub(2 * width).max(width), team)?;
            space.restart(&leading);
        }
        space.expand(team)?;
    }
    let ritz = space.ritz(k, team)?;
    let values = ritz.values.iter().map(|&theta| space.in_operator_units(theta)).collect();
    Ok(Eigen { values, vectors: space.vectors(&ritz) })
}
