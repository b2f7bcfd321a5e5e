"""PCA.fit: every attribute against the longdouble oracle, in every solver, and what its parameters mean."""

import numpy as np
import oracle
import prinax
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pca_oracle import EPS, SOLVERS, assert_is_pca, cloud
from prinax import PCA

pytestmark = pytest.mark.numeric

SHAPES = {"tall": (80, 12), "wide": (11, 40), "square": (12, 12), "one column": (20, 1)}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_attribute_is_the_oracle_s_in_every_solver(solver, shape, dtype):
    X = cloud(shape, dtype)
    k = min(4, min(shape))
    reference = oracle.pca(X)
    assert_is_pca(PCA(k, svd_solver=solver).fit(X), X, reference, solver, k)


@pytest.mark.parametrize("solver", SOLVERS)
def test_none_keeps_min_n_d_components_in_every_solver(solver):
    for shape in [(80, 6), (7, 20)]:
        X = cloud(shape)
        model = PCA(svd_solver=solver).fit(X)
        assert model.n_components_ == min(shape)
        assert_is_pca(model, X, oracle.pca(X), solver, min(shape))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_components_are_orthonormal_rows_in_c_order(solver, dtype):
    X = cloud((50, 20), dtype)
    components = PCA(7, svd_solver=solver).fit(X).components_
    assert components.shape == (7, 20)
    assert components.flags.c_contiguous
    assert_allclose(components @ components.T, np.eye(7), rtol=0, atol=40 * EPS[dtype])


@pytest.mark.parametrize(("dtype", "offset"), [("f4", 30.0), ("f8", 1000.0)])
@pytest.mark.parametrize("k", [None, 5])
@pytest.mark.parametrize("shape", [(12, 60), (60, 12)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_components_beside_a_dominant_one_are_orthonormal_too(solver, shape, k, dtype, offset):
    """Vectors made from the other side's are as far from a right angle as (sigma_1 / sigma_j)^2 roundings."""
    X = (np.random.default_rng(0).standard_normal(shape) + offset).astype(dtype)
    components = PCA(k, svd_solver=solver, center=False).fit(X).components_.astype(float)
    assert_allclose(components @ components.T, np.eye(len(components)), rtol=0, atol=20 * 60 * EPS[dtype])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(100, 350), (350, 100)])
@pytest.mark.parametrize("least", [0.05, 0.012])
def test_components_of_single_precision_are_orthonormal_to_a_few_of_its_roundings(solver, shape, least):
    """Beside singular values down to 0.01 of the first, below which everything is measured again."""
    rng = np.random.default_rng(0)
    p = min(shape) - 1
    U = np.linalg.qr(np.c_[np.ones(shape[0]), rng.normal(size=(shape[0], p))])[0][:, 1:]
    V = np.linalg.qr(rng.normal(size=(shape[1], p)))[0]
    X = ((U * np.geomspace(1, least, p)) @ V.T).astype(np.float32)
    components = PCA(p, svd_solver=solver).fit(X).components_.astype(float)
    assert_allclose(components @ components.T, np.eye(p), rtol=0, atol=5e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_components_have_the_dtype_of_the_data_and_everything_else_is_float64(dtype):
    model = PCA(2, scale=True).fit(cloud((30, 5), dtype))
    assert model.components_.dtype == dtype
    for name in (
        "mean_",
        "scale_",
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
    ):
        assert getattr(model, name).dtype == np.float64, name
    for name in ("noise_variance_", "total_variance_"):
        assert type(getattr(model, name)) is float, name
    for name in ("n_components_", "n_samples_", "n_features_in_", "rank_"):
        assert type(getattr(model, name)) is int, name


@pytest.mark.parametrize(
    ("asked", "ran"),
    [(s, s) for s in ("covariance_eigh", "gram", "lanczos", "full", "randomized")] + [("arpack", "lanczos")],
)
def test_solver_says_what_ran(asked, ran):
    assert PCA(2, svd_solver=asked).fit(cloud((30, 8))).solver_ == ran


@pytest.mark.parametrize("asked", ["auto", "covariance_eigh", "gram", "lanczos"])
@pytest.mark.parametrize("shape", [(12, 40), (40, 12)])
def test_solver_says_full_where_small_directions_are_found_without_squaring(shape, asked):
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((size, 6)))[0] for size in shape)
    sigma = 10.0 ** np.arange(0, -12, -2)
    model = PCA(svd_solver=asked, center=False).fit(U * sigma @ V.T)
    # Of more rows than columns, the covariance road and lanczos measure the small directions alone again.
    within = shape[0] > shape[1] and asked != "gram"
    assert (model.solver_ == "full") != within
    # The promise of README.md: max(1e-5 sigma_j, 10 p eps sigma_1).
    assert_allclose(model.singular_values_[:6], sigma, rtol=1e-5, atol=120 * np.finfo(float).eps)


def test_auto_names_the_solver_it_chose():
    chosen = {PCA(2).fit(cloud(shape)).solver_ for shape in [(300, 5), (6, 300)]}
    assert chosen <= {"covariance_eigh", "gram", "lanczos", "full"}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 0.999])
def test_a_share_keeps_the_fewest_components_that_reach_it(solver, share):
    X = cloud((60, 10), ratio=0.7)
    cumulative = np.cumsum(oracle.pca(X).explained_variance_ratio)
    wanted = 1 + int((cumulative < share).sum())
    model = PCA(share, svd_solver=solver).fit(X)
    assert model.n_components_ == wanted == len(model.components_)


@pytest.mark.parametrize("solver", SOLVERS)
def test_mle_is_the_dimension_of_largest_evidence(solver):
    rng = np.random.default_rng(3)
    for n, d, true in [(300, 8, 2), (200, 6, 5), (60, 10, 4)]:
        X = rng.standard_normal((n, d)) + 4 * rng.standard_normal((n, true)) @ rng.standard_normal((true, d))
        wanted = oracle.minka_dimension(oracle.pca(X).explained_variance, n)
        assert PCA("mle", svd_solver=solver).fit(X).n_components_ == wanted


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", [17, 25, 100])
def test_mle_without_noise_is_the_rank(solver, seed):
    """n = d rows have d - 1 directions about their mean: the last eigenvalue is exactly 0, not rounding."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(3, 16))
    q = int(rng.integers(1, d + 1))
    X = rng.normal(size=(d, q)) @ rng.normal(size=(q, d)) * 3 + rng.normal(size=(d, d)) * rng.choice(
        [0.01, 0.3, 1]
    )
    spectrum = oracle.pca(X).explained_variance.astype(float)
    spectrum[-1] = 1e-60 * spectrum[0]
    wanted = oracle.minka_dimension(spectrum, d)
    assert wanted == d - 1
    assert PCA("mle", svd_solver=solver).fit(X).n_components_ == wanted


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("ddof", [0, 1])
def test_ddof_is_the_divisor_of_variances_only(solver, ddof):
    X = cloud((40, 5))
    model = PCA(3, svd_solver=solver, ddof=ddof).fit(X)
    assert_is_pca(model, X, oracle.pca(X, ddof=ddof), solver, 3)
    assert_allclose(model.explained_variance_ * (40 - ddof), model.singular_values_**2, rtol=1e-14)


@pytest.mark.parametrize("solver", SOLVERS)
def test_uncentred_pca_measures_mean_squares_about_zero(solver):
    X = cloud((40, 6), offset=2.0)
    model = PCA(3, svd_solver=solver, center=False).fit(X)
    assert_array_equal(model.mean_, np.zeros(6))
    assert_is_pca(model, X, oracle.pca(X, center=False), solver, 3)


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("solver", SOLVERS)
def test_scaled_pca_is_pca_of_the_standardised_columns(solver, ddof):
    X = cloud((40, 6)) * [1e-3, 1, 1e3, 1, 1e6, 7]
    model = PCA(3, svd_solver=solver, scale=True, ddof=ddof).fit(X)
    assert_allclose(model.scale_, oracle.standard_deviations(X, ddof).astype(float), rtol=1e-13)
    assert_is_pca(model, X, oracle.pca(X, ddof=ddof, scale=True), solver, 3)


def test_scaled_pca_with_ddof_0_is_standard_scaler_then_pca():
    from sklearn.decomposition import PCA as Theirs  # noqa: N811
    from sklearn.preprocessing import StandardScaler

    X = cloud((40, 6)) * [1e-3, 1, 1e3, 1, 1e6, 7]
    ours = PCA(3, scale=True, ddof=0).fit(X)
    standardised = StandardScaler().fit_transform(X)
    theirs = Theirs(3, svd_solver="full").fit(standardised)
    assert_allclose(ours.singular_values_, theirs.singular_values_, rtol=1e-12)
    assert_allclose(ours.components_, theirs.components_, rtol=0, atol=1e-12)
    assert_allclose(ours.transform(X), theirs.transform(standardised), rtol=0, atol=1e-11)


def test_scale_is_none_without_scaling():
    assert PCA(2).fit(cloud((9, 3))).scale_ is None


@pytest.mark.parametrize("solver", SOLVERS)
def test_rank_counts_the_living_directions_and_the_dead_are_completed(solver):
    rng = np.random.default_rng(5)
    for shape, rank in [((40, 10), 3), ((8, 30), 7), ((30, 30), 12)]:
        n, d = shape
        X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + 1.0
        model = PCA(svd_solver=solver).fit(X)
        p = min(n, d)
        assert model.rank_ == rank
        assert_array_equal(model.explained_variance_[rank:], np.zeros(p - rank))
        assert (model.explained_variance_[:rank] > 0).all()
        gram = model.components_ @ model.components_.T
        assert_allclose(gram, np.eye(p), rtol=0, atol=1e-13)
        again = PCA(svd_solver=solver).fit(X)
        assert_array_equal(again.components_, model.components_)


def test_zero_components_is_the_isotropic_model():
    X = cloud((30, 4))
    model = PCA(0).fit(X)
    assert model.components_.shape == (0, 4)
    assert model.transform(X).shape == (30, 0)
    assert model.noise_variance_ == pytest.approx(np.trace(np.cov(X.T)) / 4, rel=1e-13)
    assert_allclose(model.get_covariance(), model.noise_variance_ * np.eye(4), rtol=1e-15)


def test_a_constant_matrix_has_rank_zero_and_no_nan():
    model = PCA().fit(np.full((6, 3), 0.1))
    assert model.rank_ == 0
    for name in ("singular_values_", "explained_variance_", "explained_variance_ratio_"):
        assert_array_equal(getattr(model, name), np.zeros(3))
    assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-15)
    assert_array_equal(model.transform(np.full((2, 3), 0.1)), np.zeros((2, 3)))


def test_fit_returns_self_ignores_y_and_forgets_the_earlier_fit():
    X, other = cloud((30, 5)), cloud((9, 7), "f4", seed=8)
    fresh = PCA(3).fit(X)
    model = PCA(3)
    assert model.fit(other, np.arange(9)) is model
    model.fit(X)
    assert vars(model).keys() == vars(fresh).keys()
    for name in ("components_", "mean_", "explained_variance_", "singular_values_"):
        assert_array_equal(getattr(model, name), getattr(fresh, name))
        assert getattr(model, name).dtype == getattr(fresh, name).dtype


@pytest.mark.parametrize("solver", ["lanczos", "randomized"])
def test_random_state_decides_the_bits_and_the_default_is_a_fixed_seed(solver):
    X = np.random.default_rng(0).standard_normal((300, 200))

    def fitted(seed):
        return PCA(2, svd_solver=solver, random_state=seed).fit(X).components_

    assert_array_equal(fitted(None), fitted(None))
    assert_array_equal(fitted(7), fitted(7))
    assert_array_equal(fitted(np.random.RandomState(7)), fitted(np.random.RandomState(7)))


def test_lanczos_reaches_the_residual_asked_for():
    X = np.random.default_rng(0).standard_normal((400, 150))
    S = oracle.covariance(X).astype(float)
    for tol in (1e-3, 1e-6, 1e-10):
        model = PCA(3, svd_solver="lanczos", tol=tol).fit(X)
        residual = S @ model.components_.T - model.components_.T * model.explained_variance_
        assert np.linalg.norm(residual, axis=0).max() <= 1.01 * tol * np.linalg.norm(S, 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("unit", [0.1, 1.0])
def test_lanczos_ends_where_rounding_hides_the_residual(dtype, unit):
    # X = unit I (n x d): X'X - n mu mu' has the value unit^2 d - 1 times and unit^2 (1 - d / n) once.
    n, d = 226, 166
    X = unit * np.eye(n, d, dtype=dtype)
    right = np.full(d, unit)
    right[-1] *= np.sqrt(1 - d / n)
    for k in (1, 20, d):
        model = PCA(k, svd_solver="lanczos").fit(X)
        assert_allclose(model.singular_values_, right[:k], rtol=1e-6)
        V = model.components_.astype(float)
        assert_allclose(V @ V.T, np.eye(k), atol=1e-6)
        assert model.solver_ in ("lanczos", "full")


def test_the_package_lists_what_it_offers():
    for name in (
        "PCA",
        "covariance",
        "gram",
        "eigh",
        "center_rows",
        "Moments",
        "set_num_threads",
        "get_num_threads",
    ):
        assert name in prinax.__all__
        assert getattr(prinax, name).__doc__
