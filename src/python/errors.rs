//! Core errors and panics as Python exceptions: one table.

use crate::error::Error;
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

create_exception!(prinax._core, InternalError, PyRuntimeError, "A bug in prinax: please report it with its message.");

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let sentence = error.to_string();
        match error {
            Error::NoConvergence { .. } | Error::Singular { .. } => Python::attach(|py| lin_alg_error(py, sentence)),
            Error::Memory { .. } => PyMemoryError::new_err(sentence),
            Error::Interrupted => PyKeyboardInterrupt::new_err(()),
            _ => PyValueError::new_err(sentence),
        }
    }
}

fn lin_alg_error(py: Python<'_>, sentence: String) -> PyErr {
    match py
        .import("numpy.linalg")
        .and_then(|module| module.getattr("LinAlgError"))
        .and_then(|class| class.call1((sentence,)))
    {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

static PANIC_PLACE: Mutex<String> = Mutex::new(String::new());

/// Called once at import: a panic prints nothing and leaves its place for [`guard`]. The extension has its own copy of
/// the standard library, so nobody else's hook is touched.
pub(super) fn remember_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        *PANIC_PLACE.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }));
}

/// Runs `work`; a panic becomes [`InternalError`], which `except Exception` catches (PyO3's own does not derive from
/// it).
pub(super) fn guard<R>(work: impl FnOnce() -> R) -> PyResult<R> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let place = PANIC_PLACE.lock().unwrap_or_else(PoisonError::into_inner);
        InternalError::new_err(format!("a bug in prinax, please report it: {} ({place})", message(&*panic)))
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("unknown")
}
