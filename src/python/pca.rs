//! Fits of principal component analysis.

use super::arrays::{Matrix, Vector, columns_as_rows, vector, with_view};
use super::covariance::Moments;
use super::jobs::compute;
use crate::error::Error;
use crate::memory;
use crate::models::{self, Components, PcaOptions, Solver};
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

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
    f64,
);

impl<'py> FromPyObject<'_, 'py> for Components {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_none() {
            return Ok(Self::All);
        }
        // Looked at, not extracted: an extraction that fails makes an exception.
        if let Ok(name) = value.cast::<PyString>() {
            return match name.to_str()? {
                "mle" => Ok(Self::Mle),
                name => {
                    Err(Error::value("n_components", format!("'{name}'"), "a number, a share, 'mle' or None").into())
                }
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
        let all = [Self::Auto, Self::Covariance, Self::Gram, Self::Lanczos, Self::Full, Self::Randomized];
        Self::from_name(&name).ok_or_else(|| Error::unknown("svd_solver", &name, &all.map(Self::name)).into())
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
        fit.noise_deviation,
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
        ..PcaOptions::default()
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
    let state = moments.now();
    let d = state.dim();
    let fit = compute(py, cost((d, d)), |team| models::Pca::from_moments(&state, &options, team))?;
    fit_tuple(py, fit, state.is_single())
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
    // A copy, its scaled twin, and what the eigenproblem takes of both.
    memory::check_matrices::<f64>(2, covariance.shape(), "copies of the covariance")?;
    let mean = mean.as_slice()?.to_vec();
    let flops = cost(covariance.shape());
    let fit = with_view!(&covariance, entries => {
        compute(py, flops, |team| models::Pca::from_covariance(entries, mean, n_samples, &options, team))
    })?;
    fit_tuple(py, fit, false)
}

/// Smallest number of components that reach a share of the variance, or that have at least a variance.
#[pyfunction]
#[pyo3(signature = (explained_variance, explained_variance_ratio, noise_deviation, ratio, min_eigenvalue))]
pub(super) fn components_for(
    explained_variance: Vector<'_>,
    explained_variance_ratio: Vector<'_>,
    noise_deviation: f64,
    ratio: Option<f64>,
    min_eigenvalue: Option<f64>,
) -> PyResult<usize> {
    match ratio {
        Some(ratio) => Ok(models::components_for_share(ratio, explained_variance_ratio.as_slice()?, noise_deviation)?),
        None => Ok(models::components_above(min_eigenvalue.unwrap_or(0.0), explained_variance.as_slice()?)),
    }
}
