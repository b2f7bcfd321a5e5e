"""Kernel PCA against the formulas with explicit H, and the cases that break it for others."""

import copy
import pickle

import numpy as np
import prinax
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracle import centring, kernel_formula
from prinax import PCA, KernelPCA, kernel_matrix

R = np.random.default_rng
KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.2, "degree": 2, "coef0": 1.0},
    "rbf": {"gamma": 0.3},
    "cosine": {},
    "laplacian": {"gamma": 0.2},
}
SOLVERS = ["auto", "dense", "lanczos", "randomized"]


def reference(K, k):
    """Eigenvalues and vectors of H K H, descending, and its trace."""
    H = centring(len(K))
    centred = H @ K @ H
    values, vectors = np.linalg.eigh((centred + centred.T) / 2)
    return values[::-1][:k], vectors[:, ::-1][:, :k], np.trace(centred)


def out_of_sample(L, K):
    """Kernel values of new rows centred with the explicit n x n matrices of ones."""
    n, one = len(K), np.ones((len(K), len(K))) / len(K)
    across = np.ones((len(L), n)) / n
    return L - across @ K - L @ one + across @ K @ one


def same_up_to_sign(Z, right, **tolerance):
    signs = np.sign((Z * right).sum(axis=0))
    assert_allclose(Z, right * np.where(signs == 0, 1, signs), **tolerance)


# --- the formulas -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("n", "d", "k"), [(2, 3, 1), (3, 2, 2), (12, 5, 4), (60, 3, 5), (41, 70, 6)])
def test_every_quantity_is_its_formula(n, d, k, kernel, dtype, rng):
    X, new = rng.standard_normal((n, d)).astype(dtype), rng.standard_normal((7, d)).astype(dtype)
    k = min(k, d) if kernel in ("linear", "cosine") else k
    model = KernelPCA(k, kernel=kernel, **KERNELS[kernel])
    Z = model.fit_transform(X)
    K, L = (kernel_formula(A, X, kernel, **KERNELS[kernel]) for A in (X, new))
    values, _, trace = reference(K, k)
    tolerance = 2e-12 if dtype == "f8" else 2e-4
    size = values[0]
    assert_allclose(model.eigenvalues_, values, atol=tolerance * size)
    assert_allclose(model.explained_variance_ratio_, values / trace, atol=tolerance)
    assert_allclose(model.eigenvectors_.T @ model.eigenvectors_, np.eye(k), atol=1e-12)
    residual = centring(n) @ K @ centring(n) @ model.eigenvectors_ - model.eigenvectors_ * model.eigenvalues_
    assert np.abs(residual).max() <= tolerance * size
    assert_allclose(Z, model.eigenvectors_ * np.sqrt(model.eigenvalues_), atol=tolerance * np.sqrt(size))
    right = out_of_sample(L, K) @ model.eigenvectors_ / np.sqrt(model.eigenvalues_)
    scale = tolerance * max(1, np.abs(K).max()) * n / np.sqrt(model.eigenvalues_[-1])
    assert_allclose(model.transform(new), right, atol=scale)
    assert_allclose(model.transform(X), Z, atol=scale)
    own = np.array([kernel_formula(x[None], x[None], kernel, **KERNELS[kernel])[0, 0] for x in new])
    left = own - 2 * L.mean(axis=1) + K.mean() - (right**2).sum(axis=1)
    assert_allclose(model.squared_residuals(new), left, atol=20 * scale)
    assert {Z.dtype, model.transform(new).dtype} == {np.dtype(dtype)}
    assert model.eigenvalues_.dtype == model.squared_residuals(new).dtype == np.float64


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_agree(solver, kernel, rng):
    X = rng.standard_normal((420, 4)) * [3, 2, 1, 0.5]
    new = X[::7] + 0.1
    dense = KernelPCA(4, kernel=kernel, gamma=0.05, eigen_solver="dense").fit(X)
    model = KernelPCA(4, kernel=kernel, gamma=0.05, eigen_solver=solver).fit(X)
    assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=1e-9)
    assert_allclose(model.transform(new), dense.transform(new), atol=1e-6 * dense.eigenvalues_[0] ** 0.5)
    expected = {"auto": "dense" if kernel == "linear" else "lanczos"}.get(solver, solver)
    assert model.solver_ == expected
    assert KernelPCA(4, eigen_solver="arpack").fit(X).solver_ == "lanczos"


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
@pytest.mark.parametrize(
    ("n", "solver"), [(40, "auto"), (40, "dense"), (40, "lanczos"), (40, "randomized"), (400, "auto")]
)
def test_a_share_of_the_variance(n, share, solver, rng):
    X = rng.standard_normal((n, 3))
    for kernel in ("rbf", "linear"):
        model = KernelPCA(share, kernel=kernel, gamma=0.3, eigen_solver=solver).fit(X)
        values, _, trace = reference(kernel_formula(X, X, kernel, gamma=0.3), n)
        k = 1 + int(np.argmax(np.cumsum(values) / trace >= share))
        assert len(model.eigenvalues_) == k
        assert_allclose(model.explained_variance_ratio_, values[:k] / trace, atol=1e-6)


@pytest.mark.parametrize("shape", [(30, 4), (5, 12), (200, 3)])
def test_the_linear_kernel_is_pca(shape, rng):
    X, new = rng.standard_normal(shape) + 5, rng.standard_normal((6, shape[1])) + 5
    k = min(shape[0] - 1, shape[1])
    pca, model = PCA(k).fit(X), KernelPCA().fit(X)
    assert len(model.eigenvalues_) == k
    assert_allclose(model.eigenvalues_, pca.singular_values_**2, rtol=1e-11)
    same_up_to_sign(model.transform(new), pca.transform(new), atol=1e-11)
    assert_allclose(
        model.squared_residuals(new),
        pca.squared_residuals(new),
        atol=1e-10,
    )
    largest = np.abs(model.eigenvectors_).argmax(axis=0)
    assert (model.eigenvectors_[largest, np.arange(k)] > 0).all()


def test_residuals_of_a_full_model_vanish_on_the_training_rows(rng):
    X = rng.standard_normal((25, 3))
    model = KernelPCA(kernel="rbf", gamma=0.5).fit(X)
    assert_allclose(model.squared_residuals(X), 0, atol=1e-10)
    few = KernelPCA(2, kernel="rbf", gamma=0.5).fit(X)
    left = few.squared_residuals(X)
    assert_allclose(left.sum(), model.eigenvalues_[2:].sum(), rtol=1e-10)
    K = kernel_matrix(X, gamma=0.5)
    given = KernelPCA(2, kernel="precomputed").fit(K)
    assert_allclose(given.squared_residuals(K, np.diag(K)), left, atol=1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_one_row_alone_is_that_row_of_the_batch(kernel, dtype, rng):
    X, new = rng.standard_normal((150, 6)).astype(dtype), rng.standard_normal((70, 6)).astype(dtype)
    model = KernelPCA(3, kernel=kernel, **KERNELS[kernel]).fit(X)
    batch = model.transform(new)
    size = np.abs(kernel_matrix(new, X, kernel, **KERNELS[kernel])).max()
    bound = 8 * 150 * np.finfo(dtype).eps * size / np.sqrt(model.eigenvalues_)
    for i in (0, 3, 69):
        assert (np.abs(model.transform(new[i : i + 1])[0] - batch[i]) <= bound).all()


def test_many_new_rows_are_taken_in_blocks(rng):
    X, new = rng.standard_normal((3000, 2)), rng.standard_normal((1500, 2))
    model = KernelPCA(2, kernel="rbf", gamma=0.5).fit(X)
    K = kernel_matrix(new, X, gamma=0.5)
    right = (K - kernel_matrix(X, gamma=0.5).mean(axis=0)) @ model.eigenvectors_
    assert_allclose(model.transform(new), right / np.sqrt(model.eigenvalues_), atol=1e-9)
    assert_allclose(model.squared_residuals(new)[[0, -1]], model.squared_residuals(new[[0, -1]]), atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("gamma", [None, "scale", "median", 0.4])
def test_gamma_is_settled_by_the_training_rows(gamma, kernel, rng):
    X, new = rng.standard_normal((40, 3)) * [1, 2, 3], rng.standard_normal((5, 3))
    model = KernelPCA(3, kernel=kernel, gamma=gamma).fit(X)
    expected = {
        None: 1 / 3,
        "scale": 1 / X.var(axis=0).sum(),
        0.4: 0.4,
    }.get(gamma)
    if expected is not None:
        assert_allclose(model.gamma_, expected, rtol=1e-13)
    again = KernelPCA(3, kernel=kernel, gamma=model.gamma_).fit(X)
    assert_allclose(again.transform(new), model.transform(new), atol=1e-12)
    assert_allclose(
        model.eigenvalues_, reference(kernel_formula(X, X, kernel, gamma=model.gamma_), 3)[0], rtol=1e-11
    )


@pytest.mark.parametrize("unit", [1e-200, 1e200])
@pytest.mark.parametrize(("kernel", "gamma"), [("rbf", "median"), ("laplacian", "scale"), ("cosine", None)])
def test_the_unit_does_not_matter(kernel, gamma, unit, rng):
    X, new = rng.standard_normal((30, 3)), rng.standard_normal((4, 3))
    gamma = "median" if kernel == "laplacian" else gamma
    one, other = (KernelPCA(3, kernel=kernel, gamma=gamma).fit(X * u) for u in (1, unit))
    assert_allclose(other.eigenvalues_, one.eigenvalues_, rtol=1e-10)
    assert_allclose(other.transform(new * unit), one.transform(new), atol=1e-10)


def test_the_linear_kernel_in_any_unit(rng):
    X = rng.standard_normal((30, 3)) * [3, 2, 1]
    one, other = KernelPCA(3).fit(X), KernelPCA(3).fit(X * 1e200)
    assert_allclose(other.explained_variance_ratio_, one.explained_variance_ratio_, rtol=1e-12)
    assert_allclose(other.transform(X * 1e200), one.transform(X) * 1e200, rtol=1e-9, atol=1e188)


# --- kernels from outside -----------------------------------------------------------------------------------


def minimum(x, y, power=1):
    return (np.minimum(x, y) ** power).sum()


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


# --- offsets, ranks, sizes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "offset", "tolerance"),
    [("f8", 1e5, 1e-8), ("f8", 1e6, 1e-8), ("f8", 1e8, 1e-6), ("f4", 1e2, 1e-4), ("f4", 1e4, 1e-2)],
)
def test_linear_kernel_of_shifted_data(dtype, offset, tolerance):
    X = (R(0).standard_normal((30, 3)) + offset).astype(dtype)
    moved = X.astype(np.longdouble) - offset
    exact = np.linalg.svd((moved - moved.mean(axis=0)).astype(float))[1] ** 2
    assert_allclose(exact, [41.6201735, 22.3299912, 16.5912236], rtol=tolerance)
    for k in (3, None):
        model = KernelPCA(k).fit(X)
        assert_allclose(model.eigenvalues_, exact, rtol=1e-6)
        assert_allclose(model.eigenvalues_, PCA(3).fit(X).singular_values_ ** 2, rtol=1e-6)


@pytest.mark.parametrize(("offset", "tolerance"), [(0, 1e-8), (1e6, 1e-8), (1e7, 1e-7), (1e8, 1e-6)])
def test_rbf_kernel_of_shifted_data(offset, tolerance):
    model = KernelPCA(3, kernel="rbf", gamma=1).fit(R(0).standard_normal((30, 3)) + offset)
    assert_allclose(model.eigenvalues_, [3.97461388, 2.543263, 2.33752499], rtol=tolerance)


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_a_kernel_near_one_keeps_its_digits(solver, rng):
    X = rng.standard_normal((400, 2)) * [2, 1]
    gamma = 1e-9
    model = KernelPCA(2, kernel="rbf", gamma=gamma, eigen_solver=solver).fit(X)
    # exp(-gamma |x - y|^2) is 1 - gamma |x - y|^2 to 1e-16, whose centred matrix is 2 gamma Xc Xc'.
    assert_allclose(model.eigenvalues_, 2 * gamma * PCA(2).fit(X).singular_values_ ** 2, rtol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_dead_directions_score_zero(solver):
    line = np.column_stack([np.arange(4.0), np.zeros(4)])
    model = KernelPCA(3, eigen_solver=solver)
    Z = model.fit_transform(line)
    assert_allclose(model.eigenvalues_, [5, 0, 0], atol=1e-14)
    assert_array_equal(model.eigenvalues_[1:], 0)
    assert_array_equal(Z[:, 1:], 0)
    assert_allclose(model.transform(line), Z, atol=1e-12)
    assert_allclose(model.eigenvectors_.T @ model.eigenvectors_, np.eye(3), atol=1e-14)
    assert KernelPCA(3, remove_zero_eig=True, eigen_solver=solver).fit_transform(line).shape == (4, 1)

    twice = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0)
    model = KernelPCA(3, kernel="rbf", gamma=0.5, eigen_solver=solver)
    Z = model.fit_transform(twice)
    assert_allclose(model.eigenvalues_, [6.32120559, 0, 0], atol=1e-8)
    assert_array_equal(Z[:, 1:], 0)
    assert_allclose(model.transform(twice), Z, atol=1e-12)
    assert KernelPCA(kernel="rbf", eigen_solver=solver).fit_transform(twice).shape == (20, 1)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian", "cosine"])
@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_rows_that_are_all_equal(n, kernel):
    X = np.tile([3.0, -1.0, 0.1], (n, 1))
    assert KernelPCA(kernel=kernel).fit_transform(X).shape == (n, 0)
    model = KernelPCA(1, kernel=kernel).fit(X)
    assert_array_equal(model.eigenvalues_, 0)
    assert_array_equal(model.explained_variance_ratio_, 0)
    assert_array_equal(model.transform(np.ones((2, 3))), 0)
    assert KernelPCA(kernel=kernel).fit(X).transform(np.ones((2, 3))).shape == (2, 0)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_more_components_than_samples_are_refused(kernel, rng):
    with pytest.raises(ValueError, match="n_components=6 must be at most the number of samples: X has 5"):
        KernelPCA(6, kernel=kernel).fit(rng.standard_normal((5, 9)))


def test_nasty_families(nasty):
    for kernel, gamma in (("linear", None), ("rbf", "median"), ("laplacian", "median"), ("cosine", None)):
        model = KernelPCA(kernel=kernel, gamma=gamma)
        Z = model.fit_transform(nasty)
        assert np.isfinite(Z).all()
        V = model.eigenvectors_
        assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-9)
        assert (model.eigenvalues_[1:] <= model.eigenvalues_[:-1]).all()
        assert model.explained_variance_ratio_.sum() <= 1 + 1e-9
        if V.shape[1]:
            assert_allclose(model.explained_variance_ratio_.sum(), 1, atol=1e-9)


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

    def rbf(x, y):
        return np.exp(-0.5 * ((x - y) ** 2).sum())

    named = KernelPCA(4, kernel="rbf", gamma=0.5, fit_inverse_transform=True, alpha=0.01).fit(X)
    called = KernelPCA(4, kernel=rbf, fit_inverse_transform=True, alpha=0.01).fit(X)
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
    with pytest.raises(np.linalg.LinAlgError, match="a larger alpha"):
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


def test_an_iteration_that_is_cut_short_says_so(rng):
    X = rng.standard_normal((600, 30))
    with pytest.raises(np.linalg.LinAlgError, match="max_iter=3 iterations did not bring"):
        KernelPCA(10, kernel="rbf", eigen_solver="lanczos", max_iter=3).fit(X)


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
