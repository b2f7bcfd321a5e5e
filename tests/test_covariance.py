"""covariance against the longdouble oracle."""

from fractions import Fraction

import numpy as np
import pytest
from covariance_oracle import EPS, SHAPES, assert_covariance, rows
from numpy.testing import assert_allclose, assert_array_equal
from prinax import PCA, Moments, covariance

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("offset", [0.0, 3.0, 1e4])
def test_covariance_is_the_oracle_s_and_exactly_symmetric(shape, dtype, offset):
    X = rows(shape, dtype, offset)
    assert_covariance(covariance(X), X)


@pytest.mark.parametrize(
    "options", [{"ddof": 0}, {"center": False}, {"ddof": 0, "center": False}, {"ddof": 2}]
)
def test_covariance_options_change_divisor_and_centre(options):
    X = rows((50, 6), offset=1.0)
    assert_covariance(covariance(X, **options), X, **options)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_weighted_covariance_is_the_oracle_s(dtype):
    X = rows((90, 6), dtype, offset=2.0)
    w = np.random.default_rng(1).random(90)
    w[:5] = 0
    assert_covariance(covariance(X, sample_weight=w), X, weights=w)


@pytest.mark.parametrize(("far", "weight"), [(1e12, 1e-40), (1e20, 1e-60), (1e40, 1e-300), (1e100, 1e-300)])
@pytest.mark.parametrize("place", [0, 2])
def test_a_far_row_that_hardly_counts_does_not_spoil_the_others(far, weight, place):
    rows, weights = [[1.0, 2.0], [2.0, 5.0], [4.0, 3.0]], [1.0, 3.0, 0.7]
    X = np.insert(np.array(rows), place, [far, -far], axis=0)
    w = np.insert(np.array(weights), place, weight)  # far**2 * weight <= 1e-16
    wanted = np.cov(np.transpose(rows), aweights=weights, ddof=0) * (4.7 / 3.7)
    mean = np.average(rows, axis=0, weights=weights)
    single = Moments(2)
    for row, share in zip(X, w, strict=True):
        single.update(row[None], sample_weight=[share])
    assert_allclose(covariance(X, sample_weight=w), wanted, rtol=1e-12)
    assert_allclose(single.covariance(), wanted, rtol=1e-12)
    assert_allclose(single.mean, mean, rtol=1e-14)
    for solver in ("auto", "covariance_eigh", "full", "gram"):
        model = PCA(svd_solver=solver).fit(X, sample_weight=w)
        assert_allclose(model.mean_, mean, rtol=1e-14)
        assert_allclose(model.explained_variance_, np.linalg.eigvalsh(wanted)[::-1], rtol=1e-12)


def test_a_weight_whose_share_vanishes_changes_nothing():
    rows, weights = np.array([[1.0, 2.0], [3.0, 5.0], [7.0, 8.0]]), [1e10, 1e10, 5e-324]
    moments, before = Moments(2), Moments(2)
    before.update(rows[:2], sample_weight=weights[:2])
    for row, weight in zip(rows, weights, strict=True):
        moments.update(row[None], sample_weight=[weight])
    assert_array_equal(moments.mean, before.mean)
    assert_allclose(moments.covariance(), before.covariance(), rtol=1e-15)


@pytest.mark.parametrize("unit", [1e-305, 1e-310, 1e-320, 1e300])
def test_a_common_factor_of_the_weights_cancels(unit, rng):
    X = rng.standard_normal((10, 2))
    wanted = np.cov(X.T, ddof=0)
    w = np.full(10, unit)
    assert_allclose(covariance(X, ddof=0, sample_weight=w), wanted, rtol=1e-13)
    for solver in ("covariance_eigh", "full"):
        model = PCA(ddof=0, svd_solver=solver).fit(X, sample_weight=w)
        assert_allclose(model.explained_variance_, np.linalg.eigvalsh(wanted)[::-1], rtol=1e-13)
        assert_allclose(model.total_variance_, wanted.trace(), rtol=1e-13)


def exact_covariance(X, weights):
    """The weighted covariance (ddof=0) of these numbers, in fractions."""
    rows, w = [[Fraction(float(x)) for x in row] for row in X], [Fraction(float(w)) for w in weights]
    mean = [sum(a * row[j] for a, row in zip(w, rows, strict=True)) / sum(w) for j in range(len(rows[0]))]
    centred = [[x - m for x, m in zip(row, mean, strict=True)] for row in rows]
    d = range(len(mean))
    return np.array(
        [
            [float(sum(a * c[i] * c[j] for a, c in zip(w, centred, strict=True)) / sum(w)) for j in d]
            for i in d
        ]
    )


@pytest.mark.parametrize(
    ("dtype", "far", "light", "unit"),
    [
        ("f4", 1e25, 1e-46, 1.0),  # the weight is no number of float32, the row counts all the same
        ("f4", 1e25, 1e-46, 1e300),
        ("f4", 1e19, 1e-37, 1.0),  # in the unit of the far row nothing is left of the others
        ("f4", 2.0, 1e-46, 1.0),
        ("f8", 1e160, 1e-318, 1.0),
        ("f8", 1e140, 1e-300, 1.0),
    ],
)
def test_rows_of_hardly_any_weight_count_where_they_lie_far_enough(dtype, far, light, unit):
    X = np.array([[1, 0, 5], [2, 1, 5], [0, 3, 5], [far, 1, 5], [-3, far, 5]], dtype)
    weights = np.array([1, 1, 1, light, light]) * unit
    right = exact_covariance(X, weights)
    size = np.sqrt(np.outer(right.diagonal(), right.diagonal())) + (right == 0)
    moments = Moments(3)
    for row, weight in zip(X[::-1], weights[::-1], strict=True):
        moments.update(row[None], [weight])
    for C in (covariance(X, ddof=0, sample_weight=weights), moments.covariance(0)):
        assert np.abs((C - right) / size).max() <= 8 * EPS[dtype]


def test_a_column_that_varies_in_rows_of_hardly_any_weight_alone_varies():
    X = np.array([[1, 0], [2, 0], [0, 0], [1, 1], [-3, 2]], "f4")
    weights = np.array([1, 1, 1, 1e-200, 1e-203])
    C, right = covariance(X, ddof=0, sample_weight=weights), exact_covariance(X, weights)
    assert_allclose(C[1, 1], right[1, 1], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_weights_of_many_magnitudes_in_many_chunks_are_those_of_the_definition(rng, dtype):
    X = (rng.standard_normal((20_000, 3)) + 5).astype(dtype)
    weights = 2.0 ** rng.integers(-300, 300, len(X)) * (rng.random(len(X)) < 0.9)
    rows, w = X.astype(np.longdouble), weights.astype(np.longdouble)
    centred = rows - w @ rows / w.sum()
    right = (centred.T * w) @ centred / w.sum()
    C = covariance(X, ddof=0, sample_weight=weights)
    assert np.abs(C - right).max() <= 64 * EPS[dtype] * right.diagonal().max()


def test_integer_weights_equal_repeated_rows():
    X = rows((20, 4))
    times = np.arange(20) % 4
    assert_allclose(covariance(X, sample_weight=times), covariance(np.repeat(X, times, axis=0)), rtol=1e-12)


@pytest.mark.parametrize("ddof", [5, 6])
def test_covariance_refuses_a_divisor_that_is_not_positive(ddof):
    with pytest.raises(ValueError, match=r"ddof|sample"):
        covariance(rows((5, 2)), ddof=ddof)


@pytest.mark.parametrize("exponent", [-900, -500, 500, 900])
def test_covariance_of_rescaled_columns_is_right_wherever_the_result_is_finite(exponent):
    X = rows((60, 2))
    scaled = np.column_stack([np.ldexp(X[:, 0], exponent), np.ldexp(X[:, 1], -exponent)])
    C, wanted = covariance(scaled), covariance(X)
    assert C[0, 1] == pytest.approx(wanted[0, 1], rel=1e-13)
    with np.errstate(over="ignore", under="ignore"):
        limits = np.ldexp(wanted.diagonal(), [2 * exponent, -2 * exponent])
    assert_array_equal(C.diagonal()[~np.isfinite(limits)], np.inf)
    assert_allclose(C.diagonal()[np.isfinite(limits)], limits[np.isfinite(limits)], rtol=1e-13)
