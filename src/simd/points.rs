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

/// What is done to `x` while it is packed: `(x_ij - origin_j - row_origin_i) * factors_j * rows_i`. Empty slices leave
/// a step out.
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
    /// Every step for every row and column: one that is left out subtracts 0 or multiplies by 1, which is exact.
    fn filled(&self, rows: usize, cols: usize) -> Steps {
        let fill = |given: &[f64], len: usize, otherwise: f64| {
            if given.is_empty() { vec![otherwise; len] } else { given.to_vec() }
        };
        Steps {
            origin: fill(self.origin, cols, 0.0),
            factors: fill(self.factors, cols, 1.0),
            row_origin: fill(self.row_origin, rows, 0.0),
            rows: fill(self.rows, rows, 1.0),
        }
    }
}

/// [`Packing`] with nothing left out.
struct Steps {
    origin: Vec<f64>,
    factors: Vec<f64>,
    row_origin: Vec<f64>,
    rows: Vec<f64>,
}

/// Rows read side by side while packing: their part of a line of a strip is a cache line (of `f64`).
const ABREAST: usize = 8;

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
        let steps = packing.filled(count, dim);
        let mut panel = Aligned::zeros(count.div_ceil(size) * size * dim);
        for (s, strip) in panel.chunks_exact_mut((size * dim).max(1)).enumerate() {
            let rows = s * size..count.min((s + 1) * size);
            if !x.has_contiguous_rows() {
                pack_columns(x, rows, &steps, strip);
                continue;
            }
            for first in rows.clone().step_by(ABREAST) {
                pack_rows(x, first..rows.end.min(first + ABREAST), &steps, first - rows.start, strip);
            }
        }
        Self { panel, count, dim }
    }

    /// The outline of `count` rows without their numbers, which come from elsewhere.
    #[must_use]
    pub fn outline(count: usize, dim: usize) -> Self {
        Self { panel: Aligned::zeros(0), count, dim }
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

/// Packs at most [`ABREAST`] rows, which are contiguous, from lane `lane` of a strip on.
fn pack_rows<U: Element, T: Element>(
    x: MatrixView<U>,
    rows: Range<usize>,
    steps: &Steps,
    lane: usize,
    strip: &mut [T],
) {
    // Where rows run out, the last one again, which is not written.
    let (count, dim) = (rows.len(), x.cols());
    let at: [usize; ABREAST] = std::array::from_fn(|r| rows.start + r.min(count - 1));
    let lines = at.map(|i| x.row(i).and_then(|row| row.get(..dim)).unwrap_or_default());
    let (shifts, scales) = (at.map(|i| steps.row_origin[i]), at.map(|i| steps.rows[i]));
    let columns = steps.origin.iter().zip(&steps.factors);
    for (j, (out, (m, f))) in strip.chunks_exact_mut(self::strip::<T>()).zip(columns).enumerate() {
        let mut values = [T::of(0.0); ABREAST];
        for r in 0..ABREAST {
            values[r] = T::of((lines[r][j].into() - m - shifts[r]) * f * scales[r]);
        }
        out[lane..lane + count].copy_from_slice(&values[..count]);
    }
}

/// Packs the rows of a strip column by column.
fn pack_columns<U: Element, T: Element>(x: MatrixView<U>, rows: Range<usize>, steps: &Steps, strip: &mut [T]) {
    let turned = x.transpose();
    let columns = steps.origin.iter().zip(&steps.factors);
    for (j, (out, (m, f))) in strip.chunks_exact_mut(self::strip::<T>()).zip(columns).enumerate() {
        let rest = steps.row_origin[rows.clone()].iter().zip(&steps.rows[rows.clone()]);
        if let Some(column) = turned.row(j) {
            for ((out, &x), (shift, scale)) in out.iter_mut().zip(&column[rows.clone()]).zip(rest) {
                *out = T::of((x.into() - m - shift) * f * scale);
            }
        } else {
            for ((out, i), (shift, scale)) in out.iter_mut().zip(rows.clone()).zip(rest) {
                *out = T::of((x.at(i, j) - m - shift) * f * scale);
            }
        }
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
