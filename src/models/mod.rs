//! The models, each a fit that gives plain arrays and maps that take them, and the files they are saved in. In reading
//! order:
//!
//! - PCA: `pca` (the model), `n_components`, `plan` (which road), `limits` (how far an iterative one goes), `roads`
//!   with `dual_pca` for wide data, `given` for a covariance without rows, `prepared` and `folded` (rows made ready,
//!   weights folded in), `rest` (the variance left out); `likelihood` (its density), `whitening`.
//! - New rows of a linear model: `projection`, `ready` and `block` (the map and its loops), `wide_rows` (rows out of
//!   range).
//! - Kernel PCA: `kernel_pca`, `kernel_roads`, `kernel_store` (the matrix or half of it), `linear_kernel` (no matrix at
//!   all); `kernel_map` for new rows, `preimage` for the way back.
//! - Supervised PCA: `target` (thin factors of y), `cross` (Psi), `spca`, `kernel_spca`, `own_unit` (rows out of
//!   range).
//! - Frozen: `frozen`; `container` and `header` (the layout of files), `frozen_file`, `moments_file`.

mod block;
mod container;
mod cross;
mod deviations;
mod dual_pca;
mod factor;
mod folded;
mod frozen;
mod frozen_file;
mod given;
mod header;
mod kernel_map;
mod kernel_pca;
mod kernel_roads;
mod kernel_spca;
mod kernel_store;
mod likelihood;
mod limits;
mod linear_kernel;
mod moments_file;
mod n_components;
mod own_unit;
mod pca;
mod plan;
mod preimage;
mod prepared;
mod projection;
mod ready;
mod residuals;
mod rest;
mod roads;
mod spca;
mod target;
mod whitening;
mod wide_rows;

pub use factor::Factor;
pub use frozen::Frozen;
pub use frozen_file::AnyFrozen;
pub use kernel_map::{KernelMap, NewRows};
pub use kernel_pca::{KernelPca, KernelPcaOptions, KernelSolver, Mapping};
pub use kernel_spca::{KernelSpca, about_mean, row_scores};
pub use likelihood::Gaussian;
pub use limits::Tolerances;
pub use moments_file::{moments_from_bytes, moments_to_bytes};
pub use n_components::{Components, components_above, components_for_share};
pub use pca::{Pca, PcaOptions};
pub use plan::Solver;
pub use preimage::{Preimage, pre_images};
pub use projection::LinearMap;
pub use spca::{Spca, SpcaOptions, SpcaRoad, SpcaSolver};
pub use target::Target;
pub use whitening::{Method, Whitening, WhiteningOptions};
