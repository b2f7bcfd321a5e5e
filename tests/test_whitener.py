"""Whitener: the five forms of Kessy, Lewin and Strimmer (2018) by definition, and what must hold."""

import numpy as np
import prinax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from prinax import Whitener
from scipy.linalg import sqrtm
from scipy.stats import ortho_group
from sklearn import decomposition
from whitening_oracle import DTYPES, METHODS, definition, five_columns, same_signs

pytestmark = pytest.mark.numeric


@pytest.fixture
def X(rng):
    return five_columns(rng)


# --- the definitions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("eps", [0.0, 0.3])
@pytest.mark.parametrize("ddof", [0, 1])
def test_each_method_is_its_definition(X, method, eps, ddof):
    model = Whitener(method, eps=eps, ddof=ddof).fit(X)
    right = definition(np.cov(X.T, ddof=ddof), method, eps)
    if method.startswith("pca"):
        right = same_signs(right, model.whitening_matrix_)
    assert_allclose(model.whitening_matrix_, right, rtol=1e-9, atol=1e-11)
    assert_allclose(model.transform(X), (X - X.mean(axis=0)) @ right.T, rtol=1e-8, atol=1e-9)
    assert_allclose(model.dewhitening_matrix_, np.linalg.inv(right), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_without_centring_it_is_the_definition_on_mean_squares(X, method):
    model = Whitener(method, center=False, ddof=0).fit(X)
    right = definition(X.T @ X / len(X), method)
    if method.startswith("pca"):
        right = same_signs(right, model.whitening_matrix_)
    assert_allclose(model.whitening_matrix_, right, rtol=1e-8, atol=1e-10)
    assert_array_equal(model.mean_, 0)


def test_eigenvalues_are_those_of_the_covariance_and_of_the_correlation(X):
    values = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    assert_allclose(Whitener("zca", eps=5.0).fit(X).explained_variance_, values)
    values = np.linalg.eigvalsh(np.corrcoef(X.T))[::-1]
    assert_allclose(Whitener("zca-cor").fit(X).explained_variance_, values)


def test_pca_whitening_is_that_of_pca(X):
    assert_allclose(
        Whitener("pca").fit_transform(X), prinax.PCA(whiten=True).fit_transform(X), rtol=1e-10, atol=1e-11
    )
    assert_allclose(
        Whitener("pca-cor").fit_transform(X),
        prinax.PCA(whiten=True, scale=True).fit_transform(X),
        rtol=1e-10,
        atol=1e-11,
    )


def test_zca_is_the_inverse_root(X):
    root = Whitener("zca").fit(X).whitening_matrix_
    assert_array_equal(root, root.T)
    assert_allclose(root, np.linalg.inv(sqrtm(np.cov(X.T)).real), rtol=1e-9, atol=1e-10)


def test_the_cholesky_form_is_triangular(X):
    W = Whitener("cholesky").fit(X).whitening_matrix_
    assert_array_equal(W, np.triu(W))
    assert (np.diag(W) > 0).all()


@pytest.mark.parametrize("method", METHODS[:-1])
def test_the_way_back_of_some_directions(X, method):
    model = Whitener(method, 2).fit(X)
    W, D = model.whitening_matrix_, model.dewhitening_matrix_
    units = X.std(axis=0, ddof=1) if method.endswith("cor") else np.ones(5)
    assert_allclose(D, units[:, None] * np.linalg.pinv(W * units, rcond=1e-9), rtol=1e-9, atol=1e-10)
    assert_allclose(W @ D @ W, W, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("method", METHODS[:-1])
def test_mle_keeps_as_many_directions_as_minkas_evidence_picks(rng, method):
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 5)) + 0.1 * rng.standard_normal((200, 5))
    standardised = (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = decomposition.PCA("mle").fit(standardised if method.endswith("cor") else X)
    assert len(Whitener(method, "mle").fit(X).explained_variance_) == theirs.n_components_ < 4


# --- what whitening means -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 2e-4)])
def test_whitened_data_have_the_identity_as_covariance(X, method, dtype, tolerance):
    Y = Whitener(method).fit_transform(X.astype(dtype))
    assert Y.dtype == dtype
    assert_allclose(np.cov(Y.T.astype(float)), np.eye(5), atol=tolerance)
    assert_allclose(Y.astype(float).mean(axis=0), 0, atol=tolerance)


def test_rotation_alone_decorrelates(X):
    scores = prinax.PCA(ddof=0).fit_transform(X)
    covariance = scores.T @ scores / len(X)
    assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-12 * covariance[0, 0])
    assert_allclose(np.diag(covariance), prinax.PCA(ddof=0).fit(X).explained_variance_)


def test_zca_is_the_closest_of_all_rotations(X):
    Xc = X - X.mean(axis=0)
    closest = Whitener("zca").fit_transform(X)
    least = np.sum((closest - Xc) ** 2)
    for seed in range(50):
        turned = closest @ ortho_group.rvs(5, random_state=seed).T
        assert_allclose(np.cov(turned.T), np.eye(5), atol=1e-9)
        assert np.sum((turned - Xc) ** 2) > least
    for method in ("pca", "pca-cor", "zca-cor", "cholesky"):
        assert np.sum((Whitener(method).fit_transform(X) - Xc) ** 2) >= least


def test_zca_cor_is_the_most_correlated_with_the_data(X):
    def total(method):
        Y = Whitener(method).fit_transform(X)
        return sum(np.corrcoef(x, y)[0, 1] for x, y in zip(X.T, Y.T, strict=True))

    best = total("zca-cor")
    assert all(total(method) < best for method in ("pca", "zca", "pca-cor", "cholesky"))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_the_inverse_is_exact(X, method, eps):
    model = Whitener(method, eps=eps).fit(X)
    new = X[:7] + 100
    assert_allclose(model.inverse_transform(model.transform(new)), new, rtol=1e-10)


@pytest.mark.parametrize("method", ["pca", "pca-cor", "zca", "zca-cor"])
def test_the_inverse_is_exact_on_the_directions_kept(X, method):
    model = Whitener(method, n_components=2).fit(X)
    once = model.inverse_transform(model.transform(X))
    assert_allclose(model.inverse_transform(model.transform(once)), once, rtol=1e-9)
    assert np.linalg.matrix_rank(once - model.mean_, tol=1e-8) == 2
    assert model.transform(X).shape[1] == (2 if method.startswith("pca") else 5)
    if method == "pca":
        assert_allclose(once, prinax.PCA(2).fit(X).reconstruct(X), rtol=1e-10)


# --- parameters and weights ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_repeats(X, rng, method):
    weights = rng.integers(0, 4, len(X))
    weighted = Whitener(method).fit(X, sample_weight=weights)
    repeated = Whitener(method).fit(np.repeat(X, weights, axis=0))
    assert_allclose(weighted.whitening_matrix_, repeated.whitening_matrix_, rtol=1e-9, atol=1e-11)
    assert weighted.n_samples_ == np.count_nonzero(weights)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("method", ["pca", "zca"])
def test_weights_far_from_zero_are_repeats_too(method, dtype):
    """Three rows span a plane: a direction that rounding brings alive would be stretched to 1e13."""
    X = [[101.3, 100.2, 99.1, 103.6], [99.7, 104.2, 100.4, 98.9], [102.1, 97.3, 103.8, 100.6]]
    X, weights = np.array(X, dtype), np.array([1, 2, 3])
    weighted = Whitener(method).fit(X, sample_weight=weights)
    repeated = Whitener(method).fit(np.repeat(X, weights, axis=0).astype("f8"))
    assert weighted.rank_ == repeated.rank_ == 2
    near = 1e-5 if dtype == "f4" else 1e-11
    if method == "zca":
        assert_allclose(weighted.whitening_matrix_, repeated.whitening_matrix_, rtol=0, atol=near)
    assert_allclose(
        weighted.transform(X)[:, :4].std(0).max(), repeated.transform(X)[:, :4].std(0).max(), rtol=near
    )


@pytest.mark.parametrize(
    ("parameters", "error", "sentence"),
    [
        ({"method": "ZCA"}, ValueError, "method must be one of 'pca', 'zca'"),
        ({"method": None}, TypeError, "method must be one of"),
        ({"eps": -1e-3}, ValueError, "eps must be a finite number of at least 0, got -0.001"),
        ({"eps": np.nan}, ValueError, "eps must be a finite number"),
        ({"eps": "small"}, TypeError, "eps must be a number"),
        ({"center": 1}, TypeError, "center must be True or False"),
        ({"ddof": -1}, ValueError, "ddof must be an integer of at least 0"),
        ({"n_components": 6}, ValueError, r"min\(n_samples, n_features\)=5"),
        ({"method": "cholesky", "n_components": 2}, ValueError, "n_components must be None"),
    ],
)
def test_wrong_parameters_are_refused_in_fit(X, parameters, error, sentence):
    model = Whitener(**parameters)
    with pytest.raises(error, match=sentence):
        model.fit(X)
    assert not hasattr(model, "whitening_matrix_")


def test_a_failed_fit_changes_nothing(X):
    model = Whitener().fit(X)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((4, 2), np.nan))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def test_inverse_transform_looks_at_the_width(X):
    model = Whitener("pca", 2).fit(X)
    with pytest.raises(ValueError, match=r"X has 3 features, but Whitener.inverse_transform is expecting 2"):
        model.inverse_transform(np.zeros((1, 3)))
    with pytest.raises(prinax.NotFittedError):
        Whitener().inverse_transform(np.zeros((1, 3)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_frozen_whitener_has_the_bits_of_transform(X, dtype):
    X = X.astype(dtype)
    for method in METHODS:
        model = Whitener(method).fit(X)
        assert_array_equal(model.freeze()(X), model.transform(X))
        assert_array_equal(model.freeze()(X[0]), model.transform(X[:1])[0])


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 30),
    d=st.integers(1, 8),
    seed=st.integers(0, 2**32 - 1),
    method=st.sampled_from(["pca", "zca", "pca-cor", "zca-cor"]),
    center=st.booleans(),
    duplicated=st.booleans(),
)
def test_whitened_covariance_is_a_projector_of_the_rank(n, d, seed, method, center, duplicated):
    X = np.random.default_rng(seed).integers(-3, 4, (n, d)).astype(float)
    if duplicated:
        X[:, -1] = X[:, 0]
    model = Whitener(method, center=center).fit(X)
    Y = model.transform(X)
    covariance = Y.T @ Y / (n - 1)
    assert_allclose(covariance @ covariance, covariance, atol=1e-7)
    assert_allclose(np.trace(covariance), model.rank_, atol=1e-7)
    assert_allclose(model.inverse_transform(Y), X, atol=1e-7)
