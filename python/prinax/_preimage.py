"""Approximate pre-images: the way back from scores to rows, learned by ridge regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _kernels, _validation
from ._base import not_fitted
from ._kernel_map import KernelMap

if TYPE_CHECKING:
    from ._kernels import Kernel
    from ._validation import Array


class Invertible(KernelMap):
    """A kernel map that has learned the way back, where its fit was asked to."""

    X_transformed_fit_: Array
    dual_coef_: Array
    _preimage_mean: Array

    def inverse_transform(self, X: Any) -> Array:
        """Approximate pre-images: rows whose scores are near X, by ridge regression on the training rows.

        ``k(X, X_transformed_fit_) @ dual_coef_ + mean`` with
        ``dual_coef_ = solve(K_Z + alpha * I, X_fit_ - mean)``, K_Z the kernel matrix of the training scores.
        A point of the feature space has in general no row that maps to it. Without components it is the mean.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_components)
            Scores.

        Returns
        -------
        ndarray of shape (n_rows, n_features)

        Raises
        ------
        NotFittedError
            The model was not fitted with ``fit_inverse_transform=True``.
        """
        self._check_fitted()
        if "dual_coef_" not in self.__dict__:
            raise not_fitted(
                f"This {type(self).__name__} has no inverse_transform: a point of the feature space has no "
                "exact pre-image. Set fit_inverse_transform=True before fit to learn an approximate one."
            )
        by, k = f"{type(self).__name__}.inverse_transform", self._n_features_out
        Z = _validation.matrix(X, by, cols=min(k, 1))
        _validation.same_width(Z, k, by)
        if k == 0:
            return np.tile(self._preimage_mean, (len(Z), 1)).astype(Z.dtype, copy=False)
        fitted = _validation.matrix(self.X_transformed_fit_, by, "X_transformed_fit_")
        dual = _validation.matrix(self.dual_coef_, by, "dual_coef_").astype(np.float64, copy=False)
        back = _core.pre_image(*self._values(Z, fitted), dual, self._preimage_mean)
        return back.astype(Z.dtype, copy=False)


def learned(A: Array, scores: Array, kernel: Kernel, settled: Any, alpha: float) -> dict[str, Any]:
    """The fitted attributes of the way back: the regression of the rows A on their scores."""
    Z = scores
    if scores.shape[1] == 0:
        settled = _kernels.CONSTANT  # one point, whatever the kernel
    elif kernel.function is not None:
        Z = _kernels.matrix_of_callable(kernel, scores)
    dual, mean = _core.learn_preimage(A, Z, settled, alpha)
    return {"X_transformed_fit_": scores, "dual_coef_": dual, "_preimage_mean": mean}
