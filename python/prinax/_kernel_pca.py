"""Kernel principal component analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from . import _core, _kernels, _parameters, _preimage, _rules, _validation

if TYPE_CHECKING:
    from typing import Self

    from ._validation import Array

# The order of what the core's fit returns; the scores of the training rows and the rate are no attributes.
FITTED = (
    "eigenvalues_",
    "eigenvectors_",
    "explained_variance_ratio_",
    "_scores",
    "gamma_",
    "_rate",
    "_means",
    "_grand_mean",
    "_axes",
    "solver_",
)


class KernelPCA(_preimage.Invertible):
    """Kernel principal component analysis: PCA of the images of the rows in the feature space of a kernel.

    With K the kernel matrix of the n training rows and H = I - 11'/n, the eigenpairs of ``H @ K @ H`` give
    the principal axes of the images. The scores of the training rows are
    ``eigenvectors_ * sqrt(eigenvalues_)``; a new row x with the kernel values k_t = k(x, X_fit_) has

        z = (k_t - K.mean(0)) @ eigenvectors_ / sqrt(eigenvalues_),

    and 0 where the eigenvalue is 0. The entry of largest magnitude in each eigenvector is positive.

    There are no principal directions in the space of X, and no exact way back to it: `inverse_transform` is a
    regression, learned when ``fit_inverse_transform=True``.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None, default=None
        How many components to keep: that many, of n_samples at most; the fewest whose cumulative
        `explained_variance_ratio_` is at least that share (an error where these are more than all, which only
        negative eigenvalues make possible); or all with an eigenvalue above rounding.
    kernel : {"linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "precomputed"} or callable, \
default="linear"
        See `kernel_matrix`. A callable gets two rows, and `kernel_params`, and returns a number. For
        "precomputed" X is the kernel matrix: (n, n) in `fit`, (n_new, n) afterwards.
    gamma : float, "scale", "median" or None, default=None
        See `kernel_matrix`; what it became is ``gamma_``.
    degree : float, default=3
        Of "poly", at least 0. For 0 every kernel value is 1: no direction is left, and ``gamma_`` is 0.
    coef0 : float, default=1
        Of "poly" and "sigmoid".
    kernel_params : dict or None, default=None
        Passed to a callable kernel by name.
    alpha : float, default=1.0
        Ridge penalty of the regression behind `inverse_transform`.
    fit_inverse_transform : bool, default=False
        Learn `inverse_transform`. Not with "precomputed".
    eigen_solver : {"auto", "dense", "lanczos", "arpack", "randomized"}, default="auto"
        "dense" computes all eigenpairs, "lanczos" (also called "arpack") the leading ones to the residual
        `tol`, "randomized" approximates them. Neither of the last two forms the centred matrix. "auto" takes
        "lanczos" where few components are wanted, else "dense".
    tol : float, default=0
        Relative residual of "lanczos"; 0 means 1e-12 for float64 and 1e-7 for float32 data.
    max_iter : int or None, default=None
        What "lanczos" may spend, in rounds of four products with a vector, before it gives up; where that is
        n_samples (for "linear" min(n_samples, n_features)) products or more, "dense" takes over instead of an
        error. None means as many as it takes, with "auto" half of n_samples (not for "linear").
    iterated_power : int or "auto", default="auto"
        Power iterations of "randomized"; "auto" means 7 for n_components below a tenth of n_samples (of
        min(n_samples, n_features) for "linear"), else 4.
    remove_zero_eig : bool, default=False
        Leave out components with eigenvalue 0; None for n_components always does.
    random_state : int, RandomState, Generator or None, default=None
        Start of "lanczos" and "randomized", which draw once from a generator; "auto" leaves it alone. None is
        a fixed seed: every fit repeats bit for bit.
    copy_X : bool, default=True
        False keeps the caller's array as ``X_fit_`` instead of a copy: whoever changes it changes the model.
    n_jobs : int or None, default=None
        Accepted for scikit-learn; `set_num_threads` sets the number of threads.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Of the centred kernel matrix, descending, 0 for a direction that is dead; float64.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Orthonormal columns, float64.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        ``eigenvalues_`` over the trace of the centred kernel matrix. Negative eigenvalues lower the trace: of
        an indefinite kernel a ratio may be above 1, and is NaN where the trace is not positive.
    gamma_ : float or None
        The number that `gamma` became; None for kernels that have none.
    solver_ : str
        The solver that ran; for "linear" "dense" also where small directions made another hand over to it.
    X_fit_ : ndarray of shape (n_samples, n_features)
        The training rows. Not there for a precomputed kernel, whose matrix is not needed any more.
    X_transformed_fit_ : ndarray of shape (n_samples, n_components)
        Scores of the training rows, when ``fit_inverse_transform=True``.
    dual_coef_ : ndarray of shape (n_samples, n_features)
        Coefficients of the way back, when ``fit_inverse_transform=True``.
    n_features_in_ : int
        Columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X was a data frame with string names.

    References
    ----------
    Schoelkopf, B., Smola, A. and Mueller, K.-R. (1998). Nonlinear component analysis as a kernel eigenvalue
    problem. Neural Computation 10(5). https://doi.org/10.1162/089976698300017467

    Bakir, G. H., Weston, J. and Schoelkopf, B. (2004). Learning to find pre-images. NIPS 16.

    Examples
    --------
    >>> import numpy as np
    >>> from prinax import KernelPCA
    >>> angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> ring = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> Z = KernelPCA(n_components=1, kernel="rbf", gamma=0.5).fit_transform(np.vstack([ring, 4 * ring]))
    >>> bool((Z[:40] > 0.1).all() and (Z[40:] < 0.1).all())  # one number tells the rings apart
    True
    """

    _sometimes: ClassVar[tuple[str, ...]] = (
        "feature_names_in_",
        "X_fit_",
        "X_transformed_fit_",
        "dual_coef_",
        "_preimage_mean",
    )

    explained_variance_ratio_: Array
    gamma_: float | None
    solver_: str
    feature_names_in_: Array

    def __init__(
        self,
        n_components: Any = None,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: int | str = "auto",
        remove_zero_eig: bool = False,
        random_state: Any = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model to the rows of X. A call that fails leaves the model as it was.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) for "precomputed"
            Finite numbers in any order and strides; never changed. A matrix must be symmetric to rounding.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            A parameter out of range, a shape that does not fit, NaN or infinity, a matrix that is not
            symmetric, a negative eigenvalue among those asked for.
        TypeError
            A parameter or an X of the wrong type.
        MemoryError
            There is no room for the n x n matrix; said before it is made.
        numpy.linalg.LinAlgError
            "lanczos" did not reach `tol` within `max_iter`, or the regression behind `inverse_transform`
            needs a larger alpha.
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit the model to X and return the scores of X, ``eigenvectors_ * sqrt(eigenvalues_)``.

        Equal to ``fit(X).transform(X)`` to rounding, at half its cost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) for "precomputed"
        y : ignored

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            A data frame after `set_output`.
        """
        return self._wrap(self._fit(X), X)

    def _fit(self, X: Any) -> Array:
        """Fits and returns the scores of X."""
        by = type(self).__name__
        p = _parameters.checked(self, _parameters.KERNEL_PCA)
        kernel = _kernels.asked(
            self.kernel, self.gamma, self.degree, self.coef0, p["kernel_params"], names=_kernels.OF_ROWS
        )
        if p["fit_inverse_transform"] and kernel.name == "precomputed":
            raise ValueError(
                "Cannot fit_inverse_transform with a precomputed kernel: there are no rows to come back to"
            )
        names = _validation.column_names(X)
        A = _validation.matrix(X, by)
        _parameters.components_fit_samples(p["n_components"], len(A))
        given = A
        if kernel.function is not None:
            given = _kernels.matrix_of_callable(kernel, A)
        fit = _core.fit_kernel_pca(
            given,
            kernel.spec,
            p["n_components"],
            p["eigen_solver"],
            p["tol"],
            p["max_iter"],
            p["iterated_power"],
            p["remove_zero_eig"],
            _rules.solver_seed(p["random_state"], p["eigen_solver"]),
        )
        state: dict[str, Any] = dict(zip(FITTED, fit, strict=True))
        scores: Array = state.pop("_scores")
        settled = kernel.settled(state.pop("_rate"))
        state.update(_kernel=kernel, _settled=settled, n_features_in_=A.shape[1])
        if names is not None:
            state["feature_names_in_"] = names
        if kernel.name != "precomputed":
            state["X_fit_"] = np.array(A, order="C") if p["copy_X"] else A
        if p["fit_inverse_transform"]:
            state.update(_preimage.learned(A, scores, kernel, settled, p["alpha"]))
        self._set_fitted(state)
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
