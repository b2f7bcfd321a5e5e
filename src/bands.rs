//! A symmetric matrix of which one half is stored, in bands of rows cut into pieces that are read from one end to the
//! other: half the memory, and half the reading of a product.

use crate::error::{Error, Result};

/// Columns of a piece, about: their parts of four vectors and of the product, 24 KiB, stay in the first cache.
const BREADTH: usize = 384;

/// How the half of an n x n matrix lies: bands of `height` rows, one after the other; the band that begins with row i
/// runs from column i to the end, in pieces of as many columns as [`breadth`](Layout::breadth) says, one after the
/// other. The square on the diagonal of a band is stored whole, in the first piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    dim: usize,
    height: usize,
}

impl Layout {
    /// A `dim` x `dim` matrix in bands of `height` rows, at least 1.
    #[must_use]
    pub fn new(dim: usize, height: usize) -> Self {
        Self { dim, height: height.max(1) }
    }

    /// Number of rows and of columns.
    #[must_use]
    pub fn dim(self) -> usize {
        self.dim
    }

    /// Rows of a band; the last may have fewer.
    #[must_use]
    pub fn height(self) -> usize {
        self.height
    }

    /// Columns of a piece, a multiple of the height; the last of a band may have fewer.
    #[must_use]
    pub fn breadth(self) -> usize {
        self.height * (BREADTH / self.height).max(1)
    }

    /// Number of entries stored: about (n^2 + n height) / 2.
    #[must_use]
    pub fn len(self) -> usize {
        let Self { dim, height } = self;
        let bands = (0..dim).step_by(height).map(|first| height.min(dim - first).saturating_mul(dim - first));
        bands.fold(0, usize::saturating_add)
    }

    /// Whether nothing is stored.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.dim == 0
    }

    /// Where the pieces lie in the matrix, in order.
    fn spans(self) -> impl Iterator<Item = Span> {
        let Self { dim, height } = self;
        (0..dim).step_by(height).flat_map(move |first| {
            let rows = height.min(dim - first);
            (first..dim).step_by(self.breadth()).map(move |left| {
                let width = self.breadth().min(dim - left);
                Span { first, left, rows, width }
            })
        })
    }

    /// The pieces of such a matrix, to be written: row by row, without a gap.
    pub fn split<T>(self, mut entries: &mut [T]) -> impl Iterator<Item = (Span, &mut [T])> {
        self.spans().map_while(move |span| {
            let (piece, rest) = std::mem::take(&mut entries).split_at_mut_checked(span.rows * span.width)?;
            entries = rest;
            Some((span, piece))
        })
    }

    /// The pieces of the upper half of a matrix of which all is stored, dim x dim.
    pub fn of_whole(self, whole: &[f64]) -> impl Iterator<Item = Piece<'_>> {
        let stride = self.dim;
        self.spans().map(move |span| {
            let start = span.first * stride + span.left;
            Piece { span, stride, entries: &whole[start..start + (span.rows - 1) * stride + span.width] }
        })
    }
}

/// Rows `first`, `first + 1`, ... and columns `left`, `left + 1`, ... of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first row, and the first column of its band.
    pub first: usize,
    /// The first column: of the piece with the diagonal, the first row.
    pub left: usize,
    /// How many rows.
    pub rows: usize,
    /// How many columns.
    pub width: usize,
}

/// The entries of a span.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Which.
    pub span: Span,
    /// Distance between the starts of two rows.
    pub stride: usize,
    /// From the first entry of the first row to the last of the last.
    pub entries: &'a [f64],
}

/// A symmetric matrix stored by half.
#[derive(Clone, Copy, Debug)]
pub struct UpperBands<'a> {
    entries: &'a [f64],
    layout: Layout,
}

impl<'a> UpperBands<'a> {
    /// # Errors
    /// [`Error::Shape`] unless there are as many entries as the layout has.
    pub fn new(entries: &'a [f64], layout: Layout) -> Result<Self> {
        if entries.len() == layout.len() {
            return Ok(Self { entries, layout });
        }
        Err(Error::Shape { what: "the matrix, counted in entries,", found: entries.len(), wanted: layout.len() })
    }

    /// How the entries lie.
    #[must_use]
    pub fn layout(self) -> Layout {
        self.layout
    }

    /// The pieces, in order.
    pub fn pieces(self) -> impl Iterator<Item = Piece<'a>> {
        let mut rest = self.entries;
        self.layout.spans().map(move |span| {
            let (entries, below) = rest.split_at(span.rows * span.width);
            rest = below;
            Piece { span, stride: span.width, entries }
        })
    }

    /// The diagonal.
    pub fn diagonal(self) -> impl Iterator<Item = f64> {
        let on_it = self.pieces().filter(|Piece { span, .. }| span.left == span.first);
        on_it.flat_map(|Piece { span, entries, .. }| entries.iter().step_by(span.width + 1).take(span.rows).copied())
    }

    /// Writes the whole matrix, n x n.
    pub fn unfold(self, whole: &mut [f64]) {
        let dim = self.layout.dim;
        for Piece { span, entries, .. } in self.pieces() {
            for (i, row) in (span.first..).zip(entries.chunks_exact(span.width)) {
                for (j, &entry) in (span.left..).zip(row) {
                    whole[i * dim + j] = entry;
                    whole[j * dim + i] = entry;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_folded_and_unfolded() {
        for (dim, height) in [(0, 2), (1, 3), (5, 2), (6, 3), (7, 100), (900, 170), (1000, 500)] {
            let layout = Layout::new(dim, height);
            let mut entries = vec![0.0; layout.len()];
            let entry = |i: usize, j: usize| (i.max(j) * 1000 + i.min(j)) as f64;
            for (span, piece) in layout.split(&mut entries) {
                for (i, row) in (span.first..).zip(piece.chunks_exact_mut(span.width)) {
                    row.iter_mut().zip(span.left..).for_each(|(x, j)| *x = entry(i, j));
                }
            }
            let half = UpperBands::new(&entries, layout).unwrap();
            assert!(half.diagonal().eq((0..dim).map(|i| entry(i, i))));
            let mut whole = vec![-1.0; dim * dim];
            half.unfold(&mut whole);
            assert!(whole.iter().enumerate().all(|(at, &x)| x == entry(at / dim, at % dim)), "{dim} by {height}");
        }
    }

    #[test]
    fn half_is_stored() {
        assert_eq!(Layout::new(5, 2).len(), 2 * 5 + 2 * 3 + 1);
        assert!(UpperBands::new(&[0.0; 3], Layout::new(2, 1)).is_ok());
        assert!(UpperBands::new(&[0.0; 4], Layout::new(2, 1)).is_err());
    }
}
