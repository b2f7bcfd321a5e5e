"""Reports from users of other libraries, retold: models whose numbers did not mean what they said."""

import copy
import io
import pickle

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from prinax import PCA
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits, load_iris

pytestmark = pytest.mark.numeric

R = np.random.default_rng
SOLVERS = ["auto", "covariance_eigh", "gram", "full", "lanczos", "randomized"]
every_solver = pytest.mark.parametrize("solver", SOLVERS)


@every_solver
@pytest.mark.parametrize("whiten", [False, True])
def test_the_model_covariance_does_not_depend_on_whitening(solver, whiten):
    """scikit-learn/scikit-learn#13898, #13922: whitened models counted the variances twice."""
    X = R(0).standard_normal((100, 4)) * [4, 3, 2, 1]
    full = PCA(4, whiten=whiten, svd_solver=solver).fit(X)
    assert_allclose(full.get_covariance().diagonal(), [14.325, 6.898, 4.142, 1.277], rtol=0, atol=6e-4)
    assert_allclose(full.get_covariance(), np.cov(X.T), rtol=0, atol=1e-9)
    assert_allclose(full.get_precision(), np.linalg.inv(np.cov(X.T)), rtol=0, atol=1e-9)
    two = PCA(2, whiten=whiten, svd_solver=solver).fit(X)
    assert two.score(X) == pytest.approx(-8.938056591, abs=2e-9)
    for k in (1, 2, 3, 4):
        model = PCA(k, whiten=whiten, svd_solver=solver).fit(X)
        wanted = oracle.log_likelihoods(X, X.mean(0), model.get_covariance())
        assert_allclose(model.score_samples(X), wanted, rtol=1e-9)


def outcome(model, X):
    """The log-likelihoods, or the sort of refusal."""
    try:
        return model.score_samples(X)
    except (ValueError, np.linalg.LinAlgError) as error:
        return str(error)


DEGENERATE = {
    "fewer rows than columns": (lambda: R(0).random((5, 100)), lambda: R(1).random((5, 100)), None),
    "dead pixels, living components": (
        lambda: load_digits().data[:300],
        lambda: load_digits().data[300:350],
        55,
    ),
    "dead pixels, all components": (
        lambda: load_digits().data[:300],
        lambda: load_digits().data[300:350],
        None,
    ),
}


@pytest.mark.parametrize("case", DEGENERATE.values(), ids=DEGENERATE.keys())
def test_a_singular_gaussian_has_no_finite_likelihood_in_any_solver(case):
    """scikit-learn/scikit-learn#12489, #8544, #13032: +5e13 from one solver and -2.6e16 from another."""
    train, test, k = case
    found = [outcome(PCA(k, svd_solver=solver).fit(train()), test()) for solver in SOLVERS]
    for answer in found:
        assert isinstance(answer, str) or (answer == -np.inf).all(), answer
        assert type(answer) is type(found[0])
        if isinstance(answer, str):
            assert "noise" in answer or "rank" in answer or "singular" in answer


@every_solver
@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e8])
def test_noise_variance_is_the_mean_of_the_discarded_eigenvalues(solver, scale):
    """scikit-learn/scikit-learn#8541, #8544; NVIDIA/cuml#6234; uxlfoundation/scikit-learn-intelex#1787."""
    X = R(0).standard_normal((200, 5)) * [5, 4, 3, 2, 1] * scale
    for k, wanted in [(2, 4.41932288), (4, 0.95166364), (5, 0.0)]:
        noise = PCA(k, svd_solver=solver).fit(X).noise_variance_
        assert type(noise) is float
        assert noise == pytest.approx(wanted * scale**2, rel=2e-8)


@every_solver
def test_noise_variance_divides_by_d_minus_k_when_rows_are_few(solver):
    X = R(0).standard_normal((10, 40))
    wanted = (X.var(0, ddof=1).sum() - oracle.pca(X).explained_variance[:3].sum()) / 37
    assert PCA(3, svd_solver=solver).fit(X).noise_variance_ == pytest.approx(float(wanted), rel=1e-9)


@every_solver
def test_noise_variance_is_never_negative(solver):
    X = R(0).standard_normal((40, 3)) @ R(1).standard_normal((3, 12))
    for k in (3, 4, 11):
        assert PCA(k, svd_solver=solver).fit(X).noise_variance_ == 0


@pytest.mark.parametrize("solver", ["auto", "lanczos", "randomized", "covariance_eigh", "full"])
@pytest.mark.parametrize(
    ("shape", "spread", "dtype"),
    [
        ((900, 120), lambda j: np.where(j < 5, 10.0 ** (-0.75 * j), 1e-4), "f4"),
        ((900, 120), lambda j: np.where(j < 5, 10.0 ** (-1.25 * j), 1e-7), "f8"),
        ((600, 300), lambda j: (j + 1.0) ** -3, "f4"),
        ((90, 400), lambda j: np.where(j < 5, 10.0 ** (-0.75 * j), 1e-4), "f4"),
    ],
)
def test_noise_far_below_the_first_variance_is_measured(solver, shape, spread, dtype):
    X = (R(99).standard_normal(shape) * spread(np.arange(shape[1]))).astype(dtype)
    wide = X.astype(float)
    values = np.linalg.svd(wide - wide.mean(axis=0), compute_uv=False)
    wanted = (values[5:] ** 2).sum() / (shape[0] - 1) / (shape[1] - 5)
    model = PCA(5, svd_solver=solver).fit(X)
    assert model.noise_variance_ == pytest.approx(wanted, rel=0.02 if dtype == "f4" else 1e-4)
    assert np.isfinite(model.score(X))


@every_solver
def test_constant_columns_count_for_nothing_in_the_noise_of_scaled_data(solver):
    X = R(0).standard_normal((200, 4)) @ R(1).standard_normal((4, 4))
    with_constant = np.insert(X, 2, 3.0, axis=1)
    for k in (1, 2, 3, 4):
        right = PCA(k, scale=True, svd_solver=solver).fit(X)
        model = PCA(k, scale=True, svd_solver=solver).fit(with_constant)
        assert model.noise_variance_ == pytest.approx(right.noise_variance_, rel=1e-9, abs=1e-15)
        if k < 4:
            s, U, found = X.std(axis=0, ddof=1), right.components_, right.explained_variance_
            C = U.T * (found - right.noise_variance_) @ U + right.noise_variance_ * np.eye(4)
            by_hand = multivariate_normal(X.mean(axis=0), C * np.outer(s, s)).logpdf(X)
            assert_allclose(model.score_samples(with_constant), by_hand, rtol=1e-9)


@every_solver
def test_a_share_is_reached_with_greater_or_equal_and_ties_are_decided_within_rounding(solver):
    """scikit-learn/scikit-learn#15663, #15669, #22974."""
    X = 2 * np.vstack([np.eye(4), -np.eye(4)])
    for share, wanted in [(0.25, 1), (0.5, 2), (0.75, 3), (0.2499999, 1), (0.2500001, 2), (1 - 1e-16, 4)]:
        assert PCA(share, svd_solver=solver).fit(X).n_components_ == wanted


@every_solver
@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_share_equal_to_a_cumulative_ratio_keeps_that_many(solver, k):
    X = load_iris().data
    share = float(np.cumsum(PCA(svd_solver=solver).fit(X).explained_variance_ratio_)[k - 1])
    assert PCA(share, svd_solver=solver).fit(X).n_components_ == k
    assert PCA(share + 1e-6, svd_solver=solver).fit(X).n_components_ == k + 1


@every_solver
@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        (0, 0),
        (1, 1),
        (4, 4),
        (np.int32(2), 2),
        (np.uint8(3), 3),
        (np.int64(4), 4),
        (np.float32(0.9), None),
        (None, 4),
    ],
    ids=repr,
)
def test_numbers_of_components_that_are_accepted(solver, asked, kept):
    X = R(0).standard_normal((30, 4)) * [4, 3, 2, 1]
    model = PCA(asked, svd_solver=solver).fit(X)
    kept = PCA(float(asked)).fit(X).n_components_ if kept is None else kept
    assert model.n_components_ == kept
    assert type(model.n_components_) is int
    assert model.components_.shape == (kept, 4)


@every_solver
@pytest.mark.parametrize(
    "asked",
    [-1, 1.0, 2.0, 0.0, -0.5, True, False, np.True_, np.nan, np.inf, "2", "MLE", b"mle", [2], 2j],
    ids=repr,
)
def test_numbers_of_components_that_are_refused_by_name(solver, asked):
    """mne-tools/mne-python#8351; erdogant/pca#30, #55; genialis/resolwe-bio#317: 1 is not 1.0."""
    with pytest.raises((ValueError, TypeError), match="n_components"):
        PCA(asked, svd_solver=solver).fit(R(0).standard_normal((30, 4)))


@every_solver
@pytest.mark.parametrize(("shape", "asked"), [((30, 4), 5), ((3, 40), 4), ((3, 40), 40)])
def test_too_many_components_are_refused_with_both_numbers(solver, shape, asked):
    model = PCA(asked, svd_solver=solver)
    with pytest.raises(ValueError, match=rf"(?s){asked}.*{min(shape)}"):
        model.fit(R(0).standard_normal(shape))
    assert not [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]


def test_1_0_is_refused_with_a_hint_to_none():
    with pytest.raises(ValueError, match="None"):
        PCA(1.0).fit(R(0).standard_normal((30, 4)))


def test_mle_refuses_too_few_rows_and_single_columns_with_a_reason():
    for shape in [(4, 9), (20, 1)]:
        with pytest.raises(ValueError, match="mle"):
            PCA("mle").fit(R(0).standard_normal(shape))


SIX = np.array([[-1.0, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])


@every_solver
@pytest.mark.parametrize("seed", range(5))
def test_signs_are_the_same_in_every_solver_and_for_every_order_of_rows(solver, seed):
    """scikit-learn/scikit-learn#5608, #8798, #9692; NVIDIA/cuml#2368, #4560; BinPro/CONCOCT#34."""
    X = SIX[R(seed).permutation(6)]
    model = PCA(svd_solver=solver).fit(X)
    assert_allclose(
        model.components_, [[0.83849224, 0.54491354], [-0.54491354, 0.83849224]], rtol=0, atol=1e-8
    )
    assert_allclose(model.components_, oracle.pca(SIX).components.astype(float), rtol=0, atol=1e-12)
    assert_array_equal(PCA(svd_solver=solver).fit_transform(X), model.transform(X))


@every_solver
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("times", [1, 20])
def test_a_tie_of_magnitudes_is_decided_by_the_first_entry_not_by_an_ulp(solver, dtype, times):
    X = np.tile(np.eye(2, dtype=dtype), (times, 1))
    component = PCA(1, svd_solver=solver).fit(X).components_[0]
    assert_allclose(component, np.sqrt([0.5, 0.5]) * [1, -1], rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_one_randomized_component_of_noise_is_close_and_never_above(seed):
    """scikit-learn/scikit-learn#20589: a flat spectrum is the hard case; "auto" does not approximate."""
    X = R(0).standard_normal((1000, 100))
    reference = np.linalg.svd(X - X.mean(0), full_matrices=False)
    s, v = reference.S[0], reference.Vh[0]
    rough = PCA(1, svd_solver="randomized", random_state=seed).fit(X)
    assert 0.99 * s <= rough.singular_values_[0] <= s * (1 + 1e-12)
    patient = PCA(1, svd_solver="randomized", random_state=seed, iterated_power=60).fit(X)
    assert abs(patient.components_[0] @ v) > 0.999
    exact = PCA(1, random_state=seed).fit(X)
    assert abs(exact.components_[0] @ v) > 1 - 1e-8
    assert exact.singular_values_[0] == pytest.approx(s, rel=1e-10)


@pytest.mark.parametrize("normalizer", ["none", "QR", "LU", "auto"])
def test_many_power_iterations_stay_finite_and_right(normalizer):
    """scikit-learn/scikit-learn#23262; piskvorky/gensim#59: overflow without a normaliser."""
    X = np.random.RandomState(0).randn(100, 50) * 1e5
    options = {"iterated_power": 40, "power_iteration_normalizer": normalizer, "random_state": 0}
    model = PCA(3, svd_solver="randomized", **options).fit(X)
    wanted = np.linalg.svd(X - X.mean(0), compute_uv=False)[:3]
    assert_allclose(model.singular_values_, wanted, rtol=1e-3)
    assert (model.singular_values_ <= wanted * (1 + 1e-12)).all()


def test_the_default_model_of_a_large_square_is_exact_and_the_same_every_time():
    """scikit-learn/scikit-learn#24205; vgel/repeng#79: three fits, three models, all wrong by 3 %."""
    X = R(0).standard_normal((1200, 1200))
    first, second = PCA(2).fit(X), PCA(2).fit(X)
    assert_allclose(first.explained_variance_, [3.96919146, 3.95395206], rtol=1e-8)
    assert_array_equal(first.components_, second.components_)


@every_solver
@pytest.mark.parametrize("dtype", ["f2", "u1", "i4", "i8"])
def test_integer_matrices_have_their_singular_values(solver, dtype):
    X = np.arange(80).reshape(10, 8).astype(dtype)
    model = PCA(2, center=False, svd_solver=solver).fit(X)
    assert_allclose(model.singular_values_, [409.1136823, 10.29538509], rtol=1e-9)


@every_solver
@pytest.mark.parametrize("shape", [(60, 12), (12, 60)])
def test_ratios_never_sum_above_one(solver, shape):
    for dtype in ("f4", "f8"):
        X = R(0).standard_normal(shape).astype(dtype)
        assert PCA(svd_solver=solver).fit(X).explained_variance_ratio_.sum() <= 1 + 1e-15


def test_whitened_scores_divide_by_n_minus_one():
    """scikit-learn/scikit-learn#11001, #13753."""
    X = R(0).standard_normal((100, 4)) * [4, 3, 2, 1]
    scores = PCA(2, whiten=True).fit_transform(X)
    assert_allclose(scores.var(0, ddof=1), [1, 1], rtol=1e-12)
    assert_allclose(scores.var(0), [0.99, 0.99], rtol=1e-12)


@pytest.mark.parametrize("trip", ["pickle 2", "pickle 5", "deepcopy", "joblib"])
@pytest.mark.parametrize("options", [{}, {"whiten": True, "scale": True}, {"n_components": 0}], ids=str)
def test_a_model_survives_every_way_of_saving(trip, options):
    """scikit-learn/scikit-learn#17977, #20179; sapientml/core#93."""
    import joblib

    X = R(0).standard_normal((40, 6))
    model = PCA(**options).fit(X)
    if trip == "deepcopy":
        twin = copy.deepcopy(model)
    elif trip == "joblib":
        joblib.dump(model, file := io.BytesIO())
        file.seek(0)
        twin = joblib.load(file)
    else:
        twin = pickle.loads(pickle.dumps(model, protocol=int(trip[-1])))
    assert twin.get_params() == model.get_params()
    assert_array_equal(twin.transform(X), model.transform(X))
    assert_array_equal(twin.transform(X[:1]), model.transform(X[:1]))
    assert_array_equal(twin.fit(X).components_, model.components_)


@pytest.mark.parametrize("fitted", ["f4", "f8"])
@pytest.mark.parametrize("given", ["f4", "f8"])
def test_rows_of_another_precision_are_never_downcast(fitted, given):
    """scikit-learn/scikit-learn#12825; scverse/scanpy#1732: float64 rows of a float32 model."""
    X = R(0).standard_normal((60, 5)) + 1000
    model = PCA(3).fit(X.astype(fitted))
    rows = X.astype(given)
    scores = model.transform(rows)
    assert scores.dtype == given
    wanted = (rows.astype("g") - model.mean_) @ model.components_.T.astype("g")
    near = 2e-6 if scores.dtype == "f4" else 1e-12
    assert_allclose(scores, wanted.astype(float), rtol=0, atol=near)
    assert model.inverse_transform(scores).dtype == scores.dtype
