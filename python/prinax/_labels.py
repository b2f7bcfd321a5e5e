"""Labels of any type as codes: what is equal gets the same number."""

from __future__ import annotations

import datetime
from numbers import Integral, Number
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _validation

if TYPE_CHECKING:
    from ._validation import Array

# Kinds of dtype whose values NumPy sorts: within one of them equal values are found without hashing.
SORTED_KINDS = "biufcUSTMm"

# NumPy's units of time, in the smallest of them, and those that have no fixed length, in months.
ATTOSECONDS = {
    "W": 604_800 * 10**18,
    "D": 86_400 * 10**18,
    "h": 3_600 * 10**18,
    "m": 60 * 10**18,
    "s": 10**18,
    "ms": 10**15,
    "us": 10**12,
    "ns": 10**9,
    "ps": 10**6,
    "fs": 10**3,
    "as": 1,
}
MONTHS = {"Y": 12, "M": 1}

# What is in the name of a categorical type: of pandas and polars, of pyarrow.
CATEGORICAL = ("categor", "dictionary")


def read(y: Any, by: str, what: str) -> Array:
    """`y` as an array of whatever dtype, of shape (n,) or (n, columns), n >= 1."""
    kind = type(y)
    frame = hasattr(kind, "columns") or hasattr(kind, "column_names")
    A = _validation.plain(y, what) if frame else _validation.as_array(y, by, what)
    if A.dtype.kind in "US" and isinstance(y, (list, tuple)):
        A = np.asarray(y, dtype=object)  # NumPy makes a string of a number beside strings
    if A.ndim == 0:
        raise TypeError(f"{what} must be labels, one for each sample, got {A.item()!r:.60}")
    if A.ndim > 2:
        raise ValueError(f"{what} must be labels of shape (n,) or (n, columns), got shape {A.shape}")
    if A.size == 0:
        raise ValueError(f"Found {what} with shape {A.shape} while a minimum of 1 label is required by {by}.")
    return A


def are_labels(y: Any, by: str, what: str) -> bool:
    """Whether `y` looks like classes: one-dimensional (or one column), and no numbers but integers or bools.

    Of Python objects too: one string or bool makes them all labels, one float, Decimal or Fraction beside
    integers makes them numbers.
    """
    A = read(y, by, what)
    if A.ndim == 2 and A.shape[1] > 1:
        return False
    if is_categorical(y):
        return True
    if A.dtype.kind != "O":
        return A.dtype.kind not in "fc"
    kinds = set(map(type, A.flat))
    numbers = all(issubclass(kind, Number) and not issubclass(kind, bool) for kind in kinds)
    return not numbers or all(issubclass(kind, Integral) for kind in kinds)


def hold_strings(y: Any) -> bool:
    """Whether a string is among the values."""
    if hasattr(type(y), "__dlpack__") and not isinstance(y, np.ndarray):
        return False  # a tensor, perhaps on a device
    A = np.asarray(y)
    return A.dtype.kind in "UST" or (A.dtype.kind == "O" and any(isinstance(v, (str, bytes)) for v in A.flat))


def codes(y: Any, by: str, what: str) -> Array:
    """(n, columns): for each label its number among the different ones of its column.

    float32 for float32 labels, else float64.
    """
    return joint_codes([(y, what)], by)[0]


def joint_codes(sets: list[tuple[Any, str]], by: str) -> list[Array]:
    """`codes` of several sets of labels, equal ones being equal across the sets too."""
    read_sets = [read(y, by, what) for y, what in sets]
    columns = [A[:, None] if A.ndim == 1 else A for A in read_sets]
    width = columns[0].shape[1]
    for A, (_, what) in zip(columns, sets, strict=True):
        _refuse_missing(A, what)
        if A.shape[1] != width:
            raise ValueError(f"{what} has {A.shape[1]} features, but {by} is expecting {width} features.")
    together = [_column_codes([A[:, j] for A in columns]) for j in range(width)]
    dtype = np.float32 if all(A.dtype == np.float32 for A in columns) else np.float64
    return [np.column_stack([c[i] for c in together]).astype(dtype, copy=False) for i in range(len(columns))]


def _column_codes(parts: list[Array]) -> list[Array]:
    """The codes of one column, part by part."""
    cuts = np.cumsum([len(part) for part in parts])[:-1]
    if parts[0].dtype.kind in SORTED_KINDS and all(part.dtype == parts[0].dtype for part in parts):
        _, found = np.unique(np.concatenate(parts), return_inverse=True)
    else:
        known: dict[Any, int] = {}
        if any(map(_holds_times, parts)):
            values = _times(parts)
        else:
            values = [value for part in parts for value in part.tolist()]
        found = np.array([known.setdefault(value, len(known)) for value in values])
    return np.split(found.astype(np.float64), cuts)


def _holds_times(part: Array) -> bool:
    kinds = (np.datetime64, np.timedelta64)
    return part.dtype.kind in "Mm" or (part.dtype.kind == "O" and any(isinstance(v, kinds) for v in part))


def _times(parts: list[Array]) -> list[Any]:
    """All values, times as what is the same for equal ones of any unit, and for nothing else."""
    # As Python objects, times in an array have lost their unit.
    return [_time(v) for part in parts for v in (part if part.dtype.kind in "Mm" else part.tolist())]


def _time(value: Any) -> Any:
    """A time as its type and number of attoseconds (of months, which have no length); all else as it is."""
    if isinstance(value, (datetime.date, datetime.timedelta)) and getattr(value, "tzinfo", None) is None:
        if hasattr(value, "to_numpy"):  # pandas' own, to the nanosecond
            value = value.to_numpy()
        else:
            value = (np.timedelta64 if isinstance(value, datetime.timedelta) else np.datetime64)(value)
    if not isinstance(value, (np.datetime64, np.timedelta64)):
        return value
    if isinstance(value, np.datetime64) and np.datetime_data(value.dtype)[0] in MONTHS:
        value = value.astype("M8[D]")
    unit, count = np.datetime_data(value.dtype)
    count *= int(value.astype(np.int64))
    if unit in ATTOSECONDS:
        return type(value), count * ATTOSECONDS[unit]
    return type(value), "months" if unit in MONTHS else unit, count * MONTHS.get(unit, 1)


def _refuse_missing(A: Array, what: str) -> None:
    if A.dtype.kind in "fc":
        missing = bool(np.isnan(A).any())
    elif A.dtype.kind in "Mm":
        missing = bool(np.isnat(A).any())
    elif A.dtype.kind == "T":
        # Strings of any width: what stands for a missing one is a string where the caller made it one.
        missing = hasattr(A.dtype, "na_object") and not all(isinstance(value, str) for value in A.flat)
    else:
        missing = A.dtype.kind == "O" and any(map(_is_missing, A.flat))
    if missing:
        raise ValueError(f"Input {what} contains NaN or a missing label; every label must be present")
    if A.dtype.kind == "O":
        for value in A.flat:
            _refuse_unhashable(value, what)


def _is_missing(value: Any) -> bool:
    name = type(value).__name__
    if value is None or name in ("NAType", "NaTType"):
        return True
    if name == "Decimal":
        return bool(value.is_nan())  # comparing a signalling NaN raises an error of its own
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return isinstance(value, (float, complex, np.inexact)) and bool(value != value)


def _refuse_unhashable(value: Any, what: str) -> None:
    try:
        hash(value)
    except TypeError:
        raise TypeError(f"{what} must hold labels, got a {type(value).__name__} among them") from None


def is_categorical(y: Any) -> bool:
    """Whether `y` is a categorical column of a data frame library, or a frame that has one."""
    kind = type(y)
    if kind is np.ndarray:
        return False
    if hasattr(kind, "column_names"):
        types = y.schema.types  # pyarrow
    elif hasattr(kind, "columns"):
        types = list(getattr(y, "dtypes", ()))
    else:
        types = [y.dtype if hasattr(y, "dtype") else getattr(y, "type", "")]
    return any(word in str(found).lower() for found in types for word in CATEGORICAL)
