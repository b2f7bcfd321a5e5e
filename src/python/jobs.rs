//! How a call computes: on the calling thread with the interpreter lock held, or in the pool with it released.

use super::errors::guard;
use crate::error::Result;
use crate::simd;
use crate::threads::{Team, in_pool, num_threads};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};

/// Floating-point operations below which a call stays on its thread with the lock held: about 0.25 ms. Giving the lock
/// back may cost a wait of 5 ms beside a busy Python thread, and waking the pool 20 us.
const SMALL: f64 = 2e6;

/// Operations below which a call stays on its thread with the lock released, however many threads there are: about 1 ms,
/// of which a second thread, that has to wake and to find the data in another's cache, saves nothing for certain.
const SHARED: f64 = 2e7;

/// Operations below which one thread computes where it was called, with the lock released: some 50 ms, after which
/// Ctrl-C is looked for anyway. A thread that was asleep finds its core asleep and its caches cold.
const SHORT: f64 = 5e8;

/// The one way into the core: `work` with a team fit for about `flops` operations, core errors as exceptions, panics as
/// `InternalError`, and Ctrl-C looked for while the pool works.
pub(super) fn compute<R: Send>(
    py: Python<'_>,
    flops: f64,
    work: impl FnOnce(&Team) -> Result<R> + Send,
) -> PyResult<R> {
    compute_watched(py, flops, |_| Ok(()), work)
}

/// [`compute`], with `watch` called every 50 ms while the pool works, and once after it; its exception ends the work.
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
    let threads = num_threads();
    let alone = if threads == 1 { SHORT } else { SHARED };
    if flops < alone {
        let result = guard(|| py.detach(|| work(&Team::solo())))??;
        watch(py)?;
        return Ok(result);
    }
    let stop = AtomicBool::new(false);
    let mut signal = None;
    // The method itself is not general enough in its lifetime to be passed.
    #[allow(clippy::redundant_closure_for_method_calls)]
    let poll = || {
        if signal.is_none() {
            // `attach` would panic while the interpreter shuts down; `None` then means: give up.
            match Python::try_attach(|py| py.check_signals().and_then(|()| watch(py))) {
                Some(Ok(())) => return,
                Some(Err(error)) => signal = Some(error),
                None => {}
            }
            stop.store(true, Ordering::Relaxed);
        }
    };
    let result = guard(|| py.detach(|| in_pool(threads, poll, || work(&Team::new(threads, &stop)))));
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
    crate::threads::set_num_threads(threads);
    Ok(())
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
