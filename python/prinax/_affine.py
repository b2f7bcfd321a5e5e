"""Models whose transform is an affine map of the rows: the call itself, its checks, and its frozen form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from . import _core, _validation
from ._base import Transformer
from ._frozen import FrozenTransform

if TYPE_CHECKING:
    from typing import Self

    from ._validation import Array


class Affine(Transformer):
    """``z = matrix @ ((x - mean) / scale)`` with fitted arrays, which are read on each call.

    Arrays that a user has edited are therefore honoured.
    """

    # The attributes that hold mean, matrix (k, d) and scale; None for a model that never scales.
    _map_names: ClassVar[tuple[str, str, str | None]] = ("mean_", "components_", "scale_")

    @property
    def _attributes(self) -> dict[str, Any]:
        """Parameters and fitted attributes by name."""
        return self.__dict__

    def transform(self, X: Any) -> Any:
        """Scores of the rows of X, ``(X - mean_) @ matrix.T``.

        The matrix is ``components_``, for a Whitener ``whitening_matrix_``. A standardising model divides by
        ``scale_`` first, a whitening one by the standard deviations of the scores afterwards; a direction
        without variance gets the score 0.

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
        # The plain case in one crossing, checks included; anything else comes back as None to be looked at.
        Z = _core.transform_fast(X, self._attributes, self._map_names)
        return self._wrap(self._scores(self._read(X)), X) if Z is None else Z

    def freeze(self) -> FrozenTransform:
        """The fitted map on its own: immutable, made for services, saved without pickle.

        Its scores are those of `transform`, to rounding where a whitening model's standard deviations go into
        the matrix, else bit for bit.

        Returns
        -------
        FrozenTransform
            Of the dtype of the fitted matrix.
        """
        self._check_fitted()
        model = self._now()
        return FrozenTransform._of(*model._map(), model._whitening())

    def _scores(self, A: Array) -> Array:
        Z = _core.project_fast(A, self._attributes, self._map_names)
        if Z is not None:
            return Z
        model = self._now()
        return _core.project(A, model._map(), model._whitening())

    def _now(self) -> Self:
        """The model as it is at this moment, for whoever reads several attributes of one fit: another thread
        may fit in between."""
        model = object.__new__(type(self))
        model.__dict__ = self._attributes.copy()
        return model

    def _whitening(self) -> tuple[Array, Array] | None:
        """Variances whose roots divide the scores where ``whiten=True``, and the roots themselves for where
        the squares leave the range of numbers."""
        return self._variances() if getattr(self, "whiten", False) else None

    def _variances(self) -> tuple[Array, Array]:
        """Variances of the scores, and their roots as they were fitted."""
        model: Any = self
        k, by = self._n_features_out, type(self).__name__
        variance = _validation.vector(model.explained_variance_, k, by, "explained_variance_")
        return variance, model._deviations if len(model._deviations) == k else variance

    def _map(self) -> tuple[Array, Array, Array | None]:
        """Mean, matrix and scale as the core reads them, whatever a user has put in their place."""
        by, d = type(self).__name__, self.n_features_in_
        of_mean, of_matrix, of_scale = self._map_names
        mean = _validation.vector(getattr(self, of_mean), d, by, of_mean)
        matrix = _validation.matrix(getattr(self, of_matrix), by, of_matrix, rows=0)
        scale = None if of_scale is None else getattr(self, of_scale)
        if scale is not None:
            scale = _validation.vector(scale, d, by, "scale_")
        return mean, matrix, scale
