//! The probabilistic model of a fit: log-densities, covariance, precision.

use super::arrays::{Matrix, Vector, square, vector, with_view};
use super::jobs::compute;
use super::projection::{Model, flops, with_map};
use crate::models::Gaussian;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;

/// Binds `$gaussian` to the density of a [`Model`] with the variances of its components and of what they leave.
macro_rules! with_gaussian {
    (($model:expr, $variance:expr, $noise:expr), $gaussian:ident => $body:expr) => {
        with_map!($model, None, map => {
            let $gaussian = Gaussian::new(map, $variance.as_slice()?, $noise)?;
            $body
        })
    };
}

#[pyfunction]
#[pyo3(signature = (x, model, explained_variance, noise_variance))]
pub(super) fn score_samples<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    model: Model<'py>,
    explained_variance: Vector<'py>,
    noise_variance: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    Ok(vector(py, densities(py, &x, &model, &explained_variance, noise_variance)?))
}

#[pyfunction]
#[pyo3(signature = (x, model, explained_variance, noise_variance))]
pub(super) fn score<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    model: Model<'py>,
    explained_variance: Vector<'py>,
    noise_variance: f64,
) -> PyResult<f64> {
    let all = densities(py, &x, &model, &explained_variance, noise_variance)?;
    Ok(all.iter().sum::<f64>() / all.len() as f64)
}

fn densities<'py>(
    py: Python<'py>,
    x: &Matrix<'py>,
    model: &Model<'py>,
    explained_variance: &Vector<'py>,
    noise_variance: f64,
) -> PyResult<Vec<f64>> {
    let ((n, d), (k, _)) = (x.shape(), model.1.shape());
    with_gaussian!((*model, explained_variance, noise_variance), gaussian => with_view!(x, rows => {
        compute(py, 2.0 * flops(n, d, k), |team| gaussian.score_samples(rows, team))
    }))
}

#[pyfunction]
#[pyo3(signature = (model, explained_variance, noise_variance))]
pub(super) fn model_covariance<'py>(
    py: Python<'py>,
    model: Model<'py>,
    explained_variance: Vector<'py>,
    noise_variance: f64,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (k, d) = model.1.shape();
    let matrix = with_gaussian!((model, explained_variance, noise_variance), gaussian => {
        compute(py, flops(d, d, k), |_| Ok(gaussian.covariance()))
    })?;
    square(py, matrix)
}

#[pyfunction]
#[pyo3(signature = (model, explained_variance, noise_variance))]
pub(super) fn model_precision<'py>(
    py: Python<'py>,
    model: Model<'py>,
    explained_variance: Vector<'py>,
    noise_variance: f64,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (k, d) = model.1.shape();
    let matrix = with_gaussian!((model, explained_variance, noise_variance), gaussian => {
        compute(py, flops(d, d, k), |_| gaussian.precision())
    })?;
    square(py, matrix)
}
