"""What a fitted PCA does: project, reconstruct, give residuals and likelihoods, choose k."""

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pca_oracle import EPS, SOLVERS, cloud
from prinax import PCA, IncrementalPCA, KernelPCA

pytestmark = pytest.mark.numeric

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


@pytest.mark.parametrize("solver", SOLVERS)
def test_scaling_sees_a_column_whose_largest_row_was_not_sampled(solver):
    X = cloud((600, 3)) * [1e-100, 1, 1]
    X[337, 0] = 1e60
    model = PCA(scale=True, svd_solver=solver).fit(X)
    assert model.rank_ == 3
    assert_allclose(model.scale_, X.std(0, ddof=1), rtol=1e-12)


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


@pytest.mark.parametrize("solver", ["covariance_eigh", "gram", "lanczos", "full"])
def test_n_components_for_all_of_the_variance_is_what_a_model_without_noise_keeps(solver):
    """The shares sum to 1 but for rounding, also that of the total they are shares of."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, d, q = int(rng.integers(20, 200)), int(rng.integers(4, 12)), int(rng.integers(1, 4))
        X = rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) * 13
        assert PCA(q, svd_solver=solver).fit(X).n_components_for(ratio=1.0) == q, (seed, n, d, q)


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
