"""The peers' ways to the same results, each as its users would write it; those not installed are left out."""

from collections.abc import Callable

import machine
import numpy as np
import prinax
import scipy.linalg
import sklearn.decomposition
from measure import OURS

Fit = Callable[[np.ndarray, int], object]
# Rounds of subspace iteration for the peers that neither check nor know their error.
ITERATIONS = 2


class Axes:
    """What is compared of a fit: components (k, d) and singular values (k,)."""

    def __init__(self, components_: np.ndarray, singular_values_: np.ndarray) -> None:
        self.components_ = components_
        self.singular_values_ = singular_values_


def numpy_covariance(X: np.ndarray, k: int) -> Axes:
    centred = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    return Axes(vectors[:, : -k - 1 : -1].T, _roots(values[: -k - 1 : -1]))


def numpy_gram(X: np.ndarray, k: int) -> Axes:
    centred = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    singular = _roots(values[: -k - 1 : -1])
    return Axes(vectors[:, : -k - 1 : -1].T @ centred / singular[:, None], singular)


def numpy_svd(X: np.ndarray, k: int) -> Axes:
    _, singular, components = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return Axes(components[:k], singular[:k])


def scipy_subset(X: np.ndarray, k: int) -> Axes:
    centred = X - X.mean(axis=0)
    d = X.shape[1]
    values, vectors = scipy.linalg.eigh(
        centred.T @ centred, subset_by_index=(d - k, d - 1), check_finite=False
    )
    return Axes(vectors[:, ::-1].T, _roots(values[::-1]))


def _roots(values: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(values, 0))


def scikit_learn(solver: str) -> Fit:
    return lambda X, k: sklearn.decomposition.PCA(k, svd_solver=solver, random_state=0).fit(X)


def ours(X: np.ndarray, k: int) -> prinax.PCA:
    return prinax.PCA(n_components=k).fit(X)


def fits() -> dict[str, Fit]:
    """Every way to the k leading components, by name; ours first."""
    ways: dict[str, Fit] = {
        OURS: ours,
        "NumPy covariance": numpy_covariance,
        "NumPy Gram": numpy_gram,
        "NumPy SVD": numpy_svd,
        "SciPy eigh subset": scipy_subset,
    }
    for solver in ("auto", "covariance_eigh", "randomized", "arpack", "full"):
        ways[f"scikit-learn {solver}"] = scikit_learn(solver)
    return ways | _intel() | _fbpca() | _torch()


def _intel() -> dict[str, Fit]:
    try:
        import daal4py
        from sklearnex.decomposition import PCA
    except ImportError:
        return {}
    machine.on_threads(daal4py.daalinit)
    return {"scikit-learn-intelex": lambda X, k: PCA(k, random_state=0).fit(X)}


def _fbpca() -> dict[str, Fit]:
    try:
        import fbpca
    except ImportError:
        return {}

    def fit(X: np.ndarray, k: int) -> Axes:
        _, singular, components = fbpca.pca(X, k, raw=False, n_iter=ITERATIONS)
        return Axes(components, singular)

    return {"fbpca": fit}


def _torch() -> dict[str, Fit]:
    try:
        import torch
    except ImportError:
        return {}
    machine.on_threads(torch.set_num_threads)

    def fit(X: np.ndarray, k: int) -> Axes:
        _, singular, components = torch.pca_lowrank(torch.from_numpy(X), k, niter=ITERATIONS)
        return Axes(components.numpy().T, singular.numpy())

    return {"torch pca_lowrank": fit}
