"""Whitener where others break: dead directions, offsets, units, data without full rank."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from prinax import Whitener
from sklearn.datasets import make_low_rank_matrix
from whitening_oracle import DTYPES, METHODS, definition, five_columns, same_signs

pytestmark = pytest.mark.numeric


@pytest.fixture
def X(rng):
    return five_columns(rng)


@pytest.mark.parametrize("method", ["pca", "zca", "pca-cor", "zca-cor"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["sum of two columns", "constant column", "fewer rows than columns"])
def test_dead_directions_give_nothing(rng, method, dtype, kind):
    X = rng.standard_normal((50, 3))
    if kind == "sum of two columns":
        X[:, 2] = X[:, 0] + X[:, 1]
    elif kind == "constant column":
        X[:, 1] = 7
    else:
        X = rng.standard_normal((4, 6))
    X = X.astype(dtype)
    rank = 3 if len(X) == 4 else 2
    model = Whitener(method).fit(X)
    Y = model.transform(X)
    assert_array_equal(Y, Whitener(method).fit_transform(X))
    assert model.rank_ == rank
    eps = np.finfo(dtype).eps
    covariance = np.cov(Y.T.astype(float))
    assert_allclose(covariance @ covariance, covariance, atol=1e3 * eps)  # a projector
    assert_allclose(np.trace(covariance), rank, rtol=1e3 * eps)
    assert_allclose(model.inverse_transform(Y), X, atol=1e2 * eps * np.abs(X).max())
    # A row off the plane of the data is not blown up.
    assert np.abs(model.transform(X[:1] + dtype(1.0))).max() < 1e3


def test_a_numerically_low_rank_matrix_is_white(rng):
    X = make_low_rank_matrix(1000, 10, effective_rank=2, random_state=0, tail_strength=0)
    for method in ("pca", "zca"):
        assert_allclose(np.cov(Whitener(method).fit_transform(X).T), np.eye(10), atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("dtype", "offset", "tolerance"), [(np.float64, 1e8, 1e-6), (np.float32, 1e3, 1e-2)])
def test_an_offset_changes_nothing(rng, method, dtype, offset, tolerance):
    # Integers over a power of two: the offset is exact.
    X = rng.integers(-512, 512, (300, 4)) / dtype(64)
    X = (X @ np.array([[4, 1, 0, 0], [0, 4, 1, 0], [0, 0, 4, 1], [0, 0, 0, 4]])).astype(dtype)
    far = X + dtype(offset)
    assert_array_equal(far - dtype(offset), X)
    assert_allclose(Whitener(method).fit_transform(far), Whitener(method).fit_transform(X), atol=tolerance)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("dtype", "power"), [(np.float64, 40), (np.float64, -700), (np.float32, -27)])
def test_units_change_no_bit(X, method, dtype, power):
    X = X.astype(dtype)
    one, other = Whitener(method).fit(X), Whitener(method).fit(np.ldexp(X, power))
    assert_array_equal(one.whitening_matrix_, np.ldexp(other.whitening_matrix_, power))
    assert_array_equal(one.transform(X), other.transform(np.ldexp(X, power)))


@pytest.mark.parametrize(
    ("dtype", "unit"), [(np.float64, 1e-15), (np.float64, 1e-17), (np.float64, 1e200), (np.float32, 1e-8)]
)
def test_small_and_large_units_are_white(rng, dtype, unit):
    X = (rng.standard_normal((60, 4)) * unit).astype(dtype)
    for method in METHODS:
        Y = Whitener(method).fit_transform(X)
        assert_allclose(Y.astype(float).std(axis=0, ddof=1), 1, rtol=1e-4)


def test_a_map_beyond_float32_is_refused(rng):
    X = (rng.standard_normal((60, 4)) * 1e-40).astype(np.float32)
    with pytest.raises(ValueError, match="X must be in another unit, or float64"):
        Whitener().fit(X)
    assert_allclose(np.cov(Whitener().fit_transform(X.astype(np.float64)).T), np.eye(4), atol=1e-4)


def test_the_cholesky_form_needs_full_rank_or_eps(rng):
    X = rng.standard_normal((50, 3))
    X[:, 2] = X[:, 0] + X[:, 1]
    with pytest.raises(ValueError, match=r"'cholesky' for data of rank 2 in 3 features"):
        Whitener("cholesky").fit(X)
    wide = rng.standard_normal((3, 6))
    for data in (X, wide):
        model = Whitener("cholesky", eps=0.5).fit(data)
        assert_allclose(model.whitening_matrix_, definition(np.cov(data.T), "cholesky", 0.5), atol=1e-10)


@pytest.mark.parametrize("seed", [0, 19, 36])
def test_the_cholesky_form_of_data_of_rank_one_but_for_rounding_names_the_rank(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([8, 40, 65, 257])), int(rng.choice([3, 5]))
    offset = float(rng.choice([0, 100, 1000]))
    X = rng.normal(size=(n, 1)) @ rng.normal(size=(1, d)) @ rng.normal(size=(d, d)) + offset
    with pytest.raises(ValueError, match="the factor needs full rank, got 'cholesky' for data"):
        Whitener("cholesky").fit(X)


def test_the_cholesky_form_of_columns_of_any_size_needs_no_full_rank_but_eps():
    X = np.array([[1e10, 0.0], [-1e10, 0.0], [0.0, 1e-10], [0.0, -1e-10]])
    W = Whitener("cholesky", eps=1e-14, ddof=0).fit(X).whitening_matrix_
    assert_allclose(W, np.diag([np.sqrt(2) * 1e-10, 1e7]), rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_eps_is_the_formula_for_fewer_rows_than_columns(rng, method):
    X = rng.standard_normal((4, 6))
    model = Whitener(method, eps=0.2).fit(X)
    right = definition(np.cov(X.T), method, 0.2)
    if method.startswith("pca"):
        assert_allclose(
            model.whitening_matrix_[:3], same_signs(right[:3], model.whitening_matrix_[:3]), atol=1e-10
        )
    else:
        assert_allclose(model.whitening_matrix_, right, atol=1e-10)
    assert_allclose(model.explained_variance_[3:], 0)
