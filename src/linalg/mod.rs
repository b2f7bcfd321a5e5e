//! Eigenproblems and factorisations.

mod qr;
mod spectrum;
mod svd;

pub use qr::{Qr, triangular_factor};
pub use spectrum::{Singular, components_reaching, fix_signs, rank, scale_by_power_of_two};
pub use svd::{Small, singular, small_svd};
