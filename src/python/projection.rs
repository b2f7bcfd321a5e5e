//! What a fitted linear model does with rows: scores, their way back, residuals.

use super::arrays::{Matrix, Vector, filled, plain_matrix, plain_vector, plain_vector_or_none, vector, with_view};
use super::jobs::compute;
use crate::models::LinearMap;
use crate::simd::Lane;
use numpy::PyArray1;
use pyo3::prelude::*;

/// Binds `$map` to the linear model of fitted arrays, whichever the dtype of the components.
macro_rules! with_map {
    (($mean:expr, $components:expr, $scale:expr, $whitening:expr), $map:ident => $body:expr) => {{
        type Vector<'py> = $crate::python::arrays::Vector<'py>;
        let scale = $scale.as_ref().map(|s| s.as_slice()).transpose()?;
        let whitening = match $whitening {
            Some((variance, deviations)) => Some([Vector::as_slice(variance)?, Vector::as_slice(deviations)?]),
            None => None,
        };
        $crate::python::arrays::with_view!(&$components, components => {
            let $map = $crate::models::LinearMap::new($mean.as_slice()?, components, scale, whitening)?;
            $body
        })
    }};
}
pub(super) use with_map;

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
    let scores = filled(x.py(), [n, k], |out: &mut [T]| compute(x.py(), flops, |team| map.project(rows, out, team)))?;
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

/// Operations of a product of n rows of d with a d x k matrix.
pub(super) fn flops(n: usize, d: usize, k: usize) -> f64 {
    2.0 * n as f64 * d as f64 * k.max(1) as f64
}
