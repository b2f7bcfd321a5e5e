"""Supervised PCA in the feature space of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _kernels, _parameters, _targets, _validation
from ._base import Transformer

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ClassVar, Self

    from ._kernels import Kernel
    from ._validation import Array

# The order of what the core's fit returns; the rate is no attribute, and the coefficients come as rows.
FITTED = ("dual_coef_", "eigenvalues_", "hsic_", "_means", "rank_", "_rate")


class KernelSPCA(Transformer):
    """Kernel supervised PCA: the directions in a kernel's feature space of largest dependence on a target.

    The dual form of `SPCA`: with a thin factor K_y = D D' and H the centring matrix, D'H K_x H D = W S**2 W'
    (m x m), and a row x with kernel values k = k(x, rows of X) has the scores A'(k - K_x 1/n) with
    A = H D W S^-1. For classes K_x H D is made of class sums. A linear kernel gives `SPCA` up to sign.

    The kernel matrix K_x is the one n x n buffer (for ``target_kernel="identity"``, which is kernel PCA, two
    more hold its eigenvectors). There are no directions in the space of X, and so no way back to it.

    Parameters
    ----------
    n_components : int or None, default=None
        How many directions; None keeps all there are, `rank_`. More than the rank is an error that names it.
    kernel : str or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "precomputed" (X is the kernel matrix) or a
        function of two rows; see `kernel_matrix`.
    gamma : float, "scale", "median" or None, default=None
        See `kernel_matrix`; None is 1/d.
    degree : float, default=3
        Of "poly", at least 0.
    coef0 : float, default=1
        Of "poly" and "sigmoid".
    target_kernel : str or callable, default="auto"
        What compares two values of y, see `SPCA`.
    target_gamma : float, "scale", "median" or None, default="median"
        Of ``target_kernel="rbf"``.
    center : bool, default=True
        Scores are about the mean of X in feature space. False gives ``A'k``, which differs by a constant.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples, n_components)
        A, of the dtype of X; each column sums to 0, its entry of largest magnitude is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        S**2, descending, float64.
    hsic_ : float
        ``sum(eigenvalues_) / (n - 1)**2``, the HSIC attained.
    rank_ : int
        Directions with an eigenvalue above rounding: ``n * eps`` of the largest and ``sum((H @ D)**2)`` (1
        for "identity") times that of K_x, ``(4 + sqrt(d)) * sqrt(n) * eps * max(diag(K_x))``; eps is of the
        dtype of X, d = 1 where K_x is given. With ``target_kernel="identity"`` and `n_components` given only
        those that were computed are counted: at most `n_components`.
    gamma_ : float or None
        The number that `gamma` became; None for kernels that have none.
    X_fit_ : ndarray of shape (n_samples, n_features)
        A copy of the training rows; not there for a precomputed kernel.
    n_samples_ : int
        Rows seen in `fit`.
    n_features_in_ : int
        Columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X was a data frame with string names.

    References
    ----------
    Barshan, E., Ghodsi, A., Azimifar, Z. and Zolghadri Jahromi, M. (2011). Supervised principal component
    analysis. Pattern Recognition 44(7). https://doi.org/10.1016/j.patcog.2010.12.015

    Examples
    --------
    >>> import numpy as np
    >>> from prinax import KernelSPCA
    >>> angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> ring = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> y = np.repeat([0, 1], 40)
    >>> Z = KernelSPCA(gamma=0.5).fit_transform(np.vstack([ring, 4 * ring]), y)
    >>> bool((Z[:40] > 0.2).all() and (Z[40:] < -0.2).all())  # one number tells the rings apart
    True
    """

    _fitted_mark: ClassVar[str] = "dual_coef_"
    _sometimes: ClassVar[tuple[str, ...]] = ("feature_names_in_", "X_fit_")

    dual_coef_: Array
    eigenvalues_: Array
    hsic_: float
    rank_: int
    gamma_: float | None
    X_fit_: Array
    _kernel: Kernel
    _centered: bool
    # The kernel as the core takes it; None for "precomputed" and a callable.
    _settled: Any
    _means: Array
    n_samples_: int
    feature_names_in_: Array

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: str | Callable[[Array, Array], float] = "rbf",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1,
        target_kernel: str | Callable[[Array, Array], float] = "auto",
        target_gamma: float | str | None = "median",
        center: bool = True,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.target_kernel = target_kernel
        self.target_gamma = target_gamma
        self.center = center

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions. A call that fails leaves the model as it was.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers; the symmetric (n, n) kernel matrix for "precomputed".
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            See `SPCA.fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As `SPCA.fit`, and for a kernel matrix that is not square or not symmetric.
        MemoryError
            There is no room for the kernel matrix.
        """
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Find the directions and return the scores of X; the same bits as ``fit(X, y).transform(X)``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            A data frame after `set_output`.
        """
        return self._wrap(self._scores(self._fit(X, y)), X)

    def transform(self, X: Any) -> Any:
        """Scores of the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            For "precomputed" the kernel values with the training rows, (n_rows, n_samples).

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            C order; float32 where the rows and the training rows are, else float64. A data frame after
            `set_output`.
        """
        return self._wrap(self._scores(self._read(X)), X)

    @property
    def _n_features_out(self) -> int:
        return int(self.dual_coef_.shape[1])

    def _fit(self, X: Any, y: Any) -> Array:
        """Fits and returns X as the core reads it."""
        by = type(self).__name__
        p = _parameters.checked(self, _parameters.KERNEL_SPCA)
        kernel = _kernels.asked(self.kernel, self.gamma, self.degree, self.coef0, names=_kernels.OF_ROWS)
        asked = _targets.checked(self)
        names = _validation.column_names(X)
        A = _validation.square(X, by, "X") if kernel.name == "precomputed" else _validation.matrix(X, by)
        n, d = A.shape
        _validation.enough_rows(n, by)
        target = _targets.read(y, asked, n, by)
        K = A if kernel.function is None else _kernels.matrix_of_callable(kernel, A)
        fit = _core.fit_kernel_spca(K, kernel.spec, target, p["n_components"])
        state: dict[str, Any] = dict(zip(FITTED, fit, strict=True))
        rate = state.pop("_rate")
        state.update(
            dual_coef_=state["dual_coef_"].T,
            gamma_=None if rate is None else _rate_as_number(rate),
            _kernel=kernel,
            _centered=p["center"],
            _settled=kernel.settled(rate),
            n_samples_=n,
            n_features_in_=d,
        )
        if kernel.name != "precomputed":
            state["X_fit_"] = A.copy()
        if names is not None:
            state["feature_names_in_"] = names
        self._set_fitted(state)
        return A

    def _scores(self, A: Array) -> Array:
        kernel, by, n = self._kernel, type(self).__name__, self.n_samples_
        means = _validation.vector(self._means, n, by, "_means")
        if not self._centered:
            means = np.zeros(n)
        dual = _validation.matrix(self.dual_coef_, by, "dual_coef_", cols=0).T
        if kernel.name == "precomputed":
            return _core.project(A, (means, dual, None), None)
        fitted = _validation.matrix(self.X_fit_, by, "X_fit_")
        A, fitted = _kernels.same_dtype(A, fitted)
        if kernel.function is not None:
            K = _kernels.matrix_of_callable(kernel, A, fitted)
            return _core.project(K, (means, dual, None), None)
        return _core.kernel_spca_scores(A, fitted, self._settled, self._centered, means, dual)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.target_kernel != "identity"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _rate_as_number(rate: tuple[float, int]) -> float:
    """``value * 2**exponent``; 0 or infinite where float64 does not reach."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(*rate))
