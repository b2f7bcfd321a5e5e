//! One step up in divide and conquer: from the eigenvectors of two halves to those of the whole.

use super::deflation::{Basis, Deflation, Support};
use super::divide_conquer::SHARED;
use super::order::descending;
use super::secular::Roots;
use super::secular_vectors::{Corrected, Vectors};
use crate::error::{Error, Result};
use crate::simd::{Aligned, run};
use crate::threads::Team;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use std::ops::Range;

/// Columns of U formed and multiplied at a time: enough for the product to run at full rate, few enough that they are
/// still in the cache when it starts.
const COLUMNS: usize = 64;

/// Roots in a piece for the team; a multiple of every vector's lanes, so that a root never depends on the cut.
const ROOTS: usize = 64;

/// Groups of columns that the team shares; more than the threads of most machines, few enough that packing the halves
/// for each product stays cheap.
const GROUPS: usize = 8;

/// Scratch for merging up to n columns.
pub(super) struct Merge {
    deflation: Deflation,
    /// Of the kept columns, increasing.
    poles: Vec<f64>,
    weights: Vec<f64>,
    corrected: Vec<f64>,
    origin: Vec<f64>,
    shift: Vec<f64>,
    /// Indices into the kept columns, grouped by support, and the poles and z in that order.
    grouped: Vec<usize>,
    grouped_poles: Vec<f64>,
    grouped_z: Vec<f64>,
    /// The columns of the two halves, packed: top, bottom, deflated.
    packed: Aligned<f64>,
    /// A block of columns of U for each group.
    block: Aligned<f64>,
}

/// How the packed columns are laid out.
#[derive(Clone, Copy)]
struct Layout {
    /// Rows of the first half, and of all.
    middle: usize,
    order: usize,
    /// Kept columns; those with rows in the first half come first, those with rows in the second last.
    kept: usize,
    top: usize,
    bottom: usize,
}

impl Merge {
    pub(super) fn new(n: usize) -> Self {
        Self {
            deflation: Deflation::default(),
            poles: Vec::with_capacity(n),
            weights: Vec::with_capacity(n),
            corrected: Vec::with_capacity(n),
            origin: Vec::with_capacity(n),
            shift: Vec::with_capacity(n),
            grouped: Vec::with_capacity(n),
            grouped_poles: Vec::with_capacity(n),
            grouped_z: Vec::with_capacity(n),
            packed: Aligned::zeros(n * n),
            block: Aligned::zeros(n * COLUMNS * if n < SHARED { 1 } else { GROUPS }),
        }
    }

    /// From `diag(Q_1, Q_2)` and their values in `d` to the eigenpairs of `diag(d) + coupling v v'` in the same places:
    /// the kept ones first, ascending, then the deflated ones. Of the vectors, only those of the `wanted` largest
    /// values.
    pub(super) fn run(
        &mut self,
        d: &mut [f64],
        coupling: f64,
        middle: usize,
        basis: &mut Basis,
        wanted: usize,
        team: &Team,
    ) -> Result<()> {
        let rho = self.deflation.run(d, coupling, middle, basis);
        if self.deflation.kept.is_empty() {
            return Ok(());
        }
        self.find_roots(d, rho, team)?;
        let layout = self.group(middle, d.len());
        self.pack(basis, layout);
        self.place_values(d);
        team.check()?;
        self.multiply(basis, layout, self.wanted_roots(d, wanted), team);
        self.place_deflated(basis, layout);
        Ok(())
    }

    /// The roots, and the z that has exactly these roots.
    fn find_roots(&mut self, d: &[f64], rho: f64, team: &Team) -> Result<()> {
        let Deflation { z, kept, .. } = &self.deflation;
        let k = kept.len();
        refill(&mut self.poles, kept.iter().map(|&c| d[c]));
        refill(&mut self.weights, kept.iter().map(|&c| rho * z[c] * z[c]));
        refill(&mut self.corrected, kept.iter().map(|&c| z[c]));
        refill(&mut self.origin, std::iter::repeat_n(0.0, k));
        refill(&mut self.shift, std::iter::repeat_n(0.0, k));
        let Self { poles, weights, corrected, origin, shift, .. } = self;
        let piece = if k < SHARED { k } else { ROOTS };
        let places = origin.chunks_mut(piece).zip(shift.chunks_mut(piece)).enumerate();
        let found = team.map(places.collect(), |(p, (origin, shift))| {
            run(Roots { poles, weights, first: p * piece, origin, shift })
        });
        if found.contains(&false) {
            let detail = format!("a root of the secular equation with {k} poles exceeded its budget");
            return Err(Error::NoConvergence { what: "divide and conquer", detail });
        }
        team.map(corrected.chunks_mut(piece).enumerate().collect(), |(p, z)| {
            run(Corrected { poles, origin, shift, first: p * piece, z });
        });
        Ok(())
    }

    /// Groups the kept columns by support, so that each half multiplies only the columns that reach into it.
    fn group(&mut self, middle: usize, order: usize) -> Layout {
        let Self { deflation: Deflation { support, kept, .. }, poles, corrected, grouped, .. } = self;
        refill(grouped, 0..kept.len());
        grouped.sort_by_key(|&i| support[kept[i]]);
        refill(&mut self.grouped_poles, grouped.iter().map(|&i| poles[i]));
        refill(&mut self.grouped_z, grouped.iter().map(|&i| corrected[i]));
        let count = |without: Support| kept.iter().filter(|&&c| support[c] != without).count();
        Layout { middle, order, kept: kept.len(), top: count(Support::Bottom), bottom: count(Support::Top) }
    }

    fn pack(&mut self, basis: &Basis, layout: Layout) {
        let Layout { middle, order, kept, top, bottom } = layout;
        let Self { deflation, grouped, packed, .. } = self;
        let (first, rest) = packed.split_at_mut(middle * top);
        let (second, rest) = rest.split_at_mut((order - middle) * bottom);
        for (to, &i) in first.chunks_exact_mut(middle).zip(&grouped[..top]) {
            to.copy_from_slice(&basis.column(deflation.kept[i])[..middle]);
        }
        for (to, &i) in second.chunks_exact_mut(order - middle).zip(&grouped[kept - bottom..]) {
            to.copy_from_slice(&basis.column(deflation.kept[i])[middle..]);
        }
        for (to, &c) in rest.chunks_exact_mut(order).zip(&deflation.deflated) {
            to.copy_from_slice(basis.column(c));
        }
    }

    fn place_values(&mut self, d: &mut [f64]) {
        let kept = self.poles.len();
        refill(&mut self.weights, self.deflation.deflated.iter().map(|&c| d[c]));
        let (roots, deflated) = d.split_at_mut(kept);
        for ((value, origin), shift) in roots.iter_mut().zip(&self.origin).zip(&self.shift) {
            *value = origin + shift;
        }
        deflated.copy_from_slice(&self.weights);
    }

    /// The roots among the `wanted` largest of all values: a tail of them, for they ascend.
    fn wanted_roots(&self, d: &[f64], wanted: usize) -> Range<usize> {
        let kept = self.poles.len();
        if wanted >= d.len() {
            return 0..kept;
        }
        let largest = descending(d);
        let first = largest[..wanted].iter().copied().filter(|&j| j < kept).min();
        first.unwrap_or(kept)..kept
    }

    /// `diag(Q_1, Q_2) U` for the roots given, in groups of columns.
    fn multiply(&mut self, basis: &mut Basis, layout: Layout, roots: Range<usize>, team: &Team) {
        let Layout { middle, order, top, bottom, .. } = layout;
        let Self { origin, shift, grouped_poles, grouped_z, packed, block, .. } = self;
        let (first, rest) = packed.split_at(middle * top);
        let second = &rest[..(order - middle) * bottom];
        let (poles, z, stride) = (&grouped_poles[..], &grouped_z[..], basis.stride);
        let product = Product { layout, first, second, poles, z, origin, shift, stride };
        let count = roots.len();
        let width = if order < SHARED { count } else { count.div_ceil(GROUPS).next_multiple_of(COLUMNS) };
        let columns = basis.data[roots.start * stride..].chunks_mut(width.max(1) * stride);
        let groups = roots.clone().step_by(width.max(1)).zip(columns).zip(block.chunks_mut(order * COLUMNS));
        team.map(groups.collect(), |((from, to), block)| {
            product.form(from..(from + width).min(roots.end), to, block);
        });
    }

    fn place_deflated(&mut self, basis: &mut Basis, layout: Layout) {
        let Layout { middle, order, kept, top, bottom } = layout;
        let from = self.packed[middle * top + (order - middle) * bottom..].chunks_exact(order);
        for (at, column) in from.take(order - kept).enumerate() {
            basis.column_mut(kept + at).copy_from_slice(column);
        }
    }
}

/// `diag(Q_1, Q_2) U`, all but the columns to form.
struct Product<'a> {
    layout: Layout,
    /// Packed columns of the two halves.
    first: &'a [f64],
    second: &'a [f64],
    /// In the order of the packed columns.
    poles: &'a [f64],
    z: &'a [f64],
    origin: &'a [f64],
    shift: &'a [f64],
    /// Distance of the columns formed.
    stride: usize,
}

impl Product<'_> {
    /// The columns that belong to `roots`, a block at a time.
    fn form(&self, roots: Range<usize>, to: &mut [f64], block: &mut [f64]) {
        let Layout { middle, order, kept, top, bottom } = self.layout;
        let first = MatRef::from_column_major_slice(self.first, middle, top);
        let second = MatRef::from_column_major_slice(self.second, order - middle, bottom);
        for (from, to) in roots.clone().step_by(COLUMNS).zip(to.chunks_mut(COLUMNS * self.stride)) {
            let these = from..(from + COLUMNS).min(roots.end);
            let width = these.len();
            let columns = &mut block[..kept * width];
            let (origin, shift) = (&self.origin[these.clone()], &self.shift[these]);
            run(Vectors { poles: self.poles, z: self.z, origin, shift, columns });
            let u = MatRef::from_column_major_slice(columns, kept, width);
            let to = MatMut::from_column_major_slice_with_stride_mut(to, order, width, self.stride);
            let (to_first, to_second) = to.split_at_row_mut(middle);
            matmul(to_first, Accum::Replace, first, u.subrows(0, top), 1.0, Par::Seq);
            matmul(to_second, Accum::Replace, second, u.subrows(kept - bottom, bottom), 1.0, Par::Seq);
        }
    }
}

/// Replaces the contents, keeping the allocation.
fn refill<T>(buffer: &mut Vec<T>, with: impl IntoIterator<Item = T>) {
    buffer.clear();
    buffer.extend(with);
}
