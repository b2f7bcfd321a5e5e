//! New rows under a fitted kernel PCA: their kernel values with the training rows, block by block, then one linear map.

use super::projection::LinearMap;
use crate::error::{Error, Result};
use crate::kernel::{Cross, Kernel, kernel_diagonal, kernel_matrix_into};
use crate::matrix::{MatrixView, zeros};
use crate::simd::Lane;
use crate::threads::Team;

/// Rows up to which their kernel values are taken at once, with whatever is the shortest road for so few.
const FEW: usize = 24;
/// Values of rows packed at a time (32 MB of f64), and rows at least, for each time packs the training rows as well.
const PACKED: usize = 1 << 22;
const PACKED_ROWS: usize = 512;
/// Pieces of work on them at most, whatever the number of threads: each holds a band of kernel values.
const PIECES: usize = 32;

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
    pub(super) fn len(&self) -> usize {
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

    /// Calls `each` with the kernel values of some rows and with what `out` has for them, `width` numbers a row: band
    /// after band, each while it is near. The training rows are called `what`.
    pub(super) fn bands<O: Send>(
        &self,
        what: &'static str,
        (out, width): (&mut [O], usize),
        team: &Team,
        each: impl Fn(MatrixView<T>, &mut [O], &Team) -> Result<()> + Sync + Send,
    ) -> Result<()> {
        let (x, training, kernel) = match *self {
            Self::Values(k) => return each(k, out, team),
            Self::Rows(x, training, kernel) => (x, training, kernel),
        };
        let (m, together) = (x.rows(), (PACKED / x.cols().max(1)).max(PACKED_ROWS));
        for (first, out) in (0..m).step_by(together).zip(out.chunks_mut((together * width).max(1))) {
            let x = x.rows_in(first..m.min(first + together));
            bands_of((x, training, kernel), (out, width), team, &each).map_err(|error| error.renamed("Y", what))?;
        }
        Ok(())
    }
}

/// [`NewRows::bands`] of rows few enough to be packed at once.
fn bands_of<T: Lane, O: Send>(
    (x, training, kernel): (MatrixView<T>, MatrixView<T>, &Kernel),
    (out, width): (&mut [O], usize),
    team: &Team,
    each: &(impl Fn(MatrixView<T>, &mut [O], &Team) -> Result<()> + Sync + Send),
) -> Result<()> {
    let (m, n) = (x.rows(), training.rows());
    let values = |rows: usize| zeros::<T>(rows * n, "the kernel matrix of new rows");
    if m <= FEW {
        let mut values = values(m)?;
        kernel_matrix_into(x, Some(training), kernel, &mut values, team)?;
        return each(MatrixView::new(&values, m, n)?, out, team);
    }
    let cross = Cross::new(x, training, kernel)?;
    let band = cross.band_rows().min(m);
    let piece = m.div_ceil(band).div_ceil(PIECES) * band;
    let pieces = out.chunks_mut((piece * width).max(1)).enumerate().collect();
    let done = team.map(pieces, |(at, out): (usize, &mut [O])| -> Result<()> {
        let mut values = values(band)?;
        let rows = at * piece..m.min((at + 1) * piece);
        for (first, out) in rows.step_by(band).zip(out.chunks_mut((band * width).max(1))) {
            team.check()?;
            let count = band.min(m - first);
            let values = &mut values[..count * n];
            cross.fill_rows(first..first + count, values)?;
            each(MatrixView::new(values, count, n)?, out, &team.alone())?;
        }
        Ok(())
    });
    done.into_iter().collect()
}

impl<'a> KernelMap<'a> {
    /// `means`: K1/n; `vectors`: V' (k x n), one for each of the eigenvalues; `grand`: 1'K1/n^2.
    ///
    /// # Errors
    /// [`Error::Shape`] naming the fitted attribute that does not fit the others.
    pub fn new(means: &'a [f64], grand: f64, vectors: MatrixView<'a, f64>, eigenvalues: &[f64]) -> Result<Self> {
        if vectors.cols() != means.len() {
            return Err(Error::Shape { what: "eigenvectors_", found: vectors.cols(), wanted: means.len() });
        }
        if eigenvalues.len() != vectors.rows() {
            return Err(Error::Shape { what: "eigenvalues_", found: eigenvalues.len(), wanted: vectors.rows() });
        }
        let roots: Vec<f64> = eigenvalues.iter().map(|value| value.max(0.0).sqrt()).collect();
        Ok(Self { map: LinearMap::new(means, vectors, None, Some([eigenvalues, &roots]))?, means, grand })
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
        new.fits(self.means.len(), "X_fit_")?;
        let w = self.map.ready(new.len());
        new.bands("X_fit_", (out, self.k()), team, |values, out, team| self.map.project_by(&w, values, out, team))
    }

    /// k(x, x) - (2/n) 1'k_t + 1'K1/n^2 - |z|^2 of each row, clipped at 0. `diagonal`: k(x, x), where the kernel values
    /// are given.
    ///
    /// # Errors
    /// Those of [`KernelMap::project`]; [`Error::Shape`] for a diagonal of another length, [`Error::NotFinite`] for one
    /// that is not finite.
    pub fn squared_residuals<T: Lane>(
        &self,
        new: NewRows<T>,
        diagonal: Option<&[f64]>,
        team: &Team,
    ) -> Result<Vec<f64>> {
        let (n, k) = (self.means.len(), self.k());
        new.fits(n, "X_fit_")?;
        let own = match (new, diagonal) {
            (NewRows::Rows(x, _, kernel), None) => kernel_diagonal(x, kernel)?,
            (_, diagonal) => {
                let own = diagonal.unwrap_or_default();
                MatrixView::new(own, 1, own.len())?.check_finite("diagonal")?; // NaN clipped at 0 would be a perfect fit
                own.to_vec()
            }
        };
        if own.len() != new.len() {
            return Err(Error::Shape { what: "diagonal", found: own.len(), wanted: new.len() });
        }
        let (mut squares, w) = (own, self.map.ready(new.len()));
        new.bands("X_fit_", (&mut squares, 1), team, |values, squares, team| {
            let mut scores = vec![T::of(0.0); squares.len() * k];
            self.map.project_by(&w, values, &mut scores, team)?;
            let mut rows = squares.iter_mut().enumerate();
            values.each_row(|row| {
                let Some((i, square)) = rows.next() else { return };
                // About the mean of K, so that a constant in the kernel costs no digits.
                let mean = row.iter().map(|&kt| kt.into() - self.grand).sum::<f64>() / n as f64;
                let z = &scores[i * k..(i + 1) * k];
                let length: f64 = z.iter().map(|&z| z.into() * z.into()).sum();
                *square = ((*square - self.grand) - 2.0 * mean - length).max(0.0);
            });
            Ok(())
        })?;
        Ok(squares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Rate, kernel_matrix};
    use crate::threads::run;

    #[test]
    fn a_new_row_by_hand() {
        // Of the training kernel [[4, 1], [1, 2]]: means (2.5, 1.5) and 2, the pair 2, (1, -1) / sqrt 2.
        let h = 0.5f64.sqrt();
        let vector = [h, -h];
        let vectors = MatrixView::new(&vector, 1, 2).unwrap();
        let map = KernelMap::new(&[2.5, 1.5], 2.0, vectors, &[2.0]).unwrap();
        let (team, values) = (Team::solo(), [3.0, 5.0]);
        let new = NewRows::Values(MatrixView::new(&values, 1, 2).unwrap());
        let mut z = [0.0f64];
        map.project(new, &mut z, &team).unwrap();
        assert!((z[0] + 1.5).abs() < 1e-15); // (0.5 - 3.5) / sqrt 2 / sqrt 2
        let left = map.squared_residuals(new, Some(&[10.0]), &team).unwrap();
        assert!((left[0] - 1.75).abs() < 1e-14); // 10 - 8 + 2 - 2.25
        assert!(map.squared_residuals(new, None, &team).is_err());
        for (bad, nan) in [(f64::NAN, true), (f64::INFINITY, false), (f64::NEG_INFINITY, false)] {
            let found = map.squared_residuals(new, Some(&[bad]), &team);
            assert_eq!(found, Err(Error::NotFinite { what: "diagonal", nan }));
        }
        let narrow = NewRows::Values(MatrixView::new(&values, 2, 1).unwrap());
        assert!(map.project(narrow, &mut z, &team).is_err());
        assert!(KernelMap::new(&[1.0], 1.0, vectors, &[2.0]).is_err());
    }

    #[test]
    fn bands_are_parts_of_the_whole() {
        // Bands of 24 rows, and rows that are not packed at once.
        for (m, n, d, gamma) in [(100, 3000, 2, 2.0), (PACKED_ROWS + 30, 5, PACKED / 500, 1e-5)] {
            let numbers = |len: usize, seed: usize| (0..len).map(move |i| ((i * seed) % 1009) as f64 / 1009.0);
            let (x, y): (Vec<f64>, Vec<f64>) = (numbers(m * d, 7).collect(), numbers(n * d, 11).collect());
            let (x, y) = (MatrixView::new(&x, m, d).unwrap(), MatrixView::new(&y, n, d).unwrap());
            let kernel = Kernel::Rbf { gamma: Rate::new(gamma).unwrap() };
            let whole = kernel_matrix(x, Some(y), &kernel, &Team::solo()).unwrap();
            for threads in [1, 3] {
                let mut copy = vec![f64::NAN; m * n];
                let copied = run(
                    threads,
                    || false,
                    |team| {
                        NewRows::Rows(x, y, &kernel).bands("Y", (&mut copy, n), team, |values, out, _| {
                            values.copy_rows(0..values.rows(), out);
                            Ok(())
                        })
                    },
                );
                copied.unwrap();
                assert!(copy == whole, "{m} {n} {threads} threads");
            }
            let narrower = y.columns_in(0..d - 1);
            let nothing = |_: MatrixView<f64>, _: &mut [f64], _: &Team| Ok(());
            let refused =
                NewRows::Rows(x, narrower, &kernel).bands("Y", (&mut vec![0.0; m], 1), &Team::solo(), nothing);
            assert!(refused.is_err());
        }
    }
}
