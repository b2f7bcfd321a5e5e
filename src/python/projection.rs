//! What a fitted linear model does with rows: scores, their way back, residuals.

use super::arrays::{Matrix, Vector, filled, plain_matrix, plain_vector, vector, with_view};
use super::jobs::compute;
use crate::models::LinearMap;
use crate::simd::Lane;
use numpy::PyArray1;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{intern, prelude::*};

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

/// Scores of the plain case in one crossing, every check included; None for anything else, for the caller to look at.
///
/// `fitted` holds the model's attributes, `names` those of its mean, matrix and scale (None: it has no scale).
#[pyfunction]
#[pyo3(signature = (x, fitted, names))]
pub(super) fn project_fast<'py>(
    x: &Bound<'py, PyAny>,
    fitted: &Bound<'py, PyDict>,
    names: &Bound<'py, PyTuple>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(arrays) = FittedArrays::of(fitted, names)? else { return Ok(None) };
    match plain_scores::<f64>(x, &arrays)? {
        Some(scores) => Ok(Some(scores)),
        None => plain_scores::<f32>(x, &arrays),
    }
}

/// What stands in a model's attributes, whatever that is.
struct FittedArrays<'py> {
    mean: Bound<'py, PyAny>,
    matrix: Bound<'py, PyAny>,
    scale: Option<Bound<'py, PyAny>>,
    /// Variances and deviations.
    whitening: Option<[Bound<'py, PyAny>; 2]>,
}

impl<'py> FittedArrays<'py> {
    /// None where one of them is missing.
    fn of(fitted: &Bound<'py, PyDict>, names: &Bound<'py, PyTuple>) -> PyResult<Option<Self>> {
        let py = fitted.py();
        let named = |place: usize| fitted.get_item(names.get_borrowed_item(place)?);
        let (Some(mean), Some(matrix)) = (named(0)?, named(1)?) else { return Ok(None) };
        let scale = if names.get_borrowed_item(2)?.is_none() {
            None
        } else {
            let Some(scale) = named(2)? else { return Ok(None) };
            Some(scale).filter(|scale| !scale.is_none())
        };
        let whitening = match fitted.get_item(intern!(py, "whiten"))? {
            Some(whiten) if whiten.is_truthy()? => {
                let variance = fitted.get_item(intern!(py, "explained_variance_"))?;
                let deviations = fitted.get_item(intern!(py, "_deviations"))?;
                let (Some(variance), Some(deviations)) = (variance, deviations) else { return Ok(None) };
                Some([variance, deviations])
            }
            _ => None,
        };
        Ok(Some(Self { mean, matrix, scale, whitening }))
    }

    /// The model's map where all of them are plain and fit each other.
    fn map<T: Lane + numpy::Element>(&self) -> Option<LinearMap<'_, T>> {
        let scale = match &self.scale {
            Some(scale) => Some(plain_vector(scale)?),
            None => None,
        };
        let whitening = match &self.whitening {
            Some([variance, deviations]) => Some([plain_vector(variance)?, plain_vector(deviations)?]),
            None => None,
        };
        LinearMap::new(plain_vector(&self.mean)?, plain_matrix(&self.matrix)?, scale, whitening).ok()
    }
}

fn plain_scores<'py, T: Lane + numpy::Element>(
    x: &Bound<'py, PyAny>,
    arrays: &FittedArrays<'py>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (Some(rows), Some(map)) = (plain_matrix::<T>(x), arrays.map::<T>()) else { return Ok(None) };
    let (n, k) = (rows.rows(), map.k());
    if n == 0 || k == 0 || rows.cols() != map.d() {
        return Ok(None);
    }
    let flops = 2.0 * n as f64 * k as f64 * map.d() as f64;
    let scores = filled(x.py(), [n, k], |out: &mut [T]| compute(x.py(), flops, |team| map.project(rows, out, team)))?;
    Ok(Some(scores.into_any()))
}

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
