//! Small directions measured again on the data: what squaring has hidden below sqrt(eps) comes back.
//!
//! An eigenvalue of the scatter matrix is known to eps sigma_1^2, so sigma_j only to eps sigma_1^2 / sigma_j. One more
//! pass over the data, restricted to the small directions, measures them to eps sigma_1.

use super::qr::triangular_factor;
use super::spectrum::{Singular, rank};
use super::svd::small_svd;
use crate::error::Result;
use crate::simd::{Centered, Lane};
use crate::threads::Team;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use nalgebra::DMatrix;

/// Directions with sigma_j / sigma_1 below this are measured again: there the squared road has lost a relative
/// eps / 1e-8 of sigma_j in double precision, and in single precision as many of its own digits.
fn threshold<T: Lane>() -> f64 {
    if T::DOUBLE { 1e-4 } else { 1e-2 }
}

/// The first pair that is too small to be trusted after squaring.
#[must_use]
pub fn first_small<T: Lane>(values: &[f64]) -> usize {
    let floor = values.first().map_or(0.0, |largest| threshold::<T>() * largest);
    values.iter().position(|&sigma| sigma < floor || sigma == 0.0).unwrap_or(values.len())
}

/// Living directions below this share of the threshold are measured again together with the large ones. The rounding
/// eps sigma_1^2 that a large and a small direction share is eps sigma_1^2 / (sigma_i sigma_j) of their lengths:
/// at the product of both thresholds, 1e-10 in double precision, it would show in whitened data.
const COUPLED: f64 = 1e-2;

/// Re-measures the small ones of `pairs` (right singular vectors of the centred data, d x k, k <= n): the SVD of
/// `Xc V` restricted to them, by QR and without squaring. One pass of 2 n d m + 2 n m^2 operations for m directions; a
/// second one over all k where some live far below the threshold.
///
/// # Errors
/// [`crate::Error::NoConvergence`], [`crate::Error::Interrupted`].
pub fn refine<T: Lane>(x: &Centered<T>, pairs: Singular, team: &Team) -> Result<Singular> {
    let first = first_small::<T>(&pairs.values);
    let pairs = measured(x, pairs, first, team)?;
    let living = rank(&pairs.values, x.rows().min(x.cols()), T::EPSILON);
    let smallest = pairs.values[..living].last().copied().unwrap_or(0.0);
    let coupled = pairs.values.first().is_some_and(|largest| smallest < COUPLED * threshold::<T>() * largest);
    if coupled && first > 0 { measured(x, pairs, 0, team) } else { Ok(pairs) }
}

/// The pairs from `first` on by the SVD of `Xc V` over them.
fn measured<T: Lane>(x: &Centered<T>, mut pairs: Singular, first: usize, team: &Team) -> Result<Singular> {
    let m = pairs.values.len() - first;
    if m == 0 {
        return Ok(pairs);
    }
    let d = x.cols();
    let small: DMatrix<f64> = pairs.vectors.columns(first, m).into_owned();
    let panel = |range: std::ops::Range<usize>, out: &mut [f64]| {
        let rows = range.len();
        let mut lines = vec![0.0; rows * d];
        x.pack_wide(range, &mut lines);
        let lines = MatRef::from_row_major_slice(&lines, rows, d);
        let small = MatRef::from_column_major_slice(small.as_slice(), d, m);
        matmul(MatMut::from_row_major_slice_mut(out, rows, m), Accum::Replace, lines, small, 1.0, Par::Seq);
    };
    let measured = small_svd(&triangular_factor(x.rows(), m, panel, team)?)?.right();
    let found = measured.values.len();
    pairs.vectors.columns_mut(first, found).copy_from(&(small * measured.vectors));
    pairs.values[first..first + found].copy_from_slice(&measured.values);
    Ok(pairs.sorted())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::MatrixView;

    #[test]
    fn a_direction_below_the_root_of_eps_is_measured() {
        // Columns h_1, h_2 + 0, 1e-9 h_4 of a Hadamard basis: singular values 1, 1, 1e-9 along the axes.
        let sign = |i: u32, j: u32| if (i & j).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
        let data: Vec<f64> =
            (0..8).flat_map(|i| [sign(i, 1), sign(i, 2), 1e-9 * sign(i, 4)].map(|h| h / 8f64.sqrt())).collect();
        let x = MatrixView::new(&data, 8, 3).unwrap();
        // The squared road finds the third direction tilted by eps^(1/2) / 10 and its value as noise.
        let tilt = 1e-9;
        let mut vectors = DMatrix::identity(3, 3);
        (vectors[(0, 2)], vectors[(2, 0)]) = (tilt, -tilt);
        let pairs = Singular { values: vec![1.0, 1.0, 3e-8], vectors };
        let got = refine(&Centered::new(x, &[0.0; 3], None), pairs, &Team::solo()).unwrap();
        // It lives far below the large ones, so all are measured together and the tilt itself goes:
        // sigma is 1, 1, 1e-9.
        for (sigma, right) in got.values.iter().zip([1.0, 1.0, 1e-9]) {
            assert!((sigma - right).abs() <= 10.0 * f64::EPSILON, "{sigma} {right}");
        }
    }

    #[test]
    fn nothing_small_means_no_pass() {
        assert_eq!(first_small::<f64>(&[1.0, 1e-3]), 2);
        assert_eq!(first_small::<f32>(&[1.0, 1e-3]), 1);
        assert_eq!(first_small::<f64>(&[0.0]), 0);
        assert_eq!(first_small::<f64>(&[]), 0);
    }
}
