//! The attributes of a fitted estimator, swapped in at once: no signal handler and no other thread meets half of them.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// An estimator's attributes, what a fit has found, and the names that one fit leaves and the next may lack.
pub(super) type Fitted<'py> = (Bound<'py, PyDict>, Bound<'py, PyDict>, Bound<'py, PyTuple>);

/// Attributes ready to be swapped in.
pub(super) struct Swap<'py> {
    fitted: Fitted<'py>,
    /// What goes away lives on in it until all is in its place, for its end may run Python code.
    before: Bound<'py, PyDict>,
}

impl<'py> Swap<'py> {
    /// Whatever may let Python code run comes before the first change.
    pub(super) fn prepared(fitted: Fitted<'py>) -> PyResult<Self> {
        let before = fitted.0.copy()?;
        Ok(Self { fitted, before })
    }

    /// Adds to what the fit has found.
    pub(super) fn set(&self, name: &Bound<'py, PyAny>, value: u64) -> PyResult<()> {
        self.fitted.1.set_item(name, value)
    }

    /// Swaps.
    pub(super) fn make(self) -> PyResult<()> {
        let (attributes, found, sometimes) = self.fitted;
        for name in sometimes.iter_borrowed() {
            if attributes.contains(name)? && !found.contains(name)? {
                attributes.del_item(name)?;
            }
        }
        attributes.update(found.as_mapping())?;
        drop(self.before);
        Ok(())
    }
}

#[pyfunction]
#[pyo3(signature = (attributes, found, sometimes))]
pub(super) fn set_fitted(
    attributes: Bound<'_, PyDict>,
    found: Bound<'_, PyDict>,
    sometimes: Bound<'_, PyTuple>,
) -> PyResult<()> {
    Swap::prepared((attributes, found, sometimes))?.make()
}
