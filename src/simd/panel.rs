//! Panels: rows shifted by a pilot, put into their columns' units, weighted, and laid out for the register tiles.

use super::pack::Pack;
use super::tiling::Shape;
use super::transpose::transpose;
use super::{Aligned, Centered, Lane, prefetch_all, run};
use crate::matrix::MatrixView;
use crate::threads::Team;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// The affine map of each column into its panel: x becomes `(x - center) unit`, computed as `x unit + offset` in one
/// fused step. `unit` is a power of two and `offset = -center unit`, so the rounding is that of `x - center` alone.
#[derive(Debug, Default)]
pub struct Shift<T> {
    pub(super) center: Vec<T>,
    pub(super) unit: Vec<T>,
    pub(super) offset: Vec<T>,
}

impl<T: Lane> Shift<T> {
    /// From the center and the unit of each column.
    pub fn new(center: Vec<T>, units: impl Iterator<Item = T>, shape: Shape) -> Self {
        let padded = shape.strips(center.len()) * shape.strip;
        let (mut unit, mut offset) = (Vec::with_capacity(padded), Vec::with_capacity(padded));
        unit.extend(units);
        offset.extend(center.iter().zip(&unit).map(|(&c, &u)| T::zeroed() - c * u));
        unit.resize(padded, T::zeroed());
        offset.resize(padded, T::zeroed());
        Self { center, unit, offset }
    }

    /// The centers.
    #[must_use]
    pub fn center(&self) -> &[T] {
        &self.center
    }

    /// The factor of each column.
    #[must_use]
    pub fn units(&self) -> &[T] {
        &self.unit[..self.center.len()]
    }

    /// What is added to each column then.
    #[must_use]
    pub fn offsets(&self) -> &[T] {
        &self.offset[..self.center.len()]
    }
}

/// Most rows of a panel in `f64` and in `f32`. A strip of it takes a fifth or two of the first cache; `f32` sums are
/// widened once a panel, so it pays for more.
const LONGEST: [usize; 2] = [96, 192];

/// Frequencies of rows: each row is multiplied by the root of its weight; weight 0 leaves the row out unread.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a, T> {
    /// One weight a row.
    pub weights: &'a [T],
    /// Their square roots.
    pub roots: &'a [T],
}

impl<T> Weights<'_, T> {
    fn of(&self, rows: Range<usize>) -> Self {
        Self { weights: &self.weights[rows.clone()], roots: &self.roots[rows] }
    }
}

/// Packed rows: strips of columns one after the other, each strip row by row, zero beyond the last column.
#[derive(Debug)]
pub struct Panel<T> {
    pub(super) shape: Shape,
    pub(super) cols: usize,
    pub(super) rows: usize,
    pub(super) capacity: usize,
    pub(super) buffer: Aligned<T>,
    pub(super) sums: Vec<T>,
    gathered: Vec<T>,
    mapped: Vec<T>,
}

impl<T: Lane> Panel<T> {
    /// Rows of each of the panels that hold `rows` in all: of equal length, for a short last one would cost as many
    /// updates of the sums as the others. At least 1.
    #[must_use]
    pub fn length(rows: usize) -> usize {
        rows.div_ceil(rows.div_ceil(LONGEST[usize::from(!T::DOUBLE)]).max(1)).max(1)
    }

    /// Every column of centred rows, times `unit`, in panels: a packed copy of the data.
    #[must_use]
    pub fn of_columns(rows: &Centered<T>, unit: T, shape: Shape, team: &Team) -> Vec<Self> {
        let d = rows.cols();
        let length = Self::length(d);
        let parts = (0..d).step_by(length).map(|from| from..d.min(from + length)).collect();
        team.map(parts, |columns: Range<usize>| {
            let mut panel = Self::new(columns.len(), rows.rows(), shape);
            panel.pack_columns(rows, columns, unit);
            // Nothing else will be packed.
            (panel.gathered, panel.mapped) = (Vec::new(), Vec::new());
            panel
        })
    }

    /// Values of a packed row of `cols` columns.
    #[must_use]
    pub fn values(cols: usize, shape: Shape) -> usize {
        shape.strips(cols) * shape.strip
    }

    /// Room for `capacity` rows of `cols` columns.
    #[must_use]
    pub fn new(capacity: usize, cols: usize, shape: Shape) -> Self {
        let strips = shape.strips(cols);
        let buffer = Aligned::zeros(strips * capacity * shape.strip);
        let sums = vec![T::zeroed(); strips * shape.strip];
        Self { shape, cols, rows: 0, capacity, buffer, sums, gathered: Vec::new(), mapped: Vec::new() }
    }

    /// Sum over the rows of each packed column (each row times the root of its weight once more, where there are
    /// weights).
    #[must_use]
    pub fn sums(&self) -> &[T] {
        &self.sums[..self.cols]
    }

    /// The packed rows of strip `s`.
    #[inline(always)]
    pub(super) fn strip(&self, s: usize) -> &[T] {
        &self.buffer[s * self.capacity * self.shape.strip..][..self.rows * self.shape.strip]
    }

    /// out += the squares of every packed column.
    pub fn add_squares(&self, out: &mut [T]) {
        for (s, out) in out.chunks_mut(self.shape.strip).enumerate() {
            for line in self.strip(s).chunks_exact(self.shape.strip) {
                out.iter_mut().zip(line).for_each(|(sum, &x)| *sum = *sum + x * x);
            }
        }
    }

    /// Packs the rows of `x` in `range`, at most as many as there is room for.
    pub fn pack(&mut self, x: &MatrixView<T>, range: Range<usize>, shift: &Shift<T>, weights: Option<Weights<T>>) {
        debug_assert!(x.cols() == self.cols && range.len() <= self.capacity);
        let weights = weights.as_ref().map(|w| w.of(range.clone()));
        self.contiguous(x, range, |panel, x| panel.shape.run(Pack { x, shift, weights, panel }));
    }

    /// Shows the rows in `range` to `work`, gathered first where they are not slices.
    fn contiguous(&mut self, x: &MatrixView<T>, range: Range<usize>, work: impl FnOnce(&mut Self, MatrixView<T>)) {
        if x.has_contiguous_rows() {
            return work(self, x.rows_in(range));
        }
        let mut gathered = std::mem::take(&mut self.gathered);
        gathered.resize(range.len() * x.cols(), T::zeroed());
        x.copy_rows(range.clone(), &mut gathered);
        if let Ok(x) = MatrixView::new(&gathered, range.len(), x.cols()) {
            work(self, x);
        }
        self.gathered = gathered;
    }
}

impl<T: Lane> Panel<T> {
    /// Packs the columns of centred rows in `range` as rows of the panel, times `unit`; sums are left alone.
    pub fn pack_columns(&mut self, rows: &Centered<T>, range: Range<usize>, unit: T) {
        debug_assert!(rows.rows() == self.cols && range.len() <= self.capacity);
        self.rows = range.len();
        let map = ColumnMap::of(rows, range.clone(), unit);
        let x = rows.raw().columns_in(range.clone());
        let (width, strip) = (range.len(), self.shape.strip);
        let together = MAPPED.div_ceil(strip) * strip;
        let mut lines = std::mem::take(&mut self.mapped);
        lines.resize(together * width, T::zeroed());
        for first in (0..self.cols).step_by(together) {
            let samples = first..self.cols.min(first + together);
            let lines = &mut lines[..samples.len() * width];
            self.contiguous(&x, samples, |_, x| run(Apply { map: &map, x, lines }));
            for (s, lines) in (first / strip..).zip(lines.chunks((strip * width).max(1))) {
                let to = &mut self.buffer[s * self.capacity * strip..][..width * strip];
                transpose((lines, width), (to, strip), (lines.len() / width, width));
            }
        }
        self.mapped = lines;
    }
}

/// `((x - high) - low) factor` of some columns.
struct ColumnMap<T> {
    high: Vec<T>,
    low: Vec<T>,
    factor: Vec<T>,
}

impl<T: Lane> ColumnMap<T> {
    fn of(rows: &Centered<T>, range: Range<usize>, unit: T) -> Self {
        let (high, low) = rows.mean_parts();
        let factor = match rows.narrow_factor() {
            [] => vec![unit; range.len()],
            factor => factor[range.clone()].iter().map(|&f| f * unit).collect(),
        };
        // f64 means have no low part.
        let low = if low.is_empty() { vec![T::zeroed(); range.len()] } else { low[range.clone()].to_vec() };
        Self { high: high[range].to_vec(), low, factor }
    }
}

/// Fewest rows that are mapped together before they are transposed: the next ones are on their way meanwhile.
const MAPPED: usize = 24;

/// Rows between the one that is mapped and the one that is sent for.
const AHEAD: usize = 8;

/// Maps rows to row-major lines.
struct Apply<'a, T> {
    map: &'a ColumnMap<T>,
    x: MatrixView<'a, T>,
    lines: &'a mut [T],
}

impl<T: Lane> WithSimd for Apply<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let ((high, high_tail), (low, low_tail)) = (T::vectors::<S>(&self.map.high), T::vectors::<S>(&self.map.low));
        let (factor, factor_tail) = T::vectors::<S>(&self.map.factor);
        for (i, line) in self.lines.chunks_exact_mut(self.map.high.len().max(1)).enumerate() {
            // Rows end after a few cache lines, and where the next one begins the memory cannot guess.
            prefetch_all(self.x.row(i + AHEAD).unwrap_or_default());
            let (row, row_tail) = T::vectors::<S>(self.x.row(i).unwrap_or_default());
            let (line, tail) = T::vectors_mut::<S>(line);
            for ((((y, &x), &high), &low), &factor) in line.iter_mut().zip(row).zip(high).zip(low).zip(factor) {
                *y = T::vmul(simd, T::vsub(simd, T::vsub(simd, x, high), low), factor);
            }
            let rest = tail.iter_mut().zip(row_tail).zip(high_tail).zip(low_tail).zip(factor_tail);
            for ((((y, &x), &high), &low), &factor) in rest {
                *y = ((x - high) - low) * factor;
            }
        }
    }
}
