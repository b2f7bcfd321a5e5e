//! The frozen transform as a Python object that is called like a function.

use super::arrays::{Matrix, Vector, bytes, contiguous, filled, filled_apart, slice, view};
use super::jobs::compute;
use crate::error::Result;
use crate::memory;
use crate::models::{AnyFrozen, Frozen, LinearMap};
use crate::simd::Lane;
use numpy::ndarray::IntoDimension;
use numpy::{Element, PyArray, PyArray1, PyArrayDescr, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

#[pyclass(frozen, subclass, module = "prinax._core")]
pub(super) struct FrozenTransform(AnyFrozen);

#[pymethods]
impl FrozenTransform {
    #[new]
    #[pyo3(signature = (mean, matrix, scale, whitening))]
    fn new(
        mean: Vector<'_>,
        matrix: Matrix<'_>,
        scale: Option<Vector<'_>>,
        whitening: Option<(Vector<'_>, Vector<'_>)>,
    ) -> PyResult<Self> {
        let scale = scale.as_ref().map(|s| s.as_slice()).transpose()?;
        let whitening = match &whitening {
            Some((variance, deviations)) => Some([variance.as_slice()?, deviations.as_slice()?]),
            None => None,
        };
        let mean = mean.as_slice()?;
        Ok(Self(match &matrix {
            Matrix::F32(array) => AnyFrozen::F32(Frozen::of(&LinearMap::new(mean, view(array)?, scale, whitening)?)?),
            Matrix::F64(array) => AnyFrozen::F64(Frozen::of(&LinearMap::new(mean, view(array)?, scale, whitening)?)?),
        }))
    }

    #[pyo3(signature = (x, /, *, out = None))]
    fn __call__<'py>(&self, x: &Bound<'py, PyAny>, out: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        match &self.0 {
            AnyFrozen::F32(map) => call(map, x, out),
            AnyFrozen::F64(map) => call(map, x, out),
        }
    }

    /// ndarray of shape (n_components, n_features): one row a score, of the transform's `dtype`.
    ///
    /// A new array on each read. For a whitening model the standard deviations are divided into its rows.
    #[getter]
    fn matrix<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let shape = [self.n_components(), self.n_features()];
        Ok(match &self.0 {
            AnyFrozen::F32(map) => copied(py, shape, map.matrix())?.into_any(),
            AnyFrozen::F64(map) => copied(py, shape, map.matrix())?.into_any(),
        })
    }

    /// ndarray of shape (n_features,), float64: what is subtracted from a row.
    ///
    /// A new array on each read.
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let mean = match &self.0 {
            AnyFrozen::F32(map) => map.mean(),
            AnyFrozen::F64(map) => map.mean(),
        };
        copied(py, [mean.len()], mean)
    }

    /// ndarray of shape (n_features,), float64, or None: what centred columns are divided by.
    ///
    /// A new array on each read. A column of scale 0 is left out of the scores.
    #[getter]
    fn scale<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let scale = match &self.0 {
            AnyFrozen::F32(map) => map.scale(),
            AnyFrozen::F64(map) => map.scale(),
        };
        scale.map(|scale| copied(py, [scale.len()], scale)).transpose()
    }

    /// dtype: float32 or float64, of the rows that come in and of the scores.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDescr> {
        match &self.0 {
            AnyFrozen::F32(_) => numpy::dtype::<f32>(py),
            AnyFrozen::F64(_) => numpy::dtype::<f64>(py),
        }
    }

    /// int: the length of a row.
    #[getter]
    fn n_features(&self) -> usize {
        match &self.0 {
            AnyFrozen::F32(map) => map.d(),
            AnyFrozen::F64(map) => map.d(),
        }
    }

    /// int: the length of a row's scores.
    #[getter]
    fn n_components(&self) -> usize {
        match &self.0 {
            AnyFrozen::F32(map) => map.k(),
            AnyFrozen::F64(map) => map.k(),
        }
    }

    /// The transform as bytes, those of the .safetensors file that `save` writes.
    ///
    /// Returns
    /// -------
    /// data : bytes
    ///     `from_bytes` makes the same transform of them, to the bit. The same transform gives the same bytes, and
    ///     nothing in them could be executed.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        // In the core and in Python; a number has at most 8 bytes.
        memory::check_matrices::<f64>(2, (self.n_components(), self.n_features()), "the bytes of the transform")?;
        bytes(py, &self.0.to_bytes())
    }

    /// A new object of the class it is called on is made in Python from what this reads.
    #[staticmethod]
    fn read(data: &[u8]) -> Result<Self> {
        AnyFrozen::from_bytes(data).map(Self)
    }
}

/// A new array of these values.
fn copied<'py, T: Lane + Element, D: IntoDimension>(
    py: Python<'py>,
    shape: D,
    values: &[T],
) -> PyResult<Bound<'py, PyArray<T, D::Dim>>> {
    filled(py, shape, |out| {
        out.copy_from_slice(values);
        Ok(())
    })
}

/// One row, (d,) -> (k,), or a batch, (n, d) -> (n, k); into `out` where it is given.
fn call<'py, T: Lane + Element>(
    map: &Frozen<T>,
    x: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let x = contiguous::<T>(x, "x")?;
    let (k, d) = (map.k(), map.d());
    let (rows, shape) = match *x.shape() {
        [width] if width == d => (1, &[k][..]),
        [rows, width] if width == d => (rows, &[rows, k][..]),
        _ => return Err(misshaped(x.shape(), d)),
    };
    let data = slice(&x)?;
    // A product and its addition count as one operation: this loop is faster than those that `compute` reckons with.
    let cost = (rows * d) as f64 * k as f64;
    let work = |out: &mut [T]| compute(x.py(), cost, |team| map.apply(data, out, team));
    match out {
        None => Ok(filled(x.py(), shape, work)?.into_any()),
        Some(out) => {
            filled_apart(out, shape, data, work)?;
            Ok(out.clone())
        }
    }
}

#[cold]
fn misshaped(shape: &[usize], d: usize) -> PyErr {
    PyValueError::new_err(match shape {
        [width] | [_, width] => {
            format!("x has {width} features, but this FrozenTransform is expecting {d} features as input.")
        }
        _ => format!("x must be one row of shape ({d},) or a batch of shape (n, {d}), got {} dimensions", shape.len()),
    })
}
