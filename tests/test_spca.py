"""SPCA: the definition with explicit centring matrices, targets of every kind, and what must hold."""

import numpy as np
import prinax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracle import centring
from prinax import PCA, SPCA

pytestmark = pytest.mark.numeric

R = np.random.default_rng
DTYPES = [np.float32, np.float64]
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-10}


def definition(X, K):
    """Eigenvalues and vectors of X'H K H X, descending, with explicit matrices."""
    X = np.asarray(X, float)
    H = centring(len(X))
    M = X.T @ H @ K @ H @ X
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    return values[::-1], vectors[:, ::-1].T


def delta(y):
    y = np.asarray(y)
    return np.equal.outer(y, y).astype(float)


def rbf(y, gamma=None):
    y = np.asarray(y, float).reshape(len(y), -1)
    squares = ((y[:, None] - y) ** 2).sum(axis=2)
    if gamma is None:
        gamma = 1 / (2 * np.median(squares[np.triu_indices(len(y), 1)] ** 0.5) ** 2)
    return np.exp(-gamma * squares)


def agrees(model, X, K, tolerance=1e-9, k=None):
    values, vectors = definition(X, K)
    k = model.rank_ if k is None else k
    assert len(model.components_) == k
    assert_allclose(model.eigenvalues_, values[:k], rtol=tolerance, atol=tolerance * values[0])
    assert_allclose(model.hsic_, values[:k].sum() / (len(X) - 1) ** 2, rtol=tolerance)
    cosines = np.abs(np.sum(model.components_.astype(float) * vectors[:k], axis=1))
    gaps = np.abs(values[:k, None] - np.delete(values, range(k))).min(initial=np.inf)
    if k == 1 or np.diff(-values[: k + 1]).min() > 1e-3 * values[0] or gaps > 1e-3 * values[0]:
        assert_allclose(cosines[: min(k, 2)], 1, atol=1e3 * tolerance)
    V = model.components_.astype(float)
    assert_allclose(V @ V.T, np.eye(k), atol=1e-13 if model.components_.dtype == np.float64 else 1e-6)


# --- the definition -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("solver", ["auto", "direct", "dual"])
@pytest.mark.parametrize("target", ["delta", "linear", "linear 2-D", "rbf", "precomputed", "callable"])
def test_every_target_and_solver_is_its_definition(X, labels, rng, dtype, solver, target):
    X = X.astype(dtype)
    y = rng.standard_normal((60, 2))
    cases = {
        "delta": ("delta", labels, delta(labels)),
        "linear": ("linear", y[:, 0], np.outer(y[:, 0], y[:, 0])),
        "linear 2-D": ("auto", y, y @ y.T),
        "rbf": ("rbf", y, rbf(y)),
        "precomputed": ("precomputed", y @ y.T + 3, y @ y.T),
        "callable": (lambda a, b: float(a @ b) ** 2, y, (y @ y.T) ** 2),
    }
    kernel, values, K = cases[target]
    model = SPCA(target_kernel=kernel, solver=solver).fit(X, values)
    agrees(model, X, K, TOLERANCE[dtype])
    assert model.solver_ == {"auto": "svd"}.get(solver, solver)
    assert model.components_.dtype == dtype
    for attribute in (model.eigenvalues_, model.mean_):
        assert attribute.dtype == np.float64


@given(
    st.integers(2, 25), st.integers(1, 12), st.integers(0, 10**6), st.sampled_from(["delta", "linear", "rbf"])
)
@settings(max_examples=60, deadline=None)
def test_any_shape(n, d, seed, kernel):
    rng = R(seed)
    X = rng.standard_normal((n, d))
    y = rng.integers(0, 3, n) if kernel == "delta" else rng.standard_normal(n)
    if kernel == "delta":
        y[:2] = 0, 1
    K = {"delta": delta, "linear": lambda y: np.outer(y, y), "rbf": rbf}[kernel](y)
    fits = [SPCA(target_kernel=kernel, solver=solver).fit(X, y) for solver in ("auto", "direct", "dual")]
    values, _ = definition(X, K)
    for model in fits:
        assert 1 <= model.rank_ <= min(n - 1, d)
        k = model.rank_
        assert_allclose(model.eigenvalues_, values[:k], rtol=1e-7, atol=1e-9 * values[0])
        assert_allclose(values[k:], 0, atol=1e-9 * values[0])
        V = model.components_
        assert_allclose(V @ V.T, np.eye(k), atol=1e-13)
        # the leading direction attains what the definition attains
        H = centring(n)
        assert_allclose(V[0] @ X.T @ H @ K @ H @ X @ V[0], values[0], rtol=1e-9)


def test_classes_are_separated_along_the_difference_of_their_means():
    X = np.array([[0.0, 2.0], [2.0, 2.0], [3.0, 6.0], [5.0, 6.0]])
    model = SPCA().fit(X, [0, 0, 1, 1])
    assert_allclose(model.components_, [[0.6, 0.8]], rtol=1e-15)
    assert_allclose(model.mean_, [2.5, 4.0])
    assert_allclose(model.eigenvalues_, [50.0], rtol=1e-14)  # two columns -+2 (1.5, 2) of squared length 25
    assert_allclose(model.hsic_, 50 / 9)
    assert model.rank_ == 1


def test_the_attained_hsic_is_the_hsic_of_the_scores(X, labels, rng):
    y = rng.standard_normal(60)
    for target, kernel in ((labels, "delta"), (y, "linear"), (y, "rbf")):
        model = SPCA(target_kernel=kernel).fit(X, target)
        Z = model.transform(X)
        found = prinax.hsic(Z, target, kernel_x="linear", kernel_y=kernel)
        assert_allclose(model.hsic_, found, rtol=1e-9)


@pytest.mark.parametrize("shape", [(40, 6), (6, 40)])
@pytest.mark.parametrize("solver", ["auto", "direct", "dual"])
def test_the_identity_is_pca(rng, shape, solver):
    X = rng.standard_normal(shape) * np.arange(1, shape[1] + 1) + 5
    road = {"auto": "auto", "direct": "covariance_eigh", "dual": "gram"}[solver]
    model, pca = SPCA(3, target_kernel="identity", solver=solver).fit(X), PCA(3, svd_solver=road).fit(X)
    assert_array_equal(model.components_, pca.components_)
    assert_array_equal(model.mean_, pca.mean_)
    assert_array_equal(model.transform(X), pca.transform(X))
    assert_allclose(model.eigenvalues_, pca.singular_values_**2, rtol=1e-14)
    assert model.solver_ == pca.solver_
    full = SPCA(target_kernel="identity").fit(X)
    assert full.rank_ == min(shape[0] - 1, shape[1]) == len(full.components_)


def test_the_lecture_notes_form_without_centring(X, labels):
    with_mean, without = SPCA(2).fit(X, labels), SPCA(2, center=False).fit(X, labels)
    U = with_mean.components_.T
    assert_array_equal(without.components_, with_mean.components_)
    assert_array_equal(without.mean_, 0)
    assert_allclose(without.transform(X), X @ U, rtol=1e-12, atol=1e-12)
    assert_allclose(without.reconstruct(X), X @ U @ U.T, rtol=1e-12, atol=1e-12)
    mu = X.mean(axis=0)
    assert_allclose(with_mean.transform(X), (X - mu) @ U, rtol=1e-12, atol=1e-12)
    assert_allclose(with_mean.reconstruct(X), (X - mu) @ U @ U.T + mu, rtol=1e-12, atol=1e-12)
    assert_allclose(with_mean.inverse_transform(with_mean.transform(X)), with_mean.reconstruct(X))
    assert_allclose(with_mean.residuals(X), X - with_mean.reconstruct(X), atol=1e-12)


# --- labels -------------------------------------------------------------------------------------------------


def test_labels_of_any_type_are_the_same_classes(X, labels):
    right = SPCA(target_kernel="delta").fit(X, labels)
    names = np.array(["ash", "birch", "cedar", "elm"])[labels]
    forms = {
        "strings": names,
        "list of strings": names.tolist(),
        "objects": names.astype(object),
        "bytes": names.astype("S"),
        "column": labels[:, None],
        "int8": labels.astype(np.int8),
        "tuples of ints": tuple(labels.tolist()),
    }
    for form, y in forms.items():
        for kernel in ("auto", "delta"):
            model = SPCA(target_kernel=kernel).fit(X, y)
            assert_allclose(model.components_, right.components_, atol=1e-13, err_msg=form)
            assert model.rank_ == 3
    floats = SPCA(target_kernel="delta").fit(X, labels / 7)
    assert_allclose(floats.components_, right.components_, atol=1e-13)
    one_hot = SPCA().fit(X, np.eye(4)[labels])
    assert_allclose(one_hot.eigenvalues_, right.eigenvalues_, rtol=1e-12)
    assert_allclose(one_hot.components_, right.components_, atol=1e-12)
    named = SPCA(target_kernel="linear").fit(X, names)
    assert_allclose(named.components_, right.components_, atol=1e-12)
    as_numbers = SPCA(target_kernel="linear").fit(X, labels)
    assert_allclose(as_numbers.components_, SPCA().fit(X, labels.astype(float)).components_)
    smooth = SPCA(target_kernel="rbf", target_gamma=1.0).fit(X, names)
    agrees(smooth, X, rbf(np.eye(4)[labels], 1.0))


def test_bools_are_two_classes(X, labels):
    y = labels > 1
    model = SPCA().fit(X, y)
    assert model.rank_ == 1
    assert_allclose(model.components_, SPCA().fit(X, y.astype(int)).components_)


def test_frames_and_categories(X, labels):
    pandas = pytest.importorskip("pandas")
    right = SPCA().fit(X, labels)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    series = pandas.Series(labels)
    for y in (series, series.astype("category"), pandas.DataFrame({"y": labels}), series.astype("string")):
        model = SPCA().fit(frame, y)
        assert_allclose(model.components_, right.components_, atol=1e-13)
    assert model.feature_names_in_.tolist() == list("abcde")
    Z = model.set_output(transform="pandas").transform(frame)
    assert Z.columns.tolist() == ["spca0", "spca1", "spca2"]
    polars = pytest.importorskip("polars")
    model = SPCA().fit(polars.DataFrame(X, schema=list("abcde")), polars.Series(labels.astype(str)))
    assert_allclose(model.components_, right.components_, atol=1e-13)


# --- numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", ["delta", "linear", "rbf"])
def test_an_offset_changes_nothing_beyond_the_rounding_of_the_input(labels, dtype, kernel):
    rng = R(2)
    X = np.round(rng.standard_normal((60, 4)) * 64) / 64
    y = labels if kernel == "delta" else np.round(rng.standard_normal(60) * 64) / 64
    offset = 1e8 if dtype == np.float64 else 2048.0
    far_y = y if kernel == "delta" else y + 1e8
    assert_array_equal((X + offset).astype(dtype).astype(float) - offset, X)
    near = SPCA(target_kernel=kernel).fit(X.astype(dtype), y)
    far = SPCA(target_kernel=kernel).fit((X + offset).astype(dtype), far_y)
    tolerance = 1e-7 if dtype == np.float32 else 1e-12
    assert near.rank_ == far.rank_
    for j in range(min(2, near.rank_)):
        assert_allclose(np.abs(far.components_[j] @ near.components_[j]), 1, atol=tolerance)
    assert_allclose(far.eigenvalues_[0], near.eigenvalues_[0], rtol=tolerance)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_units_change_no_direction(X, rng, scale):
    y = rng.standard_normal(60)
    right = SPCA().fit(X, y)
    for model in (SPCA().fit(X * scale, y), SPCA().fit(X, y * scale), SPCA().fit(X * scale, y * scale)):
        assert_allclose(model.components_, right.components_, atol=1e-12)


@pytest.mark.parametrize("exponents", [(-333, 666), (300, -660), (-500, 996), (100, -1000), (0, 700)])
@pytest.mark.parametrize("model", [SPCA, lambda **o: prinax.KernelSPCA(kernel="linear", **o)])
def test_a_target_kernel_of_any_unit(X, labels, model, exponents):
    """A matrix 2^e times as large has eigenvalues 2^e times as large, and the same directions."""
    of_x, of_k = exponents
    K = delta(labels) + np.eye(len(labels))
    right = model(target_kernel="precomputed").fit(X, K)
    scaled = model(target_kernel="precomputed").fit(X * 2.0**of_x, K * 2.0**of_k)
    assert_allclose(scaled.eigenvalues_, right.eigenvalues_ * 2.0 ** (2 * of_x + of_k), rtol=1e-12)
    assert_allclose(scaled.transform(X * 2.0**of_x) * 2.0**-of_x, right.transform(X), atol=1e-10)
    rows = np.arange(float(len(X)))
    called = model(target_kernel=lambda a, b: K[int(a[0]), int(b[0])] * 2.0**of_k).fit(X * 2.0**of_x, rows)
    assert_allclose(called.eigenvalues_, scaled.eigenvalues_, rtol=1e-12)
    with pytest.raises(ValueError, match="positive semidefinite"):
        model(target_kernel="precomputed").fit(X, (K - 9 * np.diag(rows > 3)) * 2.0**of_k)


def test_a_power_of_two_is_exact(X, labels):
    one, other = SPCA().fit(X, labels), SPCA().fit(X * 2.0**-40, labels)
    assert_array_equal(one.components_, other.components_)
    assert_array_equal(one.eigenvalues_ * 2.0**-80, other.eigenvalues_)


@pytest.mark.parametrize("solver", ["auto", "direct", "dual"])
@pytest.mark.parametrize("target", ["classes", "linear", "rbf", "identity"])
def test_subnormal_data_have_the_directions_of_the_same_data_in_another_unit(rng, solver, target):
    tiny = rng.standard_normal((30, 4)) * 1e-310
    y = {"classes": np.arange(30) % 3, "identity": None}.get(target, rng.standard_normal(30))
    kernel = {"classes": "auto", "identity": "precomputed"}.get(target, target)
    y = np.eye(30) if target == "identity" else y
    model = SPCA(1, solver=solver, target_kernel=kernel).fit(tiny, y)
    right = SPCA(1, solver=solver, target_kernel=kernel).fit(tiny * 2.0**1020, y)  # exact
    assert_allclose(model.components_, right.components_, atol=1e-10)
    assert_allclose(
        model.transform(tiny) / 1e-310, right.transform(tiny * 2.0**1020) * 2.0**-1020 / 1e-310, atol=1e-9
    )


def test_duplicated_rows_count_twice(X, labels):
    twice = SPCA().fit(np.repeat(X, 2, axis=0), np.repeat(labels, 2))
    once = SPCA().fit(X, labels)
    assert_allclose(twice.components_, once.components_, atol=1e-12)
    assert_allclose(twice.eigenvalues_, 4 * once.eigenvalues_, rtol=1e-12)


def test_layouts_and_threads_give_the_same_bits(rng):
    X = rng.standard_normal((20_000, 30))
    y = rng.integers(0, 5, 20_000)
    z = rng.standard_normal((20_000, 2))
    fits = []
    for threads in (1, 2, 3):
        prinax.set_num_threads(threads)
        try:
            fits.append([SPCA().fit(X, y), SPCA().fit(X, z), SPCA().fit(np.asfortranarray(X), y)])
        finally:
            prinax.set_num_threads(None)
    for other in fits[1:]:
        for a, b in zip(fits[0], other, strict=True):
            assert_array_equal(a.components_, b.components_)
            assert_array_equal(a.eigenvalues_, b.eigenvalues_)
    assert_allclose(fits[0][2].components_, fits[0][0].components_, atol=1e-12)


def test_nasty_matrices_give_orthonormal_directions(nasty):
    y = np.arange(len(nasty)) >= max(1, len(nasty) // 3)
    if np.ptp(nasty, axis=0).max() == 0:
        with pytest.raises(ValueError, match="X must be data that vary with y"):
            SPCA().fit(nasty, y)
        return
    model = SPCA().fit(nasty, y)
    V = model.components_
    assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-13)
    Z = model.transform(nasty)
    assert np.isfinite(Z).all()
    assert_array_equal(Z, SPCA().fit_transform(nasty, y))
