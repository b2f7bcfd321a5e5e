//! Scores of a kernel PCA in the plain case: one crossing from the call of `transform` to the array.

use super::arrays::{filled, plain_columns, plain_matrix, plain_vector};
use super::jobs::compute;
use super::kernel::cost;
use super::plain::is_array_to_array;
use crate::kernel::{Gamma, Kernel};
use crate::models::{KernelMap, NewRows};
use crate::simd::Lane;
use crate::threads::Team;
use pyo3::types::PyDict;
use pyo3::{intern, prelude::*};

/// Scores where all that takes part is plain; None for anything else, for the caller to look at.
///
/// `fitted` holds the model's attributes.
#[pyfunction]
#[pyo3(signature = (x, fitted))]
pub(super) fn kernel_transform_fast<'py>(
    x: &Bound<'py, PyAny>,
    fitted: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !is_array_to_array(fitted)? {
        return Ok(None);
    }
    let Some(fitted) = Fitted::of(fitted)? else { return Ok(None) };
    match plain_scores::<f64>(x, &fitted)? {
        Some(scores) => Ok(Some(scores)),
        None => plain_scores::<f32>(x, &fitted),
    }
}

/// What stands in a model's attributes, whatever that is.
struct Fitted<'py> {
    training: Bound<'py, PyAny>,
    kernel: Kernel<Gamma>,
    means: Bound<'py, PyAny>,
    grand: f64,
    vectors: Bound<'py, PyAny>,
    eigenvalues: Bound<'py, PyAny>,
}

impl<'py> Fitted<'py> {
    /// None where one of them is missing: before a fit, without a kernel to compute, or where the map is a linear one.
    fn of(fitted: &Bound<'py, PyDict>) -> PyResult<Option<Self>> {
        let py = fitted.py();
        let given = |name| Ok::<_, PyErr>(fitted.get_item(name)?.filter(|value| !value.is_none()));
        let (Some(training), Some(kernel)) = (given(intern!(py, "X_fit_"))?, given(intern!(py, "_settled"))?) else {
            return Ok(None);
        };
        let (Some(means), Some(grand)) = (given(intern!(py, "_means"))?, given(intern!(py, "_grand_mean"))?) else {
            return Ok(None);
        };
        let (Some(vectors), Some(eigenvalues)) =
            (given(intern!(py, "eigenvectors_"))?, given(intern!(py, "eigenvalues_"))?)
        else {
            return Ok(None);
        };
        let (kernel, grand) = (kernel.extract()?, grand.extract()?);
        Ok(Some(Self { training, kernel, means, grand, vectors, eigenvalues }))
    }
}

fn plain_scores<'py, T: Lane + numpy::Element>(
    x: &Bound<'py, PyAny>,
    fitted: &Fitted<'py>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (Some(x), Some(training)) = (plain_matrix::<T>(x), plain_matrix::<T>(&fitted.training)) else {
        return Ok(None);
    };
    let (Some(means), Some(vectors), Some(values)) =
        (plain_vector(&fitted.means), plain_columns(&fitted.vectors), plain_vector(&fitted.eigenvalues))
    else {
        return Ok(None);
    };
    let Ok(map) = KernelMap::new(means, fitted.grand, vectors, values) else { return Ok(None) };
    let (m, k) = (x.rows(), map.k());
    if m == 0 || k == 0 || x.cols() != training.cols() {
        return Ok(None);
    }
    let kernel = fitted.kernel.resolve(x, "X", &Team::solo())?;
    let py = fitted.training.py();
    let work = |out: &mut [T]| {
        let flops = cost(m, training.rows(), training.cols() + k);
        compute(py, flops, |team| map.project(NewRows::Rows(x, training, &kernel), out, team))
    };
    Ok(Some(filled(py, [m, k], work)?.into_any()))
}
