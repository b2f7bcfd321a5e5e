"""KernelSPCA: the dual form by definition, the direct form as a cross-check, and its neighbours."""

import pickle

import numpy as np
import prinax
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal
from oracle import centring
from prinax import SPCA, KernelSPCA

pytestmark = pytest.mark.numeric

R = np.random.default_rng


def definition(K, D, k):
    """Dual coefficients and eigenvalues: D'HKHD = W S^2 W', A = H D W / S."""
    H = centring(len(K))
    M = D.T @ H @ K @ H @ D
    values, W = np.linalg.eigh((M + M.T) / 2)
    values, W = values[::-1][:k], W[:, ::-1][:, :k]
    return H @ D @ W / np.sqrt(values), values


def same_up_to_sign(A, B, tolerance=1e-9):
    signs = np.sign(np.sum(np.asarray(A, float) * B, axis=0))
    assert_allclose(np.asarray(A, float) * signs, B, atol=tolerance * np.abs(B).max())


@pytest.fixture
def X(rng):
    return rng.standard_normal((50, 3)) * [1, 2, 0.5] + [3.0, 0.0, -1.0]


@pytest.fixture
def labels(rng):
    return rng.integers(0, 3, 50)


def test_the_identity_target_is_kernel_pca_in_every_living_direction():
    x = R(0).normal(size=(8, 1))
    model = KernelSPCA(kernel="rbf", gamma=0.3, target_kernel="identity").fit(x, np.arange(8.0))
    K, A = prinax.kernel_matrix(x, kernel="rbf", gamma=0.3), model.dual_coef_
    error = 8 * 8 * np.finfo(float).eps * 8 / np.sqrt(model.eigenvalues_)  # of a score; |K| < 8
    assert (np.abs(A.sum(axis=0)) <= error).all()
    assert (np.abs(model.transform(x) - K @ A + (K @ A).mean(axis=0)).max(axis=0) <= error).all()
    assert (np.abs(np.diag(A.T @ K @ A) - 1) <= error / np.sqrt(model.eigenvalues_)).all()


@pytest.mark.parametrize("target_kernel", ["delta", "identity", "rbf"])
def test_the_rounding_of_a_kernel_matrix_is_no_direction(target_kernel):
    x, y = R(0).normal(size=(60, 1)), R(1).integers(0, 8, 60)
    same = {"kernel": "cosine", "target_kernel": target_kernel}
    with pytest.raises(ValueError, match="X must be data that vary with y"):
        KernelSPCA(**same).fit(np.abs(x) + 20, y)  # one direction: every cosine is 1
    cubic = KernelSPCA(kernel="poly", gamma=0.05, target_kernel=target_kernel).fit(x + 100, y)
    assert cubic.rank_ <= 3


KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.1, "degree": 2, "coef0": 0.5},
    "rbf": {"gamma": 0.3},
    "sigmoid": {"gamma": 0.05, "coef0": 0.1},
    "cosine": {},
    "laplacian": {"gamma": "median"},
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_kernel_is_its_definition(X, labels, kernel, dtype):
    X = X.astype(dtype)
    params = KERNELS[kernel]
    K = prinax.kernel_matrix(X.astype(float), kernel=kernel, **params)
    D = np.eye(3)[labels]
    model = KernelSPCA(kernel=kernel, **params).fit(X, labels)
    k, tolerance = model.rank_, 1e-9 if dtype == np.float64 else 2e-3
    A, values = definition(K, D, k)
    assert k == 2 or kernel == "sigmoid"
    assert_allclose(model.eigenvalues_, values, rtol=tolerance)
    assert_allclose(model.hsic_, values.sum() / 49**2, rtol=tolerance)
    same_up_to_sign(model.dual_coef_, A, tolerance)
    assert model.dual_coef_.dtype == dtype
    new = (X[:7] + 0.25).astype(dtype)
    K_new = prinax.kernel_matrix(new.astype(float), X.astype(float), kernel=kernel, **_known(params, model))
    scores = (K_new - K.mean(axis=0)) @ A
    Z = model.transform(new)
    assert Z.dtype == dtype
    same_up_to_sign(Z, scores, 10 * tolerance)


def _known(params, model):
    return {**params, "gamma": model.gamma_} if model.gamma_ is not None else params


@pytest.mark.parametrize("target", ["delta", "linear", "rbf", "precomputed", "identity"])
@pytest.mark.parametrize("center", [True, False])
def test_a_linear_kernel_is_spca_up_to_sign(X, labels, rng, target, center):
    y = {"delta": labels, "precomputed": np.equal.outer(labels, labels).astype(float)}.get(
        target, rng.standard_normal((50, 2))
    )
    plain = SPCA(target_kernel=target, center=center).fit(X, y)
    model = KernelSPCA(plain.rank_, kernel="linear", target_kernel=target, center=center).fit(X, y)
    assert_allclose(model.eigenvalues_, plain.eigenvalues_, rtol=1e-8, atol=1e-12 * plain.eigenvalues_[0])
    same_up_to_sign(model.transform(X[:9] * 2), plain.transform(X[:9] * 2), 1e-7)


def test_the_direct_form_has_the_same_solutions(X, labels):
    """K H K_y H K T = K T Lambda, T'K T = I (Barshan et al. 2011)."""
    K = prinax.kernel_matrix(X, gamma=0.5)
    H, K_y = centring(50), np.equal.outer(labels, labels).astype(float)
    values, T = scipy.linalg.eigh(K @ H @ K_y @ H @ K, K)
    model = KernelSPCA(gamma=0.5).fit(X, labels)
    assert_allclose(model.eigenvalues_, values[::-1][:2], rtol=1e-8)
    same_up_to_sign(model.transform(X) + (K.mean(axis=0) @ model.dual_coef_), K @ T[:, ::-1][:, :2], 1e-6)


def test_the_identity_is_kernel_pca(X):
    K = prinax.center_kernel(prinax.kernel_matrix(X, gamma=0.2))
    values, V = np.linalg.eigh(K)
    for k in (3, None):
        model = KernelSPCA(k, gamma=0.2, target_kernel="identity").fit(X)
        assert_allclose(model.eigenvalues_[:3], values[::-1][:3], rtol=1e-10)
        same_up_to_sign(model.transform(X)[:, :3], (V * np.sqrt(np.abs(values)))[:, ::-1][:, :3], 1e-8)


def test_the_attained_hsic_is_that_of_the_scores(X, labels):
    model = KernelSPCA(gamma=0.3).fit(X, labels)
    found = prinax.hsic(model.transform(X), labels, kernel_x="linear", kernel_y="delta")
    assert_allclose(model.hsic_, found, rtol=1e-10)


def test_precomputed_and_callable_kernels(X, labels):
    right = KernelSPCA(gamma=0.3).fit(X, labels)
    K, K_new = prinax.kernel_matrix(X, gamma=0.3), prinax.kernel_matrix(X[:6] + 1, X, gamma=0.3)
    given = KernelSPCA(kernel="precomputed").fit(K, labels)
    assert_allclose(given.transform(K_new), right.transform(X[:6] + 1), atol=1e-12)
    assert not hasattr(given, "X_fit_")
    own = KernelSPCA(kernel=lambda a, b: float(np.exp(-0.3 * ((a - b) ** 2).sum()))).fit(X, labels)
    assert_allclose(own.transform(X[:6] + 1), right.transform(X[:6] + 1), atol=1e-10)
    for wrong, sentence in ((K[:, :9], "square"), (np.tri(50), "symmetric")):
        with pytest.raises(ValueError, match=sentence):
            KernelSPCA(kernel="precomputed").fit(wrong, labels)
    with pytest.raises(ValueError, match="X has 49 features, but KernelSPCA is expecting 50"):
        given.transform(K_new[:, 1:])


def test_an_offset_changes_nothing():
    rng = R(4)
    X, y = np.round(rng.standard_normal((40, 3)) * 64) / 64, rng.integers(0, 3, 40)
    for kernel in ("linear", "rbf", "laplacian"):
        near = KernelSPCA(kernel=kernel, gamma=0.5).fit(X, y)
        far = KernelSPCA(kernel=kernel, gamma=0.5).fit(X + 1e8, y)
        assert_allclose(far.eigenvalues_, near.eigenvalues_, rtol=1e-12)
        assert_allclose(far.transform(X[:5] + 1e8), near.transform(X[:5]), atol=1e-11)


def test_one_row_is_that_row_of_the_batch(X, labels):
    model = KernelSPCA(gamma=0.3).fit(X, labels)
    Z = model.transform(X)
    assert_array_equal(Z, KernelSPCA(gamma=0.3).fit_transform(X, labels))
    for i in range(0, 50, 7):
        assert_allclose(model.transform(X[i : i + 1])[0], Z[i], atol=1e-12)


def test_the_callers_data_are_not_needed_any_more(X, labels):
    model = KernelSPCA(gamma=0.3).fit(X, labels)
    Z = model.transform(X[:5])
    rows = X[:5].copy()
    X[:] = 0
    assert_array_equal(model.transform(rows), Z)
    twin = pickle.loads(pickle.dumps(model))
    assert_array_equal(twin.transform(rows), Z)


def product(x, y):
    return float(x @ y)


@pytest.mark.parametrize("other", ["linear", "laplacian", "precomputed", product])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "precomputed", product])
def test_parameters_set_after_fit_wait_for_the_next(X, labels, kernel, other):
    X = prinax.kernel_matrix(X)
    for center in (True, False):
        model = KernelSPCA(kernel=kernel, center=center).fit(X, labels)
        Z = model.transform(X)
        model.set_params(kernel=other, gamma=9.0, degree=5, coef0=7.0, center=not center)
        assert_array_equal(model.transform(X), Z)
        assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), Z)


@pytest.mark.parametrize(
    ("params", "y", "sentence"),
    [
        ({"n_components": 3}, None, "n_components=3 is more than the rank 2"),
        ({}, np.zeros(50, int), "a single class"),
        ({}, np.arange(49), "y has 49 samples, but X has 50"),
        ({"kernel": "delta"}, None, "kernel must be one of"),
        ({"gamma": -1}, None, "gamma must be"),
        ({"center": None}, None, "center must be"),
    ],
)
def test_refusals_name_what_is_wrong(X, labels, params, y, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        KernelSPCA(**params).fit(X, labels if y is None else y)


def test_few_samples_and_equal_rows():
    with pytest.raises(ValueError, match="minimum of 2"):
        KernelSPCA().fit([[1.0]], [0])
    for kernel in ("linear", "rbf"):
        with pytest.raises(ValueError, match="X must be data that vary with y"):
            KernelSPCA(kernel=kernel).fit(np.full((6, 2), 0.1), [0, 1] * 3)
    model = KernelSPCA(kernel="linear").fit([[0.0], [2.0]], ["a", "b"])
    assert_allclose(
        model.transform([[0.0], [2.0], [1.0]]), [[-1.0], [1.0], [0.0]] * np.sign(model.dual_coef_[1])
    )
    assert KernelSPCA().fit([[0.0], [2.0], [5.0]], [0, 1, 2]).rank_ == 2


def test_what_overflows_is_named(X, labels):
    with pytest.raises(ValueError, match="kernel matrix contains infinity"):
        KernelSPCA(kernel="poly").fit(X * 1e150, labels)


def test_a_kernel_at_the_edge_of_its_range(X, labels):
    model = KernelSPCA(gamma="median").fit(X * 1e-200, labels)
    right = KernelSPCA(gamma="median").fit(X, labels)
    assert_allclose(model.transform(X[:4] * 1e-200), right.transform(X[:4]), atol=1e-11)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("target", ["labels", "numbers", "identity"])
def test_the_linear_kernel_of_data_in_any_unit(target, dtype, rng):
    X = rng.standard_normal((30, 4)).astype(dtype)
    X[:, 3] = 7
    y = np.arange(30) % 3 if target == "labels" else rng.standard_normal((30, 2))
    kernel = "identity" if target == "identity" else "auto"
    plain = {
        center: prinax.KernelSPCA(kernel="linear", target_kernel=kernel, center=center).fit(X, y)
        for center in (True, False)
    }
    for exponent in (-1000, -664, -470, 470, 664, 1000) if dtype == "f8" else (-120, -70, 70, 120):
        scaled = np.ldexp(X, exponent)
        for center, right in plain.items():
            scores = right.transform(X).astype(float)
            near = 5e-5 if dtype == "f4" else 1e-12
            model = prinax.KernelSPCA(kernel="linear", target_kernel=kernel, center=center)
            found = model.fit_transform(scaled, y)
            assert_array_equal(found, model.transform(scaled))
            assert_allclose(np.ldexp(found.astype(float), -exponent), scores, atol=near)
            one = np.ldexp(model.transform(scaled[:1]).astype(float), -exponent)
            assert_allclose(one, scores[:1], atol=near)
            rtol = 1e-5 if dtype == "f4" else 1e-13
            with np.errstate(over="ignore"):
                assert_allclose(model.eigenvalues_, np.ldexp(right.eigenvalues_, 2 * exponent), rtol=rtol)
                assert_allclose(model.hsic_, np.ldexp(right.hsic_, 2 * exponent), rtol=rtol)


def test_dual_coefficients_beyond_the_range_are_refused(rng):
    tiny, y = rng.standard_normal((30, 4)) * 1e-310, np.arange(30) % 3
    with pytest.raises(
        ValueError, match=r"X must be in another unit, got rows .* dual coefficients leave the range"
    ):
        KernelSPCA(1, kernel="linear").fit(tiny, y)


def test_the_units_of_data_and_target_cancel():
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(20, 4)), rng.normal(size=(20, 2))
    model = prinax.KernelSPCA(kernel="linear", target_kernel="linear").fit(X * 2.0**-470, Y * 2.0**520)
    right = np.linalg.svd((X - X.mean(0)).T @ (Y - Y.mean(0)), compute_uv=False) ** 2
    assert_allclose(model.eigenvalues_, right * 2.0**100, rtol=1e-13)


def test_gamma_is_a_number_wherever_there_is_one():
    X = np.tile([[0.0], [0.75]], (10, 20)) * 2.0**-512  # each of the 20 variances is 0.375^2 2^-1024
    right = np.ldexp(1 / (20 * 0.375**2), 1024)
    for model in (prinax.KernelSPCA(gamma="scale"), prinax.KernelPCA(1, kernel="rbf", gamma="scale")):
        assert_allclose(model.fit(X, [0, 1] * 10).gamma_, right, rtol=1e-13)
