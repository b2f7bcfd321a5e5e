//! Eigenproblems and factorisations.

mod back_transform;
mod deferred;
mod deflation;
mod divide_conquer;
mod eigh;
mod explicit_q;
mod inverse;
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
mod secular;
mod secular_vectors;
mod solve;
mod spectrum;
mod stream;
mod svd;
#[cfg(test)]
mod testing;
mod triangle;
mod tridiagonal;
mod unit;

pub use eigh::{Eigen, eigenvalues, eigh, eigh_leading};
pub use inverse::inverse_of_upper;
pub use lanczos::{LanczosOptions, lanczos};
pub use leading::{leading, leading_pays};
pub use operator::{CenteredKernel, Dense, GramOf, Operator, ScatterOf, times, transpose_times};
pub use orthogonal::complete;
pub use product::{product, product_transposed, transposed_product};
pub use qr::{Qr, triangular_factor};
pub use random::Random;
pub use randomized::{RandomizedOptions, randomized};
pub use refine::{first_small, refine};
pub use solve::solve_positive;
pub use spectrum::{Singular, components_reaching, fix_signs, rank};
pub use svd::{Small, singular, small_svd};
