"""What comes in: what is accepted and as what, and the sentence for what is not."""

import array
from decimal import Decimal
from fractions import Fraction

import numpy as np
import prinax
import pytest
from numpy.testing import assert_array_equal
from prinax import PCA, _validation
from wording import says

SMALL = np.array([[1.0, 2.0], [4.0, 3.0], [5.0, 9.0]])


def read(X):
    return _validation.matrix(X, "PCA")


# --- arrays that are accepted -------------------------------------------------------------------------------


def misaligned(A):
    raw = np.zeros(A.nbytes + 1, np.uint8)[1:].view(A.dtype).reshape(A.shape)
    raw[...] = A
    assert not raw.flags.aligned
    return raw


FORMS = {
    "lists": SMALL.tolist(),
    "tuples": tuple(map(tuple, SMALL.tolist())),
    "list of arrays": list(SMALL),
    "rows of array.array": [array.array("d", row) for row in SMALL],
    "int8": SMALL.astype(np.int8),
    "uint8": SMALL.astype(np.uint8),
    "int64": SMALL.astype(np.int64),
    "uint64": SMALL.astype(np.uint64),
    "float16": SMALL.astype(np.float16),
    "longdouble": SMALL.astype(np.longdouble),
    "objects": SMALL.astype(object),
    "big-endian": SMALL.astype(">f8"),
    "big-endian integers": SMALL.astype(">i4"),
    "misaligned": misaligned(SMALL),
    "decimals": [[Decimal(int(v)) for v in row] for row in SMALL],
    "fractions": [[Fraction(int(v)) for v in row] for row in SMALL],
    "matrix subclass": SMALL.view(np.recarray),
}


@pytest.mark.parametrize("form", FORMS)
def test_numbers_of_any_kind_become_float64(form):
    A = read(FORMS[form])
    assert A.dtype == np.float64
    assert A.dtype.isnative
    assert A.flags.aligned
    assert_array_equal(A, SMALL)


def test_what_float64_rounds_is_read_whatever_numpy_is_told_to_raise():
    tiny = np.array([["1e-320", "1"], ["1", "1e-4000"]], np.longdouble)
    with np.errstate(all="raise"):
        assert_array_equal(read(tiny), [[1e-320, 1], [1, 0]])
        weights, present = _validation.sample_weights(np.array(["1", "1e-4000"], np.longdouble), 2, "PCA")
    assert_array_equal(weights, [1, 0])
    assert present == 1


@pytest.mark.parametrize("dtype", [">f4", "<f4"])
def test_float32_stays_float32(dtype):
    A = read(SMALL.astype(dtype))
    assert A.dtype == np.float32
    assert A.dtype.isnative
    assert_array_equal(A, SMALL)


def test_booleans_become_numbers():
    assert_array_equal(read([[True, False], [False, False]]), [[1.0, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_the_core_can_read_is_not_copied(dtype):
    base = SMALL.astype(dtype)
    frozen = base.copy()
    frozen.flags.writeable = False
    for X in (base, np.asfortranarray(base), base[::-1], base[:, ::-1], base[::2], base.T, frozen):
        assert read(X) is X


def test_memory_maps_are_read_in_place(tmp_path):
    np.save(tmp_path / "x.npy", SMALL)
    X = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.shares_memory(read(X), X)


def test_dlpack_is_read():
    class Tensor:
        def __init__(self, values):
            self.values = values

        def __dlpack__(self, **options):
            return self.values.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()

    assert_array_equal(read(Tensor(SMALL)), SMALL)


def test_the_input_is_never_changed():
    X = SMALL * np.pi
    before = X.copy()
    model = PCA(n_components=1, copy=False, scale=True).fit(X, sample_weight=[1, 2, 3])
    for method in ("transform", "reconstruct", "residuals", "squared_residuals", "score_samples"):
        getattr(model, method)(X)
    assert_array_equal(X, before)


# --- arrays that are refused --------------------------------------------------------------------------------


class OnDevice:
    def __dlpack__(self, **_):
        raise BufferError("not here")

    def __dlpack_device__(self):
        return (2, 0)


class Sparse:
    nnz = 1

    def toarray(self):
        return SMALL


BAD_ARRAYS = {
    "None": (None, TypeError, ["X", "2D array", "None"]),
    "string": ("text", TypeError, ["X", "2D array", "'text'"]),
    "scalar": (3.0, ValueError, ["X", "2D array", "3.0"]),
    "generator": ((row for row in SMALL), TypeError, ["X", "2D array", "generator"]),
    "1-D": (SMALL[0], ValueError, ["X", "2D array", "1D array of length 2", "Reshape your data"]),
    "3-D": (SMALL[None], ValueError, ["X", "dim 3", "(1, 3, 2)", "PCA"]),
    "no rows": (SMALL[:0], ValueError, ["X", "0 sample(s) (shape=(0, 2))", "minimum of 1", "PCA"]),
    "no columns": (
        SMALL[:, :0],
        ValueError,
        ["X", "0 feature(s) (shape=(3, 0)) while a minimum of 1 is required"],
    ),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, ["X", "rectangle", "rows differ"]),
    "complex": (SMALL + 0j, ValueError, ["X", "Complex data not supported", "complex128"]),
    "strings": ([["1", "2"], ["3", "4"]], TypeError, ["X", "<U1", "strings"]),
    "bytes": (np.array([[b"1"]]), TypeError, ["X", "|S1", "strings"]),
    "dates": (np.zeros((2, 2), "M8[s]"), TypeError, ["X", "datetime64[s]", "dates"]),
    "durations": (np.zeros((2, 2), "m8[s]"), TypeError, ["X", "timedelta64[s]", "dates"]),
    "records": (np.zeros(3, [("a", float), ("b", float)]), TypeError, ["X", "structured_to_unstructured"]),
    "structured": (np.zeros((2, 2), "f8,f8"), TypeError, ["X", "structured"]),
    "masked": (np.ma.masked_array(SMALL), TypeError, ["X", "masked", "X.filled"]),
    "sparse": (Sparse(), TypeError, ["X", "sparse", "X.toarray()"]),
    "device": (OnDevice(), TypeError, ["X", "device", "X.cpu()"]),
    "string object": (np.array([[1.0, "2"]], object), TypeError, ["X[0, 1]", "'2'"]),
    "dict object": (
        np.array([[1.0, {}]], object),
        TypeError,
        ["X[0, 1]", "dict", "argument must be a string or"],
    ),
    "None object": (np.array([[1.0, None]], object), ValueError, ["X[0, 1]", "missing", "NaN"]),
    "complex object": (np.array([[1j, 1.0]], object), ValueError, ["X[0, 0]", "Complex data not supported"]),
    "huge integer": ([[10**400, 1]], ValueError, ["X", "integer", "too large"]),
    "NaN": ([[1.0, np.nan], [2.0, 3.0]], ValueError, ["X", "NaN", "finite"]),
    "infinity": ([[1.0, -np.inf], [2.0, 3.0]], ValueError, ["X", "infinity", "finite"]),
    "beyond float64": (SMALL.astype(np.longdouble) * np.longdouble("1e4000"), ValueError, ["X", "infinity"]),
}


@pytest.mark.parametrize("bad", BAD_ARRAYS)
def test_refusals_name_the_argument_the_finding_and_the_wish(bad):
    X, error, parts = BAD_ARRAYS[bad]
    if bad == "beyond float64" and np.finfo(np.longdouble).max < 1e4000:
        pytest.skip("longdouble is float64 here")
    with pytest.raises(error, match=says(*parts)) as caught:
        PCA().fit(X)
    assert type(caught.value) in (TypeError, ValueError)


FITTED_METHODS = ["transform", "score", "score_samples", "reconstruct", "residuals", "squared_residuals"]


@pytest.mark.parametrize("method", [*FITTED_METHODS, "reconstruction_error"])
@pytest.mark.parametrize(
    ("X", "parts"),
    [
        ([[1.0, 2.0, 3.0]], ["X has 3 features, but PCA is expecting 2 features as input"]),
        ([[1.0, np.nan]], ["X", "NaN"]),
        ([1.0, 2.0], ["X", "Reshape your data"]),
        (SMALL[:0], ["X", "0 sample(s)"]),
    ],
    ids=["width", "NaN", "1-D", "no rows"],
)
def test_new_rows_are_refused_alike_everywhere(method, X, parts):
    model = PCA(n_components=1).fit(SMALL)
    with pytest.raises(ValueError, match=says(*parts)):
        getattr(model, method)(X)


def test_inverse_transform_wants_as_many_scores_as_components():
    model = PCA(n_components=1).fit(SMALL)
    with pytest.raises(ValueError, match=says("X has 2 features", "inverse_transform", "expecting 1")):
        model.inverse_transform(SMALL)


# --- sample weights -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "error", "parts"),
    [
        ([1.0, 2.0], ValueError, ["length 3", "(2,)"]),
        (np.ones((3, 1)), ValueError, ["1-D", "(3, 1)"]),
        ([1.0, -2.0, 1.0], ValueError, ["negative", "-2", "position 1"]),
        ([0.0, 0.0, 0.0], ValueError, ["zero for every row"]),
        ([1.0, np.nan, 1.0], ValueError, ["NaN", "finite"]),
        ([1.0, np.inf, 1.0], ValueError, ["infinity", "finite"]),
        (["a", "b", "c"], TypeError, ["<U1"]),
        ([0.25, 0.25, 0.5], ValueError, ["ddof"]),
    ],
    ids=["short", "2-D", "negative", "zero", "NaN", "infinite", "strings", "sum of 1"],
)
def test_weights_that_are_refused(weights, error, parts):
    with pytest.raises(error, match=says(*parts)):
        PCA(n_components=1).fit(SMALL, sample_weight=weights)
    with pytest.raises(error, match=says(*parts)):
        prinax.covariance(SMALL, sample_weight=weights)


@pytest.mark.parametrize("form", [list, tuple, np.float32, np.int8, ">f8", object, "strided", "frozen"])
def test_weights_of_any_form(form):
    w = np.array([1, 3, 2])
    if form == "strided":
        given = np.repeat(w, 2).astype(float)[::-2][::-1]
    elif form == "frozen":
        given = w.astype(float)
        given.flags.writeable = False
    else:
        given = form(w.tolist()) if form in (list, tuple) else w.astype(form)
    assert_array_equal(
        PCA().fit(SMALL, sample_weight=given).components_,
        PCA().fit(SMALL, sample_weight=w.astype(float)).components_,
    )


def test_rows_of_weight_zero_are_not_counted():
    with pytest.raises(ValueError, match=says("n_components=2", "min(n_samples, n_features)=1", "1 sample")):
        PCA(n_components=2, ddof=0).fit(SMALL, sample_weight=[0, 3, 0])
    assert PCA(n_components=1).fit(SMALL, sample_weight=[1, 0, 2]).n_samples_ == 2
