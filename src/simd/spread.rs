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

    /// Adds rows, which must be contiguous ([`MatrixView::has_contiguous_rows`]), with one weight each where given;
    /// rows of weight 0 are left out.
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
        let (rows, weights) = (self.rows, self.weights);
        let mut running = Running::<T, S>::of(self.spread);
        if let Some(weights) = weights {
            for (r, &weight) in weights.iter().enumerate().take(rows.rows()).filter(|(_, w)| **w != T::zeroed()) {
                running.add(simd, [rows.row(r).unwrap_or_default()], weight);
            }
            return;
        }
        let grouped = rows.rows() / GROUP * GROUP;
        for first in (0..grouped).step_by(GROUP) {
            let mut group: [&[T]; GROUP] = [&[]; GROUP];
            for r in 0..GROUP {
                group[r] = rows.row(first + r).unwrap_or_default();
            }
            running.add(simd, group, one);
        }
        for first in grouped..rows.rows() {
            running.add(simd, [rows.row(first).unwrap_or_default()], one);
        }
    }
}

/// The running values as vectors, each with its tail.
struct Running<'a, T: Lane, S: Simd> {
    base: (&'a [T::V<S>], &'a [T]),
    sum: (&'a mut [T::V<S>], &'a mut [T]),
    low: (&'a mut [T::V<S>], &'a mut [T]),
    high: (&'a mut [T::V<S>], &'a mut [T]),
}

impl<'a, T: Lane, S: Simd> Running<'a, T, S> {
    #[inline(always)]
    fn of(spread: &'a mut Spread<T>) -> Self {
        Self {
            base: T::vectors::<S>(&spread.base),
            sum: T::vectors_mut::<S>(&mut spread.sum),
            low: T::vectors_mut::<S>(&mut spread.low),
            high: T::vectors_mut::<S>(&mut spread.high),
        }
    }

    #[inline(always)]
    fn add<const N: usize>(&mut self, simd: S, rows: [&[T]; N], weight: T) {
        let weight = T::splat(simd, weight);
        let count = self.base.0.len();
        let mut full: [&[T::V<S>]; N] = [&[]; N];
        let mut tail: [&[T]; N] = [&[]; N];
        for r in 0..N {
            (full[r], tail[r]) = T::vectors::<S>(rows[r]);
            full[r] = &full[r][..count];
        }
        let (sum, low, high) = (&mut self.sum.0[..count], &mut self.low.0[..count], &mut self.high.0[..count]);
        for v in 0..count {
            let base = self.base.0[v];
            let mut x = [base; N];
            for r in 0..N {
                x[r] = full[r][v];
            }
            (sum[v], low[v], high[v]) = step::<T, S, N>(simd, x, weight, base, (sum[v], low[v], high[v]));
        }
        if !self.base.1.is_empty() {
            let base = T::partial(simd, self.base.1);
            let mut x = [base; N];
            for r in 0..N {
                x[r] = T::partial(simd, tail[r]);
            }
            let (sum, low, high) = (&mut *self.sum.1, &mut *self.low.1, &mut *self.high.1);
            let before = (T::partial(simd, sum), T::partial(simd, low), T::partial(simd, high));
            let after = step::<T, S, N>(simd, x, weight, base, before);
            T::put(simd, sum, after.0);
            T::put(simd, low, after.1);
            T::put(simd, high, after.2);
        }
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
