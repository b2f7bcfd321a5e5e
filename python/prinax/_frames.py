"""Data frames as 2-D arrays, column by column where the columns differ: pandas, and polars or pyarrow.

Nothing is imported: a frame brings its library with it. float32 throughout stays float32, anything else
numeric, decimals and categories that are numbers too, becomes float64; columns that are no numbers, or have
missing entries that NumPy cannot show, are refused by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._validation import Array

# How polars and pyarrow spell the types that are numbers.
NUMERIC = ("float", "double", "int", "uint", "bool", "halffloat", "decimal")
SINGLE = ("Float32", "float")

# Arrow writes a column of categories as "dictionary<values=double, ...>".
DICTIONARY = "dictionary<values="

# Integers that NumPy has no type for; polars reads them as float64 when asked to.
WIDE = ("Int128", "UInt128")


def from_pandas(X: Any, what: str) -> Array:
    """The values of a pandas frame, uncopied where its columns share one block of one NumPy dtype."""
    dtypes = list(X.dtypes)
    for j, dtype in enumerate(dtypes):
        name = X.columns[j]
        if not _holds_objects(dtype) and not _is_numeric(dtype):
            raise TypeError(_not_numbers(what, name, dtype))
        if not isinstance(dtype, np.dtype) and X.iloc[:, j].isna().any():
            raise ValueError(_missing(what, name))
    if any(map(_holds_objects, dtypes)):
        return np.asarray(X.to_numpy(dtype=object))
    if len(set(dtypes)) == 1 and isinstance(dtypes[0], np.dtype):
        return np.asarray(X.to_numpy())
    single = all(getattr(dtype, "numpy_dtype", dtype) == np.float32 for dtype in dtypes)
    return np.asarray(X.to_numpy(dtype=np.float32 if single else np.float64))


def from_columns(X: Any, what: str) -> Array:
    """The values of a polars DataFrame, a pyarrow Table or a RecordBatch."""
    if hasattr(X, "get_columns"):
        columns = [(column.name, str(column.dtype), column.null_count()) for column in X.get_columns()]
        wide = [name for name, dtype, _ in columns if dtype in WIDE]
        values = (X.cast(dict.fromkeys(wide, float)) if wide else X).to_numpy
    else:
        columns = [(f.name, str(f.type), X.column(j).null_count) for j, f in enumerate(X.schema)]
        values = X.__array__
    for name, dtype, nulls in columns:
        if not _is_spelled_numeric(dtype):
            raise TypeError(_not_numbers(what, name, dtype))
        if nulls:
            raise ValueError(_missing(what, name))
    single = bool(columns) and all(dtype in SINGLE for _, dtype, _ in columns)
    return np.asarray(values(), dtype=np.float32 if single else np.float64)


def _is_numeric(dtype: Any) -> bool:
    """Whether a pandas column is of numbers: plainly, by its categories, or as Arrow spells it."""
    if getattr(dtype, "kind", "?") in "biuf":
        return True
    if hasattr(dtype, "categories"):
        return _is_numeric(dtype.categories.dtype)
    return _is_spelled_numeric(str(getattr(dtype, "pyarrow_dtype", "")))


def _is_spelled_numeric(dtype: str) -> bool:
    return dtype.removeprefix(DICTIONARY).lower().startswith(NUMERIC)


def _holds_objects(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def _not_numbers(what: str, name: Any, dtype: Any) -> str:
    return f"{what} has column {name!r} of type {dtype}, but numbers are needed: encode or drop it."


def _missing(what: str, name: Any) -> str:
    return (
        f"{what} has missing values (NA, treated as NaN) in column {name!r}; "
        "every value must be present and finite: drop or impute them."
    )
