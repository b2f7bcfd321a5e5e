"""The symmetric eigenproblem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core, _rules, _validation

if TYPE_CHECKING:
    from ._validation import Array


def eigh(A: Any, k: int | None = None) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of a symmetric matrix: ``A @ vectors == vectors * values``.

    Parameters
    ----------
    A : array-like of shape (d, d)
        Symmetric to rounding.
    k : int or None, default=None
        Only the k algebraically largest; None means all.

    Returns
    -------
    values : ndarray of shape (k,)
        In descending order, float64.
    vectors : ndarray of shape (d, k)
        Orthonormal columns; the entry of largest magnitude in each is positive.

    Raises
    ------
    ValueError
        A is not square, not symmetric or not finite, or k is not in 1..d.
    numpy.linalg.LinAlgError
        The residual could not be brought down to rounding.

    Examples
    --------
    >>> import prinax
    >>> values, vectors = prinax.eigh([[2.0, 1.0], [1.0, 2.0]])
    >>> values.round(12)
    array([3., 1.])
    """
    A = _validation.square(A, "eigh", "A")
    if k is not None:
        k = _rules.whole(1)("k", k)
        if k > len(A):
            raise ValueError(f"k must be at most the size of A, {len(A)}, got {k}")
    values, vectors = _core.eigh(A, k)
    return values, vectors
