"""Reports from users of other libraries, retold: data on which a principal component analysis came out wrong.

Each test names the public report that it retells; the right values come from hand calculation, identities, or
the longdouble oracle, always judged on the rounded numbers that the library is handed.
"""

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from prinax import PCA, eigh

pytestmark = pytest.mark.numeric

R = np.random.default_rng
EPS = {"f4": 2.0**-23, "f8": 2.0**-52}
EXACT = ["auto", "covariance_eigh", "gram", "full"]
SOLVERS = [*EXACT, "lanczos", "randomized"]
every_solver = pytest.mark.parametrize("solver", SOLVERS)


@every_solver
@pytest.mark.parametrize(
    ("dtype", "offset"), [("f4", s) for s in (0, 1e3, 1e4, 1e5)] + [("f8", s) for s in (1e7, 1e8, 1e9)]
)
def test_two_points_far_from_the_origin_keep_their_direction(solver, dtype, offset):
    """facebookresearch/faiss#773."""
    X = np.tile([[1 + offset, offset], [offset, 1 + offset]], (10, 1)).astype(dtype)
    model = PCA(svd_solver=solver).fit(X)
    assert_allclose(model.explained_variance_, [10 / 19, 0], rtol=4 * EPS[dtype], atol=4 * EPS[dtype])
    assert_allclose(model.components_[0], np.sqrt([0.5, 0.5]) * [1, -1], rtol=4 * EPS[dtype])
    assert_allclose(model.mean_, [offset + 0.5, offset + 0.5], rtol=1e-16)


@every_solver
@pytest.mark.parametrize(
    ("dtype", "offset"),
    [("f8", s) for s in (0, 1e4, 1e6, 1e7, 1e8, 1e10)] + [("f4", s) for s in (0, 1e2, 1e3, 1e4, 1e5)],
)
def test_variances_do_not_depend_on_where_the_cloud_sits(solver, dtype, offset):
    """scikit-learn/scikit-learn#27491, #29534; xarray-contrib/xarray-spatial#2831."""
    X = (R(0).standard_normal((200, 3)) * [3, 2, 1] + offset).astype(dtype)
    variances = PCA(svd_solver=solver).fit(X).explained_variance_
    near = 1e-6 if dtype == "f4" else 1e-11
    assert_allclose(variances, oracle.pca(X).explained_variance.astype(float), rtol=near)
    if dtype == "f8" and offset <= 1e8:
        assert_allclose(variances, [9.30569851, 4.00832193, 0.94434954], rtol=2e-8)


@every_solver
@pytest.mark.parametrize("shift", [2.0**20, 2.0**30, -(2.0**36)])
def test_an_exact_shift_changes_nothing_but_the_mean(solver, shift):
    """Data with few bits of mantissa, so that adding the shift rounds nothing."""
    X = R(0).integers(-4000, 4000, (200, 4)) / 1024
    near, far = PCA(svd_solver=solver).fit(X), PCA(svd_solver=solver).fit(X + shift)
    rounding = (EPS["f8"] * shift) ** 2  # of the mean to float64, squared
    assert_allclose(far.explained_variance_, near.explained_variance_, rtol=1e-12, atol=rounding)
    assert_allclose(far.components_, near.components_, rtol=0, atol=1e-11)
    assert_allclose(far.transform(X + shift), near.transform(X), rtol=0, atol=4 * EPS["f8"] * abs(shift))


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize(
    ("dtype", "offset", "degrees"),
    [
        ("f8", (450000, 5500000, 120), 1e-4),
        ("f4", (10, 10, 10), 0.1),
        ("f4", (100,) * 3, 0.1),
        ("f4", (1000,) * 3, 0.2),
    ],
)
def test_the_smallest_axis_of_a_planar_patch_is_its_normal(solver, dtype, offset, degrees):
    """PointCloudLibrary/pcl#2184, #2403, #4965."""
    i, j = np.divmod(np.arange(100.0), 10)
    patch = 0.02 * np.column_stack([0.5 * i, 0.5 * j, 0.1 * i - 0.05 * j])
    X = (patch + offset).astype(dtype)
    model = PCA(svd_solver=solver).fit(X)
    normal = np.array([0.2, -0.1, -1]) / np.linalg.norm([0.2, -0.1, -1])
    angle = np.degrees(np.arcsin(np.linalg.norm(np.cross(normal, model.components_[2]))))
    assert angle < degrees
    assert_allclose(model.explained_variance_[:2], [8.75e-4, 8.3333e-4], rtol=1e-3)
    assert model.explained_variance_[2] < 1e-8
    wanted = oracle.pca(X).explained_variance.astype(float)
    assert_allclose(model.explained_variance_[:2], wanted[:2], rtol=1e-6 if dtype == "f4" else 1e-10)


@pytest.mark.parametrize("solver", ["auto", "covariance_eigh", "full", "lanczos", "randomized"])
def test_float32_rows_near_one_million_keep_their_variance_and_mean(solver):
    """paiml/aprender#2205: the mean and the products summed in float32 are wrong by orders of magnitude."""
    X = (1e6 + R(0).random((4096, 3))).astype("f4")
    model = PCA(svd_solver=solver).fit(X)
    assert_allclose(model.explained_variance_, [0.08816653, 0.08473149, 0.07933871], rtol=1e-6)
    assert_allclose(model.mean_, [1000000.50598145, 1000000.49926758, 1000000.4954071], rtol=0, atol=1e-8)
    wanted = oracle.pca(X).explained_variance.astype(float)
    assert_allclose(model.transform(X).var(0, ddof=1, dtype=float), wanted, rtol=1e-5)


@pytest.mark.parametrize("solver", ["auto", "covariance_eigh", "full"])
def test_whitening_a_numerically_low_rank_matrix_gives_the_identity(solver):
    """scikit-learn/scikit-learn#29534, #34866; dask/dask-ml#997."""
    from sklearn.datasets import make_low_rank_matrix

    X = make_low_rank_matrix(1000, 10, effective_rank=2, random_state=0, tail_strength=0)
    model = PCA(whiten=True, svd_solver=solver).fit(X)
    wanted = oracle.pca(X).singular_values.astype(float)
    assert_allclose(wanted[[0, 8, 9]], [0.999821683, 1.12523898e-07, 1.60248716e-09], rtol=1e-8)
    assert_allclose(model.singular_values_, wanted, rtol=1e-5)
    scores = model.transform(X)
    assert_allclose(np.cov(scores.T), np.eye(10), rtol=0, atol=1e-6 if solver == "full" else 2e-5)
    assert_allclose(model.fit_transform(X), scores, rtol=1e-12)


RANK_DEFICIENT = {
    "a sum of two columns": lambda Z: np.column_stack([Z[:, 0], Z[:, 1], Z[:, 0] + Z[:, 1]]),
    "a constant column": lambda Z: np.column_stack([Z[:, 0], np.full(50, 7.0), Z[:, 2]]),
    "a column of tenths": lambda Z: np.column_stack([Z[:, 0], np.full(50, 0.1), Z[:, 2]]),
}


@every_solver
@pytest.mark.parametrize("build", RANK_DEFICIENT.values(), ids=RANK_DEFICIENT.keys())
def test_a_dead_direction_scores_zero_on_both_paths_when_whitened(solver, build):
    """facebookresearch/faiss#2085; scikit-learn/scikit-learn#34866, #12141."""
    X = build(R(0).standard_normal((50, 3)))
    model = PCA(whiten=True, svd_solver=solver)
    at_once = model.fit_transform(X)
    scores = model.transform(X)
    assert_array_equal(at_once, scores)
    assert model.rank_ == 2
    assert_array_equal(scores[:, 2], np.zeros(50))
    assert_allclose(scores[:, :2].std(0, ddof=1), [1, 1], rtol=1e-12)
    assert_allclose(model.inverse_transform(scores), X, rtol=0, atol=1e-13)


@pytest.mark.parametrize("s", [1e-6, 1e-7, 1e-8, 1e-9])
@pytest.mark.parametrize(
    ("solver", "rtol"), [("full", 1e-8), ("auto", 1e-5), ("covariance_eigh", 1e-5), ("gram", 1e-5)]
)
def test_a_small_component_is_not_lost_to_squaring(solver, rtol, s):
    """paiml/aprender#3148; thunder-project/thunder#1; keras-team/keras#9027."""
    Q = np.linalg.qr(R(2).standard_normal((3, 3)))[0]
    X = (R(1).standard_normal((200, 3)) * [1, 1, s]) @ Q
    wanted = oracle.pca(X).singular_values.astype(float)
    # below 1e-8 the rounding of X itself, about eps, is all that limits an SVD
    close = max(rtol * wanted[2], 30 * EPS["f8"] * wanted[0])
    assert_allclose(PCA(svd_solver=solver).fit(X).singular_values_, wanted, rtol=1e-12, atol=close)


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize(("dtype", "ratio"), [("f4", 5e-6), ("f4", 2e-6), ("f8", 1e-13), ("f8", 1e-14)])
def test_a_small_direction_of_many_rows_lives_in_every_solver(solver, dtype, ratio):
    """The n - d eigenvectors of the Gram matrix that no column reaches are not taken for the small one."""
    for seed in range(3):
        X = R(seed).standard_normal((500, 2))
        X = np.vstack([X, -X]) * [1, ratio]
        X = X.astype(dtype)
        model = PCA(svd_solver=solver).fit(X)
        wanted = oracle.pca(X).singular_values.astype(float)
        assert model.rank_ == 2
        assert_allclose(model.singular_values_, wanted, rtol=1e-5, atol=20 * EPS[dtype] * wanted[0])


@pytest.mark.parametrize("shape", [(5, 40), (40, 5)])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", EXACT)
def test_small_components_are_told_from_the_dead_on_either_side(solver, weighted, center, shape):
    """Squaring buries sigma = 1e-9 among the directions that n < d or d < n leave without variance."""
    U, V = (np.linalg.qr(R(seed).standard_normal((m, 5)))[0] for seed, m in enumerate(shape))
    X = (U * [1, 1e-2, 1e-5, 1e-8, 1e-9]) @ V.T
    w = np.arange(1.0, shape[0] + 1) if weighted else None
    wanted = oracle.pca(X, center=center, weights=w).singular_values.astype(float)
    found = PCA(svd_solver=solver, center=center).fit(X, sample_weight=w).singular_values_
    assert_allclose(found, wanted, rtol=1e-5, atol=50 * EPS["f8"] * wanted[0])


@every_solver
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("constant", [0.1, 7.0, 1e8 + 0.1, -1 / 3])
@pytest.mark.parametrize("n", [60, 300])
def test_a_constant_column_contributes_nothing_when_standardised(solver, dtype, constant, n):
    """numpy/numpy#20381: rounding dust over rounding dust is a full-strength feature."""
    X = R(0).standard_normal((n, 4)).astype(dtype)
    X[:, 1] = constant
    model = PCA(scale=True, svd_solver=solver).fit(X)
    without = PCA(scale=True, svd_solver=solver).fit(np.delete(X, 1, axis=1))
    near = 20 * EPS[dtype]
    assert_allclose(model.singular_values_[:3], without.singular_values_, rtol=near)
    assert model.rank_ == 3
    assert model.explained_variance_[3] == 0
    assert model.singular_values_[3] <= near * model.singular_values_[0]
    assert (model.singular_values_**2).sum() == pytest.approx(3 * (n - 1), rel=near)
    assert_allclose(np.delete(model.components_[:3], 1, axis=1), without.components_, rtol=0, atol=100 * near)
    assert_allclose(model.components_[:3, 1], np.zeros(3), rtol=0, atol=near)
    assert_allclose(model.inverse_transform(model.transform(X)), X, rtol=2 * near, atol=5 * near)


@every_solver
@pytest.mark.parametrize("weights", [[1, 1, 1, 1], [3, 3, 1, 1]], ids=str)
def test_minka_s_rule_survives_equal_eigenvalues(solver, weights):
    """scikit-learn/scikit-learn#4441, #10217: the logarithm of a zero gap. Noise of 1e-6 gives 3."""
    X = np.vstack([np.eye(4), -np.eye(4)]) * weights
    assert PCA("mle", svd_solver=solver).fit(X).n_components_ == 3
    for seed in range(10):
        noisy = X + 1e-6 * R(seed).standard_normal(X.shape)
        assert oracle.minka_dimension(oracle.pca(noisy).explained_variance, 8) == 3
        assert PCA("mle", svd_solver=solver).fit(noisy).n_components_ == 3


@every_solver
@pytest.mark.parametrize("c", [1, 1e-7, 1e-8, 1e-9, 1e-10, 1e-200, 1e200])
def test_minka_s_rule_does_not_depend_on_the_unit(solver, c):
    """scikit-learn/scikit-learn#10217, #16224: an absolute floor gave 0 components in small units."""
    X = np.random.RandomState(0).randn(500, 6) * [10, 8, 5, 1, 1, 1] * c
    assert PCA("mle", svd_solver=solver).fit(X).n_components_ == 3


LABELS = [0, 1, 0, 2, 0, 0, 0, 1, 0, 0, 3, 3, 4, 0, 5, 5, 5, 2, 2, 0, 6, 1, 6, 0, 2, 0, 0, 1, 1, 7, 8, 8, 0]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_block_gram_matrix_of_zeros_and_ones_has_its_group_sizes_as_eigenvalues(dtype):
    """dimforge/nalgebra#1025: many repeated eigenvalues, and a solver that never returned."""
    labels = np.array(LABELS)
    K = ((labels[:, None] == labels) & (labels != 0)).astype(dtype)
    values, vectors = eigh(K)
    sizes = [5, 4, 3, 2, 2, 2, 1, 1]
    near = 40 * EPS[dtype]
    assert_allclose(values, sizes + [0] * 25, rtol=0, atol=near)
    assert np.abs(K @ vectors - vectors * values).max() <= near
    assert_allclose(vectors.T @ vectors, np.eye(33), rtol=0, atol=near)


@every_solver
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_pca_of_a_block_gram_matrix_is_the_oracle_s(solver, dtype):
    labels = np.array(LABELS)
    K = ((labels[:, None] == labels) & (labels != 0)).astype(dtype)
    wanted = oracle.pca(K).singular_values.astype(float)
    found = PCA(svd_solver=solver).fit(K).singular_values_
    assert_allclose(found, wanted, rtol=1e-5, atol=330 * EPS[dtype] * wanted[0])


def test_a_hollow_tridiagonal_matrix_has_the_gauss_legendre_nodes():
    """dimforge/nalgebra#1528, #611; vkostyukov/la4j#64: a zero diagonal never deflated."""
    off = np.arange(1, 4) / np.sqrt(4 * np.arange(1, 4) ** 2 - 1)
    values, _ = eigh(np.diag(off, 1) + np.diag(off, -1))
    assert_allclose(values, np.polynomial.legendre.leggauss(4)[0][::-1], rtol=1e-14)
    assert_array_equal(eigh(np.zeros((3, 3)))[0], np.zeros(3))
    assert_allclose(eigh(np.diag([1e-300, 3e-300, 2e-300]))[0], [3e-300, 2e-300, 1e-300], rtol=1e-15)


UNITS = [("f8", c) for c in (1.0, 1e154, 1e200, 1e300, 1e-162, 1e-200)] + [
    ("f4", c) for c in (1e19, 1e30, 1e-25)
]


@every_solver
@pytest.mark.parametrize(("dtype", "c"), UNITS)
@pytest.mark.parametrize("options", [{}, {"scale": True}, {"whiten": True}, {"center": False}], ids=str)
def test_huge_and_tiny_units_change_no_ratio_no_component_and_no_relative_size(solver, dtype, c, options):
    """openturns/openturns#3005; keras-team/keras#9027: squares that overflow or vanish."""
    X = (R(0).standard_normal((60, 4)) * c).astype(dtype)
    model = PCA(svd_solver=solver, **options).fit(X)
    reference = oracle.pca(X, center=model.center, scale=model.scale)
    near = 40 * EPS[dtype]
    assert_allclose(model.singular_values_, reference.singular_values.astype(float), rtol=near)
    assert_allclose(
        model.explained_variance_ratio_, reference.explained_variance_ratio.astype(float), rtol=2 * near
    )
    assert_allclose(model.components_, reference.components.astype(float), rtol=0, atol=20 * near)
    assert_allclose(
        model.inverse_transform(model.transform(X)), X, rtol=0, atol=near * float(np.abs(X).max())
    )
    if model.whiten:
        assert_allclose(model.transform(X).std(0, ddof=1), np.ones(4), rtol=near)
    if not options and c in (1.0, 1e154, 1e-162):
        assert_allclose(model.singular_values_[:2] / c, [9.41157638, 8.15302019], rtol=1e-8)


@every_solver
def test_subnormal_data_lose_only_the_digits_they_lack(solver):
    X = R(0).standard_normal((60, 4)) * 1e-310
    model = PCA(svd_solver=solver).fit(X)
    assert_allclose(model.singular_values_, oracle.pca(X).singular_values.astype(float), rtol=1e-12)
    assert_allclose(model.explained_variance_ratio_[:2], [0.36932449, 0.27715352], rtol=1e-7)


@every_solver
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("exponent", [-40, -3, 17, 40])
def test_scaling_by_a_power_of_two_is_bit_for_bit(solver, dtype, exponent):
    X = R(0).standard_normal((60, 4)).astype(dtype)
    model, scaled = PCA(svd_solver=solver).fit(X), PCA(svd_solver=solver).fit(np.ldexp(X, exponent))
    assert_array_equal(scaled.components_, model.components_)
    assert_array_equal(scaled.explained_variance_ratio_, model.explained_variance_ratio_)
    assert_array_equal(scaled.singular_values_, np.ldexp(model.singular_values_, exponent))
    assert_array_equal(scaled.explained_variance_, np.ldexp(model.explained_variance_, 2 * exponent))
    assert_array_equal(scaled.transform(np.ldexp(X, exponent)), np.ldexp(model.transform(X), exponent))


@every_solver
@pytest.mark.parametrize(("dtype", "c"), [("f8", c) for c in (1e-15, 1e-16, 1e-17, 1e-160)] + [("f4", 1e-8)])
def test_whitening_gives_unit_variance_in_small_units(solver, dtype, c):
    """scikit-learn/scikit-learn#34866: an absolute floor on the variance."""
    X = (R(0).standard_normal((60, 4)) * c).astype(dtype)
    model = PCA(2, whiten=True, svd_solver=solver)
    scores = model.fit_transform(X)
    assert_allclose(scores.std(0, ddof=1), [1, 1], rtol=40 * EPS[dtype])
    assert_array_equal(model.transform(X), scores)
