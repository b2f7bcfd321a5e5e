//! One step up in divide and conquer: from the eigenvectors of two halves to those of the whole.

use super::deflation::{Basis, Deflation, Support};
use super::secular::Roots;
use super::secular_vectors::{Corrected, Vectors};
use crate::error::{Error, Result};
use crate::simd::{Aligned, run};
use crate::threads::Team;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use std::ops::Range;

/// Columns of U formed and multiplied at a time: enough for the product to run at full rate, few enough that they are still
/// in the cache when it starts.
const COLUMNS: usize = 64;

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
    /// A block of columns of U.
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
            block: Aligned::zeros(n * COLUMNS.min(n)),
        }
    }

    /// From `diag(Q_1, Q_2)` and their values in `d` to the eigenpairs of `diag(d) + coupling v v'` in the same places: the
    /// kept ones first, ascending, then the deflated ones. Of the vectors, only those of the `wanted` largest values.
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
        self.find_roots(d, rho)?;
        let layout = self.group(middle, d.len());
        self.pack(basis, layout);
        self.place_values(d);
        team.check()?;
        self.multiply(basis, layout, self.wanted_roots(d, wanted));
        self.place_deflated(basis, layout);
        Ok(())
    }

    /// The roots, and the z that has exactly these roots.
    fn find_roots(&mut self, d: &[f64], rho: f64) -> Result<()> {
        let Deflation { z, kept, .. } = &self.deflation;
        let k = kept.len();
        refill(&mut self.poles, kept.iter().map(|&c| d[c]));
        refill(&mut self.weights, kept.iter().map(|&c| rho * z[c] * z[c]));
        refill(&mut self.corrected, kept.iter().map(|&c| z[c]));
        refill(&mut self.origin, std::iter::repeat_n(0.0, k));
        refill(&mut self.shift, std::iter::repeat_n(0.0, k));
        let Self { poles, weights, corrected, origin, shift, .. } = self;
        if !run(Roots { poles, weights, first: 0, origin, shift }) {
            let detail = format!("a root of the secular equation with {k} poles exceeded its budget");
            return Err(Error::NoConvergence { what: "divide and conquer", detail });
        }
        run(Corrected { poles, origin, shift, first: 0, z: corrected });
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
        let largest = super::eigh::descending(d);
        let first = largest[..wanted].iter().copied().filter(|&j| j < kept).min();
        first.unwrap_or(kept)..kept
    }

    /// `diag(Q_1, Q_2) U`, a block of columns of U at a time.
    fn multiply(&mut self, basis: &mut Basis, layout: Layout, roots: Range<usize>) {
        let Layout { middle, order, kept, top, bottom } = layout;
        let Self { origin, shift, grouped_poles, grouped_z, packed, block, .. } = self;
        let first = MatRef::from_column_major_slice(&packed[..middle * top], middle, top);
        let second = &packed[middle * top..][..(order - middle) * bottom];
        let second = MatRef::from_column_major_slice(second, order - middle, bottom);
        for from in roots.clone().step_by(COLUMNS) {
            let these = from..(from + COLUMNS).min(roots.end);
            let columns = &mut block[..kept * these.len()];
            let (origin, shift) = (&origin[these.clone()], &shift[these.clone()]);
            run(Vectors { poles: grouped_poles, z: grouped_z, origin, shift, columns });
            let u = MatRef::from_column_major_slice(columns, kept, these.len());
            let to = &mut basis.data[from * basis.stride..];
            let to = MatMut::from_column_major_slice_with_stride_mut(to, order, these.len(), basis.stride);
            let (to_first, to_second) = to.split_at_row_mut(middle);
            matmul(to_first, Accum::Replace, first, u.subrows(0, top), 1.0, Par::Seq);
            matmul(to_second, Accum::Replace, second, u.subrows(kept - bottom, bottom), 1.0, Par::Seq);
        }
    }

    fn place_deflated(&mut self, basis: &mut Basis, layout: Layout) {
        let Layout { middle, order, kept, top, bottom } = layout;
        let from = self.packed[middle * top + (order - middle) * bottom..].chunks_exact(order);
        for (at, column) in from.take(order - kept).enumerate() {
            basis.column_mut(kept + at).copy_from_slice(column);
        }
    }
}

/// Replaces the contents, keeping the allocation.
fn refill<T>(buffer: &mut Vec<T>, with: impl IntoIterator<Item = T>) {
    buffer.clear();
    buffer.extend(with);
}
