//! Singular values and right singular vectors of centred data without squaring it: QR, then the SVD of R.
//!
//! Backward stable: |sigma_j - true| <= c p eps sigma_1 for every j, where the covariance road only sees
//! sigma_j^2 against eps sigma_1^2.

use super::qr::{Qr, triangular_factor, with_scratch};
use super::spectrum::Singular;
use crate::error::{Error, Result};
use crate::matrix::ask;
use crate::memory;
use crate::power::{power, unit};
use crate::simd::{Centered, Lane};
use crate::threads::Team;
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::{Col, Mat, MatRef, Par, Spec};
use nalgebra::DMatrix;

/// Matrices of the size of the factor that [`small_svd`] has at once: its own scaled copy, both sets of vectors twice
/// over, and about as much scratch.
const COPIES: usize = 6;

/// All min(n, d) singular values and right singular vectors of the centred data, in `f64` whatever the data.
///
/// # Errors
/// [`Error::NoConvergence`] from the SVD of R, [`Error::Memory`], [`Error::Interrupted`].
pub fn singular<T: Lane>(x: &Centered<T>, team: &Team) -> Result<Singular> {
    singular_keeping(x, x.rows().min(x.cols()), team)
}

/// All singular values, and the first `keep` right singular vectors, of the centred data.
///
/// n >= d: R of the stream of panels, O(d^2) memory. n < d: QR of the transpose in one n x d copy, beside which only
/// the vectors kept are as long.
///
/// # Errors
/// Those of [`singular`].
pub fn singular_keeping<T: Lane>(x: &Centered<T>, keep: usize, team: &Team) -> Result<Singular> {
    let (n, d) = (x.rows(), x.cols());
    if n >= d {
        let r = triangular_factor(n, d, |range, out| x.pack_wide(range, out), team)?;
        let Singular { values, vectors } = small_svd(&r)?.right();
        return Ok(Singular { values, vectors: vectors.resize_horizontally(keep, 0.0) });
    }
    memory::check_matrices::<f64>(1, (n.saturating_add(keep), d), COPY)?;
    // Xc' = Q R, R = P S W', so V = Q P.
    let qr = Qr::in_place(transposed(x)?);
    team.check()?;
    let Small { left, values, .. } = small_svd(&qr.r())?;
    Ok(Singular { values, vectors: qr.q_times(&left.resize_horizontally(keep, 0.0)) })
}

/// What the user knows the copy of wide data as.
const COPY: &str = "a copy of X in float64";

/// The d x n transpose of the centred data.
fn transposed<T: Lane>(x: &Centered<T>) -> Result<Mat<f64>> {
    let (n, d) = (x.rows(), x.cols());
    ask::<f64>(n.saturating_mul(d), COPY)?;
    let mut columns = Mat::zeros(d, n);
    for i in 0..n {
        x.pack_wide(i..i + 1, columns.col_as_slice_mut(i));
    }
    Ok(columns)
}

/// U S V' of a small matrix.
pub struct Small {
    /// Left singular vectors, rows x p.
    pub left: DMatrix<f64>,
    /// Singular values, descending.
    pub values: Vec<f64>,
    /// Right singular vectors, cols x p.
    pub right: DMatrix<f64>,
}

impl Small {
    /// Values and right vectors.
    #[must_use]
    pub fn right(self) -> Singular {
        Singular { values: self.values, vectors: self.right }
    }
}

/// Thin SVD of a matrix that fits in the cache.
///
/// # Errors
/// [`Error::NoConvergence`] when faer's iteration gives up.
pub fn small_svd(a: &DMatrix<f64>) -> Result<Small> {
    let (rows, cols) = a.shape();
    let p = rows.min(cols);
    memory::check_matrices::<f64>(COPIES, (rows.max(cols), p), "the singular vectors of a factor")?;
    // faer's tolerances are absolute: bring the largest entry near 1 by a power of two.
    let exponent = unit(a.amax());
    let scaled = a * power(-exponent);
    let (mut left, mut right, mut values) = (Mat::zeros(rows, p), Mat::zeros(cols, p), Col::zeros(p));
    let need =
        svd_scratch::<f64>(rows, cols, ComputeSvdVectors::Thin, ComputeSvdVectors::Thin, Par::Seq, Spec::default());
    let outcome = with_scratch(need, |stack| {
        let a = MatRef::from_column_major_slice(scaled.as_slice(), rows, cols);
        let (u, v) = (left.as_mut(), right.as_mut());
        svd(a, values.as_diagonal_mut(), Some(u), Some(v), Par::Seq, stack, Spec::default())
    });
    if outcome.is_err() {
        return Err(Error::NoConvergence { what: "the SVD", detail: format!("a {rows} x {cols} factor") });
    }
    let values = (0..p).map(|j| values[j] * power(exponent)).collect();
    let owned = |m: &Mat<f64>| DMatrix::from_fn(m.nrows(), p, |i, j| m[(i, j)]);
    Ok(Small { left: owned(&left), values, right: owned(&right) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::MatrixView;

    /// Rows of scaled Hadamard columns: singular values known exactly, 8 s_j / 8.
    fn with_values(s: [f64; 4]) -> Vec<f64> {
        let sign = |i: usize, j: usize| if (i & j).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
        // Columns 1, 2, 4, 7 of the 8 x 8 Hadamard matrix are orthogonal to the ones vector: their mean is 0.
        (0..8)
            .flat_map(|i| [1, 2, 4, 7].map(|j| sign(i, j) / 8f64.sqrt()))
            .zip(s.into_iter().cycle())
            .map(|(h, s)| h * s)
            .collect()
    }

    #[test]
    fn tiny_directions_are_seen_from_both_sides() {
        let s = [1.0, 1e-3, 1e-9, 1e-15];
        let data = with_values(s);
        let x = MatrixView::new(&data, 8, 4).unwrap();
        for view in [x, x.transpose()] {
            let mean = vec![0.0; view.cols()];
            let got = singular(&Centered::new(view, &mean, None), &Team::solo()).unwrap();
            for (got, right) in got.values.iter().zip(s) {
                assert!((got - right).abs() <= 20.0 * f64::EPSILON, "{got} {right}");
            }
            let gram = got.vectors.transpose() * &got.vectors;
            assert!((gram - DMatrix::identity(4, 4)).amax() <= 20.0 * f64::EPSILON);
            let few = singular_keeping(&Centered::new(view, &mean, None), 2, &Team::solo()).unwrap();
            assert_eq!(few.values, got.values);
            assert!((few.vectors - got.vectors.columns(0, 2)).amax() <= 20.0 * f64::EPSILON);
        }
    }

    #[test]
    fn any_unit_gives_the_same_digits() {
        for unit in [2f64.powi(-900), 1.0, 2f64.powi(900)] {
            let a = DMatrix::from_fn(5, 3, |i, j| (((i * 5 + j * 3) % 7) as f64 - 3.0) * unit);
            let s = small_svd(&a).unwrap();
            let back =
                &s.left * DMatrix::from_diagonal(&nalgebra::DVector::from_vec(s.values.clone())) * s.right.transpose();
            assert!((back - &a).amax() <= 20.0 * f64::EPSILON * a.amax());
        }
        assert_eq!(small_svd(&DMatrix::zeros(3, 2)).unwrap().values, [0.0, 0.0]);
    }
}
