//! Products of a symmetric matrix with few vectors where one half of it is stored: every entry serves its place and its
//! mirror image while it is in a register.
//!
//! A tile of three lines by four vectors, or six by two, keeps its 12 sums, its 12 weights and what it works with in 32
//! registers (with 16 its weights come from the first cache). For four vectors the next tile is sent for meanwhile: so
//! it computes while the memory reads, where two loops one after the other would wait first and compute then. It is
//! sent for to the second cache: the first is filled by the vectors, and of lines on their way to it the processor
//! keeps count of too few to fill the bus. Two vectors are for matrices that lie near, where sending for lines would
//! take a fifth of the time.

use super::skinny::{DEEP, Lines, NARROW, WIDE};
use super::{Lane, prefetch_second};
use pulp::{Simd, WithSimd};
use std::array::from_fn;

/// `along[r * count + c] += lines[r] . by[c]` and `down[c] += sum_r weights[r * count + c] lines[r]` for `count`
/// vectors.
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
    /// The product in the lines' columns: vector c from `down[c * stride]` on.
    pub down: &'a mut [f64],
    /// Distance between the starts of two vectors of `down`, at least the length of a line.
    pub stride: usize,
}

impl WithSimd for Mirrored<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        if self.lines.is_empty() {
            return;
        }
        let count = self.by.count();
        let mut c = 0;
        while c + WIDE <= count {
            self.block::<S, DEEP, WIDE, true>(simd, c);
            c += WIDE;
        }
        if c + NARROW.1 <= count {
            self.block::<S, { NARROW.0 }, { NARROW.1 }, false>(simd, c);
            c += NARROW.1;
        }
        if c < count {
            self.block::<S, DEEP, 1, true>(simd, c);
        }
    }
}

impl Mirrored<'_> {
    /// All lines with vectors c .. c + B, `R` lines at a time, those that come next sent for where they may be `FAR`
    /// away.
    #[inline(always)]
    fn block<S: Simd, const R: usize, const B: usize, const FAR: bool>(&mut self, simd: S, c: usize) {
        let Self { lines, by, weights, along, down, stride } = self;
        let count = by.count();
        let by = from_fn(|b| by.get(c + b));
        let mut vectors = down.chunks_mut(*stride).skip(c);
        let mut down: [&mut [f64]; B] = from_fn(|_| vectors.next().map_or(&mut [][..], |v| &mut v[..lines.len()]));
        let from = |r: usize| from_fn::<_, R, _>(|i| lines.get((r + i).min(lines.count() - 1)));
        let mut r = 0;
        while r + R <= lines.count() {
            let (lines, ahead) = (from(r), from(r + R));
            let tile = Tile { lines, ahead, by, weights: &weights[r * count + c..], count };
            tile.add::<S, FAR>(simd, &mut along[r * count + c..], &mut down);
            r += R;
        }
        while r < lines.count() {
            let line = [lines.get(r)];
            let tile = Tile { lines: line, ahead: line, by, weights: &weights[r * count + c..], count };
            tile.add::<S, false>(simd, &mut along[r * count + c..], &mut down);
            r += 1;
        }
    }
}

/// `R` lines with `B` of `count` vectors.
struct Tile<'a, const R: usize, const B: usize> {
    lines: [&'a [f64]; R],
    /// What the memory should bring next.
    ahead: [&'a [f64]; R],
    by: [&'a [f64]; B],
    weights: &'a [f64],
    count: usize,
}

impl<const R: usize, const B: usize> Tile<'_, R, B> {
    /// `along[r count + b] += lines[r] . by[b]`, `down[b] += sum_r weights[r count + b] lines[r]`
    #[inline(always)]
    fn add<S: Simd, const FAR: bool>(self, simd: S, along: &mut [f64], down: &mut [&mut [f64]; B]) {
        let Self { lines, ahead, by, count, .. } = self;
        let mut sums = [[f64::splat(simd, 0.0); B]; R];
        let mut weights = sums; // filled in loops: closures would leave it in memory
        for r in 0..R {
            for b in 0..B {
                weights[r][b] = f64::splat(simd, self.weights[r * count + b]);
            }
        }
        let full = lines[0].len() / f64::lanes::<S>();
        let tail = full * f64::lanes::<S>();
        if tail < lines[0].len() {
            for b in 0..B {
                let v = f64::partial(simd, &by[b][tail..]);
                let mut below = f64::partial(simd, &down[b][tail..]);
                for r in 0..R {
                    let entries = f64::partial(simd, &lines[r][tail..]);
                    sums[r][b] = f64::fma(simd, entries, v, sums[r][b]);
                    below = f64::fma(simd, entries, weights[r][b], below);
                }
                f64::put(simd, &mut down[b][tail..], below);
            }
        }
        let lines = lines.map(|line| &f64::vectors::<S>(line).0[..full]);
        let ahead = ahead.map(|line| &f64::vectors::<S>(line).0[..full]);
        let by = by.map(|v| &f64::vectors::<S>(v).0[..full]);
        let down = down.each_mut().map(|v| &mut f64::vectors_mut::<S>(v).0[..full]);
        for i in 0..full {
            let mut entries = [f64::splat(simd, 0.0); R];
            for r in 0..R {
                entries[r] = lines[r][i];
                if FAR {
                    prefetch_second(&ahead[r][i]);
                }
            }
            for b in 0..B {
                let (v, mut below) = (by[b][i], down[b][i]);
                for r in 0..R {
                    sums[r][b] = f64::fma(simd, entries[r], v, sums[r][b]);
                    below = f64::fma(simd, entries[r], weights[r][b], below);
                }
                down[b][i] = below;
            }
        }
        for r in 0..R {
            for b in 0..B {
                along[r * count + b] += f64::sum(simd, sums[r][b]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, run_at};

    /// Small integers: every order of summation gives the same bits.
    fn integers(len: usize, seed: usize) -> Vec<f64> {
        (0..len).map(|i| ((i * 31 + seed * 17) % 13) as f64 - 6.0).collect()
    }

    #[test]
    fn every_level_gives_the_sums() {
        for level in Level::available() {
            for (lines, len, count) in [
                (0, 5, 2),
                (1, 0, 1),
                (1, 1, 1),
                (3, 7, 4),
                (8, 67, 6),
                (8, 29, 7),
                (48, 384, 9),
                (33, 24, 8),
                (2, 1100, 4),
            ] {
                let (stride, gap) = (len + 3, len + 5);
                let (x, q, weights) =
                    (integers(lines * stride, 1), integers(count * stride, 2), integers(lines * count, 3));
                let (mut along, mut down) = (integers(lines * count, 4), integers(count * gap, 5));
                let (before_along, before_down) = (along.clone(), down.clone());
                let work = Mirrored {
                    lines: Lines::new(&x, lines, stride, len),
                    by: Lines::new(&q, count, stride, len),
                    weights: &weights,
                    along: &mut along,
                    down: &mut down,
                    stride: gap,
                };
                run_at(level, work).unwrap();
                for c in 0..count {
                    for r in 0..lines {
                        let right: f64 = (0..len).map(|j| x[r * stride + j] * q[c * stride + j]).sum();
                        assert_eq!(along[r * count + c], before_along[r * count + c] + right);
                    }
                    for j in 0..len {
                        let right: f64 = (0..lines).map(|r| weights[r * count + c] * x[r * stride + j]).sum();
                        assert_eq!(down[c * gap + j], before_down[c * gap + j] + right);
                    }
                    assert_eq!(down[c * gap + len..][..5], before_down[c * gap + len..][..5], "gaps stay as they are");
                }
            }
        }
    }
}
