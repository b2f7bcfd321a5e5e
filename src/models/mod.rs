//! One file per model: means, matrix, eigenproblem, signs, attributes.

mod dual_pca;
mod likelihood;
mod n_components;
mod pca;
mod plan;
mod prepared;
mod projection;
mod roads;

pub use likelihood::Gaussian;
pub use n_components::Components;
pub use pca::{Pca, PcaOptions};
pub use plan::Solver;
pub use projection::LinearMap;
