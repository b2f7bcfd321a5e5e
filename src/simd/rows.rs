//! The centred, scaled rows `(x - mean) * factor` of a matrix that is never formed: packed a panel at a time.

use super::{Lane, run_along};
use crate::matrix::MatrixView;
use bytemuck::try_cast_slice;
use pulp::{Simd, WithSimd};
use std::borrow::Cow;
use std::ops::Range;

/// `(x_ij - mean_j) factor_j`, read from `x` where it lies.
///
/// `f32` data subtract the `f64` mean as a high and a low part, so an offset costs no digits. Factors that are powers
/// of two keep data of any unit inside the range where products neither overflow nor vanish.
#[derive(Clone, Debug)]
pub struct Centered<'a, T: Clone> {
    x: MatrixView<'a, T>,
    mean: &'a [f64],
    rest: &'a [f64],
    factor: Option<&'a [f64]>,
    parts: Parts<'a, T>,
}

/// Mean and factor in the element type: `mean = high + low` to twice its precision (`low` is empty where
/// it is zero).
#[derive(Clone, Debug)]
pub struct Parts<'a, T: Clone> {
    high: Cow<'a, [T]>,
    low: Vec<T>,
    factor: Cow<'a, [T]>,
}

impl<'a, T: Lane> Parts<'a, T> {
    /// `rest` is what the mean loses in `f64` (empty: nothing); `factor` is empty where every factor is 1.
    #[must_use]
    pub fn new(mean: &'a [f64], rest: &[f64], factor: &'a [f64]) -> Self {
        let high: Cow<[T]> = narrowed(mean);
        let left = mean.iter().zip(&*high).map(|(&m, &h)| m - h.into());
        let low = match rest {
            [] if T::DOUBLE => Vec::new(),
            [] => left.map(T::of).collect(),
            _ => left.zip(rest).map(|(left, rest)| T::of(left + rest)).collect(),
        };
        Self { high, low, factor: narrowed(factor) }
    }

    /// The same, borrowing nothing: prepared once for many rows.
    #[must_use]
    pub fn into_owned(self) -> Parts<'static, T> {
        let Self { high, low, factor } = self;
        Parts { high: Cow::Owned(high.into_owned()), low, factor: Cow::Owned(factor.into_owned()) }
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.high.len()
    }

    /// out = ((rows - high) - low) * factor, inside a hot loop.
    #[inline(always)]
    pub(super) fn shifted<'r, S: Simd>(&self, simd: S, rows: impl Iterator<Item = &'r [T]>, out: &mut [T]) {
        for (row, line) in rows.zip(out.chunks_exact_mut(self.high.len().max(1))) {
            difference(simd, row, &self.high, line);
            self.finish(simd, line);
        }
    }

    /// rows = ((rows - high) - low) * factor, in place, inside a hot loop.
    #[inline(always)]
    fn shift<S: Simd>(&self, simd: S, rows: &mut [T]) {
        for row in rows.chunks_exact_mut(self.high.len().max(1)) {
            subtract(simd, row, &self.high);
            self.finish(simd, row);
        }
    }

    /// row = (row - low) * factor, in place.
    #[inline(always)]
    fn finish<S: Simd>(&self, simd: S, row: &mut [T]) {
        if !self.low.is_empty() {
            subtract(simd, row, &self.low);
        }
        if !self.factor.is_empty() {
            multiply(simd, row, &self.factor);
        }
    }
}

/// The values in the element type: themselves for `f64`.
fn narrowed<T: Lane>(x: &[f64]) -> Cow<'_, [T]> {
    match try_cast_slice(x) {
        Ok(same) if T::DOUBLE => Cow::Borrowed(same),
        _ => Cow::Owned(x.iter().map(|&x| T::of(x)).collect()),
    }
}

impl<'a, T: Lane> Centered<'a, T> {
    /// `mean` and `factor` hold one value a column (none: every factor is 1).
    #[must_use]
    pub fn new(x: MatrixView<'a, T>, mean: &'a [f64], factor: Option<&'a [f64]>) -> Self {
        debug_assert!(mean.len() == x.cols() && factor.is_none_or(|f| f.len() == x.cols()));
        Self { x, mean, rest: &[], factor, parts: Parts::new(mean, &[], factor.unwrap_or_default()) }
    }

    /// The same with `mean + rest` subtracted: what a mean rounded to `f64` leaves, for data far from zero.
    #[must_use]
    pub fn with_rest_of_mean(self, rest: &'a [f64]) -> Self {
        debug_assert_eq!(rest.len(), self.mean.len());
        Self { rest, parts: Parts::new(self.mean, rest, self.factor.unwrap_or_default()), ..self }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.x.rows()
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.x.cols()
    }

    /// The rows as they are stored.
    #[must_use]
    pub fn raw(&self) -> MatrixView<'a, T> {
        self.x
    }

    /// The mean that is subtracted.
    #[must_use]
    pub fn mean(&self) -> &'a [f64] {
        self.mean
    }

    /// The factors, where there are any.
    #[must_use]
    pub fn factor(&self) -> Option<&'a [f64]> {
        self.factor
    }

    /// High and low part of the mean in the element type (the low part is empty where it is zero).
    #[must_use]
    pub fn mean_parts(&self) -> (&[T], &[T]) {
        (&self.parts.high, &self.parts.low)
    }

    /// The factors in the element type; empty where there are none.
    #[must_use]
    pub fn narrow_factor(&self) -> &[T] {
        &self.parts.factor
    }

    /// Writes the rows in `range` to `out`, row-major, in the element type. `out` holds exactly these rows.
    pub fn pack(&self, range: Range<usize>, out: &mut [T]) {
        debug_assert_eq!(out.len(), range.len() * self.cols());
        if self.x.has_contiguous_rows() {
            run_along::<T, _>(self.cols(), Subtract { parts: &self.parts, rows: self.x.rows_in(range), out });
        } else {
            self.x.copy_rows(range, out);
            run_along::<T, _>(self.cols(), Shift { parts: &self.parts, rows: out });
        }
    }

    /// Writes the rows in `range` to `out`, row-major, in `f64`: `f32` data lose nothing.
    pub fn pack_wide(&self, range: Range<usize>, out: &mut [f64]) {
        debug_assert_eq!(out.len(), range.len() * self.cols());
        for (i, line) in range.zip(out.chunks_exact_mut(self.cols().max(1))) {
            match self.x.row(i) {
                Some(row) => row.iter().zip(&mut *line).for_each(|(&x, out)| *out = x.into()),
                None => line.iter_mut().enumerate().for_each(|(j, out)| *out = self.x.at(i, j)),
            }
            line.iter_mut().zip(self.mean).for_each(|(x, m)| *x -= m);
            line.iter_mut().zip(self.rest).for_each(|(x, m)| *x -= m);
            if let Some(factor) = self.factor {
                line.iter_mut().zip(factor).for_each(|(x, f)| *x *= f);
            }
        }
    }
}

/// [`Parts::shift`] on its own.
struct Shift<'a, T: Clone> {
    parts: &'a Parts<'a, T>,
    rows: &'a mut [T],
}

impl<T: Lane> WithSimd for Shift<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.parts.shift(simd, self.rows);
    }
}

/// [`Parts::shift`] of contiguous rows on their way to `out`.
struct Subtract<'a, T: Clone> {
    parts: &'a Parts<'a, T>,
    rows: MatrixView<'a, T>,
    out: &'a mut [T],
}

impl<T: Lane> WithSimd for Subtract<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { parts, rows, out } = self;
        if let Some(flat) = rows.as_slice() {
            return parts.shifted(simd, flat.chunks_exact(parts.cols().max(1)), out);
        }
        parts.shifted(simd, (0..rows.rows()).map(|i| rows.row(i).unwrap_or_default()), out);
    }
}

/// out = row - by
#[inline(always)]
fn difference<T: Lane, S: Simd>(simd: S, row: &[T], by: &[T], out: &mut [T]) {
    let ((row, row_tail), (by, by_tail)) = (T::vectors::<S>(row), T::vectors::<S>(by));
    let (out, out_tail) = T::vectors_mut::<S>(out);
    for ((&x, &m), out) in row.iter().zip(by).zip(out) {
        *out = T::vsub(simd, x, m);
    }
    for ((&x, &m), out) in row_tail.iter().zip(by_tail).zip(out_tail) {
        *out = x - m;
    }
}

/// row = row - by
#[inline(always)]
fn subtract<T: Lane, S: Simd>(simd: S, row: &mut [T], by: &[T]) {
    let ((row, row_tail), (by, by_tail)) = (T::vectors_mut::<S>(row), T::vectors::<S>(by));
    for (x, &m) in row.iter_mut().zip(by) {
        *x = T::vsub(simd, *x, m);
    }
    for (x, &m) in row_tail.iter_mut().zip(by_tail) {
        *x = *x - m;
    }
}

/// row = row * by
#[inline(always)]
fn multiply<T: Lane, S: Simd>(simd: S, row: &mut [T], by: &[T]) {
    let ((row, row_tail), (by, by_tail)) = (T::vectors_mut::<S>(row), T::vectors::<S>(by));
    for (x, &m) in row.iter_mut().zip(by) {
        *x = T::vmul(simd, *x, m);
    }
    for (x, &m) in row_tail.iter_mut().zip(by_tail) {
        *x = *x * m;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_precision_rows_keep_their_digits_far_from_zero() {
        // 10^6 + j/16 is exact in f32; the mean 10^6 + 0.53125 + 2^-20 is not.
        let data: Vec<f32> = (0..6).map(|j| 1e6 + j as f32 / 16.0).collect();
        let mean = 1e6 + 0.53125 + f64::from(2f32.powi(-20));
        let mean = [mean; 3];
        let rows = Centered::new(MatrixView::new(&data, 2, 3).unwrap(), &mean, Some(&[0.5; 3]));
        let (mut out, mut wide) = ([0f32; 6], [0f64; 6]);
        rows.pack(0..2, &mut out);
        rows.pack_wide(0..2, &mut wide);
        for j in 0..6 {
            let right = 0.5 * (1e6 + j as f64 / 16.0 - mean[0]);
            assert_eq!(wide[j], right);
            assert!((f64::from(out[j]) - right).abs() <= f64::from(f32::EPSILON) * right.abs());
        }
    }

    #[test]
    fn columns_of_any_order_are_packed_by_rows() {
        let data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let x = MatrixView::with_strides(&data, (3, 2), (1, 3)).unwrap();
        let mut out = [0.0; 4];
        Centered::new(x, &[1.0, 2.0], None).pack(1..3, &mut out);
        assert_eq!(out, [1.0, 3.0, 2.0, 4.0]);
    }
}
