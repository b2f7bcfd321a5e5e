//! Kernel principal component analysis: PCA of the images of the rows in the feature space of a kernel.
//!
//! K~ = H K H, K~ V = V Lambda; training scores V Lambda^(1/2); a new row has z = Lambda^(-1/2) V'(k_t - K1/n), the
//! out-of-sample centring folded into one vector, exact because V'1 = 0. Schoelkopf, Smola, Mueller (1998), "Nonlinear
//! component analysis as a kernel eigenvalue problem", Neural Computation 10(5).

use super::kernel_roads::{self, Pairs};
use super::linear_kernel;
use super::n_components::Components;
use crate::error::{Error, Result};
use crate::hsic::Sample;
use crate::kernel::{Gamma, Kernel, MATRIX};
use crate::linalg::{fix_signs, negative_share, turn_from_constant};
use crate::matrix::{Element, zeros};
use crate::memory;
use crate::simd::Lane;
use crate::threads::Team;
use nalgebra::DMatrix;

/// Which road to the eigenpairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelSolver {
    /// The cheaper of the next two.
    Auto,
    /// All eigenpairs of the centred matrix.
    Dense,
    /// The leading ones to a verified residual, by products with the matrix.
    Lanczos,
    /// The leading ones in a fixed number of products, without an error bound.
    Randomized,
}

impl KernelSolver {
    /// Each of them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Dense, Self::Lanczos, Self::Randomized];

    /// The name in the Python interface.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Dense => "dense",
            Self::Lanczos => "lanczos",
            Self::Randomized => "randomized",
        }
    }

    /// The solver of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|solver| solver.name() == name)
    }
}

/// What to compute and how.
#[derive(Clone, Debug)]
pub struct KernelPcaOptions {
    /// How many components, of n at most; all means all that live.
    pub components: Components,
    /// Which road.
    pub solver: KernelSolver,
    /// Relative residual of the iterative road; 0 = 1e-12 for `f64`, 1e-7 for `f32`.
    pub tol: f64,
    /// Rounds of four products after which the iterative road gives up.
    pub rounds: Option<usize>,
    /// Power iterations of the randomised road; `None` = 7 for few components, else 4.
    pub iterations: Option<usize>,
    /// Seed of the random starts.
    pub seed: u64,
    /// Leave components with eigenvalue 0 out.
    pub living_only: bool,
}

impl Default for KernelPcaOptions {
    fn default() -> Self {
        Self {
            components: Components::All,
            solver: KernelSolver::Auto,
            tol: 0.0,
            rounds: None,
            iterations: None,
            seed: 0,
            living_only: false,
        }
    }
}

/// A fitted model of n rows.
#[derive(Clone, Debug)]
pub struct KernelPca {
    /// lambda_j, descending, 0 for a direction that is dead.
    pub eigenvalues: Vec<f64>,
    /// V, n x k, orthonormal columns, signs fixed.
    pub eigenvectors: DMatrix<f64>,
    /// lambda_j / trace of K~: above 1 where negative eigenvalues lower the trace, NaN where they leave none.
    pub ratio: Vec<f64>,
    /// V Lambda^(1/2), n x k.
    pub scores: DMatrix<f64>,
    /// The kernel with its gamma settled; `None` for a matrix that was given.
    pub kernel: Option<Kernel>,
    /// How new rows are mapped.
    pub map: Mapping,
    /// The road taken.
    pub solver: KernelSolver,
}

/// How new rows are mapped.
#[derive(Clone, Debug)]
pub enum Mapping {
    /// By their kernel values with the training rows: what is subtracted from these (K1/n), and the mean of K.
    Kernel {
        /// K1/n, one for each training row.
        means: Vec<f64>,
        /// 1'K1/n^2
        grand: f64,
    },
    /// As they are: the directions lie in input space.
    Linear {
        /// Column means.
        mean: Vec<f64>,
        /// d x k, zero for a dead direction.
        components: DMatrix<f64>,
    },
}

impl KernelPca {
    /// Fits the rows or the kernel matrix of n samples.
    ///
    /// # Errors
    /// [`Error::Value`] for options that do not fit the data, a matrix that is not symmetric, or a kernel with a
    /// negative eigenvalue among those asked for; [`Error::Memory`] before anything is allocated; [`Error::NotFinite`],
    /// [`Error::NoConvergence`], [`Error::Interrupted`].
    pub fn fit<T: Lane>(sample: &Sample<T>, options: &KernelPcaOptions, team: &Team) -> Result<Self> {
        let mut buffer = zeros::<f64>(Self::buffer_len(sample, options)?, MATRIX)?;
        Self::fit_in(sample, options, &mut buffer, team)
    }

    /// Number of values in the buffer that [`KernelPca::fit_in`] works in: n^2, half of it where products with the
    /// kernel matrix of rows will do, none for the linear kernel.
    ///
    /// # Errors
    /// [`Error::Value`] for options that do not fit the data, [`Error::Memory`] where there is no room.
    pub fn buffer_len<T: Lane>(sample: &Sample<T>, options: &KernelPcaOptions) -> Result<usize> {
        check_components(options.components, sample.len())?;
        if is_linear(sample) {
            return Ok(0);
        }
        Ok(kernel_roads::stored(sample, options)?.len())
    }

    /// [`KernelPca::fit`] with the kernel matrix in memory of the caller's: large pages make it twice as fast.
    ///
    /// # Errors
    /// Those of [`KernelPca::fit`]; [`Error::Shape`] for a buffer of another length.
    pub fn fit_in<T: Lane>(
        sample: &Sample<T>,
        options: &KernelPcaOptions,
        buffer: &mut [f64],
        team: &Team,
    ) -> Result<Self> {
        check_components(options.components, sample.len())?;
        if let Sample::Rows(x, Kernel::<Gamma>::Linear { .. }) = *sample {
            return linear_kernel::fit(x, options, team);
        }
        let solved = kernel_roads::solve(sample, options, buffer, team)?;
        let Pairs { mut values, mut vectors } = solved.pairs;
        refuse_negative::<T>(&values, solved.noise)?;
        let most = values.first().copied().unwrap_or(0.0);
        let rounding = (values.len() as f64 * solved.noise).max(negative_share::<T>() * most);
        refuse_share(options.components, &values, solved.total, rounding)?;
        let living = values.iter().take_while(|&&v| v > solved.noise).count();
        let living = turn_from_constant(&mut vectors, living);
        values[living..].fill(0.0);
        let all = options.components == Components::All;
        if options.living_only || all {
            values.truncate(living);
            vectors = vectors.resize_horizontally(living, 0.0);
        }
        fix_signs(&mut vectors, T::EPSILON);
        // They, and their transpose.
        memory::check_matrices::<f64>(2, vectors.shape(), "the scores of the training rows")?;
        let scores = scaled_columns(&vectors, |j| values[j].sqrt());
        let ratio = values.iter().map(|&v| share_of(v, solved.total, rounding)).collect();
        Ok(Self {
            eigenvalues: values,
            eigenvectors: vectors,
            ratio,
            scores,
            kernel: solved.kernel,
            map: Mapping::Kernel { means: solved.means, grand: solved.grand },
            solver: solved.solver,
        })
    }
}

fn is_linear<T: Lane>(sample: &Sample<T>) -> bool {
    matches!(sample, Sample::Rows(_, Kernel::<Gamma>::Linear { .. }))
}

/// Column j times `factor(j)`.
pub(super) fn scaled_columns(matrix: &DMatrix<f64>, factor: impl Fn(usize) -> f64) -> DMatrix<f64> {
    let mut out = matrix.clone();
    for (j, mut column) in out.column_iter_mut().enumerate() {
        column *= factor(j);
    }
    out
}

fn check_components(components: Components, n: usize) -> Result<()> {
    if n == 0 {
        return Err(Error::TooFew { what: "X", found: 0, wanted: 1 });
    }
    match components {
        Components::Count(k) if k > n => {
            Err(Error::value("n_components", k, format!("at most the number of samples, {n}")))
        }
        Components::Count(_) | Components::All => Ok(()),
        Components::Ratio(t) if t > 0.0 && t < 1.0 => Ok(()),
        _ => Err(Error::value("n_components", format!("{components:?}"), "a number, a share between 0 and 1, or None")),
    }
}

/// The share of an eigenvalue >= 0 in the trace: 1 at most but for an indefinite kernel, of which it may be more than
/// all.
fn share_of(value: f64, total: f64, rounding: f64) -> f64 {
    if value == 0.0 {
        0.0
    } else if value - total <= rounding {
        if total > 0.0 { (value / total).min(1.0) } else { 0.0 }
    } else if total > rounding {
        value / total
    } else {
        f64::NAN
    }
}

/// Refuses a share of the trace that is reached only by more than all of it.
fn refuse_share(components: Components, values: &[f64], total: f64, rounding: f64) -> Result<()> {
    let sum: f64 = values.iter().sum();
    match components {
        Components::Ratio(share) if sum - total > rounding => {
            let found = format!(
                "{share}, a share of the trace, {total:e}, where the eigenvalues to keep sum to {sum:e}: there are negative \
                 eigenvalues, the kernel is indefinite on these samples"
            );
            Err(Error::value("n_components", found, "a number of components"))
        }
        _ => Ok(()),
    }
}

/// Refuses eigenvalues asked for that are negative beyond rounding, with their size and how many are positive.
fn refuse_negative<T: Element>(values: &[f64], noise: f64) -> Result<()> {
    let (most, least) = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(0.0));
    if -least <= noise.max(negative_share::<T>() * most.max(-least)) {
        return Ok(());
    }
    let positive = values.iter().filter(|&&v| v > noise).count();
    let share = if most > noise { format!("{:.5} of the largest", -least / most) } else { "none is positive".into() };
    let found = format!(
        "an eigenvalue of {least:e}. There are significant negative eigenvalues ({share}): the kernel is indefinite on \
         these samples"
    );
    Err(Error::value("n_components", found, format!("at most {positive}, the number of positive eigenvalues")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::MatrixView;

    fn fit(k: &[f64], n: usize, options: &KernelPcaOptions) -> Result<KernelPca> {
        KernelPca::fit(&Sample::Precomputed(MatrixView::new(k, n, n).unwrap()), options, &Team::solo())
    }

    #[test]
    fn two_by_two_by_hand() {
        // Centred: [[1, -1], [-1, 1]].
        for solver in [KernelSolver::Dense, KernelSolver::Lanczos, KernelSolver::Randomized] {
            let model =
                fit(&[4.0, 1.0, 1.0, 2.0], 2, &KernelPcaOptions { solver, ..KernelPcaOptions::default() }).unwrap();
            assert_eq!(model.eigenvalues.len(), 1, "{solver:?}");
            assert!((model.eigenvalues[0] - 2.0).abs() < 1e-14);
            assert!((model.ratio[0] - 1.0).abs() < 1e-14);
            assert!((model.eigenvectors[0] - 0.5f64.sqrt()).abs() < 1e-14);
            assert!((&model.scores - DMatrix::from_column_slice(2, 1, &[1.0, -1.0])).amax() < 1e-14);
        }
    }

    #[test]
    fn negative_eigenvalues_are_refused_where_they_are_asked_for() {
        // Already centred, with eigenvalues 3, 0 and -1.
        let (a, b) = (0.5f64.sqrt(), 6f64.sqrt().recip());
        let (u, v) = ([a, -a, 0.0], [b, b, -2.0 * b]);
        let k: Vec<f64> = (0..9).map(|at| 3.0 * u[at / 3] * u[at % 3] - v[at / 3] * v[at % 3]).collect();
        let sentence = fit(&k, 3, &KernelPcaOptions::default()).unwrap_err().to_string();
        assert!(sentence.contains("at most 1, the number of positive eigenvalues"), "{sentence}");
        assert!(sentence.contains("0.33333 of the largest"), "{sentence}");
        let one = KernelPcaOptions { components: Components::Count(1), ..KernelPcaOptions::default() };
        assert!((fit(&k, 3, &one).unwrap().eigenvalues[0] - 3.0).abs() < 1e-14);
    }

    #[test]
    fn negative_eigenvalues_leave_no_shares() {
        assert_eq!(
            [share_of(3.0, 4.0, 1e-9), share_of(3.0, 3.0 - 1e-12, 1e-9), share_of(0.0, 0.0, 0.0)],
            [0.75, 1.0, 0.0]
        );
        assert_eq!([share_of(3.0, 2.0, 1e-9), share_of(0.0, -2.0, 1e-9)], [1.5, 0.0]);
        assert!(share_of(3.0, -2.0, 1e-9).is_nan() && share_of(3.0, 1e-12, 1e-9).is_nan());
        // Already centred, with eigenvalues 1, 0 and -2.
        let share = KernelPcaOptions { components: Components::Ratio(0.5), ..KernelPcaOptions::default() };
        let (a, b) = (0.5f64.sqrt(), 6f64.sqrt().recip());
        let (u, v) = ([a, -a, 0.0], [b, b, -2.0 * b]);
        let k: Vec<f64> = (0..9).map(|at| u[at / 3] * u[at % 3] - 2.0 * v[at / 3] * v[at % 3]).collect();
        let sentence = fit(&k, 3, &share).unwrap_err().to_string();
        assert!(sentence.starts_with("n_components must be a number of components, got 0.5, a share"), "{sentence}");
    }

    #[test]
    fn requests_beyond_the_samples_are_refused() {
        let many = KernelPcaOptions { components: Components::Count(3), ..KernelPcaOptions::default() };
        let sentence = fit(&[1.0, 0.0, 0.0, 1.0], 2, &many).unwrap_err().to_string();
        assert_eq!(sentence, "n_components must be at most the number of samples, 2, got 3");
        assert!(fit(&[], 0, &many).is_err());
    }
}
