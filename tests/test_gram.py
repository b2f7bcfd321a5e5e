"""gram and center_rows against the longdouble oracle."""

import numpy as np
import oracle
import pytest
from covariance_oracle import EPS, SHAPES, rows
from numpy.testing import assert_allclose, assert_array_equal
from prinax import center_rows, gram

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("center", [True, False])
def test_gram_holds_the_inner_products_of_the_rows(shape, dtype, center):
    X = rows(shape, dtype, offset=3.0)
    K = gram(X, center=center)
    Xc = np.asarray(X, oracle.LONG) - (oracle.weighted_mean(X) if center else 0)
    wanted = Xc @ Xc.T
    length = np.sqrt(wanted.diagonal())
    near = 4 * np.sqrt(shape[1] + 16) * EPS[dtype]
    assert K.shape == (shape[0], shape[0])
    assert_array_equal(K, K.T)
    longest = float(length.max())
    shift = (
        EPS["f8"] * 3 * np.sqrt(shape[1]) if center else 0
    )  # the rounding of the mean, about 3, to float64
    assert float(np.abs(K - wanted).max()) <= near * longest**2 + 2 * shift * longest


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("dtype", "large"), [("f4", 1e30), ("f4", 1e37), ("f8", 1e160), ("f8", 1e200)])
def test_one_large_row_leaves_the_inner_products_of_the_others(dtype, large, order, rng):
    X = rng.standard_normal((40, 30)).astype(dtype, order=order)
    X[17] *= np.asarray(large, dtype)
    X[20], X[21] = X[1] / np.asarray(large, dtype), 0
    rows = X.astype(np.longdouble)
    found, right = gram(X, center=False), rows @ rows.T
    lengths = np.sqrt(np.diag(right))
    inside = np.outer(lengths, lengths) < 1e300
    tolerance = 1e-6 if dtype == "f4" else 1e-14
    assert (np.abs(found - right)[inside] <= tolerance * np.outer(lengths, lengths)[inside] + 1e-323).all()
    assert np.isinf(found[~inside]).all()
    assert_array_equal(found, found.T)


def test_the_centred_gram_matrix_has_zero_row_sums_far_from_the_origin():
    X = rows((30, 6), offset=1e6)
    K = gram(X)
    assert np.abs(K.sum(1)).max() <= 1e-8 * np.trace(K)
    assert_allclose(K, gram(X - X[0]), rtol=0, atol=1e-8 * np.trace(K))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (3, 1), (7, 13), (5, 1000)])
def test_center_rows_subtracts_each_row_s_own_mean(shape, dtype):
    X = rows(shape, dtype, offset=100.0)
    wanted = np.asarray(X, oracle.LONG) - np.asarray(X, oracle.LONG).mean(1, keepdims=True)
    centred = center_rows(X)
    assert centred.dtype == dtype
    assert centred is not X
    assert_allclose(centred, wanted.astype(float), rtol=0, atol=2 * EPS[dtype] * np.abs(X).max())


def test_center_rows_of_constant_rows_is_zero():
    for value in (0.1, 0.0, 1.7e308):
        assert_array_equal(center_rows(np.full((3, 7), value)), np.zeros((3, 7)))
