//! What a fitted linear model does with rows: scores, their way back, residuals.

use super::arrays::{Matrix, Vector, filled, vector, with_view};
use super::jobs::compute;
use numpy::PyArray1;
use pyo3::prelude::*;

/// Mean, matrix and scale of a fitted linear model.
pub(super) type Model<'py> = (Vector<'py>, Matrix<'py>, Option<Vector<'py>>);

/// Variances and deviations of its scores.
pub(super) type Whitening<'py> = (Vector<'py>, Vector<'py>);

/// Binds `$map` to the linear map of a [`Model`], whichever the dtype of its matrix.
macro_rules! with_map {
    ($model:expr, $whitening:expr, $map:ident => $body:expr) => {{
        let (mean, matrix, scale): &$crate::python::projection::Model = &$model;
        let whitening: Option<&$crate::python::projection::Whitening> = $whitening;
        let scale = scale.as_ref().map(|s| s.as_slice()).transpose()?;
        let whitening = match whitening {
            Some((variance, deviations)) => Some([variance.as_slice()?, deviations.as_slice()?]),
            None => None,
        };
        $crate::python::arrays::with_view!(matrix, lines => {
            let $map = $crate::models::LinearMap::new(mean.as_slice()?, lines, scale, whitening)?;
            $body
        })
    }};
}
pub(super) use with_map;

#[pyfunction]
#[pyo3(signature = (x, model, whitening))]
pub(super) fn project<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    model: Model<'py>,
    whitening: Option<Whitening<'py>>,
) -> PyResult<Bound<'py, PyAny>> {
    let ((n, d), (k, _)) = (x.shape(), model.1.shape());
    with_map!(model, whitening.as_ref(), map => with_view!(&x, rows => {
        let work = |out: &mut [_]| compute(py, flops(n, d, k), |team| map.project(rows, out, team));
        Ok(filled(py, [n, k], work)?.into_any())
    }))
}

#[pyfunction]
#[pyo3(signature = (z, model, whitening))]
pub(super) fn back_project<'py>(
    py: Python<'py>,
    z: Matrix<'py>,
    model: Model<'py>,
    whitening: Option<Whitening<'py>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (n, (k, d)) = (z.shape().0, model.1.shape());
    with_map!(model, whitening.as_ref(), map => with_view!(&z, scores => {
        let work = |out: &mut [_]| compute(py, flops(n, d, k), |team| map.back_project(scores, out, team));
        Ok(filled(py, [n, d], work)?.into_any())
    }))
}

#[pyfunction]
#[pyo3(signature = (x, model))]
pub(super) fn reconstruct<'py>(py: Python<'py>, x: Matrix<'py>, model: Model<'py>) -> PyResult<Bound<'py, PyAny>> {
    let ((n, d), (k, _)) = (x.shape(), model.1.shape());
    with_map!(model, None, map => with_view!(&x, rows => {
        let work = |out: &mut [_]| compute(py, 2.0 * flops(n, d, k), |team| map.reconstruct(rows, out, team));
        Ok(filled(py, [n, d], work)?.into_any())
    }))
}

#[pyfunction]
#[pyo3(signature = (x, model))]
pub(super) fn residuals<'py>(py: Python<'py>, x: Matrix<'py>, model: Model<'py>) -> PyResult<Bound<'py, PyAny>> {
    let ((n, d), (k, _)) = (x.shape(), model.1.shape());
    with_map!(model, None, map => with_view!(&x, rows => {
        let work = |out: &mut [_]| compute(py, 2.0 * flops(n, d, k), |team| map.residuals(rows, out, team));
        Ok(filled(py, [n, d], work)?.into_any())
    }))
}

#[pyfunction]
#[pyo3(signature = (x, model))]
pub(super) fn squared_residuals<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    model: Model<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let ((n, d), (k, _)) = (x.shape(), model.1.shape());
    let squares = with_map!(model, None, map => with_view!(&x, rows => {
        compute(py, 2.0 * flops(n, d, k), |team| map.squared_residuals(rows, team))
    }))?;
    Ok(vector(py, squares))
}

#[pyfunction]
#[pyo3(signature = (x, model))]
pub(super) fn reconstruction_error<'py>(py: Python<'py>, x: Matrix<'py>, model: Model<'py>) -> PyResult<f64> {
    let ((n, d), (k, _)) = (x.shape(), model.1.shape());
    with_map!(model, None, map => with_view!(&x, rows => {
        compute(py, 2.0 * flops(n, d, k), |team| map.reconstruction_error(rows, team))
    }))
}

/// Operations of a product of n rows of d with a d x k matrix.
pub(super) fn flops(n: usize, d: usize, k: usize) -> f64 {
    2.0 * n as f64 * d as f64 * k.max(1) as f64
}
