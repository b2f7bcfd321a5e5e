"""The Hilbert-Schmidt independence criterion: how far two samples are from independent, and tests of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core, _kernels, _labels, _progress, _rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._validation import Array

    Spec = tuple[Any, ...] | None

NAMES = (*_kernels.NAMES, "precomputed")

# Kernels of products, for which there is no median distance.
OF_PRODUCTS = ("poly", "sigmoid")

ESTIMATOR = _rules.one_of("biased", "unbiased")
METHOD = _rules.one_of("permutation", "gamma")


class GammaNull(NamedTuple):
    """The gamma distribution that stands for the null distribution."""

    shape: float
    scale: float


class HSICTest(NamedTuple):
    """What `hsic_test` finds."""

    statistic: float
    pvalue: float
    # The statistic of each permutation; of method="gamma" the distribution.
    null: Array | GammaNull


def hsic(
    X: Any,
    Y: Any,
    *,
    kernel_x: Any = "rbf",
    kernel_y: Any = "rbf",
    gamma_x: Any = "median",
    gamma_y: Any = "median",
    estimator: str = "biased",
) -> float:
    """The Hilbert-Schmidt independence criterion of two samples of the same n individuals.

    With K and L the kernel matrices of X and Y and H = I - 11'/n:

    - "biased": ``trace(K H L H) / (n - 1)**2``, never negative but for indefinite kernels, positive on
      average under independence too;
    - "unbiased" (n >= 4): 0 on average under independence; see docs/math.md.

    In the population, and for characteristic kernels ("rbf", "laplacian"), it is 0 exactly when X and Y are
    independent. A sample proves nothing by its value alone: `hsic_test` gives a p-value.

    Parameters
    ----------
    X, Y : array-like of shape (n,) or (n, d)
        One dimension is one column. Labels of any type for "delta", (n, n) kernel matrices for "precomputed".
    kernel_x, kernel_y : str or callable, default="rbf"
        As in `kernel_matrix`, or "precomputed".
    gamma_x, gamma_y : float, "scale", "median" or None, default="median"
        As in `kernel_matrix`, each from its own sample.
    estimator : {"biased", "unbiased"}, default="biased"

    Returns
    -------
    float

    Raises
    ------
    ValueError
        A parameter out of range, samples of different sizes or too few, NaN or infinity, a precomputed matrix
        that is not square or not symmetric, a result beyond the range of float64.
    TypeError
        An argument of the wrong type.

    References
    ----------
    Gretton, A., Bousquet, O., Smola, A. and Schoelkopf, B. (2005). Measuring statistical dependence with
    Hilbert-Schmidt norms. ALT. https://doi.org/10.1007/11564089_7

    Song, L. et al. (2012). Feature selection via dependence maximization. JMLR 13.

    Examples
    --------
    >>> import numpy as np
    >>> from prinax import hsic
    >>> x = np.linspace(-1, 1, 100)
    >>> round(hsic(x, x**2), 4), round(float(np.corrcoef(x, x**2)[0, 1]), 4)  # dependent, uncorrelated
    (0.0324, 0.0)
    """
    by = "hsic"
    estimator = ESTIMATOR("estimator", estimator)
    return _core.hsic(*_samples(X, Y, (kernel_x, gamma_x), (kernel_y, gamma_y), by), estimator)


def cka(
    X: Any,
    Y: Any,
    *,
    kernel_x: Any = "linear",
    kernel_y: Any = "linear",
    gamma_x: Any = "median",
    gamma_y: Any = "median",
    estimator: str = "biased",
) -> float:
    """Centred kernel alignment: HSIC of X and Y over the root of both with themselves.

    ``hsic(X, Y) / sqrt(hsic(X, X) * hsic(Y, Y))``: 1 where the centred kernels agree up to a factor, 0 where
    a side is constant (to the unbiased estimator also labels that are all different: it leaves the diagonal
    out). Linear kernels with few columns are computed from the columns.

    Parameters
    ----------
    X, Y : array-like of shape (n,) or (n, d)
    kernel_x, kernel_y : str or callable, default="linear"
    gamma_x, gamma_y : float, "scale", "median" or None, default="median"
    estimator : {"biased", "unbiased"}, default="biased"
        All as in `hsic`.

    Returns
    -------
    float

    References
    ----------
    Cortes, C., Mohri, M. and Rostamizadeh, A. (2012). Algorithms for learning kernels based on centered
    alignment. JMLR 13.

    Kornblith, S., Norouzi, M., Lee, H. and Hinton, G. (2019). Similarity of neural network representations
    revisited. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from prinax import cka
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> round(cka(X, 3 * X @ np.linalg.qr(X.T @ X)[0] + 1), 10)  # rotated, scaled and moved
    1.0
    """
    by = "cka"
    estimator = ESTIMATOR("estimator", estimator)
    return _core.cka(*_samples(X, Y, (kernel_x, gamma_x), (kernel_y, gamma_y), by), estimator)


def hsic_test(
    X: Any,
    Y: Any,
    *,
    kernel_x: Any = "rbf",
    kernel_y: Any = "rbf",
    gamma_x: Any = "median",
    gamma_y: Any = "median",
    estimator: str = "biased",
    n_permutations: int = 1000,
    method: str = "permutation",
    random_state: Any = None,
    progress: bool | Callable[[int, int | None], Any] = False,
) -> HSICTest:
    """Test whether two samples are independent, by their HSIC.

    Parameters
    ----------
    X, Y, kernel_x, kernel_y, gamma_x, gamma_y, estimator
        As in `hsic`.
    n_permutations : int, default=1000
        Random orders of Y. The smallest possible p-value is 1 / (1 + n_permutations).
    method : {"permutation", "gamma"}, default="permutation"
        "permutation" is exact at any n, in memory for two n x n matrices. "gamma" matches the mean and
        variance of the biased statistic with a gamma distribution: approximate, trustworthy from some hundred
        samples on, in memory for a copy of both samples.
    random_state : int, RandomState, Generator or None, default=None
        Which permutations. None is a fixed seed: every call repeats, with any number of threads.
    progress : bool or callable, default=False
        True shows a bar (tqdm's where installed), a callable is called with (done, total).

    Returns
    -------
    HSICTest
        Named tuple (statistic, pvalue, null). For "permutation" null is the (n_permutations,) array of
        permuted statistics and ``pvalue = (1 + #(null >= statistic)) / (1 + n_permutations)``, where what is
        equal to rounding counts as equal. For "gamma" null is (shape, scale).

    Raises
    ------
    ValueError, TypeError
        As `hsic`; estimator="unbiased" with method="gamma". No error is a statistic that float64 cannot hold:
        it is infinite, and its p-value that of any other unit.
    MemoryError
        There is no room for the two kernel matrices.

    References
    ----------
    Gretton, A. et al. (2007). A kernel statistical test of independence. NIPS 20.

    Examples
    --------
    >>> import numpy as np
    >>> from prinax import hsic_test
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=100)
    >>> hsic_test(x, x**2 + 0.1 * rng.normal(size=100)).pvalue < 0.01
    True
    """
    by = "hsic_test"
    method, estimator = METHOD("method", method), ESTIMATOR("estimator", estimator)
    count = _rules.whole(1)("n_permutations", n_permutations)
    state = _rules.random_state("random_state", random_state)
    progress = _rules.progress("progress", progress)
    if method == "gamma" and estimator == "unbiased":
        raise ValueError("method='gamma' is for estimator='biased', got estimator='unbiased'")
    samples = _samples(X, Y, (kernel_x, gamma_x), (kernel_y, gamma_y), by)
    if method == "gamma":
        statistic, pvalue, *distribution = _core.hsic_gamma_test(*samples)
        return HSICTest(statistic, pvalue, GammaNull(*distribution))
    seed = _rules.seed(state)
    with _progress.reporting(progress, count, by, "permutation") as report:
        watched = report if progress else None
        found = _core.hsic_permutation_test(*samples, estimator, count, seed, watched)
    return HSICTest(*found)


def _samples(
    X: Any, Y: Any, of_x: tuple[Any, Any], of_y: tuple[Any, Any], by: str
) -> tuple[Array, Spec, Array, Spec]:
    A, kernel_x = _sample(X, *of_x, by, "X")
    B, kernel_y = _sample(Y, *of_y, by, "Y")
    if len(A) != len(B):
        raise ValueError(f"Y has {len(B)} samples, but X has {len(A)}")
    return A, kernel_x, B, kernel_y


def _sample(X: Any, kernel: Any, gamma: Any, by: str, what: str) -> tuple[Array, Spec]:
    """One side as the core reads it, and its kernel; None where the matrix is handed over."""
    side = what.lower()
    asked = _kernels.asked(
        kernel, gamma, names=NAMES, kernel_name=f"kernel_{side}", gamma_name=f"gamma_{side}"
    )
    if asked.name in OF_PRODUCTS and asked.gamma == "median":
        raise ValueError(
            f"gamma_{side}='median' is for 'rbf' and 'laplacian': with kernel_{side}={asked.name!r} give a "
            "number, None or 'scale'"
        )
    try:
        return _kernels.rows(asked, X, by, what), asked.spec
    except TypeError:
        if not _labels.hold_strings(X):
            raise
    raise TypeError(
        f"{what} holds strings, but kernel_{side}={asked.name!r} needs numbers: choose kernel_{side}='delta' "
        "for labels, or convert them."
    )
