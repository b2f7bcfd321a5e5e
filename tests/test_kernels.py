"""Kernel matrices and their centring, against the formulas written out with explicit differences and H."""

import numpy as np
import prinax
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracle import centring, kernel_formula
from prinax import center_kernel, kernel_matrix

pytestmark = pytest.mark.numeric

KERNELS = ["linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "delta"]
TOLERANCE = {"f4": 2e-5, "f8": 1e-13}
SHAPES = [(1, 1, 1), (2, 3, 1), (7, 4, 3), (30, 1, 20), (61, 50, 65), (9, 130, 200)]


def rows(rng, n, d, dtype):
    X = rng.standard_normal((n, d)).astype(dtype)
    if n > 3:
        X[2], X[3] = X[0], 0
    return X


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("n", "m", "d"), SHAPES)
def test_every_kernel_is_its_formula(n, m, d, kernel, dtype, rng):
    X, Y = rows(rng, n, d, dtype), rows(rng, m, d, dtype)
    Y[0] = X[0]
    parameters = {"gamma": 0.3 / d, "degree": 2, "coef0": 0.5}
    for A, B in ((X, None), (X, Y), (np.asfortranarray(X), Y[::-1])):
        K = kernel_matrix(A, B, kernel, **parameters)
        right = kernel_formula(A, A if B is None else B, kernel, **parameters)
        assert K.dtype == dtype
        assert_allclose(K, right, atol=TOLERANCE[dtype] * max(1, np.abs(right).max()))
    K = kernel_matrix(X, None, kernel, **parameters)
    assert_array_equal(K, K.T)
    if kernel in ("rbf", "laplacian", "delta"):
        assert_array_equal(np.diag(K), 1)


def distances(X, power):
    D = np.abs(X[:, None] - X[None])
    D = np.sqrt((D**2).sum(-1)) if power == 2 else D.sum(-1)
    return D[np.triu_indices(len(X), 1)]


@pytest.mark.parametrize("n", [2, 3, 10, 61])
def test_gamma_by_name(n, rng):
    X = rng.standard_normal((n, 3)) * [1, 5, 0.1]
    for kernel, named, number in (
        ("rbf", None, 1 / 3),
        ("rbf", "scale", 1 / X.var(axis=0).sum()),
        ("laplacian", "scale", 1 / X.var(axis=0).sum()),
        ("poly", "scale", 1 / X.var(axis=0).sum()),
        ("rbf", "median", 0.5 / np.median(distances(X, 2)) ** 2),
        ("laplacian", "median", 1 / np.median(distances(X, 1))),
    ):
        assert_allclose(
            kernel_matrix(X, kernel=kernel, gamma=named),
            kernel_matrix(X, kernel=kernel, gamma=number),
            rtol=1e-13,
            atol=1e-14,
        )


@pytest.mark.parametrize("offset", [2.0**53, -(2.0**53), 2.0**60, 2.0**500])
def test_the_variance_is_about_the_mean_that_lies_between_two_numbers(offset):
    step = np.spacing(abs(offset))
    X = offset + step * np.array([[0.0, 0], [1, 0], [3, 0], [3, 1]])  # variances 27/16 and 3/16
    right = np.exp(-np.array([0, 1, 9, 10]) * 16 / 30)
    assert_allclose(kernel_matrix(X, gamma="scale")[0], right, rtol=1e-12)
    model = prinax.KernelPCA(1, kernel="rbf", gamma="scale").fit(X)
    assert_allclose(model.gamma_ * step**2, 16 / 30, rtol=1e-12)


def test_the_median_of_duplicates_is_that_of_the_others():
    X = np.repeat([[0.0], [1.0], [4.0]], [8, 1, 1], axis=0)
    assert np.median(distances(X, 2)) == 0
    nonzero = distances(X, 2)[distances(X, 2) > 0]
    assert_allclose(
        kernel_matrix(X, gamma="median"), kernel_matrix(X, gamma=0.5 / np.median(nonzero) ** 2), rtol=1e-14
    )
    assert_array_equal(kernel_matrix(np.ones((4, 2)), gamma="median"), np.ones((4, 4)))
    assert_array_equal(kernel_matrix(np.ones((4, 2)), gamma="scale"), np.ones((4, 4)))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_an_offset_changes_nothing(kernel, offset, rng):
    X = np.round(rng.standard_normal((40, 5)) * 64) / 64  # exact at the offset too
    for gamma in (0.7, "scale", "median"):
        assert_allclose(
            kernel_matrix(X + offset, kernel=kernel, gamma=gamma),
            kernel_matrix(X, kernel=kernel, gamma=gamma),
            atol=1e-9 if gamma == "scale" else 1e-14,
        )


@pytest.mark.parametrize("units", [(-1074, -1074), (-1030, 900), (1020, 1020), (-40, -1074)])
def test_the_cosine_of_rows_of_any_length(units):
    directions = np.array([[1.0, 0, 2], [2, 1, 1]])
    X = np.ldexp(directions, np.transpose([units]))
    wanted = [[1, 4 / np.sqrt(30)], [4 / np.sqrt(30), 1]]
    assert_allclose(kernel_matrix(X, kernel="cosine"), wanted, rtol=1e-14)
    assert_allclose(kernel_matrix(X, directions, kernel="cosine"), wanted, rtol=1e-14)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_the_unit_does_not_matter(unit, rng):
    X = rng.standard_normal((20, 3))
    for kernel, gamma in (("rbf", "median"), ("rbf", "scale"), ("laplacian", "median"), ("cosine", None)):
        K = kernel_matrix(X * unit, kernel=kernel, gamma=gamma)
        assert_allclose(K, kernel_matrix(X, kernel=kernel, gamma=gamma), atol=1e-12)


# --- callables ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_callable_is_called_for_each_pair(dtype, rng):
    X, Y = rng.random((6, 4)).astype(dtype), rng.random((3, 4)).astype(dtype)
    calls = []

    def histogram(x, y):
        calls.append(1)
        return np.minimum(x, y).sum()

    expected = np.minimum(X[:, None], Y[None]).sum(-1)
    assert_allclose(kernel_matrix(X, Y, histogram), expected, rtol=1e-6)
    assert len(calls) == 18
    assert_allclose(kernel_matrix(X, kernel=histogram), np.minimum(X[:, None], X[None]).sum(-1), rtol=1e-6)
    assert len(calls) == 18 + 21
    assert kernel_matrix(X, kernel=histogram).dtype == dtype


CALLED = {
    "kernel_matrix": lambda X, k: kernel_matrix(X, kernel=k),
    "kernel_matrix of two": lambda X, k: kernel_matrix(X[:2], X, kernel=k),
    "KernelPCA": lambda X, k: prinax.KernelPCA(1, kernel=k).fit(X),
    "hsic": lambda X, k: prinax.hsic(X, X, kernel_x=k),
    "SPCA": lambda X, k: prinax.SPCA(target_kernel=k).fit(X, X),
}


@pytest.mark.parametrize("call", CALLED.values(), ids=CALLED)
def test_a_callable_cannot_change_the_rows(call, rng):
    X = rng.standard_normal((6, 4))
    before = X.copy()

    def centred_in_place(x, y):
        x -= x.mean()
        return x @ y

    with pytest.raises(ValueError, match="read-only"):
        call(X, centred_in_place)
    assert_array_equal(X, before)
    assert X.flags.writeable
    call(X, lambda x, y: (x - x.mean()) @ (y - y.mean()))


# --- centring -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 5), (3, 1), (40, 7), (600, 30)])
def test_centring_is_the_explicit_formula(n, m, dtype, rng):
    X, new = rng.standard_normal((n, 3)), rng.standard_normal((m, 3))
    K, L = kernel_matrix(X).astype(dtype), kernel_matrix(new, X).astype(dtype)
    given = K.copy()
    H, one = centring(n), np.ones((n, n)) / n
    centred = center_kernel(K)
    tolerance = 20 * np.finfo(dtype).eps
    assert centred.dtype == dtype
    assert_allclose(centred, H @ K.astype(float) @ H, atol=tolerance)
    assert_array_equal(centred, centred.T)
    K64, L64 = K.astype(float), L.astype(float)
    across = np.ones((m, n)) / n
    right = L64 - across @ K64 - L64 @ one + across @ K64 @ one
    assert_allclose(center_kernel(L, K), right, atol=tolerance)
    assert_array_equal(K, given)
    assert_allclose(center_kernel(centred), centred, atol=tolerance)  # idempotent


def test_centring_keeps_what_is_small_beside_a_constant(rng):
    X = rng.standard_normal((50, 2))
    small = (X[:, None] - X[None]) ** 2 @ np.ones(2) * 2.0**-30
    assert_allclose(center_kernel(1.0 - small), centring(50) @ -small @ centring(50), atol=1e-15)


@pytest.mark.parametrize("n", [2, 4, 600])
def test_centring_where_sums_overflow(n, rng):
    signs = rng.choice([-1.0, 1.0], n)
    signs[1::2] = -signs[::2]  # they sum to 0, so H K H = K
    K = np.outer(signs, signs) * 2.0**1023
    assert_array_equal(center_kernel(K), K)
    assert_array_equal(center_kernel(K[:3], K), K[:3])
    assert_array_equal(center_kernel(K[:2], np.zeros((n, n))), K[:2])
    K = np.outer(signs, signs) * 1e308
    for shift in (0.5e308, -0.5e308):
        assert_allclose(center_kernel(0.25 * K + shift), 0.25 * K, rtol=1e-15 * n)
    assert_array_equal(center_kernel(np.full((n, n), 1e308)), np.zeros((n, n)))


def test_a_centred_value_beyond_the_dtype_is_refused():
    signs = np.array([[1, -1, -1], [-1, 1, 1], [-1, 1, 1]])  # the first centred value is 16/9
    for dtype in ("f4", "f8"):
        largest = np.finfo(dtype).max
        name = np.dtype(dtype).name
        for K in ((signs * largest).astype(dtype), (signs * (0.57 * largest)).astype(dtype)):
            for arguments in ((K,), (K, K)):
                with pytest.raises(ValueError, match=f"^K must be a matrix that {name} can hold once"):
                    center_kernel(*arguments)
        K = (signs * (0.56 * largest)).astype(dtype)
        assert_allclose(center_kernel(K)[0, 0] / largest, 0.56 * 16 / 9, rtol=1e-6)


# --- refusals -----------------------------------------------------------------------------------------------

X = np.arange(12.0).reshape(4, 3)
NAN = np.where(np.eye(4, 3) > 0, np.nan, X)
REFUSED = {
    "an unknown kernel": (
        {"kernel": "gaussian"},
        ValueError,
        "kernel must be one of 'linear', .* 'gaussian'",
    ),
    "no kernel": ({"kernel": None}, TypeError, "kernel must be one of .* or a callable, got None"),
    "precomputed": ({"kernel": "precomputed"}, ValueError, "kernel must be one of"),
    "a negative gamma": ({"gamma": -1}, ValueError, "gamma must be a number of at least 0, None, .*got -1"),
    "gamma nan": ({"gamma": np.nan}, ValueError, "gamma must be .* got nan"),
    "an unknown gamma": ({"gamma": "auto"}, ValueError, "gamma must be .* 'scale' or 'median', got 'auto'"),
    "gamma True": ({"gamma": True}, TypeError, "gamma must be .* got True$"),
    "the median of products": (
        {"kernel": "poly", "gamma": "median"},
        ValueError,
        "gamma must be a number, None",
    ),
    "degree -1": ({"kernel": "poly", "degree": -1}, ValueError, "degree must be .* of at least 0, got -1"),
    "degree a": ({"kernel": "poly", "degree": "a"}, TypeError, "degree must be a number, got 'a'"),
    "a root of a negative": (
        {"kernel": "poly", "degree": 0.5, "coef0": -9e9},
        ValueError,
        "degree must be a whole number where",
    ),
    "coef0 inf": ({"kernel": "poly", "coef0": np.inf}, ValueError, "coef0 must be a finite number, got inf"),
    "other columns": ({"Y": X[:, :2]}, ValueError, "Y has 2 features, but X has 3"),
    "nan in Y": ({"Y": NAN}, ValueError, "Input Y contains NaN"),
    "a callable's text": (
        {"kernel": lambda x, y: "k"},
        TypeError,
        "kernel must return a number for two rows",
    ),
    "a callable's array": ({"kernel": lambda x, y: x}, TypeError, "returned a ndarray"),
}


@pytest.mark.parametrize(("arguments", "error", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_wrong_arguments_are_refused_with_a_sentence(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        kernel_matrix(X, **arguments)


OF_CALLABLES = {
    "kernel of kernel_matrix": lambda k: kernel_matrix(X, X, k),
    "kernel of KernelPCA": lambda k: prinax.KernelPCA(kernel=k).fit(X),
    "kernel of KernelSPCA": lambda k: prinax.KernelSPCA(kernel=k).fit(X, X[:, 0]),
    "kernel_x of hsic": lambda k: prinax.hsic(X, X, kernel_x=k),
    "kernel_y of cka": lambda k: prinax.cka(X, X, kernel_y=k),
    "target_kernel of SPCA": lambda k: prinax.SPCA(target_kernel=k).fit(X, X[:, 0]),
    "target_kernel of KernelSPCA": lambda k: prinax.KernelSPCA(target_kernel=k).fit(X, X[:, 0]),
}
RETURNED = {
    "nan": (np.nan, ValueError, "must return a finite number of float64 for two rows, but it returned nan"),
    "infinity": (-np.inf, ValueError, "must return a finite number .* it returned -inf"),
    "a large integer": (10**400, ValueError, "must return a finite number .* an integer of 1329 bits"),
    "a string": ("k", TypeError, "must return a number for two rows, but it returned a str: 'k'"),
    "a number as text": ("3", TypeError, "must return a number for two rows, but it returned a str: '3'"),
    "a number as bytes": (b"3", TypeError, "must return a number for two rows, .* a bytes: b'3'"),
    "NumPy's text": (np.array("3"), TypeError, "must return a number for two rows, .* a ndarray"),
    "a complex number": (np.complex128(3), TypeError, "must return a number for two rows"),
}


@pytest.mark.parametrize(("returned", "error", "sentence"), RETURNED.values(), ids=RETURNED)
@pytest.mark.parametrize(("argument", "call"), OF_CALLABLES.items(), ids=OF_CALLABLES)
def test_a_callable_is_blamed_for_what_it_returns(argument, call, returned, error, sentence):
    with pytest.raises(error, match=f"^{argument.split()[0]} {sentence}"):
        call(lambda x, y: returned)


def test_a_callable_is_blamed_for_what_it_returns_later():
    values = [1.0]
    model = prinax.KernelPCA(1, kernel=lambda x, y: values[0] * (x @ y)).fit(X)
    values[0] = np.nan
    for method in (model.transform, model.squared_residuals):
        with pytest.raises(ValueError, match=r"^kernel must return a finite number"):
            method(X)


def test_a_value_beyond_float32_is_the_callables_fault():
    single = X.astype("f4")
    assert kernel_matrix(single, kernel=lambda x, y: 1e38).max() == np.float32(1e38)
    with pytest.raises(ValueError, match=r"^kernel must return a finite number of float32 .* 1e\+39"):
        kernel_matrix(single, kernel=lambda x, y: 1e39)


@pytest.mark.parametrize("kernel", [*KERNELS, lambda x, y: 1.0])
def test_nan_is_refused(kernel):
    with pytest.raises(ValueError, match="Input X contains NaN"):
        kernel_matrix(NAN, kernel=kernel)


def test_wrong_matrices_are_not_centred():
    with pytest.raises(ValueError, match="K must be a square matrix, got shape"):
        center_kernel(X)
    with pytest.raises(ValueError, match="K_train must be a square matrix"):
        center_kernel(X, X)
    with pytest.raises(ValueError, match="K must have 4 columns, one for each row of K_train"):
        center_kernel(X, np.eye(4))
    with pytest.raises(ValueError, match="Input K contains NaN"):
        center_kernel([[np.nan]])
    with pytest.raises(ValueError, match="Input K_train contains infinity"):
        center_kernel(np.eye(2), [[np.inf, 0], [0, 1]])


def test_a_matrix_without_room_is_refused_before_it_is_made():
    many = np.broadcast_to(0.0, (10**7, 1))
    with pytest.raises(MemoryError, match=r"the kernel matrix needs 800000000000000 bytes \(800000.0 GB\)"):
        kernel_matrix(many)


def test_threads_do_not_show(rng):
    X, Y = rng.standard_normal((700, 7)), rng.standard_normal((300, 7))
    try:
        results = []
        for threads in (1, 2, 3):
            prinax.set_num_threads(threads)
            K = kernel_matrix(X, kernel="laplacian", gamma="median")
            results.append((K, kernel_matrix(Y, X, "poly"), center_kernel(K), center_kernel(K[:9], K)))
    finally:
        prinax.set_num_threads(None)
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            assert_array_equal(one, other)
