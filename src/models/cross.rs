//! Psi = X'HD: what supervised PCA knows of the data and the target.

use super::factor::Factor;
use crate::covariance::{ClassSums, Classes};
use crate::error::{Error, Result};
use crate::linalg::cross_product;
use crate::matrix::MatrixView;
use crate::simd::{Centered, Lane};
use crate::threads::Team;
use nalgebra::DMatrix;

/// Psi (d x m), in units of 2^exponent, and the mean of the rows.
pub(super) struct Cross {
    pub(super) psi: DMatrix<f64>,
    pub(super) exponent: i32,
    pub(super) mean: Vec<f64>,
}

impl Cross {
    /// Classes: one read of X and O(d C) memory. Columns: one read for the mean, one for the product, 2 n d m
    /// operations.
    pub(super) fn of<T: Lane>(x: MatrixView<T>, factor: &Factor, what: &'static str, team: &Team) -> Result<Self> {
        if factor.samples() != x.rows() {
            return Err(Error::Shape { what: "y", found: factor.samples(), wanted: x.rows() });
        }
        if x.rows() < 2 {
            return Err(Error::TooFew { what, found: x.rows(), wanted: 2 });
        }
        match factor {
            Factor::Classes(classes) => {
                let sums = ClassSums::of(x, classes, what, team)?;
                Ok(Self { psi: sums.deviations(), exponent: 0, mean: sums.mean().0 })
            }
            Factor::Columns { columns, exponent } => {
                let (mean, rest) = ClassSums::of(x, &Classes::single(x.rows()), what, team)?.mean();
                let rows = Centered::new(x, &mean, None).with_rest_of_mean(&rest);
                Ok(Self { psi: cross_product(&rows, columns, team)?, exponent: *exponent, mean })
            }
        }
    }
}

/// Without any of it there is no direction to prefer.
pub(super) fn no_direction() -> Error {
    Error::value("X", "data whose HSIC with y is 0 in every direction", "data that vary with y")
}
