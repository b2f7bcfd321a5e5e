"""Principal component analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core, _parameters, _rules, _validation
from ._covariance import Moments, moments_state
from ._gaussian import GaussianProjection

if TYPE_CHECKING:
    from typing import ClassVar, Self

    from ._validation import Array


class PCA(GaussianProjection):
    """Principal component analysis: the orthonormal directions along which the data vary most.

    With Xc the centred data and Xc = U S V' its singular value decomposition, the components are the first
    rows of V', the scores U S and the variances S**2 / (n - ddof), in descending order. The entry of largest
    magnitude in each component is positive (of equal ones, the first). Any solver but "randomized", which
    approximates, gives the same model; ``solver_`` tells which ran.

    Parameters
    ----------
    n_components : int, float in (0, 1), "mle" or None, default=None
        How many components to keep: that many (0 is the isotropic model); the fewest whose cumulative
        variance ratio is at least that share; as many as Minka's evidence picks, from 1 to d - 1; or
        min(n_samples, n_features).
    copy : bool, default=True
        Accepted for scikit-learn; X is never changed either way.
    whiten : bool, default=False
        Divide scores by their standard deviations. Directions without variance get 0.
    svd_solver : str, default="auto"
        "auto", "covariance_eigh" (d x d), "gram" (n x n, for n < d), "lanczos" (the leading ones, to
        the residual `tol`; also called "arpack"), "full" (QR and SVD of the centred data, nothing squared;
        Ctrl-C waits for the end of that SVD, of a square of min(n, d): seconds, from 1000 on), "randomized".
    tol : float, default=0.0
        Relative residual of "lanczos"; 0 means 1e-10 for float64 and 1e-6 for float32 data.
    iterated_power : int or "auto", default="auto"
        Power iterations of "randomized"; "auto" means 7 for n_components below a tenth of
        min(n_samples, n_features), else 4.
    n_oversamples : int, default=10
        Random directions of "randomized" beyond n_components.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        Accepted for scikit-learn: every block of "randomized" is orthonormalised, whichever is named.
    random_state : int, RandomState, Generator or None, default=None
        Start of "lanczos" and "randomized", which draw once from a generator; "auto" leaves it alone. None is
        a fixed seed: every fit repeats bit for bit.
    center : bool, default=True
        Subtract the mean. False is latent semantic analysis: ``mean_`` is 0, a variance is a mean square
        about 0.
    scale : bool, default=False
        Divide each column by its standard deviation (same `ddof`); constant columns contribute nothing.
    ddof : int, default=1
        Variances are divided by n - ddof.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Unit rows, C order; float32 for float32 data, else float64. The other attributes are float64.
    explained_variance_ : ndarray of shape (n_components_,)
        Variance of each score, ``singular_values_**2 / (n - ddof)``.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        ``explained_variance_ / total_variance_``.
    singular_values_ : ndarray of shape (n_components_,)
        Lengths of the score columns.
    mean_ : ndarray of shape (n_features_in_,)
        Column means.
    scale_ : ndarray of shape (n_features_in_,) or None
        Column standard deviations when ``scale=True``, 0 for a constant column; else None.
    noise_variance_ : float
        ``(total_variance_ - sum(explained_variance_)) / (d - k)``, 0 when k = d or nothing left out varies.
        With ``scale=True`` d counts the columns that vary.
    total_variance_ : float
        Sum of all variances, kept or not.
    rank_ : int
        Number of directions with a variance above rounding: of all with ``svd_solver="full"`` or
        ``n_components=None``, else of those that the solver computed, which may be no more than are kept.
    n_components_ : int
        Number of components kept, k.
    n_samples_ : int
        Rows seen in `fit`, those of weight 0 left out.
    solver_ : str
        The solver that ran: "full" also where small directions made another one hand over to it.
    n_features_in_ : int
        Columns seen in `fit`, d.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X was a data frame with string names.

    References
    ----------
    Jolliffe, I. T. (2002). Principal Component Analysis, 2nd ed. https://doi.org/10.1007/b98835

    Minka, T. P. (2000). Automatic choice of dimensionality for PCA. NIPS 13.

    Tipping, M. E. and Bishop, C. M. (1999). Probabilistic principal component analysis. J. R. Statist. Soc. B
    61(3). https://doi.org/10.1111/1467-9868.00196

    Examples
    --------
    >>> from prinax import PCA
    >>> houses = [[10.0, 10.0], [2.0, 2.0], [7.0, 7.0], [1.0, 1.0], [5.0, 5.0]]
    >>> pca = PCA(n_components=1)
    >>> pca.fit_transform(houses).round(2).ravel()
    array([ 7.07, -4.24,  2.83, -5.66,  0.  ])
    >>> pca.explained_variance_.round(6)
    array([27.])
    """

    singular_values_: Array
    total_variance_: float
    rank_: int
    n_components_: int
    _deviations: Array
    n_samples_: int
    solver_: str
    feature_names_in_: Array

    _routed: ClassVar[tuple[str, ...]] = ("sample_weight",)

    def __init__(
        self,
        n_components: Any = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: int | str = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
        center: bool = True,
        scale: bool = False,
        ddof: int = 1,
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.center = center
        self.scale = scale
        self.ddof = ddof

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to the rows of X. A call that fails leaves the model as it was.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers in any order and strides; never changed.
        y : ignored
        sample_weight : array-like of shape (n_samples,) or None
            Frequencies: integers equal repeated rows, 0 an absent one; the divisor is their sum minus `ddof`.
            Solvers other than "covariance_eigh", and directions measured again on X, take a weighted copy.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            A parameter out of range, a shape that does not fit, NaN or infinity, too few samples, negative
            weights.
        TypeError
            A parameter or an X of the wrong type.
        numpy.linalg.LinAlgError
            A direct solver did not converge. "lanczos" that does not reach `tol` is followed by "full", or
            by "gram" for n < d.
        """
        self._fit(X, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the model to X and return the scores of X; the same bits as ``fit(X).transform(X)``.

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

    @classmethod
    def from_moments(cls, moments: Moments, **parameters: Any) -> Self:
        """A fitted model from streamed or merged moments, without the rows.

        Parameters
        ----------
        moments : Moments
            Equal to fitting all the rows it has seen.
        **parameters
            Of the constructor; `svd_solver` is "auto", "covariance_eigh" or "lanczos".

        Returns
        -------
        PCA
        """
        model = cls(**parameters)
        by = f"{cls.__name__}.from_moments"
        p = _parameters.checked(model, _parameters.PCA)
        _parameters.rowless_solver(p["svd_solver"], by)
        state = moments_state("moments", moments).copy()  # no batch comes in meanwhile
        n, d = state.count, state.n_features
        _validation.enough_weight(state.weight, p["ddof"], "moments")
        _parameters.components_fit(p["n_components"], n, d)
        fit = _core.pca_from_moments(
            state,
            p["n_components"],
            p["svd_solver"],
            p["tol"],
            _rules.solver_seed(p["random_state"], p["svd_solver"]),
            p["center"],
            p["scale"],
            p["ddof"],
        )
        return model._set_fitted(fitted_state(fit, n, d))

    @classmethod
    def from_covariance(cls, covariance: Any, mean: Any, n_samples: int, **parameters: Any) -> Self:
        """A fitted model from a covariance matrix, which was divided by ``n_samples - ddof``.

        Parameters
        ----------
        covariance : array-like of shape (n_features, n_features)
            Symmetric and positive semi-definite to the rounding of its dtype.
        mean : array-like of shape (n_features,)
            Zeros for a matrix of mean squares about 0.
        n_samples : int
            The number of rows behind the matrix. At most min(n_samples, n_features) components are kept; all
            variance counts.
        **parameters
            Of the constructor; `svd_solver` is "auto", "covariance_eigh" or "lanczos", `center` does not
            matter.

        Returns
        -------
        PCA
        """
        model = cls(**parameters)
        by = f"{cls.__name__}.from_covariance"
        p = _parameters.checked(model, _parameters.PCA)
        _parameters.rowless_solver(p["svd_solver"], by)
        C = _validation.square(covariance, by, "covariance")
        d = len(C)
        n = _rules.whole(1)("n_samples", n_samples)
        _validation.enough_samples(n, None, p["ddof"], by)
        _parameters.components_fit(p["n_components"], n, d)
        fit = _core.pca_from_covariance(
            C,
            _validation.vector(mean, d, by, "mean"),
            n,
            p["n_components"],
            p["svd_solver"],
            p["tol"],
            _rules.solver_seed(p["random_state"], p["svd_solver"]),
            p["scale"],
            p["ddof"],
        )
        return model._set_fitted(fitted_state(fit, n, d))

    def _fit(self, X: Any, sample_weight: Any) -> Array:
        """Fits and returns X as the core reads it."""
        by = type(self).__name__
        p = _parameters.checked(self, _parameters.PCA)
        names = _validation.column_names(X)
        A = _validation.matrix(X, by)
        weights, n = _validation.sample_weights(sample_weight, len(A), by)
        d = A.shape[1]
        _validation.enough_samples(n, weights, p["ddof"], by)
        _parameters.components_fit(p["n_components"], n, d)
        fit = _core.fit_pca(
            A,
            weights,
            p["n_components"],
            p["svd_solver"],
            p["tol"],
            p["iterated_power"],
            p["n_oversamples"],
            p["power_iteration_normalizer"],
            _rules.solver_seed(p["random_state"], p["svd_solver"]),
            p["center"],
            p["scale"],
            p["ddof"],
        )
        state = fitted_state(fit, n, d)
        if names is not None:
            state["feature_names_in_"] = names
        self._set_fitted(state)
        return A


def fitted_state(fit: tuple[Any, ...], n: int, d: int) -> dict[str, Any]:
    """The fitted attributes from what a fit of the core returned."""
    # A literal: dict(zip(...)) would add a fortieth to a fit of few rows.
    components, variances, ratios, singular_values, mean, scale, *rest = fit
    noise, total, rank, solver, deviations, noise_deviation = rest
    return {
        "components_": components,
        "explained_variance_": variances,
        "explained_variance_ratio_": ratios,
        "singular_values_": singular_values,
        "mean_": mean,
        "scale_": scale,
        "noise_variance_": noise,
        "total_variance_": total,
        "rank_": rank,
        "solver_": solver,
        "_deviations": deviations,
        "_noise_deviation": noise_deviation,
        "n_samples_": n,
        "n_features_in_": d,
        "n_components_": len(components),
    }
