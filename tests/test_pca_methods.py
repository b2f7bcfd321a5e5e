"""What a fitted PCA does: project, reconstruct, give residuals and likelihoods, choose k."""

from fractions import Fraction

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from prinax import PCA, IncrementalPCA, KernelPCA, Moments, covariance
from test_pca import EPS, SOLVERS, cloud

R = np.random.default_rng

VARIANTS = {
    "plain": {},
    "uncentred": {"center": False},
    "scaled": {"scale": True},
    "whitened": {"whiten": True},
    "whitened, scaled, ddof 0": {"whiten": True, "scale": True, "ddof": 0},
}
variants = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())


def scores_by_formula(model, X):
    """The definition, in longdouble, from the fitted attributes."""
    Z = np.asarray(X, oracle.LONG) - model.mean_
    if model.scale_ is not None:
        Z = Z / model.scale_
    T = Z @ np.asarray(model.components_, oracle.LONG).T
    return (T / np.sqrt(model.explained_variance_) if model.whiten else T).astype(float)


@variants
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_transform_is_its_formula_on_new_rows(variant, dtype):
    X, new = cloud((50, 8), dtype), cloud((7, 8), dtype, seed=1)
    model = PCA(3, **variant).fit(X)
    scores = model.transform(new)
    wanted = scores_by_formula(model, new)
    assert scores.dtype == dtype
    assert scores.shape == (7, 3)
    assert_allclose(scores, wanted, rtol=0, atol=20 * EPS[dtype] * np.abs(wanted).max())


@variants
@pytest.mark.parametrize("solver", SOLVERS)
def test_fit_transform_is_fit_then_transform_bit_for_bit(variant, solver):
    for shape in [(50, 8), (6, 40)]:
        X = cloud(shape)
        both = PCA(3, svd_solver=solver, **variant)
        assert_array_equal(both.fit_transform(X), PCA(3, svd_solver=solver, **variant).fit(X).transform(X))
        assert_array_equal(both.transform(X), both.transform(X))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("d", [1, 2, 3, 8, 17, 64, 300])
def test_one_row_alone_is_that_row_of_the_batch(d, dtype):
    X = cloud((40, d), dtype, ratio=0.98)
    model = PCA(min(5, d)).fit(X)
    batch = model.transform(X)
    length = np.linalg.norm(X - model.mean_, axis=1)
    bound = 8 * EPS[dtype] * np.sqrt(d) * length
    for i in range(0, 40, 7):
        single = model.transform(X[i : i + 1])[0]
        assert (np.abs(single - batch[i]) <= bound[i]).all()


@variants
def test_inverse_transform_undoes_transform_when_every_component_is_kept(variant):
    X = cloud((50, 8))
    model = PCA(**variant).fit(X)
    assert_allclose(model.inverse_transform(model.transform(X)), X, rtol=0, atol=1e-12)


@variants
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_reconstruct_is_transform_then_inverse_transform(variant, dtype):
    X = cloud((50, 8), dtype)
    model = PCA(3, **variant).fit(X)
    back = model.inverse_transform(model.transform(X))
    assert back.dtype == model.reconstruct(X).dtype == dtype
    assert_allclose(model.reconstruct(X), back, rtol=0, atol=200 * EPS[dtype] * np.abs(X).max())


@variants
def test_residuals_are_what_reconstruction_leaves(variant):
    X, new = cloud((50, 8)), cloud((9, 8), seed=4)
    model = PCA(3, **variant).fit(X)
    residuals = model.residuals(new)
    assert_allclose(residuals, new - model.reconstruct(new), rtol=0, atol=1e-13)
    assert_allclose(model.squared_residuals(new), (residuals**2).sum(1), rtol=1e-12)


def test_residuals_keep_their_digits_far_from_the_origin():
    X = np.round(cloud((40, 5)) * 2**20) / 2**20
    shift = 2.0**30  # X + shift is exact; only the rounding of mean_ to float64 is left
    near, far = PCA(2).fit(X), PCA(2).fit(X + shift)
    rounding = EPS["f8"] * shift
    longest = np.linalg.norm(near.residuals(X), axis=1).max()
    assert_allclose(far.residuals(X + shift), near.residuals(X), rtol=0, atol=2 * rounding)
    close = 10 * rounding * longest
    assert_allclose(far.squared_residuals(X + shift), near.squared_residuals(X), rtol=0, atol=close)


@pytest.mark.parametrize("k", [0, 1, 3, 8])
@pytest.mark.parametrize("scale", [False, True])
def test_reconstruction_error_on_the_training_rows_is_the_discarded_variance(k, scale):
    X = cloud((50, 8)) * np.arange(1, 9)
    model = PCA(k, scale=scale, ddof=0).fit(X)
    discarded = float(oracle.pca(X, ddof=0, scale=scale).explained_variance[k:].sum())
    assert model.reconstruction_error(X) == pytest.approx(discarded, rel=1e-12, abs=1e-26)


@pytest.mark.parametrize("whiten", [False, True])
def test_whitened_scores_have_unit_variance_with_the_model_s_ddof(whiten):
    X = cloud((50, 8))
    for ddof in (0, 1):
        model = PCA(4, whiten=whiten, ddof=ddof).fit(X)
        wanted = np.ones(4) if whiten else model.explained_variance_
        assert_allclose(model.transform(X).var(0, ddof=ddof), wanted, rtol=1e-11)


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


@pytest.mark.parametrize("solver", ["auto", "full"])
@pytest.mark.parametrize("k", [None, 5, 4])
def test_a_constant_column_does_not_take_the_density_of_scaled_data_away(k, solver):
    X = R(0).normal(size=(50, 5)) @ R(1).normal(size=(5, 5))
    X[:, 2] = 4.2
    right = PCA(scale=True).fit(np.delete(X, 2, axis=1)).score_samples(np.delete(X, 2, axis=1))
    model = PCA(k, scale=True, svd_solver=solver).fit(X)
    assert_allclose(model.score_samples(X), right, rtol=1e-12)
    with pytest.raises(ValueError, match="column 2 of X is constant"):
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


@pytest.mark.parametrize("solver", SOLVERS)
def test_scaling_sees_a_column_whose_largest_row_was_not_sampled(solver):
    X = cloud((600, 3)) * [1e-100, 1, 1]
    X[337, 0] = 1e60
    model = PCA(scale=True, svd_solver=solver).fit(X)
    assert model.rank_ == 3
    assert_allclose(model.scale_, X.std(0, ddof=1), rtol=1e-12)


def test_score_of_scaled_data_leaves_constant_columns_out():
    X = cloud((60, 4))
    constant = np.insert(X, 2, 0.1, axis=1)
    with_constant = PCA(2, scale=True).fit(constant)
    without = PCA(2, scale=True).fit(X)
    assert with_constant.total_variance_ == pytest.approx(4, rel=1e-13)
    assert_allclose(with_constant.components_[:, 2], np.zeros(2), rtol=0, atol=1e-15)
    assert_allclose(with_constant.inverse_transform(with_constant.transform(constant))[:, 2], 0.1, rtol=1e-15)
    assert_allclose(np.delete(with_constant.components_, 2, axis=1), without.components_, rtol=0, atol=1e-12)


def test_n_components_for_answers_without_a_refit():
    X = cloud((60, 10), ratio=0.7)
    model = PCA().fit(X)
    before = {name: np.copy(value) for name, value in vars(model).items()}
    for share in (0.3, 0.9, 0.99):
        assert model.n_components_for(ratio=share) == PCA(share).fit(X).n_components_
    variances = model.explained_variance_
    assert model.n_components_for(min_eigenvalue=(variances[3] + variances[4]) / 2) == 4
    assert model.n_components_for(min_eigenvalue=2 * variances[0]) == 0
    for name, value in vars(model).items():
        assert_array_equal(value, before[name])


@pytest.mark.parametrize("unit", [1e-200, 1e-160, 1.0, 1e160, 1e200])
def test_n_components_for_does_not_depend_on_the_unit(unit):
    X = cloud((60, 10), ratio=0.7)
    cumulative = oracle.pca(X).explained_variance_ratio.cumsum()
    model = PCA().fit(X * unit)
    for share in (0.3, 0.9, 0.99):
        wanted = int((cumulative < share).sum()) + 1
        assert model.n_components_for(ratio=share) == PCA(share).fit(X * unit).n_components_ == wanted
    with pytest.raises(ValueError, match=r"at most 0\.[0-9]+, the share of the components kept, got 0.999"):
        PCA(2).fit(X * unit).n_components_for(ratio=0.999)


def test_n_components_for_where_nothing_varies_is_that_of_the_fit():
    X = np.ones((6, 3))
    assert PCA().fit(X).n_components_for(ratio=0.5) == PCA(0.5).fit(X).n_components_ == 1
    with pytest.raises(ValueError, match="at most 0, the share"):
        PCA(0).fit(X).n_components_for(ratio=0.5)


def test_n_components_for_says_when_the_kept_components_do_not_reach_the_share():
    model = PCA(2).fit(cloud((60, 10), ratio=0.9))
    with pytest.raises(ValueError, match="ratio"):
        model.n_components_for(ratio=0.999)


@pytest.mark.parametrize(
    "arguments", [{}, {"ratio": 0.9, "min_eigenvalue": 1.0}, {"ratio": 1.5}, {"ratio": np.nan}]
)
def test_n_components_for_refuses_what_it_cannot_answer(arguments):
    model = PCA().fit(cloud((60, 10)))
    with pytest.raises((ValueError, TypeError), match=r"ratio|min_eigenvalue"):
        model.n_components_for(**arguments)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_from_moments_is_the_fit_of_all_batches(offset):
    X = cloud((90, 6)) + offset
    moments = Moments(6)
    for batch in np.array_split(X, 7):
        moments.update(batch)
    model, batch_fit = PCA.from_moments(moments, n_components=3), PCA(3).fit(X)
    assert_allclose(model.singular_values_, batch_fit.singular_values_, rtol=1e-10)
    assert_allclose(model.components_, batch_fit.components_, rtol=0, atol=1e-9)
    assert_allclose(model.mean_, batch_fit.mean_, rtol=1e-15)
    assert (model.n_samples_, model.n_features_in_) == (90, 6)
    assert model.noise_variance_ == pytest.approx(batch_fit.noise_variance_, rel=1e-9)
    assert_allclose(model.transform(X), batch_fit.transform(X), rtol=0, atol=1e-8)


@pytest.mark.parametrize("solver", ["auto", "covariance_eigh", "lanczos"])
@pytest.mark.parametrize("offset", [0.0, 3.0, 1e200])
def test_from_moments_about_zero_is_the_uncentred_fit(offset, solver):
    X = cloud((90, 4)) * max(offset, 1.0) + offset
    moments = Moments(4)
    for batch in np.array_split(X, 7):
        moments.update(batch)
    model = PCA.from_moments(moments, n_components=2, center=False, svd_solver=solver)
    unit = np.abs(X).max()
    wanted = np.linalg.svd(X / unit, compute_uv=False)[:2]
    assert_allclose(model.singular_values_ / unit, wanted, rtol=1e-10)
    assert_array_equal(model.mean_, 0)
    scaled = PCA.from_moments(moments, center=False, scale=True)
    assert_allclose(scaled.scale_ / unit, np.sqrt(((X / unit) ** 2).sum(0) / 89), rtol=1e-12)


def test_from_covariance_is_the_fit_of_the_data_it_came_from():
    X = cloud((90, 6))
    model = PCA.from_covariance(covariance(X), X.mean(0), 90, n_components=3)
    batch_fit = PCA(3).fit(X)
    assert_allclose(model.singular_values_, batch_fit.singular_values_, rtol=1e-12)
    assert_allclose(model.explained_variance_ratio_, batch_fit.explained_variance_ratio_, rtol=1e-12)
    assert_allclose(model.components_, batch_fit.components_, rtol=0, atol=1e-11)
    assert_allclose(model.score_samples(X), batch_fit.score_samples(X), rtol=1e-10)


@pytest.mark.parametrize("unit", [1e308, 1e-300])
def test_from_covariance_takes_any_unit(unit):
    model = PCA.from_covariance(np.diag([1.0, 0.5]) * unit, np.zeros(2), 100)
    assert_allclose(model.explained_variance_ / unit, [1, 0.5], rtol=1e-14)
    assert_allclose(model.singular_values_ / np.sqrt(unit), np.sqrt([99, 49.5]), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("unit", [1.0, 4.0**-10])
def test_from_covariance_of_fewer_rows_than_columns_counts_all_its_variance(unit, dtype):
    C = (np.diag([3.0, 5, 1, 4, 2]) * unit).astype(dtype)
    for k, kept in {None: 3, 1: 1, 2: 2}.items():
        model = PCA.from_covariance(C, np.zeros(5), 3, n_components=k)
        eigenvalues = [5, 4, 3, 2, 1]
        noise = Fraction(sum(eigenvalues[kept:]), 5 - kept)
        assert model.total_variance_ == pytest.approx(15 * unit, rel=1e-14)
        assert_allclose(model.explained_variance_, np.array(eigenvalues[:kept]) * unit, rtol=1e-14)
        assert_allclose(model.explained_variance_ratio_, np.array(eigenvalues[:kept]) / 15, rtol=1e-14)
        assert model.noise_variance_ == pytest.approx(float(noise) * unit, rel=1e-14)
        assert model.rank_ == 5
        assert model.get_covariance().trace() == pytest.approx(15 * unit, rel=1e-14)
    scaled = PCA.from_covariance(C, np.zeros(5), 3, scale=True)
    assert (scaled.total_variance_, scaled.noise_variance_) == pytest.approx((5, 1), rel=1e-14)


def test_from_covariance_of_fewer_rows_than_columns_keeps_the_share_or_says_that_it_cannot():
    C = np.diag([5.0, 4, 3, 2, 1])
    assert PCA.from_covariance(C, np.zeros(5), 3, n_components=0.6).n_components_ == 2
    assert PCA.from_covariance(C, np.zeros(5), 3, n_components=0.79).n_components_ == 3
    with pytest.raises(ValueError, match=r"n_components must be at most 0\.8.*=3 components, got 0.95"):
        PCA.from_covariance(C, np.zeros(5), 3, n_components=0.95)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("d", [20, 200])
def test_from_covariance_takes_the_rounding_of_single_precision(d, scale):
    A = R(0).normal(size=(50, 3)) @ R(1).normal(size=(3, d))
    C = np.cov(A.T)
    right = PCA(3, scale=scale).fit(A)
    model = PCA.from_covariance(C.astype("f4"), np.zeros(d), 50, scale=scale)
    assert model.rank_ == PCA.from_covariance(C, np.zeros(d), 50, scale=scale).rank_ == 3
    assert_array_equal(model.explained_variance_[3:], 0)
    assert_allclose(model.explained_variance_[:3], right.explained_variance_, rtol=1e-6)
    assert_allclose(np.abs(model.components_[:3] @ right.components_.T), np.eye(3), rtol=0, atol=1e-5)
    assert model.total_variance_ == pytest.approx(right.total_variance_, rel=1e-6)


def indefinite(share, dtype, d=20):
    """A matrix with unit diagonal, one eigenvalue of -share beside a largest of 2 + share."""
    C = np.eye(d, dtype=dtype)
    C[0, 1] = C[1, 0] = 1 + share
    return C


@pytest.mark.parametrize("scale", [False, True])
def test_from_covariance_refuses_what_no_rounding_makes_indefinite(scale):
    for C in (
        indefinite(1e-2, "f4"),
        indefinite(2e-2, "f4", 2000),
        indefinite(1e-9, "f8"),
        np.diag([1.0, -1.0]),
        np.diag([1.0, -1e-2]).astype("f4"),
        np.diag([0.0, -1.0]),
        np.array([[1.0, 0.5], [0.5, 0.0]]),
        np.array([[1.0, 1e-6], [1e-6, 0.0]]),
        np.array([[0.0, 0.5], [0.5, 0.0]]),
        np.array([[1.0, 0.5], [0.5, 0.0]], dtype="f4"),
    ):
        with pytest.raises(
            ValueError, match=r"covariance must be positive semidefinite, got (.*-|.* in entry)"
        ):
            PCA.from_covariance(C, np.zeros(len(C)), 50, scale=scale)
    for C in (
        indefinite(1e-5, "f4"),
        indefinite(1e-14, "f8"),
        np.diag([1.0, 0.0]),
        np.diag([1.0, -1e-17]),
        np.array([[1.0, 1e-8], [1e-8, 0.0]]),
    ):
        model = PCA.from_covariance(C, np.zeros(len(C)), 50, scale=scale)
        assert model.rank_ == len(C) - 1


def test_a_zero_variance_is_judged_in_the_unit_of_each_other_column():
    C = np.diag([1e20, 1.0, 0.0])
    assert PCA.from_covariance(C, np.zeros(3), 50, scale=True).total_variance_ == pytest.approx(2, rel=1e-14)
    C[1, 2] = C[2, 1] = 0.5
    with pytest.raises(ValueError, match=r"5e-1 in entry \(2, 1\) beside a variance of 0e0 in \(2, 2\)"):
        PCA.from_covariance(C, np.zeros(3), 50, scale=True)


def test_from_covariance_refuses_what_is_no_covariance():
    mean = np.zeros(2)
    for C in ([[1.0, 2.0], [0.0, 1.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[np.nan, 0.0], [0.0, 1.0]]):
        with pytest.raises(ValueError, match=r"\bC\b|covariance"):
            PCA.from_covariance(C, mean, 10)
    with pytest.raises(ValueError, match="mean"):
        PCA.from_covariance(np.eye(2), np.zeros(3), 10)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="mean contains"):
            PCA.from_covariance(np.eye(2), [0.0, bad], 10)


@pytest.mark.parametrize("n", [1, 3, 700])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "model",
    [
        PCA(whiten=True).fit(np.ones((5, 3))),
        PCA(whiten=True, scale=True).fit(np.ones((5, 3))),
        PCA(2, whiten=True, svd_solver="lanczos").fit(np.ones((5, 3))),
        PCA(whiten=True, scale=True).fit(np.diag([1.0, 2.0, 0.0])),
        PCA(0, whiten=True).fit(np.eye(3)),
        PCA(scale=True).fit(np.eye(4, 3) * [1e-310, 2.0, 3.0]),
        IncrementalPCA(whiten=True).partial_fit([[1.0, 2.0, 3.0]]),
        KernelPCA(1, kernel="precomputed").fit(np.ones((3, 3))),
    ],
    ids=["dead", "scaled", "lanczos", "one dead", "no components", "tiny column", "one row", "kernel"],
)
def test_nan_in_any_column_is_refused_whichever_directions_are_dead(model, dtype, n):
    for column in range(3):
        for value, name in ((np.nan, "NaN"), (np.inf, "infinity")):
            X = np.ones((n, 3), dtype)
            X[n // 2, column] = value
            for order in "CF":
                with pytest.raises(ValueError, match=f"X contains {name}"):
                    model.transform(np.asarray(X, order=order))


@pytest.mark.parametrize(("dtype", "exponent"), [("f8", -1030), ("f4", -133), ("f4", -140)])
def test_columns_whose_deviation_has_no_inverse_are_standardised(dtype, exponent):
    # Powers of two change nothing under scale=True: 1, 2, 4 in any unit are (-4, -1, 5) / sqrt(21).
    X = np.ldexp([[1.0, 3.0], [2.0, 5.0], [4.0, 2.0]], [exponent, 0]).astype(dtype)
    model = PCA(1, scale=True, svd_solver="covariance_eigh").fit(X)
    Z = model.transform(X)
    right = PCA(1, scale=True).fit([[1.0, 3.0], [2.0, 5.0], [4.0, 2.0]])
    close = {"rtol": 1e-6 if dtype == "f4" else 1e-13}
    assert_allclose(Z, right.fit_transform([[1.0, 3.0], [2.0, 5.0], [4.0, 2.0]]), **close)
    assert_array_equal(model.freeze()(X), Z)
    whole = PCA(scale=True, svd_solver="covariance_eigh").fit(X[:, :1])
    assert_allclose(whole.transform(X[:, :1]).ravel() * np.sqrt(21), [-4, -1, 5], **close)
    assert_array_equal(whole.reconstruct(X[:, :1]), X[:, :1])
    assert_allclose(whole.reconstruction_error(X[:, :1]), 0, atol=1e-12)


@pytest.mark.parametrize("parameters", [{"scale": True}, {"whiten": True}])
def test_float32_rows_further_from_the_mean_than_its_largest_number(parameters):
    X = np.array([[3e38], [-3e38], [3e38]], np.float32)
    model = PCA(**parameters).fit(X)
    right = np.array([[1.0], [-2.0], [1.0]]) / np.sqrt(3)  # (x - 1e38) over the deviation 2 sqrt(3) 1e38
    assert_allclose(model.transform(X), right, rtol=1e-6)
    assert_allclose(model.freeze()(X), right, rtol=1e-6)
    for i in range(3):
        assert_array_equal(model.transform(X[i : i + 1]), model.transform(X)[i : i + 1])


def test_float32_rows_under_a_mean_beyond_float32():
    model = PCA().fit(np.array([[1.0], [3.0]]) * 1e39)
    X = np.array([[1.0], [-5.0]], np.float32)
    assert_array_equal(model.transform(X), np.full((2, 1), -np.inf, np.float32))
    assert_allclose(model.transform(X.astype(float)), np.full((2, 1), -2e39))


@pytest.mark.parametrize(
    "method",
    [
        "transform",
        "inverse_transform",
        "reconstruct",
        "residuals",
        "squared_residuals",
        "reconstruction_error",
        "score",
        "score_samples",
    ],
)
def test_methods_before_fit_say_so(method):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="fit"):
        getattr(PCA(2), method)(np.ones((3, 4)))


@pytest.mark.parametrize("method", ["get_covariance", "get_precision", "n_components_for"])
def test_views_before_fit_say_so(method):
    with pytest.raises(ValueError, match="fit"):
        getattr(PCA(2), method)()
