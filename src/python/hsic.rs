//! Dependence of two samples: the criterion, its normalised form and its tests.

use super::arrays::{Matrix, vector, with_view};
use super::jobs::{compute, compute_watched};
use super::kernel::cost;
use crate::error::Error;
use crate::hsic::{self as core, Estimator, Permutations, Sample};
use crate::kernel::{Gamma, Kernel};
use crate::matrix::{Element, MatrixView};
use numpy::PyArray1;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

impl<'py> FromPyObject<'_, 'py> for Estimator {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match value.extract::<String>()?.as_str() {
            "biased" => Ok(Self::Biased),
            "unbiased" => Ok(Self::Unbiased),
            name => Err(Error::value("estimator", format!("'{name}'"), "'biased' or 'unbiased'").into()),
        }
    }
}

/// Rows with their kernel; without one the matrix is that of the kernel.
fn sample<T: Element>(x: MatrixView<'_, T>, kernel: Option<Kernel<Gamma>>) -> Sample<'_, T> {
    kernel.map_or(Sample::Precomputed(x), |kernel| Sample::Rows(x, kernel))
}

/// Operations of one pass over all pairs.
fn pairs(x: &Matrix<'_>, y: &Matrix<'_>) -> f64 {
    let ((n, d), (_, e)) = (x.shape(), y.shape());
    0.5 * (cost(n, n, d) + cost(n, n, e))
}

#[pyfunction]
#[pyo3(signature = (x, kernel_x, y, kernel_y, estimator))]
pub(super) fn hsic<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    kernel_x: Option<Kernel<Gamma>>,
    y: Matrix<'py>,
    kernel_y: Option<Kernel<Gamma>>,
    estimator: Estimator,
) -> PyResult<f64> {
    let flops = pairs(&x, &y);
    with_view!(&x, a => with_view!(&y, b => {
        compute(py, flops, |team| core::hsic(&sample(a, kernel_x), &sample(b, kernel_y), estimator, team))
    }))
}

#[pyfunction]
#[pyo3(signature = (x, kernel_x, y, kernel_y, estimator))]
pub(super) fn cka<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    kernel_x: Option<Kernel<Gamma>>,
    y: Matrix<'py>,
    kernel_y: Option<Kernel<Gamma>>,
    estimator: Estimator,
) -> PyResult<f64> {
    let flops = pairs(&x, &y);
    with_view!(&x, a => with_view!(&y, b => {
        compute(py, flops, |team| core::cka(&sample(a, kernel_x), &sample(b, kernel_y), estimator, team))
    }))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (x, kernel_x, y, kernel_y, estimator, n_permutations, seed, report))]
pub(super) fn hsic_permutation_test<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    kernel_x: Option<Kernel<Gamma>>,
    y: Matrix<'py>,
    kernel_y: Option<Kernel<Gamma>>,
    estimator: Estimator,
    n_permutations: usize,
    seed: u64,
    report: Option<Py<PyAny>>,
) -> PyResult<(f64, f64, Bound<'py, PyArray1<f64>>)> {
    let n = x.shape().0 as f64;
    let flops = pairs(&x, &y) + n * n * n_permutations as f64;
    let done = AtomicUsize::new(0);
    let permutations = Permutations { count: n_permutations, seed, progress: Some(&done) };
    let watch = |py: Python<'_>| match &report {
        Some(report) => report.call1(py, (done.load(Ordering::Relaxed),)).map(|_| ()),
        None => Ok(()),
    };
    let found = with_view!(&x, a => with_view!(&y, b => compute_watched(py, flops, watch, |team| {
        core::permutation_test(&sample(a, kernel_x), &sample(b, kernel_y), estimator, &permutations, team)
    })))?;
    Ok((found.statistic, found.pvalue, vector(py, found.null)))
}

#[pyfunction]
#[pyo3(signature = (x, kernel_x, y, kernel_y))]
pub(super) fn hsic_gamma_test<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    kernel_x: Option<Kernel<Gamma>>,
    y: Matrix<'py>,
    kernel_y: Option<Kernel<Gamma>>,
) -> PyResult<(f64, f64, f64, f64)> {
    let flops = 2.0 * pairs(&x, &y);
    let found = with_view!(&x, a => with_view!(&y, b => {
        compute(py, flops, |team| core::gamma_test(&sample(a, kernel_x), &sample(b, kernel_y), team))
    }))?;
    Ok((found.statistic, found.pvalue, found.shape, found.scale))
}
