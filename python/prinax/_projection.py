"""Models that project rows onto orthonormal components about a mean, and what needs no more than that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core, _validation
from ._base import Transformer

if TYPE_CHECKING:
    from ._validation import Array


class Projection(Transformer):
    """Scores, their inverse, reconstruction and residuals, from `components_`, `mean_` and `scale_`.

    The fitted arrays are read on each call, so components that a user has edited are honoured.
    """

    components_: Array
    mean_: Array
    scale_: Array | None

    def transform(self, X: Any) -> Any:
        """Scores: the coordinates of the rows of X along the components.

        ``(X - mean_) / scale_ @ components_.T``, divided by ``sqrt(explained_variance_)`` when whitening; a
        direction without variance gets the score 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            C order; float32 for float32 X, else float64. A data frame after `set_output`.

        Raises
        ------
        ValueError
            X has another width or other names than in `fit`, or holds NaN or infinity.
        NotFittedError
            `fit` has not been called.
        """
        fitted = self.__dict__
        # The plain case in one crossing, checks included; anything else comes back as None and is looked at
        # below.
        if "components_" in fitted and "feature_names_in_" not in fitted and self._container() == "default":
            Z = _core.project_fast(
                X, fitted["mean_"], fitted["components_"], fitted["scale_"], self._divisors()
            )
            if Z is not None:
                return Z
        return self._wrap(self._scores(self._read(X)), X)

    def inverse_transform(self, X: Any) -> Array:
        """Rows of the original space with scores X: ``X @ components_ * scale_ + mean_``, whitening undone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            float32 for float32 X, else float64.
        """
        self._check_fitted()
        k = self._n_features_out
        by = f"{type(self).__name__}.inverse_transform"
        Z = _validation.matrix(X, by, cols=min(k, 1))
        _validation.same_width(Z, k, by)
        mean, components, scale = self._map()
        return _core.back_project(Z, mean, components, scale, self._whitening())

    def reconstruct(self, X: Any) -> Array:
        """Projection of the rows of X onto the model's subspace, in the original space; also the denoiser.

        ``(X - mean_) @ components_.T @ components_ + mean_`` (scaling undone), in one pass without the
        scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            float32 for float32 X, else float64.
        """
        return _core.reconstruct(self._read(X), *self._map())

    def residuals(self, X: Any) -> Array:
        """What the model leaves of each row: ``X - reconstruct(X)``, in the units of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            float32 for float32 X, else float64.
        """
        return _core.residuals(self._read(X), *self._map())

    def squared_residuals(self, X: Any) -> Array:
        """Squared length of each row's residual, in the squared units of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            float64, never negative.
        """
        return _core.squared_residuals(self._read(X), *self._map())

    def reconstruction_error(self, X: Any) -> float:
        """Mean squared length of the residuals, in standardised units when ``scale=True``.

        On the training data it is the sum of the discarded eigenvalues with divisor n (``ddof=0``).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        float
        """
        return _core.reconstruction_error(self._read(X), *self._map())

    def _divisors(self) -> tuple[Array, Array] | None:
        """Variances whose roots divide the scores, with the roots themselves for where the squares leave the
        range of numbers; or None."""
        return None

    def _scores(self, A: Array) -> Array:
        mean, components, scale = self._map()
        return _core.project(A, mean, components, scale, self._whitening())

    def _whitening(self) -> tuple[Array, Array] | None:
        divisors = self._divisors()
        if divisors is None:
            return None
        k, by = self._n_features_out, type(self).__name__
        variance = _validation.vector(divisors[0], k, by, "explained_variance_")
        return variance, divisors[1] if len(divisors[1]) == k else variance

    def _map(self) -> tuple[Array, Array, Array | None]:
        """Mean, components and scale as the core reads them, whatever a user has put in their place."""
        by, d = type(self).__name__, self.n_features_in_
        components = _validation.matrix(self.components_, by, "components_", rows=0)
        mean = _validation.vector(self.mean_, d, by, "mean_")
        scale = None if self.scale_ is None else _validation.vector(self.scale_, d, by, "scale_")
        return mean, components, scale
