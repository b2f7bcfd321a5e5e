//! The kernel matrix, and its diagonal alone.

use super::cross::{Cross, check_widths};
use super::few::few_rows;
use super::products;
use super::range::largest;
use super::square;
use super::tiles::check_room;
use super::{Extent, Kernel, KernelMeans, MATRIX, Tiles, Units};
use crate::bands::Layout;
use crate::error::{Error, Result};
use crate::matrix::{Element, MatrixView, zeros};
use crate::power;
use crate::simd::Lane;
use crate::threads::Team;

/// The kernel matrix k(x_i, y_j), row-major n x m; `y` = `None` means `x` itself: exactly symmetric, with the exact
/// diagonal where it is known. A centred linear kernel is taken about the mean of `y` (of `x`, alone).
///
/// `x`: n x d, `y`: m x d. Time O(n m d), half of it for one set; memory: the result and a packed copy of the data.
///
/// # Errors
/// [`Error::NotFinite`], [`Error::Shape`] when the numbers of columns differ, [`Error::Memory`], [`Error::Value`] when
/// a fractional power meets a negative number, [`Error::Interrupted`].
pub fn kernel_matrix<T: Lane>(
    x: MatrixView<T>,
    y: Option<MatrixView<T>>,
    kernel: &Kernel,
    team: &Team,
) -> Result<Vec<T>> {
    let len = x.rows().saturating_mul(y.map_or(x.rows(), |y| y.rows()));
    let mut out = zeros(len, MATRIX)?;
    kernel_matrix_into(x, y, kernel, &mut out, team)?;
    Ok(out)
}

/// [`kernel_matrix`] into a buffer of n m values.
///
/// # Errors
/// As [`kernel_matrix`], and [`Error::Shape`] for a buffer of another length.
pub fn kernel_matrix_into<T: Lane>(
    x: MatrixView<T>,
    y: Option<MatrixView<T>>,
    kernel: &Kernel,
    out: &mut [T],
    team: &Team,
) -> Result<()> {
    let wanted = x.rows().saturating_mul(y.map_or(x.rows(), |y| y.rows()));
    if out.len() != wanted {
        return Err(Error::Shape { what: "out", found: out.len(), wanted });
    }
    if let Some(y) = y {
        check_widths(x, y)?;
        if few_rows(x, y, kernel, out) {
            return Ok(());
        }
        return Cross::new(x, y, kernel)?.fill(out, team);
    }
    let extent = Extent::of(x, "X")?;
    if !products::whole(x, kernel, &extent, out, team)? {
        check_room::<T>(&[x.rows()], x.cols())?;
        square::whole(&Tiles::square(x, kernel, &extent, Units::Plain), out, team)?;
    }
    check_power(kernel, out)
}

/// The kernel matrix of `x` with itself in `f64`, whatever its own type, into a buffer of n^2 values.
///
/// # Errors
/// As [`kernel_matrix`], and [`Error::Shape`] for a buffer of another length.
pub fn kernel_matrix_wide<T: Element>(x: MatrixView<T>, kernel: &Kernel, out: &mut [f64], team: &Team) -> Result<()> {
    let wanted = x.rows().saturating_mul(x.rows());
    if out.len() != wanted {
        return Err(Error::Shape { what: "out", found: out.len(), wanted });
    }
    let extent = Extent::of(x, "X")?;
    check_room::<f64>(&[x.rows()], x.cols())?;
    square::whole(&Tiles::square(x, kernel, &extent, Units::Plain), out, team)?;
    check_power(kernel, out)
}

/// How [`kernel_half`] stores the kernel matrix of `n` rows.
#[must_use]
pub fn half_layout(n: usize) -> Layout {
    square::layout::<f64>(n)
}

/// [`kernel_matrix_wide`] stored by half, as [`half_layout`] says; returns its means.
///
/// # Errors
/// As [`kernel_matrix`]; [`Error::Shape`] for a buffer of another length, [`Error::NotFinite`] for a kernel value
/// beyond the range of `f64`.
pub fn kernel_half<T: Element>(x: MatrixView<T>, kernel: &Kernel, out: &mut [f64], team: &Team) -> Result<KernelMeans> {
    let wanted = half_layout(x.rows()).len();
    if out.len() != wanted {
        return Err(Error::Shape { what: "out", found: out.len(), wanted });
    }
    let extent = Extent::of(x, "X")?;
    check_room::<f64>(&[x.rows()], x.cols())?;
    let (pilot, sums) = square::half(&Tiles::square(x, kernel, &extent, Units::Plain), out, team)?;
    check_power(kernel, out)?;
    KernelMeans::of_sums(pilot, sums, MATRIX)
}

/// A fractional power of a negative number is not a number: said, not returned.
pub(super) fn check_power<T: Lane>(kernel: &Kernel, out: &[T]) -> Result<()> {
    let Kernel::Poly { degree, .. } = kernel else { return Ok(()) };
    if degree.fract() != 0.0 && out.iter().any(|x| (*x).into().is_nan()) {
        return Err(Error::value("degree", degree, "a whole number where gamma <x, y> + coef0 is negative"));
    }
    Ok(())
}

/// k(x_i, x_i) for every row of `x`, without the rest of the matrix. A centred linear kernel is taken about the mean of
/// `x`.
///
/// # Errors
/// [`Error::NotFinite`] and [`Error::TooFew`], as for the matrix.
pub fn kernel_diagonal<T: Lane>(x: MatrixView<T>, kernel: &Kernel) -> Result<Vec<f64>> {
    let extent = Extent::of(x, "X")?;
    let origin = if matches!(kernel, Kernel::Linear { centered: true }) { extent.mean() } else { &[] };
    let mut diagonal = Vec::with_capacity(x.rows());
    x.each_row(|row| {
        // Each row in its own unit: one far row leaves the others their digits.
        let unit = power::unit(largest(row));
        let centred = row.iter().enumerate().map(|(j, &x)| x.into() - origin.get(j).unwrap_or(&0.0));
        diagonal.push(match *kernel {
            Kernel::Rbf { .. } | Kernel::Laplacian { .. } | Kernel::Delta => 1.0,
            Kernel::Cosine => f64::from(u8::from(row.iter().any(|&x| x.into() != 0.0))),
            Kernel::Linear { .. } => centred.map(|x| x * x).sum(),
            Kernel::Poly { gamma, degree, coef0 } => (gamma.of_square(centred, unit) + coef0).powf(degree),
            Kernel::Sigmoid { gamma, coef0 } => (gamma.of_square(centred, unit) + coef0).tanh(),
        });
    });
    Ok(diagonal)
}
