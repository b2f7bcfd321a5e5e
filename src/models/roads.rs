//! The roads to the singular pairs of the centred data: covariance, Gram, Lanczos, full, randomised.

use super::dual_pca;
use super::limits::{given_up, products};
use super::n_components::Components;
use super::pca::PcaOptions;
use super::plan::Solver;
use super::prepared::Prepared;
use super::rest::{Rest, measured_rest, rest_of, spanned};
use crate::covariance::{Moments, MomentsOptions, near_one};
use crate::error::{Error, Result};
use crate::linalg::{
    Eigen, LanczosOptions, Operator, RandomizedOptions, ScatterOf, Singular, components_reaching, eigh, eigh_leading,
    first_small, lanczos, leading, leading_pays, randomized, rank, refine, singular, singular_keeping,
};
use crate::matrix::MatrixView;
use crate::memory;
use crate::simd::{Centered, Lane};
use crate::threads::Team;
use nalgebra::DMatrix;

/// Singular pairs of the centred (and scaled) data, in units of 2^exponent, and what a model needs beside them.
pub(super) struct Solved {
    pub(super) pairs: Singular,
    /// Sum of all sigma_j^2, known or not.
    pub(super) total: f64,
    /// Sum of sigma_j^2 beyond `pairs`, where it was measured: where `total` is too coarse to tell it.
    pub(super) rest: Option<f64>,
    /// Whether `pairs` holds every direction that can live.
    pub(super) complete: bool,
    pub(super) exponent: i32,
    pub(super) mean: Vec<f64>,
    /// What rounding the mean to `f64` leaves of it.
    pub(super) mean_rest: Vec<f64>,
    pub(super) scale: Option<Vec<f64>>,
    pub(super) weight: f64,
    pub(super) rows: usize,
    pub(super) solver: Solver,
}

/// Relative residual of the iterative road for data of type T.
pub(super) fn tolerance<T: Lane>(options: &PcaOptions) -> f64 {
    options.tolerances.of::<T>(options.tol)
}

/// Takes the road `solver` (not `Auto`).
pub(super) fn solve<T: Lane>(
    x: MatrixView<T>,
    weights: Option<&[f64]>,
    solver: Solver,
    options: &PcaOptions,
    team: &Team,
) -> Result<Solved> {
    if solver == Solver::Covariance {
        check_square(x.cols())?;
        let moments = Moments::of(x, &MomentsOptions { center: options.center, weights }, team)?;
        let rows = weights.map_or(x.rows(), |w| w.iter().filter(|&&w| w > 0.0).count());
        let solved = solve_moments::<T>(&moments, rows, options, team)?;
        return refined(x, weights, solved, options, team);
    }
    let prepared = Prepared::new(x, weights, options, team)?;
    let rows = prepared.centered();
    let Found { pairs, complete, solver } = match solver {
        Solver::Full => {
            let p = rows.rows().min(rows.cols());
            let keep = options.components.known(p).unwrap_or(p);
            Found { pairs: singular_keeping(&rows, keep, team)?, complete: true, solver }
        }
        Solver::Gram => dual_pca::gram_pairs(&rows, options, team)?,
        _ => growing(&rows, prepared.total, solver, options, team)?,
    };
    let rest = if complete { None } else { measured_rest(&rows, &pairs, prepared.total, options, team)? };
    Ok(Solved { rest, ..prepared.solved(pairs, complete, solver) })
}

/// Pairs, whether they are all, and the road that found them: another where the one asked for leads nowhere.
pub(super) struct Found {
    pub(super) pairs: Singular,
    pub(super) complete: bool,
    pub(super) solver: Solver,
}

impl Found {
    /// All pairs without squaring, whatever road was begun with: the one that ran is `full`.
    pub(super) fn full<T: Lane>(rows: &Centered<T>, team: &Team) -> Result<Self> {
        Ok(Self { pairs: singular(rows, team)?, complete: true, solver: Solver::Full })
    }
}

/// The number of pairs that a road computes: those asked for where that is few, `None` for all.
pub(super) fn wanted(options: &PcaOptions, dim: usize) -> Option<usize> {
    options.components.known(dim).filter(|&k| k < dim)
}

/// Refuses a d x d matrix, and the reduction of it, where there is no room for them.
fn check_square(d: usize) -> Result<()> {
    memory::check_matrices::<f64>(2, (d, d), "the scatter matrix of X, with its reduction,")
}

/// The road over moments that are at hand.
pub(super) fn solve_moments<T: Lane>(
    moments: &Moments,
    rows: usize,
    options: &PcaOptions,
    team: &Team,
) -> Result<Solved> {
    check_square(moments.dim())?;
    let (mean, mean_rest) = moments.mean_parts();
    let (mean, mean_rest) = (mean.to_vec(), mean_rest.to_vec());
    let ddof = f64::from(options.ddof);
    if moments.weight() <= ddof {
        return Err(Error::TooFew { what: "X", found: rows, wanted: options.ddof as usize + 1 });
    }
    let (matrix, exponent, scale) = if options.scale {
        let deviations = moments.deviations(ddof)?;
        let scale = deviations.into_iter().zip(moments.alive()).map(|(s, alive)| if alive { s } else { 0.0 }).collect();
        // Standardised columns have variance 1, so their scatter is the correlation times the divisor.
        let (divisor, level) = near_one(moments.weight() - ddof);
        (moments.correlation() * divisor, level, Some(scale))
    } else {
        let scatter = moments.scatter();
        (scatter.matrix, scatter.exponent / 2, None)
    };
    let total = matrix.trace();
    let (pairs, complete) = of_scatter::<T>(&matrix, options, team)?;
    let rest = spanned(&pairs, rows, options).then_some(0.0);
    Ok(Solved {
        pairs,
        total,
        rest,
        complete,
        exponent,
        mean,
        mean_rest,
        scale,
        weight: moments.weight(),
        rows,
        solver: Solver::Covariance,
    })
}

/// Eigenpairs of a d x d scatter as singular pairs; whether they are all.
///
/// Where a direction asked for is too small to be told from the rounding of the largest, all are computed: measuring
/// again can then find the right ones among the small.
fn of_scatter<T: Lane>(matrix: &DMatrix<f64>, options: &PcaOptions, team: &Team) -> Result<(Singular, bool)> {
    if let Some(k) = wanted(options, matrix.nrows()) {
        let found = singular_pairs(leading_pairs_of(matrix, k, options, team)?);
        if first_small::<T>(&found.values) == k {
            return Ok((found, false));
        }
    }
    Ok((singular_pairs(eigh(matrix, team)?), true))
}

/// The `k` leading eigenpairs of a matrix at hand, each good for the digits of its root.
pub(super) fn leading_pairs_of(matrix: &DMatrix<f64>, k: usize, options: &PcaOptions, team: &Team) -> Result<Eigen> {
    let tol = tolerance::<f64>(options);
    let found = leading(matrix.try_into()?, k, tol, options.seed, team)?;
    if !leading_pays(k, matrix.nrows()) || resolved(&found, tol) { Ok(found) } else { eigh_leading(matrix, k, team) }
}

/// Whether a residual of `tol` theta_1 leaves every sigma = sqrt(theta) its promised five digits.
fn resolved(found: &Eigen, tol: f64) -> bool {
    const DIGITS: f64 = 1e-5;
    match (found.values.first(), found.values.last()) {
        (Some(first), Some(last)) => tol * first <= 2.0 * DIGITS * last,
        _ => true,
    }
}

/// sigma = sqrt(lambda), what is negative by rounding counted as 0.
pub(super) fn singular_values_of(found: &Eigen) -> Vec<f64> {
    found.values.iter().map(|v| v.max(0.0).sqrt()).collect()
}

pub(super) fn singular_pairs(found: Eigen) -> Singular {
    Singular { values: singular_values_of(&found), vectors: found.vectors }
}

/// Measures the small directions of the covariance road again on the data. Of fewer rows than columns, they hide among
/// the d - n dead ones of the scatter, and all is computed without squaring. Where nothing is to be measured the rows
/// are not touched: with weights they would be copied.
fn refined<T: Lane>(
    x: MatrixView<T>,
    weights: Option<&[f64]>,
    mut solved: Solved,
    options: &PcaOptions,
    team: &Team,
) -> Result<Solved> {
    let p = solved.rows.min(x.cols());
    solved.pairs = solved.pairs.truncated(p);
    if first_small::<T>(&solved.pairs.values) == solved.pairs.values.len() {
        if solved.complete {
            return Ok(solved);
        }
        if let Rest::Told(rest) = rest_of::<T>(&solved.pairs, solved.total, (solved.rows, x.cols()), options) {
            return Ok(Solved { rest, ..solved });
        }
    }
    let prepared = Prepared::known(x, weights, &solved)?;
    let rows = prepared.centered();
    solved.pairs = refine(&rows, solved.pairs, team)?;
    let living = rank(&solved.pairs.values, p, T::EPSILON);
    if p < x.cols() && first_small::<T>(&solved.pairs.values) < living {
        let Found { pairs, complete, solver } = Found::full(&rows, team)?;
        (solved.pairs, solved.complete, solved.solver) = (pairs, complete, solver);
    }
    if !solved.complete {
        solved.rest = measured_rest(&rows, &solved.pairs, solved.total, options, team)?;
    }
    Ok(solved)
}

/// The iterative and the randomised road, with as many pairs as the request turns out to need.
fn growing<T: Lane>(
    rows: &Centered<T>,
    total: f64,
    solver: Solver,
    options: &PcaOptions,
    team: &Team,
) -> Result<Found> {
    let p = rows.rows().min(rows.cols());
    if let Some(k) = options.components.known(p) {
        return iterate(rows, k, solver, options, team);
    }
    let Components::Ratio(ratio) = options.components else {
        return iterate(rows, p, solver, options, team); // Minka's evidence needs every eigenvalue
    };
    // Twice as many until the share is reached; half of all are as dear as all.
    let mut k = FIRST_GUESS.min(p);
    loop {
        let found = iterate(rows, k, solver, options, team)?;
        let variances: Vec<f64> = found.pairs.values.iter().map(|s| s * s).collect();
        let reached = components_reaching(ratio, &variances, total);
        if reached.is_some() || found.complete || k == p {
            return Ok(found);
        }
        k = if 4 * k > p { p } else { 2 * k };
    }
}

/// Components tried first for a share of the variance.
const FIRST_GUESS: usize = 16;

fn iterate<T: Lane>(rows: &Centered<T>, k: usize, solver: Solver, options: &PcaOptions, team: &Team) -> Result<Found> {
    let p = rows.rows().min(rows.cols());
    if rows.rows() < rows.cols() {
        return dual_pca::leading_pairs(rows, k, solver, options, team);
    }
    let operator = ScatterOf::new(rows);
    let found = pairs_of(&operator, k, solver, tolerance::<T>(options), options, team)?;
    match found {
        Some(found) => Ok(Found { pairs: refine(rows, singular_pairs(found), team)?, complete: k == p, solver }),
        None => Found::full(rows, team),
    }
}

/// `k` leading eigenpairs of an operator by the solver asked for; `None` when the iteration gave up.
pub(super) fn pairs_of(
    operator: &dyn Operator,
    k: usize,
    solver: Solver,
    tol: f64,
    options: &PcaOptions,
    team: &Team,
) -> Result<Option<Eigen>> {
    if solver == Solver::Randomized {
        let iterations = options.iterations.unwrap_or_else(|| RandomizedOptions::default_iterations(k, operator.dim()));
        let limits = RandomizedOptions { oversamples: options.oversamples, iterations, seed: options.seed };
        return Ok(Some(randomized(operator, k, &limits, team)?));
    }
    let limits = LanczosOptions { tol, seed: options.seed, max_products: products(options.rounds) };
    let found = lanczos(operator, k, &limits, team)?;
    if found.is_none() {
        given_up(options.rounds, operator.dim())?;
    }
    Ok(found)
}
