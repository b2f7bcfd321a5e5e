"""Rows that come a batch at a time: which inputs are batches, and cutting an array that must be converted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._validation import Array

# Rows of a batch for each column, where nobody says: scikit-learn's choice.
ROWS_PER_COLUMN = 5


def are_batches(X: Any) -> bool:
    """Whether X holds batches: an iterator, a list of matrices or frames, or a loader that is no array."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and all(_dimensions(batch) == 2 for batch in X)
    kind = type(X)
    if hasattr(kind, "__next__"):
        return True
    array_like = ("__array__", "__array_interface__", "__dlpack__", "shape", "schema", "collect_schema")
    return (
        hasattr(kind, "__iter__")
        and not isinstance(X, (str, bytes, dict, set))
        and not any(hasattr(kind, name) for name in array_like)
    )


def _dimensions(batch: Any) -> int:
    """2 for an array that says so, and for a frame of polars or pyarrow, which has only a shape."""
    shape = getattr(batch, "shape", ())
    return int(getattr(batch, "ndim", len(shape) if isinstance(shape, tuple) else 0))


def count(X: Any) -> int | None:
    """How many batches there are, where X knows."""
    return len(X) if hasattr(type(X), "__len__") else None


def size(batch_size: int | None, d: int) -> int:
    """Rows of a batch of d columns."""
    return ROWS_PER_COLUMN * d if batch_size is None else batch_size


def pieces(X: Any, batch_size: int | None) -> Iterator[Any]:
    """X in batches where it must be converted to be read, whole where it is read as it lies.

    A memory-mapped file of integers or of another byte order is thus never copied whole.
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or _is_read_in_place(X):
        yield X
        return
    rows = max(size(batch_size, X.shape[1]), 1)
    if len(X) <= rows:
        yield X
        return
    for start in range(0, len(X), rows):
        yield X[start : start + rows]


def _is_read_in_place(X: Array) -> bool:
    return X.dtype in (np.float32, np.float64) and X.dtype.isnative and X.flags.aligned
