"""Supervised PCA: the directions along which the data depend most on a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core, _parameters, _targets, _validation
from ._projection import Projection

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ClassVar, Self

    from ._validation import Array

# The order of what the core's fit returns.
FITTED = ("components_", "eigenvalues_", "hsic_", "mean_", "rank_", "solver_")


class SPCA(Projection):
    """Supervised principal component analysis: orthonormal directions of largest dependence on a target.

    Dependence is the Hilbert-Schmidt independence criterion (`hsic`) of the scores X U under a linear kernel
    with y under a kernel K_y: U maximises tr(U'X'H K_y H X U) over U'U = I, with H the centring matrix. With
    a thin factor K_y = D D' and Psi = X'HD, U holds the left singular vectors of Psi; nothing n x n is
    formed. For classes column c of Psi is n_c (mean of class c - mean of all): one read of X is most of the
    work.

    Not sparse PCA, and not the screening of Bair et al. that goes by the same name.

    Parameters
    ----------
    n_components : int or None, default=None
        How many directions; None keeps all there are, `rank_`. More than the rank is an error that names it:
        C classes have at most C - 1 directions, one target column has one.
    target_kernel : str or callable, default="auto"
        What compares two values of y:

        - "delta": equal or not (classes); "linear": their product (y of one column or several);
        - "auto": "delta" for one column of strings, bools, integers or categories, else "linear";
        - "rbf": ``exp(-gamma * |y - y'|**2)``;
        - "identity": every sample is its own class: this is PCA, y is not looked at;
        - "precomputed": y is the (n, n) kernel matrix; a callable gets two rows of y.

        Labels that are not numbers become one-hot columns where the kernel wants numbers.
    target_gamma : float, "scale", "median" or None, default="median"
        Of "rbf", as in `kernel_matrix`.
    center : bool, default=True
        Scores and reconstruction are about the mean of X. False gives ``X @ components_.T`` as it is; the
        directions are the same.
    solver : {"auto", "direct", "dual"}, default="auto"
        "auto" is the thin SVD of Psi (d x m, called "svd" in `solver_`), "direct" the eigenvectors of
        Psi Psi' (d x d), "dual" those of Psi'Psi (m x m). All agree.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features_in_)
        Unit rows, C order; float32 for float32 data, else float64. The entry of largest magnitude in each is
        positive.
    eigenvalues_ : ndarray of shape (n_components,)
        Of X'H K_y H X, descending: the squared singular values of Psi.
    hsic_ : float
        ``sum(eigenvalues_) / (n - 1)**2``, the HSIC attained.
    mean_ : ndarray of shape (n_features_in_,)
        Column means, float64; 0 for ``center=False``.
    rank_ : int
        Directions with an eigenvalue above ``max(n, d) * eps`` of the largest.
    solver_ : str
        "svd", "direct" or "dual"; for "identity" the solver of `PCA` that ran.
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
    >>> from prinax import SPCA
    >>> X = [[0.0, 9.0], [1.0, -9.0], [5.0, 8.0], [6.0, -8.0]]
    >>> y = ["low", "low", "high", "high"]
    >>> abs(SPCA().fit(X, y).components_)  # the second column varies more, but tells nothing of y
    array([[1., 0.]])
    """

    eigenvalues_: Array
    hsic_: float
    rank_: int
    solver_: str
    n_samples_: int
    feature_names_in_: Array

    _map_names: ClassVar[tuple[str, str, str | None]] = ("mean_", "components_", None)

    def __init__(
        self,
        n_components: int | None = None,
        *,
        target_kernel: str | Callable[[Array, Array], float] = "auto",
        target_gamma: float | str | None = "median",
        center: bool = True,
        solver: str = "auto",
    ) -> None:
        self.n_components = n_components
        self.target_kernel = target_kernel
        self.target_gamma = target_gamma
        self.center = center
        self.solver = solver

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions. A call that fails leaves the model as it was.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers in any order and strides; never changed.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Labels of any type or numbers, see `target_kernel`; the kernel matrix for "precomputed".

        Returns
        -------
        self

        Raises
        ------
        ValueError
            A parameter out of range, n_components above the rank, a constant target, X that does not vary
            with y, lengths that differ, NaN or infinity, fewer than two samples.
        TypeError
            A parameter, X or y of the wrong type.
        """
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Find the directions and return the scores of X; the same bits as ``fit(X, y).transform(X)``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            See `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            A data frame after `set_output`.
        """
        return self._wrap(self._scores(self._fit(X, y)), X)

    def _fit(self, X: Any, y: Any) -> Array:
        """Fits and returns X as the core reads it."""
        by = type(self).__name__
        p = _parameters.checked(self, _parameters.SPCA)
        asked = _targets.checked(self)
        names = _validation.column_names(X)
        A = _validation.matrix(X, by)
        n, d = A.shape
        _validation.enough_rows(n, by)
        target = _targets.read(y, asked, n, by)
        fit = _core.fit_spca(A, target, p["n_components"], p["center"], p["solver"])
        state = {**dict(zip(FITTED, fit, strict=True)), "n_samples_": n, "n_features_in_": d}
        if names is not None:
            state["feature_names_in_"] = names
        self._set_fitted(state)
        return A

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.target_kernel != "identity"
        return tags
