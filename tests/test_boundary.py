"""The boundary: any layout and dtype gives the values' result, the rest a sentence, nothing is changed."""

import array
import re
import threading

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from numpy.testing import assert_allclose, assert_array_equal
from prinax import PCA, IncrementalPCA, Moments, Whitener, _core, center_rows, covariance, eigh, gram
from scipy import sparse

pytestmark = pytest.mark.numeric

R = np.random.default_rng
VALUES = R(0).integers(0, 100, (24, 6)).astype(float)


def fitted_scores(X):
    return PCA(3).fit_transform(X)


def scores_of(X):
    return PCA(3).fit(VALUES).transform(X)


def streamed(X):
    moments = Moments(6)
    moments.update(X)
    return moments.covariance()


def round_trip(X):
    model = PCA(3).fit(VALUES)
    return np.hstack([model.reconstruct(X), model.residuals(X), model.squared_residuals(X)[:, None]])


CALLS = {
    "fit_transform": fitted_scores,
    "transform": scores_of,
    "reconstruct": round_trip,
    "score_samples": lambda X: PCA(3).fit(VALUES).score_samples(X),
    "covariance": covariance,
    "gram": gram,
    "center_rows": center_rows,
    "Moments": streamed,
    "IncrementalPCA": lambda X: IncrementalPCA(3).partial_fit(VALUES).partial_fit(X).components_,
    "Whitener.fit": lambda X: Whitener(eps=1.0).fit(X).whitening_matrix_,
    "Whitener.transform": lambda X: Whitener().fit(VALUES).transform(X),
}
NEED_TWO_ROWS = [CALLS[name] for name in ("fit_transform", "covariance", "Moments", "Whitener.fit")]
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())


def embedded(X, step):
    big = np.zeros((len(X) * abs(step[0]), X.shape[1] * abs(step[1])))
    big[:: step[0], :: step[1]] = X
    return big[:: step[0], :: step[1]]


def misaligned(X):
    raw = np.zeros(X.nbytes + 1, np.uint8)
    view = raw[1:].view(X.dtype).reshape(X.shape)
    view[...] = X
    assert not view.flags.aligned
    return view


def packed_field(X):
    records = np.zeros(X.shape, np.dtype([("tag", "i1"), ("value", "f8")]))
    records["value"] = X
    return records["value"]


def read_only(X):
    frozen = X.copy()
    frozen.flags.writeable = False
    return frozen


LAYOUTS = {
    "Fortran order": np.asfortranarray,
    "a transpose": lambda X: np.ascontiguousarray(X.T).T,
    "strided rows": lambda X: embedded(X, (3, 1)),
    "strided columns": lambda X: embedded(X, (1, 2)),
    "reversed rows": lambda X: X[::-1].copy()[::-1],
    "reversed columns": lambda X: X[:, ::-1].copy()[:, ::-1],
    "both reversed, strided": lambda X: embedded(X, (-2, -3)),
    "misaligned": misaligned,
    "packed fields": packed_field,
    "read-only": read_only,
    "bytes": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())


@every_call
@layouts
def test_the_layout_of_the_array_does_not_matter(call, layout):
    X = layout(VALUES)
    assert_array_equal(X, VALUES)
    expected = call(VALUES)
    assert_allclose(call(X), expected, rtol=0, atol=1e-14 * np.abs(expected).max())


@every_call
def test_arrays_with_zero_strides_and_overlapping_windows_are_read_as_they_look(call):
    constant_rows = np.broadcast_to(np.arange(6.0), (9, 6))
    constant_columns = np.broadcast_to(np.arange(9.0)[:, None], (9, 6))
    windows = as_strided(R(1).standard_normal(60), (20, 6), (8, 8))
    one_row = VALUES[3][None]
    for X in (constant_rows, constant_columns, windows, one_row):
        if len(X) == 1 and call in NEED_TWO_ROWS:
            continue
        expected = call(np.array(X, order="C"))
        assert_allclose(call(X), expected, rtol=0, atol=1e-14 * np.abs(expected).max())


@pytest.mark.parametrize("reverse", [1, -1])
def test_an_axis_of_length_one_may_have_any_stride(reverse):
    X = np.arange(10.0).reshape(1, 10)[::reverse]
    column = np.arange(10.0).reshape(10, 1)[:, ::reverse]
    assert_allclose(center_rows(X), X - 4.5, atol=1e-15)
    assert_allclose(covariance(column), [[np.arange(10).var(ddof=1)]], rtol=1e-14)


@every_call
def test_a_memory_mapped_file_is_read(call, tmp_path):
    np.save(tmp_path / "X.npy", VALUES)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_array_equal(call(mapped), call(VALUES))


CONVERTIBLE = ["<f8", ">f8", ">f4", "f2", "g", "i1", "i2", ">i4", "i8", "u1", "u4", "u8", "O"]


@every_call
@pytest.mark.parametrize("dtype", CONVERTIBLE)
def test_other_dtypes_are_their_values_never_their_bytes(call, dtype):
    """PECOS-packages/PECOS#463; williamgilpin/cphy#72; cair/tmu#61."""
    X = VALUES.astype(dtype)
    expected = call(VALUES)
    near = 1e-5 if dtype == ">f4" else 1e-14
    assert_allclose(call(X), expected, rtol=0, atol=near * np.abs(expected).max())


@every_call
def test_products_of_small_integers_do_not_wrap(call):
    X = np.where(VALUES > 50, 100, -100).astype("i1")
    expected = call(X.astype(float))
    assert_allclose(call(X), expected, rtol=0, atol=1e-14 * np.abs(expected).max())


@every_call
def test_sequences_and_scalars_are_arrays_of_their_values(call):
    expected = call(VALUES)
    for X in (
        VALUES.tolist(),
        [array.array("d", row) for row in VALUES],
        tuple(map(tuple, VALUES)),
        [[np.float64(v) for v in row] for row in VALUES],
        [[int(v) for v in row] for row in VALUES],
    ):
        assert_array_equal(call(X), expected)


@every_call
def test_booleans_are_zeros_and_ones(call):
    X = VALUES > 50
    assert_array_equal(call(X), call(X.astype(float)))


@every_call
@pytest.mark.parametrize("layout", [np.array, np.asfortranarray, read_only], ids=["C", "F", "read-only"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_caller_s_array_is_never_changed(call, layout, dtype):
    X = layout(VALUES.astype(dtype))
    before, flags = X.tobytes(), str(X.flags)
    call(X)
    assert X.tobytes() == before
    assert str(X.flags) == flags


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("solver", ["auto", "covariance_eigh", "gram", "full", "lanczos", "randomized"])
def test_copy_false_changes_nothing_either(copy, solver):
    """dask/dask-ml#592; dask/distributed#1978: a solver that overwrote its input."""
    X, w = VALUES.copy(), np.arange(24.0)
    model = PCA(2, copy=copy, whiten=True, scale=True, svd_solver=solver).fit(X, sample_weight=w)
    scores = model.transform(X)
    kept = scores.copy()
    model.inverse_transform(scores)
    assert_array_equal(X, VALUES)
    assert_array_equal(w, np.arange(24.0))
    assert_array_equal(scores, kept)


def test_a_fitted_model_does_not_see_later_changes_of_the_training_rows():
    X = VALUES.copy()
    model = PCA(2).fit(X)
    expected = model.transform(VALUES)
    X[:] = np.nan
    assert_array_equal(model.transform(VALUES), expected)


@every_call
@pytest.mark.parametrize("shape", [(2, 0), (0, 6), (0, 0)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "O"])
def test_a_zero_length_axis_is_refused_with_the_count(call, shape, dtype):
    """PyO3/rust-numpy#527, #558; rust-ndarray/ndarray#1609."""
    with pytest.raises(ValueError, match=r"0 (sample|feature)|features"):
        call(np.zeros(shape, dtype))


def bad(value):
    X = VALUES.copy()
    X[5, 2] = value
    return X


UNUSABLE = {
    "NaN": (lambda: bad(np.nan), "NaN"),
    "infinity": (lambda: bad(np.inf), "inf"),
    "minus infinity": (lambda: bad(-np.inf), "inf"),
    "NaN in float32": (lambda: bad(np.nan).astype("f4"), "NaN"),
    "NaN in Fortran order": (lambda: np.asfortranarray(bad(np.nan)), "NaN"),
    "None in objects": (lambda: np.where(VALUES > 90, None, VALUES), "NaN|None|number"),
    "complex": (lambda: VALUES + 1j, "[Cc]omplex"),
    "complex in objects": (lambda: (VALUES + 1j).astype("O"), "complex|number"),
    "text": (lambda: VALUES.astype("U8"), "string|text|numeric|number"),
    "bytes": (lambda: VALUES.astype("S8"), "string|text|bytes|numeric|number"),
    "text in objects": (lambda: VALUES.astype("U8").astype("O"), "string|text|str|numeric|number"),
    "dates": (lambda: VALUES.astype("M8[s]"), "date|numeric|number"),
    "durations": (lambda: VALUES.astype("m8[s]"), "time|date|numeric|number"),
    "records": (lambda: np.zeros((4, 6), [("a", "f8")]), "void|numeric|number|record|structured"),
    "a masked array": (lambda: np.ma.masked_greater(VALUES, 90), "mask"),
    "a sparse matrix": (lambda: sparse.csr_array(VALUES), "[Ss]parse"),
    "one dimension": (lambda: VALUES[0], "Reshape your data"),
    "three dimensions": (lambda: VALUES[None], "dim|2D|2-D"),
    "a number": (lambda: 3.0, "dim|2D|2-D|scalar"),
    "nothing": (lambda: None, "X"),
    "ragged rows": (lambda: [[1.0, 2.0], [3.0]], "X|shape|inhomogeneous"),
    "a dict": (lambda: {"a": 1}, "X|dict"),
}


@every_call
@pytest.mark.parametrize(("build", "words"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_what_is_no_matrix_of_numbers_is_refused_with_a_sentence(call, build, words):
    with pytest.raises((ValueError, TypeError), match="(?i)" + words):
        call(build())


@pytest.mark.parametrize(
    "method", ["transform", "reconstruct", "residuals", "squared_residuals", "score_samples"]
)
def test_the_wrong_number_of_columns_is_refused_with_both_numbers(method):
    model = PCA(2).fit(VALUES)
    with pytest.raises(ValueError, match="X has 5 features, but PCA is expecting 6 features as input"):
        getattr(model, method)(VALUES[:, :5])
    with pytest.raises(ValueError, match="3"):
        model.inverse_transform(np.zeros((4, 3)))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda model: model.fit(bad(np.nan)),
        lambda model: model.fit(VALUES[:1]),
        lambda model: model.set_params(n_components=7).fit(VALUES),
        lambda model: model.fit(VALUES, sample_weight=-np.ones(24)),
        lambda model: model.set_params(svd_solver="nonsense").fit(VALUES),
        lambda model: model.transform(bad(np.inf)),
        lambda model: model.inverse_transform(VALUES),
    ],
)
def test_a_failed_call_leaves_the_fitted_attributes_as_they_were(spoil):
    model = PCA(2).fit(VALUES)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    scores = model.transform(VALUES)
    with pytest.raises((ValueError, TypeError)):
        spoil(model)
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in before)
    assert_array_equal(model.transform(VALUES), scores)


READERS = {
    PCA(2, scale=True): [
        "transform",
        "reconstruct",
        "residuals",
        "squared_residuals",
        "score",
        "score_samples",
        "reconstruction_error",
    ],
    IncrementalPCA(2): ["transform", "score"],
    Whitener("pca", 2): ["transform"],
}


@pytest.mark.parametrize(
    ("model", "methods"), READERS.items(), ids=[type(model).__name__ for model in READERS]
)
def test_no_method_changes_what_vars_shows(model, methods):
    model.fit(VALUES)
    before = dict(vars(model))
    for method in methods:
        getattr(model, method)(VALUES)
    model.inverse_transform(np.zeros((1, 2)))
    for method in ("get_covariance", "get_precision", "get_feature_names_out", "freeze", "__sklearn_tags__"):
        getattr(model, method, str)()
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def test_four_threads_that_share_a_model_get_the_bits_of_one():
    X = R(0).standard_normal((3000, 40))
    model, expected = PCA(5).fit(X), None
    expected = (model.transform(X), PCA(5).fit(X).components_)
    wrong = []

    def work():
        for _ in range(5):
            found = (model.transform(X), PCA(5).fit(X).components_)
            wrong.extend(1 for a, b in zip(found, expected, strict=True) if not np.array_equal(a, b))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_eigh_leaves_its_matrix_alone_and_reads_every_layout():
    A = VALUES.T @ VALUES
    values, vectors = eigh(A)
    for layout in LAYOUTS.values():
        X = layout(A)
        before = X.tobytes()
        found = eigh(X)
        assert_array_equal(found[0], values)
        assert_array_equal(found[1], vectors)
        assert X.tobytes() == before


def test_the_core_says_which_names_it_knows():
    def kernel(name):
        return _core.kernel_matrix(VALUES, None, (name, None, 3.0, 1.0))

    with pytest.raises(ValueError, match=r"^kernel must be one of ('\w+', )+'delta', got 'rbg'") as refusal:
        kernel("rbg")
    known = re.findall(r"'(\w+)'", str(refusal.value).splitlines()[0])[:-1]
    assert {"linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "delta"} == set(known)
    assert all(kernel(name).shape == (24, 24) for name in known)
    with pytest.raises(ValueError, match=r"^method must be one of 'pca', 'zca', .*'cholesky', got 'zac'"):
        _core.fit_whitener(VALUES, None, "zac", None, 0.0, True, 1)
    with pytest.raises(ValueError, match=r"^solver must be one of 'auto', 'direct', 'dual', got 'svd'"):
        _core.fit_spca(VALUES, None, None, True, "svd")
    solvers = "'auto', 'covariance_eigh', 'gram', 'lanczos', 'full', 'randomized'"
    with pytest.raises(ValueError, match=f"^svd_solver must be one of {solvers}, got 'arpack'"):
        _core.pca_from_moments(Moments(6)._state, None, "arpack", 0.0, 0, True, False, 1)
