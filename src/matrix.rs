//! What the core reads: `f32` or `f64` matrices with any non-negative strides, borrowed as one slice.
//!
//! A view keeps the slice that holds the matrix, so that a hot loop gets each contiguous row back as a slice without
//! `unsafe`; nalgebra's own views cannot give one back (and iterate zero strides wrongly). Owned matrices are
//! nalgebra's.

use crate::error::{Error, Result};
use crate::memory;
use bytemuck::Pod;
use std::array::from_fn;
use std::hint::black_box;
use std::ops::Range;

/// Rows copied at a time where they are not contiguous.
const COPIED: usize = 64;

/// `f32` or `f64`.
pub trait Element: Pod + Send + Sync + PartialOrd + std::fmt::Debug + Into<f64> + 'static {
    /// Machine epsilon, as `f64`.
    const EPSILON: f64;
    /// Smallest positive normal number, as `f64`.
    const MIN_POSITIVE: f64;
    /// Largest finite number, as `f64`.
    const MAX: f64;
    /// Whether this is `f64`.
    const DOUBLE: bool;

    /// Rounds to the nearest value of this type.
    fn of(x: f64) -> Self;
}

impl Element for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;
    const MIN_POSITIVE: f64 = f32::MIN_POSITIVE as f64;
    const MAX: f64 = f32::MAX as f64;
    const DOUBLE: bool = false;

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    fn of(x: f64) -> Self {
        x as f32
    }
}

impl Element for f64 {
    const EPSILON: f64 = f64::EPSILON;
    const MIN_POSITIVE: f64 = f64::MIN_POSITIVE;
    const MAX: f64 = f64::MAX;
    const DOUBLE: bool = true;

    #[inline(always)]
    fn of(x: f64) -> Self {
        x
    }
}

/// Side of the blocks in which matrices are transposed: a cache line of `f64`.
const BLOCK: usize = 8;

/// A borrowed rows x cols matrix: entry (i, j) is `data[i * row_stride + j * col_stride]`.
#[derive(Clone, Copy, Debug)]
pub struct MatrixView<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a, T: Element> MatrixView<'a, T> {
    /// A row-major matrix.
    ///
    /// # Errors
    /// [`Error::Shape`] when `data` does not hold exactly rows x cols values.
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Result<Self> {
        match rows.checked_mul(cols) {
            Some(len) if len == data.len() => Ok(Self { data, rows, cols, row_stride: cols, col_stride: 1 }),
            len => Err(Error::Shape { what: "data", found: data.len(), wanted: len.unwrap_or(usize::MAX) }),
        }
    }

    /// No rows of `cols` columns.
    #[must_use]
    pub fn empty(cols: usize) -> Self {
        Self { data: &[], rows: 0, cols, row_stride: cols, col_stride: 1 }
    }

    /// A matrix with any strides, in elements.
    ///
    /// # Errors
    /// [`Error::Shape`] when the last entry lies outside `data`.
    pub fn with_strides(
        data: &'a [T],
        (rows, cols): (usize, usize),
        (row_stride, col_stride): (usize, usize),
    ) -> Result<Self> {
        let wanted = span((rows, cols), (row_stride, col_stride)).unwrap_or(usize::MAX);
        if data.len() < wanted {
            return Err(Error::Shape { what: "data", found: data.len(), wanted });
        }
        Ok(Self { data, rows, cols, row_stride, col_stride })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Entry (i, j), widened. Both must be inside the matrix.
    #[inline]
    #[must_use]
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.data[i * self.row_stride + j * self.col_stride].into()
    }

    /// The rows in `range`, which must lie inside the matrix.
    #[must_use]
    pub fn rows_in(&self, range: Range<usize>) -> Self {
        let data = if self.cols == 0 || range.is_empty() { &[] } else { &self.data[range.start * self.row_stride..] };
        Self { data, rows: range.len(), ..*self }
    }

    /// The columns in `range`, which must lie inside the matrix.
    #[must_use]
    pub fn columns_in(&self, range: Range<usize>) -> Self {
        let data = if self.rows == 0 || range.is_empty() { &[] } else { &self.data[range.start * self.col_stride..] };
        Self { data, cols: range.len(), ..*self }
    }

    /// Every `step`-th row, from the first on.
    #[must_use]
    pub fn every(&self, step: usize) -> Self {
        Self { rows: self.rows.div_ceil(step), row_stride: self.row_stride * step, ..*self }
    }

    /// The same memory with rows and columns exchanged.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let Self { data, rows, cols, row_stride, col_stride } = *self;
        Self { data, rows: cols, cols: rows, row_stride: col_stride, col_stride: row_stride }
    }

    /// Row `i` where the rows are contiguous.
    #[inline]
    #[must_use]
    pub fn row(&self, i: usize) -> Option<&'a [T]> {
        let start = i * self.row_stride;
        if self.col_stride == 1 || self.cols <= 1 { self.data.get(start..start + self.cols) } else { None }
    }

    /// Whether every [`row`](Self::row) is a slice.
    #[must_use]
    pub fn has_contiguous_rows(&self) -> bool {
        self.col_stride == 1 || self.cols <= 1
    }

    /// Whether every column is a slice.
    #[must_use]
    pub fn has_contiguous_cols(&self) -> bool {
        self.row_stride == 1 || self.rows <= 1
    }

    /// All values as one row-major slice, where they are stored so.
    #[must_use]
    pub fn as_slice(&self) -> Option<&'a [T]> {
        let dense = self.rows <= 1 || self.row_stride == self.cols;
        if dense && self.has_contiguous_rows() { self.data.get(..self.rows * self.cols) } else { None }
    }

    /// Copies the rows in `range` to `out`, row-major. `out` must hold them.
    pub fn copy_rows(&self, range: Range<usize>, out: &mut [T]) {
        let cols = self.cols;
        if cols == 0 {
            return;
        }
        if self.has_contiguous_rows() {
            for (i, line) in range.zip(out.chunks_exact_mut(cols)) {
                line.copy_from_slice(&self.data[i * self.row_stride..][..cols]);
            }
            return;
        }
        if self.row_stride == 1 {
            let columns = &self.data[range.start..];
            return transpose((columns, self.col_stride), (out, cols), (cols, range.len()));
        }
        for (i, line) in range.zip(out.chunks_exact_mut(cols)) {
            for (j, out) in line.iter_mut().enumerate() {
                *out = self.data[i * self.row_stride + j * self.col_stride];
            }
        }
    }

    /// `visit` of every row in order, as a slice.
    pub fn each_row(&self, mut visit: impl FnMut(&[T])) {
        let (n, d) = (self.rows, self.cols);
        if self.has_contiguous_rows() {
            return (0..n).filter_map(|i| self.row(i)).for_each(visit);
        }
        let mut panel = vec![T::of(0.0); n.min(COPIED) * d];
        for start in (0..n).step_by(COPIED) {
            let rows = start..n.min(start + COPIED);
            let panel = &mut panel[..rows.len() * d];
            self.copy_rows(rows, panel);
            panel.chunks_exact(d).for_each(&mut visit);
        }
    }

    /// Refuses NaN and infinities, and tells which of them was found.
    ///
    /// # Errors
    /// [`Error::NotFinite`] naming `what`.
    pub fn check_finite(&self, what: &'static str) -> Result<()> {
        // A whole row without a way out: the compiler takes it several values at a time.
        let finite = |i: usize| match self.row(i) {
            Some(row) => row.iter().fold(true, |all, &x| all & x.into().is_finite()),
            None => (0..self.cols).all(|j| self.at(i, j).is_finite()),
        };
        if (0..self.rows).all(finite) {
            return Ok(());
        }
        let nan = (0..self.rows).any(|i| (0..self.cols).any(|j| self.at(i, j).is_nan()));
        Err(Error::NotFinite { what, nan })
    }
}

/// A buffer of `len` zeros for `what`, or a refusal where the machine has no room for it.
///
/// # Errors
/// [`Error::Memory`].
pub fn zeros<T: Element>(len: usize, what: &'static str) -> Result<Vec<T>> {
    ask::<T>(len, what)?; // `vec!` then takes pages that are zero already
    Ok(vec![T::of(0.0); len])
}

/// Whether the machine grants a buffer of `len` elements for `what`: asked before one is made by what ends the process
/// when it is refused.
///
/// # Errors
/// [`Error::Memory`].
pub fn ask<T: Element>(len: usize, what: &'static str) -> Result<()> {
    drop(black_box(room::<T>(len, what)?));
    Ok(())
}

/// An empty buffer with room for `len` elements of `what`, or a refusal where the machine has none.
///
/// # Errors
/// [`Error::Memory`].
pub fn room<T: Element>(len: usize, what: &'static str) -> Result<Vec<T>> {
    memory::check::<T>(len, what)?;
    let mut buffer = Vec::new();
    let bytes = len as u128 * size_of::<T>() as u128;
    buffer.try_reserve_exact(len).map_err(|_| Error::Memory { what, bytes })?;
    Ok(buffer)
}

/// Writes the transpose of a rows x cols matrix: entry (i, j) at `i * stride + j` of `from` goes to `j * step + i` of
/// `to`. Above this room there is [`simd::transpose`](crate::simd::transpose::transpose), which does so in registers
/// where it can.
///
/// Block by block: a cache line of each row is read whole, and a line of each column written whole.
pub fn transpose<T: Element>(
    (from, stride): (&[T], usize),
    (to, step): (&mut [T], usize),
    (rows, cols): (usize, usize),
) {
    for i in (0..rows).step_by(BLOCK) {
        for j in (0..cols).step_by(BLOCK) {
            let (from, to) = (&from[i * stride + j..], &mut to[j * step + i..]);
            if i + BLOCK <= rows && j + BLOCK <= cols {
                transpose_block((from, stride), (to, step));
                continue;
            }
            for r in 0..BLOCK.min(rows - i) {
                for c in 0..BLOCK.min(cols - j) {
                    to[c * step + r] = from[r * stride + c];
                }
            }
        }
    }
}

/// In squares of 4 x 4, which the compiler turns into shuffles.
#[inline]
fn transpose_block<T: Element>((from, stride): (&[T], usize), (to, step): (&mut [T], usize)) {
    for i in (0..BLOCK).step_by(4) {
        let [l0, l1, l2, l3] = from_fn(|r| from[(i + r) * stride..][..BLOCK].as_chunks::<4>().0);
        for (j, (((l0, l1), l2), l3)) in l0.iter().zip(l1).zip(l2).zip(l3).enumerate() {
            for c in 0..4 {
                to[(4 * j + c) * step + i..][..4].copy_from_slice(&[l0[c], l1[c], l2[c], l3[c]]);
            }
        }
    }
}

/// Number of elements between the first and the last entry, both included; `None` when it overflows.
#[must_use]
pub fn span((rows, cols): (usize, usize), (row_stride, col_stride): (usize, usize)) -> Option<usize> {
    if rows == 0 || cols == 0 {
        return Some(0);
    }
    let down = (rows - 1).checked_mul(row_stride)?;
    let across = (cols - 1).checked_mul(col_stride)?;
    down.checked_add(across)?.checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_reach_the_same_entries() {
        let data: Vec<f64> = (0..12).map(f64::from).collect();
        let c = MatrixView::new(&data, 3, 4).unwrap();
        let f = MatrixView::with_strides(&data, (4, 3), (1, 4)).unwrap();
        assert_eq!(c.at(2, 1), f.at(1, 2));
        assert_eq!(c.row(1), Some(&data[4..8]));
        assert_eq!(f.row(1), None);
        let mut out = vec![0.0; 6];
        f.copy_rows(1..3, &mut out);
        assert_eq!(out, [1.0, 5.0, 9.0, 2.0, 6.0, 10.0]);
        assert_eq!(c.rows_in(1..3).at(0, 0), 4.0);
        assert!(MatrixView::with_strides(&data, (4, 4), (1, 4)).is_err());
    }

    #[test]
    fn a_zero_stride_repeats_the_row() {
        let data = [1.0f32, 2.0];
        let x = MatrixView::with_strides(&data, (5, 2), (0, 1)).unwrap();
        assert_eq!(x.row(4), Some(&data[..]));
    }

    #[test]
    fn the_kind_of_bad_value_is_told() {
        let x = MatrixView::new(&[1.0, f64::INFINITY], 1, 2).unwrap();
        assert_eq!(x.check_finite("X"), Err(Error::NotFinite { what: "X", nan: false }));
    }
}
