"""The Gaussian model of a fitted PCA: noise, likelihoods, covariance and precision, in any unit."""

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pca_oracle import EPS, SOLVERS, cloud
from prinax import PCA, IncrementalPCA

pytestmark = pytest.mark.numeric

R = np.random.default_rng


@pytest.mark.parametrize("k", [0, 1, 3, 5])
@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_likelihood_is_the_gaussian_s_with_the_model_covariance(k, whiten, scale):
    X, new = cloud((60, 5)) * [1, 5, 0.1, 1, 1], cloud((9, 5), seed=2) * [1, 5, 0.1, 1, 1]
    model = PCA(k, whiten=whiten, scale=scale).fit(X)
    reference = oracle.pca(X, scale=scale)
    noise = oracle.noise_variance(reference, k, 5)
    C = oracle.model_covariance(reference.components[:k], reference.explained_variance[:k], noise)
    if scale:
        C = C * np.outer(reference.scale, reference.scale)
    wanted = oracle.log_likelihoods(new, reference.mean, C)
    assert_allclose(model.get_covariance(), C.astype(float), rtol=0, atol=1e-12 * float(np.abs(C).max()))
    assert_array_equal(model.get_covariance(), model.get_covariance().T)
    assert_allclose(model.get_precision() @ C.astype(float), np.eye(5), rtol=0, atol=1e-9)
    assert_allclose(model.score_samples(new), wanted, rtol=1e-9)
    assert type(model.score(new)) is float
    assert model.score(new) == pytest.approx(wanted.mean(), rel=1e-9)


def doubled(values, exponent):
    """values * 2**exponent, 0 or infinite beyond the range of float64."""
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(values, exponent)


@pytest.mark.parametrize("exponent", [-700, -560, -515, 40, 130, 520, 660])
@pytest.mark.parametrize("k", [0, 1, 3, 5])
def test_likelihood_is_right_where_variances_are_no_numbers(k, exponent):
    X, new = cloud((60, 5)) * [1, 5, 0.1, 1, 1], cloud((9, 5), seed=2) * [1, 5, 0.1, 1, 1]
    reference = oracle.pca(X)
    noise = oracle.noise_variance(reference, k, 5)
    C = oracle.model_covariance(reference.components[:k], reference.explained_variance[:k], noise)
    # x -> 2^e x divides the density by 2^(5 e).
    wanted = oracle.log_likelihoods(new, reference.mean, C) - 5 * exponent * np.log(2)
    near = PCA(k).fit(X)
    far = PCA(k).fit(np.ldexp(X, exponent))
    assert_allclose(far.score_samples(np.ldexp(new, exponent)), wanted, rtol=1e-11)
    assert far.score(np.ldexp(new, exponent)) == pytest.approx(wanted.mean(), rel=1e-11)
    for found, right in (
        (far.get_covariance(), doubled(near.get_covariance(), 2 * exponent)),
        (far.get_precision(), doubled(near.get_precision(), -2 * exponent)),
    ):
        assert_allclose(found, right, rtol=1e-14, atol=1e-322)  # infinities in the same places
        assert_array_equal(found, found.T)


@pytest.mark.parametrize("unit", [1e-170, 1e-155, 1e160])
def test_likelihood_of_single_rows_and_of_a_stream_in_any_unit(unit):
    X = R(0).normal(size=(50, 5))
    wanted = PCA(2).fit(X).score(X) - 5 * np.log(unit)
    assert PCA(2).fit(X * unit).score(X * unit) == pytest.approx(wanted, rel=1e-12)
    stream = IncrementalPCA(2).fit(X * unit)
    assert stream.score(X * unit) == pytest.approx(wanted, rel=1e-9)
    assert not np.isnan(stream.get_precision()).any()


def test_rows_in_a_subspace_have_no_density_in_any_unit():
    X = R(0).normal(size=(50, 2)) @ R(1).normal(size=(2, 4))
    for unit in (1e-170, 1.0, 1e160):
        with pytest.raises(ValueError, match="0e0 across 2 of 4 dimensions"):
            PCA(2).fit(X * unit).score(X * unit)


def test_edited_variances_are_honoured():
    X = cloud((60, 5))
    model = PCA(3, whiten=True).fit(X)
    model.explained_variance_ = model.explained_variance_ * [1, 1, 0]
    assert_array_equal(model.transform(X)[:, 2], 0)
    assert_array_equal(model.transform(X[:1].tolist())[:, 2], 0)
    model.noise_variance_ = 0.0
    with pytest.raises(ValueError, match="noise_variance_"):
        model.score(X)


def test_a_model_without_noise_says_why_it_has_no_precision():
    X = np.outer(np.arange(5.0), [1.0, 2.0, -1.0])
    sentence = "^the covariance of the model is not positive definite: its noise variance is 0.0, which fewer"
    with pytest.raises(np.linalg.LinAlgError, match=sentence):
        PCA(1).fit(X).get_precision()


@pytest.mark.parametrize("solver", ["auto", "full"])
@pytest.mark.parametrize("k", [None, 5, 4])
def test_a_constant_column_does_not_take_the_density_of_scaled_data_away(k, solver):
    X = R(0).normal(size=(50, 5)) @ R(1).normal(size=(5, 5))
    X[:, 2] = 4.2
    right = PCA(scale=True).fit(np.delete(X, 2, axis=1)).score_samples(np.delete(X, 2, axis=1))
    model = PCA(k, scale=True, svd_solver=solver).fit(X)
    assert_allclose(model.score_samples(X), right, rtol=1e-12)
    sentence = "covariance of the model is not positive definite: column 2 of X is constant"
    with pytest.raises(np.linalg.LinAlgError, match=sentence):
        model.get_precision()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("dtype", "ratio"), [("f4", 1e-1), ("f4", 3e-4), ("f4", 3e-5), ("f8", 1e-5), ("f8", 1e-8)]
)
def test_the_noise_of_small_living_directions_keeps_its_digits(dtype, ratio, solver):
    """From the singular values of the same data in longdouble; 0 only where nothing lives."""
    Q = np.linalg.qr(R(0).normal(size=(4, 4)))[0]
    X = ((R(1).normal(size=(200, 4)) * [1, 1, ratio, ratio]) @ Q).astype(dtype)
    right = float(oracle.noise_variance(oracle.pca(X), 2, 4))
    model = PCA(2, svd_solver=solver).fit(X)
    slack = 8 * EPS[dtype] / ratio
    assert_allclose(model.noise_variance_, right, rtol=max(slack, 1e-6 if dtype == "f8" else 1e-3))
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 5.0]], ids=["plain", "weighted"])
def test_centred_rows_leave_no_noise_beyond_one_direction_less_than_their_number(solver, dtype, weights):
    """n rows about their mean span n - 1 directions."""
    rng = R(1)
    for d in (5, 50, 784):
        for _ in range(20):
            Z = rng.normal(size=(3, d)).astype(dtype)
            model = PCA(2, svd_solver=solver).fit(Z, sample_weight=weights)
            assert model.noise_variance_ == 0
    with pytest.raises(ValueError, match="noise_variance_"):
        model.score(Z)


def test_moments_of_few_rows_leave_no_noise():
    for seed in range(200):
        Z = R(seed).normal(size=(3, 100))
        assert IncrementalPCA(2).fit(Z).noise_variance_ == 0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("n", "d"), [(1000, 3), (60, 784), (5000, 30)])
def test_data_in_a_subspace_leave_no_noise(solver, dtype, n, d):
    """Products of small integers, exact in either type, in pairs of opposite signs: the mean is 0."""
    for k in (1, 2, 5):
        if k >= d:
            continue
        half = R(k).integers(-3, 4, (n // 2, k)) @ R(k + 9).integers(-40, 41, (k, d))
        X = np.vstack([half, -half]).astype(dtype)
        rank = np.linalg.matrix_rank(X.astype("f8"))
        assert rank == k
        assert PCA(k, svd_solver=solver).fit(X).noise_variance_ == 0


def test_rows_and_their_opposites_on_a_line_leave_no_noise():
    X = np.repeat(np.array([[10, 20, -30], [-10, -20, 30]], "f4"), 500, axis=0)
    for solver in SOLVERS:
        assert PCA(1, svd_solver=solver).fit(X).noise_variance_ == 0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(400, 6), (6, 400)])
def test_noise_far_below_the_rounding_of_the_total_is_still_noise(solver, shape):
    """1e-10 and 1e-12 of the largest singular value, right from the same data in longdouble."""
    U, V = (np.linalg.qr(R(seed).normal(size=(m, 5)))[0] for seed, m in enumerate(shape))
    for ratio in (1e-10, 1e-12):
        X = (U * [1, 0.5, ratio, ratio, ratio]) @ V.T
        right = float(oracle.noise_variance(oracle.pca(X), 2, shape[1]))
        # rounding of eps sigma_1 beside what is measured
        assert_allclose(
            PCA(2, svd_solver=solver).fit(X).noise_variance_, right, rtol=max(1e-6, 50 * EPS["f8"] / ratio)
        )


def test_score_of_scaled_data_leaves_constant_columns_out():
    X = cloud((60, 4))
    constant = np.insert(X, 2, 0.1, axis=1)
    with_constant = PCA(2, scale=True).fit(constant)
    without = PCA(2, scale=True).fit(X)
    assert with_constant.total_variance_ == pytest.approx(4, rel=1e-13)
    assert_allclose(with_constant.components_[:, 2], np.zeros(2), rtol=0, atol=1e-15)
    assert_allclose(with_constant.inverse_transform(with_constant.transform(constant))[:, 2], 0.1, rtol=1e-15)
    assert_allclose(np.delete(with_constant.components_, 2, axis=1), without.components_, rtol=0, atol=1e-12)
