"""Tables in: names are checked, missing values named, text is refused; tables out when asked for."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from prinax import PCA, IncrementalPCA, covariance

NAMES = ["height", "width", "depth", "weight"]
VALUES = np.random.default_rng(0).standard_normal((30, 4)) * [4, 3, 2, 1] + 10
TABLES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas nullable": lambda X: pd.DataFrame(X, columns=NAMES).astype("Float64"),
    "pandas on Arrow": lambda X: pd.DataFrame(X, columns=NAMES).astype("float64[pyarrow]"),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "pyarrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
}
tables = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())


@tables
def test_a_table_is_its_values(table):
    expected = PCA(2).fit(VALUES)
    model = PCA(2).fit(table(VALUES))
    assert_allclose(model.components_, expected.components_, rtol=0, atol=1e-13)
    assert_array_equal(model.feature_names_in_, np.array(NAMES, object))
    assert_allclose(
        np.asarray(model.transform(table(VALUES))), expected.transform(VALUES), rtol=0, atol=1e-12
    )
    assert_allclose(covariance(table(VALUES)), np.cov(VALUES.T), rtol=1e-12)


@tables
def test_float32_tables_stay_float32(table):
    found = table(VALUES.astype("f4"))
    if isinstance(found, pd.DataFrame):
        found = found.astype(
            {"Float64": "Float32", "double[pyarrow]": "float[pyarrow]"}.get(str(found.dtypes.iloc[0]), "f4")
        )
    assert PCA(2).fit(found).components_.dtype == np.float32


@tables
def test_other_names_or_another_order_are_refused_at_transform(table):
    """byu-dml/metalearn#68; kassambara/factoextra#273: columns that silently changed places."""
    model = PCA(2).fit(table(VALUES))
    frame = pd.DataFrame(VALUES, columns=NAMES)
    for wrong in (frame[NAMES[::-1]], frame.rename(columns={"depth": "length"}), frame.iloc[:, :3]):
        with pytest.raises(ValueError, match=r"feature names|features"):
            model.transform(wrong)


@tables
def test_a_list_of_tables_is_a_list_of_batches(table):
    expected = PCA(2).fit(VALUES)
    parts = [table(VALUES[:11]), table(VALUES[11:])]
    for batches in (parts, tuple(parts), iter(parts)):
        model = IncrementalPCA(2).fit(batches)
        assert model.n_samples_seen_ == 30
        assert_allclose(model.components_, expected.components_, rtol=0, atol=1e-13)
        assert_array_equal(model.feature_names_in_, np.array(NAMES, object))
    with pytest.raises(ValueError, match="feature names"):
        IncrementalPCA(2).fit([parts[0], pd.DataFrame(VALUES, columns=NAMES[::-1])])
    with pytest.raises(TypeError, match="X must be an array to be transformed"):
        IncrementalPCA(2).fit_transform(parts)


def test_record_batches_are_batches():
    table = pa.table(dict(zip(NAMES, VALUES.T, strict=True)))
    batches = table.to_batches(max_chunksize=7)
    expected = IncrementalPCA(2).fit(table).components_
    for found in (batches, pa.RecordBatchReader.from_batches(table.schema, batches)):
        assert_allclose(IncrementalPCA(2).fit(found).components_, expected, rtol=0, atol=1e-13)


def test_names_on_one_side_only_are_warned_about():
    frame = pd.DataFrame(VALUES, columns=NAMES)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        PCA(2).fit(frame).transform(VALUES)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        PCA(2).fit(VALUES).transform(frame)


@pytest.mark.parametrize("dtype", ["Float64", "Int64", "boolean", "float64[pyarrow]"])
def test_a_missing_value_of_a_nullable_column_is_called_nan(dtype):
    frame = pd.DataFrame({"a": pd.array([1, None, 0], dtype=dtype), "b": [1.0, 2.0, 4.0]})
    for call in (PCA(1).fit, covariance):
        with pytest.raises(ValueError, match="NaN"):
            call(frame)


def test_missing_values_of_polars_and_arrow_are_called_nan():
    for frame in (pl.DataFrame({"a": [1.0, None, 2.0]}), pa.table({"a": [1.0, None, 2.0]})):
        with pytest.raises(ValueError, match="NaN"):
            PCA(1).fit(frame)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["1", "2", "3"]),
        pd.Series(["1", "2", "3"], dtype=object),
        pd.Series(["1", "2", "3"], dtype="string"),
        pd.Series(["1", "2", "3"], dtype="category"),
        pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"])),
        pd.Series(pd.to_timedelta([1, 2, 3], unit="s")),
        pd.Series([1 + 1j, 2, 3]),
    ],
    ids=["str", "object", "string", "category", "date", "duration", "complex"],
)
def test_columns_that_are_no_numbers_are_refused(column):
    frame = pd.DataFrame({"a": column, "b": [1.0, 2.0, 4.0]})
    with pytest.raises((ValueError, TypeError)):
        PCA(1).fit(frame)


def test_mixed_column_labels_are_refused():
    with pytest.raises(TypeError, match="string names"):
        PCA(1).fit(pd.DataFrame(VALUES, columns=["a", 1, "b", 2]))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output_gives_named_scores(kind):
    frame = pd.DataFrame(VALUES, columns=NAMES, index=np.arange(30) * 2)
    model = PCA(2).set_output(transform=kind).fit(frame)
    scores = model.transform(frame)
    assert list(scores.columns) == ["pca0", "pca1"]
    assert_array_equal(np.asarray(scores), PCA(2).fit(VALUES).transform(VALUES))
    if kind == "pandas":
        assert_array_equal(scores.index, frame.index)
