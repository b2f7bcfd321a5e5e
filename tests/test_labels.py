"""Labels of any type under the delta kernel: which are equal, and which are missing."""

import numpy as np
import prinax
import pytest
from numpy.testing import assert_array_equal
from prinax import kernel_matrix

LABELS = {
    "strings": ["b", "a", "b", "c"],
    "bytes": np.array([b"b", b"a", b"b", b"c"]),
    "integers": [7, 3, 7, 2**60],
    "near integers": np.array([2**60, 2**60 + 1, 2**60, 2**60 + 2]),
    "booleans and integers": [1, 0, True, 5],
    "floats": [0.5, -1.0, 0.5, 3.0],
    "objects": np.array([("x", 1), None.__class__, ("x", 1), 3.5], dtype=object)[[0, 1, 0, 3]],
    "mixed": ["1", 1, "1", "c"],
    "dates": np.array(["2020-01-01", "2021-01-01", "2020-01-01", "2022-01-01"], "M8[D]"),
    "one-hot": np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]]),
    "pairs of strings": [["a", "x"], ["a", "y"], ["a", "x"], ["b", "x"]],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
def test_equal_labels_of_any_type(labels):
    expected = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1.0]])
    assert_array_equal(kernel_matrix(labels, kernel="delta"), expected)
    assert_array_equal(kernel_matrix(labels[::-1], labels[:2], kernel="delta"), expected[::-1, :2])


STRINGS = getattr(getattr(np, "dtypes", None), "StringDType", None)  # NumPy 2


@pytest.mark.skipif(STRINGS is None, reason="NumPy 1")
@pytest.mark.parametrize("missing", [np.nan, None])
def test_strings_of_any_width(missing):
    labels = np.array(["a", "b", missing, "a"], dtype=STRINGS(na_object=missing))
    for arguments in ((labels,), (labels[:2], labels)):
        with pytest.raises(ValueError, match="contains NaN or a missing label"):
            kernel_matrix(*arguments, kernel="delta")
    assert_array_equal(kernel_matrix(labels[:2], kernel="delta"), np.eye(2))
    assert_array_equal(kernel_matrix(labels[:2], ["b", "a"], kernel="delta"), [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="Input y contains NaN or a missing label"):
        prinax.SPCA().fit(np.eye(4), labels)


@pytest.mark.parametrize("unit", ["D", "ns"])
@pytest.mark.parametrize("kind", [np.datetime64, np.timedelta64])
def test_a_missing_time_among_objects_is_refused(kind, unit):
    missing = kind("NaT", unit)
    with pytest.raises(ValueError, match="contains NaN or a missing label"):
        kernel_matrix(np.array(["a", missing, "b"], dtype=object), kernel="delta")


def test_equal_times_of_any_unit_are_equal():
    days = ["2020-01-01", "1969-07-20", "2020-01-02", "2020-01-01"]
    right = np.equal.outer(days, days[::-1]).astype(float)
    sets = [np.array(days, f"M8[{unit}]") for unit in ("D", "h", "m", "s", "25s", "ms", "us", "ns")]
    sets += [sets[0].astype(object), sets[3].astype(object), np.array([*sets[7], 0], dtype=object)[:4]]
    for a in sets:
        for b in sets:
            if "O" in (a.dtype.kind, b.dtype.kind) and a.dtype.kind == b.dtype.kind:
                continue  # Python's own date is no datetime
            assert_array_equal(kernel_matrix(a, b[::-1], kernel="delta"), right)
    years = [np.array(["1970", "2020", "3000"], f"M8[{unit}]") for unit in ("Y", "M", "D", "s")]
    for a in years:
        for b in years:
            assert_array_equal(kernel_matrix(a, b, kernel="delta"), np.eye(3))
    # Beside the year 3000, which has no nanoseconds: they would be those of 1830.
    nanoseconds = np.array(["1830-11-23T00:50:52.580896768", "1970-01-01"], "M8[ns]")
    assert_array_equal(kernel_matrix(nanoseconds, years[3], kernel="delta"), [[0, 0, 0], [1, 0, 0]])
    day = np.datetime64("2020-01-01")
    mixed = np.array([day, day.astype("M8[ns]"), "2020-01-01"], dtype=object)
    assert_array_equal(kernel_matrix(mixed, kernel="delta"), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])


def test_a_time_is_no_number():
    spans = np.array([1, 2], "m8[ns]")
    for other in ([1, 2], np.array([1, 2], "M8[ns]"), np.array([1, 2], "m8[s]"), np.array([1, 2], "m8[M]")):
        assert_array_equal(kernel_matrix(spans, other, kernel="delta"), np.zeros((2, 2)))
    assert_array_equal(kernel_matrix(spans, np.array([2000, 1], "m8[ps]"), kernel="delta"), [[0, 0], [1, 0]])
    assert_array_equal(
        kernel_matrix(np.array([1], "m8[Y]"), np.array([12, 1], "m8[M]"), kernel="delta"), [[1, 0]]
    )


def test_times_of_pandas_among_objects_are_those_of_numpy():
    pandas = pytest.importorskip("pandas")
    times = np.array(["2020-01-01T00:00:00.000000001", "2020-01-01"], "M8[ns]")
    objects = np.array([pandas.Timestamp(times[0]), pandas.Timestamp(times[1])], dtype=object)
    assert_array_equal(kernel_matrix(times, objects, kernel="delta"), np.eye(2))
    zoned = np.array([time.tz_localize("UTC") for time in objects], dtype=object)
    assert_array_equal(kernel_matrix(times, zoned, kernel="delta"), np.zeros((2, 2)))


def test_labels_in_frames():
    pandas = pytest.importorskip("pandas")
    expected = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1.0]])
    series = pandas.Series(["b", "a", "b"])
    for labels in (series, series.astype("category"), series.to_frame(), pandas.Categorical(series)):
        assert_array_equal(kernel_matrix(labels, kernel="delta"), expected)
    with pytest.raises(ValueError, match="missing label"):
        kernel_matrix(pandas.Series(["b", None, "b"]), kernel="delta")
    polars = pytest.importorskip("polars")
    for labels in (polars.Series(["b", "a", "b"]), polars.DataFrame({"y": ["b", "a", "b"]})):
        assert_array_equal(kernel_matrix(labels, kernel="delta"), expected)


def test_wrong_labels_are_refused():
    with pytest.raises(ValueError, match=r"Y has 2 features, but kernel_matrix is expecting 1"):
        kernel_matrix(["a"], [["a", "b"]], kernel="delta")
    with pytest.raises(TypeError, match="X must be labels, one for each sample, got 'a'"):
        kernel_matrix("a", kernel="delta")
    with pytest.raises(TypeError, match="X must hold labels, got a list among them"):
        kernel_matrix(np.array([["a"], [[]]], dtype=object)[:, 0], kernel="delta")
    with pytest.raises(ValueError, match="minimum of 1 label"):
        kernel_matrix([], kernel="delta")
