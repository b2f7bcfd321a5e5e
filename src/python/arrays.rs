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
fn addressable<T: numpy::Element>(x: PyReadonlyArray2<'_, T>) -> PyResult<PyReadonlyArray2<'_, T>> {
    let fits =
        |(&len, &stride): (&usize, &isize)| len <= 1 || usize::try_from(stride).is_ok_and(|s| s % size_of::<T>() == 0);
    if x.is_aligned() && x.shape().iter().zip(x.strides()).all(fits) {
        return Ok(x);
    }
    let keep_order = PyDict::new(x.py());
    keep_order.set_item("order", "K")?;
    x.call_method(intern!(x.py(), "copy"), (), Some(&keep_order))?.extract()
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

/// Exactly an ndarray of type T, two-dimensional, C-ordered, aligned: what the fast road reads without asking further.
///
/// No borrow is registered: the lock of the interpreter is held from this look to the last use, or the work below it
/// only reads what Python code must not change during a call.
pub(super) fn plain_matrix<'a, T: Element + numpy::Element>(x: &'a Bound<'_, PyAny>) -> Option<MatrixView<'a, T>> {
    let x = x.cast_exact::<PyArray2<T>>().ok()?;
    let (rows, cols) = (x.shape()[0], x.shape()[1]);
    if !x.is_c_contiguous() || !x.is_aligned() {
        return None;
    }
    // SAFETY: C-contiguous and aligned, seen just above; the array outlives the view.
    #[allow(unsafe_code)]
    let data = unsafe { x.as_slice() }.ok()?;
    MatrixView::new(data, rows, cols).ok()
}

/// Exactly a one-dimensional, contiguous, aligned float64 ndarray.
pub(super) fn plain_vector<'a>(x: &'a Bound<'_, PyAny>) -> Option<&'a [f64]> {
    let x = x.cast_exact::<PyArray1<f64>>().ok()?;
    if !x.is_c_contiguous() || !x.is_aligned() {
        return None;
    }
    // SAFETY: contiguous and aligned, seen just above; the array outlives the slice.
    #[allow(unsafe_code)]
    unsafe { x.as_slice() }.ok()
}

/// [`plain_vector`] of an optional argument.
#[allow(clippy::option_option)]
pub(super) fn plain_vector_or_none<'a>(x: &'a Bound<'_, PyAny>) -> Option<Option<&'a [f64]>> {
    if x.is_none() { Some(None) } else { plain_vector(x).map(Some) }
}

/// A new C-ordered array, written by `fill`.
pub(super) fn filled<T: numpy::Element>(
    py: Python<'_>,
    shape: [usize; 2],
    fill: impl FnOnce(&mut [T]) -> PyResult<()>,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    let out = PyArray2::<T>::zeros(py, shape, false);
    fill(out.readwrite().as_slice_mut()?)?;
    Ok(out)
}

/// A vector as a NumPy array, moved.
pub(super) fn vector(py: Python<'_>, x: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    PyArray1::from_vec(py, x)
}

/// A d x k matrix as a C-ordered (k, d) array: the columns become the rows. Moved, or rounded to float32 where `like` is.
pub(super) fn columns_as_rows<'py>(
    py: Python<'py>,
    x: DMatrix<f64>,
    like: Option<&Matrix<'py>>,
) -> PyResult<Bound<'py, PyAny>> {
    let shape = [x.ncols(), x.nrows()];
    let data: Vec<f64> = x.data.into();
    if let Some(Matrix::F32(_)) = like {
        let narrow = data.into_iter().map(f32::of).collect();
        return Ok(PyArray1::from_vec(py, narrow).reshape(shape)?.into_any());
    }
    Ok(PyArray1::from_vec(py, data).reshape(shape)?.into_any())
}

/// A symmetric matrix as a NumPy array, moved.
pub(super) fn square(py: Python<'_>, x: DMatrix<f64>) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let shape = [x.nrows(), x.ncols()];
    let data: Vec<f64> = x.data.into();
    PyArray1::from_vec(py, data).reshape(shape)
}
