//! Eigenproblems and factorisations.

mod back_transform;
mod deflation;
mod divide_conquer;
mod eigh;
mod merge;
mod ql;
mod qr;
mod secular;
mod spectrum;
mod svd;
mod tridiagonal;

pub use eigh::{Eigen, eigenvalues, eigh, eigh_leading};
pub use qr::{Qr, triangular_factor};
pub use spectrum::{Singular, components_reaching, fix_signs, rank, scale_by_power_of_two};
pub use svd::{Small, singular, small_svd};
