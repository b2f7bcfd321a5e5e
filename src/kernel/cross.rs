//! The kernel matrix of two sets, in bands of rows: all of it, or one band after the other while it is near.

use super::matrix::check_power;
use super::square::{SQUARE, SQUARES, put_line};
use super::tiles::check_room;
use super::{Extent, Kernel, Tiles};
use crate::error::{Error, Result};
use crate::matrix::MatrixView;
use crate::simd::pairs::{Group, strip};
use crate::simd::{Aligned, Lane, run};
use crate::threads::Team;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Values of a band that is used at once, in bytes: it stays in the second cache. More where rows are so long that
/// strips share what they read, for then the values are few beside it.
const BAND_BYTES: usize = 1 << 19;

/// k(x_i, y_j) of two packed sets.
#[derive(Debug)]
pub struct Cross<'a, T> {
    tiles: Tiles<T>,
    kernel: &'a Kernel,
}

impl<'a, T: Lane> Cross<'a, T> {
    /// Packs the rows of `x` and of `y`, which have as many columns. A centred linear kernel is taken about the mean of
    /// `y`.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::TooFew`] without rows, [`Error::Shape`] when the numbers of columns differ.
    pub fn new(x: MatrixView<T>, y: MatrixView<T>, kernel: &'a Kernel) -> Result<Self> {
        check_widths(x, y)?;
        let extent = Extent::of(x, "X")?;
        let extent = Extent::of(y, "Y")?.with(&extent);
        check_room::<T>(&[x.rows(), y.rows()], x.cols())?;
        Ok(Self { tiles: Tiles::cross(x, y, kernel, &extent), kernel })
    }

    /// The whole matrix.
    ///
    /// # Errors
    /// [`Error::Value`] when a fractional power meets a negative number, [`Error::Interrupted`].
    pub fn fill(&self, out: &mut [T], team: &Team) -> Result<()> {
        let side = self.tiles.rows().strips().div_ceil(2 * SQUARES).clamp(1, SQUARE);
        let bands = out.chunks_mut((side * strip::<T>() * self.tiles.cols().count()).max(1)).enumerate().collect();
        let done = team.map(bands, |(band, out): (usize, &mut [T])| {
            team.check()?;
            self.fill_band(band * side, out)
        });
        done.into_iter().collect()
    }

    /// Rows of a band for [`fill_rows`](Self::fill_rows).
    #[must_use]
    pub fn band_rows(&self) -> usize {
        let strip_bytes = strip::<T>() * self.tiles.cols().count() * size_of::<T>();
        (BAND_BYTES / strip_bytes.max(1)).max(self.tiles.rows().group()) * strip::<T>()
    }

    /// The rows in `range`, of which the first is one of a band's.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    pub fn fill_rows(&self, range: Range<usize>, out: &mut [T]) -> Result<()> {
        debug_assert!(range.start.is_multiple_of(strip::<T>()) && out.len() == range.len() * self.tiles.cols().count());
        self.fill_band(range.start / strip::<T>(), out)
    }

    fn fill_band(&self, first: usize, out: &mut [T]) -> Result<()> {
        run(Band { tiles: &self.tiles, first, out });
        check_power(self.kernel, out)
    }
}

/// Refuses sets of different widths.
pub(super) fn check_widths<T: Lane>(x: MatrixView<T>, y: MatrixView<T>) -> Result<()> {
    if y.cols() == x.cols() {
        return Ok(());
    }
    Err(Error::Shape { what: "Y, counted in columns,", found: y.cols(), wanted: x.cols() })
}

/// Rows from strip `first` on against all columns.
struct Band<'a, T> {
    tiles: &'a Tiles<T>,
    first: usize,
    out: &'a mut [T],
}

impl<T: Lane> WithSimd for Band<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { tiles, first, out } = self;
        let (rows, cols, size) = (tiles.rows(), tiles.cols(), strip::<T>());
        let m = cols.count();
        let together = rows.group();
        let mut blocks = Aligned::zeros(together * together * size * size);
        let end = first + (out.len() / m.max(1)).div_ceil(size);
        for group in Group::cover(first..end, 0..cols.strips(), false, together) {
            tiles.fill(simd, &group, &mut blocks);
            for ((a, b), block) in group.blocks().zip(blocks.chunks_exact(size * size)) {
                let (height, width) = (rows.rows_in(a), cols.rows_in(b));
                for (i, line) in block.chunks_exact(size).take(height).enumerate() {
                    put_line(line, &mut out[((a - first) * size + i) * m + b * size..][..width]);
                }
            }
        }
    }
}
