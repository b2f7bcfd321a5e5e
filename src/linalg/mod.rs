//! Eigenproblems and factorisations. In reading order:
//!
//! - All eigenpairs of a matrix: `eigh`; `tridiagonal` (`triangle`, `deferred`: its passes over what fits the cache and
//!   what does not), then `ql` with `explicit_q` for small sizes, `divide_conquer` with `merge`, `deflation`, `secular`
//!   and `secular_vectors`, or `bisection` and `inverse_iteration` for a few pairs; `back_transform`, `order`.
//! - The leading pairs: `operator` (what is multiplied with: `stream` for rows, `upper` for half of a matrix),
//!   `krylov`, `lanczos`, `randomized`, `leading` (a matrix at hand).
//! - Without squaring: `qr`, `svd`, `refine` (small directions measured again), `remainder` (what lies beyond them).
//! - What every result passes through: `spectrum` (order, signs, rank), `constant`, `orthogonal`, `symmetric` on the
//!   way in.
//! - Factors and solutions: `cholesky`, `inverse`, `solve`. Products: `product`, `cross`. `unit`, `vectors`, `random`,
//!   `testing`.

mod back_transform;
mod bisection;
mod cholesky;
mod constant;
mod cross;
mod deferred;
mod deflation;
mod divide_conquer;
mod eigh;
mod explicit_q;
mod inverse;
mod inverse_iteration;
mod krylov;
mod lanczos;
mod leading;
mod merge;
mod operator;
mod order;
mod orthogonal;
mod product;
mod ql;
mod qr;
mod random;
mod randomized;
mod refine;
mod remainder;
mod secular;
mod secular_vectors;
mod solve;
mod spectrum;
mod stream;
mod svd;
mod symmetric;
#[cfg(test)]
mod testing;
mod triangle;
mod tridiagonal;
mod unit;
mod upper;
mod vectors;

pub use cholesky::{LeftOut, pivoted_cholesky};
pub use constant::turn_from_constant;
pub use cross::cross_product;
pub use eigh::{Eigen, eigenvalues, eigh, eigh_leading};
pub use inverse::inverse_of_upper;
pub use lanczos::{LanczosOptions, lanczos};
pub use leading::{RESIDUAL, leading, leading_pairs, leading_pays};
pub use operator::{CenteredKernel, Dense, GramOf, Operator, ScatterOf, times, transpose_times};
pub use orthogonal::{complete, skew, straighten};
pub use product::{product, product_transposed, transposed_product};
pub use qr::{Qr, triangular_factor};
pub use random::{Random, splitmix};
pub use randomized::{RandomizedOptions, randomized};
pub use refine::{first_small, refine};
pub use remainder::{remainder, remainder_floor, stepped};
pub use solve::solve_positive;
pub use spectrum::{Singular, components_reaching, fix_signs, negative_share, rank};
pub use svd::{Small, singular, singular_keeping, small_svd};
pub use symmetric::{check_symmetric, symmetric, symmetric_into};
