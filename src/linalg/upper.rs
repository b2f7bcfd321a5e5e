//! Products with a symmetric matrix of which one half is read: each entry serves the row that holds it and the column
//! it mirrors, so that a product reads n^2 / 2 entries.

use super::operator::Operator;
use super::vectors::Vectors;
use crate::bands::{Layout, Piece, Span, UpperBands};
use crate::error::Result;
use crate::simd::half_product::Mirrored;
use crate::simd::run;
use crate::simd::skinny::{Lines, Updates};
use crate::threads::Team;

/// The matrix is multiplied in about this many shares, whose results are added in order.
const SHARES: usize = 16;
/// Entries of a half, 8 MiB, that stay in the nearer caches between two products.
const NEAR: usize = 1 << 20;

/// Vectors that the half of a matrix is best multiplied with at a time: of two an iteration needs the fewer products,
/// four are multiplied in the time that a far memory takes to bring an entry.
pub(super) fn block(layout: Layout) -> usize {
    if layout.len() <= NEAR { 2 } else { 4 }
}

impl Operator for UpperBands<'_> {
    fn dim(&self) -> usize {
        self.layout().dim()
    }

    fn apply(&self, q: &[f64], z: &mut [f64], team: &Team) -> Result<()> {
        multiply(self.pieces(), self.layout(), q, z, team)
    }

    fn block(&self) -> usize {
        block(self.layout())
    }
}

/// Z = A Q from the pieces of A's upper half.
pub(super) fn multiply<'a>(
    pieces: impl Iterator<Item = Piece<'a>>,
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
    let vectors = Vectors::<f64>::of(q, dim);
    let parts = team.map(shares(pieces, layout.len().div_ceil(SHARES)), |pieces: Vec<Piece>| {
        let mut part = Part::new(&pieces, &vectors);
        for piece in pieces {
            team.check()?;
            part.add(piece);
        }
        Ok(part)
    });
    z.fill(0.0);
    for part in parts {
        let Part { first, sums, .. } = part?;
        for (z, sums) in z.chunks_exact_mut(dim).zip(sums.each()) {
            z[first..].iter_mut().zip(sums).for_each(|(z, sum)| *z += sum);
        }
    }
    Ok(())
}

/// Neighbouring bands together, of about `size` entries.
fn shares<'a>(pieces: impl Iterator<Item = Piece<'a>>, size: usize) -> Vec<Vec<Piece<'a>>> {
    let (mut shares, mut filled) = (Vec::<Vec<Piece>>::new(), size);
    for piece in pieces {
        let Span { first, left, rows, width } = piece.span;
        if left == first && filled >= size {
            shares.push(Vec::new());
            filled = 0;
        }
        filled += rows * width;
        if let Some(share) = shares.last_mut() {
            share.push(piece);
        }
    }
    shares
}

/// What some bands give to the product: nothing to the rows above the first of them.
struct Part<'a> {
    first: usize,
    vectors: &'a Vectors<f64>,
    /// The vectors with the entries of each row together.
    rows: Vec<f64>,
    /// From row `first` on, of each vector.
    sums: Vectors<f64>,
}

impl<'a> Part<'a> {
    fn new(pieces: &[Piece], vectors: &'a Vectors<f64>) -> Self {
        let ends = pieces.first().zip(pieces.last()).map(|(a, b)| (a.span.first, b.span.first + b.span.rows));
        let (first, end) = ends.unwrap_or((0, 0));
        let mut rows = vec![0.0; (end - first) * vectors.count];
        for (c, vector) in vectors.each().enumerate() {
            rows.iter_mut().skip(c).step_by(vectors.count).zip(&vector[first..end]).for_each(|(to, from)| *to = *from);
        }
        Self { first, vectors, rows, sums: Vectors::zeros(vectors.count, vectors.len - first) }
    }

    fn add(&mut self, piece: Piece) {
        let Piece { span: Span { first, left, rows, width }, stride, entries } = piece;
        let count = self.vectors.count;
        let weights = &self.rows[(first - self.first) * count..][..rows * count];
        let mut along = vec![0.0; rows * count];
        let mut beside = 0;
        if left == first {
            // The square on the diagonal holds both halves: its rows are its columns, and sums of rows need no dot
            // products.
            let square = Lines::new(entries, rows, stride, rows);
            let into = &mut self.sums.data[first - self.first..];
            run(Updates { lines: square, weights, into, stride: self.sums.stride });
            beside = rows;
        }
        if beside < width {
            let lines = Lines::new(&entries[beside..], rows, stride, width - beside);
            let by = self.vectors.piece(left + beside, width - beside);
            let down = &mut self.sums.data[left + beside - self.first..];
            run(Mirrored { lines, by, weights, along: &mut along, down, stride: self.sums.stride });
        }
        for (c, sums) in self.sums.data.chunks_exact_mut(self.sums.stride).enumerate() {
            let sums = sums[first - self.first..].iter_mut();
            sums.zip(along.iter().skip(c).step_by(count)).for_each(|(sum, along)| *sum += along);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_whole() {
        for (dim, height) in [(1, 1), (7, 3), (30, 24), (61, 25), (700, 30), (900, 170)] {
            let entry = |i: usize, j: usize| ((i.max(j) * 7 + i.min(j) * 3) % 11) as f64 - 5.0;
            let layout = Layout::new(dim, height);
            let mut entries = vec![0.0; layout.len()];
            for (span, piece) in layout.split(&mut entries) {
                for (at, x) in piece.iter_mut().enumerate() {
                    *x = entry(span.first + at / span.width, span.left + at % span.width);
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
            multiply(layout.of_whole(&whole), layout, &q, &mut again, &Team::solo()).unwrap();
            assert_eq!(again, z);
        }
    }
}
