//! Principal component analysis: choose a road, solve, count, sign, name the parts.

use super::given;
use super::limits::Tolerances;
use super::n_components::Components;
use super::plan::{self, Solver};
use super::roads::{self, Solved};
use crate::covariance::{Moments, near_one};
use crate::error::{Error, Result};
use crate::linalg::{fix_signs, rank};
use crate::matrix::{Element, MatrixView};
use crate::memory;
use crate::power;
use crate::simd::Lane;
use crate::threads::Team;
use nalgebra::DMatrix;

/// What to compute and how.
#[derive(Clone, Debug)]
pub struct PcaOptions {
    /// How many components.
    pub components: Components,
    /// Which road.
    pub solver: Solver,
    /// Relative residual of the iterative road; 0 = that of `tolerances`.
    pub tol: f64,
    /// The residuals that `tol` = 0 stands for.
    pub tolerances: Tolerances,
    /// Rounds of four products after which the iterative road gives up.
    pub rounds: Option<usize>,
    /// Power iterations of the randomised road; `None` = 7 for few components, else 4.
    pub iterations: Option<usize>,
    /// Extra directions of the randomised road.
    pub oversamples: usize,
    /// Seed of the random starts.
    pub seed: u64,
    /// Subtract the column means (off: latent semantic analysis).
    pub center: bool,
    /// Divide by the standard deviations (correlation PCA).
    pub scale: bool,
    /// Variances divide by the sum of the weights minus this.
    pub ddof: u32,
}

impl Default for PcaOptions {
    fn default() -> Self {
        Self {
            components: Components::All,
            solver: Solver::Auto,
            tol: 0.0,
            tolerances: Tolerances::ROWS,
            rounds: None,
            iterations: None,
            oversamples: 10,
            seed: 0,
            center: true,
            scale: false,
            ddof: 1,
        }
    }
}

/// A fitted model; see `docs/math.md` for every attribute's formula.
#[derive(Clone, Debug)]
pub struct Pca {
    /// d x k, one component a column, signs fixed.
    pub components: DMatrix<f64>,
    /// lambda_j = sigma_j^2 / (weight - ddof)
    pub explained_variance: Vec<f64>,
    /// lambda_j / total variance (0 where there is none)
    pub explained_variance_ratio: Vec<f64>,
    /// sigma_j
    pub singular_values: Vec<f64>,
    /// sigma_j / sqrt(weight - ddof): the standard deviations of the scores, in range where their squares are not.
    pub deviations: Vec<f64>,
    /// Column means; 0 without centring.
    pub mean: Vec<f64>,
    /// Column standard deviations where the data were divided by them, 0 for constant columns.
    pub scale: Option<Vec<f64>>,
    /// (total - kept) / (d - k); of scaled data d counts the columns that vary.
    pub noise_variance: f64,
    /// Its root, in range where the variance is not.
    pub noise_deviation: f64,
    /// Sum of all variances.
    pub total_variance: f64,
    /// Directions above the rounding of the largest; of those computed, where not all were.
    pub rank: usize,
    /// The road taken.
    pub solver: Solver,
    /// Sum of the weights (number of rows without).
    pub weight: f64,
}

/// Numbers a column that every road keeps beside the components: sums, squares, mean, exponent, and copies of them.
const A_COLUMN: usize = 8;

impl Pca {
    /// Fits n x d data, rows weighted by frequencies where given.
    ///
    /// # Errors
    /// [`Error::Value`], [`Error::Shape`], [`Error::TooFew`] for options that do not fit the data,
    /// [`Error::NotFinite`], [`Error::NoConvergence`], [`Error::Interrupted`].
    pub fn fit<T: Lane>(x: MatrixView<T>, weights: Option<&[f64]>, options: &PcaOptions, team: &Team) -> Result<Self> {
        let rows = weights.map_or(x.rows(), |w| w.iter().filter(|&&w| w > 0.0).count());
        options.components.check(rows, x.cols())?;
        let k = options.components.known(rows.min(x.cols())).unwrap_or(1);
        memory::check_matrices::<f64>(1, (k.saturating_add(A_COLUMN), x.cols()), "the components")?;
        let solver = match options.solver {
            Solver::Auto => plan::choose(rows, x.cols(), options.components),
            asked => asked,
        };
        let solved = roads::solve(x, weights, solver, options, team)?;
        Self::assemble(solved, options, T::EPSILON)
    }

    /// The model of the rows that `moments` has seen.
    ///
    /// # Errors
    /// Those of [`Pca::fit`].
    pub fn from_moments(moments: &Moments, options: &PcaOptions, team: &Team) -> Result<Self> {
        let rows = usize::try_from(moments.count()).unwrap_or(usize::MAX);
        options.components.check(rows, moments.dim())?;
        let eps = moments.epsilon().max(f64::EPSILON);
        if !options.center {
            memory::check_matrices::<f64>(1, (moments.dim().div_ceil(2), moments.dim()), "the moments about 0")?;
        }
        let about_zero = (!options.center).then(|| moments.about_zero());
        let moments = about_zero.as_ref().unwrap_or(moments);
        let mut solved = without_noise(roads::solve_moments::<f64>(moments, rows, options, team)?, eps);
        solved.pairs = solved.pairs.truncated(rows.min(moments.dim())); // of fewer rows than columns, all that can live
        Self::assemble(solved, options, eps)
    }

    /// The model with a given covariance, whose divisor was `samples - ddof`. All its variance counts, also where that
    /// is of more directions than `samples` rows have.
    ///
    /// # Errors
    /// [`Error::Value`] for a matrix with a negative eigenvalue beyond the rounding of its type, else those of
    /// [`Pca::fit`].
    pub fn from_covariance<T: Element>(
        covariance: MatrixView<T>,
        mean: Vec<f64>,
        samples: usize,
        options: &PcaOptions,
        team: &Team,
    ) -> Result<Self> {
        options.components.check(samples, mean.len())?;
        if let Some(bad) = mean.iter().find(|m| !m.is_finite()) {
            return Err(Error::NotFinite { what: "mean", nan: bad.is_nan() });
        }
        let solved = without_noise(given::solve_covariance(covariance, mean, samples, options, team)?, T::EPSILON);
        Self::assemble(solved, options, T::EPSILON)
    }

    fn assemble(solved: Solved, options: &PcaOptions, eps: f64) -> Result<Self> {
        let Solved { mut pairs, total, rest, complete, exponent, mean, scale, weight, rows, solver, .. } = solved;
        let d = mean.len();
        let p = rows.min(d);
        let divisor = weight - f64::from(options.ddof);
        if divisor <= 0.0 {
            return Err(Error::TooFew { what: "X", found: rows, wanted: options.ddof as usize + 1 });
        }
        // Variances come in units of 4^unit: the divisor may lie anywhere in the range of numbers.
        let (divisor, level) = near_one(divisor);
        let unit = exponent - level;
        let rank = rank(&pairs.values, p, eps);
        pairs.values[rank..].fill(0.0);
        let variances: Vec<f64> = pairs.values.iter().map(|s| s * s / divisor).collect();
        // Where all are known their own sum is the total, so that the shares sum to 1.
        let total = if complete { variances.iter().rev().sum() } else { total / divisor };
        let open = &variances[..p.min(variances.len())];
        if complete {
            options.components.check_share(open, total)?;
        }
        let k = options.components.choose(open, total, weight)?;
        let rest = if complete { Some(0.0) } else { rest.map(|rest| rest / divisor) };
        let spread = Spread { total, variances: &variances, rest, rank };
        let varying = scale.as_ref().map_or(d, |scale| scale.iter().filter(|&&s| s > 0.0).count());
        let noise = spread.noise(k, varying, p as f64 * eps);
        pairs = pairs.truncated(k);
        fix_signs(&mut pairs.vectors, eps);
        let square = |v: f64| power::scale(v, 2 * unit);
        Ok(Self {
            components: pairs.vectors,
            explained_variance: variances[..k].iter().map(|&v| square(v)).collect(),
            explained_variance_ratio: variances[..k].iter().map(|&v| spread.ratio(v)).collect(),
            singular_values: pairs.values.iter().map(|&s| power::scale(s, exponent)).collect(),
            deviations: pairs.values.iter().map(|&s| power::scale(s / divisor.sqrt(), unit)).collect(),
            mean,
            scale,
            noise_variance: square(noise),
            noise_deviation: power::scale(noise.sqrt(), unit),
            total_variance: square(spread.total),
            rank,
            solver,
            weight,
        })
    }
}

/// Without rows nothing can be measured again: an eigenvalue sigma_j^2 <= d eps sigma_1^2 of a squared matrix is
/// rounding, and its direction dead, and so is all that such a share of the total is left for. `eps` is that of the
/// coarsest rows.
fn without_noise(mut solved: Solved, eps: f64) -> Solved {
    let share = solved.mean.len() as f64 * eps;
    let living = rank(&solved.pairs.values, 1, share.sqrt());
    solved.pairs.values[living..].fill(0.0);
    let kept: f64 = solved.pairs.values.iter().map(|sigma| sigma * sigma).sum();
    if solved.total - kept <= share * solved.total {
        solved.rest = Some(0.0);
    }
    solved
}

/// All variances that are known, and their total.
struct Spread<'a> {
    total: f64,
    variances: &'a [f64],
    /// The sum of the others, where it is known: 0 where there are none.
    rest: Option<f64>,
    rank: usize,
}

impl Spread<'_> {
    /// Share of the total; 0 where the data do not vary.
    fn ratio(&self, variance: f64) -> f64 {
        if self.total > 0.0 { (variance / self.total).min(1.0) } else { 0.0 }
    }

    /// Mean variance of the d - k directions left out, of d that data can vary in; 0 where none of them lives. From the
    /// discarded values themselves where the others are known; else from the total, of which a share `slack` is
    /// rounding.
    fn noise(&self, k: usize, d: usize, slack: f64) -> f64 {
        if k >= d || (self.rest == Some(0.0) && k >= self.rank) {
            return 0.0;
        }
        let left = if let Some(rest) = self.rest {
            rest + self.variances[k..].iter().rev().sum::<f64>() // the dead among them are exactly 0
        } else {
            let left = self.total - self.variances[..k].iter().sum::<f64>();
            if left > slack * self.total { left } else { 0.0 }
        };
        left / (d - k) as f64
    }
}
