"""The size of a kernel is no evidence: p-values in any unit, gamma distributions of any shape, sides that
are constant but for rounding."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from prinax import cka, hsic, hsic_test, kernel_matrix
from scipy import stats

pytestmark = pytest.mark.numeric

R = np.random.default_rng
GIVEN = {"kernel_x": "precomputed", "kernel_y": "precomputed"}
POLY = {"kernel_x": "poly", "kernel_y": "poly", "gamma_x": None, "gamma_y": None}


def gamma_test(K, L):
    """Statistic, p-value, shape and scale by the formulas of docs/math.md."""
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n
    K, L = H @ K @ H, H @ L @ H
    statistic = np.trace(K @ L) / (n - 1) ** 2
    mean = np.trace(K) * np.trace(L) / (n - 1) ** 3
    squares = (K * L) ** 2
    total = (squares.sum() - np.trace(squares)) / (n * (n - 1))
    factor = 2 * (n - 4) * (n - 5) / (n * (n - 1) * (n - 2) * (n - 3))
    variance = factor * total * (n / (n - 1)) ** 4
    shape, scale = mean**2 / variance, variance / mean
    return statistic, stats.gamma.sf(statistic, shape, scale=scale), shape, scale


def alignment(K, L):
    H = np.eye(len(K)) - 1 / len(K)
    K, L = H @ K @ H, H @ L @ H
    return (K * L).sum() / np.sqrt((K * K).sum() * (L * L).sum())


def sample():
    x = R(1).normal(size=(60, 2))
    return x, x[:, :1]


def flat(test):
    return (test.statistic, test.pvalue, *test.null)


# --- the gamma distribution ---------------------------------------------------------------------------------


def test_a_shape_beyond_2_to_the_53_has_its_p_value_at_once():
    """K = L = I: HKH has -1/n off the diagonal, and the statistic is the mean of the null."""
    n = 12000
    labels = np.arange(n)
    test = hsic_test(labels, labels, kernel_x="delta", kernel_y="delta", method="gamma")
    shape = n * (n - 1) ** 3 * (n - 2) * (n - 3) / (2 * (n - 4) * (n - 5))
    assert shape > 2**53
    assert_allclose(test.null.shape, shape, rtol=1e-9)
    assert_allclose(test.statistic, 1 / (n - 1), rtol=1e-9)
    # Q(a, a) = 1/2 + 1 / (3 sqrt(2 pi a)) + ..; one rounding of the statistic moves it by sqrt(a) eps = 2e-8
    assert_allclose(test.pvalue, 0.5, atol=1e-3)


@pytest.mark.parametrize("noise", [1.0, 0.1, 1e-2, 1e-4])
@pytest.mark.parametrize("n", [6, 20, 200, 600])
def test_p_values_are_those_of_scipy_at_any_shape(n, noise):
    rng = R(n)
    for share in (0.0, 0.2, 1.0):
        x, y = rng.standard_normal((2, n, n))
        y = (1 - share) * y + share * x
        K, L = np.eye(n) + noise / n * (x + x.T), np.eye(n) + noise / n * (y + y.T)
        test = hsic_test(K, L, **GIVEN, method="gamma")
        assert_allclose(flat(test), gamma_test(K, L), rtol=1e-13 * test.null.shape + 1e-9)
        right = stats.gamma.sf(test.statistic, test.null.shape, scale=test.null.scale)
        assert_allclose(test.pvalue, right, rtol=1e-13 * test.null.shape**0.5 + 1e-11)


@pytest.mark.parametrize("unit", [1.0, 1e13, 1e-3, 1e40, 1e60, 1e200])
def test_the_size_of_a_polynomial_is_no_evidence(unit):
    """At 1e13 it was p = 1 and GammaNull(nan, inf)."""
    x, y = sample()
    # (u^2 x'y / d + 1)^3 = u^6 (x'y / d + 1 / u^2)^3
    K, L = (x @ x.T / 2 + unit**-2) ** 3, (y @ y.T + unit**-2) ** 3
    statistic, pvalue, shape, scale = gamma_test(K, L)
    test = hsic_test(x * unit, y * unit, **POLY, method="gamma")
    assert_allclose((test.pvalue, test.null.shape), (pvalue, shape), rtol=1e-9)
    with np.errstate(over="ignore"):
        right = np.multiply((statistic, scale), np.float64(unit) ** 12)
    assert_allclose((test.statistic, test.null.scale), right, rtol=1e-9)
    assert_allclose(cka(x * unit, y * unit, **POLY), alignment(K, L), rtol=1e-9)
    permuted = hsic_test(x * unit, y * unit, **POLY, n_permutations=99)
    assert permuted.pvalue == 0.01
    if np.isfinite(right).all():
        assert_allclose(hsic(x * unit, y * unit, **POLY), statistic * unit**12, rtol=1e-9)
    else:
        with pytest.raises(ValueError, match="beyond the range of float64"):
            hsic(x * unit, y * unit, **POLY)


@pytest.mark.parametrize("exponent", [0, 266, 270, 480, -290, -400, 560, -560, 1010, -1010])
def test_the_size_of_a_matrix_is_no_evidence(exponent):
    """2**270 and 2**-290 gave p = 1, 2**-560 an alignment of 0, 2**560 an error."""
    x, y = sample()
    K, L = x @ x.T, y @ y.T
    statistic, pvalue, shape, scale = gamma_test(K, L)
    scaled_K, scaled_L = np.ldexp(K, exponent), np.ldexp(L, exponent)
    both = hsic_test(scaled_K, scaled_L, **GIVEN, method="gamma")
    assert_allclose((both.pvalue, both.null.shape), (pvalue, shape), rtol=1e-9)
    test = hsic_test(scaled_K, L, **GIVEN, method="gamma")
    assert_allclose((test.pvalue, test.null.shape), (pvalue, shape), rtol=1e-9)
    assert_allclose((test.statistic, test.null.scale), np.ldexp((statistic, scale), exponent), rtol=1e-9)
    assert_allclose(hsic(scaled_K, L, **GIVEN), np.ldexp(statistic, exponent), rtol=1e-9)
    assert_allclose(alignment(K, L), 0.754556, rtol=1e-6)
    for pair in ((scaled_K, L), (K, scaled_L), (scaled_K, scaled_L)):
        assert_allclose(cka(*pair, **GIVEN), alignment(K, L), rtol=1e-9)
        assert_allclose(cka(*pair, **GIVEN, estimator="unbiased"), cka(K, L, **GIVEN, estimator="unbiased"))
        assert hsic_test(*pair, **GIVEN, n_permutations=99).pvalue == 0.01
    unit = np.ldexp(1.0, exponent)
    found = cka(x, y, kernel_x=lambda a, b: float(a @ b) * unit)
    assert_allclose(found, alignment(K, L), rtol=1e-9)


def test_single_precision_and_strides_have_the_same_unit():
    x, y = sample()
    K, L = (x @ x.T).astype(np.float32), y @ y.T
    right = alignment(K.astype(float), L)
    for scaled in (np.ldexp(K, 100), np.ldexp(K, -120), np.asfortranarray(np.ldexp(K, 100))):
        assert_allclose(cka(scaled, L, **GIVEN), right, rtol=1e-6)
        assert_allclose(cka(L, np.repeat(scaled, 2, axis=1)[:, ::2], **GIVEN), right, rtol=1e-6)


# --- constants ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows",
    [np.tile(R(37).normal(size=6), (12, 1)), R(0).uniform(1, 2, size=(40, 1)), np.full((20, 25), 3.3)],
    ids=["repeated", "parallel", "constant"],
)
def test_the_rounding_of_a_constant_kernel_is_no_evidence(rows):
    """The cosines of equal rows gave p = 1.9e-12."""
    labels, numbers = np.arange(len(rows)), np.arange(float(len(rows)))
    cosines = kernel_matrix(rows, kernel="cosine")
    for a, b, options in (
        (rows, labels, {"kernel_x": "cosine", "kernel_y": "delta"}),
        (labels, rows, {"kernel_x": "delta", "kernel_y": "cosine"}),
        (rows, numbers, {"kernel_x": "cosine"}),
        (rows, rows, {"kernel_x": "cosine", "kernel_y": "cosine"}),
        (np.ldexp(cosines, 600), numbers, {"kernel_x": "precomputed"}),
    ):
        assert hsic_test(a, b, **options, method="gamma").pvalue == 1.0
        assert hsic_test(a, b, **options, n_permutations=50).pvalue == 1.0
        assert cka(a, b, **options) == 0.0
