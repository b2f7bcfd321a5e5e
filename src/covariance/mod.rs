//! Second moments of rows: covariance and Gram matrices.

mod chunk;
mod columns;
mod moments;
mod pilot;
mod scaled;
mod weights;

pub use columns::Columns;
pub use moments::{Moments, MomentsOptions};
pub use scaled::Scaled;
