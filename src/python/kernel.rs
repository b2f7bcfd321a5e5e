//! Kernels as they come from Python, kernel matrices, and their centring.

use super::arrays::{Matrix, filled, with_both, with_view};
use super::jobs::compute;
use crate::error::Error;
use crate::kernel::{self, Gamma, Kernel, KernelMeans, MATRIX, Rate, kernel_matrix_into};
use crate::matrix::MatrixView;
use crate::memory;
use crate::simd::Lane;
use numpy::PyArray2;
use pyo3::prelude::*;

/// The kernels that have a name.
const NAMES: [&str; 7] = ["linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "delta"];

/// A kernel is `(name, gamma, degree, coef0)`; gamma a number, None, "scale", "median", or the `(value, exponent)` of a
/// rate that a fit has settled.
impl<'py> FromPyObject<'_, 'py> for Kernel<Gamma> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (name, gamma, degree, coef0): (String, Gamma, f64, f64) = value.extract()?;
        Ok(match name.as_str() {
            "linear" => Self::Linear { centered: false },
            "poly" => Self::Poly { gamma, degree, coef0 },
            "rbf" => Self::Rbf { gamma },
            "sigmoid" => Self::Sigmoid { gamma, coef0 },
            "cosine" => Self::Cosine,
            "laplacian" => Self::Laplacian { gamma },
            "delta" => Self::Delta,
            _ => return Err(Error::unknown("kernel", &name, &NAMES).into()),
        })
    }
}

impl<'py> FromPyObject<'_, 'py> for Gamma {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_none() {
            return Ok(Self::PerFeature);
        }
        if let Ok((value, exponent)) = value.extract::<(f64, i32)>() {
            return Ok(Self::Known(Rate::in_parts(value, exponent)?));
        }
        if let Ok(name) = value.extract::<String>() {
            return match name.as_str() {
                "scale" => Ok(Self::Scale),
                "median" => Ok(Self::Median),
                _ => Err(Error::value("gamma", format!("'{name}'"), "a number, None, 'scale' or 'median'").into()),
            };
        }
        Ok(Self::Number(value.extract::<f64>()?))
    }
}

/// Operations of a kernel matrix: every pair of rows, and what takes as long as some forty for the function of their
/// distance, kept or summed.
pub(super) fn cost(rows: usize, others: usize, d: usize) -> f64 {
    rows as f64 * others as f64 * (2.0 * d as f64 + 40.0)
}

#[pyfunction]
#[pyo3(signature = (x, y, kernel))]
pub(super) fn kernel_matrix<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    y: Option<Matrix<'py>>,
    kernel: Kernel<Gamma>,
) -> PyResult<Bound<'py, PyAny>> {
    with_both!((&x, &y), (x, y) => Ok(matrix_of(py, x, y, &kernel)?.into_any()))
}

fn matrix_of<'py, T: Lane + numpy::Element>(
    py: Python<'py>,
    x: MatrixView<T>,
    y: Option<MatrixView<T>>,
    kernel: &Kernel<Gamma>,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    let (n, m) = (x.rows(), y.map_or(x.rows(), |y| y.rows()));
    memory::check::<T>(n.saturating_mul(m), MATRIX)?;
    let flops = cost(n, m, x.cols());
    filled(py, [n, m], |out| {
        compute(py, flops, |team| {
            let kernel = kernel.resolve(x, "X", team)?;
            kernel_matrix_into(x, y, &kernel, out, team)
        })
    })
}

/// Refuses a matrix like this one where there is no room for it.
fn room_like<T: Lane>(like: MatrixView<T>, what: &'static str) -> PyResult<()> {
    Ok(memory::check::<T>(like.rows().saturating_mul(like.cols()), what)?)
}

#[pyfunction]
#[pyo3(signature = (k, k_train))]
pub(super) fn center_kernel<'py>(
    py: Python<'py>,
    k: Matrix<'py>,
    k_train: Option<Matrix<'py>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (rows, n) = k.shape();
    let train = k_train.as_ref().map_or(0, |k| k.shape().0);
    let flops = 6.0 * (rows as f64 + train as f64) * n as f64;
    with_view!(&k, kernel => {
        room_like(kernel, "the centred kernel matrix")?;
        Ok(filled(py, [rows, n], |out| {
            kernel.copy_rows(0..rows, out);
            match &k_train {
                None => compute(py, flops, |team| kernel::center_kernel(out, n, team).map(|_| ())),
                Some(train) => with_view!(train, train => compute(py, flops, |team| {
                    KernelMeans::of(train, "K_train", team)?.center_rows(out, team)
                })),
            }
        })?.into_any())
    })
}
