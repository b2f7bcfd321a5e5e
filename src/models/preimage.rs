//! Approximate pre-images: kernel ridge regression from scores back to rows.
//!
//! A point of the feature space has in general no row that maps to it. Bakir, Weston, Schoelkopf (2004), "Learning to
//! find pre-images": learn the way back from the training rows, x - m = B'k(Z, z) with B = (K_Z + alpha I)^-1 (X - m).

use super::kernel_map::NewRows;
use super::projection::LinearMap;
use crate::covariance::Columns;
use crate::error::{Error, Result};
use crate::hsic::Sample;
use crate::kernel::kernel_matrix_wide;
use crate::linalg::{solve_positive, symmetric_into};
use crate::matrix::{MatrixView, zeros};
use crate::memory;
use crate::simd::Lane;
use crate::threads::Team;
use nalgebra::DMatrix;

/// The way back that was learned.
#[derive(Clone, Debug)]
pub struct Preimage {
    /// B, n x d.
    pub dual: DMatrix<f64>,
    /// Mean m of the training rows: regressing about it, a constant added to the rows is a constant in the pre-images.
    pub mean: Vec<f64>,
}

impl Preimage {
    /// From the scores of the training rows (n x k, with the kernel that compares them, or that kernel's matrix) to the
    /// rows (n x d). n^3 / 3 operations, two n x n buffers.
    ///
    /// # Errors
    /// [`Error::Singular`] when K_Z + alpha I is not positive definite, [`Error::Memory`], [`Error::Interrupted`].
    pub fn learn<T: Lane>(x: MatrixView<T>, scores: &Sample<T>, alpha: f64, team: &Team) -> Result<Self> {
        let (n, d) = (x.rows(), x.cols());
        let what = "the kernel matrix of the scores";
        if scores.len() != n {
            return Err(Error::Shape { what, found: scores.len(), wanted: n });
        }
        memory::check_matrices::<f64>(1, (n, d), "the map back to X")?;
        memory::check_bytes(2 * (n as u128).pow(2) * size_of::<f64>() as u128, what)?;
        let mean = Columns::of(x, true, team)?.mean;
        let mut k = zeros::<f64>(n * n, what)?;
        match *scores {
            // Without components every score is the same point, and what it stands for is the mean.
            Sample::Rows(z, _) if z.cols() == 0 => return Ok(Self { dual: DMatrix::zeros(n, d), mean }),
            Sample::Rows(z, kernel) => kernel_matrix_wide(z, &kernel.resolve(z, "X", team)?, &mut k, team)?,
            Sample::Precomputed(given) => symmetric_into(given, what, &mut k)?,
        }
        let mut k = DMatrix::from_vec(n, n, k);
        for i in 0..n {
            k[(i, i)] += alpha;
        }
        team.check()?;
        let mut dual = DMatrix::from_fn(n, d, |i, j| x.at(i, j) - mean[j]);
        solve_positive(&k, &mut dual, "the kernel matrix of the scores plus alpha I", "a larger alpha helps")?;
        Ok(Self { dual, mean })
    }
}

/// Rows (m x d) with the scores that `new` holds beside the training scores: `B'k(Z, z) + m`. `dual`: B' (d x n).
///
/// # Errors
/// [`Error::Shape`], [`Error::NotFinite`], [`Error::Memory`], [`Error::Interrupted`].
pub fn pre_images<T: Lane>(
    new: NewRows<T>,
    (dual, mean): (MatrixView<f64>, &[f64]),
    out: &mut [T],
    team: &Team,
) -> Result<()> {
    let (n, d) = (dual.cols(), dual.rows());
    if mean.len() != d {
        return Err(Error::Shape { what: "dual_coef_", found: d, wanted: mean.len() });
    }
    new.fits(n, "X_transformed_fit_")?;
    if let NewRows::Rows(z, ..) = new
        && z.cols() == 0
    {
        out.chunks_exact_mut(d.max(1)).flat_map(|row| row.iter_mut().zip(mean)).for_each(|(x, m)| *x = T::of(*m));
        return Ok(());
    }
    let nothing = vec![0.0; n];
    let map = LinearMap::new(&nothing, dual, None, None)?;
    let w = map.ready(new.len());
    new.bands("X_transformed_fit_", (out, d), team, |values, out, team| {
        map.project_by(&w, values, out, team)?;
        for row in out.chunks_exact_mut(d.max(1)) {
            row.iter_mut().zip(mean).for_each(|(x, m)| *x = T::of((*x).into() + m));
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    #[test]
    fn two_rows_by_hand() {
        // Scores 1 and -1 of the rows 0 and 4: (K_Z + 1) b = x - 2 has b = (-2/3, 2/3).
        let (x, z, team) = ([0.0, 4.0], [1.0, -1.0], Team::solo());
        let (x, z) = (MatrixView::new(&x, 2, 1).unwrap(), MatrixView::new(&z, 2, 1).unwrap());
        let way = Preimage::learn(x, &Sample::Rows(z, Kernel::Linear { centered: false }), 1.0, &team).unwrap();
        assert_eq!(way.mean, [2.0]);
        assert!((&way.dual - DMatrix::from_column_slice(2, 1, &[-2.0 / 3.0, 2.0 / 3.0])).amax() < 1e-15);
        let kernel = Kernel::Linear { centered: false };
        let dual = MatrixView::new(way.dual.as_slice(), 1, 2).unwrap();
        let mut row = [0.0f64];
        pre_images(NewRows::Rows(z.rows_in(0..1), z, &kernel), (dual, &way.mean), &mut row, &team).unwrap();
        assert!((row[0] - 2.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn a_matrix_that_is_not_positive_is_refused() {
        let (x, k) = ([0.0, 4.0], [1.0, 1.0, 1.0, 1.0]);
        let sample = Sample::Precomputed(MatrixView::new(&k, 2, 2).unwrap());
        let error = Preimage::learn(MatrixView::new(&x, 2, 1).unwrap(), &sample, 0.0, &Team::solo()).unwrap_err();
        let right = "the kernel matrix of the scores plus alpha I is not positive definite: a larger alpha helps";
        assert_eq!(error.to_string(), right);
    }
}
