"""The fitted map of kernel PCA: scores of new rows, and what the components leave of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from . import _core, _kernels, _validation
from ._base import Transformer

if TYPE_CHECKING:
    from ._kernels import Kernel
    from ._validation import Array


class KernelMap(Transformer):
    """Scores ``z = (k_t - K.mean(0)) @ eigenvectors_ / sqrt(eigenvalues_)`` and residuals, in feature space.

    The fitted arrays are read on each call, so eigenpairs that a user has edited are honoured.
    """

    _fitted_mark: ClassVar[str] = "eigenvalues_"

    eigenvalues_: Array
    eigenvectors_: Array
    X_fit_: Array
    _kernel: Kernel
    # The kernel as the core takes it; None for "precomputed" and a callable.
    _settled: Any
    _means: Array | None
    _grand_mean: float
    # Mean and components of the linear kernel, whose map needs no kernel values.
    _axes: tuple[Array, Array] | None

    def transform(self, X: Any) -> Any:
        """Scores of the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            For "precomputed" the kernel values with the training rows, of shape (n_rows, n_samples).

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            C order; float32 for float32 X, else float64. A data frame after `set_output`.

        Raises
        ------
        ValueError
            X has another width or other names than in `fit`, or holds NaN or infinity.
        NotFittedError
            `fit` has not been called.
        """
        # The plain case in one crossing, checks included; anything else comes back as None to be looked at.
        plain = _core.kernel_transform_fast(X, self.__dict__)
        if plain is not None:
            return plain
        A = self._read(X)
        if self._axes is not None:
            return self._wrap(_core.project(A, (*self._axes, None), None), X)
        x, training, spec = self._new_rows(A)
        Z = _core.kernel_project(x, training, spec, self._fitted_arrays())
        return self._wrap(Z.astype(A.dtype, copy=False), X)

    def squared_residuals(self, X: Any, diagonal: Any = None) -> Array:
        """Squared distance, in feature space, of each row's image to the subspace of the components.

        ``k(x, x) - 2 * k_t.mean() + K.mean() - |z|**2``, exact, and 0 where it would be negative.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            As for `transform`.
        diagonal : array-like of shape (n_rows,) or None, default=None
            k(x, x) of each row: needed for "precomputed", where X does not tell.

        Returns
        -------
        ndarray of shape (n_rows,)
            float64, never negative.
        """
        A = self._read(X)
        by = f"{type(self).__name__}.squared_residuals"
        if self._kernel.name == "precomputed":
            if diagonal is None:
                raise ValueError("diagonal, the values k(x, x), must be given for a precomputed kernel")
            diagonal = _validation.vector(diagonal, len(A), by, "diagonal")
        elif diagonal is not None:
            raise ValueError(f"diagonal is for a precomputed kernel only, got one for {self._kernel.name!r}")
        if self._axes is not None:
            return _core.squared_residuals(A, (*self._axes, None))
        rows = self._new_rows(A)
        if self._kernel.function is not None:
            diagonal = _kernels.diagonal_of_callable(self._kernel, A)
        return _core.kernel_squared_residuals(*rows, self._fitted_arrays(), diagonal)

    def _new_rows(self, A: Array) -> tuple[Array, Array | None, Any]:
        """New rows, training rows and kernel; or the kernel values, and None."""
        if self._kernel.name == "precomputed":
            return A, None, None
        return self._values(A, _validation.matrix(self.X_fit_, type(self).__name__, "X_fit_"))

    def _values(self, A: Array, fitted: Array) -> tuple[Array, Array | None, Any]:
        """The two sets of rows and the kernel; of a callable its values, and None."""
        x, training = _kernels.same_dtype(A, fitted)
        if self._kernel.function is not None:
            return _kernels.matrix_of_callable(self._kernel, x, training), None, None
        return x, training, self._settled

    def _fitted_arrays(self) -> tuple[Any, float, Array, Array]:
        vectors, values = self.eigenvectors_, self.eigenvalues_
        # Edited arrays are honoured, once they are what the core reads.
        if not _is_double(vectors):
            vectors = _validation.matrix(vectors, type(self).__name__, "eigenvectors_", cols=0).astype(float)
        if not _is_double(values) or values.ndim != 1 or not values.flags.c_contiguous:
            values = _validation.vector(values, self._n_features_out, type(self).__name__, "eigenvalues_")
        return self._means, self._grand_mean, vectors, values


def _is_double(values: Any) -> bool:
    return type(values) is np.ndarray and values.dtype.type is np.float64 and values.flags.aligned
