//! Fits of kernel principal component analysis, and its fitted map.

use super::arrays::{
    Matrix, RESULT, Vector, columns, columns_as_rows, filled, vector, view, with_both, with_view, with_views, zeros,
};
use super::jobs::compute;
use super::kernel::cost;
use crate::error::Error;
use crate::hsic::Sample;
use crate::kernel::{Gamma, Kernel, Rate};
use crate::matrix::MatrixView;
use crate::memory;
use crate::models::{
    Components, KernelMap, KernelPca, KernelPcaOptions, KernelSolver, Mapping, NewRows, Preimage, pre_images,
};
use crate::simd::Lane;
use crate::threads::Team;
use nalgebra::DMatrix;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

type Array<'py> = Bound<'py, PyAny>;
type Fit<'py> = (
    Bound<'py, PyArray1<f64>>,
    Array<'py>,
    Bound<'py, PyArray1<f64>>,
    Array<'py>,
    Option<f64>,
    Option<(f64, i32)>,
    Option<Bound<'py, PyArray1<f64>>>,
    f64,
    Option<(Bound<'py, PyArray1<f64>>, Array<'py>)>,
    &'static str,
);

impl<'py> FromPyObject<'_, 'py> for KernelSolver {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let name: String = value.extract()?;
        Self::from_name(&name).ok_or_else(|| Error::unknown("eigen_solver", &name, &Self::ALL.map(Self::name)).into())
    }
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (x, kernel, n_components, eigen_solver, tol, max_iter, iterated_power, remove_zero_eig, seed))]
pub(super) fn fit_kernel_pca<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    kernel: Option<Kernel<Gamma>>,
    n_components: Components,
    eigen_solver: KernelSolver,
    tol: f64,
    max_iter: Option<usize>,
    iterated_power: i64,
    remove_zero_eig: bool,
    seed: u64,
) -> PyResult<Fit<'py>> {
    let options = KernelPcaOptions {
        components: n_components,
        solver: eigen_solver,
        tol,
        rounds: max_iter,
        iterations: usize::try_from(iterated_power).ok(),
        seed,
        living_only: remove_zero_eig,
    };
    let n = x.shape().0 as f64;
    let fit = with_view!(&x, rows => {
        let sample = kernel.map_or(Sample::Precomputed(rows), |kernel| Sample::Rows(rows, kernel));
        // NumPy's memory: it asks for large pages, which the matrix is read and written in at twice the speed.
        let buffer = zeros::<f64, _>(py, [KernelPca::buffer_len(&sample, &options)?])?;
        let mut buffer = buffer.readwrite();
        let buffer = buffer.as_slice_mut()?;
        compute(py, n * n * (n + x.shape().1 as f64), |team| KernelPca::fit_in(&sample, &options, buffer, team))
    })?;
    let gamma = fit.kernel.and_then(|kernel| kernel.gamma());
    let settled = fit.kernel.and_then(|kernel| kernel.rate()).map(Rate::parts);
    let single = x.is_single();
    let (means, grand, axes) = match fit.map {
        Mapping::Kernel { means, grand } => (Some(vector(py, means)), grand, None),
        Mapping::Linear { mean, components } => {
            (None, 0.0, Some((vector(py, mean), columns_as_rows(py, components, single)?)))
        }
    };
    Ok((
        vector(py, fit.eigenvalues),
        columns(py, fit.eigenvectors, false)?,
        vector(py, fit.ratio),
        as_stored(py, &fit.scores, single)?,
        gamma,
        settled,
        means,
        grand,
        axes,
        fit.solver.name(),
    ))
}

/// A matrix as a C-ordered array of its own shape, rounded to float32 for `single`.
fn as_stored<'py>(py: Python<'py>, x: &DMatrix<f64>, single: bool) -> PyResult<Bound<'py, PyAny>> {
    columns_as_rows(py, x.transpose(), single)
}

/// Kernel values of new rows: those of a kernel with the training rows, or, without a kernel, the matrix given.
fn new_rows<'a, T: Lane>(
    x: MatrixView<'a, T>,
    training: Option<MatrixView<'a, T>>,
    kernel: Option<&'a Kernel>,
) -> NewRows<'a, T> {
    match (training, kernel) {
        (Some(training), Some(kernel)) => NewRows::Rows(x, training, kernel),
        _ => NewRows::Values(x),
    }
}

/// A kernel of a fit: every parameter is a number by now.
fn settled<T: Lane>(kernel: Option<Kernel<Gamma>>, x: MatrixView<T>) -> crate::error::Result<Option<Kernel>> {
    kernel.map(|kernel| kernel.resolve(x, "X", &Team::solo())).transpose()
}

/// The fitted arrays of a kernel map: K1/n, the mean of K, eigenvectors, eigenvalues.
type Fitted<'py> = (Vector<'py>, f64, PyReadonlyArray2<'py, f64>, Vector<'py>);

fn map_of<'a>((means, grand, vectors, eigenvalues): &'a Fitted<'_>) -> PyResult<KernelMap<'a>> {
    Ok(KernelMap::new(means.as_slice()?, *grand, view(vectors)?.transpose(), eigenvalues.as_slice()?)?)
}

#[pyfunction]
#[pyo3(signature = (x, training, kernel, fitted))]
pub(super) fn kernel_project<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    training: Option<Matrix<'py>>,
    kernel: Option<Kernel<Gamma>>,
    fitted: Fitted<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let map = map_of(&fitted)?;
    let ((m, d), n, k) = (x.shape(), fitted.0.len(), map.k());
    with_both!((&x, &training), (x, training) => {
        let flops = cost(m, n, if training.is_some() { d + k } else { k });
        let work = |out: &mut [_]| {
            let kernel = settled(kernel, x)?;
            let rows = new_rows(x, training, kernel.as_ref());
            compute(py, flops, |team| map.project(rows, out, team))
        };
        Ok(filled(py, [m, k], work)?.into_any())
    })
}

#[pyfunction]
#[pyo3(signature = (x, training, kernel, fitted, diagonal))]
pub(super) fn kernel_squared_residuals<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    training: Option<Matrix<'py>>,
    kernel: Option<Kernel<Gamma>>,
    fitted: Fitted<'py>,
    diagonal: Option<Vector<'py>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let map = map_of(&fitted)?;
    let (m, d) = x.shape();
    let diagonal = diagonal.as_ref().map(|d| d.as_slice()).transpose()?;
    let flops = cost(m, fitted.0.len(), if training.is_some() { d } else { 0 } + map.k());
    memory::check::<f64>(m, RESULT)?;
    let squares = with_both!((&x, &training), (x, training) => {
        let kernel = settled(kernel, x)?;
        let rows = new_rows(x, training, kernel.as_ref());
        compute(py, flops, |team| map.squared_residuals(rows, diagonal, team))
    })?;
    Ok(vector(py, squares))
}

#[pyfunction]
#[pyo3(signature = (x, scores, kernel, alpha))]
pub(super) fn learn_preimage<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    scores: Matrix<'py>,
    kernel: Option<Kernel<Gamma>>,
    alpha: f64,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>)> {
    let (n, d) = x.shape();
    let flops = (n as f64).powi(2) * (n as f64 + 2.0 * d as f64);
    let way: Preimage = with_views!((&x, &scores), (x, scores) => {
        let sample = kernel.map_or(Sample::Precomputed(scores), |kernel| Sample::Rows(scores, kernel));
        compute(py, flops, |team| Preimage::learn(x, &sample, alpha, team))
    })?;
    Ok((columns(py, way.dual, false)?, vector(py, way.mean)))
}

#[pyfunction]
#[pyo3(signature = (z, training, kernel, dual, mean))]
pub(super) fn pre_image<'py>(
    py: Python<'py>,
    z: Matrix<'py>,
    training: Option<Matrix<'py>>,
    kernel: Option<Kernel<Gamma>>,
    dual: PyReadonlyArray2<'py, f64>,
    mean: Vector<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let ((m, k), [n, d]) = (z.shape(), [dual.shape()[0], dual.shape()[1]]);
    let (dual, mean) = (view(&dual)?.transpose(), mean.as_slice()?);
    let flops = cost(m, n, if training.is_some() { k } else { 0 } + d);
    with_both!((&z, &training), (z, training) => {
        let work = |out: &mut [_]| {
            let kernel = settled(kernel, z)?;
            let rows = new_rows(z, training, kernel.as_ref());
            compute(py, flops, |team| pre_images(rows, (dual, mean), out, team))
        };
        Ok(filled(py, [m, d], work)?.into_any())
    })
}
