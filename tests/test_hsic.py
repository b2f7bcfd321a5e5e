"""hsic and cka: the definitions with explicit matrices, field cases, and what all three functions refuse."""

import numpy as np
import prinax
import pytest
from hsic_oracle import ESTIMATORS, R, biased, median_rbf
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from prinax import cka, hsic, hsic_test
from scipy.sparse import csr_array

pytestmark = pytest.mark.numeric

DTYPES = [np.float32, np.float64]


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
@pytest.mark.parametrize(
    "rows", [np.full((5, 25), 3.3), R(0).uniform(1, 2, size=(40, 1))], ids=["constant", "parallel"]
)
def test_rows_of_one_direction_are_a_constant_to_the_cosine_kernel(rows, estimator):
    """Every cosine is 1, and what rounding leaves of the others is no dependence."""
    y = np.arange(float(len(rows)))
    assert cka(rows, y, kernel_x="cosine", estimator=estimator) == 0.0
    assert cka(y, rows, kernel_y="cosine", estimator=estimator) == 0.0
    value = hsic(rows, y, kernel_x="cosine", estimator=estimator)
    assert abs(value) <= 8 * np.finfo(float).eps * y.var()
    assert estimator == "unbiased" or value >= 0.0
    assert hsic_test(rows, y, kernel_x="cosine", estimator=estimator, n_permutations=50).pvalue == 1.0


def field_pair():
    """The pair of neurodata/hyppo#92."""
    x = R(0).standard_normal((50, 1))
    return x, x**2 + 0.5 * R(1).standard_normal((50, 1))


# --- definitions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "cosine", "poly"])
def test_every_kernel_is_its_definition(rng, dtype, estimator, kernel):
    X = (rng.standard_normal((40, 3)) + 1).astype(dtype)
    Y = (X[:, :2] ** 2 + rng.standard_normal((40, 2))).astype(dtype)
    gamma = None if kernel == "poly" else "median"
    K = prinax.kernel_matrix(X.astype(float), kernel=kernel, gamma=None if kernel == "cosine" else gamma)
    L = prinax.kernel_matrix(Y.astype(float), kernel="rbf", gamma="median")
    found = hsic(X, Y, kernel_x=kernel, gamma_x=gamma, estimator=estimator)
    assert isinstance(found, float)
    assert_allclose(found, ESTIMATORS[estimator](K, L), rtol=1e-9)
    right = ESTIMATORS[estimator]
    alignment = right(K, L) / np.sqrt(right(K, K) * right(L, L))
    found = cka(X, Y, kernel_x=kernel, kernel_y="rbf", gamma_x=gamma, estimator=estimator)
    assert_allclose(found, alignment, rtol=1e-9)


@given(st.integers(4, 40), st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_any_shape(n, d, e, seed):
    rng = R(seed)
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((n, e))
    for estimator, right in ESTIMATORS.items():
        assert_allclose(
            hsic(X, Y, estimator=estimator), right(median_rbf(X), median_rbf(Y)), rtol=1e-8, atol=1e-15
        )
        assert_allclose(
            hsic(X, Y, kernel_x="linear", kernel_y="linear", estimator=estimator),
            right(X @ X.T, Y @ Y.T),
            rtol=1e-8,
            atol=1e-13,
        )


def test_labels_of_any_type_and_matrices(rng):
    labels = rng.integers(0, 4, 60)
    X = rng.standard_normal((60, 2)) + labels[:, None]
    L = np.equal.outer(labels, labels).astype(float)
    right = biased(median_rbf(X), L)
    names = np.array(["ash", "birch", "cedar", "elm"])[labels]
    for y in (labels, names, names.tolist(), labels.astype(float), labels[:, None], labels.astype(object)):
        assert_allclose(hsic(X, y, kernel_y="delta"), right, rtol=1e-12)
        assert_allclose(hsic(y, X, kernel_x="delta"), right, rtol=1e-12)
    assert_allclose(hsic(median_rbf(X), L, kernel_x="precomputed", kernel_y="precomputed"), right, rtol=1e-12)
    assert_allclose(hsic(X, labels, kernel_y=lambda a, b: float(a[0] == b[0])), right, rtol=1e-12)
    one_hot = np.eye(4)[labels]
    assert_allclose(
        hsic(X, one_hot, kernel_x="linear", kernel_y="linear"),
        hsic(X, labels, kernel_x="linear", kernel_y="delta"),
        rtol=1e-12,
    )
    pandas = pytest.importorskip("pandas")
    assert_allclose(hsic(X, pandas.Series(names, dtype="category"), kernel_y="delta"), right, rtol=1e-12)
    assert_allclose(hsic(pandas.DataFrame(X), pandas.Series(labels), kernel_y="delta"), right, rtol=1e-12)


def test_one_dimension_is_one_column(rng):
    x, y = rng.standard_normal(30), rng.standard_normal(30)
    assert hsic(x, y) == hsic(x[:, None], y[:, None]) == hsic(x.tolist(), y.tolist())


@pytest.mark.parametrize("kernel", ["linear", "rbf", "delta", "laplacian"])
def test_a_constant_depends_on_nothing(rng, kernel):
    X, constant = rng.standard_normal((30, 2)), np.full(30, 0.1)
    assert hsic(X, constant, kernel_y=kernel) == 0
    assert hsic(constant, X, kernel_x=kernel) == 0
    assert cka(X, constant, kernel_y=kernel) == 0
    test = hsic_test(X, constant, kernel_y=kernel, n_permutations=20)
    assert (test.statistic, test.pvalue) == (0, 1)
    assert hsic_test(X, constant, kernel_y=kernel, method="gamma").pvalue == 1


def test_alignment_is_one_with_a_rotated_copy(rng):
    X = rng.standard_normal((40, 5))
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    assert_allclose(cka(X, 3 * X @ turn + 7), 1, rtol=1e-12)
    assert_allclose(cka(X, X, kernel_x="rbf", kernel_y="rbf"), 1, rtol=1e-12)


# --- cases from the field -----------------------------------------------------------------------------------


def test_each_side_has_its_own_bandwidth():
    """neurodata/hyppo#92: the bandwidth of x served y too, so a unit or a swap changed the value."""
    x, y = field_pair()
    rbf = {"kernel_x": "rbf", "kernel_y": "rbf"}
    for unit in (1.0, 10.0, 100.0, 1e-3):
        for a, b in ((x, y * unit), (y * unit, x)):
            assert_allclose(hsic(a, b), 0.030989861382, rtol=1e-10)
            assert_allclose(hsic(a, b) * 49**2 / 50**2, 0.029762662871, rtol=1e-10)
            assert_allclose(hsic(a, b, estimator="unbiased"), 0.026154076544, rtol=1e-10)
            assert_allclose(cka(a, b, **rbf), 0.401722524, rtol=1e-8)
            assert_allclose(cka(a, b, **rbf, estimator="unbiased"), 0.360422519, rtol=1e-8)


def test_the_diagonal_is_what_is_zeroed():
    """dmarx/cka_pytorch#2: a vector subtracted from every row gave +0.934."""
    a, b = R(7).standard_normal((6, 2)), R(8).standard_normal((6, 2))
    found = hsic(a, b, kernel_x="linear", kernel_y="linear", estimator="unbiased")
    assert_allclose(found, -0.3741081007, rtol=1e-9)


def test_means_under_independence_are_those_of_each_estimator():
    pairs = [(R(s).standard_normal(32), R(1000 + s).standard_normal(32)) for s in range(50)]
    assert abs(np.mean([hsic(x, y) for x, y in pairs]) - 0.00598) < 2 * 0.00043
    assert abs(np.mean([hsic(x, y, estimator="unbiased") for x, y in pairs])) < 3 * 0.0004


def test_precision_offset_and_scale_change_nothing():
    """neurodata/hyppo#246, #441: float32 raised, +1e8 gave 0.474, 1e200 NaN, 1e-200 0."""
    x, y = field_pair()
    root = {"kernel_x": "rbf", "kernel_y": "rbf"}
    assert_allclose(np.sqrt(cka(x.astype(np.float32), y.astype(np.float32), **root)), 0.633815844, rtol=1e-6)
    assert_allclose(np.sqrt(cka(x + 1e8, y, **root)), 0.633815844, rtol=1e-6)
    for unit in (1e200, 1e-200):
        assert_allclose(np.sqrt(cka(x * unit, y, **root)), 0.633815844, rtol=1e-9)
        assert_allclose(hsic(x * unit, y), 0.030989861382, rtol=1e-10)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_rounding_of_a_mean_changes_nothing(rng, estimator):
    """Whole numbers of the last place of the offset: the sums are exact, the mean of 300 of them is not."""
    labels = rng.integers(0, 3, 300)
    X, Y = np.round(rng.standard_normal((300, 2)) * 4), np.round(rng.standard_normal((300, 26)) * 4)
    right = ESTIMATORS[estimator]
    options = {"kernel_x": "linear", "estimator": estimator}
    for y, kernel, L in ((labels, "delta", np.equal.outer(labels, labels)), (Y, "linear", Y @ Y.T)):
        K, L = X @ X.T, L.astype(float)
        value, alignment = right(K, L), right(K, L) / np.sqrt(right(K, K) * right(L, L))
        for offset in (0.0, 2.0**52, -(2.0**52) - 1):
            others = [y] if kernel == "delta" else [y, y + 2.0**52]
            for other in others:
                assert_allclose(hsic(X + offset, other, kernel_y=kernel, **options), value, rtol=1e-9)
                assert_allclose(cka(X + offset, other, kernel_y=kernel, **options), alignment, rtol=1e-9)
            if kernel == "delta":
                found = hsic(labels, X + offset, kernel_x="delta", kernel_y="linear", estimator=estimator)
                assert_allclose(found, value, rtol=1e-9)


def far_rows(n, d, count, unit=1.0, offset=0.0):
    """All rows the same but a few, each far along a column of its own."""
    X = np.full((n, d), offset)
    X[np.arange(count), np.arange(count)] += unit * np.arange(1, count + 1)
    return X


@pytest.mark.parametrize("n", [4, 50, 300, 2000])
def test_a_kernel_that_is_constant_off_its_diagonal_is_constant_to_the_unbiased_estimator(n, rng):
    """Song's statistic of such a side with itself is 0: what is left of it is rounding, and no alignment."""
    y, unbiased = rng.standard_normal(n), {"estimator": "unbiased"}
    assert cka(np.arange(n), np.arange(n), kernel_x="delta", kernel_y="delta", **unbiased) == 0.0
    assert cka(np.arange(n), y, kernel_x="delta", **unbiased) == 0.0
    for d in (1, 3, 400):
        for count in range(1, min(d, 3) + 1):
            for unit, offset in ((1.0, 0.0), (0.1, 0.0), (1.0, 0.1), (1e3, 7.3), (1e-200, 0.0)):
                X = far_rows(n, d, count, unit, offset)
                assert cka(X, X, **unbiased) == cka(X, y, **unbiased) == cka(y, X, **unbiased) == 0.0


def test_a_far_row_leaves_the_unbiased_alignment_of_the_others():
    """A row 1e5 times as far as the others are apart, by the definition in whole numbers."""
    X = R(3).integers(-9, 10, (40, 1))
    Y = X + R(4).integers(-9, 10, (40, 1))
    X[7] = 10**6

    def whole(x, y):
        """n (n - 1) (n - 2) (n - 3) times the unbiased statistic, in integers."""
        n = len(x)
        K, L = (np.array(v @ v.T, dtype=object) for v in (x, y))
        K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
        grand = K.sum() * L.sum()
        return ((n - 1) * ((n - 2) * (K * L).sum() - 2 * (K.sum(0) * L.sum(0)).sum())) + grand

    right = whole(X, Y) / np.sqrt(float(whole(X, X) * whole(Y, Y)))
    assert_allclose(cka(X, Y, estimator="unbiased"), right, rtol=1e-4)


# --- sentences ----------------------------------------------------------------------------------------------

GOOD = np.arange(10.0)
REFUSED = {
    "lengths": ((GOOD, GOOD[:9]), {}, ValueError, "Y has 9 samples, but X has 10"),
    "one sample": (([1.0], [2.0]), {}, ValueError, "a minimum of 2 is required"),
    "three samples": ((GOOD[:3], GOOD[:3]), {"estimator": "unbiased"}, ValueError, "minimum of 4"),
    "NaN": ((GOOD, np.r_[np.nan, GOOD[1:]]), {}, ValueError, "Y contains NaN"),
    "infinity": ((np.r_[np.inf, GOOD[1:]], GOOD), {}, ValueError, "X contains infinity"),
    "missing label": ((GOOD, [None, *"abcdefghi"]), {"kernel_y": "delta"}, ValueError, "missing label"),
    "strings": ((GOOD, list("abcdefghij")), {}, TypeError, "choose kernel_y='delta' for labels"),
    "string objects": ((np.array([*"abcdefghij"], object), GOOD), {}, TypeError, "choose kernel_x='delta'"),
    "sparse": ((GOOD, csr_array(np.eye(10))), {}, TypeError, r"pass Y\.toarray"),
    "cube": ((np.zeros((3, 3, 3)), GOOD), {}, ValueError, "X"),
    "not square": ((np.ones((10, 9)), GOOD), {"kernel_x": "precomputed"}, ValueError, "X must be a square"),
    "not symmetric": (
        (np.tri(10), GOOD),
        {"kernel_x": "precomputed"},
        ValueError,
        "X must be symmetric, got entry",
    ),
    "kernel": ((GOOD, GOOD), {"kernel_y": "gaussian"}, ValueError, "kernel_y must be one of"),
    "kernel type": ((GOOD, GOOD), {"kernel_x": 3}, TypeError, "kernel_x must be one of"),
    "gamma": ((GOOD, GOOD), {"gamma_y": -1}, ValueError, "gamma_y must be"),
    "gamma of poly": ((GOOD, GOOD), {"kernel_x": "poly"}, ValueError, "gamma_x='median' is for 'rbf'"),
    "estimator": ((GOOD, GOOD), {"estimator": "both"}, ValueError, "estimator must be one of"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_the_argument(case):
    samples, options, error, sentence = REFUSED[case]
    for function in (hsic, cka, hsic_test):
        with pytest.raises(error, match=sentence):
            function(*samples, **options)


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"n_permutations": 0}, ValueError, "n_permutations must be an integer of at least 1, got 0"),
        ({"n_permutations": 1.5}, TypeError, "n_permutations must be an integer"),
        ({"method": "exact"}, ValueError, "method must be one of 'permutation', 'gamma', got 'exact'"),
        ({"random_state": -1}, ValueError, "random_state must be"),
        ({"progress": 3}, TypeError, "progress must be True, False or a callable"),
        ({"method": "gamma", "estimator": "unbiased"}, ValueError, "is for estimator='biased'"),
    ],
)
def test_options_of_the_test_are_named(options, error, sentence):
    with pytest.raises(error, match=sentence):
        hsic_test(GOOD, GOOD, **options)


def test_what_does_not_fit_in_memory_is_refused():
    with pytest.raises(MemoryError, match="the statistics of all permutations"):
        hsic_test(GOOD, GOOD, n_permutations=2**60)


def test_the_gamma_approximation_needs_six_samples():
    with pytest.raises(ValueError, match="minimum of 6"):
        hsic_test(GOOD[:5], GOOD[:5], method="gamma")
