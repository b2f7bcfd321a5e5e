"""Kernels: how one is asked for, the matrix of its values, and centring in feature space."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core, _labels, _rules, _validation

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._validation import Array

# Kernels that the core computes.
NAMES = ("linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "delta")
# Kernels of the rows of an estimator's X; "delta" compares labels, not rows of numbers.
OF_ROWS = (*(name for name in NAMES if name != "delta"), "precomputed")
GAMMA_WORDS = ("scale", "median")

# Kinds of NumPy's values that are real numbers; float() reads the text of others, or drops what is imaginary.
REAL_KINDS = "biuf"

# (gamma x'y + coef0)**0 = 1, also where the base is 0, as the core takes it, (0 x'y + 1)**1: its degrees are
# above 0.
CONSTANT = ("poly", 0.0, 1.0, 1.0)


class Kernel(NamedTuple):
    """A kernel as it was asked for, every parameter checked."""

    # One of NAMES, "precomputed" or "callable".
    name: str
    gamma: float | str | None
    degree: float
    coef0: float
    # A callable with the arguments that it was given by name.
    function: Callable[..., Any] | None
    # The argument that it came as.
    argument: str

    @property
    def spec(self) -> Any:
        """As the core takes it; None where the matrix of its values is handed over instead."""
        return self._with(self.gamma)

    def settled(self, rate: tuple[float, int] | None) -> Any:
        """The same with gamma as a fit has made it, a number and a power of two."""
        return self._with(rate)

    def _with(self, gamma: Any) -> Any:
        if self.name == "poly" and self.degree == 0:
            return CONSTANT
        return (self.name, gamma, self.degree, self.coef0) if self.name in NAMES else None


def asked(
    kernel: Any,
    gamma: Any = None,
    degree: Any = 3,
    coef0: Any = 1,
    params: dict[str, Any] | None = None,
    *,
    names: tuple[str, ...] = NAMES,
    kernel_name: str = "kernel",
    gamma_name: str = "gamma",
) -> Kernel:
    """The kernel that these arguments describe; `names` are the words allowed beside a callable."""
    if callable(kernel):
        name, function = "callable", partial(kernel, **params) if params else kernel
    elif isinstance(kernel, str):
        name, function = _rules.one_of(*names)(kernel_name, kernel), None
    else:
        wanted = ", ".join(map(repr, names))
        raise TypeError(f"{kernel_name} must be one of {wanted}, or a callable, got {kernel!r:.60}")
    return Kernel(
        name,
        _gamma(gamma_name, gamma),
        _degree(degree),
        _finite("coef0", coef0),
        function,
        kernel_name,
    )


def rows(kernel: Kernel, X: Any, by: str, what: str) -> Array:
    """One set of samples as the core reads it under this kernel.

    Numbers (n, d), of which one dimension is one column, codes of labels for "delta", the (n, n) matrix
    itself for "precomputed" and of a callable.
    """
    if kernel.name == "delta":
        return _labels.codes(X, by, what)
    if kernel.name == "precomputed":
        return _validation.square(X, by, what)
    A = _validation.columns(X, by, what)
    if kernel.function is not None:
        return matrix_of_callable(kernel, A, None, what)
    return A


def matrix_of_callable(kernel: Kernel, X: Array, Y: Array | None = None, what: str = "X") -> Array:
    """Values of a callable kernel of every row x of X and y of Y; of X alone, once for each pair."""
    for A, name in ((X, what), (X if Y is None else Y, "Y")):
        if not np.isfinite(A).all():
            raise ValueError(f"Input {name} contains NaN or infinity; every value must be finite")
    X, Y = _read_only(X), None if Y is None else _read_only(Y)
    value = _valued(kernel, X.dtype)
    K = np.empty((len(X), len(X) if Y is None else len(Y)), X.dtype)
    for i, x in enumerate(X):
        if Y is None:
            for j in range(i + 1):
                K[i, j] = K[j, i] = value(x, X[j])
        else:
            K[i] = [value(x, y) for y in Y]
    return K


def diagonal_of_callable(kernel: Kernel, X: Array) -> Array:
    """Values of a callable kernel of every row of X with itself."""
    value = _valued(kernel, X.dtype)
    return np.array([value(x, x) for x in _read_only(X)])


def _read_only(X: Array) -> Array:
    """X for a callable, whose rows it cannot change: they may be the caller's own."""
    view = X.view()
    view.flags.writeable = False
    return view


def _valued(kernel: Kernel, dtype: Any) -> Callable[[Array, Array], float]:
    """A callable kernel, every value of which is seen to be a finite number of this dtype."""
    largest = float(np.finfo(dtype).max)

    def value(x: Array, y: Array) -> float:
        assert kernel.function is not None
        returned = kernel.function(x, y)
        try:
            number = _number(returned)
        except (TypeError, ValueError):
            raise TypeError(
                f"{kernel.argument} must return a number for two rows, but it returned a "
                f"{type(returned).__name__}: {returned!r:.60}"
            ) from None
        if not abs(number) <= largest:
            raise ValueError(
                f"{kernel.argument} must return a finite number of {dtype} for two rows, but it returned "
                f"{_rules.shown(returned)}"
            )
        return number

    return value


def _number(returned: Any) -> float:
    kind = getattr(getattr(returned, "dtype", None), "kind", "f")
    if kind not in REAL_KINDS or isinstance(returned, (str, bytes, bytearray, memoryview)):
        raise TypeError
    return _rules.as_float(returned)


def _gamma(name: str, value: Any) -> float | str | None:
    wanted = "a number of at least 0, None, 'scale' or 'median'"
    if value is None:
        return None
    if isinstance(value, str):
        if value in GAMMA_WORDS:
            return value
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    if not _rules.is_real(value):
        raise TypeError(f"{name} must be {wanted}, got {_rules.shown(value)}")
    number = _rules.as_float(value)
    if not 0 <= number < float("inf"):
        raise ValueError(f"{name} must be {wanted}, got {_rules.shown(value)}")
    return number


def _degree(value: Any) -> float:
    number = _finite("degree", value)
    if number < 0:
        raise ValueError(f"degree must be a number of at least 0, got {_rules.shown(value)}")
    return number


def _finite(name: str, value: Any) -> float:
    if not _rules.is_real(value):
        raise TypeError(f"{name} must be a number, got {_rules.shown(value)}")
    number = _rules.as_float(value)
    if not abs(number) < float("inf"):
        raise ValueError(f"{name} must be a finite number, got {_rules.shown(value)}")
    return number


# --- functions ----------------------------------------------------------------------------------------------


def kernel_matrix(
    X: Any,
    Y: Any = None,
    kernel: Any = "rbf",
    *,
    gamma: Any = None,
    degree: float = 3,
    coef0: float = 1,
) -> Array:
    """Kernel values k(x, y) of every row x of X with every row y of Y, or of X with itself.

    - "linear": ``x @ y``; "cosine": the same of rows of length 1 (0 for a zero row);
    - "poly": ``(gamma * x @ y + coef0) ** degree``; "sigmoid": ``tanh(gamma * x @ y + coef0)``;
    - "rbf": ``exp(-gamma * |x - y|**2)``; "laplacian": ``exp(-gamma * sum(abs(x - y)))``;
    - "delta": 1 where two rows are equal, else 0.

    Distances are sums of differences, for "rbf" of more than 64 columns products of centred rows where
    ``gamma * |x - mean|**2`` is at most 8: a constant added to all rows changes nothing beyond its own
    rounding, and near duplicates keep their distance.

    Parameters
    ----------
    X : array-like of shape (n, d)
        For "delta" labels of any type, of shape (n,) or (n, d).
    Y : array-like of shape (m, d) or None, default=None
        None means X itself.
    kernel : str or callable, default="rbf"
        A callable gets two rows, which it cannot change, and returns a number; it is called for each pair,
        and taken as symmetric where Y is None.
    gamma : float, "scale", "median" or None, default=None
        None is 1/d; "scale" is 1/(sum of the variances of the columns of X, divisor n); "median" is
        1/(2 m**2) for "rbf" and 1/m for "laplacian", with m the median Euclidean (for "laplacian": absolute)
        distance between two rows of X, of the nonzero ones where it would be 0.
    degree : float, default=3
        At least 0, for which every value is 1, whatever `gamma` is.
    coef0 : float, default=1

    Returns
    -------
    ndarray of shape (n, m)
        Of X alone exactly symmetric, with the exact diagonal where that is 1. float32 for float32 data, else
        float64.

    Raises
    ------
    ValueError
        A parameter out of range, NaN or infinity, different numbers of columns; a fractional `degree` where
        its base is negative.
    TypeError
        An argument of the wrong type.
    MemoryError
        There is no room for the matrix.

    Examples
    --------
    >>> import prinax
    >>> prinax.kernel_matrix([[0.0], [1.0]], kernel="rbf", gamma=1.0).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    >>> prinax.kernel_matrix(["a", "b"], ["b", "b", "a"], kernel="delta")
    array([[0., 0., 1.],
           [1., 1., 0.]])
    """
    by = "kernel_matrix"
    k = asked(kernel, gamma, degree, coef0)
    if k.name == "delta":
        sets = [(X, "X")] if Y is None else [(X, "X"), (Y, "Y")]
        A, *others = _labels.joint_codes(sets, by)
        B = others[0] if others else None
    else:
        A = _validation.matrix(X, by)
        B = None if Y is None else _validation.matrix(Y, by, "Y")
    if B is not None:
        if B.shape[1] != A.shape[1]:
            raise ValueError(f"Y has {B.shape[1]} features, but X has {A.shape[1]}")
        A, B = same_dtype(A, B)
    if k.function is not None:
        return matrix_of_callable(k, A, B)
    return _core.kernel_matrix(A, B, k.spec)


def center_kernel(K: Any, K_train: Any = None) -> Array:
    """A kernel matrix centred in feature space: that of the samples about their mean there.

    ``H @ K @ H`` with H = I - 11'/n for the n x n matrix of the training samples. Given that as `K_train`,
    the rows of K are new samples, and row k_t becomes
    ``k_t - mean(k_t) - mean(K_train, 0) + mean(K_train)``.

    Parameters
    ----------
    K : array-like of shape (n, n), or (n_new, n) with `K_train`
        Never changed.
    K_train : array-like of shape (n, n) or None, default=None
        The uncentred kernel matrix of the training samples.

    Returns
    -------
    ndarray of the shape of K
        Symmetric to the bit where K is. float32 for float32 K, else float64.

    Raises
    ------
    ValueError
        A shape that does not fit, NaN or infinity.
    MemoryError
        There is no room for the matrix.

    Examples
    --------
    >>> import prinax
    >>> prinax.center_kernel([[4.0, 1.0], [1.0, 2.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    >>> prinax.center_kernel([[3.0, 5.0]], [[4.0, 1.0], [1.0, 2.0]])
    array([[-1.5,  1.5]])
    """
    by = "center_kernel"
    if K_train is None:
        return _core.center_kernel(_validation.square(K, by, "K"), None)
    train, A = _validation.square(K_train, by, "K_train"), _validation.matrix(K, by, "K")
    if A.shape[1] != len(train):
        raise ValueError(
            f"K must have {len(train)} columns, one for each row of K_train, got shape {A.shape}"
        )
    return _core.center_kernel(A, train)


def same_dtype(A: Array, B: Array) -> tuple[Array, Array]:
    """Both as they are, or in float64 where their dtypes differ."""
    if A.dtype == B.dtype:
        return A, B
    return A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
