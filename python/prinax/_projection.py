"""Models that project rows onto orthonormal components about a mean, and what needs no more than that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core, _validation
from ._affine import Affine

if TYPE_CHECKING:
    from ._validation import Array


class Projection(Affine):
    """Scores, their inverse, reconstruction and residuals, from `components_`, `mean_` and `scale_`.

    The fitted arrays are read on each call, so components that a user has edited are honoured.
    """

    components_: Array
    mean_: Array
    scale_: Array | None

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
        model, by = self._now(), f"{type(self).__name__}.inverse_transform"
        k = model._n_features_out
        Z = _validation.matrix(X, by, cols=min(k, 1))
        _validation.same_width(Z, k, by)
        return _core.back_project(Z, model._map(), model._whitening())

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
        return _core.reconstruct(self._read(X), self._now()._map())

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
        return _core.residuals(self._read(X), self._now()._map())

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
        return _core.squared_residuals(self._read(X), self._now()._map())

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
        return _core.reconstruction_error(self._read(X), self._now()._map())
