"""The Gaussian model of PCA (Tipping and Bishop 1999): densities, covariance, precision; where to cut it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core, _rules, _validation
from ._projection import Projection

if TYPE_CHECKING:
    from ._validation import Array


class GaussianProjection(Projection):
    """A projection whose discarded directions share one noise variance."""

    explained_variance_: Array
    explained_variance_ratio_: Array
    noise_variance_: float
    _noise_deviation: float

    def score_samples(self, X: Any) -> Array:
        """Log-density of each row under the probabilistic model, a Gaussian with `get_covariance`.

        Memory O(d k): the covariance is never formed. In the units of X also under ``scale=True``; constant
        columns are left out of it then. Does not depend on `whiten`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Natural logarithms, float64.
        """
        return _core.score_samples(self._read(X), *self._gaussian())

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-density of the rows of X: the mean of `score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        float
        """
        return _core.score(self._read(X), *self._gaussian())

    def get_covariance(self) -> Array:
        """Covariance of the probabilistic model, in the units of X.

        ``components_.T @ diag(explained_variance_ - noise_variance_) @ components_ + noise_variance_ * I``,
        times ``outer(scale_, scale_)`` under ``scale=True``. Equals the sample covariance when every
        component is kept.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            Symmetric, float64.

        Raises
        ------
        MemoryError
            There is no room for n_features x n_features numbers.
        """
        self._check_fitted()
        return _core.model_covariance(*self._gaussian())

    def get_precision(self) -> Array:
        """Inverse of `get_covariance`, by Woodbury's identity from the components.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            Symmetric, float64.

        Raises
        ------
        numpy.linalg.LinAlgError
            The model is singular: no noise variance, and fewer living components than features.
        MemoryError
            There is no room for n_features x n_features numbers.
        """
        self._check_fitted()
        return _core.model_precision(*self._gaussian())

    def n_components_for(self, ratio: float | None = None, min_eigenvalue: float | None = None) -> int:
        """How many of the fitted components a rule would keep, without another fit.

        Parameters
        ----------
        ratio : float in (0, 1] or None
            The fewest components whose cumulative `explained_variance_ratio_` is at least this share.
        min_eigenvalue : float or None
            The components whose `explained_variance_` is at least this.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            Not exactly one rule is given, or the kept components do not reach `ratio`.
        """
        self._check_fitted()
        ratio, least = _one_rule(ratio, min_eigenvalue)
        model, by = self._now(), type(self).__name__
        k = model._n_features_out
        variances, shares = (
            _validation.vector(getattr(model, name), k, by, name)
            for name in ("explained_variance_", "explained_variance_ratio_")
        )
        return _core.components_for(variances, shares, model._noise_deviation, ratio, least)

    def _gaussian(self) -> tuple[Any, tuple[tuple[Array, Array], tuple[float, float]]]:
        model = self._now()
        return model._map(), (model._variances(), (float(model.noise_variance_), model._noise_deviation))


def _one_rule(ratio: Any, min_eigenvalue: Any) -> tuple[float | None, float | None]:
    """The arguments of `n_components_for`: exactly one of them is given."""
    if (ratio is None) == (min_eigenvalue is None):
        raise ValueError(
            f"give exactly one of ratio and min_eigenvalue, got ratio={ratio!r} and "
            f"min_eigenvalue={min_eigenvalue!r}"
        )
    if ratio is None:
        return None, _rules.non_negative("min_eigenvalue", min_eigenvalue)
    return _rules.share("ratio", ratio), None
