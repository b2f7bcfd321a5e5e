//! QR of tall matrices that are never formed: the triangular factor of a stream of row panels (TSQR), and the
//! orthogonal factor where the matrix does fit.
//!
//! Demmel, Grigori, Hoemmen, Langou (2012), "Communication-optimal parallel and sequential QR and LU factorizations".

use crate::error::Result;
use crate::memory;
use crate::threads::Team;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply_reflectors,
};
use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch, recommended_block_size};
use faer::{Conj, Mat, MatMut, MatRef, Par, Spec};
use nalgebra::DMatrix;
use std::ops::Range;

/// A panel holds this many rows for each column, so that the triangle carried along costs one part in eight.
const ROWS_PER_COLUMN: usize = 8;
/// A panel holds at least this many rows, whatever the columns.
const LEAST_ROWS: usize = 256;
/// At most this many triangles grow side by side; the number depends on the shape alone.
const MOST_GROUPS: usize = 16;
/// A group holds at least this many panels: merging two triangles costs about a third of a panel.
const PANELS_PER_GROUP: usize = 4;

/// R of A = QR (upper triangular, min(rows, cols) x cols), for a rows x cols matrix given by its row panels.
///
/// `panel(range, out)` writes the rows in `range`, row-major. Cost 2 rows cols^2 (1 + 1/8) operations; memory
/// O(cols^2) a thread. Same bits for any team.
///
/// # Errors
/// [`crate::Error::Interrupted`] when the team is told to stop.
pub fn triangular_factor(
    rows: usize,
    cols: usize,
    panel: impl Fn(Range<usize>, &mut [f64]) + Sync,
    team: &Team,
) -> Result<DMatrix<f64>> {
    let step = (ROWS_PER_COLUMN * cols).max(LEAST_ROWS);
    let groups = (rows.div_ceil(step) / PANELS_PER_GROUP).clamp(1, MOST_GROUPS);
    let bounds: Vec<Range<usize>> = (0..groups).map(|g| g * rows / groups..(g + 1) * rows / groups).collect();
    // The triangles of all groups, and in each thread its panel, which is stacked below a triangle and reflected.
    let lines = groups * cols + groups.min(team.threads()) * (2 * step.min(rows) + 2 * cols);
    memory::check_matrices::<f64>(1, (lines, cols), "the triangular factor of X")?;
    let triangles = team.map(bounds, |group| {
        let mut triangle = Mat::<f64>::zeros(0, cols);
        for start in group.clone().step_by(step) {
            team.check()?;
            let range = start..group.end.min(start + step);
            let mut lines = vec![0.0; range.len() * cols];
            panel(range.clone(), &mut lines);
            let below = MatRef::from_row_major_slice(&lines, range.len(), cols);
            triangle = factor_stacked(&triangle, below);
        }
        Ok(triangle)
    });
    let mut all = Mat::<f64>::zeros(0, cols);
    for triangle in triangles {
        all = factor_stacked(&all, triangle?.as_ref());
    }
    Ok(DMatrix::from_fn(all.nrows(), cols, |i, j| all[(i, j)]))
}

/// R of [above; below].
fn factor_stacked(above: &Mat<f64>, below: MatRef<'_, f64>) -> Mat<f64> {
    let (top, cols) = above.shape();
    let rows = top + below.nrows();
    let mut stacked = Mat::zeros(rows, cols);
    stacked.as_mut().subrows_mut(0, top).copy_from(above);
    stacked.as_mut().subrows_mut(top, below.nrows()).copy_from(below);
    reflect(stacked.as_mut());
    Mat::from_fn(rows.min(cols), cols, |i, j| if i <= j { stacked[(i, j)] } else { 0.0 })
}

/// Householder QR in place; returns the coefficients of the block reflectors.
fn reflect(mut a: MatMut<'_, f64>) -> Mat<f64> {
    let (rows, cols) = a.shape();
    let block = recommended_block_size::<f64>(rows, cols);
    let mut coefficients = Mat::zeros(block, rows.min(cols));
    let scratch = qr_in_place_scratch::<f64>(rows, cols, block, Par::Seq, Spec::default());
    with_scratch(scratch, |stack| qr_in_place(a.as_mut(), coefficients.as_mut(), Par::Seq, stack, Spec::default()));
    coefficients
}

/// The QR factorisation of a matrix with at least as many rows as columns.
pub struct Qr {
    reflectors: Mat<f64>,
    coefficients: Mat<f64>,
}

impl Qr {
    /// Factors a copy of `a`, given column by column.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn of(a: &[f64], rows: usize, cols: usize) -> Result<Self> {
        // The reflectors here, and as many lines of what Q is multiplied with later.
        memory::check_matrices::<f64>(2, (rows, cols), "an orthogonal factor")?;
        Ok(Self::in_place(MatRef::from_column_major_slice(a, rows, cols).to_owned()))
    }

    /// Factors `a` in its own memory.
    #[must_use]
    pub fn in_place(mut a: Mat<f64>) -> Self {
        let coefficients = reflect(a.as_mut());
        Self { reflectors: a, coefficients }
    }

    /// R, cols x cols.
    #[must_use]
    pub fn r(&self) -> DMatrix<f64> {
        let cols = self.reflectors.ncols();
        DMatrix::from_fn(cols, cols, |i, j| if i <= j { self.reflectors[(i, j)] } else { 0.0 })
    }

    /// Q P for a P with as many rows as R.
    #[must_use]
    pub fn q_times(&self, p: &DMatrix<f64>) -> DMatrix<f64> {
        let rows = self.reflectors.nrows();
        let mut out = p.clone().resize_vertically(rows, 0.0);
        let (_, cols) = out.shape();
        let block = self.coefficients.nrows();
        let target = MatMut::from_column_major_slice_mut(out.as_mut_slice(), rows, cols);
        with_scratch(apply_scratch::<f64>(rows, block, cols), |stack| {
            let (basis, factor) = (self.reflectors.as_ref(), self.coefficients.as_ref());
            apply_reflectors(basis, factor, Conj::No, target, Par::Seq, stack);
        });
        out
    }
}

/// Runs `work` with scratch memory of the size that faer asks for.
pub(super) fn with_scratch<R>(need: StackReq, work: impl FnOnce(&mut MemStack) -> R) -> R {
    let mut memory = MemBuffer::new(need);
    work(MemStack::new(&mut memory))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(i: usize, j: usize) -> f64 {
        ((i * 7 + j * j * 3 + i * j) % 23) as f64 - 11.0
    }

    #[test]
    fn the_triangle_of_the_stream_has_the_gram_matrix_of_the_rows() {
        for (rows, cols) in [(1, 1), (3, 5), (5, 3), (700, 4), (5000, 17)] {
            let fill = |range: Range<usize>, out: &mut [f64]| {
                for (i, line) in range.zip(out.chunks_exact_mut(cols)) {
                    line.iter_mut().enumerate().for_each(|(j, x)| *x = entry(i, j));
                }
            };
            let r = triangular_factor(rows, cols, fill, &Team::solo()).unwrap();
            let a = DMatrix::from_fn(rows, cols, entry);
            let (got, right) = (r.transpose() * &r, a.transpose() * &a);
            assert!((got - &right).amax() <= 50.0 * f64::EPSILON * right.amax() * (rows as f64).sqrt());
        }
    }

    #[test]
    fn q_times_r_gives_the_matrix_back() {
        let a = DMatrix::from_fn(40, 6, entry);
        let qr = Qr::of(a.as_slice(), 40, 6).unwrap();
        assert!((qr.q_times(&qr.r()) - &a).amax() <= 100.0 * f64::EPSILON * a.amax());
        let q = qr.q_times(&DMatrix::identity(6, 6));
        assert!((q.transpose() * q - DMatrix::identity(6, 6)).amax() <= 20.0 * f64::EPSILON);
    }
}
