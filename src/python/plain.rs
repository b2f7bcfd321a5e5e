//! Scores in the plain case: one crossing from the call of `transform` to the array, every check included.

use super::arrays::{filled, plain_matrix, plain_vector};
use super::jobs::compute;
use crate::models::LinearMap;
use crate::simd::Lane;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{intern, prelude::*};

/// [`project_fast`] for `transform`: None also where [`is_array_to_array`] says no.
#[pyfunction]
#[pyo3(signature = (x, fitted, names))]
pub(super) fn transform_fast<'py>(
    x: &Bound<'py, PyAny>,
    fitted: &Bound<'py, PyDict>,
    names: &Bound<'py, PyTuple>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if is_array_to_array(fitted)? { project_fast(x, fitted, names) } else { Ok(None) }
}

/// Whether neither names of columns nor another container than an array are at stake.
pub(super) fn is_array_to_array(fitted: &Bound<'_, PyDict>) -> PyResult<bool> {
    let py = fitted.py();
    let named = fitted.contains(intern!(py, "feature_names_in_"))?;
    let chosen = fitted.contains(intern!(py, "_sklearn_output_config"))?;
    Ok(!named && !chosen && global_output_is_array(py)?)
}

/// Whether scikit-learn, where the caller has loaded it, leaves results as arrays. Asked on each call, for it is a
/// setting of the thread, and one that a `with` block may change.
fn global_output_is_array(py: Python<'_>) -> PyResult<bool> {
    // The dictionary of loaded modules, one for the life of the interpreter.
    static MODULES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let modules = MODULES.import(py, "sys", "modules")?;
    let Some(sklearn) = modules.get_item(intern!(py, "sklearn"))? else { return Ok(true) };
    // Half imported, it has no settings yet: the caller knows what to do then.
    let Ok(config) = sklearn.call_method0(intern!(py, "get_config")) else { return Ok(false) };
    let Ok(config) = config.cast_into::<PyDict>() else { return Ok(false) };
    match config.get_item(intern!(py, "transform_output"))? {
        Some(container) => container.eq(intern!(py, "default")),
        None => Ok(true),
    }
}

/// Scores where all that takes part is plain; None for anything else, for the caller to look at.
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
