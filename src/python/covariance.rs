//! Second moments: covariance, inner products, row centring, and the state that streams.

use super::arrays::{Matrix, Vector, bytes, filled, square, vector, with_view};
use super::fitted::{Fitted, Swap};
use super::jobs::compute;
use crate::covariance::{Columns, Fading, Moments as State, MomentsOptions, center_rows as center, inner_products};
use crate::error::Result;
use crate::memory;
use crate::models::{moments_from_bytes, moments_to_bytes};
use crate::simd::Centered;
use numpy::{PyArray1, PyArray2};
use pyo3::types::{PyBytes, PyDict};
use pyo3::{intern, prelude::*};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// Mean and scatter of rows that come in batches. A batch that is refused leaves the state as it was.
///
/// A reader takes the state with it, and what changes it then changes a copy. The lock is never held while Python code
/// may run: a signal handler or a finalizer may use the same object.
#[pyclass(frozen, module = "prinax._core")]
pub(super) struct Moments(Mutex<Arc<State>>);

impl Moments {
    fn of(state: State) -> Self {
        Self(Mutex::new(Arc::new(state)))
    }

    fn lock(&self) -> MutexGuard<'_, Arc<State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state as it is now.
    pub(super) fn now(&self) -> Arc<State> {
        Arc::clone(&self.lock())
    }

    /// Changes the state, and with it, at once, the attributes of the estimator whose it is.
    fn change(
        &self,
        py: Python<'_>,
        fitted: Option<Fitted<'_>>,
        how: impl FnOnce(&mut State) -> Result<()>,
    ) -> PyResult<()> {
        let swap = fitted.map(Swap::prepared).transpose()?;
        let count = {
            let mut state = self.lock();
            if Arc::get_mut(&mut state).is_none() {
                room(&state, 1, "a copy of the moments")?;
            }
            how(Arc::make_mut(&mut state))?;
            state.count()
        };
        let Some(swap) = swap else { return Ok(()) };
        swap.set(intern!(py, "n_samples_seen_"), count)?;
        swap.make()
    }
}

/// Refuses `halves` of a d x d matrix where there is no room for them.
fn room(state: &State, halves: usize, what: &'static str) -> Result<()> {
    let d = state.dim();
    memory::check_matrices::<f64>(halves, (d.div_ceil(2), d), what)
}

#[pymethods]
impl Moments {
    #[new]
    fn new(n_features: usize) -> PyResult<Self> {
        Ok(Self::of(State::new(n_features)?))
    }

    #[pyo3(signature = (x, weights, factor = 1.0, fitted = None))]
    fn update<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        weights: Option<Vector<'py>>,
        factor: f64,
        fitted: Option<Fitted<'py>>,
    ) -> PyResult<()> {
        let (n, d) = x.shape();
        let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
        let flops = (n + 1) as f64 * (d * d) as f64;
        // The batch is read without the lock, so that no thread waits for it with the interpreter's lock in hand.
        let batch = with_view!(&x, rows => compute(py, flops, |team| Fading::of(rows, weights, factor, team)))?;
        // A signal that came meanwhile ends the call while nothing has changed.
        py.check_signals()?;
        self.change(py, fitted, |state| state.append(&batch))
    }

    /// Rows that are all absent: looked at, and not taken in.
    #[staticmethod]
    fn pass_over<'py>(py: Python<'py>, x: Matrix<'py>) -> PyResult<()> {
        let (n, d) = x.shape();
        with_view!(&x, rows => compute(py, (n * d) as f64, |_| rows.check_finite("X")))
    }

    #[pyo3(signature = (other, fitted = None))]
    fn merge<'py>(&self, py: Python<'py>, other: &Self, fitted: Option<Fitted<'py>>) -> PyResult<()> {
        let other = other.now();
        self.change(py, fitted, |state| state.merge(&other))
    }

    fn forget(&self, py: Python<'_>, factor: f64) -> PyResult<()> {
        self.change(py, None, |state| state.forget(factor))
    }

    fn copy(&self) -> Self {
        Self(Mutex::new(self.now()))
    }

    /// Copies of the moments and of the attributes of the estimator whose they are, both as they are now.
    fn copy_with<'py>(&self, attributes: &Bound<'py, PyDict>) -> PyResult<(Self, Bound<'py, PyDict>)> {
        // Making a dictionary may let others run, filling it does not.
        let attributes = attributes.copy()?;
        Ok((self.copy(), attributes))
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
        vector(py, self.now().mean())
    }

    fn scatter<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let state = self.now();
        room(&state, 2, "the scatter matrix")?;
        square(py, state.scatter().unscaled())
    }

    fn variances<'py>(&self, py: Python<'py>, ddof: u32) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(vector(py, self.now().variances(f64::from(ddof))?))
    }

    fn covariance<'py>(&self, py: Python<'py>, ddof: u32) -> PyResult<Bound<'py, PyArray2<f64>>> {
        square(py, self.now().covariance(f64::from(ddof))?)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.now();
        // A copy of the numbers, their bytes, and those that Python holds.
        room(&state, 3, "the bytes of the moments")?;
        bytes(py, &moments_to_bytes(&state))
    }

    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        Ok(Self::of(moments_from_bytes(data)?))
    }
}
