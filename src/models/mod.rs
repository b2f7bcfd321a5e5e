//! One file per model: means, matrix, eigenproblem, signs, attributes.

mod container;
mod dual_pca;
mod frozen;
mod frozen_file;
mod kernel_map;
mod kernel_pca;
mod kernel_roads;
mod likelihood;
mod linear_kernel;
mod moments_file;
mod n_components;
mod pca;
mod plan;
mod preimage;
mod prepared;
mod projection;
mod roads;
mod whitening;

pub use frozen::Frozen;
pub use frozen_file::AnyFrozen;
pub use kernel_map::{KernelMap, NewRows};
pub use kernel_pca::{KernelPca, KernelPcaOptions, KernelSolver, Mapping};
pub use likelihood::Gaussian;
pub use moments_file::{moments_from_bytes, moments_to_bytes};
pub use n_components::Components;
pub use pca::{Pca, PcaOptions};
pub use plan::Solver;
pub use preimage::{Preimage, pre_images};
pub use projection::LinearMap;
pub use whitening::{Method, Whitening, WhiteningOptions};
