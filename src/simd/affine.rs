//! Z = (Xc) W' for rows centred in registers and a k x d matrix W: the projection, one row or many.
//!
//! Each block of rows is centred once into a scratch line that stays in the first cache; scores are then dot products
//! along d with one accumulator each, in the same order for any number of rows, so one row alone gives the same bits as
//! that row of a batch.

use super::lane_sums::{lane_sums, totals};
use super::{Aligned, Centered, Lane, Parts, run_along};
use pulp::{Simd, WithSimd};
use std::array::from_fn;
use std::ops::Range;

/// Rows that fill the tiles of a batch, whatever their height.
const FULL: usize = 12;

/// Bytes of the rows centred at a time: with the components of a tile they stay in the first cache.
const BLOCK_BYTES: usize = 20 << 10;

/// Rows of a block.
fn block_rows<T>(d: usize) -> usize {
    (BLOCK_BYTES / (d * size_of::<T>()).max(1) / FULL).max(1) * FULL
}

/// Writes the scores of the rows in `range` to `out` (rows x k, row-major). `w` holds k rows of d.
pub fn project<T: Lane>(x: &Centered<T>, range: Range<usize>, w: &[T], out: &mut [T]) {
    let d = x.cols();
    let k = w.len().checked_div(d).unwrap_or(0);
    debug_assert!(w.len() == k * d && out.len() == k * range.len());
    let mut scratch = Aligned::zeros(scratch_len::<T>(range.len(), d));
    for (block, out) in blocks::<T>(range, d, k, out) {
        let lines = &mut scratch[..block.len() * d];
        x.pack(block, lines);
        run_along::<T, _>(d, Scores { lines, w, d, out });
    }
}

/// The rows in `range` block by block, each with its place in `out`, which has k numbers for every row. The last block
/// takes with it what would fill no tile.
fn blocks<T>(
    range: Range<usize>,
    d: usize,
    k: usize,
    mut out: &mut [T],
) -> impl Iterator<Item = (Range<usize>, &mut [T])> {
    let (mut start, most) = (range.start, block_rows::<T>(d));
    std::iter::from_fn(move || {
        let left = range.end - start;
        let block = start..start + if left < most + FULL { left } else { most };
        let (now, later) = std::mem::take(&mut out).split_at_mut(block.len() * k);
        (out, start) = (later, block.end);
        (!block.is_empty()).then_some((block, now))
    })
}

/// out = L W' for lines L (rows x d) that are at hand, W (k x d) and out (rows x k), all row-major. Same bits as
/// [`project`].
pub fn products<T: Lane>(lines: &[T], w: &[T], d: usize, out: &mut [T]) {
    let k = w.len().checked_div(d).unwrap_or(0);
    debug_assert!(w.len() == k * d && out.len() * d == k * lines.len());
    let rows = lines.len().checked_div(d).unwrap_or(0);
    for (block, out) in blocks::<T>(0..rows, d, k, out) {
        run_along::<T, _>(d, Scores { lines: &lines[block.start * d..block.end * d], w, d, out });
    }
}

/// Scratch in which a block of at most `rows` rows is centred, in elements.
#[must_use]
pub fn scratch_len<T>(rows: usize, d: usize) -> usize {
    rows.min(block_rows::<T>(d) + FULL - 1) * d
}

/// [`project`] of rows that lie one after the other, with everything prepared: nothing is allocated. `x` is rows x d,
/// `w` k x d, `out` rows x k, all row-major; `scratch` holds [`scratch_len`] elements. Same bits as [`project`].
pub fn project_prepared<T: Lane>(x: &[T], parts: &Parts<T>, w: &[T], scratch: &mut [T], out: &mut [T]) {
    run_along::<T, _>(parts.cols(), Prepared { x, parts, w, scratch, out });
}

struct Prepared<'a, T: Clone> {
    x: &'a [T],
    parts: &'a Parts<'a, T>,
    w: &'a [T],
    scratch: &'a mut [T],
    out: &'a mut [T],
}

impl<T: Lane> WithSimd for Prepared<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { x, parts, w, scratch, out } = self;
        let d = parts.cols();
        let k = w.len().checked_div(d).unwrap_or(0);
        debug_assert!(out.len() * d == k * x.len());
        for (block, out) in blocks::<T>(0..x.len().checked_div(d).unwrap_or(0), d, k, out) {
            let lines = &mut scratch[..block.len() * d];
            parts.shifted(simd, x[block.start * d..block.end * d].chunks_exact(d), lines);
            Scores { lines, w, d, out }.with_simd(simd);
        }
    }
}

/// One block: `out[r][c] = lines[r] . w[c]`.
struct Scores<'a, T> {
    lines: &'a [T],
    w: &'a [T],
    d: usize,
    out: &'a mut [T],
}

impl<T: Lane> WithSimd for Scores<'_, T> {
    type Output = ();

    /// Tiles of about 12 sums: enough to hide the latency of an addition, few enough to leave registers for the loads
    /// on 16.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        if self.d == 0 {
            self.out.fill(T::zeroed());
            return;
        }
        let rows = self.lines.len() / self.d;
        let done = match rows {
            0 => return,
            1 => {
                let done = self.tiles::<S, 1, 10>(simd, 0);
                self.tiles::<S, 1, 5>(simd, done)
            }
            2 => self.tiles::<S, 2, 4>(simd, 0),
            _ => self.tiles::<S, 3, 4>(simd, 0),
        };
        match rows {
            1 => self.tiles::<S, 1, 1>(simd, done),
            2 => self.tiles::<S, 2, 1>(simd, done),
            3..FULL => self.tiles::<S, 3, 1>(simd, done),
            _ => {
                let done = self.tiles::<S, 4, 3>(simd, done);
                let done = self.tiles::<S, 6, 2>(simd, done);
                self.tiles::<S, FULL, 1>(simd, done)
            }
        };
    }
}

impl<T: Lane> Scores<'_, T> {
    /// Components from `done` on, `B` at a time while there are so many, against at least `R` lines; returns how many
    /// are done then.
    #[inline(always)]
    fn tiles<S: Simd, const R: usize, const B: usize>(&mut self, simd: S, mut done: usize) -> usize {
        let Self { lines, w, d, ref mut out } = *self;
        let (count, k) = (lines.len() / d, w.len() / d);
        while done + B <= k {
            let components: [&[T]; B] = from_fn(|b| &w[(done + b) * d..][..d]);
            for first in (0..count).step_by(R) {
                let first = first.min(count - R); // where fewer are left, some for the second time
                let rows: [&[T]; R] = from_fn(|r| &lines[(first + r) * d..][..d]);
                let scores = totals(simd, lane_sums(simd, rows, components));
                for r in 0..R {
                    out[(first + r) * k + done..][..B].copy_from_slice(&scores[r]);
                }
            }
            done += B;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::MatrixView;
    use crate::simd::{Level, run_at};

    fn numbers(len: usize, seed: u64) -> Vec<f64> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) as f64) / f64::from(1 << 24) - 0.5
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn every_level_agrees_with_the_plain_sum() {
        for (rows, d, k) in [(1, 1, 1), (1, 100, 10), (2, 7, 5), (3, 33, 9), (1, 784, 23)] {
            let (lines, w) = (numbers(rows * d, 1), numbers(k * d, 2));
            for level in Level::available() {
                let mut out = vec![0.0; rows * k];
                run_at(level, Scores { lines: &lines, w: &w, d, out: &mut out }).unwrap();
                for (i, got) in out.iter().enumerate() {
                    let (x, w) = (&lines[i / k * d..][..d], &w[i % k * d..][..d]);
                    let right: f64 = x.iter().zip(w).map(|(x, w)| x * w).sum();
                    assert!((got - right).abs() <= d as f64 * f64::EPSILON, "{level:?} {rows} {d} {k}");
                }
            }
        }
    }

    #[test]
    fn elements_loaded_twice_count_once() {
        // Infinity times the 0 of an element that was counted would be NaN.
        for d in 1..40 {
            let w = vec![1.0; d];
            for place in 0..d {
                let mut line = vec![1.0; d];
                line[place] = f64::INFINITY;
                for level in Level::available() {
                    let mut out = [0.0];
                    run_at(level, Scores { lines: &line, w: &w, d, out: &mut out }).unwrap();
                    assert_eq!(out, [f64::INFINITY], "{place} of {d} at {level:?}");
                }
            }
        }
    }

    #[test]
    fn a_row_alone_gives_the_bits_of_the_batch() {
        let (n, d, k) = (8, 37, 13);
        let (data, w, mean) = (numbers(n * d, 3), numbers(k * d, 4), numbers(d, 5));
        let x = Centered::new(MatrixView::new(&data, n, d).unwrap(), &mean, None);
        let mut batch = vec![0.0; n * k];
        project(&x, 0..n, &w, &mut batch);
        for i in 0..n {
            let mut alone = vec![0.0; k];
            project(&x, i..i + 1, &w, &mut alone);
            assert_eq!(alone, batch[i * k..][..k]);
        }
    }

    #[test]
    fn empty_shapes_are_fine() {
        let x = Centered::new(MatrixView::<f32>::new(&[1.0, 2.0], 1, 2).unwrap(), &[0.0; 2], None);
        project(&x, 0..1, &[], &mut []);
        project(&x, 0..0, &[1.0, 2.0], &mut []);
    }
}
