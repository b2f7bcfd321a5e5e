//! The symmetric eigenproblem.

use super::arrays::{Matrix, columns, vector, with_view};
use super::jobs::{SMALL, compute};
use crate::linalg::leading_pairs;
use numpy::PyArray1;
use pyo3::prelude::*;

#[pyfunction]
#[pyo3(signature = (a, k))]
#[allow(clippy::type_complexity)]
pub(super) fn eigh<'py>(
    py: Python<'py>,
    a: Matrix<'py>,
    k: Option<usize>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyAny>)> {
    let n = a.shape().0;
    let k = k.unwrap_or(n);
    // Threads share 4 n^3 well of the 9 n^3 in all, which decide whether the lock is given back.
    let (all, shared) = (9.0 * (n as f64).powi(3), 4.0 * (n as f64).powi(3));
    let flops = shared.max(all.min(SMALL));
    let found = with_view!(&a, view => compute(py, flops, |team| leading_pairs(view, "A", k, team)))?;
    Ok((vector(py, found.values), columns(py, found.vectors, false)?))
}
