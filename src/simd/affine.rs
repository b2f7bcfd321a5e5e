//! Z = (Xc) W' for rows centred in registers and a k x d matrix W: the projection, one row or many.
//!
//! Each block of rows is centred once into a scratch line that stays in the first cache; scores are then dot products
//! along d with one accumulator each, in the same order for any number of rows, so one row alone gives the same bits as
//! that row of a batch.

use super::lane_sums::lane_sums;
use super::{Centered, Lane, Parts, run};
use pulp::{Simd, WithSimd};
use std::array::from_fn;
use std::ops::Range;

/// Rows of a tile of a batch: with 4 components 12 accumulators, which leaves registers for the loads on 16.
const ROWS: usize = 3;
/// Components of a tile of a batch.
const COMPONENTS: usize = 4;
/// Components of a tile for one row: enough independent sums to hide the latency of an addition.
const ALONE: usize = 10;

/// Bytes of the rows centred at a time: with the components of a tile they stay in the first cache.
const BLOCK_BYTES: usize = 16 << 10;

/// Rows centred at a time, full tiles of them.
fn block_rows<T>(d: usize) -> usize {
    let rows = BLOCK_BYTES / (d * size_of::<T>()).max(1);
    (rows / ROWS).max(1) * ROWS
}

/// Writes the scores of the rows in `range` to `out` (rows x k, row-major). `w` holds k rows of d.
pub fn project<T: Lane>(x: &Centered<T>, range: Range<usize>, w: &[T], out: &mut [T]) {
    let (d, rows) = (x.cols(), range.len());
    let k = w.len().checked_div(d).unwrap_or(0);
    debug_assert!(w.len() == k * d && out.len() == k * rows);
    let most = block_rows::<T>(d);
    let mut scratch = vec![T::zeroed(); scratch_len::<T>(rows, d)];
    let mut start = range.start;
    for out in out.chunks_mut((most * k).max(1)) {
        let block = out.len() / k;
        let lines = &mut scratch[..block * d];
        x.pack(start..start + block, lines);
        run(Scores { lines, w, d, out });
        start += block;
    }
}

/// out = L W' for lines L (rows x d) that are at hand, W (k x d) and out (rows x k), all row-major. Same bits as
/// [`project`].
pub fn products<T: Lane>(lines: &[T], w: &[T], d: usize, out: &mut [T]) {
    let k = w.len().checked_div(d).unwrap_or(0);
    debug_assert!(w.len() == k * d && out.len() * d == k * lines.len());
    let most = block_rows::<T>(d);
    for (lines, out) in lines.chunks((most * d).max(1)).zip(out.chunks_mut((most * k).max(1))) {
        run(Scores { lines, w, d, out });
    }
}

/// Scratch in which a block of at most `rows` rows is centred, in elements.
#[must_use]
pub fn scratch_len<T>(rows: usize, d: usize) -> usize {
    if rows <= ROWS { rows * d } else { block_rows::<T>(d).min(rows) * d }
}

/// [`project`] of rows that lie one after the other, with everything prepared: nothing is allocated. `x` is rows x d,
/// `w` k x d, `out` rows x k, all row-major; `scratch` holds [`scratch_len`] elements. Same bits as [`project`].
pub fn project_prepared<T: Lane>(x: &[T], parts: &Parts<T>, w: &[T], scratch: &mut [T], out: &mut [T]) {
    run(Prepared { x, parts, w, scratch, out });
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
        let most = block_rows::<T>(d);
        for (x, out) in x.chunks((most * d).max(1)).zip(out.chunks_mut((most * k).max(1))) {
            let lines = &mut scratch[..x.len()];
            lines.copy_from_slice(x);
            parts.shift(simd, lines);
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

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { lines, w, d, out } = self;
        if d == 0 {
            out.fill(T::zeroed());
            return;
        }
        let rows = lines.len() / d;
        if rows >= ROWS {
            tiles::<T, S, ROWS, COMPONENTS>(simd, (lines, rows / ROWS), w, d, out);
        }
        let (over, first) = (rows % ROWS, rows / ROWS * ROWS);
        let (lines, out) = (&lines[first * d..], &mut out[first * (w.len() / d)..]);
        match over {
            0 => {}
            1 => tiles::<T, S, 1, ALONE>(simd, (lines, 1), w, d, out),
            _ => tiles::<T, S, 2, COMPONENTS>(simd, (lines, 1), w, d, out),
        }
    }
}

/// `groups` times `R` lines by all components, `B` at a time, then one at a time.
#[inline(always)]
fn tiles<T: Lane, S: Simd, const R: usize, const B: usize>(
    simd: S,
    (lines, groups): (&[T], usize),
    w: &[T],
    d: usize,
    out: &mut [T],
) {
    let k = w.len() / d;
    let mut blocks = w.chunks_exact(B * d);
    let mut c = 0;
    for block in &mut blocks {
        for group in 0..groups {
            tile::<T, S, R, B>(simd, &lines[group * R * d..], block, d, &mut out[group * R * k + c..], k);
        }
        c += B;
    }
    for line in blocks.remainder().chunks_exact(d) {
        for group in 0..groups {
            tile::<T, S, R, 1>(simd, &lines[group * R * d..], line, d, &mut out[group * R * k + c..], k);
        }
        c += 1;
    }
}

/// `R` rows times `B` components; the score of row r and component b goes to out[r k + b].
#[inline(always)]
fn tile<T: Lane, S: Simd, const R: usize, const B: usize>(
    simd: S,
    x: &[T],
    w: &[T],
    d: usize,
    out: &mut [T],
    k: usize,
) {
    let rows: [&[T]; R] = from_fn(|r| &x[r * d..][..d]);
    let components: [&[T]; B] = from_fn(|b| &w[b * d..][..d]);
    let sums = lane_sums(simd, rows, components);
    for r in 0..R {
        for b in 0..B {
            out[r * k + b] = T::sum(simd, sums[r][b]);
        }
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
