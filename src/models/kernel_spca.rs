//! Kernel supervised PCA in its dual form: Psi = Phi(X)'HD is implicit, Psi'Psi = D'H K_x H D = W Sigma^2 W', and the
//! directions are Phi(X)'A with A = H D W Sigma^-1.
//!
//! Barshan et al. (2011), section 4. The dual form never meets the singular problem K_x H K_y H K_x T = K_x T Lambda.

use super::cross::{Cross, no_direction};
use super::factor::Factor;
use super::kernel_map::NewRows;
use super::kernel_roads::rounding;
use super::own_unit::OwnUnit;
use super::projection::LinearMap;
use super::spca::kept;
use crate::error::{Error, Result};
use crate::kernel::{Extent, Gamma, Kernel, MATRIX, center_kernel, kernel_matrix};
use crate::linalg::{Eigen, RESIDUAL, check_symmetric, eigh, fix_signs, leading, turn_from_constant};
use crate::matrix::{MatrixView, room};
use crate::memory;
use crate::power;
use crate::simd::Lane;
use crate::threads::Team;
use nalgebra::DMatrix;

/// A fitted model.
#[derive(Clone, Debug)]
pub struct KernelSpca {
    /// A, n x k: scores are A'(k_t - K1/n). Signs fixed.
    pub dual: DMatrix<f64>,
    /// Sigma^2
    pub eigenvalues: Vec<f64>,
    /// sum of the kept sigma_j^2 / (n - 1)^2
    pub hsic: f64,
    /// K1/n; of a linear kernel of data far from 1, in their own unit
    pub means: Vec<f64>,
    /// Directions with sigma_j^2 > n eps sigma_1^2 + |HD|^2 times the rounding of K, eps of the kernel matrix's dtype.
    pub rank: usize,
}

impl KernelSpca {
    /// From the kernel matrix of the samples, symmetric n x n, whose entries are functions of sums of `terms`; without
    /// a factor K_y = I, which is kernel PCA.
    ///
    /// Beside K it holds n x m values: for classes K H D is K's class sums. Where K_y = I it holds one centred copy and
    /// the eigenvectors. Directions of a negative sigma_j^2 (an indefinite kernel) are never among those kept.
    ///
    /// # Errors
    /// Those of [`Spca::fit`](super::Spca::fit).
    pub fn fit<T: Lane>(
        k: MatrixView<T>,
        terms: usize,
        factor: Option<&Factor>,
        components: Option<usize>,
        team: &Team,
    ) -> Result<Self> {
        let (model, target) = Self::in_units(k, terms, factor, components, team)?;
        model.in_true_units(0, target)
    }

    /// With Sigma^2 and what is made of it in units of 2^(2 exponent), the exponent that comes with it: that of the
    /// target.
    fn in_units<T: Lane>(
        k: MatrixView<T>,
        terms: usize,
        factor: Option<&Factor>,
        components: Option<usize>,
        team: &Team,
    ) -> Result<(Self, i32)> {
        let noise =
            rounding(k.rows(), terms, T::EPSILON, (0..k.rows()).fold(0.0, |most: f64, i| most.max(k.at(i, i).abs())));
        let Some(factor) = factor else { return Ok((Self::unsupervised(k, noise, components, team)?, 0)) };
        let Cross { psi, exponent, mean } = Cross::of(k, factor, "kernel matrix", team)?;
        let m = psi.ncols();
        memory::check_matrices::<f64>(2, (m, m), "the products of the target's columns")?;
        let mut inner = factor.centred_transpose_times(&psi);
        inner = (&inner + inner.transpose()) * 0.5;
        let pairs = eigh(&inner, team)?;
        let floor = floor::<T>(&pairs, mean.len(), noise * factor.squared_norm());
        Ok((Self::assemble::<T>(pairs, floor, |w| factor.centred_times(w), mean, components)?, exponent))
    }

    /// From rows and a kernel, whose matrix is the one n x n buffer; and the kernel as the data have settled it. The
    /// linear kernel is taken about the mean, which changes no direction and costs no digits.
    ///
    /// # Errors
    /// Those of [`KernelSpca::fit`].
    pub fn of_rows<T: Lane>(
        x: MatrixView<T>,
        kernel: &Kernel<Gamma>,
        factor: Option<&Factor>,
        components: Option<usize>,
        team: &Team,
    ) -> Result<(Self, Kernel)> {
        let n = x.rows();
        memory::check::<T>(n.saturating_mul(n), MATRIX)?;
        let extent = Extent::of(x, "X")?;
        let kernel = kernel.resolve_within(x, &extent, team)?;
        let fitted = |x: MatrixView<T>| {
            let matrix = kernel_matrix(x, None, &about_mean(kernel), team)?;
            Self::in_units(MatrixView::new(&matrix, n, n)?, x.cols(), factor, components, team)
        };
        let (model, rows, target) = if let Some(own) = OwnUnit::of(&kernel, &extent) {
            let (model, target) = fitted(MatrixView::new(&own.rows(x)?, n, x.cols())?)?;
            (model, own.exponent, target)
        } else {
            let (model, target) = fitted(x)?;
            (model, 0, target)
        };
        Ok((model.in_true_units(rows, target)?, kernel))
    }

    /// From those of the rows and of the target, all but the means. At once: where one alone would overflow, both may
    /// not.
    fn in_true_units(mut self, rows: i32, target: i32) -> Result<Self> {
        power::scale_all(self.dual.as_mut_slice(), -rows);
        if !self.dual.iter().all(|a| a.is_finite()) {
            let found = "rows in a unit in which the dual coefficients leave the range of float64";
            return Err(Error::value("X", found, "in another unit"));
        }
        power::scale_all(&mut self.eigenvalues, 2 * (rows + target));
        Ok(Self { hsic: power::scale(self.hsic, 2 * (rows + target)), ..self })
    }

    /// From a kernel matrix that somebody else has computed.
    ///
    /// # Errors
    /// [`Error::Value`] when it is not square or not symmetric to rounding, else those of [`KernelSpca::fit`].
    pub fn of_matrix<T: Lane>(
        k: MatrixView<T>,
        factor: Option<&Factor>,
        components: Option<usize>,
        team: &Team,
    ) -> Result<Self> {
        check_symmetric(k, "X")?;
        Self::fit(k, 1, factor, components, team)
    }

    fn unsupervised<T: Lane>(k: MatrixView<T>, noise: f64, components: Option<usize>, team: &Team) -> Result<Self> {
        let n = k.rows();
        if n < 2 {
            return Err(Error::TooFew { what: "X", found: n, wanted: 2 });
        }
        memory::check::<f64>(n.saturating_mul(2 * n), "the centred kernel matrix and its eigenvectors")?;
        let mut centred = DMatrix::from_fn(n, n, |i, j| k.at(i, j));
        let means = center_kernel(centred.as_mut_slice(), n, team)?;
        let mean = means.columns();
        let mut pairs = match components {
            Some(k) if k < n => leading((&centred).try_into()?, k, RESIDUAL, 0, team)?,
            _ => eigh(&centred, team)?,
        };
        drop(centred);
        let floor = floor::<T>(&pairs, n, noise);
        let rank = living(&pairs, floor);
        let rank = turn_from_constant(&mut pairs.vectors, rank);
        pairs.values.iter_mut().skip(rank).for_each(|value| *value = 0.0);
        Self::assemble::<T>(pairs, floor, DMatrix::clone, mean, components)
    }

    /// Values up to `floor` are rounding. `times`: H D W.
    fn assemble<T: Lane>(
        pairs: Eigen,
        floor: f64,
        times: impl Fn(&DMatrix<f64>) -> DMatrix<f64>,
        means: Vec<f64>,
        components: Option<usize>,
    ) -> Result<Self> {
        let n = means.len();
        let rank = living(&pairs, floor);
        if rank == 0 {
            return Err(no_direction());
        }
        let k = kept(components, rank)?;
        memory::check_matrices::<f64>(2, (n, k), "the dual coefficients")?;
        let mut dual = times(&pairs.vectors.resize_horizontally(k, 0.0));
        for (mut column, value) in dual.column_iter_mut().zip(&pairs.values) {
            column /= value.sqrt();
        }
        fix_signs(&mut dual, T::EPSILON);
        let eigenvalues: Vec<f64> = pairs.values.iter().take(k).copied().collect();
        let degrees = n as f64 - 1.0;
        let hsic = eigenvalues.iter().map(|value| value / degrees / degrees).sum();
        Ok(Self { dual, eigenvalues, hsic, means, rank })
    }
}

/// Up to here values are rounding: that of the eigenproblem of n samples, and what that of K becomes in it.
fn floor<T: Lane>(pairs: &Eigen, n: usize, noise: f64) -> f64 {
    noise + n as f64 * T::EPSILON * pairs.values.first().map_or(0.0, |largest| largest.max(0.0))
}

fn living(pairs: &Eigen, floor: f64) -> usize {
    pairs.values.iter().take_while(|&&value| value > floor).count()
}

/// The same kernel for data about the mean of the fitted rows, where that is a kernel of the same name.
#[must_use]
pub fn about_mean<G>(kernel: Kernel<G>) -> Kernel<G> {
    match kernel {
        Kernel::Linear { .. } => Kernel::Linear { centered: true },
        other => other,
    }
}

/// (m, k) scores of new rows with `training` ones, row-major, written to `out`: A' (k x n) maps their kernel values
/// about `means`, as [`KernelSpca::of_rows`] gave both.
///
/// # Errors
/// [`Error::Shape`] when the map is not one of as many values as there are training rows, else those of
/// [`kernel_matrix_into`](crate::kernel::kernel_matrix_into) and [`LinearMap::project`].
pub fn row_scores<T: Lane, C: Lane>(
    (x, training): (MatrixView<T>, MatrixView<T>),
    kernel: &Kernel<Gamma>,
    (means, dual): (&[f64], MatrixView<C>),
    out: &mut [T],
    team: &Team,
) -> Result<()> {
    let kernel = kernel.resolve(x, "X", team)?;
    let own = match kernel {
        Kernel::Linear { .. } => OwnUnit::of(&kernel, &Extent::of(training, "X_fit_")?),
        _ => None, // and no more of the training rows is read than their kernel values need
    };
    let Some(own) = own else {
        return scores(&NewRows::Rows(x, training, &kernel), &LinearMap::new(means, dual, None, None)?, out, team);
    };
    let (k, d) = (dual.rows(), training.cols());
    let (new, old) = (own.rows(x)?, own.rows(training)?);
    let (x, training) = (MatrixView::new(&new, x.rows(), d)?, MatrixView::new(&old, training.rows(), d)?);
    let mut lines = room::<f64>(k.saturating_mul(dual.cols()), "a copy of the dual coefficients")?;
    dual.each_row(|row| lines.extend(row.iter().map(|&a| own.out_of(a.into()))));
    let map = LinearMap::new(means, MatrixView::new(&lines, k, dual.cols())?, None, None)?;
    scores(&NewRows::Rows(x, training, &kernel), &map, out, team)?;
    for z in out.iter_mut() {
        *z = T::of(own.out_of((*z).into()));
    }
    Ok(())
}

fn scores<T: Lane, C: Lane>(rows: &NewRows<T>, map: &LinearMap<C>, out: &mut [T], team: &Team) -> Result<()> {
    rows.fits(map.d(), "X_fit_")?;
    let w = map.ready(rows.len());
    rows.bands("X_fit_", (out, map.k()), team, |values, out, team| map.project_by(&w, values, out, team))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{Spca, SpcaOptions, SpcaSolver, Target};

    const N: usize = 20;

    fn data() -> Vec<f64> {
        (0..N * 3).map(|i| ((i * i * 7 + 3 * i) % 41) as f64 / 8.0).collect()
    }

    fn classes() -> Factor {
        let labels: Vec<f64> = (0..N).map(|i| (i * i % 5 % 3) as f64).collect();
        Factor::of(&Target::Classes(MatrixView::new(&labels, N, 1).unwrap()), &Team::solo()).unwrap()
    }

    #[test]
    fn a_linear_kernel_is_spca() {
        let data = data();
        let x = MatrixView::new(&data, N, 3).unwrap();
        let kernel = Kernel::Linear { centered: true };
        let k = kernel_matrix(x, None, &kernel, &Team::solo()).unwrap();
        let k = MatrixView::new(&k, N, N).unwrap();
        for factor in [Some(classes()), None] {
            let ours = KernelSpca::fit(k, 3, factor.as_ref(), None, &Team::solo()).unwrap();
            let options = SpcaOptions { components: None, center: true, solver: SpcaSolver::Auto };
            let plain = Spca::fit(x, factor.as_ref(), &options, &Team::solo()).unwrap();
            assert_eq!(ours.rank, plain.rank);
            assert!((ours.hsic - plain.hsic).abs() < 1e-12 * plain.hsic);
            let lines: Vec<f64> = ours.dual.as_slice().to_vec();
            let map = (&ours.means[..], MatrixView::new(&lines, ours.rank, N).unwrap());
            let mut scores = vec![0.0; N * ours.rank];
            row_scores((x, x), &Kernel::Linear { centered: true }, map, &mut scores, &Team::solo()).unwrap();
            for i in 0..N {
                for j in 0..ours.rank {
                    let right: f64 = (0..3).map(|c| (x.at(i, c) - plain.mean[c]) * plain.components[(c, j)]).sum();
                    assert!((scores[i * ours.rank + j].abs() - right.abs()).abs() < 1e-11);
                }
            }
        }
    }

    #[test]
    fn directions_have_length_one_in_feature_space() {
        let data = data();
        let x = MatrixView::new(&data, N, 3).unwrap();
        let kernel = Kernel::Rbf { gamma: Gamma::Median }.resolve(x, "X", &Team::solo()).unwrap();
        let k = kernel_matrix(x, None, &kernel, &Team::solo()).unwrap();
        let model =
            KernelSpca::fit(MatrixView::new(&k, N, N).unwrap(), 3, Some(&classes()), None, &Team::solo()).unwrap();
        let k = DMatrix::from_vec(N, N, k);
        let gram = model.dual.transpose() * &k * &model.dual;
        assert!((gram - DMatrix::identity(model.rank, model.rank)).amax() < 1e-12);
        assert!(model.dual.row_sum().amax() < 1e-13);
    }
}
