//! New rows under a fitted kernel PCA: their kernel values with the training rows, block by block, then one linear map.

use super::projection::LinearMap;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, kernel_diagonal, kernel_matrix_into};
use crate::matrix::{MatrixView, zeros};
use crate::simd::Lane;
use crate::threads::Team;

/// Kernel values held at a time: 32 MB of f64, and never fewer rows than share the packing of the training rows.
const VALUES: usize = 1 << 22;
/// Rows of a block at least.
const LEAST_ROWS: usize = 64;

/// z = Lambda^(-1/2) V'(k_t - K1/n), and the squared distance of a row to the subspace in feature space.
#[derive(Clone, Debug)]
pub struct KernelMap<'a> {
    map: LinearMap<'a, f64>,
    means: &'a [f64],
    grand: f64,
}

/// Where kernel values of new rows with the n training rows come from.
#[derive(Clone, Copy, Debug)]
pub enum NewRows<'a, T> {
    /// Rows, the training rows, and the kernel between them.
    Rows(MatrixView<'a, T>, MatrixView<'a, T>, &'a Kernel),
    /// The m x n values themselves.
    Values(MatrixView<'a, T>),
}

impl<T: Lane> NewRows<'_, T> {
    fn len(&self) -> usize {
        match self {
            Self::Rows(x, ..) | Self::Values(x) => x.rows(),
        }
    }

    /// Refuses what has no kernel value for each of the n training rows, called `what`.
    pub(super) fn fits(&self, n: usize, what: &'static str) -> Result<()> {
        match self {
            Self::Rows(_, training, _) if training.rows() != n => {
                Err(Error::Shape { what, found: training.rows(), wanted: n })
            }
            Self::Values(k) if k.cols() != n => Err(Error::Shape { what: "a row of X", found: k.cols(), wanted: n }),
            _ => Ok(()),
        }
    }

    /// Calls `each(first, values, count)` for blocks of rows in order, their kernel values row-major.
    pub(super) fn blocks(
        &self,
        n: usize,
        team: &Team,
        mut each: impl FnMut(usize, &[T], usize) -> Result<()>,
    ) -> Result<()> {
        let size = (VALUES / n.max(1)).max(LEAST_ROWS).min(self.len());
        let mut values = zeros::<T>(size * n, "the kernel matrix of new rows")?;
        for first in (0..self.len()).step_by(size.max(1)) {
            let rows = first..self.len().min(first + size);
            let (count, values) = (rows.len(), &mut values[..rows.len() * n]);
            match *self {
                Self::Rows(x, training, kernel) => {
                    kernel_matrix_into(x.rows_in(rows), Some(training), kernel, values, team)?;
                }
                Self::Values(k) => k.copy_rows(rows, values),
            }
            each(first, values, count)?;
        }
        Ok(())
    }
}

impl<'a> KernelMap<'a> {
    /// `means`: K1/n; `vectors`: V' (k x n); `deviations`: eigenvalues and their roots; `grand`: 1'K1/n^2.
    ///
    /// # Errors
    /// [`Error::Shape`] naming the fitted attribute that does not fit the others.
    pub fn new(means: &'a [f64], grand: f64, vectors: MatrixView<'a, f64>, deviations: [&[f64]; 2]) -> Result<Self> {
        if vectors.cols() != means.len() {
            return Err(Error::Shape { what: "eigenvectors_", found: vectors.cols(), wanted: means.len() });
        }
        if deviations[0].len() != vectors.rows() {
            return Err(Error::Shape { what: "eigenvalues_", found: deviations[0].len(), wanted: vectors.rows() });
        }
        Ok(Self { map: LinearMap::new(means, vectors, None, Some(deviations))?, means, grand })
    }

    /// Number of components.
    #[must_use]
    pub fn k(&self) -> usize {
        self.map.k()
    }

    /// (m, k) scores, row-major.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::NotFinite`], [`Error::Memory`], [`Error::Interrupted`].
    pub fn project<T: Lane>(&self, new: NewRows<T>, out: &mut [T], team: &Team) -> Result<()> {
        let (n, k) = (self.means.len(), self.k());
        new.fits(n, "X_fit_")?;
        new.blocks(n, team, |first, values, count| {
            let out = &mut out[first * k..(first + count) * k];
            self.map.project(MatrixView::new(values, count, n)?, out, team)
        })
    }

    /// k(x, x) - (2/n) 1'k_t + 1'K1/n^2 - |z|^2 of each row, clipped at 0. `diagonal`: k(x, x), where the kernel values
    /// are given.
    ///
    /// # Errors
    /// Those of [`KernelMap::project`]; [`Error::Shape`] for a diagonal of another length.
    pub fn squared_residuals<T: Lane>(
        &self,
        new: NewRows<T>,
        diagonal: Option<&[f64]>,
        team: &Team,
    ) -> Result<Vec<f64>> {
        let (n, k) = (self.means.len(), self.k());
        new.fits(n, "X_fit_")?;
        let own = match (new, diagonal) {
            (NewRows::Rows(x, _, kernel), None) => kernel_diagonal(x, kernel, &[])?,
            (_, diagonal) => diagonal.unwrap_or_default().to_vec(),
        };
        if own.len() != new.len() {
            return Err(Error::Shape { what: "diagonal", found: own.len(), wanted: new.len() });
        }
        let mut squares = Vec::with_capacity(own.len());
        new.blocks(n, team, |first, values, count| {
            let mut scores = vec![T::of(0.0); count * k];
            self.map.project(MatrixView::new(values, count, n)?, &mut scores, team)?;
            for (i, (row, own)) in values.chunks_exact(n).zip(&own[first..]).enumerate() {
                // About the mean of K, so that a constant in the kernel costs no digits.
                let mean = row.iter().map(|&kt| kt.into() - self.grand).sum::<f64>() / n as f64;
                let z = &scores[i * k..(i + 1) * k];
                let length: f64 = z.iter().map(|&z| z.into() * z.into()).sum();
                squares.push(((own - self.grand) - 2.0 * mean - length).max(0.0));
            }
            Ok(())
        })?;
        Ok(squares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_row_by_hand() {
        // Of the training kernel [[4, 1], [1, 2]]: means (2.5, 1.5) and 2, the pair 2, (1, -1) / sqrt 2.
        let h = 0.5f64.sqrt();
        let vector = [h, -h];
        let vectors = MatrixView::new(&vector, 1, 2).unwrap();
        let map = KernelMap::new(&[2.5, 1.5], 2.0, vectors, [&[2.0], &[2f64.sqrt()]]).unwrap();
        let (team, values) = (Team::solo(), [3.0, 5.0]);
        let new = NewRows::Values(MatrixView::new(&values, 1, 2).unwrap());
        let mut z = [0.0f64];
        map.project(new, &mut z, &team).unwrap();
        assert!((z[0] + 1.5).abs() < 1e-15); // (0.5 - 3.5) / sqrt 2 / sqrt 2
        let left = map.squared_residuals(new, Some(&[10.0]), &team).unwrap();
        assert!((left[0] - 1.75).abs() < 1e-14); // 10 - 8 + 2 - 2.25
        assert!(map.squared_residuals(new, None, &team).is_err());
        let narrow = NewRows::Values(MatrixView::new(&values, 2, 1).unwrap());
        assert!(map.project(narrow, &mut z, &team).is_err());
        assert!(KernelMap::new(&[1.0], 1.0, vectors, [&[2.0], &[1.0]]).is_err());
    }
}
