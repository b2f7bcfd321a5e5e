"""Data frames as input: what is read as numbers, and what is refused with a sentence."""

from decimal import Decimal

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from prinax import PCA, SPCA, _validation
from wording import says

SMALL = np.array([[1.0, 2.0], [4.0, 3.0], [5.0, 9.0]])


def read(X):
    return _validation.matrix(X, "PCA")


def pandas_frame(**columns):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({name: pandas.Series(v, dtype=t) for name, (v, t) in columns.items()})


@pytest.mark.parametrize(
    ("types", "dtype"),
    [
        (("float64", "float64"), np.float64),
        (("float32", "float32"), np.float32),
        (("Float32", "float32"), np.float32),
        (("float32", "int16"), np.float64),
        (("float64", "bool"), np.float64),
        (("Float64", "Int64"), np.float64),
        (("boolean", "uint8"), np.float64),
        (("object", "float64"), np.float64),
        (("float[pyarrow]", "float[pyarrow]"), np.float32),
        (("double[pyarrow]", "int8[pyarrow]"), np.float64),
        (("Sparse[float64]", "float64"), np.float64),
    ],
    ids=str,
)
def test_pandas_columns_of_numbers(types, dtype):
    if "pyarrow" in types[0]:
        pytest.importorskip("pyarrow")
    A = read(pandas_frame(a=([1, 0, 1], types[0]), b=([0, 1, 1], types[1])))
    assert A.dtype == dtype
    assert_array_equal(A, [[1, 0], [0, 1], [1, 1]])


QUARTERS = [1.5, -0.25, 1.5]


def odd_pandas_column(kind):
    """QUARTERS, or for integers and bools what they say, in a type that NumPy knows as objects."""
    pandas = pytest.importorskip("pandas")
    match kind:
        case "floats":
            return pandas.Series(QUARTERS, dtype="category"), QUARTERS
        case "integers":
            return pandas.Series([7, 2**60, 7], dtype="category"), [7, 2**60, 7]
        case "bools":
            return pandas.Series([True, False, True], dtype="category"), [1, 0, 1]
        case "nullable":
            return pandas.Series([7, 8, 7], dtype="Int64").astype("category"), [7, 8, 7]
    arrow = pytest.importorskip("pyarrow")
    if kind == "dictionary":
        values = arrow.array(QUARTERS).dictionary_encode()
    else:
        values = arrow.array(map(Decimal, QUARTERS), getattr(arrow, kind)(9, 2))
    return pandas.Series(pandas.arrays.ArrowExtensionArray(values)), QUARTERS


@pytest.mark.parametrize(
    "kind", ["floats", "integers", "bools", "nullable", "decimal128", "decimal256", "dictionary"]
)
def test_pandas_categories_and_decimals_that_are_numbers(kind):
    column, expected = odd_pandas_column(kind)
    alone = column.to_frame("a")
    assert_array_equal(read(alone), np.transpose([expected]))
    for other in (np.float32([0, 2, 4]), np.array([0, 2, 4], object)):
        A = read(alone.assign(b=other))
        assert A.dtype == np.float64
        assert_array_equal(A, np.transpose([expected, [0, 2, 4]]))
    alone.iloc[1, 0] = None
    with pytest.raises(ValueError, match=says("X", "missing values", "NaN", "column 'a'")):
        read(alone)


@pytest.mark.parametrize("kind", ["Int128", "UInt128"])
def test_integers_of_128_bits_are_read_as_float64(kind):
    polars = pytest.importorskip("polars")
    if not hasattr(polars, kind):
        pytest.skip(f"this polars has no {kind}")
    wide = polars.Series("a", [2**100, 3, 2**53], dtype=getattr(polars, kind))
    for others in ([], [polars.Series("b", [1, 2, 3], dtype=polars.Float32)], [wide.alias("b")]):
        A = read(polars.DataFrame([wide, *others]))
        assert A.dtype == np.float64
        assert_array_equal(A[:, 0], [2.0**100, 3.0, 2.0**53])
    with pytest.raises(TypeError, match=says("y", "128")):
        SPCA().fit(SMALL, wide.to_frame())


def test_pandas_of_one_dtype_is_not_copied():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(SMALL)
    assert np.shares_memory(read(X), X.to_numpy())


@pytest.mark.parametrize(
    ("column", "error", "parts"),
    [
        ((["1", "2"], "object"), TypeError, ["X[0, 1]", "'1'"]),
        ((["1", "2"], "string"), TypeError, ["X", "column 'b'", "string"]),
        ((["1", "2"], "category"), TypeError, ["X", "column 'b'", "category"]),
        (([1, "2"], "category"), TypeError, ["X", "column 'b'", "category"]),
        ((["2020-01-01", "2020-01-02"], "datetime64[ns]"), TypeError, ["X", "column 'b'", "datetime64"]),
        (([1.0, None], "Float64"), ValueError, ["X", "missing values", "NaN", "column 'b'"]),
        (([1, None], "Int64"), ValueError, ["X", "missing values", "NaN", "column 'b'"]),
        (([1.0, None], "float64"), ValueError, ["X", "NaN"]),
    ],
    ids=str,
)
def test_pandas_columns_that_are_refused(column, error, parts):
    with pytest.raises(error, match=says(*parts)):
        PCA().fit(pandas_frame(a=([1.0, 2.0], "float64"), b=column))


def test_columns_may_have_any_name():
    X = pandas_frame(mask=([1.0, 2.0], "f8"), filled=([1.0, 3.0], "f8"), nnz=([0.0, 1.0], "f8"))
    assert read(X).shape == (2, 3)
    assert _validation.column_names(X).tolist() == ["mask", "filled", "nnz"]


def test_names_must_all_be_strings_or_none():
    pandas = pytest.importorskip("pandas")
    assert _validation.column_names(pandas.DataFrame(SMALL)) is None
    with pytest.raises(TypeError, match=says("Feature names", "'int'", "'str'")):
        PCA().fit(pandas.DataFrame(SMALL, columns=["a", 1]))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_decimal_columns_are_numbers(library):
    module = pytest.importorskip(library)
    columns = {"a": [Decimal("1.5"), Decimal("-0.25")], "b": [Decimal("2"), Decimal("3")]}
    A = read(module.DataFrame(columns) if library == "polars" else module.table(columns))
    assert_array_equal(A, [[1.5, 2.0], [-0.25, 3.0]])


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_frames(library):
    module = pytest.importorskip(library)

    def make(**columns):
        return module.DataFrame(columns) if library == "polars" else module.table(columns)

    def single(values):
        if library == "polars":
            return module.Series(values, dtype=module.Float32)
        return module.array(values, module.float32())

    mixed = make(a=[1.5, 2.5], b=[True, False], c=[3, 4])
    assert_array_equal(read(mixed), [[1.5, 1.0, 3.0], [2.5, 0.0, 4.0]])
    assert read(mixed).dtype == np.float64
    assert _validation.column_names(mixed).tolist() == ["a", "b", "c"]
    assert read(make(a=single([1.0, 2.0]), b=single([3.0, 4.0]))).dtype == np.float32
    assert read(make(a=single([1.0, 2.0]), b=[3, 4])).dtype == np.float64
    with pytest.raises(TypeError, match=says("X", "column 'b'", "numbers")):
        read(make(a=[1.0], b=["x"]))
    with pytest.raises(ValueError, match=says("X", "missing values", "NaN", "column 'b'")):
        read(make(a=[1.0, 2.0], b=[1, None]))


@pytest.mark.parametrize("make", ["table", "record_batch"])
def test_dictionaries_of_numbers(make):
    arrow = pytest.importorskip("pyarrow")
    make = getattr(arrow, make)
    column = arrow.array(QUARTERS).dictionary_encode()
    assert_array_equal(read(make({"a": column, "b": arrow.array([1, 2, 3])})), np.c_[QUARTERS, [1, 2, 3]])
    with pytest.raises(TypeError, match=says("X", "column 'a'", "string", "numbers")):
        read(make({"a": arrow.array(["x", "y"]).dictionary_encode()}))


class Eager:
    """What a narwhals DataFrame has, of what is looked at: it knows its schema and its rows."""

    columns = ("a", "b")
    shape = SMALL.shape

    def collect_schema(self):
        return {"a": float, "b": float}

    schema = property(collect_schema)

    def __array__(self, dtype=None, copy=None):
        return np.array(SMALL, dtype)


class Lazy:
    """A narwhals LazyFrame: it knows its schema only."""

    collect_schema = Eager.collect_schema


def test_a_frame_with_rows_is_not_lazy():
    model = PCA(1).fit(Eager())
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert_array_equal(model.components_, PCA(1).fit(SMALL).components_)
    with pytest.raises(TypeError, match=says("X", "lazy", "X.collect()")):
        PCA().fit(Lazy())


def test_lazy_frames_are_asked_to_collect():
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=says("X", "lazy", "X.collect()")):
        PCA().fit(polars.DataFrame(SMALL).lazy())
