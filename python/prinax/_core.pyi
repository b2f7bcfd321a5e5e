# The compiled core. Arrays come in as float32 or float64, of any positive strides, checked by `_validation`;
# what the sentences below call a refusal is a ValueError. n rows, d columns, k components.
from collections.abc import Callable
from typing import Any, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

_Array: TypeAlias = NDArray[Any]
_F64: TypeAlias = NDArray[np.float64]
# An estimator's attributes, what a fit has found, and the names that one fit leaves and the next may lack.
_Fitted: TypeAlias = tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]

# components (k, d) of x's dtype, explained_variance (k,), explained_variance_ratio (k,), singular_values
# (k,), mean (d,), scale (d,) or None, noise_variance, total_variance, rank, the solver that ran, standard
# deviations of the scores (k,), root of noise_variance.
_Fit: TypeAlias = tuple[_Array, _F64, _F64, _F64, _F64, _F64 | None, float, float, int, str, _F64, float]

_Whitening: TypeAlias = tuple[_F64, _F64]

# Mean (d,), matrix (k, d), scale (d,) or None of a linear model.
_Model: TypeAlias = tuple[_F64, _Array, _F64 | None]

# name, gamma (a number, None = 1/d, "scale", "median", or value and exponent of a rate that a fit has
# settled), degree, coef0. The names: "linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "delta".
_Kernel: TypeAlias = tuple[str, float | str | tuple[float, int] | None, float, float]

__all__ = [
    "FrozenTransform",
    "InternalError",
    "Moments",
    "__version__",
    "back_project",
    "center_kernel",
    "center_rows",
    "cka",
    "components_for",
    "covariance",
    "eigh",
    "fit_kernel_pca",
    "fit_kernel_spca",
    "fit_pca",
    "fit_spca",
    "fit_whitener",
    "get_num_threads",
    "gram",
    "hsic",
    "hsic_gamma_test",
    "hsic_permutation_test",
    "kernel_matrix",
    "kernel_project",
    "kernel_spca_scores",
    "kernel_squared_residuals",
    "kernel_transform_fast",
    "learn_preimage",
    "model_covariance",
    "model_precision",
    "pca_from_covariance",
    "pca_from_moments",
    "pre_image",
    "project",
    "project_fast",
    "reconstruct",
    "reconstruction_error",
    "residuals",
    "score",
    "score_samples",
    "set_fitted",
    "set_num_threads",
    "simd_level",
    "squared_residuals",
    "transform_fast",
]
__version__: str

class InternalError(RuntimeError): ...

def set_num_threads(n: int | None, /) -> None: ...
def get_num_threads() -> int: ...
def simd_level() -> str: ...

# Swaps what a fit has found into the attributes at once: no signal handler, no other thread meets half of it.
def set_fitted(attributes: dict[str, Any], found: dict[str, Any], sometimes: tuple[str, ...]) -> None: ...

# --- covariance, linalg -------------------------------------------------------------------------------------

# (d, d), exactly symmetric, float64. Refuses a weight sum (or n) that is not above ddof.
def covariance(x: _Array, ddof: int, center: bool, weights: _F64 | None) -> _F64: ...

# (n, n) inner products of the (centred) rows, exactly symmetric, float64.
def gram(x: _Array, center: bool) -> _F64: ...

# values (k,) descending, vectors (d, k). Refuses a matrix that is not symmetric to rounding.
def eigh(a: _Array, k: int | None) -> tuple[_F64, _F64]: ...

# x with each row's own mean subtracted, of x's dtype.
def center_rows(x: _Array) -> _Array: ...

@final
class Moments:
    def __new__(cls, n_features: int) -> Moments: ...
    # A refused batch leaves the state as it was, bit for bit.
    # With a factor every row that came before counts `factor` of its weight for each row of non-zero weight.
    # `fitted` is swapped in with it at once, see `set_fitted`, with the new count as "n_samples_seen_".
    def update(
        self, x: _Array, weights: _F64 | None, factor: float = 1.0, fitted: _Fitted | None = None
    ) -> None: ...
    # Refuses rows that are not finite, and takes nothing in: for rows of weight 0.
    @staticmethod
    def pass_over(x: _Array) -> None: ...
    def merge(self, other: Moments, fitted: _Fitted | None = None) -> None: ...
    # Multiplies every weight so far by `factor`.
    def forget(self, factor: float) -> None: ...
    def copy(self) -> Moments: ...
    # And a copy of `attributes` of the same moment.
    def copy_with(self, attributes: dict[str, Any]) -> tuple[Moments, dict[str, Any]]: ...
    @property
    def n_features(self) -> int: ...
    # Rows of non-zero weight seen, and the sum of their weights.
    @property
    def count(self) -> int: ...
    @property
    def weight(self) -> float: ...
    def mean(self) -> _F64: ...
    # Sum of w (x - mean)(x - mean)'.
    def scatter(self) -> _F64: ...
    def covariance(self, ddof: int) -> _F64: ...
    # Of each column.
    def variances(self, ddof: int) -> _F64: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Moments: ...

# --- kernels ------------------------------------------------------------------------------------------------

# (n, m) values k(x_i, y_j), x and y of one dtype, which is that of the result; of x alone (n, n), exactly
# symmetric. A gamma that depends on data is read off x. MemoryError before anything is allocated.
def kernel_matrix(x: _Array, y: _Array | None, kernel: _Kernel) -> _Array: ...

# H k H, or the rows of new samples centred by the means of k_train (n, n); of k's dtype.
def center_kernel(k: _Array, k_train: _Array | None) -> _Array: ...

# --- dependence ---------------------------------------------------------------------------------------------
# A sample is rows with their kernel, or the (n, n) kernel matrix with None. estimator: "biased", "unbiased".

def hsic(
    x: _Array, kernel_x: _Kernel | None, y: _Array, kernel_y: _Kernel | None, estimator: str
) -> float: ...
def cka(
    x: _Array, kernel_x: _Kernel | None, y: _Array, kernel_y: _Kernel | None, estimator: str
) -> float: ...

# statistic, p-value, the statistic of each permutation. `report` is called with the number done, now and then
# and at the end; what it raises ends the test.
def hsic_permutation_test(
    x: _Array,
    kernel_x: _Kernel | None,
    y: _Array,
    kernel_y: _Kernel | None,
    estimator: str,
    n_permutations: int,
    seed: int,
    report: Callable[[int], Any] | None,
) -> tuple[float, float, _F64]: ...

# statistic, p-value, shape and scale of the gamma distribution.
def hsic_gamma_test(
    x: _Array, kernel_x: _Kernel | None, y: _Array, kernel_y: _Kernel | None
) -> tuple[float, float, float, float]: ...

# --- supervised PCA -----------------------------------------------------------------------------------------
# target: y (n, m) and how its rows are compared: "delta", "linear", "precomputed" (y is (n, n)) or a kernel;
# None is the identity. n_components None: the rank; more than the rank is refused.

# components (k, d) of x's dtype, eigenvalues (k,), the HSIC attained, mean (d,), rank, the solver that ran.
def fit_spca(
    x: _Array, target: tuple[_Array, Any] | None, n_components: int | None, center: bool, solver: str
) -> tuple[_Array, _F64, float, _F64, int, str]: ...

# dual coefficients (k, n) of x's dtype, eigenvalues (k,), the HSIC attained, column means of the kernel
# matrix (n,), rank, gamma as value and exponent. kernel None: x is the kernel matrix.
def fit_kernel_spca(
    x: _Array, kernel: _Kernel | None, target: tuple[_Array, Any] | None, n_components: int | None
) -> tuple[_Array, _F64, float, _F64, int, tuple[float, int] | None]: ...

# (m, k) of x's dtype, which is that of the fitted rows. centered: a linear kernel is about their mean.
def kernel_spca_scores(
    x: _Array, fitted: _Array, kernel: _Kernel, centered: bool, means: _F64, dual: _Array
) -> _Array: ...

# --- PCA: fits ----------------------------------------------------------------------------------------------
# n_components: an integer up to min(n, d), a share in (0, 1), "mle", or None for min(n, d), where n counts
# the rows of non-zero weight. svd_solver: "auto", "covariance_eigh", "gram", "lanczos", "full", "randomized".
# tol 0 = the dtype's own. iterated_power -1 = "auto".

def fit_pca(
    x: _Array,
    sample_weight: _F64 | None,
    n_components: float | str | None,
    svd_solver: str,
    tol: float,
    iterated_power: int,
    n_oversamples: int,
    power_iteration_normalizer: str,
    seed: int,
    center: bool,
    scale: bool,
    ddof: int,
) -> _Fit: ...

# The same model from a state of `Moments`, without the rows. svd_solver: "auto", "covariance_eigh" or
# "lanczos".
def pca_from_moments(
    moments: Moments,
    n_components: float | str | None,
    svd_solver: str,
    tol: float,
    seed: int,
    center: bool,
    scale: bool,
    ddof: int,
) -> _Fit: ...

# The same model from a covariance that was divided by `n_samples - ddof`. Refuses one that is not symmetric,
# or that has an eigenvalue below zero beyond rounding.
def pca_from_covariance(
    covariance: _Array,
    mean: _F64,
    n_samples: int,
    n_components: float | str | None,
    svd_solver: str,
    tol: float,
    seed: int,
    scale: bool,
    ddof: int,
) -> _Fit: ...

# --- PCA: the fitted map ------------------------------------------------------------------------------------
# `components` (k, d) of either dtype; `scale` None = 1, and a scale of 0 (constant column) contributes 0;
# `whitening` = explained variances and the standard deviations of the scores (which stand in where a variance
# has left the normal numbers) when whitening, else None. Results have the dtype of the first argument
# (float64 for likelihoods and squared lengths). A fitted array that does not fit the others is refused by its
# attribute's name ("components_", "mean_", "scale_", "explained_variance_"), for users may edit them.

# (n, k) scores by the arrays that stand in `fitted`, a model's attributes, under the `names` of its mean,
# matrix and scale (and by the variances and deviations of PCA where "whiten" is set); or None unless x is
# exactly an ndarray, float32 or float64 as the matrix, C-ordered, aligned, n >= 1, of d columns, and the
# other arrays are as a fit made them. Same bits as `project`.
def project_fast(
    x: object, fitted: dict[str, object], names: tuple[str, str, str | None]
) -> _Array | None: ...

# `project_fast`, or None also where the model keeps names of columns, `set_output` has chosen a container, or
# scikit-learn, where it is loaded, is set to another container than "default".
def transform_fast(
    x: object, fitted: dict[str, object], names: tuple[str, str, str | None]
) -> _Array | None: ...

# (x - mean) / scale @ components' (/ sqrt(variance), 0 where the variance is 0).
def project(x: _Array, model: _Model, whitening: _Whitening | None) -> _Array: ...

# (n, d) z (* sqrt(variance)) @ components * scale + mean.
def back_project(z: _Array, model: _Model, whitening: _Whitening | None) -> _Array: ...

# (n, d) x_hat: the projection onto the affine subspace, in the units of x; a constant column comes back as
# its mean.
def reconstruct(x: _Array, model: _Model) -> _Array: ...

# (n, d) x - x_hat.
def residuals(x: _Array, model: _Model) -> _Array: ...

# (n,) |x - x_hat|^2 in the units of x, float64.
def squared_residuals(x: _Array, model: _Model) -> _F64: ...

# Mean over the rows of |(x - x_hat) / scale|^2.
def reconstruction_error(x: _Array, model: _Model) -> float: ...

# --- PCA: the Gaussian model (Tipping and Bishop 1999) ------------------------------------------------------
# C = components' (Lambda - s2 I)+ components + s2 I with s2 = noise_variance, in the units of x: scale_i
# scale_j C_ij. Entries beyond the range of float64 are 0 or infinite.

# Variances of the components and their roots, the noise variance and its root: the roots stand in where a
# variance has left the normal numbers.
_Spread: TypeAlias = tuple[_Whitening, tuple[float, float]]

# (n,) log-densities: Woodbury, O(d k) memory. Constant columns (scale 0) left out. With s2 = 0 the density is
# singular.
def score_samples(x: _Array, model: _Model, spread: _Spread) -> _F64: ...

# Mean of `score_samples`.
def score(x: _Array, model: _Model, spread: _Spread) -> float: ...

# (d, d) C and its inverse, exactly symmetric. LinAlgError for the inverse of a singular model.
def model_covariance(model: _Model, spread: _Spread) -> _F64: ...
def model_precision(model: _Model, spread: _Spread) -> _F64: ...

# Exactly one of the two is given. Smallest k whose cumulative ratio is at least `ratio`, ties within rounding
# counted as reached (refused when even all kept components do not reach it, but those of a model without
# noise are the whole), or the number of variances >= min_eigenvalue.
def components_for(
    explained_variance: _F64,
    explained_variance_ratio: _F64,
    noise_deviation: float,
    ratio: float | None,
    min_eigenvalue: float | None,
) -> int: ...

# --- kernel PCA ---------------------------------------------------------------------------------------------
# Without a kernel, x is the matrix of kernel values: (n, n) in fits, (m, n) for m new rows. A kernel comes
# with the training rows, of x's dtype. V: eigenvectors.

# column means of the kernel matrix, its mean, V (n, k), eigenvalues.
_KernelMap: TypeAlias = tuple[_F64, float, _F64, _F64]

# eigenvalues, V (n, k), ratios, scores (n, k) of x's dtype, gamma or None, the same as value and exponent,
# column means and mean of the kernel matrix; for the linear kernel instead of these the column means of x and
# the components (k, d); the solver that ran.
def fit_kernel_pca(
    x: _Array,
    kernel: _Kernel | None,
    n_components: float | None,
    eigen_solver: str,
    tol: float,
    max_iter: int | None,
    iterated_power: int,
    remove_zero_eig: bool,
    seed: int,
) -> tuple[
    _F64,
    _F64,
    _F64,
    _Array,
    float | None,
    tuple[float, int] | None,
    _F64 | None,
    float,
    tuple[_F64, _Array] | None,
    str,
]: ...

# `kernel_project` by what stands in `fitted`, a model's attributes; or None unless x is exactly an ndarray of
# the dtype of `X_fit_`, C-ordered, aligned, m >= 1, of as many columns, the kernel is one of the core's, and
# the other arrays are as a fit made them; None also as `transform_fast`. Same bits as `kernel_project`.
def kernel_transform_fast(x: object, fitted: dict[str, object]) -> _Array | None: ...

# (m, k) (k_t - means) V / sqrt(eigenvalues), 0 for an eigenvalue of 0.
def kernel_project(
    x: _Array, training: _Array | None, kernel: _Kernel | None, fitted: _KernelMap
) -> _Array: ...

# (m,) squared distances to the subspace in feature space. diagonal: k(x, x), where there is no kernel.
def kernel_squared_residuals(
    x: _Array,
    training: _Array | None,
    kernel: _Kernel | None,
    fitted: _KernelMap,
    diagonal: _F64 | None,
) -> _F64: ...

# (n, d) (K_Z + alpha I)^-1 (x - mean) and the mean (d,). LinAlgError where the matrix is not positive
# definite.
def learn_preimage(x: _Array, scores: _Array, kernel: _Kernel | None, alpha: float) -> tuple[_F64, _F64]: ...

# (m, d) rows: kernel values of z with the training scores @ dual + mean.
def pre_image(
    z: _Array, training: _Array | None, kernel: _Kernel | None, dual: _Array, mean: _F64
) -> _Array: ...

# --- whitening ----------------------------------------------------------------------------------------------

# whitening matrix (k, d) and the way back (d, k), its pseudo-inverse where the rows are not standardised, of
# x's dtype, mean (d,), eigenvalues of the covariance (of the correlation for "pca-cor" and "zca-cor"), rank.
# Refuses "cholesky" with a number of components, and below full rank with eps 0.
def fit_whitener(
    x: _Array,
    sample_weight: _F64 | None,
    method: str,
    n_components: float | str | None,
    eps: float,
    center: bool,
    ddof: int,
) -> tuple[_Array, _Array, _F64, _F64, int]: ...

# --- the frozen transform -----------------------------------------------------------------------------------

@disjoint_base
class FrozenTransform:
    # (x - mean) / scale @ matrix' / sqrt(variance): a scale of 0 leaves the column out, a variance of 0 gives
    # 0.
    # Refuses lengths that do not fit, NaN and infinity, a negative scale.
    def __new__(
        cls, mean: _F64, matrix: _Array, scale: _F64 | None, whitening: _Whitening | None
    ) -> Self: ...
    # (d,) -> (k,) or (n, d) -> (n, k), of this dtype; a TypeError for another dtype.
    def __call__(self, x: _Array, /, *, out: _Array | None = None) -> _Array: ...
    @property
    def matrix(self) -> _Array: ...
    @property
    def mean(self) -> _F64: ...
    @property
    def scale(self) -> _F64 | None: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_components(self) -> int: ...
    # A safetensors file.
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def read(data: bytes) -> FrozenTransform: ...
