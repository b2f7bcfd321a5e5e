//! NumPy arrays as views of the core, and results of the core as NumPy arrays, without a copy either way.

use crate::error::Result;
use crate::matrix::{Element, MatrixView, room, span};
use crate::memory;
use nalgebra::DMatrix;
use numpy::ndarray::{Dimension, IntoDimension};
use numpy::npyffi::{_PyArray_GET_ITEM_DATA, NPY_ARRAY_WRITEABLE, PY_ARRAY_API, npy_intp};
use numpy::{
    PyArray, PyArray1, PyArray2, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::types::{PyBytes, PyDict};
use pyo3::{PyTypeInfo, intern, prelude::*};
use std::ffi::c_int;

/// A vector argument, borrowed for the call.
pub(super) type Vector<'py> = PyReadonlyArray1<'py, f64>;

/// A matrix argument of either dtype, borrowed for the call.
pub(super) enum Matrix<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
}

impl<'py> FromPyObject<'_, 'py> for Matrix<'py> {
    type Error = PyErr;

    fn extract(x: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        // The usual dtype first: an extraction that fails makes an exception.
        if let Ok(x) = x.extract::<PyReadonlyArray2<'py, f64>>() {
            return Ok(Self::F64(addressable(x)?));
        }
        Ok(Self::F32(addressable(x.extract::<PyReadonlyArray2<'py, f32>>()?)?))
    }
}

impl Matrix<'_> {
    pub(super) fn is_single(&self) -> bool {
        matches!(self, Self::F32(_))
    }

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

/// [`with_view`] of two matrices of one dtype; two dtypes are refused.
macro_rules! with_views {
    (($left:expr, $right:expr), ($x:ident, $y:ident) => $body:expr) => {{
        use $crate::python::arrays::{Matrix, view};
        match ($left, $right) {
            (Matrix::F32(x), Matrix::F32(y)) => {
                let ($x, $y) = (view(x)?, view(y)?);
                $body
            }
            (Matrix::F64(x), Matrix::F64(y)) => {
                let ($x, $y) = (view(x)?, view(y)?);
                $body
            }
            _ => Err(pyo3::exceptions::PyTypeError::new_err("two matrices of one call must have one dtype")),
        }
    }};
}
pub(super) use with_views;

/// [`with_views`] of two matrices of which the second may be missing: `$y` is an option.
macro_rules! with_both {
    (($left:expr, $right:expr), ($x:ident, $y:ident) => $body:expr) => {
        match $right {
            None => $crate::python::arrays::with_view!($left, $x => {
                let $y = None;
                $body
            }),
            Some(right) => $crate::python::arrays::with_views!(($left, right), ($x, right) => {
                let $y = Some(right);
                $body
            }),
        }
    };
}
pub(super) use with_both;

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
    if x.is_c_contiguous() { MatrixView::new(plain(x)?, x.shape()[0], x.shape()[1]).ok() } else { None }
}

/// The transpose of such an array in Fortran order: its columns as rows.
pub(super) fn plain_columns<'a, T: Element + numpy::Element>(x: &'a Bound<'_, PyAny>) -> Option<MatrixView<'a, T>> {
    let x = x.cast_exact::<PyArray2<T>>().ok()?;
    if x.is_fortran_contiguous() { MatrixView::new(plain(x)?, x.shape()[1], x.shape()[0]).ok() } else { None }
}

/// The elements of a contiguous and aligned array as they lie.
fn plain<'a, T: Element + numpy::Element, D: Dimension>(x: &'a Bound<'_, PyArray<T, D>>) -> Option<&'a [T]> {
    // SAFETY: `as_slice` sees for itself whether the array is contiguous and aligned; the array outlives the slice, and
    // of writers see `plain_matrix`.
    #[allow(unsafe_code)]
    unsafe { x.as_slice() }.ok()
}

/// Exactly a one-dimensional, contiguous, aligned float64 ndarray.
pub(super) fn plain_vector<'a>(x: &'a Bound<'_, PyAny>) -> Option<&'a [f64]> {
    plain(x.cast_exact::<PyArray1<f64>>().ok()?)
}

/// What the arrays made here are to the user.
pub(super) const RESULT: &str = "the result";

/// A new array of zeros of this shape in C order, in NumPy's memory: a `MemoryError` where there is no room for it.
///
/// `PyArray::zeros` panics there, with an exception that `except Exception` does not catch.
pub(super) fn zeros<T: Element + numpy::Element, D: IntoDimension>(
    py: Python<'_>,
    shape: D,
) -> PyResult<Bound<'_, PyArray<T, D::Dim>>> {
    let shape = shape.into_dimension();
    memory::check::<T>(shape.size_checked().unwrap_or(usize::MAX), RESULT)?;
    let too_many = |_| PyValueError::new_err(format!("{RESULT} has {} dimensions", shape.ndim()));
    let (dimensions, lengths) = (c_int::try_from(shape.ndim()).map_err(too_many)?, shape.slice().as_ptr());
    let dtype = numpy::dtype::<T>(py).into_dtype_ptr();
    // SAFETY: NumPy reads `dimensions` lengths, which `shape` holds: a usize and an npy_intp have one size, and a
    // length beyond isize::MAX is a negative one, which is refused. It takes over the reference to the dtype, and gives
    // back a new array of that dtype and so many dimensions, or null with an exception set.
    #[allow(unsafe_code)]
    unsafe {
        let lengths = lengths.cast::<npy_intp>().cast_mut();
        let array = PY_ARRAY_API.PyArray_Zeros(py, dimensions, lengths, dtype, 0);
        Ok(Bound::from_owned_ptr_or_err(py, array)?.cast_into_unchecked())
    }
}

/// A new array of this shape in C order, written by `fill`.
pub(super) fn filled<T: Element + numpy::Element, D: IntoDimension>(
    py: Python<'_>,
    shape: D,
    fill: impl FnOnce(&mut [T]) -> PyResult<()>,
) -> PyResult<Bound<'_, PyArray<T, D::Dim>>> {
    let out = zeros(py, shape)?;
    // SAFETY: made just above, in C order, and seen by nobody else yet.
    #[allow(unsafe_code)]
    fill(unsafe { out.as_slice_mut() }?)?;
    Ok(out)
}

/// Bytes as a Python object; `PyBytes::new` panics where there is no room for them.
pub(super) fn bytes<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, data.len(), |out| {
        out.copy_from_slice(data);
        Ok(())
    })
}

/// Elements up to which a copy in NumPy's own memory takes less time than an object that keeps the vector alive.
const COPIED: usize = 512;

/// A vector as a NumPy array, moved where it is long.
pub(super) fn vector(py: Python<'_>, x: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    if x.len() <= COPIED { PyArray1::from_slice(py, &x) } else { PyArray1::from_vec(py, x) }
}

/// Row-major values as a NumPy array in C order, moved where there are many.
fn array<T: Element + numpy::Element>(
    py: Python<'_>,
    data: Vec<T>,
    shape: [usize; 2],
) -> PyResult<Bound<'_, PyArray2<T>>> {
    if data.len() > COPIED {
        return PyArray1::from_vec(py, data).reshape(shape);
    }
    filled(py, shape, |out| {
        out.copy_from_slice(&data);
        Ok(())
    })
}

/// A d x k matrix as a C-ordered (k, d) array: the columns become the rows. Rounded to float32 for `single`.
pub(super) fn columns_as_rows(py: Python<'_>, x: DMatrix<f64>, single: bool) -> PyResult<Bound<'_, PyAny>> {
    let shape = [x.ncols(), x.nrows()];
    let data: Vec<f64> = x.data.into();
    if single {
        let mut narrow = room(data.len(), RESULT)?;
        narrow.extend(data.into_iter().map(f32::of));
        return Ok(array::<f32>(py, narrow, shape)?.into_any());
    }
    Ok(array(py, data, shape)?.into_any())
}

/// A matrix with its columns as columns: the transpose of the C-ordered array of them.
pub(super) fn columns(py: Python<'_>, x: DMatrix<f64>, single: bool) -> PyResult<Bound<'_, PyAny>> {
    columns_as_rows(py, x, single)?.getattr(intern!(py, "T"))
}

/// A symmetric matrix as a NumPy array.
pub(super) fn square(py: Python<'_>, x: DMatrix<f64>) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let shape = [x.nrows(), x.ncols()];
    let data: Vec<f64> = x.data.into();
    array(py, data, shape)
}

// --- what a frozen transform reads and writes: no borrow is registered, which would cost as much as its work ---

/// `x` as an array of T in C order: itself, or a copy where it lies otherwise. Any other dtype is refused.
pub(super) fn contiguous<'py, T: Element + numpy::Element>(
    x: &Bound<'py, PyAny>,
    what: &str,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let Ok(array) = x.cast::<PyArrayDyn<T>>() else { return Err(not_of::<T>(x, what)) };
    if !PyUntypedArray::is_exact_type_of(array) && x.hasattr(intern!(x.py(), "mask"))? {
        let sentence =
            format!("{what} is a masked array, whose mask would be ignored: fill it with {what}.filled(value)");
        return Err(PyTypeError::new_err(sentence));
    }
    if array.is_c_contiguous() && array.is_aligned() {
        return Ok(array.clone());
    }
    Ok(array.call_method1(intern!(x.py(), "copy"), ("C",))?.cast_into()?)
}

#[cold]
fn not_of<T: Element>(x: &Bound<'_, PyAny>, what: &str) -> PyErr {
    let wanted = if T::DOUBLE { "float64" } else { "float32" };
    PyTypeError::new_err(match x.cast::<PyUntypedArray>() {
        Ok(array) => format!("{what} must be {wanted}, got {}: convert it with astype({wanted:?})", array.dtype()),
        Err(_) => format!("{what} must be a NumPy array of {wanted}, got {}", x.get_type()),
    })
}

/// The values of an array that [`contiguous`] has seen.
pub(super) fn slice<'a, T: Element + numpy::Element>(x: &'a Bound<'_, PyArrayDyn<T>>) -> PyResult<&'a [T]> {
    // SAFETY: C-contiguous and aligned (`contiguous`); the array outlives the slice, and Python code must not write to
    // an argument during a call.
    #[allow(unsafe_code)]
    Ok(unsafe { x.as_slice() }?)
}

/// `out`, written by `fill`: an array of T of exactly this shape, in C order, writeable, in other memory than `x`.
pub(super) fn filled_apart<T: Element + numpy::Element>(
    out: &Bound<'_, PyAny>,
    shape: &[usize],
    x: &[T],
    fill: impl FnOnce(&mut [T]) -> PyResult<()>,
) -> PyResult<()> {
    let refuse = |sentence: String| Err(PyValueError::new_err(sentence));
    let Ok(out) = out.cast::<PyArrayDyn<T>>() else { return Err(not_of::<T>(out, "out")) };
    if out.shape() != shape {
        return refuse(format!("out must have shape {shape:?}, got {:?}", out.shape()));
    }
    // SAFETY: the array object is alive, and the interpreter's lock is held while its flags are read.
    #[allow(unsafe_code)]
    let writeable = unsafe { (*_PyArray_GET_ITEM_DATA(out.as_array_ptr())).flags & NPY_ARRAY_WRITEABLE != 0 };
    if !(writeable && out.is_c_contiguous() && out.is_aligned()) {
        return refuse("out must be a writeable array in C order".into());
    }
    let (first, len) = (out.data().cast_const(), out.len());
    let after = |start: *const T, len: usize| start.wrapping_add(len);
    if len > 0 && !x.is_empty() && first < after(x.as_ptr(), x.len()) && x.as_ptr() < after(first, len) {
        return refuse("out overlaps x in memory: pass an array of its own".into());
    }
    // SAFETY: C-contiguous, aligned and writeable, apart from `x`, the only other slice at hand; Python code must not
    // touch an `out` during a call.
    #[allow(unsafe_code)]
    fill(unsafe { out.as_slice_mut() }?)
}
