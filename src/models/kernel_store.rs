//! The uncentred kernel matrix in a buffer of the caller's: whole, or the half that products need.

use crate::bands::{Layout, UpperBands};
use crate::error::{Error, Result};
use crate::hsic::Sample;
use crate::kernel::{Kernel, KernelMeans, MATRIX, center_kernel, half_layout, kernel_half, kernel_matrix_wide};
use crate::linalg::{Dense, Operator, symmetric_into};
use crate::matrix::{MatrixView, zeros};
use crate::simd::Lane;
use crate::threads::Team;
use nalgebra::DMatrix;

/// Entries that a thread shifts at a time.
const SHIFTED: usize = 1 << 16;

/// Which entries are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// All, n x n.
    Whole(usize),
    /// Those of the upper bands.
    Half(Layout),
}

impl Shape {
    /// By half where rows are given and products will do; a matrix that is given is evened out as a whole.
    pub(super) fn of<T: Lane>(sample: &Sample<T>, dense: bool) -> Self {
        match sample {
            Sample::Rows(..) if !dense => Self::Half(half_layout(sample.len())),
            _ => Self::Whole(sample.len()),
        }
    }

    /// Entries stored.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Whole(n) => n.saturating_mul(n),
            Self::Half(layout) => layout.len(),
        }
    }
}

/// The entries where they are stored.
#[derive(Debug)]
pub(super) struct Store<'a> {
    entries: &'a mut [f64],
    shape: Shape,
}

impl<'a> Store<'a> {
    /// Computes the kernel matrix of the sample, or copies the one given; with its means, and the kernel as it is
    /// settled on the data.
    pub(super) fn fill<T: Lane>(
        sample: &Sample<T>,
        shape: Shape,
        entries: &'a mut [f64],
        team: &Team,
    ) -> Result<(Self, KernelMeans, Option<Kernel>)> {
        if entries.len() != shape.len() {
            return Err(Error::Shape { what: "the buffer", found: entries.len(), wanted: shape.len() });
        }
        let (means, kernel) = match *sample {
            Sample::Rows(x, kernel) => {
                let kernel = kernel.resolve(x, "X", team)?;
                (fill_from(x, &kernel, shape, entries, team)?, Some(kernel))
            }
            Sample::Precomputed(matrix) => {
                symmetric_into(matrix, "X", entries)?;
                (means_of_whole(entries, sample.len(), team)?, None)
            }
        };
        Ok((Self { entries, shape }, means, kernel))
    }

    pub(super) fn diagonal(&self) -> Result<Vec<f64>> {
        Ok(match self.shape {
            Shape::Whole(n) => self.entries.iter().step_by(n + 1).copied().collect(),
            Shape::Half(layout) => UpperBands::new(self.entries, layout)?.diagonal().collect(),
        })
    }

    /// K - constant, in place.
    pub(super) fn shift(&mut self, constant: f64, team: &Team) {
        let pieces = self.entries.chunks_mut(SHIFTED).collect();
        team.map(pieces, |piece: &mut [f64]| piece.iter_mut().for_each(|k| *k -= constant));
    }

    /// What the iterative roads multiply with.
    pub(super) fn operator(&self) -> Result<Box<dyn Operator + '_>> {
        Ok(match self.shape {
            Shape::Whole(n) => Box::new(Dense::new(self.entries, n)?),
            Shape::Half(layout) => Box::new(UpperBands::new(self.entries, layout)?),
        })
    }

    /// H K H, whole.
    pub(super) fn centred(&mut self, team: &Team) -> Result<DMatrix<f64>> {
        match self.shape {
            Shape::Whole(n) => {
                center_kernel(self.entries, n, team)?;
                Ok(DMatrix::from_column_slice(n, n, self.entries))
            }
            Shape::Half(layout) => {
                let n = layout.dim();
                let mut whole = zeros(n.saturating_mul(n), MATRIX)?;
                UpperBands::new(self.entries, layout)?.unfold(&mut whole);
                center_kernel(&mut whole, n, team)?;
                Ok(DMatrix::from_vec(n, n, whole))
            }
        }
    }
}

fn fill_from<T: Lane>(
    x: MatrixView<T>,
    kernel: &Kernel,
    shape: Shape,
    entries: &mut [f64],
    team: &Team,
) -> Result<KernelMeans> {
    match shape {
        Shape::Half(_) => kernel_half(x, kernel, entries, team),
        Shape::Whole(n) => {
            kernel_matrix_wide(x, kernel, entries, team)?;
            means_of_whole(entries, n, team)
        }
    }
}

fn means_of_whole(entries: &[f64], n: usize, team: &Team) -> Result<KernelMeans> {
    KernelMeans::of(MatrixView::new(entries, n, n)?, MATRIX, team)
}
