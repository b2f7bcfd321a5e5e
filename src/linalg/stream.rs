//! Products of a centred matrix with few vectors, one read of the matrix each, whatever its memory order.

use super::vectors::Vectors;
use crate::error::Result;
use crate::matrix::zeros;
use crate::memory;
use crate::simd::centred_dots::CentredDots;
use crate::simd::skinny::{Dots, Lines, Updates, panel_stride};
use crate::simd::{Aligned, Centered, Lane, run};
use crate::threads::Team;
use bytemuck::try_cast_slice_mut;
use std::ops::Range;

/// Bytes of a panel of lines, which its updates read back from the second cache (256 KiB or more on every machine).
const PANEL_BYTES: usize = 160 * 1024;
/// Lines of a panel: enough that long sums are not fetched too often, few enough that `f32` sums stay short, and a
/// multiple of the tile's three.
const PANEL_LINES: Range<usize> = 12..96;
/// Lines after which sums in `f32` are added to the `f64` totals.
const FLUSH_LINES: usize = 384;
/// At most this many partial results are merged; the number depends on the shape alone.
const MOST_PIECES: usize = 16;
/// Lines of a piece that are worth its own sums, which are written and merged once for all of them.
const PIECE_LINES: usize = 64;
/// Elements of a piece that are worth another thread: some 30 us of work.
const PIECE_ELEMENTS: usize = 1 << 15;

/// What the user knows these products as.
const PRODUCT: &str = "the product of X and its directions";

/// A centred n x d matrix as lines in the direction in which its memory runs: rows, or columns of a column-major
/// matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream<'a, T: Lane> {
    rows: &'a Centered<'a, T>,
    by_columns: bool,
}

/// Where the weight of each line comes from.
#[derive(Clone, Copy)]
enum Weights<'a, T> {
    /// The products of the line with a block of vectors.
    Products(Lines<'a, T>),
    /// Given: vectors with one entry a line, one after the other.
    Given(&'a [f64]),
}

impl<'a, T: Lane> Stream<'a, T> {
    pub(super) fn new(rows: &'a Centered<'a, T>) -> Self {
        let x = rows.raw();
        Self { rows, by_columns: x.has_contiguous_cols() && !x.has_contiguous_rows() }
    }

    /// z = Xc'Xc q, q and z blocks of vectors of length d.
    pub(super) fn scatter_product(&self, q: &[f64], z: &mut [f64], team: &Team) -> Result<()> {
        if self.by_columns { self.outer(q, z, team) } else { self.fused(q, z, team) }
    }

    /// z = Xc Xc'q, q and z blocks of vectors of length n.
    pub(super) fn gram_product(&self, q: &[f64], z: &mut [f64], team: &Team) -> Result<()> {
        if self.by_columns { self.fused(q, z, team) } else { self.outer(q, z, team) }
    }

    /// z = Xc q, from vectors of length d to vectors of length n.
    pub(super) fn times(&self, q: &[f64], z: &mut [f64], team: &Team) -> Result<()> {
        if self.by_columns { self.combine(q, z, team) } else { self.inner(q, z, team) }
    }

    /// z = Xc'q, from vectors of length n to vectors of length d.
    pub(super) fn transpose_times(&self, q: &[f64], z: &mut [f64], team: &Team) -> Result<()> {
        if self.by_columns { self.inner(q, z, team) } else { self.combine(q, z, team) }
    }

    /// Operations of a scatter or Gram product with one vector.
    pub(super) fn operations(&self) -> f64 {
        4.0 * self.rows.rows() as f64 * self.rows.cols() as f64
    }

    fn count(&self) -> usize {
        if self.by_columns { self.rows.cols() } else { self.rows.rows() }
    }

    fn len(&self) -> usize {
        if self.by_columns { self.rows.rows() } else { self.rows.cols() }
    }

    fn stride(&self) -> usize {
        panel_stride::<T>(self.len())
    }

    /// L'(L q): one read of the lines.
    fn fused(&self, q: &[f64], z: &mut [f64], team: &Team) -> Result<()> {
        let vectors = Vectors::of(q, self.len());
        self.accumulate(Weights::Products(vectors.lines()), vectors.count, z, team)
    }

    /// L'y for given weights of the lines.
    fn combine(&self, y: &[f64], z: &mut [f64], team: &Team) -> Result<()> {
        self.accumulate(Weights::Given(y), y.len().checked_div(self.count()).unwrap_or(0), z, team)
    }

    /// L(L'y): two reads of the lines, because every product needs all of L'y.
    fn outer(&self, y: &[f64], z: &mut [f64], team: &Team) -> Result<()> {
        let width = y.len().checked_div(self.count()).unwrap_or(0);
        let mut sums = zeros(width.saturating_mul(self.len()), PRODUCT)?;
        self.combine(y, &mut sums, team)?;
        self.inner(&sums, z, team)
    }

    /// L q
    fn inner(&self, q: &[f64], z: &mut [f64], team: &Team) -> Result<()> {
        let vectors = Vectors::of(q, self.len());
        let (by, count) = (vectors.lines(), vectors.count);
        let pieces = self.pieces();
        self.room(count, pieces.len(), count, team)?;
        let parts = team.map(pieces.clone(), |piece| {
            team.check()?;
            let mut out = vec![0.0; piece.len() * count];
            let mut panel = Aligned::zeros(self.panel_lines() * self.stride());
            let mut done = 0;
            for range in self.panels(piece) {
                let sums = range.len() * count;
                self.pack_and_multiply(range, &mut panel, by, &mut out[done..done + sums]);
                done += sums;
            }
            Ok(out)
        });
        z.fill(0.0);
        for (piece, part) in pieces.into_iter().zip(parts) {
            for (i, sums) in piece.zip(part?.chunks_exact(count.max(1))) {
                sums.iter().enumerate().for_each(|(c, &sum)| z[c * self.count() + i] = sum);
            }
        }
        Ok(())
    }

    /// z = L' (weights of the lines), partial sums of fixed pieces added in their order.
    fn accumulate(&self, weights: Weights<T>, count: usize, z: &mut [f64], team: &Team) -> Result<()> {
        let pieces = self.pieces();
        self.room(pieces.len() * count, pieces.len(), count, team)?;
        let parts = team.map(pieces, |piece| {
            team.check()?;
            Ok(self.piece_sums(piece, weights, count))
        });
        z.fill(0.0);
        for part in parts {
            let part = part?;
            for (z, part) in z.chunks_exact_mut(self.len().max(1)).zip(part.chunks_exact(self.stride().max(1))) {
                z.iter_mut().zip(part).for_each(|(z, part)| *z += part);
            }
        }
        Ok(())
    }

    /// Refuses lines too long for as many to be `held`, and for what each thread that works on a piece has beside them.
    fn room(&self, held: usize, pieces: usize, count: usize, team: &Team) -> Result<()> {
        let lines = held + pieces.min(team.threads()) * (self.panel_lines() + count);
        memory::check_matrices::<f64>(1, (lines, self.stride()), PRODUCT)
    }

    fn piece_sums(&self, piece: Range<usize>, weights: Weights<T>, count: usize) -> Aligned<f64> {
        let mut panel = Aligned::zeros(self.panel_lines() * self.stride());
        let mut products = vec![0.0; self.panel_lines() * count];
        let mut sums = Sums::new(count, self.stride());
        for range in self.panels(piece) {
            let products = &mut products[..range.len() * count];
            let lines = match weights {
                Weights::Products(by) => self.pack_and_multiply(range, &mut panel, by, products),
                Weights::Given(y) => {
                    gather(y, self.count(), range.clone(), products);
                    self.pack(range, &mut panel)
                }
            };
            sums.add(lines, products);
        }
        sums.finish()
    }

    fn panel_lines(&self) -> usize {
        let fit = PANEL_BYTES / (self.stride() * size_of::<T>()).max(1);
        fit.clamp(PANEL_LINES.start, PANEL_LINES.end) / 3 * 3
    }

    fn panels(&self, piece: Range<usize>) -> impl Iterator<Item = Range<usize>> + use<T> {
        let step = self.panel_lines();
        piece.clone().step_by(step).map(move |start| start..piece.end.min(start + step))
    }

    /// The fixed split of the lines.
    fn pieces(&self) -> Vec<Range<usize>> {
        let (count, panel) = (self.count(), self.panel_lines());
        let wanted = (count * self.len() / PIECE_ELEMENTS).min(count / PIECE_LINES).clamp(1, MOST_PIECES);
        let step = count.div_ceil(wanted).max(1).next_multiple_of(panel);
        (0..count).step_by(step).map(|start| start..count.min(start + step)).collect()
    }

    /// Writes the centred lines in `range` to the panel, and their products with a block of vectors to `out`.
    fn pack_and_multiply<'p>(
        &self,
        range: Range<usize>,
        panel: &'p mut Aligned<T>,
        by: Lines<T>,
        out: &mut [f64],
    ) -> Lines<'p, T> {
        if self.by_columns || !self.rows.raw().has_contiguous_rows() {
            let lines = self.pack(range, panel);
            run(Dots { lines, by, out });
            return lines;
        }
        let (count, stride) = (range.len(), self.stride());
        run(CentredDots { source: self.rows, range, by, panel, stride, out });
        Lines::new(panel, count, stride, self.len())
    }

    /// Writes the centred lines in `range` to the panel.
    fn pack<'p>(&self, range: Range<usize>, panel: &'p mut Aligned<T>) -> Lines<'p, T> {
        let (len, stride, count) = (self.len(), self.stride(), range.len());
        if self.by_columns {
            for (j, line) in range.zip(panel.chunks_exact_mut(stride)) {
                self.pack_column(j, &mut line[..len]);
            }
        } else if self.rows.raw().has_contiguous_rows() {
            for (i, line) in range.zip(panel.chunks_exact_mut(stride)) {
                self.rows.pack(i..i + 1, &mut line[..len]);
            }
        } else {
            // Scattered entries: packed without gaps, then spread from the last row back.
            self.rows.pack(range, &mut panel[..count * len]);
            for i in (1..count).rev() {
                panel.copy_within(i * len..(i + 1) * len, i * stride);
            }
        }
        Lines::new(panel, count, stride, len)
    }

    fn pack_column(&self, j: usize, out: &mut [T]) {
        let (high, low) = self.rows.mean_parts();
        // The low part of a `f64` mean and the factors may be absent.
        let at = |values: &[T], absent: f64| values.get(j).copied().unwrap_or_else(|| T::of(absent));
        let (high, low, factor) = (at(high, 0.0), at(low, 0.0), at(self.rows.narrow_factor(), 1.0));
        let column = self.rows.raw().transpose().row(j).unwrap_or_default();
        column.iter().zip(out).for_each(|(&x, out)| *out = (x - high - low) * factor);
    }
}

/// `out[r * count + c] = y[c * lines + range[r]]`
fn gather(y: &[f64], lines: usize, range: Range<usize>, out: &mut [f64]) {
    let count = out.len() / range.len().max(1);
    for (c, y) in y.chunks_exact(lines).enumerate() {
        for (r, &y) in y[range.clone()].iter().enumerate() {
            out[r * count + c] = y;
        }
    }
}

/// Weighted sums of lines: in `f64`, for `f32` lines by way of the sums in `f32` of the last few panels.
struct Sums<T> {
    totals: Aligned<f64>,
    recent: Aligned<T>,
    weights: Vec<T>,
    stride: usize,
    /// Lines in `recent`.
    pending: usize,
}

impl<T: Lane> Sums<T> {
    fn new(count: usize, stride: usize) -> Self {
        let recent = Aligned::zeros(if T::DOUBLE { 0 } else { count * stride });
        Self { totals: Aligned::zeros(count * stride), recent, weights: Vec::new(), stride, pending: 0 }
    }

    fn add(&mut self, lines: Lines<T>, weights: &[f64]) {
        self.weights.clear();
        self.weights.extend(weights.iter().map(|&weight| T::of(weight)));
        let (weights, stride) = (&self.weights, self.stride);
        match try_cast_slice_mut(&mut self.totals) {
            Ok(into) if T::DOUBLE => run(Updates { lines, weights, into, stride }),
            _ => {
                run(Updates { lines, weights, into: &mut self.recent, stride });
                self.pending += lines.count();
                if self.pending >= FLUSH_LINES {
                    self.flush();
                }
            }
        }
    }

    fn flush(&mut self) {
        self.totals.iter_mut().zip(&*self.recent).for_each(|(total, &sum)| *total += sum.into());
        self.recent.fill(T::zeroed());
        self.pending = 0;
    }

    fn finish(mut self) -> Aligned<f64> {
        self.flush();
        self.totals
    }
}
