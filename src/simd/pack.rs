//! Packing contiguous rows into a panel: shift, unit, weight, and the sums of what was packed.

use super::Lane;
use super::panel::{Panel, Shift, Weights};
use super::tiling::line;
use crate::matrix::MatrixView;
use pulp::{Simd, WithSimd};

/// Rows packed together, so that units and sums are loaded once for all of them.
const GROUP: usize = 4;

/// Packs contiguous rows, at most as many as the panel has room for.
pub(super) struct Pack<'a, 'b, T> {
    pub(super) x: MatrixView<'a, T>,
    pub(super) shift: &'a Shift<T>,
    pub(super) weights: Option<Weights<'a, T>>,
    pub(super) panel: &'b mut Panel<T>,
}

impl<T: Lane> WithSimd for Pack<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match (line::<T, S>(), self.weights.is_some()) {
            (2, false) => self.rows::<S, 2, false>(simd),
            (2, true) => self.rows::<S, 2, true>(simd),
            (3, false) => self.rows::<S, 3, false>(simd),
            (3, true) => self.rows::<S, 3, true>(simd),
            (_, false) => self.rows::<S, 6, false>(simd),
            (_, true) => self.rows::<S, 6, true>(simd),
        }
    }
}

impl<T: Lane> Pack<'_, '_, T> {
    #[inline(always)]
    fn rows<S: Simd, const LINE: usize, const WEIGHTED: bool>(self, simd: S) {
        let Self { x, shift, weights, panel } = self;
        let rows = x.rows();
        panel.rows = rows;
        panel.sums.fill(T::zeroed());
        let mut strips = Strips::<T, S, LINE> {
            unit: T::vectors::<S>(&shift.unit).0.as_chunks().0,
            offset: T::vectors::<S>(&shift.offset).0.as_chunks().0,
            sums: T::vectors_mut::<S>(&mut panel.sums).0.as_chunks_mut().0,
            lines: T::vectors_mut::<S>(&mut panel.buffer).0.as_chunks_mut().0,
            capacity: panel.capacity,
        };
        let grouped = rows / GROUP * GROUP;
        for first in (0..grouped).step_by(GROUP) {
            let (rows, by) = gather::<T, GROUP, WEIGHTED>(x, first, shift, weights);
            strips.group::<GROUP, WEIGHTED>(simd, first, rows, by);
        }
        for first in grouped..rows {
            let (rows, by) = gather::<T, 1, WEIGHTED>(x, first, shift, weights);
            strips.group::<1, WEIGHTED>(simd, first, rows, by);
        }
    }
}

/// `N` rows from `first`, and the weight and its root of each.
#[inline(always)]
fn gather<'a, T: Lane, const N: usize, const WEIGHTED: bool>(
    x: MatrixView<'a, T>,
    first: usize,
    shift: &'a Shift<T>,
    weights: Option<Weights<T>>,
) -> ([&'a [T]; N], [[T; 2]; N]) {
    let mut rows: [&[T]; N] = [&[]; N];
    let mut by = [[T::of(1.0); 2]; N];
    for r in 0..N {
        rows[r] = x.row(first + r).unwrap_or_default();
        if let (true, Some(Weights { weights, roots })) = (WEIGHTED, weights) {
            by[r] = [weights[first + r], roots[first + r]];
            if by[r][0] == T::zeroed() {
                rows[r] = &shift.center; // an absent row lies at the center, where it adds nothing
            }
        }
    }
    (rows, by)
}

/// A panel seen as vectors: one line is one row of one strip.
struct Strips<'a, T: Lane, S: Simd, const LINE: usize> {
    unit: &'a [[T::V<S>; LINE]],
    offset: &'a [[T::V<S>; LINE]],
    sums: &'a mut [[T::V<S>; LINE]],
    lines: &'a mut [[T::V<S>; LINE]],
    capacity: usize,
}

impl<T: Lane, S: Simd, const LINE: usize> Strips<'_, T, S, LINE> {
    /// Packs `N` rows from `first`.
    #[inline(always)]
    fn group<const N: usize, const WEIGHTED: bool>(&mut self, simd: S, first: usize, rows: [&[T]; N], by: [[T; 2]; N]) {
        let mut full: [&[[T::V<S>; LINE]]; N] = [&[]; N];
        let mut rest: [&[T::V<S>]; N] = [&[]; N];
        let mut tail: [&[T]; N] = [&[]; N];
        for r in 0..N {
            let vectors;
            (vectors, tail[r]) = T::vectors::<S>(rows[r]);
            (full[r], rest[r]) = vectors.as_chunks::<LINE>();
        }
        let whole = full[0].len();
        for s in 0..whole {
            let mut x: [&[T::V<S>]; N] = [&[]; N];
            for r in 0..N {
                x[r] = &full[r][s];
            }
            self.vectors::<N, WEIGHTED>(simd, (s, first), (0, LINE), x, by);
        }
        let count = rest[0].len();
        if count > 0 {
            self.vectors::<N, WEIGHTED>(simd, (whole, first), (0, count), rest, by);
        }
        if !tail[0].is_empty() {
            let mut padded = [[T::splat(simd, T::zeroed())]; N];
            for r in 0..N {
                padded[r] = [T::partial(simd, tail[r])];
            }
            let mut x: [&[T::V<S>]; N] = [&[]; N];
            for r in 0..N {
                x[r] = &padded[r];
            }
            self.vectors::<N, WEIGHTED>(simd, (whole, first), (count, count + 1), x, by);
        }
    }

    /// Packs `x` as vectors `from .. to` of strip `s` of `N` rows from `first`.
    #[inline(always)]
    fn vectors<const N: usize, const WEIGHTED: bool>(
        &mut self,
        simd: S,
        (s, first): (usize, usize),
        (from, to): (usize, usize),
        mut x: [&[T::V<S>]; N],
        by: [[T; 2]; N],
    ) {
        for r in 0..N {
            x[r] = &x[r][..to - from];
        }
        let (unit, offset) = (&self.unit[s][from..to], &self.offset[s][from..to]);
        let sums = &mut self.sums[s][from..to];
        let Some(lines) = self.lines[s * self.capacity + first..].first_chunk_mut::<N>() else { return };
        for v in 0..to - from {
            let mut sum = sums[v];
            for r in 0..N {
                let value = T::fma(simd, x[r][v], unit[v], offset[v]);
                if WEIGHTED {
                    sum = T::fma(simd, value, T::splat(simd, by[r][0]), sum);
                    lines[r][from + v] = T::vmul(simd, value, T::splat(simd, by[r][1]));
                } else {
                    sum = T::vadd(simd, sum, value);
                    lines[r][from + v] = value;
                }
            }
            sums[v] = sum;
        }
    }
}
