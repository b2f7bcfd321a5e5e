"""What comes in: arrays, column names, sample weights, and every sentence a user reads about them."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from . import _frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]

# What the core reads as it is, in this machine's byte order.
READABLE = (np.dtype(np.float64), np.dtype(np.float32))

# Names quoted in a message before it says "...".
NAMES_SHOWN = 5

# DLPack device types whose memory this process can read: CPU, CUDA pinned host, ROCm pinned host.
HOST_DEVICES = (1, 3, 11)


def matrix(X: Any, by: str, what: str = "X", rows: int = 1, cols: int = 1) -> Array:
    """`X` as a 2-D float32 or float64 array that the core can read; no copy where none is needed.

    float32 and float64 are kept, other real numbers become float64. NaN and infinities are found by the core.
    """
    A = _read(X, by, what)
    if A.ndim != 2:
        raise _wrong_dimension(A, by, what)
    if A.dtype not in READABLE or not A.flags.aligned:
        A = _as_float(A, what)
    n, d = A.shape
    if n < rows or d < cols:
        found, least, unit = (n, rows, "sample(s)") if n < rows else (d, cols, "feature(s)")
        raise ValueError(
            f"Found {what} with {found} {unit} (shape={A.shape}) while a minimum of {least} is required "
            f"by {by}."
        )
    return A


def columns(X: Any, by: str, what: str = "X") -> Array:
    """`matrix` of `X`, where one dimension is one column."""
    A = _read(X, by, what)
    return matrix(A[:, None] if A.ndim == 1 else A, by, what)


def as_array(X: Any, by: str, what: str) -> Array:
    """`X` as an array of whatever dtype and dimension; sparse, masked, lazy and device data are refused."""
    return _read(X, by, what)


def plain(X: Any, what: str, make: Callable[[Any], Array] = np.asarray) -> Array:
    """`X` as NumPy makes an array of it, of whatever dtype and dimension."""
    try:
        return make(X)
    except MemoryError:
        raise
    except Exception as error:
        raise _unreadable(X, what, error) from error


def vector(values: Any, length: int, by: str, what: str) -> Array:
    """`values` as a contiguous float64 array of shape (length,); finiteness is left to the core."""
    A = _as_float(_read(values, by, what), what)
    if A.shape != (length,):
        raise ValueError(f"{what} must be 1-D of length {length}, got shape {A.shape}")
    return np.ascontiguousarray(A, np.float64)


def square(A: Any, by: str, what: str) -> Array:
    """`A` as a square matrix; symmetry is looked at by the core."""
    M = matrix(A, by, what)
    if M.shape[0] != M.shape[1]:
        raise ValueError(f"{what} must be a square matrix, got shape {M.shape}")
    return M


def sample_weights(sample_weight: Any, n: int, by: str) -> tuple[Array | None, int]:
    """The weights as float64 (None stays None), and the number of rows of non-zero weight."""
    if sample_weight is None:
        return None, n
    w = vector(sample_weight, n, by, "sample_weight")
    if not np.isfinite(w).all():
        raise ValueError("sample_weight contains NaN or infinity; every weight must be finite")
    if n and w.min() < 0:
        raise ValueError(
            f"sample_weight must not be negative, got {w.min():g} at position {int(w.argmin())}; "
            "weights are frequencies"
        )
    present = int(np.count_nonzero(w))
    if present == 0:
        raise ValueError("sample_weight is zero for every row; at least one weight must be positive")
    return w, present


def enough_samples(n: int, weights: Array | None, ddof: int, by: str, *, asked: bool = True) -> None:
    """Refuses samples, or weights, that leave no degree of freedom. `asked`: ddof is a parameter."""
    if weights is not None:
        with np.errstate(over="ignore"):  # the core refuses an infinite sum
            enough_weight(float(weights.sum()), ddof, "sample_weight", asked=asked)
    elif n <= ddof:
        given, less = (f" with ddof={ddof}", "ddof") if asked else ("", ddof)
        raise ValueError(
            f"Found X with {n} sample(s) while a minimum of {ddof + 1} is required by {by}{given} "
            f"(the divisor of the variances is n_samples - {less})."
        )


def enough_rows(n: int, by: str) -> None:
    """Refuses fewer than the two rows that dependence on a target needs."""
    if n < 2:
        raise ValueError(f"Found X with {n} sample(s) while a minimum of 2 is required by {by}.")


def enough_weight(total: float, ddof: int, what: str, *, asked: bool = True) -> None:
    """Refuses a sum of weights that leaves no degree of freedom."""
    if total <= ddof:
        least, hint = (f"ddof={ddof}", " (ddof=0 takes any)") if asked else (f"{ddof}", "")
        raise ValueError(
            f"the weights of {what} must sum to more than {least}, got {total:g}: they are frequencies{hint}"
        )


def same_width(A: Array, d: int, by: str) -> None:
    """Refuses a matrix of another number of columns than the model was fitted on."""
    if A.shape[1] != d:
        raise ValueError(f"X has {A.shape[1]} features, but {by} is expecting {d} features as input.")


# --- column names -------------------------------------------------------------------------------------------


def column_names(X: Any) -> Array | None:
    """The column names of a data frame, when all are strings; None for anything else."""
    if type(X) is np.ndarray:
        return None
    kind = type(X)
    if hasattr(kind, "schema") and hasattr(kind, "column_names"):
        columns = list(X.schema.names)  # pyarrow, whose .columns are the data
    elif hasattr(kind, "columns") and hasattr(kind, "shape"):
        columns = list(X.columns)
    else:
        return None
    strings = sum(isinstance(column, str) for column in columns)
    if strings == 0:
        return None
    if strings < len(columns):
        types = sorted({type(column).__name__ for column in columns})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{types} as feature name / column name types. Convert them all to strings "
            "(X.columns = X.columns.astype(str)), or none."
        )
    return np.array(columns, dtype=object)


def same_names(found: Array | None, fitted: Array | None, by: str) -> None:
    """Refuses other names, or another order, than those of fit; warns when only one side has names."""
    if found is None and fitted is None:
        return
    if fitted is None:
        _warn(f"X has feature names, but {by} was fitted without feature names")
    elif found is None:
        _warn(f"X does not have valid feature names, but {by} was fitted with feature names")
    elif list(found) != list(fitted):
        raise ValueError(_names_differ(list(found), list(fitted)))


def _warn(message: str) -> None:
    """A warning at the first line of the stack that is not ours, however deep the call."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


def same_input_names(names: Any, fitted: Array | None, d: int) -> None:
    """Refuses `input_features` that are not the model's."""
    found = np.asarray(names, dtype=object)
    if found.ndim == 0:
        raise TypeError(f"input_features must be a list of {d} names, got {names!r:.60}")
    if found.ndim > 1:
        raise ValueError(f"input_features must be 1-D of length {d}, got shape {found.shape}")
    if fitted is not None and not np.array_equal(found, fitted):
        raise ValueError(f"input_features is not equal to feature_names_in_: got {list(found)!r:.200}")
    if len(found) != d:
        raise ValueError(
            f"input_features should have length equal to number of features ({d}), got {len(found)}"
        )


def _names_differ(found: list[str], fitted: list[str]) -> str:
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(found) - set(fitted)), sorted(set(fitted) - set(found))
    if unseen:
        message += "Feature names unseen at fit time:\n" + _listed(unseen)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message


def _listed(names: list[str]) -> str:
    shown = [f"- {name}\n" for name in names[:NAMES_SHOWN]]
    return "".join(shown) + ("- ...\n" if len(names) > NAMES_SHOWN else "")


# --- reading ------------------------------------------------------------------------------------------------


def _read(X: Any, by: str, what: str) -> Array:
    """`X` as an ndarray of whatever dtype and dimension.

    Attributes are looked for on types, not on values: a frame's columns may be called anything.
    """
    if type(X) is np.ndarray:
        return X  # the usual case: all the questions take two microseconds
    kind = type(X)
    if hasattr(kind, "iloc") and hasattr(kind, "columns"):
        return _frames.from_pandas(X, what)
    if hasattr(kind, "schema") and (hasattr(kind, "get_columns") or hasattr(kind, "column_names")):
        return _frames.from_columns(X, what)
    if hasattr(kind, "collect_schema") and not hasattr(kind, "__array__"):
        raise TypeError(f"{what} is a lazy frame, but {by} needs its rows: pass {what}.collect().")
    if hasattr(kind, "toarray") and hasattr(kind, "nnz"):
        raise TypeError(
            f"{what} is sparse ({kind.__name__}), but {by} needs dense data: pass {what}.toarray()."
        )
    if "numpy.ma" in sys.modules and isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            f"{what} is a masked array, whose mask {by} would ignore: fill it with {what}.filled(value)."
        )
    if hasattr(kind, "__dlpack_device__") and int(X.__dlpack_device__()[0]) not in HOST_DEVICES:
        raise TypeError(
            f"{what} lies on a device, but {by} needs host memory: pass {what}.cpu() or {what}.get()."
        )
    without = hasattr(kind, "__array__") or not hasattr(kind, "__dlpack__")
    return plain(X, what, np.asarray if without else np.from_dlpack)


def _unreadable(X: Any, what: str, error: Exception) -> Exception:
    if isinstance(X, (list, tuple)) and isinstance(error, ValueError):
        return ValueError(
            f"{what} must be a rectangle of numbers, but its rows differ in length or depth ({error})"
        )
    return TypeError(
        f"{what} must be an array of numbers, got a {type(X).__name__} that is not one ({error})"
    )


def _wrong_dimension(A: Array, by: str, what: str) -> Exception:
    if A.dtype.names is not None:
        return _no_numbers(A, what)  # its fields are its columns: another shape would not help
    if A.ndim == 0 and A.dtype.kind not in "biufc":
        item = A.item()
        found = repr(item) if item is None or isinstance(item, (str, bytes)) else f"a {type(item).__name__}"
        return TypeError(f"{what} must be a 2D array of numbers, got {found:.60}")
    if A.ndim == 0:
        return ValueError(
            f"Expected {what} to be a 2D array, got the scalar {A.item()!r}. Reshape your data."
        )
    if A.ndim == 1:
        return ValueError(
            f"Expected {what} to be a 2D array, got a 1D array of length {len(A)}. Reshape your data either "
            "using array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it "
            "contains a single sample."
        )
    return ValueError(f"Found {what} with dim {A.ndim} (shape={A.shape}), while dim 2 is required by {by}.")


# --- numbers ------------------------------------------------------------------------------------------------


def _as_float(A: Array, what: str) -> Array:
    kind = A.dtype.kind
    if kind == "O":
        return _from_objects(A, what)
    if kind == "c":
        raise ValueError(
            f"Complex data not supported: {what} has dtype {A.dtype}; pass its real part or its modulus."
        )
    if kind not in "biuf":
        raise _no_numbers(A, what)
    target = np.float32 if A.dtype.type is np.float32 else np.float64
    # A longdouble beyond float64 becomes inf, which the core refuses by name; one below it is rounded.
    with np.errstate(over="ignore", under="ignore"):
        return np.require(A, target, ["ALIGNED"])


def _no_numbers(A: Array, what: str) -> TypeError:
    return TypeError(f"{what} has dtype {A.dtype}, but numbers are needed: {_remedy(A.dtype.kind)}.")


def _remedy(kind: str) -> str:
    match kind:
        case "U" | "S" | "T":
            return "convert strings yourself, with astype(float) or an encoder"
        case "M" | "m":
            return "convert dates to numbers of a unit of your choice"
        case "V":
            return (
                "turn a structured array into columns with numpy.lib.recfunctions.structured_to_unstructured"
            )
        case _:
            return "float32, float64, integers or booleans"


def _from_objects(A: Array, what: str) -> Array:
    """Python numbers of any kind as float64; strings, missing values and the rest refused by place."""
    simple = {float, int, bool, np.float64, np.float32, np.int64, np.bool_}
    if not simple.issuperset(map(type, A.flat)):
        for place, item in np.ndenumerate(A):
            _refuse_odd(item, place, what)
    try:
        return A.astype(np.float64)
    except OverflowError as error:
        raise ValueError(f"{what} contains an integer that is too large for float64 ({error})") from error


def _refuse_odd(item: Any, place: tuple[int, ...], what: str) -> None:
    where = f"{what}[{', '.join(map(str, place))}]"
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        raise ValueError(
            f"{where} is missing ({item!r}, treated as NaN); every value must be present and finite"
        )
    if isinstance(item, (complex, np.complexfloating)):
        raise ValueError(f"Complex data not supported: {where} is {item!r}")
    if isinstance(item, (str, bytes)):
        raise TypeError(f"{where} is the string {item!r:.40}, but numbers are needed: {_remedy('U')}.")
    try:
        float(item)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{where} is a {type(item).__name__}, but numbers are needed: {error}") from error
    except OverflowError:
        return
