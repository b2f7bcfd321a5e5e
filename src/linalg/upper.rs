//! Products with a symmetric matrix of which one half is read: each strip of rows, while it is in the second cache,
//! serves the rows it holds and the columns it mirrors, so that a product reads n^2 / 2 entries.

use super::operator::Operator;
use crate::bands::{Band, Layout, UpperBands};
use crate::error::Result;
use crate::simd::run;
use crate::simd::skinny::{Dots, Lines, Updates};
use crate::threads::Team;

/// Rows and columns of a strip, 96 KiB: a multiple of the lines that a tile of dot products takes, by pieces of two
/// pages.
const STRIP: (usize, usize) = (12, 1024);
/// Bands are multiplied in at most this many pieces, whose results are added in order.
const PIECES: usize = 16;

impl Operator for UpperBands<'_> {
    fn dim(&self) -> usize {
        self.layout().dim()
    }

    fn apply(&self, q: &[f64], z: &mut [f64], team: &Team) -> Result<()> {
        multiply(self.bands(), self.layout(), q, z, team)
    }
}

/// Z = A Q from the bands of A's upper half.
pub(super) fn multiply<'a>(
    bands: impl Iterator<Item = Band<'a>>,
    layout: Layout,
    q: &[f64],
    z: &mut [f64],
    team: &Team,
) -> Result<()> {
    let dim = layout.dim();
    debug_assert!(q.len() == z.len());
    if q.is_empty() {
        return Ok(());
    }
    let parts = team.map(pieces(bands, layout.len().div_ceil(PIECES)), |bands: Vec<Band>| {
        let mut part = Part::new(&bands, q, dim);
        for band in bands {
            team.check()?;
            part.add(band);
        }
        Ok(part)
    });
    z.fill(0.0);
    for part in parts {
        let Part { first, sums, .. } = part?;
        for (z, sums) in z.chunks_exact_mut(dim).zip(sums.chunks_exact(dim - first)) {
            z[first..].iter_mut().zip(sums).for_each(|(z, sum)| *z += sum);
        }
    }
    Ok(())
}

/// Neighbouring bands together, of about `share` entries.
fn pieces<'a>(bands: impl Iterator<Item = Band<'a>>, share: usize) -> Vec<Vec<Band<'a>>> {
    let (mut pieces, mut filled) = (Vec::<Vec<Band>>::new(), share);
    for band in bands {
        if filled >= share {
            pieces.push(Vec::new());
            filled = 0;
        }
        filled += band.rows * band.width;
        if let Some(piece) = pieces.last_mut() {
            piece.push(band);
        }
    }
    pieces
}

/// What some bands give to the product: nothing to the rows above the first of them.
struct Part<'a> {
    first: usize,
    /// The vectors, one after the other.
    q: &'a [f64],
    /// The vectors with the entries of each row together.
    rows: Vec<f64>,
    /// From row `first` on, of each vector.
    sums: Vec<f64>,
    dim: usize,
}

impl<'a> Part<'a> {
    fn new(bands: &[Band], q: &'a [f64], dim: usize) -> Self {
        let (first, end) = bands.first().zip(bands.last()).map_or((0, 0), |(a, b)| (a.first, b.first + b.rows));
        let count = q.len() / dim;
        let rows = (first..end).flat_map(|i| q[i..].iter().step_by(dim).copied()).collect();
        Self { first, q, rows, sums: vec![0.0; count * (dim - first)], dim }
    }

    fn add(&mut self, band: Band) {
        let (height, piece) = STRIP;
        for top in (0..band.rows).step_by(height) {
            let height = height.min(band.rows - top);
            for left in (0..band.width).step_by(piece) {
                let width = piece.min(band.width - left);
                let lines = Lines::new(&band.entries[top * band.stride + left..], height, band.stride, width);
                self.along_rows(band.first + top, band.first + left, lines);
                // The square on the diagonal holds both halves.
                let skipped = band.rows.saturating_sub(left).min(width);
                if skipped < width {
                    let from = top * band.stride + left + skipped;
                    let lines = Lines::new(&band.entries[from..], height, band.stride, width - skipped);
                    self.down_columns(band.first + top, band.first + left + skipped, lines);
                }
            }
        }
    }

    /// z_i += sum_j k_ij q_j
    fn along_rows(&mut self, i: usize, j: usize, lines: Lines<f64>) {
        let (height, width) = (lines.count(), lines.len());
        let (count, len) = (self.q.len() / self.dim, self.dim - self.first);
        let by = Lines::new(&self.q[j..], count, self.dim, width);
        let mut out = vec![0.0; height * count];
        run(Dots { lines, by, out: &mut out });
        for (r, dots) in out.chunks_exact(count).enumerate() {
            dots.iter().enumerate().for_each(|(c, dot)| self.sums[c * len + i + r - self.first] += dot);
        }
    }

    /// z_j += sum_i k_ij q_i
    fn down_columns(&mut self, i: usize, j: usize, lines: Lines<f64>) {
        let count = self.q.len() / self.dim;
        let weights = &self.rows[(i - self.first) * count..][..lines.count() * count];
        let stride = self.dim - self.first;
        run(Updates { lines, weights, into: &mut self.sums[j - self.first..], stride });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_whole() {
        for (dim, height) in [(1, 1), (7, 3), (30, 24), (61, 25), (700, 30)] {
            let entry = |i: usize, j: usize| ((i.max(j) * 7 + i.min(j) * 3) % 11) as f64 - 5.0;
            let layout = Layout::new(dim, height);
            let mut entries = vec![0.0; layout.len()];
            for (first, band) in layout.split(&mut entries) {
                for (at, x) in band.iter_mut().enumerate() {
                    *x = entry(first + at / (dim - first), first + at % (dim - first));
                }
            }
            let matrix = UpperBands::new(&entries, layout).unwrap();
            let q: Vec<f64> = (0..5 * dim).map(|i| (i * 5 % 7) as f64 - 3.0).collect();
            let mut z = vec![f64::NAN; q.len()];
            matrix.apply(&q, &mut z, &Team::solo()).unwrap();
            for (q, z) in q.chunks_exact(dim).zip(z.chunks_exact(dim)) {
                for (i, z) in z.iter().enumerate() {
                    assert_eq!(*z, (0..dim).map(|j| entry(i, j) * q[j]).sum::<f64>(), "row {i} of {dim} by {height}");
                }
            }
            matrix.apply(&[], &mut [], &Team::solo()).unwrap();

            let (mut whole, mut again) = (vec![0.0; dim * dim], vec![0.0; q.len()]);
            matrix.unfold(&mut whole);
            multiply(Band::of_whole(&whole, layout), layout, &q, &mut again, &Team::solo()).unwrap();
            assert_eq!(again, z);
        }
    }
}
