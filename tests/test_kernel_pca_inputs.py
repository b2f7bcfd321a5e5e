"""Kernel PCA: kernels from outside, the way back, parameters and state."""

import copy
import pickle

import numpy as np
import prinax
import pytest
from kernel_oracle import KERNELS, SOLVERS, reference
from numpy.testing import assert_allclose, assert_array_equal
from oracle import kernel_formula
from prinax import KernelPCA, center_kernel, kernel_matrix

pytestmark = pytest.mark.numeric

R = np.random.default_rng


# --- kernels from outside -----------------------------------------------------------------------------------


def minimum(x, y, power=1):
    return (np.minimum(x, y) ** power).sum()


def bell(x, y, rate=0.5):
    return np.exp(-rate * ((x - y) ** 2).sum())


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_callable_is_the_precomputed_matrix(dtype, rng):
    X, new = rng.random((15, 4)).astype(dtype), rng.random((40, 4)).astype(dtype)
    K = (np.minimum(X[:, None], X[None]) ** 2).sum(-1)
    L = (np.minimum(new[:, None], X[None]) ** 2).sum(-1)
    given = KernelPCA(3, kernel="precomputed").fit(K)
    called = KernelPCA(3, kernel=minimum, kernel_params={"power": 2}).fit(X)
    tolerance = 1e-12 if dtype == "f8" else 1e-5
    assert_allclose(called.eigenvalues_, given.eigenvalues_, atol=tolerance)
    assert_allclose(called.transform(new), given.transform(L), atol=10 * tolerance)  # more rows than in fit
    own = (new**2).sum(axis=1)
    assert_allclose(called.squared_residuals(new), given.squared_residuals(L, own), atol=10 * tolerance)
    assert called.transform(new).dtype == dtype
    assert called.gamma_ is None
    assert not hasattr(given, "X_fit_")
    assert given.n_features_in_ == 15


def test_precomputed_matrices_of_any_layout(rng):
    X = rng.standard_normal((30, 4))
    K = kernel_matrix(X)
    Z = KernelPCA(4, kernel="precomputed").fit_transform(K)
    assert_allclose(Z, KernelPCA(4, kernel="rbf").fit_transform(X), atol=1e-12)
    for other in (np.asfortranarray(K), K.astype("f4").astype("f8"), K.tolist(), K[::-1, ::-1][::-1, ::-1]):
        assert_allclose(KernelPCA(4, kernel="precomputed").fit_transform(other), Z, atol=1e-6)


MATRICES = {
    "not square": (np.ones((3, 4)), r"X must be a square matrix, got shape \(3, 4\)"),
    "not symmetric": ([[2, 1, 0], [0.5, 2, 0], [0, 0, 2]], r"X must be symmetric, got entry \(1, 0\) = 0.5"),
    "NaN": ([[1, np.nan], [np.nan, 1]], "Input X contains NaN"),
}


@pytest.mark.parametrize(("K", "sentence"), MATRICES.values(), ids=MATRICES.keys())
def test_matrices_that_are_no_kernels(K, sentence):
    with pytest.raises(ValueError, match=sentence):
        KernelPCA(kernel="precomputed").fit(K)


def test_new_rows_of_a_precomputed_kernel_have_n_columns(rng):
    K = kernel_matrix(rng.standard_normal((5, 2)))
    model = KernelPCA(2, kernel="precomputed").fit(K)
    for wrong in (np.ones((6, 6)), np.ones((2, 1))):
        with pytest.raises(ValueError, match="KernelPCA is expecting 5 features"):
            model.transform(wrong)
    with pytest.raises(ValueError, match="diagonal, the values"):
        model.squared_residuals(K)
    with pytest.raises(ValueError, match="diagonal must be 1-D of length 5"):
        model.squared_residuals(K, [1.0])
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match="Input diagonal contains"):
            model.squared_residuals(K, [1.0, bad, 1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="diagonal is for a precomputed kernel only"):
        KernelPCA().fit(K).squared_residuals(K, np.ones(5))


INDEFINITE = np.array(
    [
        [0.766655, 0.682869, 0.390646, 0.760579, 0.420476],
        [0.228259, 0.215964, 0.850258, 0.586082, 0.772744],
        [0.844907, 0.622898, 0.590107, 0.0109604, 0.368699],
        [0.107109, 0.237776, 0.319929, 0.870119, 0.972007],
        [0.494486, 0.373545, 0.887394, 0.185106, 0.189797],
        [0.391528, 0.80944, 0.100942, 0.981701, 0.169761],
    ]
)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_negative_eigenvalue_is_refused_only_where_it_is_asked_for(solver):
    model = KernelPCA(kernel="sigmoid", gamma=4, coef0=0, eigen_solver=solver)
    with pytest.raises(ValueError, match=r"significant negative eigenvalues \(0.33965 of the largest\)"):
        model.fit(INDEFINITE)
    Z = model.set_params(n_components=2).fit_transform(INDEFINITE)
    K = kernel_formula(INDEFINITE, INDEFINITE, "sigmoid", gamma=4, coef0=0)
    assert_allclose(model.eigenvalues_, reference(K, 2)[0], rtol=1e-12)
    assert np.isfinite(Z).all()
    for K in ([[1, 2, 0], [2, 1, 0], [0, 0, 1]], -np.eye(4)):
        with pytest.raises(ValueError, match="n_components must be at most"):
            KernelPCA(kernel="precomputed", eigen_solver=solver).fit(K)


def of_spectrum(values):
    """A centred matrix with these eigenvalues beside 0."""
    n = len(values) + 1
    Q = np.linalg.qr(np.column_stack([np.ones(n), R(5).standard_normal((n, n - 1))]))[0][:, 1:]
    K = Q * values @ Q.T
    return (K + K.T) / 2


@pytest.mark.parametrize("solver", SOLVERS)
def test_shares_of_an_indefinite_kernel(solver):
    options = {"kernel": "precomputed", "eigen_solver": solver, "random_state": 0}
    ratios = {
        (3.0, 2, 1, -2): [0.75, 0.5],
        (3.0, 2, -1, -2): [1.5, 1.0],
        (3.0, 2, -1, -4): [np.nan, np.nan],
        (3.0, 2, -3, -4): [np.nan, np.nan],
    }
    for values, right in ratios.items():
        K = of_spectrum(np.array(values))
        assert_allclose(KernelPCA(2, **options).fit(K).explained_variance_ratio_, right, rtol=1e-9)
        with pytest.raises(
            ValueError, match=r"n_components must be a number of components, got 0.9.*indefinite"
        ):
            KernelPCA(0.9, **options).fit(K)
    # 3 of 4 are no more than all.
    assert len(KernelPCA(0.7, **options).fit(of_spectrum(np.array([3.0, 2, 1, -2]))).eigenvalues_) == 1
    # What rounding makes of a rank is no indefinite kernel.
    K = of_spectrum(np.array([3.0, 1, 0, 0])) - 1e-12 * np.eye(5)
    assert len(KernelPCA(0.9, **options).fit(K).eigenvalues_) == 2
    assert_allclose(KernelPCA(2, **options).fit(K).explained_variance_ratio_, [0.75, 0.25], rtol=1e-9)


def test_a_negative_definite_kernel_has_nothing_to_compare_with():
    with pytest.raises(ValueError, match=r"\(none is positive\).*") as caught:
        KernelPCA(2, kernel="precomputed").fit(-np.eye(4))
    assert "at most 0, the number of positive eigenvalues" in str(caught.value)


# --- the way back -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "offset"),
    [
        ("linear", 0),
        ("rbf", 0),
        ("poly", 0),
        ("laplacian", 0),
        ("linear", 1e6),
        ("rbf", 1e6),
        ("laplacian", 1e6),
    ],
)
def test_the_way_back_is_ridge_regression(kernel, offset, rng):
    X, new = rng.standard_normal((25, 4)), rng.standard_normal((6, 4))
    parameters = KERNELS[kernel]
    model = KernelPCA(3, kernel=kernel, alpha=0.1, fit_inverse_transform=True, **parameters).fit(X + offset)
    Z = model.X_transformed_fit_
    K = kernel_formula(Z, Z, kernel, **parameters)
    dual = np.linalg.solve(K + 0.1 * np.eye(25), X - X.mean(axis=0))
    assert_allclose(model.dual_coef_, dual, atol=1e-7 if offset else 1e-10)
    scores = model.transform(new + offset)
    right = kernel_formula(scores, Z, kernel, **parameters) @ dual + X.mean(axis=0) + offset
    assert_allclose(model.inverse_transform(scores), right, atol=1e-6 if offset else 1e-9)


def test_the_way_back_of_a_callable(rng):
    X = rng.standard_normal((12, 3))
    named = KernelPCA(4, kernel="rbf", gamma=0.5, fit_inverse_transform=True, alpha=0.01).fit(X)
    called = KernelPCA(4, kernel=bell, fit_inverse_transform=True, alpha=0.01).fit(X)
    Z = named.transform(X)
    assert_allclose(called.inverse_transform(Z), named.inverse_transform(Z), atol=1e-9)
    assert np.abs(named.inverse_transform(Z) - X).max() < 0.5


def test_without_it_the_way_back_says_why(rng):
    X = rng.standard_normal((9, 3))
    model = KernelPCA(2, kernel="rbf").fit(X)
    with pytest.raises(prinax.NotFittedError, match=r"no exact pre-image\. Set fit_inverse_transform=True"):
        model.inverse_transform(model.transform(X))
    with pytest.raises(prinax.NotFittedError, match="not fitted yet"):
        KernelPCA().inverse_transform(X)
    with pytest.raises(ValueError, match="Cannot fit_inverse_transform with a precomputed kernel"):
        KernelPCA(kernel="precomputed", fit_inverse_transform=True).fit(np.eye(3))
    model = KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(X)
    with pytest.raises(
        ValueError, match=r"X has 3 features, but KernelPCA\.inverse_transform is expecting 2"
    ):
        model.inverse_transform(X)
    sentence = r"^the kernel matrix of the scores plus alpha I is not positive definite: a larger alpha helps"
    with pytest.raises(np.linalg.LinAlgError, match=sentence):
        KernelPCA(2, fit_inverse_transform=True, alpha=0).fit(np.repeat(X, 2, axis=0))


# --- parameters ---------------------------------------------------------------------------------------------

WRONG = {
    "n_components=0": (ValueError, "n_components must be an integer of at least 1"),
    "n_components=True": (TypeError, "n_components must be"),
    "n_components=1.0": (ValueError, "n_components must be .* write n_components=None"),
    "n_components='mle'": (ValueError, "n_components must be .* got 'mle'"),
    "kernel='delta'": (ValueError, "kernel must be one of 'linear', .*'precomputed', got 'delta'"),
    "kernel=3": (TypeError, "kernel must be one of .* or a callable, got 3"),
    "gamma=-1": (ValueError, "gamma must be a number of at least 0"),
    "kernel_params=[1]": (TypeError, "kernel_params must be a dict"),
    "alpha=-1": (ValueError, "alpha must be a finite number of at least 0"),
    "fit_inverse_transform=1": (TypeError, "fit_inverse_transform must be True or False"),
    "eigen_solver='svd'": (ValueError, "eigen_solver must be one of 'auto', 'dense', 'lanczos'"),
    "tol=-1": (ValueError, "tol must be a finite number"),
    "max_iter=0": (ValueError, "max_iter must be an integer of at least 1"),
    "iterated_power=-1": (ValueError, "iterated_power must be 'auto' or an integer of at least 0"),
    "n_jobs=1.5": (TypeError, "n_jobs must be an integer or None"),
}


@pytest.mark.parametrize(("setting", "expected"), WRONG.items(), ids=WRONG.keys())
def test_wrong_parameters_are_refused_with_a_sentence(setting, expected, rng):
    name, _, value = setting.partition("=")
    error, sentence = expected
    with pytest.raises(error, match=sentence):
        KernelPCA(**{name: eval(value)}).fit(rng.standard_normal((6, 3)))


@pytest.mark.parametrize("shape", [(600, 200), (200, 600)])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_an_iteration_that_is_cut_short_says_so(kernel, shape, rng):
    X = rng.standard_normal(shape)
    with pytest.raises(np.linalg.LinAlgError, match="max_iter=3 iterations did not bring"):
        KernelPCA(10, kernel=kernel, eigen_solver="lanczos", max_iter=3).fit(X)
    enough = KernelPCA(10, kernel=kernel, eigen_solver="lanczos", max_iter=200).fit(X)
    assert enough.solver_ == "lanczos"


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_iteration_reaches_the_residual_that_the_default_stands_for(kernel, rng):
    X = rng.standard_normal((900, 400)) * 0.995 ** np.arange(400)
    model = KernelPCA(5, kernel=kernel, gamma=0.003, eigen_solver="lanczos").fit(X)
    K = center_kernel(kernel_matrix(X, kernel=kernel, gamma=0.003))
    V, values = model.eigenvectors_, model.eigenvalues_
    residuals = np.linalg.norm(K @ V - V * values, axis=0)
    # Of vectors that are images of others, the residual is up to sigma_1 / sigma_k times theirs.
    assert (residuals <= 1e-12 * values[0] * np.sqrt(values[0] / values[-1])).all()


def test_a_matrix_without_room_is_refused_before_it_is_made():
    with pytest.raises(MemoryError, match=r"the kernel matrix needs \d+ bytes \(.* GB\)"):
        KernelPCA(2, kernel="rbf").fit(np.zeros((3_000_000, 1)))


def test_a_kernel_beyond_the_numbers_is_refused():
    X = np.array([[1e120, 0], [0, 1e120], [1e120, 1e120]])
    with pytest.raises(ValueError, match="kernel must be finite on these data"):
        KernelPCA(1, kernel="poly", gamma=1).fit(X)


def test_inputs_that_do_not_fit(rng):
    X = rng.standard_normal((9, 3))
    bad = X.copy()
    bad[4, 1] = np.nan
    for kernel in ("linear", "rbf", minimum):
        model = KernelPCA(2, kernel=kernel)
        with pytest.raises(ValueError, match="Input X contains NaN"):
            model.fit(bad)
        assert not hasattr(model, "eigenvalues_")
        model.fit(X)
        with pytest.raises(ValueError, match="Input X contains NaN"):
            model.transform(bad)
        with pytest.raises(ValueError, match="X has 2 features, but KernelPCA is expecting 3"):
            model.transform(X[:, :2])
        with pytest.raises(ValueError, match="Input X contains NaN"):
            model.squared_residuals(bad)


# --- state --------------------------------------------------------------------------------------------------


def test_the_model_does_not_follow_the_callers_array(rng):
    X, new = rng.standard_normal((20, 3)), rng.standard_normal((5, 3))
    kept = KernelPCA(2, kernel="rbf").fit(X)
    shared = KernelPCA(2, kernel="rbf", copy_X=False).fit(X)
    assert shared.X_fit_ is X
    Z = kept.transform(new)
    given = X.copy()
    X[:] = 0
    assert_array_equal(kept.transform(new), Z)
    assert_array_equal(kept.X_fit_, given)
    assert np.abs(shared.transform(new) - Z).max() > 0.01


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_copies_transform_alike(kernel, rng):
    X = kernel_matrix(rng.standard_normal((20, 3)))
    inverse = kernel != "precomputed"
    model = KernelPCA(3, kernel=kernel, gamma="scale", fit_inverse_transform=inverse).fit(X)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(twin.transform(X), model.transform(X))
        if inverse:
            assert_array_equal(twin.inverse_transform(X[:, :3]), model.inverse_transform(X[:, :3]))


OTHERS = {"gamma": 9.0, "degree": 5, "coef0": 7.0, "kernel_params": {"rate": 3}}


@pytest.mark.parametrize("other", ["linear", "laplacian", "precomputed", np.dot])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "precomputed", bell])
def test_parameters_set_after_fit_wait_for_the_next(kernel, other, rng):
    X = kernel_matrix(rng.random((15, 4)))
    given = {"rate": 2}
    inverse, diagonal = kernel != "precomputed", np.ones(15) if kernel == "precomputed" else None
    model = KernelPCA(3, kernel=kernel, kernel_params=given, fit_inverse_transform=inverse).fit(X)

    def answers(model):
        Z = model.transform(X)
        return Z, model.squared_residuals(X, diagonal), model.inverse_transform(Z) if inverse else Z

    right = answers(model)
    given["rate"] = 4
    model.set_params(kernel=other, **OTHERS)
    for twin in (model, pickle.loads(pickle.dumps(model))):
        for found, expected in zip(answers(twin), right, strict=True):
            assert_array_equal(found, expected)


def test_mixed_precision(rng):
    X, new = rng.standard_normal((30, 3)), rng.standard_normal((5, 3))
    double = KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(X)
    single = KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(X.astype("f4"))
    Z = double.transform(new)
    assert double.transform(new.astype("f4")).dtype == np.float32
    assert single.transform(new).dtype == np.float64
    assert_allclose(double.transform(new.astype("f4")), Z, atol=1e-5)
    assert_allclose(single.transform(new), Z, atol=1e-5)
    assert_allclose(single.inverse_transform(Z), double.inverse_transform(Z), atol=1e-4)


@pytest.mark.parametrize("solver", ["dense", "lanczos", "randomized"])
def test_threads_do_not_show(solver, rng):
    X, new = rng.standard_normal((500, 5)), rng.standard_normal((300, 5))
    results = []
    try:
        for threads in (1, 2, 3):
            prinax.set_num_threads(threads)
            model = KernelPCA(
                4, kernel="rbf", gamma="median", eigen_solver=solver, fit_inverse_transform=True
            )
            Z = model.fit_transform(X)
            results.append(
                (Z, model.transform(new), model.squared_residuals(new), model.inverse_transform(Z[:50]))
            )
    finally:
        prinax.set_num_threads(None)
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            assert_array_equal(one, other)
