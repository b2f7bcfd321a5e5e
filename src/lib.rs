//! # prinax: principal axes
//!
//! Principal component analysis and its family over dense matrices: the core of the Python package of the same name,
//! usable from Rust on its own.
//!
//! ## Notation
//!
//! `X` is n x d, rows are samples. `mu` is the mean row, `Xc = X - 1 mu'`, `k` the number of components kept,
//! `p = min(n, d)`, `H = I - 11'/n` the centring matrix (never formed), `eps` the machine epsilon of the input's type,
//! `sigma_j` the j-th singular value of `Xc` and `lambda_j = sigma_j^2 / (n - ddof)`.
//!
//! ## Conventions
//!
//! Eigenvalues descend. The entry of largest magnitude in each vector is positive. Divisors are `n - ddof`. What a fit
//! finds is `f64`, scores and kernel values are of the type of the rows; `f32` data may be accumulated in `f32` inside
//! one centred panel of at most 512 rows. The same input gives the same bits for any number of threads. `docs/math.md`
//! states every rule with its reason.
//!
//! ## Rooms
//!
//! `bands`, `error`, `matrix`, `memory`, `power`, `threads`
//! < [`simd`] < [`covariance`], [`linalg`], [`kernel`] < [`hsic`] < [`models`] < `python`.
//!
//! A room uses what stands before it, never after it, never beside it. Only `python`
//! (feature `python`) knows PyO3 and NumPy.

pub mod bands;
pub mod covariance;
pub mod error;
pub mod hsic;
pub mod kernel;
pub mod linalg;
pub mod matrix;
pub mod memory;
pub mod models;
pub mod power;
pub mod simd;
pub mod threads;

#[cfg(feature = "python")]
mod python;

pub use error::{Error, Result};
pub use matrix::{Element, MatrixView};
pub use threads::Team;
