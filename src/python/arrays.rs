//! NumPy arrays as views of the core, and results of the core as NumPy arrays, without a copy either way.

use crate::error::Result;
use crate::matrix::{Element, MatrixView, span};
use nalgebra::DMatrix;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::types::PyDict;
use pyo3::{intern, prelude::*};

/// A matrix argument of either dtype, borrowed for the call.
pub(super) enum Matrix<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
}

impl<'py> FromPyObject<'_, 'py> for Matrix<'py> {
    type Error = PyErr;

    fn extract(x: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(x) = x.extract::<PyReadonlyArray2<'py, f32>>() {
            return Ok(Self::F32(addressable(x)?));
        }
        Ok(Self::F64(addressable(x.extract::<PyReadonlyArray2<'py, f64>>()?)?))
    }
}

impl Matrix<'_> {
    pub(super) fn shape(&self) -> (usize, usize) {
        let shape = match self {
            Self::F32(x) => x.shape(),
            Self::F64(x) => x.shape(),
        };
        (shape[0], shape[1])
    }
}

/// Runs a generic body with `$view` bound to the view of a [`Matrix`], whichever its dtype: the one dtype match.
macro_rules! with_view {
    ($matrix:expr, $view:ident => $body:expr) => {
        match $matrix {
            $crate::python::arrays::Matrix::F32(array) => {
                let $view = $crate::python::arrays::view(array)?;
                $body
            }
            $crate::python::arrays::Matrix::F64(array) => {
                let $view = $crate::python::arrays::view(array)?;
                $body
            }
        }
    };
}
pub(super) use with_view;

/// `x` itself, or a copy where the core cannot address it: negative strides, strides that are no multiple of the
/// element, misaligned data.
fn addressable<'py, T: numpy::Element>(x: PyReadonlyArray2<'py, T>) -> PyResult<PyReadonlyArray2<'py, T>> {
    let fits =
        |(&len, &stride): (&usize, &isize)| len <= 1 || usize::try_from(stride).is_ok_and(|s| s % size_of::<T>() == 0);
    if x.is_aligned() && x.shape().iter().zip(x.strides()).all(fits) {
        return Ok(x);
    }
    let keep_order = PyDict::new(x.py());
    keep_order.set_item("order", "K")?;
    x.call_method(intern!(x.py(), "copy"), (), Some(&keep_order))?.extract().map_err(Into::into)
}

/// The view of an array that [`addressable`] has seen. An axis of length 1 may carry any stride (`x[None]` has 0).
pub(super) fn view<'a, T: Element + numpy::Element>(x: &'a PyReadonlyArray2<'_, T>) -> Result<MatrixView<'a, T>> {
    let (rows, cols) = (x.shape()[0], x.shape()[1]);
    let stride = |axis: usize, otherwise: usize| match x.shape()[axis] {
        0 | 1 => otherwise,
        _ => x.strides()[axis].unsigned_abs() / size_of::<T>(),
    };
    let strides = (stride(0, cols), stride(1, 1));
    let len = span((rows, cols), strides).unwrap_or(0);
    let data: &[T] = if len == 0 {
        &[]
    } else {
        // SAFETY: aligned and with non-negative strides (`addressable`), so the `len` elements from `data()` on lie
        // inside the array's buffer; the borrow keeps it alive and free of Rust writers.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(x.data(), len)
        }
    };
    MatrixView::with_strides(data, (rows, cols), strides)
}

/// A vector as a NumPy array, moved.
pub(super) fn vector(py: Python<'_>, x: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    PyArray1::from_vec(py, x)
}

/// A d x k matrix as a C-ordered (k, d) array, moved: the columns become the rows.
pub(super) fn columns_as_rows(py: Python<'_>, x: DMatrix<f64>) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let (rows, cols) = x.shape();
    let data: Vec<f64> = x.data.into();
    PyArray1::from_vec(py, data).reshape([cols, rows])
}
