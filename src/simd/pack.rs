//! Packing contiguous rows into a panel: shift, unit, weight, and the sums of what was packed.

use super::Lane;
use super::panel::{Panel, Shift, Weights};
use super::tiling::line;
use crate::matrix::MatrixView;
use pulp::{Simd, WithSimd};
use std::array::from_fn;

/// Rows packed together, so that units and sums are loaded once for all of them.
const GROUP: usize = 16;

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
        panel.rows = x.rows();
        panel.sums.fill(T::zeroed());
        let mut strips = Strips::<T, S, LINE, WEIGHTED> {
            unit: T::vectors::<S>(&shift.unit).0.as_chunks().0,
            offset: T::vectors::<S>(&shift.offset).0.as_chunks().0,
            sums: T::vectors_mut::<S>(&mut panel.sums).0.as_chunks_mut().0,
            lines: T::vectors_mut::<S>(&mut panel.buffer).0.as_chunks_mut().0,
            capacity: panel.capacity,
        };
        for first in (0..x.rows()).step_by(GROUP) {
            let mut group = [Row { values: &[], by: [T::zeroed(); 2] }; GROUP];
            let group = &mut group[..GROUP.min(x.rows() - first)];
            for (i, row) in (first..).zip(&mut *group) {
                if let Some(values) = x.row(i) {
                    row.values = values;
                }
                if let (true, Some(Weights { weights, roots })) = (WEIGHTED, weights) {
                    row.by = [weights[i], roots[i]];
                    if row.by[0] == T::zeroed() {
                        row.values = &shift.center; // an absent row lies at the center, where it adds nothing
                    }
                }
            }
            strips.group(simd, first, group);
        }
    }
}

/// A row; its weight and the root of that, where there are weights.
#[derive(Clone, Copy)]
struct Row<'a, T> {
    values: &'a [T],
    by: [T; 2],
}

/// A panel seen as vectors: one line is one row of one strip.
struct Strips<'a, T: Lane, S: Simd, const LINE: usize, const WEIGHTED: bool> {
    unit: &'a [[T::V<S>; LINE]],
    offset: &'a [[T::V<S>; LINE]],
    sums: &'a mut [[T::V<S>; LINE]],
    lines: &'a mut [[T::V<S>; LINE]],
    capacity: usize,
}

impl<T: Lane, S: Simd, const LINE: usize, const WEIGHTED: bool> Strips<'_, T, S, LINE, WEIGHTED> {
    /// Packs `rows`, the first of which is row `first` of the panel, strip by strip.
    #[inline(always)]
    fn group(&mut self, simd: S, first: usize, rows: &[Row<T>]) {
        let (lanes, cols) = (T::lanes::<S>(), rows.first().map_or(0, |row| row.values.len()));
        let full = cols / lanes;
        let whole = full / LINE;
        for s in 0..whole {
            self.vectors(simd, (s, first), 0, rows, |row| load::<T, S, LINE>(&row[s * LINE * lanes..]));
        }
        for at in whole * LINE..full {
            self.vectors(simd, (whole, first), at % LINE, rows, |row| load::<T, S, 1>(&row[at * lanes..]));
        }
        if full * lanes < cols {
            let rest = |row: &[T]| [T::partial(simd, &row[full * lanes..])];
            self.vectors(simd, (whole, first), full % LINE, rows, rest);
        }
    }

    /// Packs `W` vectors of each row, as `values` finds them, as those of strip `s` from vector `from` on.
    #[inline(always)]
    fn vectors<const W: usize>(
        &mut self,
        simd: S,
        (s, first): (usize, usize),
        from: usize,
        rows: &[Row<T>],
        values: impl Fn(&[T]) -> [T::V<S>; W],
    ) {
        // Copies, which stay in registers.
        let copy = |line: &[T::V<S>; LINE]| from_fn::<_, W, _>(|v| line[from + v]);
        let (unit, offset, mut sums) = (copy(&self.unit[s]), copy(&self.offset[s]), copy(&self.sums[s]));
        let lines = &mut self.lines[s * self.capacity + first..][..rows.len()];
        for (row, line) in rows.iter().zip(lines) {
            let (x, line) = (values(row.values), &mut line[from..][..W]);
            for v in 0..W {
                let value = T::fma(simd, x[v], unit[v], offset[v]);
                if WEIGHTED {
                    sums[v] = T::fma(simd, value, T::splat(simd, row.by[0]), sums[v]);
                    line[v] = T::vmul(simd, value, T::splat(simd, row.by[1]));
                } else {
                    sums[v] = T::vadd(simd, sums[v], value);
                    line[v] = value;
                }
            }
        }
        self.sums[s][from..][..W].copy_from_slice(&sums);
    }
}

/// The first `W` vectors of `x`.
#[inline(always)]
fn load<T: Lane, S: Simd, const W: usize>(x: &[T]) -> [T::V<S>; W] {
    let vectors = T::vectors::<S>(&x[..W * T::lanes::<S>()]).0;
    from_fn(|v| vectors[v])
}
