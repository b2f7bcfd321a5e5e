"""Covariance, inner products, and moments that stream and merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core, _rules, _validation

if TYPE_CHECKING:
    from typing import Self

    from ._validation import Array


def covariance(X: Any, *, ddof: int = 1, center: bool = True, sample_weight: Any = None) -> Array:
    """Covariance matrix of the columns of X: ``Xc.T @ Xc / (n - ddof)`` with Xc the centred rows.

    Exact to rounding at any offset: the mean is subtracted before anything is multiplied.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    ddof : int, default=1
        The divisor is n - ddof, or sum(sample_weight) - ddof.
    center : bool, default=True
        False gives mean squares about 0.
    sample_weight : array-like of shape (n_samples,) or None
        Frequencies; 0 is an absent row.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Exactly symmetric, float64.

    Examples
    --------
    >>> import prinax
    >>> prinax.covariance([[1.0, 2.0], [3.0, 6.0]])
    array([[2., 4.],
           [4., 8.]])
    """
    A = _validation.matrix(X, "covariance")
    ddof = _rules.ddof("ddof", ddof)
    center = _rules.flag("center", center)
    weights, n = _validation.sample_weights(sample_weight, len(A), "covariance")
    _validation.enough_samples(n, weights, ddof, "covariance")
    return _core.covariance(A, ddof, center, weights)


def gram(X: Any, *, center: bool = True) -> Array:
    """Inner products of the (centred) rows of X: ``Xc @ Xc.T``, the dual side of the covariance.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    center : bool, default=True
        Subtract the mean row first.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)
        Exactly symmetric, float64. Each entry is right beside the lengths of its own two rows, however much
        larger others are.

    Examples
    --------
    >>> import prinax
    >>> prinax.gram([[1.0, 2.0], [3.0, 6.0]])
    array([[ 5., -5.],
           [-5.,  5.]])
    """
    return _core.gram(_validation.matrix(X, "gram"), _rules.flag("center", center))


def center_rows(X: Any) -> Array:
    """X with each row's own mean subtracted: the step per image before whitening natural images.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        float32 for float32 X, else float64.

    Examples
    --------
    >>> import prinax
    >>> prinax.center_rows([[1.0, 3.0], [10.0, 20.0]])
    array([[-1.,  1.],
           [-5.,  5.]])
    """
    return _core.center_rows(_validation.matrix(X, "center_rows"))


class Moments:
    """Mean and scatter of rows that come in batches, from several places, or both; exact to rounding.

    Batches of any size, one row included, give what all rows at once would give. `PCA.from_moments` fits from
    it.

    Parameters
    ----------
    n_features : int
        The number of columns of every batch.

    Attributes
    ----------
    count : int
        Rows of non-zero weight seen.
    weight : float
        Sum of their weights.
    mean : ndarray of shape (n_features,)
        Weighted mean, float64.
    scatter : ndarray of shape (n_features, n_features)
        ``sum_i w_i (x_i - mean)(x_i - mean)'``, float64.

    Examples
    --------
    >>> from prinax import Moments
    >>> moments = Moments(2)
    >>> moments.update([[1.0, 2.0]])
    >>> moments.update([[3.0, 6.0]])
    >>> moments.mean, moments.covariance()
    (array([2., 4.]), array([[2., 4.],
           [4., 8.]]))
    """

    def __init__(self, n_features: int) -> None:
        self._state = _core.Moments(_rules.whole(1)("n_features", n_features))

    def update(self, X: Any, sample_weight: Any = None) -> None:
        """Take in the rows of X; a batch that is refused leaves everything as it was, bit for bit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        sample_weight : array-like of shape (n_samples,) or None
            Frequencies; 0 is an absent row.
        """
        A = _validation.matrix(X, "Moments")
        _validation.same_width(A, self.n_features, "Moments")
        weights, _ = _validation.sample_weights(sample_weight, len(A), "Moments")
        self._state.update(A, weights)

    def merge(self, other: Moments) -> None:
        """Take in the rows that another `Moments` of as many features has seen."""
        state = moments_state("other", other)
        if other.n_features != self.n_features:
            raise ValueError(f"other has {other.n_features} features, but {self.n_features} are needed")
        self._state.merge(state)

    def forget(self, factor: float) -> None:
        """Multiply the weight of everything seen so far by `factor`, above 0 and at most 1."""
        self._state.forget(_rules.share("factor", factor))

    def covariance(self, ddof: int = 1) -> Array:
        """``scatter / (weight - ddof)``, exactly symmetric.

        Parameters
        ----------
        ddof : int, default=1

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        ddof = _rules.ddof("ddof", ddof)
        _validation.enough_weight(self.weight, ddof, "moments")
        return self._state.covariance(ddof)

    @property
    def n_features(self) -> int:
        """The number of columns of every batch."""
        return self._state.n_features

    @property
    def count(self) -> int:
        """Rows of non-zero weight seen."""
        return self._state.count

    @property
    def weight(self) -> float:
        """Sum of the weights of the rows seen."""
        return self._state.weight

    @property
    def mean(self) -> Array:
        """Weighted mean of the rows seen, a new array on each read."""
        return self._state.mean()

    @property
    def scatter(self) -> Array:
        """Weighted sum of outer products about the mean, a new array on each read."""
        return self._state.scatter()

    def to_bytes(self) -> bytes:
        """The whole state, to be stored or sent; `from_bytes` gives it back bit for bit."""
        return self._state.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The state that `to_bytes` wrote; anything else is refused with a ValueError."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data must be bytes, got a {type(data).__name__}")
        return cls._of(_core.Moments.from_bytes(bytes(data)))

    @classmethod
    def _of(cls, state: _core.Moments) -> Self:
        moments = cls.__new__(cls)
        moments._state = state
        return moments

    def __getstate__(self) -> Any:
        """What a subclass has added, as `object` puts it: attributes, or these and those in slots."""
        state = super().__getstate__()
        attributes, *slots = state if isinstance(state, tuple) else (state,)
        added = {name: value for name, value in attributes.items() if name != "_state"} or None
        return (added, *slots) if slots else added

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),), self.__getstate__()

    def __repr__(self) -> str:
        return f"Moments(n_features={self.n_features}, count={self.count}, weight={self.weight:g})"


def moments_state(name: str, value: Any) -> _core.Moments:
    """The core's state of a `Moments`, for whoever takes one as the argument `name`."""
    if not isinstance(value, Moments):
        raise TypeError(f"{name} must be a Moments, got a {type(value).__name__}")
    return value._state
