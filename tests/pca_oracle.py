"""Rows and solvers that the tests of PCA go through, and every attribute beside the longdouble oracle's."""

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose

SOLVERS = ["auto", "covariance_eigh", "gram", "lanczos", "arpack", "full", "randomized"]
EPS = {"f4": 2.0**-23, "f8": 2.0**-52}


def cloud(shape, dtype="f8", seed=0, ratio=0.6, offset=5.0):
    """Rows whose singular values fall like `ratio^j`, so that every direction is well defined."""
    n, d = shape
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((n, min(n, d))))[0]
    V = np.linalg.qr(rng.standard_normal((d, min(n, d))))[0]
    X = (U * (10 * ratio ** np.arange(min(n, d)))) @ V.T + offset * rng.random(d)
    return X.astype(dtype)


def tolerance(X, solver="full"):
    """Relative to the first singular value: rounding with the size in it, or the promised residual."""
    eps = EPS[X.dtype.str[1:]]
    return max(10 * min(X.shape) * eps, 1e-10 if solver in ("lanczos", "arpack", "randomized") else 0)


def assert_is_pca(model, X, reference, solver, k):
    """Every attribute of a model that keeps k components of X."""
    n, d = X.shape
    near = tolerance(X, solver)
    s = reference.singular_values.astype(float)
    variance = reference.explained_variance.astype(float)
    ratio = reference.explained_variance_ratio.astype(float)
    assert_allclose(model.singular_values_, s[:k], rtol=0, atol=near * s[0])
    assert_allclose(model.explained_variance_, variance[:k], rtol=0, atol=3 * near * variance[0])
    assert_allclose(model.explained_variance_ratio_, ratio[:k], rtol=0, atol=3 * near)
    # deviations from a row are summed in the precision of the data, the rest in float64
    spread = float(np.abs(X - reference.mean).max())
    close = 2 * EPS[X.dtype.str[1:]] * spread
    assert_allclose(model.mean_, reference.mean.astype(float), rtol=4 * EPS["f8"], atol=close)
    assert model.total_variance_ == pytest.approx(float(reference.total_variance), rel=3 * near)
    noise = float(oracle.noise_variance(reference, k, d))
    assert model.noise_variance_ == pytest.approx(noise, abs=3 * near * variance[0])
    assert (model.n_components_, model.n_samples_, model.n_features_in_) == (k, n, d)
    assert_components(model.components_, reference, k, near)


def assert_components(components, reference, k, near):
    """Each vector to within residual / gap of its eigenvalue (Davis-Kahan), sign included."""
    variance = reference.explained_variance.astype(float)
    alive = reference.singular_values[:k] > 1e-3 * reference.singular_values[0]
    spread = np.append(variance, 0.0)
    for j in np.flatnonzero(alive):
        gap = np.abs(np.delete(spread, j) - spread[j]).min()
        close = 10 * near * variance[0] / gap
        assert_allclose(components[j], reference.components[j].astype(float), rtol=0, atol=close)
