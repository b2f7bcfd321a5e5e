//! What of centred rows lies outside the span of a few directions.

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

/// sum_i |x_i - V V'x_i|^2 over the rows of `x`, for orthonormal columns V (d x k): by differences, so that it keeps
/// its digits however small a share of sum |x_i|^2 it is, where the difference of two sums of squares would lose them.
/// One read, 4 n d k operations.
///
/// # Errors
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn remainder<T: Lane>(x: &Centered<T>, v: &DMatrix<f64>, team: &Team) -> Result<f64> {
    let (d, k) = v.shape();
    let parts = over_pieces(x, v, team, |lines, scores, sum: &mut f64| {
        let rows = lines.len() / d.max(1);
        let scores = MatRef::from_row_major_slice(&*scores, rows, k);
        let span = MatRef::from_column_major_slice(v.as_slice(), d, k).transpose();
        matmul(MatMut::from_row_major_slice_mut(&mut *lines, rows, d), Accum::Add, scores, span, -1.0, Par::Seq);
        *sum += lines.iter().map(|left| left * left).sum::<f64>();
    })?;
    Ok(parts.into_iter().sum())
}

/// Orthonormal columns that span X'X V (d x k, k <= d): of a tilt of v_k towards another direction a share of
/// (sigma_j / sigma_k)^2 is left, nothing where X does not vary along it. In `f64` whatever the data: sums in `f32`
/// would tilt by their own rounding. One read, 4 n d k operations.
///
/// # Errors
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn stepped<T: Lane>(x: &Centered<T>, v: &DMatrix<f64>, team: &Team) -> Result<DMatrix<f64>> {
    let (d, k) = v.shape();
    // Each block is summed on its own: products with one vector would add its rows to the whole one after the other.
    let parts = over_pieces(x, v, team, |lines, scores, [sums, block]: &mut [Vec<f64>; 2]| {
        sums.resize(d * k, 0.0);
        block.resize(d * k, 0.0);
        let rows = lines.len() / d.max(1);
        let lines = MatRef::from_row_major_slice(&*lines, rows, d).transpose();
        let scores = MatRef::from_row_major_slice(&*scores, rows, k);
        matmul(MatMut::from_column_major_slice_mut(block, d, k), Accum::Replace, lines, scores, 1.0, Par::Seq);
        sums.iter_mut().zip(block).for_each(|(sum, block)| *sum += *block);
    })?;
    let mut images = vec![0.0; d * k];
    for [part, _] in parts {
        images.iter_mut().zip(part).for_each(|(image, part)| *image += part);
    }
    Ok(Qr::of(&images, d, k)?.q_times(&DMatrix::identity(k, k)))
}

/// What rounding leaves of [`remainder`] for directions from [`stepped`] that nothing is outside of, given the sum of
/// the squares of all entries and the largest singular value.
///
/// Each score is a sum of d terms, each coordinate taken away one of k; a sum of m terms strays by sqrt(m) eps of its
/// largest possible value at most, save by bad luck, so (d + k) eps^2 total. Each direction was a sum over a block of
/// rows, then over the blocks of a piece: m terms in turn tilt it by sqrt(m) eps sigma_1 / sigma_j, which leaves m
/// eps^2 sigma_1^2.
#[must_use]
pub fn remainder_floor(n: usize, v: &DMatrix<f64>, total: f64, largest: f64) -> f64 {
    let (d, k) = v.shape();
    let terms = ROWS + n / (ROWS * MOST_PIECES);
    f64::EPSILON.powi(2) * ((d + k) as f64 * total + (k * terms) as f64 * largest * largest)
}

/// What `add` gathers over each piece of the rows, in the order of the pieces: it is given a few rows at a time and
/// their scores X V, both row-major, and may overwrite them.
fn over_pieces<T: Lane, S: Default + Send>(
    x: &Centered<T>,
    v: &DMatrix<f64>,
    team: &Team,
    add: impl Fn(&mut [f64], &mut [f64], &mut S) + Sync,
) -> Result<Vec<S>> {
    let (n, (d, k)) = (x.rows(), v.shape());
    let pieces = (n * d / PIECE_ELEMENTS).clamp(1, MOST_PIECES);
    let step = n.div_ceil(pieces).max(1).next_multiple_of(ROWS);
    let parts = team.map((0..n).step_by(step).map(|from| from..n.min(from + step)).collect(), |piece: Range<usize>| {
        let (mut lines, mut scores) = (vec![0.0; ROWS * d], vec![0.0; ROWS * k]);
        let mut found = S::default();
        for from in piece.clone().step_by(ROWS) {
            team.check()?;
            let range = from..piece.end.min(from + ROWS);
            let rows = range.len();
            let (lines, scores) = (&mut lines[..rows * d], &mut scores[..rows * k]);
            x.pack_wide(range, lines);
            let whole = MatRef::from_row_major_slice(&*lines, rows, d);
            let v = MatRef::from_column_major_slice(v.as_slice(), d, k);
            matmul(MatMut::from_row_major_slice_mut(scores, rows, k), Accum::Replace, whole, v, 1.0, Par::Seq);
            add(lines, scores, &mut found);
        }
        Ok(found)
    });
    parts.into_iter().collect()
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
