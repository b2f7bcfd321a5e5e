//! The probabilistic model of a fit: log-densities, covariance, precision.

use super::arrays::{Matrix, Vector, square, vector, with_view};
use super::jobs::compute;
use super::projection::{flops, with_map};
use crate::models::{Gaussian, LinearMap};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;

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
