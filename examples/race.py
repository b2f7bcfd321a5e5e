"""Fit and transform on MNIST beside NumPy and scikit-learn: one process, interleaved, errors beside times."""

import os
import statistics
import sys
import time
from collections.abc import Callable

import data
import numpy as np
import prinax
import sklearn
import sklearn.decomposition
from prinax import _core

K = 50
ROUNDS = 7
CHECKED = 200  # rows whose scores are compared with long double


def unhinder_openblas() -> None:
    """Starts again without the variables by which some machines cap NumPy: OpenBLAS reads them on loading."""
    caps = [name for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE") if name in os.environ]
    if caps:
        for name in caps:
            del os.environ[name]
        os.execv(sys.executable, [sys.executable, *sys.argv])


class NumpyPCA:
    """The best a few lines of NumPy do: centre, multiply, eigh."""

    def fit(self, X: np.ndarray) -> "NumpyPCA":
        self.mean_ = X.mean(axis=0)
        centred = X - self.mean_
        values, vectors = np.linalg.eigh(centred.T @ centred)
        self.singular_values_ = np.sqrt(values[: -K - 1 : -1])
        self.components_ = np.ascontiguousarray(vectors[:, : -K - 1 : -1].T)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) @ self.components_.T


def interleaved(calls: dict[str, Callable[[], object]], rounds: int, repeats: int = 1) -> dict[str, float]:
    """Median seconds of each call, one run of every contestant a round."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            times[name].append((time.perf_counter() - start) / repeats)
    return {name: statistics.median(values) for name, values in times.items()}


def table(title: str, times: dict[str, float], errors: dict[str, float], of_what: str) -> None:
    """One line a contestant: median time, time as a multiple of ours, error."""
    print(f"\n{title:<30} {'median':>12} {'of prinax':>11}   error of {of_what}")
    for name, seconds in times.items():
        median = f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} us"
        print(
            f"  {name:<28} {median:>12} {seconds / times['prinax']:>10.1f}x   {errors[name]:.0e}", flush=True
        )


def fit(X: np.ndarray) -> dict[str, object]:
    """Races the fits; the errors are those of the singular values against a full SVD. Gives the models."""

    def theirs(solver: str) -> sklearn.decomposition.PCA:
        return sklearn.decomposition.PCA(n_components=K, svd_solver=solver, random_state=0).fit(X)

    makers: dict[str, Callable[[], object]] = {
        "prinax": lambda: prinax.PCA(n_components=K).fit(X),
        "NumPy": lambda: NumpyPCA().fit(X),
        "scikit-learn": lambda: theirs("auto"),
        "scikit-learn covariance_eigh": lambda: theirs("covariance_eigh"),
    }
    reference = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:K]
    models = {name: make() for name, make in makers.items()}
    errors = {
        name: float(np.abs(model.singular_values_ - reference).max() / reference[0])
        for name, model in models.items()
    }
    title = f"Fit, {X.shape[0]:,} x {X.shape[1]}, k = {K}"
    table(title, interleaved(makers, ROUNDS), errors, "singular values")
    return models


def transform(models: dict[str, object], X: np.ndarray, title: str, repeats: int) -> None:
    """Races the transforms; the errors are those of the scores against the model's own map in long double."""
    calls = {name: (lambda model=model: model.transform(X)) for name, model in models.items()}
    errors = {}
    for name, model in models.items():
        exact = (X[:CHECKED].astype(np.longdouble) - model.mean_) @ model.components_.T.astype(np.longdouble)
        errors[name] = float(np.abs(model.transform(X[:CHECKED]) - exact).max() / np.abs(exact).max())
    table(title, interleaved(calls, 5 * ROUNDS, repeats), errors, "scores")


def run() -> None:
    X, _ = data.mnist()
    threads, level = prinax.get_num_threads(), _core.simd_level()
    print(f"\nSide by side: prinax {prinax.__version__} at instruction level {level} on {threads} threads,")
    print(
        f"  NumPy {np.__version__}, scikit-learn {sklearn.__version__}; medians of interleaved runs",
        flush=True,
    )
    models = fit(X)
    del models["scikit-learn covariance_eigh"]  # the same transform as scikit-learn's other solvers
    transform(models, X[:1].copy(), "Transform, one row", 200)
    transform(models, X, f"Transform, {len(X):,} rows", 1)


if __name__ == "__main__":
    unhinder_openblas()
    run()
