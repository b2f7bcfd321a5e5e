//! Dot products of centred rows with a few vectors, which leave the centred rows in a panel: the data come from main
//! memory while the arithmetic runs.

use super::lane_sums::totals;
use super::skinny::{CHUNK_BYTES, DEEP, Lines, WIDE, dot_block};
use super::{Centered, Lane, prefetch_second};
use pulp::{Simd, WithSimd};
use std::array::from_fn;
use std::ops::Range;

/// `panel[r] = row r of the range, centred and scaled`, and `out[r * by.count + c] = panel[r] . by[c]`.
///
/// The rows must be contiguous. Sums run in the element type inside pieces of 4 KiB and in `f64` across them.
#[derive(Debug)]
pub struct CentredDots<'a, T: Lane> {
    /// Where the rows come from.
    pub source: &'a Centered<'a, T>,
    /// Which rows.
    pub range: Range<usize>,
    /// The block of vectors, as long as the rows.
    pub by: Lines<'a, T>,
    /// Room for the rows.
    pub panel: &'a mut [T],
    /// Distance between the rows of the panel.
    pub stride: usize,
    /// One sum for each row and vector.
    pub out: &'a mut [f64],
}

impl<T: Lane> WithSimd for CentredDots<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let scaled = self.source.factor().is_some();
        match (scaled, self.by.count() >= WIDE) {
            (false, true) => products::<T, S, WIDE, false>(simd, self),
            (true, true) => products::<T, S, WIDE, true>(simd, self),
            (false, false) => products::<T, S, 1, false>(simd, self),
            (true, false) => products::<T, S, 1, true>(simd, self),
        }
    }
}

/// The first `B` vectors while the rows are centred, the others from the panel.
#[inline(always)]
fn products<T: Lane, S: Simd, const B: usize, const SCALED: bool>(simd: S, all: CentredDots<T>) {
    let CentredDots { source, range, by, panel, stride, out } = all;
    let (count, width) = (range.len(), by.count());
    out.fill(0.0);
    if width == 0 || source.cols() == 0 {
        return;
    }
    let chunk = CHUNK_BYTES / size_of::<T>();
    for from in (0..source.cols()).step_by(chunk) {
        let span = from..source.cols().min(from + chunk);
        let mut r = 0;
        while r + DEEP <= count {
            let (lines, sums) = (&mut panel[r * stride..], &mut out[r * width..]);
            group::<T, S, DEEP, B, SCALED>(simd, (source, range.start + r), by, span.clone(), (lines, stride), sums);
            r += DEEP;
        }
        while r < count {
            let (lines, sums) = (&mut panel[r * stride..], &mut out[r * width..]);
            group::<T, S, 1, B, SCALED>(simd, (source, range.start + r), by, span.clone(), (lines, stride), sums);
            r += 1;
        }
        let lines = Lines::new(panel, count, stride, source.cols());
        let mut c = B;
        while c + WIDE <= width {
            dot_block::<T, S, DEEP, WIDE>(simd, lines, by, c, span.clone(), out);
            c += WIDE;
        }
        while c < width {
            dot_block::<T, S, DEEP, 1>(simd, lines, by, c, span.clone(), out);
            c += 1;
        }
    }
}

/// The elements in `span` of `R` rows from row `start` on.
#[inline(always)]
fn group<T: Lane, S: Simd, const R: usize, const B: usize, const SCALED: bool>(
    simd: S,
    (source, start): (&Centered<T>, usize),
    by: Lines<T>,
    span: Range<usize>,
    (panel, stride): (&mut [T], usize),
    out: &mut [f64],
) {
    let (high, low) = source.mean_parts();
    let mut lines = panel.chunks_mut(stride);
    let lines: [&mut [T]; R] = from_fn(|_| lines.next().map_or(&mut [][..], |line| &mut line[span.clone()]));
    let rows = from_fn(|r| &source.raw().row(start + r).unwrap_or_default()[span.clone()]);
    let piece = Piece {
        rows,
        ahead: from_fn(|r| source.raw().row(start + R + r).map_or(rows[r], |row| &row[span.clone()])),
        block: from_fn(|b| &by.get(b)[span.clone()]),
        high: &high[span.clone()],
        low: if low.is_empty() { &[] } else { &low[span.clone()] },
        factor: if SCALED { &source.narrow_factor()[span] } else { &[] },
    };
    tile::<T, S, R, B, SCALED>(simd, piece, lines, out, by.count());
}

/// A few KiB of `R` rows, of `B` vectors and of what turns the one into the other's partners.
#[derive(Clone, Copy)]
struct Piece<'a, T, const R: usize, const B: usize> {
    rows: [&'a [T]; R],
    /// What the memory should bring meanwhile.
    ahead: [&'a [T]; R],
    block: [&'a [T]; B],
    high: &'a [T],
    low: &'a [T],
    factor: &'a [T],
}

/// `lines[r]` = centred `rows[r]`;   `out[r width + b] += lines[r] . block[b]`
#[inline(always)]
fn tile<T: Lane, S: Simd, const R: usize, const B: usize, const SCALED: bool>(
    simd: S,
    piece: Piece<T, R, B>,
    lines: [&mut [T]; R],
    out: &mut [f64],
    width: usize,
) {
    let len = piece.high.len();
    let full = len / T::lanes::<S>();
    let rows = piece.rows.map(|row| &T::vectors::<S>(row).0[..full]);
    let ahead = piece.ahead.map(|row| &T::vectors::<S>(row).0[..full]);
    let block = piece.block.map(|line| &T::vectors::<S>(line).0[..full]);
    let high = &T::vectors::<S>(piece.high).0[..full];
    let deep = !piece.low.is_empty();
    let low = if deep { &T::vectors::<S>(piece.low).0[..full] } else { high };
    let factor = if SCALED { &T::vectors::<S>(piece.factor).0[..full] } else { high };
    let lines = lines.map(|line| T::vectors_mut::<S>(line));
    let zero = T::splat(simd, T::zeroed());
    let mut sums = [[zero; B]; R];
    for i in 0..full {
        let mut x = [zero; R];
        for r in 0..R {
            prefetch_second(&ahead[r][i]);
            x[r] = T::vsub(simd, rows[r][i], high[i]);
            if deep {
                x[r] = T::vsub(simd, x[r], low[i]);
            }
            if SCALED {
                x[r] = T::vmul(simd, x[r], factor[i]);
            }
            lines[r].0[i] = x[r];
        }
        for b in 0..B {
            let q = block[b][i];
            for r in 0..R {
                sums[r][b] = T::fma(simd, x[r], q, sums[r][b]);
            }
        }
    }
    let sums: [[T; B]; R] = totals(simd, sums);
    for r in 0..R {
        for b in 0..B {
            let sum: f64 = sums[r][b].into();
            out[r * width + b] += sum;
        }
    }
    // The last few elements, one at a time: fewer than a vector holds.
    let tail = full * T::lanes::<S>();
    for j in tail..len {
        for r in 0..R {
            let mut x = piece.rows[r][j] - piece.high[j];
            if deep {
                x = x - piece.low[j];
            }
            if SCALED {
                x = x * piece.factor[j];
            }
            lines[r].1[j - tail] = x;
            for b in 0..B {
                let product: f64 = (x * piece.block[b][j]).into();
                out[r * width + b] += product;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::MatrixView;
    use crate::simd::skinny::panel_stride;
    use crate::simd::{Level, run_at};

    fn check<T: Lane>(level: Level) {
        for (n, d, width) in [(1, 1, 1), (5, 7, 4), (3, 1100, 3), (7, 67, 9), (4, 0, 2), (0, 5, 1), (2, 9, 0)] {
            // Small integers: every order of summation gives the same bits.
            let x: Vec<T> = (0..n * d).map(|i| T::of((i % 11) as f64)).collect();
            let mean: Vec<f64> = (0..d).map(|j| (j % 5) as f64).collect();
            let factor: Vec<f64> = (0..d).map(|j| [1.0, 2.0, 0.5][j % 3]).collect();
            let q: Vec<T> = (0..width * d).map(|i| T::of((i % 7) as f64 - 3.0)).collect();
            let stride = panel_stride::<T>(d).max(1);
            for factor in [None, Some(&factor[..])] {
                let source = Centered::new(MatrixView::new(&x, n, d).unwrap(), &mean, factor);
                let (mut panel, mut out) = (vec![T::of(9.0); (n * stride).max(1)], vec![9.0; n * width]);
                let by = Lines::new(&q, width, d, d);
                let (range, panel_out) = (0..n, &mut panel[..]);
                run_at(level, CentredDots { source: &source, range, by, panel: panel_out, stride, out: &mut out });
                let centred =
                    |r: usize, j: usize| (x[r * d + j].into() - mean[j]) * factor.map_or(1.0, |factor| factor[j]);
                for r in 0..n {
                    for c in 0..width {
                        let right: f64 = (0..d).map(|j| centred(r, j) * q[c * d + j].into()).sum();
                        assert_eq!(out[r * width + c], right, "{n} x {d}, {width}");
                    }
                    assert!(width == 0 || (0..d).all(|j| panel[r * stride + j].into() == centred(r, j)));
                }
            }
        }
    }

    #[test]
    fn every_level_centres_and_multiplies() {
        for level in Level::available() {
            check::<f32>(level);
            check::<f64>(level);
        }
    }
}
