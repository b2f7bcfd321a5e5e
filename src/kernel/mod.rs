//! Kernels: functions of two rows that are inner products somewhere, their matrices, and the centring of these.
//!
//! Kernels that see only differences (rbf, laplacian) are computed from differences, or about the mean, so a constant
//! added to the data changes nothing. Data are packed in units of a power of two: no distance over- or underflows.

mod bandwidth;
mod base;
mod center;
mod cosine;
mod cross;
mod extent;
mod few;
mod functions;
mod matrix;
mod products;
mod range;
mod rate;
mod recipe;
mod sampling;
mod square;
mod tiles;

pub use bandwidth::Gamma;
pub use center::{KernelMeans, center_kernel};
pub use cross::Cross;
pub use extent::Extent;
pub use functions::Kernel;
pub use matrix::{half_layout, kernel_diagonal, kernel_half, kernel_matrix, kernel_matrix_into, kernel_matrix_wide};
pub use rate::Rate;
pub use recipe::Units;
pub use tiles::{Tiles, check_room, parts};

/// What errors call a kernel matrix.
pub(crate) const MATRIX: &str = "the kernel matrix";
