"""Kernel PCA against the formulas with explicit H, and the cases that break it for others."""

import mpmath
import numpy as np
import pytest
from kernel_oracle import KERNELS, SOLVERS, reference
from numpy.testing import assert_allclose, assert_array_equal
from oracle import centring, kernel_formula
from prinax import PCA, KernelPCA, KernelSPCA, kernel_matrix
from sklearn.datasets import load_iris

pytestmark = pytest.mark.numeric

R = np.random.default_rng


def out_of_sample(L, K):
    """Kernel values of new rows centred with the explicit n x n matrices of ones."""
    n, one = len(K), np.ones((len(K), len(K))) / len(K)
    across = np.ones((len(L), n)) / n
    return L - across @ K - L @ one + across @ K @ one


def same_up_to_sign(Z, right, **tolerance):
    signs = np.sign((Z * right).sum(axis=0))
    assert_allclose(Z, right * np.where(signs == 0, 1, signs), **tolerance)


# --- small eigenvalues --------------------------------------------------------------------------------------


def test_scores_of_new_rows_are_right_in_every_living_direction():
    """V'1 = 0 holds for small eigenvalues too: against 60 digits."""
    x, new = R(0).normal(size=(8, 1)), 0.123
    model = KernelPCA(kernel="rbf", gamma=0.3).fit(x)
    with mpmath.workdps(60):
        points = [mpmath.mpf(float(v)) for v in x[:, 0]]
        kernel = lambda a, b: mpmath.exp(-mpmath.mpf(0.3) * (a - b) ** 2)  # noqa: E731
        K = mpmath.matrix([[kernel(a, b) for b in points] for a in points])
        H = mpmath.eye(8) - mpmath.ones(8) / 8
        values, vectors = mpmath.eigsy(H * K * H)
        column = mpmath.matrix([kernel(mpmath.mpf(new), v) for v in points]) - K * mpmath.ones(8, 1) / 8
        pairs = [(values[i], vectors[:, i]) for i in reversed(range(8))][: len(model.eigenvalues_)]
        right = [float(abs((v.T * column)[0] / mpmath.sqrt(value))) for value, v in pairs]
    error = 8 * 8 * np.finfo(float).eps / np.sqrt(model.eigenvalues_)
    assert (np.abs(np.abs(model.transform([[new]])[0]) - right) <= error).all()


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "precomputed"])
def test_training_rows_come_back_in_every_living_direction(kernel):
    X = load_iris().data
    given = kernel_matrix(X, kernel="rbf") if kernel == "precomputed" else X
    model = KernelPCA(kernel=kernel)
    Z = model.fit_transform(given)
    K = given if kernel == "precomputed" else kernel_matrix(X, kernel=kernel)
    n, eps = len(X), np.finfo(float).eps
    assert np.abs(model.eigenvectors_.sum(axis=0)).max() <= n * eps
    assert_allclose(model.eigenvectors_.T @ model.eigenvectors_, np.eye(Z.shape[1]), atol=n * eps)
    error = 8 * n * eps * np.linalg.norm(K, 2) / np.sqrt(model.eigenvalues_)
    assert (np.abs(model.transform(given) - Z).max(axis=0) <= error).all()


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", lambda a, b: np.exp(-((a - b) ** 2).sum() / 100)])
def test_the_constant_vector_is_no_component(kernel):
    """H 1 = 0, so at most n - 1 directions live, however the rounding of the centred kernel falls."""
    eps = np.finfo(float).eps
    for seed in [*range(8), 24] if isinstance(kernel, str) else [24]:
        X = R(seed).normal(size=(250 if isinstance(kernel, str) else 150, 100))
        n = len(X)
        model = KernelPCA(kernel=kernel, n_components=n)
        Z = model.fit_transform(X)
        living = model.eigenvalues_ > 0
        assert living.sum() <= n - 1
        assert np.abs(model.eigenvectors_[:, living].sum(axis=0)).max() <= n * eps
        error = 8 * n * eps * model.eigenvalues_[0] / np.sqrt(model.eigenvalues_[living])
        assert (np.abs(model.transform(X) - Z).max(axis=0)[living] <= error).all()
        assert KernelSPCA(target_kernel="identity", kernel=kernel).fit(X).rank_ <= n - 1


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


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_linear_kernel_of_subnormal_data(rng, solver):
    tiny = rng.standard_normal((30, 4)) * 1e-310
    model = KernelPCA(2, eigen_solver=solver).fit(tiny)
    right = KernelPCA(2, eigen_solver=solver).fit(tiny * 2.0**1020)  # exact
    assert_allclose(model.eigenvectors_, right.eigenvectors_, atol=1e-10)
    assert_allclose(
        model.transform(tiny) / 1e-310, right.transform(tiny * 2.0**1020) * 2.0**-1020 / 1e-310, atol=1e-9
    )


def test_the_linear_kernel_in_any_unit(rng):
    X = rng.standard_normal((30, 3)) * [3, 2, 1]
    one, other = KernelPCA(3).fit(X), KernelPCA(3).fit(X * 1e200)
    assert_allclose(other.explained_variance_ratio_, one.explained_variance_ratio_, rtol=1e-12)
    assert_allclose(other.transform(X * 1e200), one.transform(X) * 1e200, rtol=1e-9, atol=1e188)


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


def plain_product(x, y):
    return x @ y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", plain_product])
@pytest.mark.parametrize("gamma", [None, "scale"])
def test_without_components_every_row_comes_back_as_the_mean(kernel, gamma, dtype):
    """As PCA(0) has it; 0.1 is no dyadic number, and its mean must be itself."""
    X = np.full((5, 4), 0.1, dtype)
    for alpha in (0, 1):
        model = KernelPCA(kernel=kernel, gamma=gamma, alpha=alpha, fit_inverse_transform=True)
        Z = model.fit_transform(X)
        assert Z.shape == (5, 0)
        back = model.inverse_transform(Z[:3])
        assert back.dtype == dtype
        assert_array_equal(back, X[:3])
    with pytest.raises(ValueError, match=r"X has 1 features, but .* expecting 0"):
        model.inverse_transform(np.ones((2, 1)))


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


def test_a_flat_spectrum_ends_on_the_dense_road(rng):
    """Products are given up where most pairs are wanted; the half that was stored is made whole."""
    X = rng.standard_normal((500, 8))
    model = KernelPCA(0.97, kernel="rbf", gamma=0.3).fit(X)
    assert model.solver_ == "dense"
    H = centring(500)
    K = H @ np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2)) @ H
    values = np.linalg.eigvalsh((K + K.T) / 2)[::-1]
    assert len(model.eigenvalues_) == 1 + np.searchsorted(np.cumsum(values) / np.trace(K), 0.97)
    assert_allclose(model.eigenvalues_, values[: len(model.eigenvalues_)], atol=1e-13 * values[0])
