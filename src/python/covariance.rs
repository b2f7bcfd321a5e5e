//! Second moments: covariance, inner products, row centring, and the state that streams.

use super::arrays::{Matrix, Vector, bytes, filled, square, vector, with_view};
use super::jobs::compute;
use crate::covariance::{Columns, Fading, Moments as State, MomentsOptions, center_rows as center, inner_products};
use crate::memory;
use crate::models::{moments_from_bytes, moments_to_bytes};
use crate::simd::Centered;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[pyfunction]
#[pyo3(signature = (x, ddof, center, weights))]
pub(super) fn covariance<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    ddof: u32,
    center: bool,
    weights: Option<Vector<'py>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (n, d) = x.shape();
    memory::check_matrices::<f64>(1, (d, d), "the covariance matrix")?;
    let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
    let options = MomentsOptions { center, weights };
    let matrix = with_view!(&x, rows => compute(py, n as f64 * (d * d) as f64, |team| {
        State::of(rows, &options, team)?.covariance(f64::from(ddof))
    }))?;
    square(py, matrix)
}

#[pyfunction]
#[pyo3(signature = (x, center))]
pub(super) fn gram<'py>(py: Python<'py>, x: Matrix<'py>, center: bool) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (n, d) = x.shape();
    let matrix = with_view!(&x, rows => compute(py, (n * n) as f64 * d as f64, |team| {
        let Columns { mean, mean_rest, .. } = Columns::of(rows, center, team)?;
        let rows = Centered::new(rows, &mean, None).with_rest_of_mean(&mean_rest);
        inner_products(&rows, team)
    }))?;
    square(py, matrix)
}

#[pyfunction]
#[pyo3(signature = (x))]
pub(super) fn center_rows<'py>(py: Python<'py>, x: Matrix<'py>) -> PyResult<Bound<'py, PyAny>> {
    let (n, d) = x.shape();
    with_view!(&x, rows => {
        let work = |out: &mut [_]| compute(py, 3.0 * (n * d) as f64, |team| center(rows, out, team));
        Ok(filled(py, [n, d], work)?.into_any())
    })
}

/// Mean and scatter of rows that come in batches. The state is replaced whole: a batch that is refused leaves it as it was.
#[pyclass(frozen, module = "prinax._core")]
pub(super) struct Moments(Mutex<State>);

impl Moments {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state as it is now.
    pub(super) fn snapshot(&self) -> PyResult<State> {
        self.room(1, "a copy of the moments")?;
        Ok(self.lock().clone())
    }

    /// Refuses `halves` of a d x d matrix where there is no room for them.
    fn room(&self, halves: usize, what: &'static str) -> PyResult<()> {
        let d = self.lock().dim();
        Ok(memory::check_matrices::<f64>(halves, (d.div_ceil(2), d), what)?)
    }
}

#[pymethods]
impl Moments {
    #[new]
    fn new(n_features: usize) -> PyResult<Self> {
        Ok(Self(Mutex::new(State::new(n_features)?)))
    }

    #[pyo3(signature = (x, weights, factor = 1.0))]
    fn update<'py>(&self, py: Python<'py>, x: Matrix<'py>, weights: Option<Vector<'py>>, factor: f64) -> PyResult<()> {
        let (n, d) = x.shape();
        let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
        let flops = (n + 1) as f64 * (d * d) as f64;
        // The batch is read without the lock, so that no thread waits for it with the interpreter's lock in hand.
        let batch = with_view!(&x, rows => compute(py, flops, |team| Fading::of(rows, weights, factor, team)))?;
        Ok(self.lock().append(&batch)?)
    }

    /// Rows that are all absent: looked at, and not taken in.
    #[staticmethod]
    fn pass_over<'py>(py: Python<'py>, x: Matrix<'py>) -> PyResult<()> {
        let (n, d) = x.shape();
        with_view!(&x, rows => compute(py, (n * d) as f64, |_| rows.check_finite("X")))
    }

    fn merge(&self, other: &Self) -> PyResult<()> {
        let other = other.snapshot()?;
        Ok(self.lock().merge(&other)?)
    }

    fn forget(&self, factor: f64) -> PyResult<()> {
        Ok(self.lock().forget(factor)?)
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.lock().dim()
    }

    #[getter]
    fn count(&self) -> u64 {
        self.lock().count()
    }

    #[getter]
    fn weight(&self) -> f64 {
        self.lock().weight()
    }

    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        vector(py, self.lock().mean())
    }

    fn scatter<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.room(2, "the scatter matrix")?;
        square(py, self.snapshot()?.scatter().unscaled())
    }

    fn variances<'py>(&self, py: Python<'py>, ddof: u32) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(vector(py, self.lock().variances(f64::from(ddof))?))
    }

    fn covariance<'py>(&self, py: Python<'py>, ddof: u32) -> PyResult<Bound<'py, PyArray2<f64>>> {
        square(py, self.snapshot()?.covariance(f64::from(ddof))?)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        // Two copies of the numbers, their bytes, and those that Python holds.
        self.room(4, "the bytes of the moments")?;
        bytes(py, &moments_to_bytes(&self.snapshot()?))
    }

    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        Ok(Self(Mutex::new(moments_from_bytes(data)?)))
    }
}
