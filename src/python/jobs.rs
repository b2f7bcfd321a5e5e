//! How a call computes: on the calling thread with the interpreter lock held, or there or in the pool with it released.

use super::errors::guard;
use crate::error::Result;
use crate::simd;
use crate::threads::{Team, num_threads, run};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::num::NonZero;

/// Floating-point operations below which a call stays on its thread with the lock held: about 0.25 ms. Giving the lock
/// back may cost a wait of 5 ms beside a busy Python thread, and waking the pool 20 us.
pub(super) const SMALL: f64 = 2e6;

/// Operations below which a call stays on its thread with the lock released, however many threads there are: about 1.5
/// ms, of which a second thread, that has to wake and to find the data in another's cache, saves nothing for certain.
const SHARED: f64 = 3.5e7;

/// The one way into the core: `work` with a team fit for about `flops` operations, core errors as exceptions, panics as
/// `InternalError`, and Ctrl-C looked for every 50 ms.
pub(super) fn compute<R: Send>(
    py: Python<'_>,
    flops: f64,
    work: impl FnOnce(&Team) -> Result<R> + Send,
) -> PyResult<R> {
    compute_watched(py, flops, |_| Ok(()), work)
}

/// [`compute`], with `watch` called every 50 ms, and once after the work; its exception ends the work.
pub(super) fn compute_watched<R: Send>(
    py: Python<'_>,
    flops: f64,
    mut watch: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    work: impl FnOnce(&Team) -> Result<R> + Send,
) -> PyResult<R> {
    if flops < SMALL {
        let result = guard(|| work(&Team::solo()))??;
        watch(py)?;
        return Ok(result);
    }
    let threads = if flops < SHARED { 1 } else { num_threads() };
    let mut signal = None;
    // The method itself is not general enough in its lifetime to be passed.
    #[allow(clippy::redundant_closure_for_method_calls)]
    let poll = || {
        if signal.is_some() {
            return true;
        }
        // `None`: the interpreter shuts down, and nobody can ask for anything any more. The work goes on: a finalizer
        // may be waiting for it.
        if let Some(Err(error)) = Python::try_attach(|py| py.check_signals().and_then(|()| watch(py))) {
            signal = Some(error);
        }
        signal.is_some()
    };
    let result = guard(|| py.detach(|| run(threads, poll, work)));
    if let Some(error) = signal {
        return Err(error);
    }
    let result = result??;
    watch(py)?;
    Ok(result)
}

/// Set the number of threads that prinax uses in this process; None returns to the environment's choice.
#[pyfunction]
#[pyo3(signature = (n, /))]
pub(super) fn set_num_threads(n: Option<usize>) -> PyResult<()> {
    let wrong = || PyValueError::new_err("n must be a positive number of threads or None, got 0");
    let threads = n.map(|n| NonZero::new(n).ok_or_else(wrong)).transpose()?;
    Ok(crate::threads::set_num_threads(threads)?)
}

/// The number of threads that prinax uses in this process.
#[pyfunction]
pub(super) fn get_num_threads() -> usize {
    num_threads()
}

/// The instruction set in use: "scalar", "v3" or "v4".
#[pyfunction]
pub(super) fn simd_level() -> &'static str {
    simd::level().name()
}
