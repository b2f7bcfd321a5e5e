//! The hot loops, each written once over [`pulp::Simd`] (scalar, AVX2, AVX-512, NEON) and chosen at run time.
//!
//! A hot loop is a struct of its arguments that implements [`pulp::WithSimd`], run by [`run`]. Helpers that take `simd`
//! are `#[inline(always)] fn`, never closures: a closure loses the target features (7 times slower).

pub mod affine;
mod aligned;
pub mod centred_dots;
mod exp;
pub mod half_product;
mod lane;
mod lane_sums;
mod level;
pub mod mirror;
mod pack;
pub mod pairs;
pub mod panel;
mod points;
mod prefetch;
pub mod profile;
mod rows;
pub mod skinny;
mod spread;
pub mod syrk;
mod tile;
pub mod tiling;
pub mod transpose;

pub use aligned::Aligned;
pub use exp::{exp, exp2_nonpositive, tanh};
pub use lane::Lane;
pub use lane_sums::totals;
pub use level::{Level, level, run, run_along, run_at, run_narrow};
pub use prefetch::{prefetch, prefetch_all, prefetch_all_second, prefetch_second};
pub use rows::{Centered, Parts};
pub use spread::Spread;
