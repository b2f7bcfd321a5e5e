//! The symmetric eigenproblem.

use super::arrays::{Matrix, vector, with_view};
use super::jobs::compute;
use crate::error::{Error, Result};
use crate::linalg;
use crate::matrix::{Element, MatrixView};
use nalgebra::DMatrix;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

/// Rounding that two halves of a symmetric matrix may differ by, in units of eps times its largest entry: a matrix that
/// somebody else has multiplied together strays by the root of its size.
const ASYMMETRY: f64 = 1e3;

/// A symmetric matrix as the core wants it: the mean of both halves, in `f64`.
pub(super) fn symmetric<T: Element>(what: &'static str, x: MatrixView<T>) -> Result<DMatrix<f64>> {
    let n = x.rows();
    if x.cols() != n {
        return Err(Error::value(what, format!("shape ({n}, {})", x.cols()), "a square matrix"));
    }
    x.check_finite(what)?;
    let matrix = DMatrix::from_fn(n, n, |i, j| 0.5 * x.at(i, j) + 0.5 * x.at(j, i));
    let allowed = ASYMMETRY * T::EPSILON * matrix.amax();
    for i in 0..n {
        for j in 0..i {
            if (x.at(i, j) - x.at(j, i)).abs() > allowed {
                let found = format!("entry ({i}, {j}) = {} and entry ({j}, {i}) = {}", x.at(i, j), x.at(j, i));
                return Err(Error::value(what, found, "symmetric"));
            }
        }
    }
    Ok(matrix)
}

/// Relative residual of the leading pairs: the direct road's own accuracy at a few thousand dimensions.
const RESIDUAL: f64 = 1e-12;

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
    let matrix = with_view!(&a, view => symmetric("A", view))?;
    let flops = 9.0 * (n as f64).powi(3);
    let mut found = compute(py, flops, |team| linalg::leading(&matrix, k, RESIDUAL, 0, team))?;
    linalg::fix_signs(&mut found.vectors, f64::EPSILON);
    // Columns stay columns: the transpose of the C-ordered (k, n) array of them.
    let rows: Bound<'py, PyArray2<f64>> = {
        let data: Vec<f64> = found.vectors.data.into();
        PyArray1::from_vec(py, data).reshape([k, n])?
    };
    Ok((vector(py, found.values), rows.transpose()?.into_any()))
}
