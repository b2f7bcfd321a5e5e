//! Fits of whitening maps.

use super::arrays::{Matrix, Vector, columns_as_rows, vector, with_view};
use super::jobs::compute;
use super::pca::cost;
use crate::error::Error;
use crate::models::{Components, Method, Whitening, WhiteningOptions};
use numpy::PyArray1;
use pyo3::prelude::*;

type Fit<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, usize);

impl<'py> FromPyObject<'_, 'py> for Method {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let name: String = value.extract()?;
        Self::from_name(&name).ok_or_else(|| Error::unknown("method", &name, &Self::ALL.map(Self::name)).into())
    }
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (x, sample_weight, method, n_components, eps, center, ddof))]
pub(super) fn fit_whitener<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    sample_weight: Option<Vector<'py>>,
    method: Method,
    n_components: Components,
    eps: f64,
    center: bool,
    ddof: u32,
) -> PyResult<Fit<'py>> {
    let options = WhiteningOptions { method, components: n_components, eps, center, ddof };
    let weights = sample_weight.as_ref().map(|w| w.as_slice()).transpose()?;
    let fit =
        with_view!(&x, rows => compute(py, cost(x.shape()), |team| Whitening::fit(rows, weights, &options, team)))?;
    Ok((
        columns_as_rows(py, fit.matrix, x.is_single())?,
        columns_as_rows(py, fit.inverse, x.is_single())?,
        vector(py, fit.mean),
        vector(py, fit.explained_variance),
        fit.rank,
    ))
}
