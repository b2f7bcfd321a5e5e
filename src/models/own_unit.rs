//! Rows in a unit of their own, for linear kernels of data so large or small that their squares are no numbers.

use crate::error::Result;
use crate::kernel::{Extent, Kernel};
use crate::matrix::{MatrixView, zeros};
use crate::power;
use crate::simd::Lane;

/// Widths, as exponents, up to which linear kernels of the data are normal numbers in `f32` and `f64`: one bound for
/// both, since a model fitted to the one may be asked for scores of the other.
const ORDINARY: i32 = 50;

/// The unit 2^exponent of the widest column.
#[derive(Debug)]
pub(super) struct OwnUnit {
    pub(super) exponent: i32,
    factors: Vec<f64>,
}

impl OwnUnit {
    /// Where the kernel of data of that extent needs one.
    pub(super) fn of(kernel: &Kernel, extent: &Extent) -> Option<Self> {
        let exponent = extent.spread_exponent();
        let needed = matches!(kernel, Kernel::Linear { .. }) && exponent.abs() > ORDINARY;
        needed.then(|| Self { exponent, factors: extent.factors(exponent) })
    }

    /// A copy of the rows in this unit. Columns that are constant in the training rows are left out: they add a
    /// constant to the kernel values of a row, which the directions do not see.
    pub(super) fn rows<T: Lane>(&self, x: MatrixView<T>) -> Result<Vec<T>> {
        let mut rows = zeros::<T>(x.rows().saturating_mul(x.cols()), "a copy of X in its own unit")?;
        let mut lines = rows.chunks_exact_mut(x.cols().max(1));
        x.each_row(|row| {
            let Some(line) = lines.next() else { return };
            let scaled = row.iter().zip(&self.factors).map(|(&x, f)| T::of(x.into() * f));
            line.iter_mut().zip(scaled).for_each(|(out, x)| *out = x);
        });
        Ok(rows)
    }

    /// x true units, of what is x here.
    pub(super) fn out_of(&self, x: f64) -> f64 {
        power::scale(x, self.exponent)
    }
}
