//! A thin factor D of a target's kernel, K_y = D D', about the means of its columns: H D, of which only products are
//! used.

use crate::covariance::Classes;
use crate::error::{Error, Result};
use crate::linalg::{product, transposed_product};
use crate::power::{power, unit};
use nalgebra::DMatrix;

/// H D for K_y = D D'.
#[derive(Clone, Debug)]
pub enum Factor {
    /// One-hot columns.
    Classes(Classes),
    /// Centred columns, in units of 2^exponent.
    Columns {
        /// n x m.
        columns: DMatrix<f64>,
        /// True columns are 2^exponent times as large.
        exponent: i32,
    },
}

impl Factor {
    /// Number of samples.
    #[must_use]
    pub fn samples(&self) -> usize {
        match self {
            Self::Classes(classes) => classes.codes().len(),
            Self::Columns { columns, .. } => columns.nrows(),
        }
    }

    /// The unit of the columns is 2 to this power.
    #[cfg(test)]
    pub(super) fn exponent(&self) -> i32 {
        match self {
            Self::Classes(_) => 0,
            Self::Columns { exponent, .. } => *exponent,
        }
    }

    /// `H D W` (n x k) for a W with one row a column of D.
    pub(super) fn centred_times(&self, w: &DMatrix<f64>) -> DMatrix<f64> {
        match self {
            Self::Columns { columns, .. } => product(columns, w),
            Self::Classes(classes) => {
                let shares = self.shares(classes);
                let mut out = DMatrix::zeros(classes.codes().len(), w.ncols());
                for (mut out, w) in out.column_iter_mut().zip(w.column_iter()) {
                    let mean: f64 = w.iter().zip(&shares).map(|(w, share)| w * share).sum();
                    out.iter_mut().zip(classes.codes()).for_each(|(out, &c)| *out = w[c as usize] - mean);
                }
                out
            }
        }
    }

    /// `D'H B` (m x k) for a B with one row a sample.
    pub(super) fn centred_transpose_times(&self, b: &DMatrix<f64>) -> DMatrix<f64> {
        match self {
            Self::Columns { columns, .. } => transposed_product(columns, b),
            Self::Classes(classes) => {
                let shares = self.shares(classes);
                let mut out = DMatrix::zeros(shares.len(), b.ncols());
                for (mut out, b) in out.column_iter_mut().zip(b.column_iter()) {
                    b.iter().zip(classes.codes()).for_each(|(b, &c)| out[c as usize] += b);
                    let total: f64 = out.iter().sum();
                    out.iter_mut().zip(&shares).for_each(|(sum, share)| *sum -= share * total);
                }
                out
            }
        }
    }

    /// |HD|^2, the sum of the squares of all entries, in the unit of the columns squared.
    pub(super) fn squared_norm(&self) -> f64 {
        match self {
            Self::Columns { columns, .. } => columns.norm_squared(),
            Self::Classes(classes) => {
                classes.sizes().iter().zip(self.shares(classes)).map(|(&size, share)| size as f64 * (1.0 - share)).sum()
            }
        }
    }

    fn shares(&self, classes: &Classes) -> Vec<f64> {
        classes.sizes().iter().map(|&size| size as f64 / self.samples() as f64).collect()
    }

    /// Columns, in units of 2^exponent, about their means, and then in the unit of the largest entry.
    pub(super) fn columns(mut columns: DMatrix<f64>, exponent: i32) -> Result<Self> {
        for mut column in columns.column_iter_mut() {
            let mean = column.iter().sum::<f64>() / column.len() as f64;
            column.iter_mut().for_each(|x| *x -= mean);
        }
        let largest = columns.amax();
        if largest == 0.0 || columns.is_empty() {
            return Err(Error::value("y", "the same for every sample", "a target that varies"));
        }
        let own = unit(largest);
        columns *= power(-own);
        Ok(Self::Columns { columns, exponent: exponent + own })
    }
}
