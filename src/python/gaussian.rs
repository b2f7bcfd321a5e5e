//! The probabilistic model of a fit: log-densities, covariance, precision.

use super::arrays::{Matrix, square, vector, with_view};
use super::jobs::compute;
use super::projection::{Model, Whitening, flops, with_map};
use crate::models::Gaussian;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;

/// Variances along the components with their roots, and the noise variance with its root.
type Spread<'py> = (Whitening<'py>, [f64; 2]);

/// Binds `$gaussian` to the density of a [`Model`] with a [`Spread`].
macro_rules! with_gaussian {
    (($model:expr, $spread:expr), $gaussian:ident => $body:expr) => {
        with_map!($model, None, map => {
            let ((variances, deviations), noise) = &$spread;
            let $gaussian = Gaussian::new(map, [variances.as_slice()?, deviations.as_slice()?], *noise)?;
            $body
        })
    };
}

/// A method of the density that reads the rows `$x`.
macro_rules! of_rows {
    ($py:expr, $x:expr, $model:expr, $spread:expr, $method:ident) => {{
        let ((n, d), (k, _)) = ($x.shape(), $model.1.shape());
        with_gaussian!(($model, $spread), gaussian => with_view!(&$x, rows => {
            compute($py, 2.0 * flops(n, d, k), |team| gaussian.$method(rows, team))
        }))
    }};
}

#[pyfunction]
#[pyo3(signature = (x, model, spread))]
pub(super) fn score_samples<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    model: Model<'py>,
    spread: Spread<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    Ok(vector(py, of_rows!(py, x, model, spread, score_samples)?))
}

#[pyfunction]
#[pyo3(signature = (x, model, spread))]
pub(super) fn score<'py>(py: Python<'py>, x: Matrix<'py>, model: Model<'py>, spread: Spread<'py>) -> PyResult<f64> {
    of_rows!(py, x, model, spread, score)
}

#[pyfunction]
#[pyo3(signature = (model, spread))]
pub(super) fn model_covariance<'py>(
    py: Python<'py>,
    model: Model<'py>,
    spread: Spread<'py>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (k, d) = model.1.shape();
    let matrix = with_gaussian!((model, spread), gaussian => {
        compute(py, flops(d, d, k), |_| gaussian.covariance())
    })?;
    square(py, matrix)
}

#[pyfunction]
#[pyo3(signature = (model, spread))]
pub(super) fn model_precision<'py>(
    py: Python<'py>,
    model: Model<'py>,
    spread: Spread<'py>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (k, d) = model.1.shape();
    let matrix = with_gaussian!((model, spread), gaussian => {
        compute(py, flops(d, d, k), |_| gaussian.precision())
    })?;
    square(py, matrix)
}
