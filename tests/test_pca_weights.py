"""PCA.fit: sample weights are frequencies, of any unit, wherever the rows lie."""

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pca_oracle import SOLVERS, assert_is_pca, cloud
from prinax import PCA

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [False, True])
def test_integer_weights_equal_repeated_rows(solver, scale):
    X = cloud((12, 4))
    times = np.array([1, 3, 0, 2, 1, 1, 5, 0, 2, 1, 1, 4])
    repeated = np.repeat(X, times, axis=0)
    model = PCA(3, svd_solver=solver, scale=scale).fit(X, sample_weight=times)
    assert_is_pca(model, X[times > 0], oracle.pca(repeated, scale=scale), solver, 3)


def test_fractional_weights_are_frequencies_with_divisor_sum_minus_ddof():
    X = cloud((15, 4))
    w = np.random.default_rng(1).random(15) + 0.2
    model = PCA(2).fit(X, sample_weight=w)
    assert_is_pca(model, X, oracle.pca(X, weights=w), "auto", 2)


def test_a_row_of_weight_zero_is_absent_however_far_away():
    X = cloud((12, 4))
    far = np.vstack([X, np.full((1, 4), 1e12)])
    weighted = PCA(2).fit(far, sample_weight=[1.0] * 12 + [0.0])
    assert_allclose(weighted.singular_values_, PCA(2).fit(X).singular_values_, rtol=1e-12)
    assert_allclose(weighted.mean_, X.mean(0), rtol=1e-13)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("offset", [100.0, 1e4])
def test_weighted_rows_far_from_zero_span_no_more_than_the_same_rows_repeated(solver, dtype, offset):
    """n rows about their mean have rank n - 1; a column that is a sum of others adds nothing."""
    rng = np.random.default_rng(0)
    for _ in range(8):
        wide = (rng.normal(size=(3, 4)) + offset).astype(dtype)
        tall = np.round(rng.normal(size=(100, 3)) * 64) / 64 + offset
        tall = np.column_stack([tall, tall[:, 0] + tall[:, 1] - tall[:, 2]]).astype(dtype)
        for X, rank in ((wide, 2), (tall, 3)):
            times = rng.integers(1, 4, len(X))
            weighted = PCA(svd_solver=solver).fit(X, sample_weight=times)
            assert weighted.rank_ == rank
            right = oracle.pca(np.repeat(X, times, axis=0)).explained_variance.astype(float)
            near = 20 * np.finfo(dtype).eps
            assert_allclose(
                weighted.explained_variance_[:rank], right[:rank], rtol=10 * near, atol=near * right[0]
            )


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_weighted_mean_between_two_numbers_costs_no_variance(solver):
    """By hand: steps 0, 1, 2, 5, 3 of weights 1, 1, 2, 1, 2 have mean 16/7 and variance (54 - 16^2/7) / 7."""
    X = np.array([[0.0], [1], [2], [5], [3]]) * 2.0**-26 + 1e8
    model = PCA(svd_solver=solver, ddof=0).fit(X, sample_weight=[1, 1, 2, 1, 2])
    steps, w = np.array([0, 1, 2, 5, 3]), np.array([1, 1, 2, 1, 2])
    right = (7 * (w * steps**2).sum() - (w * steps).sum() ** 2) / 49
    assert_allclose(model.explained_variance_ * 2.0**52, [right], rtol=1e-14)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_heavy_row_far_away_leaves_dead_directions_dead(solver):
    """Other rows on a line: with the far row a plane, whatever the rounding of distances from it."""
    rng = np.random.default_rng(0)
    X = np.outer(rng.integers(-50, 50, 3000), [1.0, 2, -1]) / 7 + 0.3
    X[0] = [1e7, -3e6, 2e6]
    w = np.ones(len(X))
    w[0] = 1.5
    model = PCA(svd_solver=solver).fit(X, sample_weight=w)
    assert model.rank_ == 2
    right = oracle.pca(X, weights=w).explained_variance.astype(float)
    assert_allclose(model.explained_variance_[:2], right[:2], rtol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("exponent", [-900, -330, 266, 900])
def test_weights_of_any_unit_give_the_same_model(solver, dtype, scale, exponent):
    X = cloud((12, 4)).astype(dtype)
    w = np.arange(1.0, 13)
    plain = PCA(3, svd_solver=solver, scale=scale, ddof=0).fit(X, sample_weight=w)
    model = PCA(3, svd_solver=solver, scale=scale, ddof=0).fit(X, sample_weight=w * 2.0**exponent)
    for name in ("explained_variance_", "components_", "mean_", "noise_variance_", "total_variance_"):
        assert_array_equal(getattr(model, name), getattr(plain, name))
    assert_array_equal(model.singular_values_, plain.singular_values_ * 2.0 ** (exponent // 2))


@pytest.mark.parametrize(
    "weights",
    [
        [-1.0] + [1.0] * 11,
        [0.0] * 12,
        [1.0] * 11,
        [np.nan] + [1.0] * 11,
        [np.inf] + [1.0] * 11,
        np.ones((12, 1)),
    ],
    ids=["negative", "all zero", "too few", "NaN", "infinite", "2-D"],
)
def test_impossible_weights_are_refused_by_name(weights):
    with pytest.raises(ValueError, match="sample_weight"):
        PCA(2).fit(cloud((12, 4)), sample_weight=weights)
