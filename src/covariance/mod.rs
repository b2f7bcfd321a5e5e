//! Second moments of rows: covariance and Gram matrices.

mod columns;

pub use columns::Columns;
