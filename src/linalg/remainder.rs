//! What of centred rows lies outside the span of a few directions.

use crate::error::Result;
use crate::simd::{Centered, Lane};
use crate::threads::Team;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use nalgebra::DMatrix;
use std::ops::Range;

/// Rows worked on together: enough for the product's tiles.
const ROWS: usize = 64;
/// Elements of a piece that are worth another thread, and how many pieces at most; from the shape alone.
const PIECE_ELEMENTS: usize = 1 << 15;
const MOST_PIECES: usize = 16;

/// sum_i |x_i - V V'x_i|^2 over the rows of `x`, for orthonormal columns V (d x k): by differences, so that it keeps its
/// digits however small a share of sum |x_i|^2 it is, where the difference of two sums of squares would lose them. One read,
/// 4 n d k operations.
///
/// # Errors
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn remainder<T: Lane>(x: &Centered<T>, v: &DMatrix<f64>, team: &Team) -> Result<f64> {
    let (n, d) = (x.rows(), x.cols());
    let pieces = (n * d / PIECE_ELEMENTS).clamp(1, MOST_PIECES);
    let step = n.div_ceil(pieces).max(1).next_multiple_of(ROWS);
    let parts = team.map((0..n).step_by(step).map(|from| from..n.min(from + step)).collect(), |piece: Range<usize>| {
        let (mut lines, mut scores) = (vec![0.0; ROWS * d], vec![0.0; ROWS * v.ncols()]);
        let mut sum = 0.0;
        for from in piece.clone().step_by(ROWS) {
            team.check()?;
            let range = from..piece.end.min(from + ROWS);
            sum += outside(x, range.clone(), v, &mut lines[..range.len() * d], &mut scores[..range.len() * v.ncols()]);
        }
        Ok(sum)
    });
    parts.into_iter().sum()
}

/// The same of the rows in `range`.
fn outside<T: Lane>(
    x: &Centered<T>,
    range: Range<usize>,
    v: &DMatrix<f64>,
    lines: &mut [f64],
    scores: &mut [f64],
) -> f64 {
    let (rows, (d, k)) = (range.len(), v.shape());
    x.pack_wide(range, lines);
    let v = MatRef::from_column_major_slice(v.as_slice(), d, k);
    let whole = MatRef::from_row_major_slice(&*lines, rows, d);
    matmul(MatMut::from_row_major_slice_mut(scores, rows, k), Accum::Replace, whole, v, 1.0, Par::Seq);
    let scores = MatRef::from_row_major_slice(&*scores, rows, k);
    let left = MatMut::from_row_major_slice_mut(&mut *lines, rows, d);
    matmul(left, Accum::Add, scores, v.transpose(), -1.0, Par::Seq);
    lines.iter().map(|left| left * left).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::MatrixView;

    #[test]
    fn a_share_far_below_the_rounding_of_the_total_keeps_its_digits() {
        // Rows (1e9, i mod 3, 1, 0) about 0; the first direction is taken out.
        let n = 1000;
        let data: Vec<f64> = (0..n).flat_map(|i| [1e9, (i % 3) as f64, 1.0, 0.0]).collect();
        let x = Centered::new(MatrixView::new(&data, n, 4).unwrap(), &[0.0; 4], None);
        let v = DMatrix::from_column_slice(4, 1, &[1.0, 0.0, 0.0, 0.0]);
        let right: f64 = (0..n).map(|i| ((i % 3) as f64).powi(2) + 1.0).sum();
        assert_eq!(remainder(&x, &v, &Team::solo()).unwrap(), right);
    }
}
