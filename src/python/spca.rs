//! Fits of supervised PCA, plain and in a kernel's feature space.

use super::arrays::{Matrix, columns_as_rows, filled, vector, with_view, with_views};
use super::jobs::compute;
use super::kernel::cost;
use crate::error::Error;
use crate::kernel::{Gamma, Kernel, Rate};
use crate::matrix::MatrixView;
use crate::models::{Factor, KernelSpca, Spca, SpcaOptions, SpcaSolver, Target, about_mean, row_scores};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

type Fit<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>, f64, Bound<'py, PyArray1<f64>>, usize, &'static str);
type KernelFit<'py> =
    (Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>, f64, Bound<'py, PyArray1<f64>>, usize, Option<(f64, i32)>);

/// How the rows of y are compared: a name, or a kernel with its parameters.
#[derive(Clone, Copy)]
pub(super) enum Comparison {
    Classes,
    Linear,
    Precomputed,
    Kernel(Kernel<Gamma>),
}

impl<'py> FromPyObject<'_, 'py> for Comparison {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let Ok(name) = value.extract::<String>() else { return Ok(Self::Kernel(value.extract()?)) };
        match name.as_str() {
            "delta" => Ok(Self::Classes),
            "linear" => Ok(Self::Linear),
            "precomputed" => Ok(Self::Precomputed),
            _ => Err(Error::unknown("target_kernel", &name, &["delta", "linear", "precomputed"]).into()),
        }
    }
}

impl Comparison {
    fn of<U>(self, y: MatrixView<'_, U>) -> Target<'_, U> {
        match self {
            Self::Classes => Target::Classes(y),
            Self::Linear => Target::Linear(y),
            Self::Precomputed => Target::Precomputed(y),
            Self::Kernel(kernel) => Target::Kernel(y, kernel),
        }
    }

    /// Operations of the thin factor: nothing to speak of, or kernel columns.
    fn cost(self, (n, d): (usize, usize)) -> f64 {
        match self {
            Self::Classes | Self::Linear => (n * d) as f64,
            Self::Precomputed | Self::Kernel(_) => cost(n, n, d.min(n)),
        }
    }
}

type Supervision<'py> = Option<(Matrix<'py>, Comparison)>;

/// Runs a body with `$factor` bound to a function of a team that gives the target's factor; none: K_y = I.
macro_rules! with_factor {
    ($target:expr, $factor:ident => $body:expr) => {
        match $target {
            None => {
                let $factor = |_: &crate::threads::Team| -> crate::error::Result<Option<Factor>> { Ok(None) };
                $body
            }
            Some((y, comparison)) => with_view!(y, values => {
                let target = comparison.of(values);
                let $factor = |team: &crate::threads::Team| Factor::of(&target, team).map(Some);
                $body
            }),
        }
    };
}

#[pyfunction]
#[pyo3(signature = (x, target, n_components, center, solver))]
pub(super) fn fit_spca<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    target: Supervision<'py>,
    n_components: Option<usize>,
    center: bool,
    solver: &str,
) -> PyResult<Fit<'py>> {
    let (n, d) = x.shape();
    let solver = SpcaSolver::from_name(solver)
        .ok_or_else(|| Error::unknown("solver", solver, &SpcaSolver::ALL.map(SpcaSolver::name)))?;
    let options = SpcaOptions { components: n_components, center, solver };
    let flops = 8.0 * (n * d) as f64
        + match &target {
            Some((y, comparison)) => comparison.cost(y.shape()),
            None => super::pca::cost((n, d)),
        };
    let fit = with_factor!(&target, factor => with_view!(&x, rows => compute(py, flops, |team| {
        Spca::fit(rows, factor(team)?.as_ref(), &options, team)
    })))?;
    Ok((
        columns_as_rows(py, fit.components, x.is_single())?,
        vector(py, fit.eigenvalues),
        fit.hsic,
        vector(py, fit.mean),
        fit.rank,
        fit.solver.name(),
    ))
}

#[pyfunction]
#[pyo3(signature = (x, kernel, target, n_components))]
pub(super) fn fit_kernel_spca<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    kernel: Option<Kernel<Gamma>>,
    target: Supervision<'py>,
    n_components: Option<usize>,
) -> PyResult<KernelFit<'py>> {
    let (n, d) = x.shape();
    let flops = cost(n, n, d) + target.as_ref().map_or(0.0, |(y, comparison)| comparison.cost(y.shape()));
    let (fit, kernel) = with_factor!(&target, factor => with_view!(&x, rows => compute(py, flops, |team| {
        let factor = factor(team)?;
        Ok(match kernel {
            None => (KernelSpca::of_matrix(rows, factor.as_ref(), n_components, team)?, None),
            Some(kernel) => {
                let (fit, kernel) = KernelSpca::of_rows(rows, &kernel, factor.as_ref(), n_components, team)?;
                (fit, Some(kernel))
            }
        })
    })))?;
    Ok((
        columns_as_rows(py, fit.dual, x.is_single())?,
        vector(py, fit.eigenvalues),
        fit.hsic,
        vector(py, fit.means),
        fit.rank,
        kernel.and_then(|kernel| kernel.rate()).map(Rate::parts),
    ))
}

#[pyfunction]
#[pyo3(signature = (x, fitted, kernel, centered, means, dual))]
pub(super) fn kernel_spca_scores<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    fitted: Matrix<'py>,
    kernel: Kernel<Gamma>,
    centered: bool,
    means: PyReadonlyArray1<'py, f64>,
    dual: Matrix<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let ((m, d), n, k) = (x.shape(), fitted.shape().0, dual.shape().0);
    let flops = cost(m, n, d) + 2.0 * (m * n) as f64 * k as f64;
    let means = means.as_slice()?;
    let kernel = if centered { about_mean(kernel) } else { kernel };
    with_views!((&x, &fitted), (x, fitted) => with_view!(&dual, dual => {
        let work = |out: &mut [_]| compute(py, flops, |team| {
            row_scores((x, fitted), &kernel, (means, dual), out, team)
        });
        Ok(filled(py, [m, k], work)?.into_any())
    }))
}
