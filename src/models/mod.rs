//! One file per model: means, matrix, eigenproblem, signs, attributes.

mod container;
mod dual_pca;
mod frozen;
mod frozen_file;
mod likelihood;
mod moments_file;
mod n_components;
mod pca;
mod plan;
mod prepared;
mod projection;
mod roads;
mod whitening;

pub use frozen::Frozen;
pub use frozen_file::AnyFrozen;
pub use likelihood::Gaussian;
pub use moments_file::{moments_from_bytes, moments_to_bytes};
pub use n_components::Components;
pub use pca::{Pca, PcaOptions};
pub use plan::Solver;
pub use projection::LinearMap;
pub use whitening::{Method, Whitening, WhiteningOptions};
