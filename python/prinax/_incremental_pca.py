"""PCA of rows that come in batches, equal to PCA of all of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from . import _batches, _parameters, _progress, _rules, _validation
from ._covariance import Moments
from ._gaussian import GaussianProjection
from ._solution import Solution, Solved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self

    from ._validation import Array


class IncrementalPCA(GaussianProjection):
    """PCA of rows that come in batches, from a stream or a file too large for memory.

    The mean and the scatter matrix of all rows so far are kept, exact to rounding, so the model equals that
    of `PCA` on all rows at once, whatever the batches were: one row at a time, or fewer rows than components.
    Memory is O(n_features**2), whatever the number of rows.

    `fit` solves for the components at once. After `partial_fit` and `merge` they are solved for when they are
    first read, once, so updates stay cheap.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None, default=None
        How many components to keep: that many, the fewest whose cumulative variance ratio is at least that
        share, or min(n_samples_seen_, n_features). While fewer rows than that have been seen, as many as
        there are rows.
    whiten : bool, default=False
        Divide scores by their standard deviations. Directions without variance get 0.
    copy : bool, default=True
        Accepted for scikit-learn; X is never changed either way.
    batch_size : int or None, default=None
        Rows that `fit` converts at a time when X is an array that must be converted to be read (integers,
        another byte order); None means 5 * n_features. Other arrays are read where they lie. No result
        depends on it.
    forgetting_factor : float in (0, 1], default=1.0
        Each row counts this factor less with every row that comes after it, within a batch too: a row that j
        rows have followed has the weight ``forgetting_factor**j``. 1 forgets nothing.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Unit rows, C order; float32 when float32 rows have been seen, else float64. The other attributes are
        float64.
    explained_variance_ : ndarray of shape (n_components_,)
        Variance of each score; the divisor is the sum of the weights minus 1. After one row it is 0.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        ``explained_variance_ / total_variance_``.
    singular_values_ : ndarray of shape (n_components_,)
        Lengths of the score columns.
    mean_ : ndarray of shape (n_features_in_,)
        Column means.
    var_ : ndarray of shape (n_features_in_,)
        Column variances with divisor n (as in scikit-learn).
    scale_ : None
        Columns are never divided by their standard deviations.
    noise_variance_ : float
        ``(total_variance_ - sum(explained_variance_)) / (d - k)``, 0 when k = d.
    total_variance_ : float
        Sum of all variances, kept or not.
    rank_ : int
        Directions, of those computed, with a variance above the rounding of a squared matrix: sigma_j**2 >
        d eps sigma_1**2, eps of the coarsest rows seen.
    n_components_ : int
        Number of components kept, k.
    n_samples_seen_ : int
        Rows seen, those of weight 0 left out.
    batch_size_ : int
        See `batch_size`.
    n_features_in_ : int
        Number of columns, d.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when the first batch was a data frame with string names.

    References
    ----------
    Chan, T. F., Golub, G. H. and LeVeque, R. J. (1983). Algorithms for computing the sample variance.
    American Statistician 37(3). https://doi.org/10.1080/00031305.1983.10483115

    Examples
    --------
    >>> import numpy as np
    >>> from prinax import PCA, IncrementalPCA
    >>> X = np.random.default_rng(0).normal(size=(1000, 5))
    >>> stream = IncrementalPCA(n_components=2)
    >>> for batch in np.split(X, [1, 300, 320]):
    ...     stream = stream.partial_fit(batch)
    >>> bool(np.allclose(stream.components_, PCA(2).fit(X).components_, atol=1e-12))
    True
    """

    _fitted_mark: ClassVar[str] = "n_samples_seen_"
    _routed: ClassVar[tuple[str, ...]] = ("sample_weight",)

    components_: Any = Solved()
    explained_variance_: Any = Solved()
    explained_variance_ratio_: Any = Solved()
    singular_values_: Any = Solved()
    mean_: Any = Solved()
    var_: Any = Solved()
    scale_: Any = Solved()
    noise_variance_: Any = Solved()
    total_variance_: Any = Solved()
    rank_: Any = Solved()
    n_components_: Any = Solved()
    _deviations: Any = Solved()
    _noise_deviation: Any = Solved()

    _moments: Moments
    _solution: Solution
    n_samples_seen_: int
    batch_size_: int
    feature_names_in_: Array

    def __init__(
        self,
        n_components: Any = None,
        *,
        whiten: bool = False,
        copy: bool = True,
        batch_size: int | None = None,
        forgetting_factor: float = 1.0,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.copy = copy
        self.batch_size = batch_size
        self.forgetting_factor = forgetting_factor

    # --- fits -----------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        progress: bool | Callable[[int, int | None], Any] = False,
    ) -> Self:
        """Fit the model to the rows of X, or of all batches in X, forgetting earlier ones.

        A call that fails leaves the model as it was.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or an iterable of such batches
            A memory-mapped array is read where it lies. Batches come from an iterator, a generator, a loader,
            or a list of 2-D arrays or data frames.
        y : ignored
        sample_weight : array-like of shape (n_samples,) or None
            Frequencies, for an array X: 0 is an absent row.
        progress : bool or callable, default=False
            While batches are read: True shows a bar (tqdm, where installed, else a line on a terminal); a
            callable is called with the number of batches done and their total, or None where that is unknown.

        Returns
        -------
        self
        """
        p = _parameters.checked(self, _parameters.INCREMENTAL_PCA)
        progress = _rules.progress("progress", progress)
        if _batches.are_batches(X):
            if sample_weight is not None:
                raise TypeError("sample_weight goes with an array X; give weighted batches to partial_fit")
            read = self._read_batches(X, p, progress)
        else:
            read = self._read_array(X, sample_weight, p)
        state = self._state(*read, p)
        state["_solution"].model()
        return self._set_fitted(state)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the model to X and return the scores of X; the same bits as ``fit(X).transform(X)``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,) or None
            See `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            A data frame after `set_output`.
        """
        if _batches.are_batches(X):
            raise TypeError("X must be an array to be transformed; give batches to fit, then to transform")
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def partial_fit(self, X: Any, y: Any = None, check_input: bool = True, sample_weight: Any = None) -> Self:
        """Take in the rows of X. A batch that is refused leaves everything as it was, bit for bit.

        So does Ctrl-C while the batch is read. `n_samples_seen_` always says whether it has been taken in.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Any number of rows.
        y : ignored
        check_input : bool, default=True
            Accepted for scikit-learn; X is always checked.
        sample_weight : array-like of shape (n_samples,) or None
            Frequencies; 0 is an absent row, which makes no other row older.

        Returns
        -------
        self
        """
        p = _parameters.checked(self, _parameters.INCREMENTAL_PCA)
        by = type(self).__name__
        names = _validation.column_names(X)
        A = _validation.matrix(X, by)
        fitted = self.__sklearn_is_fitted__()
        if fitted:
            _validation.same_names(names, getattr(self, "feature_names_in_", None), by)
            _validation.same_width(A, self.n_features_in_, by)
            names = getattr(self, "feature_names_in_", None)
        weights, _ = _validation.sample_weights(sample_weight, len(A), by)
        d = A.shape[1]
        _parameters.components_fit_columns(p["n_components"], d)
        moments = self._moments if fitted else Moments(d)
        found = self._state(moments, names, p)
        moments._state.update(A, weights, p["forgetting_factor"], (self.__dict__, found, self._sometimes))
        return self

    def merge(self, other: IncrementalPCA) -> Self:
        """Take in the rows that another model has seen, on another machine say. `other` stays as it is.

        Parameters
        ----------
        other : IncrementalPCA
            Fitted, with as many features of the same names.

        Returns
        -------
        self
        """
        if not isinstance(other, IncrementalPCA):
            raise TypeError(f"other must be an IncrementalPCA, got a {type(other).__name__}")
        other._check_fitted()
        p = _parameters.checked(self, _parameters.INCREMENTAL_PCA)
        by, d = type(self).__name__, other.n_features_in_
        names = getattr(other, "feature_names_in_", None)
        moments = Moments(d)
        if self.__sklearn_is_fitted__():
            if d != self.n_features_in_:
                raise ValueError(f"other has {d} features, but {self.n_features_in_} are needed")
            _validation.same_names(names, getattr(self, "feature_names_in_", None), by)
            names = getattr(self, "feature_names_in_", None)
            moments = self._moments
        _parameters.components_fit_columns(p["n_components"], d)
        found = self._state(moments, names, p)
        moments._state.merge(other._moments._state, (self.__dict__, found, self._sometimes))
        return self

    # --- reading --------------------------------------------------------------------------------------------

    def _read_array(self, X: Any, sample_weight: Any, p: dict[str, Any]) -> tuple[Moments, Array | None]:
        """The moments of the rows of an array, and its column names."""
        by, names = type(self).__name__, _validation.column_names(X)
        moments, weights, start = None, None, 0
        for piece in _batches.pieces(X, p["batch_size"]):
            A = _validation.matrix(piece, by)
            if moments is None:
                rows, d = len(A) if piece is X else len(X), A.shape[1]
                weights, n = _validation.sample_weights(sample_weight, rows, by)
                _validation.enough_samples(n, weights, 1, by, asked=False)
                _parameters.components_fit(p["n_components"], n, d)
                moments = Moments(d)
            here = None if weights is None else weights[start : start + len(A)]
            if here is None or here.any():
                moments._state.update(A, here, p["forgetting_factor"])
            else:
                moments._state.pass_over(A)  # absent rows are refused for the same values as others
            start += len(A)
        assert moments is not None
        return moments, names

    def _read_batches(
        self, batches: Iterable[Any], p: dict[str, Any], progress: Any
    ) -> tuple[Moments, Array | None]:
        """The moments of the rows of all batches, and the column names of the first."""
        by, moments, names = type(self).__name__, None, None
        with _progress.reporting(progress, _batches.count(batches), by) as report:
            for done, batch in enumerate(batches, start=1):
                found = _validation.column_names(batch)
                A = _validation.matrix(batch, by, what="a batch of X")
                if moments is None:
                    moments, names = Moments(A.shape[1]), found
                _validation.same_names(found, names, by)
                _validation.same_width(A, moments.n_features, by)
                moments._state.update(A, None, p["forgetting_factor"])
                report(done)
        if moments is None:
            raise ValueError(f"Found X with 0 batches while a minimum of 1 is required by {by}.")
        _validation.enough_samples(moments.count, None, 1, by, asked=False)
        _parameters.components_fit(p["n_components"], moments.count, moments.n_features)
        return moments, names

    # --- the model ------------------------------------------------------------------------------------------

    def _snapshot(self) -> dict[str, Any]:
        """The attributes that a copy has: moments of its own, for they are updated in place."""
        while "_moments" in self.__dict__:
            moments = self._moments
            state, attributes = moments._state.copy_with(self.__dict__)
            # Otherwise another thread has called `fit` in between.
            if attributes["_moments"] is moments:
                twin = Moments._of(state)
                solution = attributes["_solution"].with_moments(twin)
                return {**attributes, "_moments": twin, "_solution": solution}
        return self.__dict__

    def _state(self, moments: Moments, names: Array | None, p: dict[str, Any]) -> dict[str, Any]:
        """What a fitted estimator holds."""
        d = moments.n_features
        state = {
            "_moments": moments,
            "_solution": Solution(moments, p["n_components"]),
            "n_samples_seen_": moments.count,
            "batch_size_": _batches.size(p["batch_size"], d),
            "n_features_in_": d,
        }
        if names is not None:
            state["feature_names_in_"] = names
        return state

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    @property
    def _attributes(self) -> dict[str, Any]:
        solution = self.__dict__.get("_solution")
        # What a user has put into the estimator comes first, as when it is read.
        return {**solution.model(), **self.__dict__} if solution else self.__dict__
