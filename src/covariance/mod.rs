//! Second moments of rows: covariance and Gram matrices.

mod center;
mod chunk;
mod class_sums;
mod classes;
mod columns;
mod fading;
mod gram;
mod moments;
mod pilot;
mod product;
mod scaled;
mod state;
mod weights;

pub use center::center_rows;
pub use class_sums::ClassSums;
pub use classes::Classes;
pub use columns::Columns;
pub use fading::Fading;
pub use gram::{gram, inner_products};
pub(crate) use moments::near_one;
pub use moments::{Moments, MomentsOptions};
pub use scaled::Scaled;
pub use state::MomentsState;
pub use weights::{check_weights, heaviest};
