"""The target of supervised models: which kernel compares its values, and how the core reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _kernels, _labels, _rules, _validation

if TYPE_CHECKING:
    from ._validation import Array

NAMES = ("auto", "delta", "linear", "rbf", "identity", "precomputed")

# Kinds of dtype that are numbers to a numeric kernel; complex ones are refused as such.
NUMBERS = "biufc"


def checked(estimator: Any) -> _kernels.Kernel:
    """The target kernel as it was asked for, every parameter checked."""
    return _kernels.asked(
        estimator.target_kernel,
        estimator.target_gamma,
        names=NAMES,
        kernel_name="target_kernel",
        gamma_name="target_gamma",
    )


def read(y: Any, asked: _kernels.Kernel, n: int, by: str) -> tuple[Array, Any] | None:
    """`y` and how the core compares its values, for X of n samples; None for "identity"."""
    name = asked.name
    if name == "identity":
        return None
    if y is None:
        raise ValueError(f"{by} requires y to be passed, but the target y is None")
    if name == "auto":
        name = "delta" if _labels.are_labels(y, by, "y") else "linear"
    if name == "linear" and _is_one_label_a_sample(y, by):
        name = "delta"  # one-hot columns with a linear kernel
    if name == "precomputed":
        A = _validation.square(y, by, "y")
    elif name == "delta":
        A = _labels.codes(y, by, "y")
    else:
        A = _numbers(y, by)
    if len(A) != n:
        raise ValueError(f"y has {len(A)} samples, but X has {n}")
    if asked.function is not None:
        A, name = _kernels.matrix_of_callable(asked, A, None, "y"), "precomputed"
    return A, ("rbf", asked.gamma, 3.0, 1.0) if name == "rbf" else name


def _is_one_label_a_sample(y: Any, by: str) -> bool:
    if _are_numbers(y, by):
        return False
    A = _labels.read(y, by, "y")
    return A.ndim == 1 or A.shape[1] == 1


def _are_numbers(y: Any, by: str) -> bool:
    if _labels.is_categorical(y):
        return False
    A = _labels.read(y, by, "y")
    return A.dtype.kind in NUMBERS or (A.dtype.kind == "O" and all(map(_rules.is_number, A.flat)))


def _numbers(y: Any, by: str) -> Array:
    """Numbers as they are, labels as one-hot columns."""
    if _are_numbers(y, by):
        return _validation.columns(y, by, "y")
    codes = _labels.codes(y, by, "y")
    return np.hstack([np.equal.outer(column, np.unique(column)) for column in codes.T]).astype(codes.dtype)
