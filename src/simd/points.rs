//! Rows packed in strips of 24 (`f64`) or 48 (`f32`), coordinate by coordinate, so that one vector holds the same
//! coordinate of neighbouring rows.

use super::{Aligned, Lane};
use crate::matrix::{Element, MatrixView};
use std::ops::Range;

/// Bytes of one coordinate of a strip: three vectors of 512 bits, six of 256, twelve of 128.
const STRIP_BYTES: usize = 192;

/// Coordinates summed before the next pair of strips: two strips of so many (24 KB) stay in the first cache.
pub(super) const CHUNK: usize = 64;

/// Strips on each side of a group where the rows are long: the group shares every chunk, so that the strips come from
/// the third cache once a group, not once a block.
pub const SHARED: usize = 4;

/// Rows in a strip.
#[must_use]
pub const fn strip<T>() -> usize {
    STRIP_BYTES / size_of::<T>()
}

/// What is done to `x` while it is packed: `(x_ij - origin_j - row_origin_i) * factors_j * rows_i`. Empty slices leave a
/// step out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packing<'a> {
    /// Subtracted from each column, in `f64`.
    pub origin: &'a [f64],
    /// Subtracted from each row, in `f64`.
    pub row_origin: &'a [f64],
    /// Multiplies each column.
    pub factors: &'a [f64],
    /// Multiplies each row.
    pub rows: &'a [f64],
}

impl Packing<'_> {
    #[inline(always)]
    fn of(&self, x: f64, i: usize, j: usize) -> f64 {
        let x = self.origin.get(j).map_or(x, |m| x - m);
        let x = self.row_origin.get(i).map_or(x, |m| x - m);
        let x = self.factors.get(j).map_or(x, |f| x * f);
        self.rows.get(i).map_or(x, |f| x * f)
    }
}

/// Rows packed in strips; the last strip is filled up with zeros.
#[derive(Debug)]
pub struct Points<T> {
    panel: Aligned<T>,
    count: usize,
    dim: usize,
}

impl<T: Lane> Points<T> {
    /// Packs the rows of `x`. Time and memory O(n d).
    #[must_use]
    pub fn pack<U: Element>(x: MatrixView<U>, packing: &Packing) -> Self {
        let (count, dim) = (x.rows(), x.cols());
        let size = strip::<T>();
        let mut panel = Aligned::zeros(count.div_ceil(size) * size * dim);
        for (s, strip) in panel.chunks_exact_mut((size * dim).max(1)).enumerate() {
            let rows = s * size..count.min((s + 1) * size);
            if x.has_contiguous_rows() {
                for (lane, i) in rows.enumerate() {
                    let row = x.row(i).unwrap_or_default();
                    for (j, (line, &x)) in strip.chunks_exact_mut(size).zip(row).enumerate() {
                        line[lane] = T::of(packing.of(x.into(), i, j));
                    }
                }
            } else {
                for (j, line) in strip.chunks_exact_mut(size).enumerate() {
                    for (i, out) in rows.clone().zip(line) {
                        *out = T::of(packing.of(x.at(i, j), i, j));
                    }
                }
            }
        }
        Self { panel, count, dim }
    }

    /// Number of rows packed.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of coordinates.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of strips.
    #[must_use]
    pub fn strips(&self) -> usize {
        self.count.div_ceil(strip::<T>())
    }

    /// Rows in strip `s`, padding not counted.
    #[must_use]
    pub fn rows_in(&self, s: usize) -> usize {
        strip::<T>().min(self.count.saturating_sub(s * strip::<T>()))
    }

    /// Strips on each side of a group that should be computed together.
    #[must_use]
    pub fn group(&self) -> usize {
        if self.dim > 2 * CHUNK { SHARED } else { 1 }
    }

    /// Half the squared length of each packed row, zero for the padding.
    #[must_use]
    pub fn half_squares(&self) -> Vec<T> {
        let size = strip::<T>();
        let mut half = vec![T::of(0.0); self.strips() * size];
        for (s, half) in half.chunks_exact_mut(size).enumerate() {
            for line in self.chunk(s, 0..self.dim).chunks_exact(size) {
                half.iter_mut().zip(line).for_each(|(h, &x)| *h = *h + x * x);
            }
            for h in half {
                *h = T::of(0.5) * *h;
            }
        }
        half
    }

    /// Some coordinates of one strip.
    pub(super) fn chunk(&self, s: usize, coordinates: Range<usize>) -> &[T] {
        let size = strip::<T>();
        &self.panel[(s * self.dim + coordinates.start) * size..][..coordinates.len() * size]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_centres_scales_and_halves_squares() {
        let data = [3.0, 10.0, 5.0, 14.0];
        let x = MatrixView::new(&data, 2, 2).unwrap();
        let packing =
            Packing { origin: &[0.0, 10.0], row_origin: &[1.0, 1.0], factors: &[0.5, 2.0], rows: &[1.0, 10.0] };
        let points = Points::<f64>::pack(x, &packing);
        // (1 - 1, 0 - 1) and (5 - 1, 4 - 1), times the factors: (1, -2) and (20, 60).
        assert_eq!(points.half_squares()[..3], [2.5, 2000.0, 0.0]);
    }
}
