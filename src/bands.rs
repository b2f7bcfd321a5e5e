//! A symmetric matrix of which one half is stored, in bands of rows: half the memory, and half the reading of a product.

use crate::error::{Error, Result};

/// How the half of an n x n matrix lies: bands of `height` rows, one after the other; the rows of the band that begins
/// with row i run from column i to the end. The square on the diagonal of a band is stored whole.
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

    /// Number of entries stored: about (n^2 + n height) / 2.
    #[must_use]
    pub fn len(self) -> usize {
        self.spans().map(|(_, rows, width)| rows.saturating_mul(width)).fold(0, usize::saturating_add)
    }

    /// Whether nothing is stored.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.dim == 0
    }

    /// First row, rows and width of every band.
    fn spans(self) -> impl Iterator<Item = (usize, usize, usize)> {
        let Self { dim, height } = self;
        (0..dim).step_by(height).map(move |first| (first, height.min(dim - first), dim - first))
    }

    /// The bands of such a matrix, to be written: first row, and rows of n - first entries.
    pub fn split<T>(self, mut entries: &mut [T]) -> impl Iterator<Item = (usize, &mut [T])> {
        self.spans().map_while(move |(first, rows, width)| {
            let (band, rest) = std::mem::take(&mut entries).split_at_mut_checked(rows * width)?;
            entries = rest;
            Some((first, band))
        })
    }
}

/// A symmetric matrix stored by half.
#[derive(Clone, Copy, Debug)]
pub struct UpperBands<'a> {
    entries: &'a [f64],
    layout: Layout,
}

/// Rows `first`, `first + 1`, ... of the matrix, each from column `first` on.
#[derive(Clone, Copy, Debug)]
pub struct Band<'a> {
    /// The first row, and the first column.
    pub first: usize,
    /// How many rows.
    pub rows: usize,
    /// Entries of a row.
    pub width: usize,
    /// Distance between the starts of two rows.
    pub stride: usize,
    /// From the first entry of the first row to the last of the last.
    pub entries: &'a [f64],
}

impl<'a> Band<'a> {
    /// The bands of the upper half of a matrix of which all is stored, dim x dim.
    pub fn of_whole(whole: &'a [f64], layout: Layout) -> impl Iterator<Item = Self> {
        let stride = layout.dim;
        layout.spans().map(move |(first, rows, width)| {
            let start = first * stride + first;
            let entries = &whole[start..start + (rows - 1) * stride + width];
            Band { first, rows, width, stride, entries }
        })
    }
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

    /// The bands, from above.
    pub fn bands(self) -> impl Iterator<Item = Band<'a>> {
        let mut rest = self.entries;
        self.layout.spans().map(move |(first, rows, width)| {
            let (entries, below) = rest.split_at(rows * width);
            rest = below;
            Band { first, rows, width, stride: width, entries }
        })
    }

    /// The diagonal.
    pub fn diagonal(self) -> impl Iterator<Item = f64> {
        self.bands().flat_map(|band| band.entries.iter().step_by(band.width + 1).take(band.rows).copied())
    }

    /// Writes the whole matrix, n x n.
    pub fn unfold(self, whole: &mut [f64]) {
        let dim = self.layout.dim;
        for band in self.bands() {
            for (i, row) in band.entries.chunks_exact(band.width).enumerate() {
                let i = band.first + i;
                for (j, &entry) in (band.first..).zip(row) {
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
        for (dim, height) in [(0, 2), (1, 3), (5, 2), (6, 3), (7, 100)] {
            let layout = Layout::new(dim, height);
            let mut entries = vec![0.0; layout.len()];
            let entry = |i: usize, j: usize| (i.max(j) * 10 + i.min(j)) as f64;
            for (first, band) in layout.split(&mut entries) {
                for (i, row) in band.chunks_exact_mut(dim - first).enumerate() {
                    row.iter_mut().enumerate().for_each(|(j, x)| *x = entry(first + i, first + j));
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
