//! Products of a symmetric matrix with few vectors where one half of it is stored: every entry serves its place and its
//! mirror image while it is in a register.
//!
//! The tile is two lines by four vectors: 8 sums along the lines, two entries, a vector of the block and a weight leave
//! 4 of 16 registers for weights. It loads 18 vectors for 16 products, at most 9 cycles of loads for 8 of arithmetic, so
//! that the lines may come from main memory meanwhile.

use super::Lane;
use super::prefetch::prefetch;
use super::skinny::{Lines, WIDE};
use pulp::{Simd, WithSimd};
use std::array::from_fn;

/// Lines of a tile.
const LINES: usize = 2;

/// `along[r * count + c] += lines[r] . by[c]` and `down[c] += sum_r weights[r * count + c] lines[r]` for `count` vectors.
#[derive(Debug)]
pub struct Mirrored<'a> {
    /// Lines of the matrix beside its diagonal.
    pub lines: Lines<'a, f64>,
    /// The vectors where the lines have their columns: as long as these.
    pub by: Lines<'a, f64>,
    /// The vectors where the lines are rows: one value for each line and vector.
    pub weights: &'a [f64],
    /// The product in the lines' rows: one sum for each line and vector.
    pub along: &'a mut [f64],
    /// The product in the lines' columns: vector c at `down[c stride..]`.
    pub down: &'a mut [f64],
    /// Distance between the starts of two vectors of `down`, at least the length of a line.
    pub stride: usize,
}

impl WithSimd for Mirrored<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut c = 0;
        while c + WIDE <= self.by.count() {
            self.block::<S, WIDE>(simd, c);
            c += WIDE;
        }
        while c < self.by.count() {
            self.block::<S, 1>(simd, c);
            c += 1;
        }
    }
}

impl Mirrored<'_> {
    /// All lines with vectors c .. c + B.
    #[inline(always)]
    fn block<S: Simd, const B: usize>(&mut self, simd: S, c: usize) {
        let (count, len) = (self.by.count(), self.lines.len());
        let by = from_fn(|b| self.by.get(c + b));
        let mut vectors = self.down.chunks_mut(self.stride).skip(c);
        let mut down: [&mut [f64]; B] = from_fn(|_| vectors.next().map_or(&mut [][..], |v| &mut v[..len]));
        let mut r = 0;
        while r < self.lines.count() {
            let (weights, along) = (&self.weights[r * count + c..], &mut self.along[r * count + c..]);
            if r + LINES <= self.lines.count() {
                let lines = from_fn(|i| self.lines.get(r + i));
                let last = self.lines.count() - 1;
                let next = from_fn(|i| self.lines.get((r + LINES + i).min(last)));
                tile::<S, LINES, B>(simd, lines, next, by, (weights, along), count, &mut down);
                r += LINES;
            } else {
                tile::<S, 1, B>(simd, [self.lines.get(r)], [self.lines.get(r)], by, (weights, along), count, &mut down);
                r += 1;
            }
        }
    }
}

/// `along[r count + b] += lines[r] . by[b]`, `down[b] += sum_r weights[r count + b] lines[r]`
#[inline(always)]
fn tile<S: Simd, const R: usize, const B: usize>(
    simd: S,
    lines: [&[f64]; R],
    next: [&[f64]; R],
    by: [&[f64]; B],
    (weights, along): (&[f64], &mut [f64]),
    count: usize,
    down: &mut [&mut [f64]; B],
) {
    let len = lines[0].len();
    let full = len / f64::lanes::<S>();
    let weights: [[_; B]; R] = from_fn(|r| from_fn(|b| f64::splat(simd, weights[r * count + b])));
    let mut sums = [[f64::splat(simd, 0.0); B]; R];
    let tail = full * f64::lanes::<S>();
    if tail < len {
        for b in 0..B {
            let v = f64::partial(simd, &by[b][tail..]);
            let mut below = f64::partial(simd, &down[b][tail..]);
            for r in 0..R {
                let line = f64::partial(simd, &lines[r][tail..]);
                sums[r][b] = f64::fma(simd, line, v, sums[r][b]);
                below = f64::fma(simd, line, weights[r][b], below);
            }
            f64::put(simd, &mut down[b][tail..], below);
        }
    }
    let line_vectors = lines.map(|line| &f64::vectors::<S>(line).0[..full]);
    let next_vectors = next.map(|line| &f64::vectors::<S>(line).0[..full]);
    let by_vectors = by.map(|v| &f64::vectors::<S>(v).0[..full]);
    let mut down_vectors = down.each_mut().map(|v| &mut f64::vectors_mut::<S>(v).0[..full]);
    for i in 0..full {
        let mut entries = [f64::splat(simd, 0.0); R];
        for r in 0..R {
            entries[r] = line_vectors[r][i];
            prefetch(&next_vectors[r][i]);
        }
        for b in 0..B {
            let v = by_vectors[b][i];
            let mut below = down_vectors[b][i];
            for r in 0..R {
                sums[r][b] = f64::fma(simd, entries[r], v, sums[r][b]);
                below = f64::fma(simd, entries[r], weights[r][b], below);
            }
            down_vectors[b][i] = below;
        }
    }
    for r in 0..R {
        for b in 0..B {
            along[r * count + b] += f64::sum(simd, sums[r][b]);
        }
    }
}
