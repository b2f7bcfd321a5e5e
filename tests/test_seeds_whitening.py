"""What lecture notes state on whitening: decorrelation, variances of 1, nearness to data, natural images."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from prinax import PCA, Whitener, center_rows
from scipy.linalg import orthogonal_procrustes

pytestmark = pytest.mark.numeric

EXAMPLES = Path(__file__).parents[1] / "examples"
METHODS = ["pca", "zca", "pca-cor", "zca-cor", "cholesky"]
needs_images = pytest.mark.skipif(
    not all(map(find_spec, ("matplotlib", "skimage"))), reason="the photographs are not installed"
)


@pytest.fixture
def X(rng):
    return rng.standard_normal((300, 5)) @ rng.standard_normal((5, 5)) + [1.0, -2.0, 30.0, 0.0, 5.0]


@pytest.fixture
def patches(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import data

    return data.photograph_patches(8, 5000)


def test_rotation_decorrelates_and_division_makes_variances_one(X):
    """Y = Xc U has Y'Y / m = Lambda; dividing column j by sqrt(lambda_j) whitens."""
    m, values = len(X), PCA(ddof=0).fit(X).explained_variance_
    Y = PCA(ddof=0).fit_transform(X)
    assert_allclose(Y.T @ Y / m, np.diag(values), atol=1e-12 * values[0])
    whitened = Whitener("pca", ddof=0).fit_transform(X)
    assert_allclose(whitened, Y / np.sqrt(values), atol=1e-11)
    assert_allclose(whitened.T @ whitened / m, np.eye(5), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ddof", [0, 1])
def test_the_covariance_of_what_comes_out_is_the_identity(X, method, ddof):
    W = Whitener(method, ddof=ddof).fit(X).whitening_matrix_
    assert_allclose(W @ np.cov(X.T, ddof=ddof) @ W.T, np.eye(5), atol=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_turned_as_near_to_the_data_as_can_be_every_whitening_is_zca(X, method):
    """argmin over rotations R of |Y R - Xc| by Procrustes, for Y from any method."""
    Xc = X - X.mean(axis=0)
    Y = Whitener(method).fit_transform(X)
    rotation, _ = orthogonal_procrustes(Y, Xc)
    assert_allclose(Y @ rotation, Whitener("zca").fit_transform(X), atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_every_whitening_is_a_rotation_of_every_other(X, method):
    W, zca = Whitener(method).fit(X).whitening_matrix_, Whitener("zca").fit(X).whitening_matrix_
    rotation = W @ np.linalg.inv(zca)
    assert_allclose(rotation @ rotation.T, np.eye(5), atol=1e-11)


@pytest.mark.parametrize("eps", [1e-6, 1e-2, 10.0])
def test_smoothing_is_the_formula_and_never_blows_up(X, eps):
    values, U = np.linalg.eigh(np.cov(X.T))
    right = U @ np.diag(1 / np.sqrt(values + eps)) @ U.T
    model = Whitener("zca", eps=eps).fit(X)
    assert_allclose(model.whitening_matrix_, right, rtol=1e-9, atol=1e-11)
    variances = np.linalg.eigvalsh(np.cov(model.transform(X).T))
    assert_allclose(variances, np.sort(values / (values + eps)), rtol=1e-8)


def test_the_mean_of_a_patch_is_removed_row_by_row(rng):
    images = rng.uniform(size=(20, 49)) + np.arange(20)[:, None]
    centred = center_rows(images)
    assert_allclose(centred, images - images.mean(axis=1, keepdims=True), atol=1e-14)
    assert_allclose(centred.sum(axis=1), 0, atol=1e-12)


@needs_images
def test_patches_of_photographs_lose_their_brightness_and_become_white(patches):
    centred = center_rows(patches)
    for method in ("pca", "zca"):
        model = Whitener(method, center=False, ddof=0).fit(centred)
        Y = model.transform(centred)
        # Each patch has lost its mean: one direction of 64 is dead, the others are white.
        assert model.rank_ == 63
        second = Y.T @ Y / len(Y)
        assert_allclose(second @ second, second, atol=1e-9)
        assert_allclose(np.trace(second), 63, rtol=1e-10)
        assert_allclose(model.inverse_transform(Y), centred, atol=1e-12)
    assert_array_equal(model.mean_, 0)
    brightness = np.full((1, 64), 0.5)
    assert_allclose(model.transform(brightness), 0, atol=1e-9)


@needs_images
def test_zca_filters_of_photographs_are_one_pixel_less_its_surroundings(patches):
    W = Whitener("zca", eps=1e-3, center=False).fit(center_rows(patches)).whitening_matrix_
    assert_array_equal(np.argmax(W, axis=1), np.arange(64))
    inner = np.arange(64).reshape(8, 8)[2:6, 2:6].ravel()
    for step in (1, -1, 8, -8):
        assert (W[inner, inner + step] < 0).all()
    # Neighbours agree before and hardly after.
    before = np.corrcoef(patches.T)[inner, inner + 1]
    after = np.corrcoef(Whitener("zca", center=False).fit_transform(center_rows(patches)).T)[inner, inner + 1]
    assert before.min() > 0.9
    assert np.abs(after).max() < 0.05


@needs_images
def test_smoothing_keeps_the_finest_detail_of_photographs_down(patches):
    centred = center_rows(patches)
    lengths = []
    for eps in (0.0, 1e-3, 1e-1):
        Y = Whitener("pca", eps=eps, center=False).fit_transform(centred)
        lengths.append(np.mean(Y[:, -10:] ** 2))
    assert lengths[0] > lengths[1] > lengths[2]
