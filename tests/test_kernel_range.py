"""Kernels of rows that no one unit of the dtype holds: a far row must not cost the others their digits.

The right values are those of the formula in longdouble, whose range is that of float64 to the 16th power.
"""

import numpy as np
import prinax
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from prinax import kernel_matrix

pytestmark = pytest.mark.numeric

if np.finfo(np.longdouble).maxexp <= 1024:
    pytest.skip("longdouble is no wider than float64 here", allow_module_level=True)

NODATA = {"f4": np.finfo("f4").min, "f8": np.finfo("f8").min}
FAR = {"f4": [1e20, -3.4e38, 1e30], "f8": [1e160, -1.7e308, 1e200, 1e300]}
TOLERANCE = {"f4": 1e-5, "f8": 1e-13}


def formula(X, Y, kernel, gamma, degree=3, coef0=1.0):
    X, Y, gamma = X.astype(np.longdouble), Y.astype(np.longdouble), np.longdouble(gamma)
    if kernel in ("rbf", "laplacian"):
        gaps = np.abs(X[:, None] - Y[None])
        return np.exp(-gamma * (gaps**2 if kernel == "rbf" else gaps).sum(-1))
    base = gamma * X @ Y.T + coef0
    return np.tanh(base) if kernel == "sigmoid" else base**degree


def check(K, right, dtype, atol=0.0):
    assert K.dtype == dtype
    with np.errstate(over="ignore"):
        narrow = right.astype(dtype)
    assert_array_equal(np.isinf(K), np.isinf(narrow))
    there = np.isfinite(narrow)
    assert_allclose(K[there], narrow[there], rtol=TOLERANCE[dtype], atol=max(atol, TOLERANCE[dtype] ** 2))


def test_the_cases_by_hand():
    f = np.float32
    for far in (1e20, -3.4e38):
        X = f([[0], [1], [far]])
        for kernel in ("rbf", "laplacian"):
            K = kernel_matrix(X, kernel=kernel, gamma=1.0)
            assert_allclose(K, [[1, np.exp(-1), 0], [np.exp(-1), 1, 0], [0, 0, 1]], rtol=1e-6)
    small = f([[1e-20]] * 5)
    for rows in (small[:4], small):
        assert_allclose(kernel_matrix(f([[1e20]]), rows, "poly", gamma=1, degree=1, coef0=0), 1, rtol=1e-6)
    assert_array_equal(kernel_matrix(f([[1.0]]), f([[1e38]]), "sigmoid", gamma=1, coef0=0), 1)
    assert_allclose(kernel_matrix([[1e160]], [[1e-160]] * 6, "poly", gamma=1, degree=1, coef0=0), 1)
    K = kernel_matrix([[1e160], [1e-160]], kernel="poly", gamma=1, degree=1, coef0=0)
    assert_allclose(K, [[np.inf, 1], [1, 1e-320]], rtol=1e-3)  # a subnormal number has few digits
    far = 2.0**600
    K = kernel_matrix([[far, far], [far, -far]], kernel="sigmoid", gamma=1, coef0=0)
    assert_array_equal(K, np.eye(2))


@pytest.mark.parametrize(("kernel", "order"), [("rbf", 2), ("laplacian", 1)])
def test_the_largest_gamma_there_is(kernel, order):
    near = 1e-308 ** (1 / order)
    X = np.array([[0], [near], [1e-19], [1e150], [1e150]])
    right = np.eye(5)
    right[0, 1] = right[1, 0] = np.exp(-1)
    right[3, 4] = right[4, 3] = 1
    for rows in (3, 5):
        K = kernel_matrix(X[:rows], kernel=kernel, gamma=1e308)
        assert_allclose(K, right[:rows, :rows], rtol=1e-13)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "sigmoid"])
@pytest.mark.parametrize(("n", "m", "d"), [(3, 2, 1), (60, 7, 3), (100, 60, 70), (50, 3, 150)])
def test_one_far_row_leaves_the_others(n, m, d, kernel, dtype, order, rng):
    parameters = {"gamma": 0.3 / d, "degree": 2, "coef0": 0.5}
    atol = 0.0 if kernel in ("rbf", "laplacian") else TOLERANCE[dtype]  # sums that cancel
    for far in FAR[dtype]:
        X, Y = (
            rng.standard_normal((n, d)).astype(dtype, order=order),
            rng.standard_normal((m, d)).astype(dtype),
        )
        X[n // 2, d // 2], Y[-1] = far, X[0]
        for A, B in ((X, None), (X, Y), (Y, X), (X[n // 2 :][:1], Y), (Y[:1], X)):
            K = kernel_matrix(A, B, kernel, **parameters)
            check(K, formula(A, A if B is None else B, kernel, **parameters), dtype, atol)
        K = kernel_matrix(X, kernel=kernel, **parameters)
        assert_array_equal(K, K.T)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_far_rows_may_be_equal_and_near_ones_differ(kernel, dtype):
    far = NODATA[dtype]
    X = np.array([[0, 0], [0, 1], [far, 0], [far, 0], [far, 1], [-far, 0]], dtype)
    e = np.exp(-1)
    right = np.eye(6)
    right[0, 1] = right[1, 0] = right[2, 4] = right[4, 2] = right[3, 4] = right[4, 3] = e
    right[2, 3] = right[3, 2] = 1
    assert_allclose(kernel_matrix(X, kernel=kernel, gamma=1.0), right, rtol=1e-6)


@pytest.mark.parametrize("degree", [1, 3, 0.5])
@pytest.mark.parametrize("coef0", [0.0, 1.0, 1e-30])
@pytest.mark.parametrize(("dtype", "exponents"), [("f4", (-40, 35)), ("f8", (-300, 300))])
def test_products_of_rows_of_every_size(dtype, exponents, coef0, degree, rng):
    X = rng.uniform(0.5, 1.0, (40, 3)) * 10.0 ** np.linspace(*exponents, 40)[:, None]
    X = X.astype(dtype)
    for gamma in (1.0, 1e-20, 1e20):
        parameters = {"gamma": gamma, "degree": degree, "coef0": coef0}
        right = formula(X, X, "poly", **parameters)
        K = kernel_matrix(X, kernel="poly", **parameters)
        normal = right >= np.finfo(dtype).tiny
        with np.errstate(over="ignore"):
            assert_allclose(K[normal], right[normal].astype(dtype), rtol=10 * TOLERANCE[dtype])
        assert (K[~normal] <= np.finfo(dtype).tiny).all()
        tanh = kernel_matrix(X, kernel="sigmoid", gamma=gamma, coef0=coef0)
        right = formula(X, X, "sigmoid", gamma=gamma, coef0=coef0)
        assert_allclose(tanh, right.astype(float), rtol=TOLERANCE[dtype], atol=np.finfo(dtype).tiny)


@pytest.mark.parametrize("far", [1e20, 1e100, 1e160, 1e200, 1e300, -1.7e308])
def test_the_median_does_not_see_how_far_a_row_is(far, rng):
    X = rng.standard_normal((50, 3))
    X[7] = [far, 0, 0]
    near = np.delete(X, 7, 0)
    for kernel in ("rbf", "laplacian"):
        gaps = np.abs(X[:, None] - X[None]).astype(np.longdouble)
        D = np.sqrt((gaps**2).sum(-1)) if kernel == "rbf" else gaps.sum(-1)
        m = float(np.median(D[np.triu_indices(50, 1)]))
        gamma = 0.5 / m**2 if kernel == "rbf" else 1 / m
        K = kernel_matrix(X, kernel=kernel, gamma="median")
        K = np.delete(np.delete(K, 7, 0), 7, 1)
        assert_allclose(K, kernel_matrix(near, kernel=kernel, gamma=gamma), rtol=1e-12)


@pytest.mark.parametrize(("dtype", "far"), [("f4", 1e20), ("f4", -3.4e38), ("f8", 1e160), ("f8", -1.7e308)])
def test_models_of_data_with_a_far_value(dtype, far, rng):
    X = rng.standard_normal((20, 3)).astype(dtype)
    X[3, 1] = far
    y = np.arange(20) % 2
    H, D = np.eye(20) - 1 / 20, np.eye(2)[y]
    K = formula(X, X, "rbf", 0.5).astype(float)
    right = np.sort(np.linalg.eigvalsh(D.T @ H @ K @ H @ D))[::-1]
    model = prinax.KernelSPCA(gamma=0.5).fit(X, y)
    assert_allclose(model.eigenvalues_, right[:1], rtol=1e-5 if dtype == "f4" else 1e-12)
    model = prinax.KernelPCA(3, kernel="rbf", gamma=0.5)
    scores = model.fit_transform(X)
    assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(H @ K @ H)[::-1][:3], rtol=1e-5)
    assert_allclose(model.transform(X), scores, atol=1e-5 if dtype == "f4" else 1e-12)
    assert_allclose(model.transform(X[:1]), scores[:1], atol=1e-5 if dtype == "f4" else 1e-12)
    L = (y[:, None] == y).astype(float)
    right = np.trace(K @ H @ L @ H) / 19**2
    assert_allclose(prinax.hsic(X, y, gamma_x=0.5, kernel_y="delta"), right, rtol=1e-6)


def test_the_residual_of_a_row_of_another_size():
    X = np.array([[1e160], [1e-160], [2e-160], [3.0]])
    model = prinax.KernelPCA(1, kernel="sigmoid", gamma=1.0, coef0=0.0).fit(X)
    assert np.isfinite(model.squared_residuals(X)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gamma", [None, 0, 7.0, "scale"])
def test_every_value_of_degree_0_is_1(dtype, gamma, rng):
    """(gamma x'y + coef0)**0 = 1, of a base of 0 too."""
    X = rng.standard_normal((30, 4)).astype(dtype)
    largest = 1e30 if dtype is np.float32 else 1e290
    for size in (0, 1 / largest, 1, largest):
        for coef0 in (0, 1, -5.5):
            for Y in (None, X[:3] * dtype(2)):
                K = kernel_matrix(X * dtype(size), Y, "poly", gamma=gamma, degree=0, coef0=coef0)
                assert K.dtype == dtype
                assert_array_equal(K, 1)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        kernel_matrix([[np.nan]], kernel="poly", degree=0)


@pytest.mark.parametrize("gamma", [None, "scale", 3.0])
def test_degree_0_leaves_no_direction(gamma, rng):
    X = rng.standard_normal((9, 3)) + 2
    model = prinax.KernelPCA(kernel="poly", gamma=gamma, degree=0, fit_inverse_transform=True)
    assert model.fit_transform(X).shape == (9, 0)
    assert_allclose(model.inverse_transform(np.empty((4, 0))), np.tile(X.mean(axis=0), (4, 1)), rtol=1e-14)
    model = prinax.KernelPCA(2, kernel="poly", gamma=gamma, degree=0).fit(X)
    assert_array_equal(model.eigenvalues_, 0)
    assert_array_equal(model.transform(X + 1), 0)
    assert model.gamma_ == 0
    for kernel in ("linear", "rbf", "cosine"):
        expected = prinax.KernelPCA(2, kernel=kernel).fit_transform(X)
        assert_array_equal(prinax.KernelPCA(2, kernel=kernel, degree=0).fit_transform(X), expected)
