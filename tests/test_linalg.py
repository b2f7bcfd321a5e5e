"""eigh: residual, orthogonality and order on the matrices that break eigensolvers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from prinax import eigh
from scipy.linalg import block_diag, hilbert

pytestmark = pytest.mark.numeric

EPS = 2.0**-52
R = np.random.default_rng


def symmetric(values, seed=0):
    """A dense symmetric matrix with these eigenvalues."""
    Q = np.linalg.qr(R(seed).standard_normal((len(values), len(values))))[0]
    A = (Q * values) @ Q.T
    return (A + A.T) / 2


def wilkinson(n):
    return np.diag(np.abs(np.arange(n) - n // 2).astype(float)) + np.eye(n, k=1) + np.eye(n, k=-1)


def glued_wilkinson(glue):
    A = block_diag(*[wilkinson(21)] * 4)
    for end in (21, 42, 63):
        A[end, end - 1] = A[end - 1, end] = glue
    return A


def one_hot_gram(n, groups):
    Z = np.eye(groups)[R(1).integers(groups, size=n)]
    return Z @ Z.T


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    C = H @ K @ H
    return (C + C.T) / 2


def kac(n):
    off = np.sqrt(np.arange(1, n) * np.arange(n - 1, 0, -1.0))
    return np.diag(off, 1) + np.diag(off, -1)


def duplicated_rows_gram():
    X = np.repeat(R(2).standard_normal((7, 4)), 9, axis=0)
    return X @ X.T


NASTY = {
    "1 x 1": np.array([[-3.0]]),
    "zeros": np.zeros((9, 9)),
    "identity": np.eye(40),
    "ones": np.ones((50, 50)),
    "wilkinson": wilkinson(21),
    "large wilkinson": wilkinson(121),
    "glued wilkinson": glued_wilkinson(1e-8),
    "tightly glued wilkinson": glued_wilkinson(1e-14),
    "hilbert": hilbert(30),
    "0/1 block gram": one_hot_gram(90, 6),
    "centred one-hot gram": centred(one_hot_gram(90, 6)),
    "duplicated rows": duplicated_rows_gram(),
    "graded": symmetric(10.0 ** -np.arange(40)),
    "geometric": symmetric(0.5 ** np.arange(120)),
    "cluster": symmetric(np.r_[np.ones(60), 1 + 1e-12 * np.arange(40), 2.0]),
    "two clusters": symmetric(np.r_[np.ones(80), np.full(80, 1 + 1e-15), np.zeros(40)]),
    "negative": symmetric(-np.arange(1.0, 51)),
    "indefinite": symmetric(np.r_[-np.arange(30.0), np.arange(30.0)]),
    "kac": kac(80),
    "arrow": np.diag(np.arange(1.0, 70)) + np.eye(69)[:, :1] * 0.1 + (np.eye(69)[:, :1] * 0.1).T,
    "anti-diagonal": np.eye(45)[::-1].copy(),
    "random": symmetric(R(3).standard_normal(200)),
    "large random": symmetric(R(4).standard_normal(420)),
    "diagonal with tiny entries": np.diag(np.r_[1e-300, 1e-300, 1.0, 1e-200, 5.0]),
    "one huge entry": np.diag(np.r_[1e150, np.ones(30)]) + 1e-3 * symmetric(R(5).standard_normal(31)),
}
nasty = pytest.mark.parametrize("A", NASTY.values(), ids=NASTY.keys())


def assert_eigenpairs(A, values, vectors, k=None):
    """`A V = V diag`, `V'V = I`, order and eigenvalues, each within 20 n eps of the norm."""
    n = len(A)
    k = n if k is None else k
    size = np.abs(A).max() or 1.0
    A, values = np.asarray(A, float) / size, values / size
    wanted = np.linalg.eigvalsh(A)[::-1]
    near = 20 * n * EPS * np.abs(wanted).max()
    assert values.shape == (k,)
    assert vectors.shape == (n, k)
    assert_array_equal(values, np.sort(values)[::-1])
    assert_allclose(values, wanted[:k], rtol=0, atol=near + 1e-300)
    assert np.linalg.norm(A @ vectors - vectors * values, axis=0).max(initial=0) <= near
    assert_allclose(vectors.T @ vectors, np.eye(k), rtol=0, atol=20 * n * EPS)


@nasty
def test_every_pair_has_a_small_residual(A):
    assert_eigenpairs(A, *eigh(A))


@nasty
def test_the_k_largest_are_the_first_k_of_all(A):
    for k in {1, min(3, len(A)), len(A)}:
        assert_eigenpairs(A, *eigh(A, k), k)


@nasty
def test_scaling_by_a_power_of_two_changes_no_bit(A):
    values, vectors = eigh(A)
    for exponent in (-300, 40):
        scaled_values, scaled_vectors = eigh(np.ldexp(A, exponent))
        normal = np.abs(np.ldexp(values, exponent)) > 1e-290
        assert_array_equal(scaled_values[normal], np.ldexp(values, exponent)[normal])
        if (np.abs(A[A != 0]) > 1e-100).all():
            assert_array_equal(scaled_vectors, vectors)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_matrices_of_any_unit_have_full_relative_accuracy(scale):
    A = symmetric(np.arange(1.0, 31))
    assert_eigenpairs(A * scale, *eigh(A * scale))


@pytest.mark.parametrize("n", [*range(1, 70), 96, 97, 127, 128, 129, 150])
def test_values_and_vectors_keep_the_same_order_at_every_size(n):
    A = np.diag(np.arange(n, 0, -1.0))
    for matrix in (A, _permuted(A, n)):
        values, vectors = eigh(matrix)
        assert_allclose(values, np.arange(n, 0, -1.0), rtol=0, atol=20 * n * n * EPS)
        assert_eigenpairs(matrix, values, vectors)


def _permuted(A, seed):
    order = R(seed).permutation(len(A))
    return A[np.ix_(order, order)]


@pytest.mark.parametrize("n", [3, 33, 64, 100])
def test_eigenvalues_do_not_depend_on_the_order_of_the_rows(n):
    A = symmetric(R(n).standard_normal(n))
    close = 20 * n * EPS * np.abs(A).sum(1).max()
    assert_allclose(eigh(_permuted(A, n))[0], eigh(A)[0], rtol=0, atol=close)


@pytest.mark.parametrize("dtype", ["f4", "i8", "O"])
def test_other_dtypes_are_taken_as_their_values(dtype):
    A = np.array([[2, 1, 0], [1, 2, 1], [0, 1, 2]], dtype)
    values, vectors = eigh(A)
    assert_allclose(values, [2 + np.sqrt(2), 2, 2 - np.sqrt(2)], rtol=1e-6 if dtype == "f4" else 1e-14)
    assert_allclose(
        A.astype(float) @ vectors, vectors * values, rtol=0, atol=1e-6 if dtype == "f4" else 1e-14
    )


def test_layouts_do_not_matter():
    A = symmetric(np.arange(1.0, 21))
    big = np.zeros((40, 40))
    big[::2, ::2] = A
    values, vectors = eigh(A)
    for twin in (np.asfortranarray(A), big[::2, ::2], A[::-1, ::-1][::-1, ::-1]):
        assert_array_equal(eigh(twin)[0], values)
        assert_array_equal(eigh(twin)[1], vectors)


@pytest.mark.parametrize(
    ("A", "word"),
    [
        (np.ones((3, 4)), "square"),
        ([[1.0, 2.0], [0.0, 1.0]], "symmetric"),
        ([[np.nan, 0.0], [0.0, 1.0]], "NaN"),
        ([[np.inf, 0.0], [0.0, 1.0]], "inf"),
        (np.zeros((0, 0)), "0"),
        (np.ones(3), "2D|2-D|1D|1-D|dim"),
        ([[1 + 1j, 0], [0, 1]], "[Cc]omplex"),
    ],
    ids=["rectangular", "asymmetric", "NaN", "inf", "empty", "1-D", "complex"],
)
def test_impossible_matrices_are_refused_with_a_sentence(A, word):
    with pytest.raises((ValueError, TypeError), match=word):
        eigh(A)


@pytest.mark.parametrize("k", [0, -1, 4, 1.5, True, "2"])
def test_an_impossible_k_is_refused_by_name(k):
    with pytest.raises((ValueError, TypeError), match="k"):
        eigh(np.eye(3), k)


def test_rounding_asymmetry_is_accepted():
    A = symmetric(np.arange(1.0, 31))
    A[3, 7] = np.nextafter(A[3, 7], 1)
    assert_eigenpairs(A, *eigh(A))


def test_the_sign_of_a_single_precision_tie_is_not_left_to_its_rounding():
    """The eigenvector of 3 is (1, -1) / sqrt(2) to the rounding of float32: the first entry is positive."""
    for ulps in (-4, 0, 4):
        A = np.array([[2, -1], [-1, 2 + ulps * 2.0**-22]], dtype=np.float32)
        assert eigh(A)[1][0, 0] > 0
