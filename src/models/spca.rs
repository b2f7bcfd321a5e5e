//! Supervised PCA: the directions along which the data depend most on a target, in the sense of HSIC.
//!
//! Barshan, Ghodsi, Azimifar, Zolghadri Jahromi (2011): max tr(U'X'H K_y H X U) over U'U = I. With K_y = D D' and
//! Psi = X'HD the answer is the left singular vectors of Psi: nothing n x n is formed.

use super::cross::{Cross, no_direction};
use super::factor::Factor;
use super::n_components::Components;
use super::pca::{Pca, PcaOptions};
use super::plan::Solver;
use crate::error::{Error, Result};
use crate::linalg::{Qr, Singular, eigh, fix_signs, product, product_transposed, rank, small_svd, transposed_product};
use crate::matrix::MatrixView;
use crate::memory;
use crate::power::{self, exponent};
use crate::simd::Lane;
use crate::threads::Team;
use nalgebra::DMatrix;

/// The road from Psi (d x m) to its singular pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpcaSolver {
    /// The thin SVD of Psi: nothing is squared.
    Auto,
    /// Eigenvectors of the d x d matrix Psi Psi'.
    Direct,
    /// Eigenvectors of the m x m matrix Psi'Psi = D'H X X'H D.
    Dual,
}

impl SpcaSolver {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Direct, Self::Dual];

    /// The name in the Python interface.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Direct => "direct",
            Self::Dual => "dual",
        }
    }

    /// The solver of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|solver| solver.name() == name)
    }

    /// The road that it takes where there is a target.
    fn road(self) -> SpcaRoad {
        match self {
            Self::Auto => SpcaRoad::Svd,
            Self::Direct => SpcaRoad::Direct,
            Self::Dual => SpcaRoad::Dual,
        }
    }
}

/// The road that a fit took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpcaRoad {
    /// The thin SVD of Psi.
    Svd,
    /// That of [`SpcaSolver::Direct`].
    Direct,
    /// That of [`SpcaSolver::Dual`].
    Dual,
    /// One of PCA's, which it is without a target.
    Principal(Solver),
}

impl SpcaRoad {
    /// The name in the Python interface.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Svd => "svd",
            Self::Direct => "direct",
            Self::Dual => "dual",
            Self::Principal(solver) => solver.name(),
        }
    }
}

/// What to compute and how.
#[derive(Clone, Copy, Debug)]
pub struct SpcaOptions {
    /// How many components; `None`: as many as the rank.
    pub components: Option<usize>,
    /// Keep the mean for scores and reconstruction; off, they are `U'x` and `U U'x`.
    pub center: bool,
    /// Which road.
    pub solver: SpcaSolver,
}

/// A fitted model.
#[derive(Clone, Debug)]
pub struct Spca {
    /// d x k, one component a column, signs fixed.
    pub components: DMatrix<f64>,
    /// sigma_j^2, the eigenvalues of X'H K_y H X
    pub eigenvalues: Vec<f64>,
    /// sum of the kept sigma_j^2 / (n - 1)^2: the HSIC of the scores (linear kernel) with the target.
    pub hsic: f64,
    /// Column means; 0 without `center`.
    pub mean: Vec<f64>,
    /// Directions with sigma_j^2 > max(n, d) eps sigma_1^2.
    pub rank: usize,
    /// The road taken.
    pub solver: SpcaRoad,
}

impl Spca {
    /// Fits n x d data to the target that `factor` stands for; without one K_y = I, which is PCA.
    ///
    /// # Errors
    /// [`Error::Rank`] when more components are asked for than there are, [`Error::Shape`] when the numbers of samples
    /// differ, [`Error::TooFew`] for n < 2, [`Error::Value`] when X does not vary with the target,
    /// [`Error::NotFinite`], [`Error::Memory`], [`Error::NoConvergence`], [`Error::Interrupted`].
    pub fn fit<T: Lane>(x: MatrixView<T>, factor: Option<&Factor>, options: &SpcaOptions, team: &Team) -> Result<Self> {
        let Some(factor) = factor else { return Self::principal(x, options, team) };
        let cross = Cross::of(x, factor, "X", team)?;
        let largest = cross.psi.amax();
        if largest == 0.0 {
            return Err(no_direction());
        }
        let unit = exponent(largest);
        let mut psi = cross.psi;
        power::scale_all(psi.as_mut_slice(), -unit);
        let pairs = pairs(&psi, options.solver, team)?;
        // sigma_j^2 <= max(n, d) eps sigma_1^2, in float64 whatever the data: Psi is.
        let living = rank(&pairs.values, 1, (x.rows().max(x.cols()) as f64 * f64::EPSILON).sqrt());
        Self::assemble(pairs, unit + cross.exponent, living, cross.mean, x.rows(), options, T::EPSILON)
    }

    /// PCA with its own solvers and its own rank.
    fn principal<T: Lane>(x: MatrixView<T>, options: &SpcaOptions, team: &Team) -> Result<Self> {
        let components = match options.components {
            Some(k) if k <= x.rows().min(x.cols()) => Components::Count(k),
            _ => Components::All,
        };
        let solver = match options.solver {
            SpcaSolver::Auto => Solver::Auto,
            SpcaSolver::Direct => Solver::Covariance,
            SpcaSolver::Dual => Solver::Gram,
        };
        let pca = Pca::fit(x, None, &PcaOptions { components, solver, ..PcaOptions::default() }, team)?;
        let pairs = Singular { values: pca.singular_values, vectors: pca.components };
        let model = Self::assemble(pairs, 0, pca.rank, pca.mean, x.rows(), options, T::EPSILON)?;
        Ok(Self { solver: SpcaRoad::Principal(pca.solver), ..model })
    }

    fn assemble(
        pairs: Singular,
        unit: i32,
        rank: usize,
        mean: Vec<f64>,
        samples: usize,
        options: &SpcaOptions,
        eps: f64,
    ) -> Result<Self> {
        if rank == 0 {
            return Err(no_direction());
        }
        let k = kept(options.components, rank)?;
        let Singular { values, mut vectors } = pairs.truncated(k);
        fix_signs(&mut vectors, eps);
        let degrees = samples as f64 - 1.0;
        let squared = |x: f64| power::scale(x * x, 2 * unit);
        Ok(Self {
            components: vectors,
            eigenvalues: values.iter().map(|&sigma| squared(sigma)).collect(),
            hsic: values.iter().map(|&sigma| squared(sigma / degrees)).sum(),
            mean: if options.center { mean } else { vec![0.0; mean.len()] },
            rank,
            solver: options.solver.road(),
        })
    }
}

/// The number of components, or a refusal that names the rank.
pub(super) fn kept(asked: Option<usize>, rank: usize) -> Result<usize> {
    match asked {
        Some(asked) if asked > rank => Err(Error::Rank { asked, rank }),
        Some(asked) => Ok(asked),
        None => Ok(rank),
    }
}

/// The min(d, m) left singular pairs of Psi, whose largest entry is near 1.
///
/// The squared roads only find directions; how long Psi is along each of them is measured on Psi itself.
fn pairs(psi: &DMatrix<f64>, solver: SpcaSolver, team: &Team) -> Result<Singular> {
    let (d, m) = psi.shape();
    let p = d.min(m);
    match solver {
        SpcaSolver::Auto => left_pairs(psi),
        SpcaSolver::Direct => {
            memory::check::<f64>(d.saturating_mul(d), "the d x d matrix of solver='direct'")?;
            let vectors = eigh(&product_transposed(psi, psi), team)?.vectors.resize_horizontally(p, 0.0);
            let images = transposed_product(psi, &vectors);
            Ok(Singular { values: images.column_iter().map(|image| image.norm()).collect(), vectors }.sorted())
        }
        SpcaSolver::Dual => {
            memory::check::<f64>(m.saturating_mul(m), "the m x m matrix of solver='dual'")?;
            let vectors = eigh(&transposed_product(psi, psi), team)?.vectors.resize_horizontally(p, 0.0);
            left_pairs(&product(psi, &vectors))
        }
    }
}

/// Left singular vectors and values of a (rows x cols): QR of the longer side, SVD of R.
fn left_pairs(a: &DMatrix<f64>) -> Result<Singular> {
    let (rows, cols) = a.shape();
    if rows >= cols {
        let qr = Qr::of(a.as_slice(), rows, cols)?;
        let inner = small_svd(&qr.r())?;
        return Ok(Singular { vectors: qr.q_times(&inner.left), values: inner.values });
    }
    let across = a.transpose();
    Ok(small_svd(&Qr::of(across.as_slice(), cols, rows)?.r())?.right())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Target;

    fn options(components: Option<usize>, solver: SpcaSolver) -> SpcaOptions {
        SpcaOptions { components, center: true, solver }
    }

    fn view(data: &[f64], cols: usize) -> MatrixView<'_, f64> {
        MatrixView::new(data, data.len() / cols, cols).unwrap()
    }

    fn factor(target: &Target<f64>) -> Factor {
        Factor::of(target, &Team::solo()).unwrap()
    }

    #[test]
    fn every_solver_is_found_by_its_name() {
        assert_eq!(SpcaSolver::ALL.map(|solver| SpcaSolver::from_name(solver.name())), SpcaSolver::ALL.map(Some));
        assert_eq!(SpcaSolver::from_name("svd"), None);
    }

    #[test]
    fn two_classes_have_one_direction_between_their_means() {
        // Means (1, 2) and (4, 6): the direction is (3, 4) / 5, and Psi = (-1, 1) 4 2 (3, 4) / 6 ...
        let x = [0.0, 2.0, 2.0, 2.0, 3.0, 6.0, 5.0, 6.0];
        let labels = [0.0, 0.0, 1.0, 1.0];
        let factor = factor(&Target::Classes(view(&labels, 1)));
        for solver in SpcaSolver::ALL {
            let model = Spca::fit(view(&x, 2), Some(&factor), &options(None, solver), &Team::solo()).unwrap();
            assert_eq!((model.rank, model.mean.as_slice()), (1, &[2.5, 4.0][..]));
            assert!((model.components[0] - 0.6).abs() + (model.components[1] - 0.8).abs() < 1e-15);
            // n_c (mu_c - mu) = -+ 2 (1.5, 2), of length 5: sigma^2 = 50
            assert!((model.eigenvalues[0] - 50.0).abs() < 1e-13, "{solver:?}");
            assert!((model.hsic - 50.0 / 9.0).abs() < 1e-14);
            let refusal = Spca::fit(view(&x, 2), Some(&factor), &options(Some(2), solver), &Team::solo());
            assert_eq!(refusal.unwrap_err(), Error::Rank { asked: 2, rank: 1 });
        }
    }

    #[test]
    fn the_roads_agree_on_either_side() {
        for (n, d, m) in [(30, 4, 7), (12, 20, 3), (9, 9, 9)] {
            let x: Vec<f64> = (0..n * d).map(|i| ((i * i * 7 + i) % 101) as f64).collect();
            let y: Vec<f64> = (0..n * m).map(|i| ((i * i * 3 + 5 * i) % 53) as f64).collect();
            let factor = factor(&Target::Linear(view(&y, m)));
            let fit = |solver| Spca::fit(view(&x, d), Some(&factor), &options(None, solver), &Team::solo()).unwrap();
            let right = fit(SpcaSolver::Auto);
            assert!(right.rank >= 3);
            for solver in SpcaSolver::ALL {
                let model = fit(solver);
                assert_eq!(model.rank, right.rank);
                assert!((model.components - &right.components).amax() < 1e-9, "{solver:?}");
                let gap = model.eigenvalues.iter().zip(&right.eigenvalues).map(|(a, b)| (a - b).abs());
                assert!(gap.fold(0.0, f64::max) < 1e-12 * right.eigenvalues[0]);
            }
        }
    }

    #[test]
    fn without_a_target_it_is_pca() {
        let x: Vec<f64> = (0..60).map(|i| f64::from((i * i * 7) % 31)).collect();
        let pca = Pca::fit(view(&x, 3), None, &PcaOptions::default(), &Team::solo()).unwrap();
        let model = Spca::fit(view(&x, 3), None, &options(None, SpcaSolver::Auto), &Team::solo()).unwrap();
        assert_eq!((model.components, model.mean), (pca.components, pca.mean));
        let refusal = Spca::fit(view(&x, 3), None, &options(Some(4), SpcaSolver::Auto), &Team::solo()).unwrap_err();
        assert_eq!(refusal, Error::Rank { asked: 4, rank: 3 });
    }

    #[test]
    fn data_that_do_not_vary_have_no_direction() {
        let labels = [0.0, 1.0, 1.0];
        let factor = factor(&Target::Classes(view(&labels, 1)));
        for x in [[0.1; 3], [1.0; 3]] {
            let refusal = Spca::fit(view(&x, 1), Some(&factor), &options(None, SpcaSolver::Auto), &Team::solo());
            assert!(refusal.unwrap_err().to_string().contains("X must be data that vary with y"));
        }
    }
}
