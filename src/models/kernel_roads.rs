//! The roads to the eigenpairs of a centred kernel matrix: all of them densely, or the leading ones by products with
//! the matrix as it is, the centring being applied to the vectors.

use super::kernel_pca::{KernelPcaOptions, KernelSolver};
use super::kernel_store::{Shape, Store};
use super::limits::{Tolerances, given_up, products};
use super::n_components::Components;
use crate::error::{Error, Result};
use crate::hsic::Sample;
use crate::kernel::{Kernel, MATRIX};
use crate::linalg::{
    CenteredKernel, Eigen, LanczosOptions, RandomizedOptions, components_reaching, eigh_leading, lanczos, leading_pays,
    randomized,
};
use crate::memory;
use crate::simd::Lane;
use crate::threads::Team;

/// Eigenvalues, descending, with their vectors as columns.
pub(super) type Pairs = Eigen;

/// Eigenpairs of K~ and what a model needs beside them.
pub(super) struct Solved {
    pub(super) pairs: Pairs,
    /// Trace of K~.
    pub(super) total: f64,
    /// Eigenvalues up to here are rounding.
    pub(super) noise: f64,
    pub(super) means: Vec<f64>,
    pub(super) grand: f64,
    pub(super) kernel: Option<Kernel>,
    pub(super) solver: KernelSolver,
}

/// Matrices of the size of K that the dense road takes beside it.
const DENSE_SCRATCH: u128 = 5;
/// A mean of K this many times its spread is subtracted before any product: H removes it anyway, and its rounding would
/// hide the spread.
const OFFSET: f64 = 16.0;
/// Pairs that a share of the variance is first looked for among; doubled until they suffice.
const FIRST_PAIRS: usize = 8;
/// Random vectors of the randomised road beyond the pairs asked for.
const OVERSAMPLES: usize = 10;
/// The rounding of n x n entries of size m, each wrong by eps m, has a norm of about this many sqrt(n) eps m.
const ROUNDING: f64 = 4.0;

/// About the norm of the rounding of a kernel matrix whose entries, of `size` at most, are functions of sums of
/// `terms`.
pub(super) fn rounding(n: usize, terms: usize, eps: f64, size: f64) -> f64 {
    (ROUNDING + (terms as f64).sqrt()) * (n as f64).sqrt() * eps * size
}

/// Whether the dense road is taken from the start.
fn is_dense(n: usize, options: &KernelPcaOptions) -> bool {
    match options.solver {
        KernelSolver::Dense => true,
        KernelSolver::Auto => !leading_pays(options.components.known(n).unwrap_or(FIRST_PAIRS), n),
        _ => false,
    }
}

/// What is stored of the kernel matrix; refused where the machine has no room for what the solution takes.
pub(super) fn stored<T: Lane>(sample: &Sample<T>, options: &KernelPcaOptions) -> Result<Shape> {
    let n = sample.len();
    let dense = is_dense(n, options);
    let shape = Shape::of(sample, dense);
    let scratch = if dense { DENSE_SCRATCH * (n as u128).pow(2) } else { 0 };
    memory::check_bytes((shape.len() as u128 + scratch) * size_of::<f64>() as u128, MATRIX)?;
    Ok(shape)
}

/// `buffer` holds as many values as the [`stored`] shape has, and whatever it is left with afterwards.
pub(super) fn solve<T: Lane>(
    sample: &Sample<T>,
    options: &KernelPcaOptions,
    buffer: &mut [f64],
    team: &Team,
) -> Result<Solved> {
    let n = sample.len();
    let dense = is_dense(n, options);
    let (terms, eps) = match *sample {
        Sample::Rows(x, _) => (x.cols(), f64::EPSILON),
        Sample::Precomputed(_) => (1, T::EPSILON),
    };
    let shape = Shape::of(sample, dense);
    let (mut matrix, means, kernel) = Store::fill(sample, shape, buffer, team).map_err(beyond_range)?;
    let grand = means.grand();
    let diagonal = matrix.diagonal()?;
    let total: f64 = diagonal.iter().map(|kii| kii - grand).sum();
    let size = diagonal.iter().fold(0.0f64, |m, kii| m.max(kii.abs()));
    let rounding = rounding(n, terms, eps, size);
    if grand.abs() * n as f64 > OFFSET * total.abs() {
        matrix.shift(grand, team);
    }
    let mut problem = Problem { matrix, n, total, options, tol: Tolerances::KERNEL.of::<T>(options.tol) };
    let (pairs, solver) = problem.solve(dense, options.components.known(n), team)?;
    let largest = pairs.values.first().copied().unwrap_or(0.0).max(0.0);
    let noise = rounding + n as f64 * f64::EPSILON * largest;
    Ok(Solved { pairs, total, noise, means: means.columns(), grand, kernel, solver })
}

fn beyond_range(error: Error) -> Error {
    match error {
        Error::NotFinite { what, .. } if what == MATRIX => {
            let found = "values beyond the range of float64";
            Error::value("kernel", found, "finite on these data: scale them, or lower gamma or degree")
        }
        other => other,
    }
}

/// The uncentred matrix (or one that differs by a constant) and what is asked of it.
struct Problem<'a> {
    matrix: Store<'a>,
    n: usize,
    total: f64,
    options: &'a KernelPcaOptions,
    tol: f64,
}

impl Problem<'_> {
    /// The pairs asked for and the road that found them.
    fn solve(&mut self, dense: bool, known: Option<usize>, team: &Team) -> Result<(Pairs, KernelSolver)> {
        if !dense {
            let solver = match self.options.solver {
                KernelSolver::Randomized => KernelSolver::Randomized,
                _ => KernelSolver::Lanczos,
            };
            if let Some(pairs) = self.iterate(solver, known, team)? {
                return Ok((pairs, solver));
            }
        }
        let centred = self.matrix.centred(team)?;
        let pairs = eigh_leading(&centred, known.unwrap_or(self.n), team)?;
        let k = known.unwrap_or_else(|| self.reached(&pairs).unwrap_or(self.n));
        Ok((truncated(pairs, k), KernelSolver::Dense))
    }

    /// The leading pairs by products; `None` where the dense road is the shorter one.
    fn iterate(&self, solver: KernelSolver, known: Option<usize>, team: &Team) -> Result<Option<Pairs>> {
        if let Some(k) = known {
            return self.leading(solver, k, team);
        }
        let mut k = FIRST_PAIRS.min(self.n);
        loop {
            let Some(pairs) = self.leading(solver, k, team)? else { return Ok(None) };
            if let Some(reached) = self.reached(&pairs) {
                return Ok(Some(truncated(pairs, reached)));
            }
            k *= 2;
            let pays = leading_pays(k, self.n) || self.options.solver != KernelSolver::Auto;
            if !pays || 2 * k > self.n {
                return Ok(None);
            }
        }
    }

    fn leading(&self, solver: KernelSolver, k: usize, team: &Team) -> Result<Option<Pairs>> {
        let (stored, options) = (self.matrix.operator()?, self.options);
        let operator = CenteredKernel(&*stored);
        if solver == KernelSolver::Randomized {
            let iterations = options.iterations.unwrap_or_else(|| RandomizedOptions::default_iterations(k, self.n));
            let asked = RandomizedOptions { oversamples: OVERSAMPLES, iterations, seed: options.seed };
            return randomized(&operator, k, &asked, team).map(Some);
        }
        // Beyond n / 2 products the dense road is cheaper; a user who asked for this road gets it whatever it costs.
        let budget = if options.solver == KernelSolver::Auto { Some(self.n / 2) } else { None };
        let max_products = products(options.rounds).or(budget);
        let asked = LanczosOptions { tol: self.tol, seed: options.seed, max_products };
        let found = lanczos(&operator, k, &asked, team)?;
        if found.is_none() {
            given_up(options.rounds, self.n)?;
        }
        Ok(found)
    }

    /// The number of pairs that reach the share asked for.
    fn reached(&self, pairs: &Pairs) -> Option<usize> {
        let Components::Ratio(share) = self.options.components else { return Some(pairs.values.len()) };
        components_reaching(share, &pairs.values, self.total.max(0.0))
    }
}

fn truncated(pairs: Pairs, k: usize) -> Pairs {
    let Eigen { mut values, vectors } = pairs;
    values.truncate(k);
    let k = values.len();
    Eigen { values, vectors: vectors.resize_horizontally(k, 0.0) }
}
