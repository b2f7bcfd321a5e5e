//! Fits of principal component analysis, and its fitted map.

use super::arrays::{
    Matrix, columns_as_rows, filled, plain_matrix, plain_vector, plain_vector_or_none, square, vector, with_view,
};
use super::covariance::Moments;
use super::jobs::compute;
use super::linalg::symmetric;
use crate::error::Error;
use crate::linalg::components_reaching;
use crate::models::{self, Components, Gaussian, LinearMap, PcaOptions, Solver};
use crate::simd::Lane;
use crate::threads::Team;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;

type Vector<'py> = PyReadonlyArray1<'py, f64>;
type Fit<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Option<Bound<'py, PyArray1<f64>>>,
    f64,
    f64,
    usize,
    &'static str,
    Bound<'py, PyArray1<f64>>,
);

impl<'py> FromPyObject<'_, 'py> for Components {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_none() {
            return Ok(Self::All);
        }
        if let Ok(name) = value.extract::<String>() {
            return match name.as_str() {
                "mle" => Ok(Self::Mle),
                _ => Err(Error::value("n_components", format!("'{name}'"), "a number, a share, 'mle' or None").into()),
            };
        }
        if value.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err("n_components must be a number, a share, 'mle' or None, got a bool"));
        }
        if let Ok(count) = value.extract::<usize>() {
            return Ok(Self::Count(count));
        }
        Ok(Self::Ratio(value.extract::<f64>()?))
    }
}

impl<'py> FromPyObject<'_, 'py> for Solver {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let name: String = value.extract()?;
        Self::from_name(&name).ok_or_else(|| Error::value("svd_solver", format!("'{name}'"), "a known solver").into())
    }
}

/// Operations of a fit, for deciding where it runs: one read of the data against the smaller side.
pub(super) fn cost((n, d): (usize, usize)) -> f64 {
    let (n, d) = (n as f64, d as f64);
    let p = n.min(d);
    n * d * p + 10.0 * p * p * p
}

fn fit_tuple(py: Python<'_>, fit: models::Pca, single: bool) -> PyResult<Fit<'_>> {
    Ok((
        columns_as_rows(py, fit.components, single)?,
        vector(py, fit.explained_variance),
        vector(py, fit.explained_variance_ratio),
        vector(py, fit.singular_values),
        vector(py, fit.mean),
        fit.scale.map(|scale| vector(py, scale)),
        fit.noise_variance,
        fit.total_variance,
        fit.rank,
        fit.solver.name(),
        vector(py, fit.deviations),
    ))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (x, sample_weight, n_components, svd_solver, tol, iterated_power, n_oversamples, power_iteration_normalizer, seed, center, scale, ddof))]
pub(super) fn fit_pca<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    sample_weight: Option<Vector<'py>>,
    n_components: Components,
    svd_solver: Solver,
    tol: f64,
    iterated_power: i64,
    n_oversamples: usize,
    power_iteration_normalizer: &str,
    seed: u64,
    center: bool,
    scale: bool,
    ddof: u32,
) -> PyResult<Fit<'py>> {
    // Every iterate is orthonormalised, whichever normaliser is named: none of them overflows.
    let _ = power_iteration_normalizer;
    let options = PcaOptions {
        components: n_components,
        solver: svd_solver,
        tol,
        iterations: usize::try_from(iterated_power).ok(),
        oversamples: n_oversamples,
        seed,
        center,
        scale,
        ddof,
    };
    let weights = sample_weight.as_ref().map(|w| w.as_slice()).transpose()?;
    let fit =
        with_view!(&x, rows => compute(py, cost(x.shape()), |team| models::Pca::fit(rows, weights, &options, team)))?;
    fit_tuple(py, fit, x.is_single())
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (moments, n_components, svd_solver, tol, seed, center, scale, ddof))]
pub(super) fn pca_from_moments<'py>(
    py: Python<'py>,
    moments: &Moments,
    n_components: Components,
    svd_solver: Solver,
    tol: f64,
    seed: u64,
    center: bool,
    scale: bool,
    ddof: u32,
) -> PyResult<Fit<'py>> {
    let components = n_components;
    let options =
        PcaOptions { components, solver: svd_solver, tol, seed, center, scale, ddof, ..PcaOptions::default() };
    let state = moments.snapshot();
    let d = state.dim();
    let fit = compute(py, cost((d, d)), |team| models::Pca::from_moments(&state, &options, team))?;
    fit_tuple(py, fit, state.epsilon() == f64::from(f32::EPSILON))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (covariance, mean, n_samples, n_components, svd_solver, tol, seed, scale, ddof))]
pub(super) fn pca_from_covariance<'py>(
    py: Python<'py>,
    covariance: Matrix<'py>,
    mean: Vector<'py>,
    n_samples: usize,
    n_components: Components,
    svd_solver: Solver,
    tol: f64,
    seed: u64,
    scale: bool,
    ddof: u32,
) -> PyResult<Fit<'py>> {
    let components = n_components;
    let options = PcaOptions { components, solver: svd_solver, tol, seed, scale, ddof, ..PcaOptions::default() };
    let matrix = with_view!(&covariance, rows => symmetric("covariance", rows))?;
    let mean = mean.as_slice()?.to_vec();
    let work = |team: &Team| models::Pca::from_covariance(&matrix, mean, n_samples, &options, team);
    let fit = compute(py, cost(covariance.shape()), work)?;
    fit_tuple(py, fit, false)
}

/// Binds `$map` to the linear model of fitted arrays, whichever the dtype of the components.
macro_rules! with_map {
    (($mean:expr, $components:expr, $scale:expr, $whitening:expr), $map:ident => $body:expr) => {{
        let scale = $scale.as_ref().map(|s| s.as_slice()).transpose()?;
        let whitening = match $whitening {
            Some((variance, deviations)) => Some([Vector::as_slice(variance)?, Vector::as_slice(deviations)?]),
            None => None,
        };
        with_view!(&$components, components => {
            let $map = LinearMap::new($mean.as_slice()?, components, scale, whitening)?;
            $body
        })
    }};
}

/// Scores of the plain case in one crossing, every check included; None for anything else, for the caller to look at.
#[pyfunction]
#[pyo3(signature = (x, mean, components, scale, whitening))]
pub(super) fn project_fast<'py>(
    x: &Bound<'py, PyAny>,
    mean: &Bound<'py, PyAny>,
    components: &Bound<'py, PyAny>,
    scale: &Bound<'py, PyAny>,
    whitening: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let arrays = [mean, scale, whitening];
    match plain_scores::<f64>(x, components, arrays)? {
        Some(scores) => Ok(Some(scores)),
        None => plain_scores::<f32>(x, components, arrays),
    }
}

fn plain_scores<'py, T: Lane + numpy::Element>(
    x: &Bound<'py, PyAny>,
    components: &Bound<'py, PyAny>,
    [mean, scale, whitening]: [&Bound<'py, PyAny>; 3],
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (Some(rows), Some(lines)) = (plain_matrix::<T>(x), plain_matrix::<T>(components)) else { return Ok(None) };
    let (Some(mean), Some(scale)) = (plain_vector(mean), plain_vector_or_none(scale)) else { return Ok(None) };
    let pair: Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)> = whitening.extract()?;
    let whitening = match &pair {
        Some((variance, deviations)) => match (plain_vector(variance), plain_vector(deviations)) {
            (Some(variance), Some(deviations)) => Some([variance, deviations]),
            _ => return Ok(None),
        },
        None => None,
    };
    let Ok(map) = LinearMap::new(mean, lines, scale, whitening) else { return Ok(None) };
    let (n, k) = (rows.rows(), map.k());
    if n == 0 || k == 0 || rows.cols() != map.d() {
        return Ok(None);
    }
    let flops = 2.0 * n as f64 * k as f64 * map.d() as f64;
    let scores = filled::<T>(x.py(), [n, k], |out| compute(x.py(), flops, |team| map.project(rows, out, team)))?;
    Ok(Some(scores.into_any()))
}

#[pyfunction]
#[pyo3(signature = (x, mean, components, scale, whitening))]
pub(super) fn project<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    mean: Vector<'py>,
    components: Matrix<'py>,
    scale: Option<Vector<'py>>,
    whitening: Option<(Vector<'py>, Vector<'py>)>,
) -> PyResult<Bound<'py, PyAny>> {
    let ((n, d), (k, _)) = (x.shape(), components.shape());
    with_map!((mean, components, scale, whitening.as_ref().map(|(v, s)| (v, s))), map => with_view!(&x, rows => {
        let work = |out: &mut [_]| compute(py, flops(n, d, k), |team| map.project(rows, out, team));
        Ok(filled(py, [n, k], work)?.into_any())
    }))
}

#[pyfunction]
#[pyo3(signature = (z, mean, components, scale, whitening))]
pub(super) fn back_project<'py>(
    py: Python<'py>,
    z: Matrix<'py>,
    mean: Vector<'py>,
    components: Matrix<'py>,
    scale: Option<Vector<'py>>,
    whitening: Option<(Vector<'py>, Vector<'py>)>,
) -> PyResult<Bound<'py, PyAny>> {
    let (n, (k, d)) = (z.shape().0, components.shape());
    with_map!((mean, components, scale, whitening.as_ref().map(|(v, s)| (v, s))), map => with_view!(&z, scores => {
        let work = |out: &mut [_]| compute(py, flops(n, d, k), |team| map.back_project(scores, out, team));
        Ok(filled(py, [n, d], work)?.into_any())
    }))
}

#[pyfunction]
#[pyo3(signature = (x, mean, components, scale))]
pub(super) fn reconstruct<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    mean: Vector<'py>,
    components: Matrix<'py>,
    scale: Option<Vector<'py>>,
) -> PyResult<Bound<'py, PyAny>> {
    let ((n, d), (k, _)) = (x.shape(), components.shape());
    with_map!((mean, components, scale, None), map => with_view!(&x, rows => {
        let work = |out: &mut [_]| compute(py, 2.0 * flops(n, d, k), |team| map.reconstruct(rows, out, team));
        Ok(filled(py, [n, d], work)?.into_any())
    }))
}

#[pyfunction]
#[pyo3(signature = (x, mean, components, scale))]
pub(super) fn residuals<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    mean: Vector<'py>,
    components: Matrix<'py>,
    scale: Option<Vector<'py>>,
) -> PyResult<Bound<'py, PyAny>> {
    let ((n, d), (k, _)) = (x.shape(), components.shape());
    with_map!((mean, components, scale, None), map => with_view!(&x, rows => {
        let work = |out: &mut [_]| compute(py, 2.0 * flops(n, d, k), |team| map.residuals(rows, out, team));
        Ok(filled(py, [n, d], work)?.into_any())
    }))
}

#[pyfunction]
#[pyo3(signature = (x, mean, components, scale))]
pub(super) fn squared_residuals<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    mean: Vector<'py>,
    components: Matrix<'py>,
    scale: Option<Vector<'py>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let ((n, d), (k, _)) = (x.shape(), components.shape());
    let squares = with_map!((mean, components, scale, None), map => with_view!(&x, rows => {
        compute(py, 2.0 * flops(n, d, k), |team| map.squared_residuals(rows, team))
    }))?;
    Ok(vector(py, squares))
}

#[pyfunction]
#[pyo3(signature = (x, mean, components, scale))]
pub(super) fn reconstruction_error<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    mean: Vector<'py>,
    components: Matrix<'py>,
    scale: Option<Vector<'py>>,
) -> PyResult<f64> {
    let ((n, d), (k, _)) = (x.shape(), components.shape());
    with_map!((mean, components, scale, None), map => with_view!(&x, rows => {
        compute(py, 2.0 * flops(n, d, k), |team| map.reconstruction_error(rows, team))
    }))
}

#[pyfunction]
#[pyo3(signature = (x, mean, components, scale, explained_variance, noise_variance))]
pub(super) fn score_samples<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    mean: Vector<'py>,
    components: Matrix<'py>,
    scale: Option<Vector<'py>>,
    explained_variance: Vector<'py>,
    noise_variance: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    Ok(vector(py, densities(py, &x, &mean, &components, scale.as_ref(), (&explained_variance, noise_variance))?))
}

#[pyfunction]
#[pyo3(signature = (x, mean, components, scale, explained_variance, noise_variance))]
pub(super) fn score<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    mean: Vector<'py>,
    components: Matrix<'py>,
    scale: Option<Vector<'py>>,
    explained_variance: Vector<'py>,
    noise_variance: f64,
) -> PyResult<f64> {
    let all = densities(py, &x, &mean, &components, scale.as_ref(), (&explained_variance, noise_variance))?;
    Ok(all.iter().sum::<f64>() / all.len() as f64)
}

fn densities<'py>(
    py: Python<'py>,
    x: &Matrix<'py>,
    mean: &Vector<'py>,
    components: &Matrix<'py>,
    scale: Option<&Vector<'py>>,
    (explained_variance, noise_variance): (&Vector<'py>, f64),
) -> PyResult<Vec<f64>> {
    let ((n, d), (k, _)) = (x.shape(), components.shape());
    with_map!((mean, *components, scale, None), map => with_view!(x, rows => {
        let gaussian = Gaussian::new(map, explained_variance.as_slice()?, noise_variance)?;
        compute(py, 2.0 * flops(n, d, k), |team| gaussian.score_samples(rows, team))
    }))
}

#[pyfunction]
#[pyo3(signature = (components, scale, explained_variance, noise_variance))]
pub(super) fn model_covariance<'py>(
    py: Python<'py>,
    components: Matrix<'py>,
    scale: Option<Vector<'py>>,
    explained_variance: Vector<'py>,
    noise_variance: f64,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (k, d) = components.shape();
    let mean = vec![0.0; d];
    let scale = scale.as_ref().map(|s| s.as_slice()).transpose()?;
    let matrix = with_view!(&components, lines => {
        let gaussian = Gaussian::new(LinearMap::new(&mean, lines, scale, None)?, explained_variance.as_slice()?, noise_variance)?;
        compute(py, flops(d, d, k), |_| Ok(gaussian.covariance()))
    })?;
    square(py, matrix)
}

#[pyfunction]
#[pyo3(signature = (components, scale, explained_variance, noise_variance))]
pub(super) fn model_precision<'py>(
    py: Python<'py>,
    components: Matrix<'py>,
    scale: Option<Vector<'py>>,
    explained_variance: Vector<'py>,
    noise_variance: f64,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (k, d) = components.shape();
    let mean = vec![0.0; d];
    let scale = scale.as_ref().map(|s| s.as_slice()).transpose()?;
    let matrix = with_view!(&components, lines => {
        let gaussian = Gaussian::new(LinearMap::new(&mean, lines, scale, None)?, explained_variance.as_slice()?, noise_variance)?;
        compute(py, flops(d, d, k), |_| gaussian.precision())
    })?;
    square(py, matrix)
}

/// Smallest number of components that reach a share of the variance, or that have at least a variance.
#[pyfunction]
#[pyo3(signature = (explained_variance, total_variance, ratio, min_eigenvalue))]
pub(super) fn components_for(
    explained_variance: Vector<'_>,
    total_variance: f64,
    ratio: Option<f64>,
    min_eigenvalue: Option<f64>,
) -> PyResult<usize> {
    let variances = explained_variance.as_slice()?;
    let Some(ratio) = ratio else {
        let least = min_eigenvalue.unwrap_or(0.0);
        return Ok(variances.iter().filter(|&&v| v >= least).count());
    };
    components_reaching(ratio, variances, total_variance).ok_or_else(|| {
        let kept: f64 = variances.iter().sum();
        let wanted = format!("at most {}, the share of the components kept", kept / total_variance);
        Error::value("ratio", ratio, wanted).into()
    })
}

fn flops(n: usize, d: usize, k: usize) -> f64 {
    2.0 * n as f64 * d as f64 * k.max(1) as f64
}
