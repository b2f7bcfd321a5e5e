//! Where the columns of some rows lie: sum, smallest and largest value, row by row.

use super::{Lane, run};
use crate::matrix::MatrixView;
use pulp::{Simd, WithSimd};

/// Rows looked at together, so that the running values are loaded once for all of them.
const GROUP: usize = 4;

/// Sum of the distances from `base`, smallest and largest value of each column, over all rows added so far.
#[derive(Debug)]
pub struct Spread<T> {
    /// Where distances are measured from: a row of the data, so that a constant column sums to exactly zero.
    pub base: Vec<T>,
    /// Sum of `weight (x - base)`.
    pub sum: Vec<T>,
    /// Smallest value.
    pub low: Vec<T>,
    /// Largest value.
    pub high: Vec<T>,
}

impl<T: Lane> Spread<T> {
    /// The spread of no row, about `base`.
    #[must_use]
    pub fn new(base: Vec<T>) -> Self {
        Self { sum: vec![T::zeroed(); base.len()], low: base.clone(), high: base.clone(), base }
    }

    /// Adds rows, which must be contiguous ([`MatrixView::has_contiguous_rows`]), with one weight each where given; rows
    /// of weight 0 are left out.
    pub fn add(&mut self, rows: MatrixView<T>, weights: Option<&[T]>) {
        debug_assert!(rows.has_contiguous_rows() && rows.cols() == self.base.len());
        run(Add { rows, weights, spread: self });
    }
}

struct Add<'a, T> {
    rows: MatrixView<'a, T>,
    weights: Option<&'a [T]>,
    spread: &'a mut Spread<T>,
}

impl<T: Lane> WithSimd for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let one = T::of(1.0);
        let rows = self.rows.rows();
        if let Some(weights) = self.weights {
            for (r, &weight) in weights.iter().enumerate().take(rows).filter(|(_, w)| **w != T::zeroed()) {
                add::<T, S, 1>(simd, [self.rows.row(r).unwrap_or_default()], weight, self.spread);
            }
            return;
        }
        let grouped = rows / GROUP * GROUP;
        for first in (0..grouped).step_by(GROUP) {
            let mut group: [&[T]; GROUP] = [&[]; GROUP];
            for (r, row) in group.iter_mut().enumerate() {
                *row = self.rows.row(first + r).unwrap_or_default();
            }
            add::<T, S, GROUP>(simd, group, one, self.spread);
        }
        for first in grouped..rows {
            add::<T, S, 1>(simd, [self.rows.row(first).unwrap_or_default()], one, self.spread);
        }
    }
}

#[inline(always)]
fn add<T: Lane, S: Simd, const N: usize>(simd: S, rows: [&[T]; N], weight: T, spread: &mut Spread<T>) {
    let weight = T::splat(simd, weight);
    let mut full: [&[T::V<S>]; N] = [&[]; N];
    let mut tail: [&[T]; N] = [&[]; N];
    for r in 0..N {
        (full[r], tail[r]) = T::vectors::<S>(rows[r]);
    }
    let (base, base_tail) = T::vectors::<S>(&spread.base);
    let (sum, sum_tail) = T::vectors_mut::<S>(&mut spread.sum);
    let (low, low_tail) = T::vectors_mut::<S>(&mut spread.low);
    let (high, high_tail) = T::vectors_mut::<S>(&mut spread.high);
    for (v, &base) in base.iter().enumerate() {
        let mut x = [base; N];
        for r in 0..N {
            x[r] = full[r][v];
        }
        (sum[v], low[v], high[v]) = step::<T, S, N>(simd, x, weight, base, (sum[v], low[v], high[v]));
    }
    if !base_tail.is_empty() {
        let base = T::partial(simd, base_tail);
        let mut x = [base; N];
        for r in 0..N {
            x[r] = T::partial(simd, tail[r]);
        }
        let before = (T::partial(simd, sum_tail), T::partial(simd, low_tail), T::partial(simd, high_tail));
        let (sum, low, high) = step::<T, S, N>(simd, x, weight, base, before);
        T::put(simd, sum_tail, sum);
        T::put(simd, low_tail, low);
        T::put(simd, high_tail, high);
    }
}

/// The running values after `N` more rows.
#[inline(always)]
fn step<T: Lane, S: Simd, const N: usize>(
    simd: S,
    x: [T::V<S>; N],
    weight: T::V<S>,
    base: T::V<S>,
    (mut sum, mut low, mut high): (T::V<S>, T::V<S>, T::V<S>),
) -> (T::V<S>, T::V<S>, T::V<S>) {
    for x in x {
        sum = T::fma(simd, T::vsub(simd, x, base), weight, sum);
        low = T::vmin(simd, low, x);
        high = T::vmax(simd, high, x);
    }
    (sum, low, high)
}

#[cfg(test)]
mod tests {
    use super::super::{Level, run_at};
    use super::*;

    #[test]
    fn sums_and_bounds_are_exact_at_every_level() {
        let weights: Vec<f32> = (0..29u8).map(|i| f32::from(i % 3)).collect();
        for (rows, cols) in [(0, 2), (1, 1), (3, 5), (4, 8), (29, 17), (11, 40)] {
            let data: Vec<f32> = (0..rows * cols).map(|at| ((at * 13) % 31) as f32 - 9.0).collect();
            let column = |j: usize| (0..rows).map(|i| data[i * cols + j]).collect::<Vec<f32>>();
            for level in Level::available() {
                for weights in [None, Some(&weights[..])] {
                    let mut spread = Spread::new(vec![1.0; cols]);
                    let rows = MatrixView::new(&data, rows, cols).unwrap();
                    run_at(level, Add { rows, weights, spread: &mut spread }).unwrap();
                    for j in 0..cols {
                        let all = column(j).into_iter().enumerate().map(|(i, x)| (weights.map_or(1.0, |w| w[i]), x));
                        let present: Vec<(f32, f32)> = all.filter(|(w, _)| *w > 0.0).collect();
                        assert_eq!(spread.sum[j], present.iter().map(|(w, x)| w * (x - 1.0)).sum::<f32>());
                        assert_eq!(spread.low[j], present.iter().fold(1.0, |low, (_, x)| x.min(low)));
                        assert_eq!(spread.high[j], present.iter().fold(1.0, |high, (_, x)| x.max(high)));
                    }
                }
            }
        }
    }
}
