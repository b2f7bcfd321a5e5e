//! Products of a matrix with few vectors, the vectors along its long side: dot products and updates of a panel of
//! lines.
//!
//! Both are tiles of 12 accumulators, which leave registers for the operands on 16: three lines by four vectors (six by
//! two for a block of two) for the dot products, as many pieces of a line by four vectors for the updates. With `L` a
//! panel of lines in the second cache, [`Dots`] then [`Updates`] make `Z += L'(L Q)` while the lines come from main
//! memory once.

use super::Lane;
use super::aligned::CACHE_LINE;
use super::lane_sums::{lane_sums, totals};
use pulp::{Simd, WithSimd};
use std::array::from_fn;
use std::ops::Range;

/// Lines (dot products) or vectors of a line (updates) of a tile.
pub(super) const DEEP: usize = 3;
/// Vectors of the block in a tile.
pub(super) const WIDE: usize = 4;
/// The two for what is left of a block.
pub(super) const NARROW: (usize, usize) = (6, 2);
/// Bytes of a line taken at a time by the dot products: four of them and the lines' own fit the first cache.
pub(super) const CHUNK_BYTES: usize = 4096;
/// Lines whose updates are added at a time: their pieces stay in the first cache between neighbouring tiles.
const UPDATE_LINES: usize = 32;

/// The distance between the lines of a panel whose lines have `len` elements: whole cache lines, and never a multiple
/// of 1 KiB, at which the lines would fight for the same few places of the first cache.
#[must_use]
pub fn panel_stride<T: Lane>(len: usize) -> usize {
    let line = CACHE_LINE / size_of::<T>();
    let stride = len.next_multiple_of(line);
    if (stride * size_of::<T>()).is_multiple_of(1024) { stride + line } else { stride }
}

/// `count` lines of `len` elements: line i is `data[i stride..][..len]`.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a, T> {
    data: &'a [T],
    count: usize,
    stride: usize,
    len: usize,
}

impl<'a, T> Lines<'a, T> {
    /// The last line must end inside `data`.
    #[must_use]
    pub fn new(data: &'a [T], count: usize, stride: usize, len: usize) -> Self {
        debug_assert!(count == 0 || (count - 1) * stride + len <= data.len());
        Self { data, count, stride, len }
    }

    /// Lines that lie one after the other.
    #[must_use]
    pub fn packed(data: &'a [T], len: usize) -> Self {
        Self::new(data, data.len().checked_div(len).unwrap_or(0), len, len)
    }

    /// How many lines.
    #[inline(always)]
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Elements of a line.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the lines have no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    pub(super) fn get(&self, i: usize) -> &'a [T] {
        &self.data[i * self.stride..][..self.len]
    }
}

/// `out[r * by.count + c] = lines[r] . by[c]`.
///
/// Sums run in the element type inside pieces of 4 KiB and in `f64` across them.
#[derive(Debug)]
pub struct Dots<'a, T> {
    /// The lines.
    pub lines: Lines<'a, T>,
    /// The block of vectors, as long as the lines.
    pub by: Lines<'a, T>,
    /// One sum for each line and vector.
    pub out: &'a mut [f64],
}

impl<T: Lane> WithSimd for Dots<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { lines, by, out } = self;
        out.fill(0.0);
        let chunk = CHUNK_BYTES / size_of::<T>();
        for start in (0..lines.len).step_by(chunk) {
            let span = start..lines.len.min(start + chunk);
            let mut c = 0;
            while c + WIDE <= by.count {
                dot_block::<T, S, DEEP, WIDE>(simd, lines, by, c, span.clone(), out);
                c += WIDE;
            }
            if c + NARROW.1 <= by.count {
                dot_block::<T, S, { NARROW.0 }, { NARROW.1 }>(simd, lines, by, c, span.clone(), out);
                c += NARROW.1;
            }
            if c < by.count {
                dot_block::<T, S, DEEP, 1>(simd, lines, by, c, span, out);
            }
        }
    }
}

/// The elements in `span` of all lines, `R` at a time, against vectors c .. c + B.
#[inline(always)]
pub(super) fn dot_block<T: Lane, S: Simd, const R: usize, const B: usize>(
    simd: S,
    lines: Lines<T>,
    by: Lines<T>,
    c: usize,
    span: Range<usize>,
    out: &mut [f64],
) {
    let block: [&[T]; B] = from_fn(|b| &by.get(c + b)[span.clone()]);
    let mut r = 0;
    while r + R <= lines.count {
        let rows = from_fn(|i| &lines.get(r + i)[span.clone()]);
        dot_tile::<T, S, R, B>(simd, rows, block, &mut out[r * by.count + c..], by.count);
        r += R;
    }
    while r < lines.count {
        let row = [&lines.get(r)[span.clone()]];
        dot_tile::<T, S, 1, B>(simd, row, block, &mut out[r * by.count + c..], by.count);
        r += 1;
    }
}

/// `out[r width + b] += rows[r] . block[b]`
#[inline(always)]
fn dot_tile<T: Lane, S: Simd, const R: usize, const B: usize>(
    simd: S,
    rows: [&[T]; R],
    block: [&[T]; B],
    out: &mut [f64],
    width: usize,
) {
    let sums: [[T; B]; R] = totals(simd, lane_sums(simd, rows, block));
    for r in 0..R {
        for b in 0..B {
            let sum: f64 = sums[r][b].into();
            out[r * width + b] += sum;
        }
    }
}

/// `into[c] += sum_r weights[r * count + c] lines[r]` for `count` vectors, vector c at `into[c stride..][..len]`.
#[derive(Debug)]
pub struct Updates<'a, T> {
    /// The lines.
    pub lines: Lines<'a, T>,
    /// One weight for each line and vector.
    pub weights: &'a [T],
    /// The vectors.
    pub into: &'a mut [T],
    /// Distance between the starts of two vectors, at least the length of a line.
    pub stride: usize,
}

impl<T: Lane> WithSimd for Updates<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { lines, weights, into, stride } = self;
        if lines.count == 0 || lines.len == 0 {
            return;
        }
        let count = weights.len() / lines.count;
        for start in (0..lines.count).step_by(UPDATE_LINES) {
            let group = start..lines.count.min(start + UPDATE_LINES);
            let mut c = 0;
            while c + WIDE <= count {
                update_block::<T, S, DEEP, WIDE>(simd, lines, group.clone(), weights, c, into, stride);
                c += WIDE;
            }
            if c + NARROW.1 <= count {
                update_block::<T, S, { NARROW.0 }, { NARROW.1 }>(simd, lines, group.clone(), weights, c, into, stride);
                c += NARROW.1;
            }
            if c < count {
                update_block::<T, S, DEEP, 1>(simd, lines, group, weights, c, into, stride);
            }
        }
    }
}

/// The full vectors of a slice, and what is left.
type Parts<'a, T, S> = (&'a mut [<T as Lane>::V<S>], &'a mut [T]);

/// The lines in `group`, `W` pieces at a time, times vectors c .. c + B.
#[inline(always)]
fn update_block<T: Lane, S: Simd, const W: usize, const B: usize>(
    simd: S,
    lines: Lines<T>,
    group: Range<usize>,
    weights: &[T],
    c: usize,
    into: &mut [T],
    stride: usize,
) {
    let count = weights.len() / lines.count;
    let mut vectors = into.chunks_mut(stride).skip(c);
    let into: [&mut [T]; B] = from_fn(|_| vectors.next().map_or(&mut [][..], |v| &mut v[..lines.len]));
    let mut parts = into.map(|v| T::vectors_mut::<S>(v));
    let mut at = 0;
    let full = lines.len / T::lanes::<S>();
    while at + W <= full {
        update_tile::<T, S, W, B>(simd, lines, group.clone(), weights, count, c, at, &mut parts);
        at += W;
    }
    while at < full {
        update_tile::<T, S, 1, B>(simd, lines, group.clone(), weights, count, c, at, &mut parts);
        at += 1;
    }
    let tail = full * T::lanes::<S>();
    if tail < lines.len {
        for b in 0..B {
            let mut sum = T::partial(simd, parts[b].1);
            for r in group.clone() {
                let weight = T::splat(simd, weights[r * count + c + b]);
                sum = T::fma(simd, T::partial(simd, &lines.get(r)[tail..]), weight, sum);
            }
            T::put(simd, parts[b].1, sum);
        }
    }
}

/// `W` vectors of every line, from vector `at` on, into `B` vectors of the block.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // a tile of a hot loop: a struct would hide its arrays from the registers
fn update_tile<T: Lane, S: Simd, const W: usize, const B: usize>(
    simd: S,
    lines: Lines<T>,
    group: Range<usize>,
    weights: &[T],
    count: usize,
    c: usize,
    at: usize,
    parts: &mut [Parts<T, S>; B],
) {
    let mut sums = [[T::splat(simd, T::zeroed()); W]; B];
    for b in 0..B {
        sums[b].copy_from_slice(&parts[b].0[at..at + W]);
    }
    for r in group {
        let x = &T::vectors::<S>(lines.get(r)).0[at..at + W];
        let line_weights = &weights[r * count + c..][..B];
        for b in 0..B {
            let weight = T::splat(simd, line_weights[b]);
            for w in 0..W {
                sums[b][w] = T::fma(simd, x[w], weight, sums[b][w]);
            }
        }
    }
    for b in 0..B {
        parts[b].0[at..at + W].copy_from_slice(&sums[b]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, run_at};

    /// Small integers: every order of summation gives the same bits.
    fn integers<T: Lane>(len: usize, seed: usize) -> Vec<T> {
        (0..len).map(|i| T::of(((i * 31 + seed * 17) % 13) as f64 - 6.0)).collect()
    }

    fn check<T: Lane>(level: Level) {
        for (lines, len, count) in [(0, 5, 2), (1, 0, 1), (1, 1, 1), (3, 7, 4), (5, 67, 6), (70, 1100, 9), (34, 24, 8)]
        {
            let stride = len + 3;
            let (x, q) = (integers::<T>(lines * stride, 1), integers::<T>(count * stride, 2));
            let mut out = vec![9.0; lines * count];
            let x_lines = Lines::new(&x, lines, stride, len);
            let by = Lines::new(&q, count, stride, len);
            run_at(level, Dots { lines: x_lines, by, out: &mut out }).unwrap();
            let weights = integers::<T>(lines * count, 3);
            let mut z = q.clone();
            run_at(level, Updates { lines: x_lines, weights: &weights, into: &mut z, stride }).unwrap();
            for c in 0..count {
                for r in 0..lines {
                    let right: f64 = (0..len).map(|j| x[r * stride + j].into() * q[c * stride + j].into()).sum();
                    assert_eq!(out[r * count + c], right);
                }
                for j in 0..len {
                    let sum: f64 = (0..lines).map(|r| weights[r * count + c].into() * x[r * stride + j].into()).sum();
                    assert_eq!(z[c * stride + j].into(), q[c * stride + j].into() + sum);
                }
                assert_eq!(z[c * stride + len..][..3], q[c * stride + len..][..3], "gaps stay as they are");
            }
        }
    }

    #[test]
    fn panels_avoid_round_strides() {
        assert_eq!(panel_stride::<f64>(9), 16);
        assert_eq!(panel_stride::<f64>(512), 520);
        assert_eq!(panel_stride::<f32>(1), 16);
    }

    #[test]
    fn every_level_gives_the_sums() {
        for level in Level::available() {
            check::<f32>(level);
            check::<f64>(level);
        }
    }
}
