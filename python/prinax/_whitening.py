"""Whitening: linear maps that give data uncorrelated columns of variance 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from . import _core, _parameters, _validation
from ._affine import Affine

if TYPE_CHECKING:
    from typing import Self

    from ._validation import Array

# The order of what the core's fit returns.
FITTED = ("whitening_matrix_", "dewhitening_matrix_", "mean_", "explained_variance_", "rank_")


class Whitener(Affine):
    """Whitening, ``y = W @ (x - mean)`` with ``W @ Cov @ W.T = I``, and the way back.

    All methods agree up to a rotation of y. With Cov = U L U' (columns of U are eigenvectors), V its diagonal
    and P = V^(-1/2) Cov V^(-1/2) = G T G' the correlation:

    - "pca": W = L^(-1/2) U', scores along the principal axes; the sign rule is that of PCA;
    - "zca": W = U L^(-1/2) U', of all whitened data the closest to the data;
    - "pca-cor": W = T^(-1/2) G' V^(-1/2), "pca" of standardised data;
    - "zca-cor": W = G T^(-1/2) G' V^(-1/2), each y_j as correlated with x_j as can be;
    - "cholesky": W = L' with L L' = Cov^-1, L lower triangular: y_j does not depend on x_i for i < j.

    A direction in which the data do not vary (to rounding) gets 0 when ``eps=0``: then W Cov W' is the
    projector on the other directions, or ones and zeros on the diagonal.

    Parameters
    ----------
    method : {"zca", "pca", "zca-cor", "pca-cor", "cholesky"}, default="zca"
    n_components : int, float in (0, 1), "mle" or None, default=None
        How many principal directions are kept: that many, the fewest that reach that share of the variance,
        as many as Minka's evidence picks (see `PCA`; for the "-cor" methods of standardised data), or all.
        "pca" and "pca-cor" give that many scores, "zca" and "zca-cor" give nothing along the others;
        "cholesky" takes None only.
    eps : float, default=0.0
        Added to every eigenvalue, in squared units of X (for the "-cor" methods in units of a correlation):
        1/sqrt(l + eps). Keeps small directions, often noise, from being blown up.
    center : bool, default=True
        Subtract the mean of each column. False whitens ``X.T @ X / (n - ddof)``, for image patches whose
        own means have been removed (`center_rows`).
    ddof : int, default=1
        The covariance is divided by n - ddof.

    Attributes
    ----------
    whitening_matrix_ : ndarray of shape (n_components, n_features_in_)
        W; float32 for float32 data, else float64, like the next one.
    dewhitening_matrix_ : ndarray of shape (n_features_in_, n_components)
        D, the way back: ``x = D @ y + mean_`` on the subspace that the scores keep. The pseudo-inverse of W;
        for the "-cor" methods V^(1/2) times that of W V^(1/2), which undoes the whitening of standardised
        data and is another matrix where directions are left out. W D W = W for all of them.
    mean_ : ndarray of shape (n_features_in_,)
        Column means, float64; 0 for ``center=False``.
    explained_variance_ : ndarray
        The eigenvalues l (of the correlation for the "-cor" methods), descending, without eps.
    rank_ : int
        Directions with a variance above rounding; of those computed, when n_components is given.
    n_samples_ : int
        Rows seen in `fit`, those of weight 0 left out.
    n_features_in_ : int
        Columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X was a data frame with string names.

    References
    ----------
    Kessy, A., Lewin, A. and Strimmer, K. (2018). Optimal whitening and decorrelation. American Statistician
    72(4). https://doi.org/10.1080/00031305.2016.1277159

    Examples
    --------
    >>> import numpy as np
    >>> from prinax import Whitener
    >>> X = np.random.default_rng(0).normal(size=(500, 3)) @ [[2, 1, 0], [0, 1, 0.5], [0, 0, 0.1]]
    >>> Y = Whitener("zca").fit_transform(X)
    >>> bool(np.allclose(np.cov(Y.T), np.eye(3)))
    True
    """

    _fitted_mark: ClassVar[str] = "whitening_matrix_"
    _routed: ClassVar[tuple[str, ...]] = ("sample_weight",)
    _map_names: ClassVar[tuple[str, str, str | None]] = ("mean_", "whitening_matrix_", None)

    whitening_matrix_: Array
    dewhitening_matrix_: Array
    mean_: Array
    explained_variance_: Array
    rank_: int
    n_samples_: int
    feature_names_in_: Array

    def __init__(
        self,
        method: str = "zca",
        n_components: Any = None,
        *,
        eps: float = 0.0,
        center: bool = True,
        ddof: int = 1,
    ) -> None:
        self.method = method
        self.n_components = n_components
        self.eps = eps
        self.center = center
        self.ddof = ddof

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the whitening of the rows of X. A call that fails leaves the model as it was.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers in any order and strides; never changed.
        y : ignored
        sample_weight : array-like of shape (n_samples,) or None
            Frequencies: integers equal repeated rows, 0 an absent one; the divisor is their sum minus `ddof`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            A parameter out of range, a shape that does not fit, NaN or infinity, too few samples; "cholesky"
            for data without full rank, unless ``eps`` is above the rounding of the variances; X in a unit in
            which the matrix leaves the range of its dtype.
        TypeError
            A parameter or an X of the wrong type.
        MemoryError
            There is no room for the n_features x n_features matrices of "zca", "zca-cor" and "cholesky".
        """
        self._fit(X, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the whitening of X and return X whitened; the same bits as ``fit(X).transform(X)``.

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
        return self._wrap(self._scores(self._fit(X, sample_weight)), X)

    def inverse_transform(self, X: Any) -> Array:
        """Rows of the original space: ``X @ dewhitening_matrix_.T + mean_``.

        The exact inverse of `transform` on the subspace that the fitted data fill and the scores keep.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Whitened rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            float32 for float32 X, else float64.
        """
        self._check_fitted()
        model, by = self._now(), f"{type(self).__name__}.inverse_transform"
        k, d = model._n_features_out, model.n_features_in_
        Y = _validation.matrix(X, by, cols=min(k, 1))
        _validation.same_width(Y, k, by)
        back = _validation.matrix(model.dewhitening_matrix_, by, "dewhitening_matrix_", cols=0)
        return _core.back_project(Y, (_validation.vector(model.mean_, d, by, "mean_"), back.T, None), None)

    def _fit(self, X: Any, sample_weight: Any) -> Array:
        """Fits and returns X as the core reads it."""
        by = type(self).__name__
        p = _parameters.checked(self, _parameters.WHITENER)
        names = _validation.column_names(X)
        A = _validation.matrix(X, by)
        weights, n = _validation.sample_weights(sample_weight, len(A), by)
        d = A.shape[1]
        _validation.enough_samples(n, weights, p["ddof"], by)
        _parameters.components_fit(p["n_components"], n, d)
        fit = _core.fit_whitener(A, weights, p["method"], p["n_components"], p["eps"], p["center"], p["ddof"])
        state = {**dict(zip(FITTED, fit, strict=True)), "n_samples_": n, "n_features_in_": d}
        if names is not None:
            state["feature_names_in_"] = names
        self._set_fitted(state)
        return A
