//! What of centred rows lies outside the span of a few directions.

use super::operator::{times, transpose_times};
use super::qr::Qr;
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

/// Orthonormal columns that span X'X V (d x k, k <= d): of a tilt of v_k towards another direction a share of
/// (sigma_j / sigma_k)^2 is left, nothing where X does not vary along it.
///
/// # Errors
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn stepped<T: Lane>(x: &Centered<T>, v: &DMatrix<f64>, team: &Team) -> Result<DMatrix<f64>> {
    let (d, k) = v.shape();
    let images = transpose_times(x, &times(x, v.as_slice(), team)?, team)?;
    Ok(Qr::of(&images, d, k).q_times(&DMatrix::identity(k, k)))
}

/// [`remainder`] of the rows in `range`.
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

    #[test]
    fn a_step_takes_away_what_leans_towards_dead_directions() {
        // Singular values 1, 1e-3, 1e-6 and 0 along the axes; the first two directions lean towards the other two.
        let data: Vec<f64> = (0..16).map(|at| if at % 5 == 0 { [1.0, 1e-3, 1e-6, 0.0][at / 5] } else { 0.0 }).collect();
        let x = Centered::new(MatrixView::new(&data, 4, 4).unwrap(), &[0.0; 4], None);
        let lean: f64 = 0.01;
        let c = (1.0 - lean * lean).sqrt();
        let v = DMatrix::from_column_slice(4, 2, &[c, 0.0, 0.0, lean, 0.0, c, lean, 0.0]);
        let v = stepped(&x, &v, &Team::solo()).unwrap();
        let rest = remainder(&x, &v, &Team::solo()).unwrap();
        assert!((rest - 1e-12).abs() <= 1e-17, "{rest:e}");
    }
}
