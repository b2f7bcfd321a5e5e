"""SPCA: what is refused and in which words, and its conduct as an estimator."""

import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from prinax import SPCA, KernelSPCA
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

pytestmark = pytest.mark.numeric

# --- sentences ----------------------------------------------------------------------------------------------


def test_more_components_than_the_rank_are_refused_by_name(X, labels, rng):
    with pytest.raises(ValueError, match="n_components=4 is more than the rank 3"):
        SPCA(4).fit(X, labels)
    with pytest.raises(ValueError, match="n_components=2 is more than the rank 1"):
        SPCA(2).fit(X, rng.standard_normal(60))
    with pytest.raises(ValueError, match="n_components=9 is more than the rank 5"):
        SPCA(9, target_kernel="identity").fit(X)
    assert SPCA().fit(X, labels).rank_ == 3


REFUSED = {
    "one class": ({}, np.zeros(60, int), "a single class"),
    "one name": ({}, ["a"] * 60, "a single class"),
    "constant": ({}, np.full(60, 0.1), "y must be a target that varies"),
    "constant for rbf": ({"target_kernel": "rbf"}, np.full(60, 0.1), "y must be a target that varies"),
    "NaN": ({}, np.r_[np.nan, np.ones(59)], "y contains NaN"),
    "missing name": ({}, [None, *["a", "b"] * 29, "a"], "y contains NaN or a missing label"),
    "complex": ({}, np.arange(60) * 1j, "Complex data not supported"),
    "complex objects": ({}, np.array([1j, *[2.0] * 59], object), r"Complex data .* y\[0, 0\] is 1j"),
    "Decimal NaN": ({}, [Decimal("NaN"), *[Decimal(3)] * 59], "y contains NaN"),
    "NaN as a label": ({"target_kernel": "delta"}, [Decimal("sNaN"), *[Decimal(3)] * 59], "y contains NaN"),
    "infinity": ({}, np.r_[np.inf, np.ones(59)], "Input y contains infinity"),
    "too short": ({}, np.arange(59), "y has 59 samples, but X has 60"),
    "none": ({}, None, "requires y to be passed, but the target y is None"),
    "cube": ({}, np.zeros((60, 2, 2)), "shape"),
    "not square": ({"target_kernel": "precomputed"}, np.zeros((60, 59)), "square"),
    "wrong size": ({"target_kernel": "precomputed"}, np.eye(59), "y has 59 samples, but X has 60"),
    "not symmetric": (
        {"target_kernel": "precomputed"},
        np.tri(60),
        r"y must be symmetric, got entry \(1, 0\) = 1",
    ),
    "indefinite": ({"target_kernel": "precomputed"}, np.diag(np.r_[np.ones(59), -9]), "semidefinite"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_targets_that_cannot_serve(X, case):
    params, y, sentence = REFUSED[case]
    model = SPCA(**params)
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y)
    assert vars(model).keys() == SPCA().get_params().keys()


@pytest.mark.parametrize(
    ("params", "error", "sentence"),
    [
        ({"n_components": 0}, ValueError, "n_components must be an integer of at least 1, got 0"),
        ({"n_components": True}, TypeError, "n_components must be an integer"),
        ({"n_components": 0.5}, TypeError, "n_components must be an integer"),
        ({"target_kernel": "poly"}, ValueError, "target_kernel must be one of 'auto', 'delta'"),
        ({"target_kernel": 3}, TypeError, "target_kernel must be one of"),
        ({"target_gamma": -1}, ValueError, "target_gamma must be"),
        ({"center": 1}, TypeError, "center must be True or False"),
        ({"solver": "eigen"}, ValueError, "solver must be one of 'auto', 'direct', 'dual', got 'eigen'"),
    ],
)
def test_parameters_are_named(X, labels, params, error, sentence):
    with pytest.raises(error, match=sentence):
        SPCA(**params).fit(X, labels)


def test_data_without_a_direction(labels):
    for X in (np.full((60, 3), 0.1), np.zeros((60, 2))):
        with pytest.raises(ValueError, match="X must be data that vary with y"):
            SPCA().fit(X, labels)
    bad = np.ones((60, 3))
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        SPCA().fit(bad, labels)


def test_few_samples():
    with pytest.raises(ValueError, match=r"X with 1 sample\(s\) .* a minimum of 2"):
        SPCA().fit([[1.0, 2.0]], [0])
    two = SPCA().fit([[1.0, 2.0], [4.0, 6.0]], ["a", "b"])
    assert_allclose(two.components_, [[0.6, 0.8]], rtol=1e-15)
    three = SPCA().fit([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [0, 1, 2])
    assert three.rank_ == 2


# --- numbers and labels of any container --------------------------------------------------------------------

QUARTERS = np.random.default_rng(3).integers(1, 40, 60) / 4  # exact as Decimal and as Fraction
KINDS = {"float": float, "Decimal": Decimal, "Fraction": Fraction, "longdouble": np.longdouble}


def of(kind, values=QUARTERS):
    """The same numbers as Python objects of one type."""
    return np.array([KINDS[kind](float(v)) for v in values], dtype=object)


@pytest.mark.parametrize("model", [SPCA, KernelSPCA])
@pytest.mark.parametrize("target_kernel", ["auto", "linear", "rbf"])
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_any_type_are_numbers(X, model, target_kernel, kind):
    expected = model(target_kernel=target_kernel).fit(X, QUARTERS)
    ours = of(kind)
    for y in (ours, ours.tolist(), ours[:, None], np.r_[of(kind, QUARTERS[:59]), [QUARTERS[59]]]):
        found = model(target_kernel=target_kernel).fit(X, y)
        assert (found.rank_, found.hsic_) == (expected.rank_, expected.hsic_)
    two = np.column_stack([ours, ours[::-1]])
    assert_array_equal(
        model(target_kernel=target_kernel).fit(X, two).eigenvalues_,
        model(target_kernel=target_kernel).fit(X, two.astype(float)).eigenvalues_,
    )


def test_integers_beside_other_numbers_are_numbers_and_beside_strings_labels(X, labels):
    whole = np.array(labels.tolist(), object)
    assert SPCA().fit(X, whole).rank_ == 3  # integers alone are four classes
    assert SPCA(target_kernel="linear").fit(X, whole).rank_ == 1
    for other in (0.5, Decimal("0.5"), Fraction(1, 2)):
        y = np.array([other, *labels.tolist()[1:]], object)
        assert SPCA().fit(X, y).hsic_ == SPCA().fit(X, y.astype(float)).hsic_
    for other in ("a", b"a", True, np.True_):
        y = np.array([other, *(labels[1:] + 2).tolist()], object)
        assert SPCA().fit(X, y).rank_ == 4  # five classes
    by_kind = SPCA(target_kernel="delta").fit(X, of("Decimal"))
    assert (
        by_kind.hsic_ == SPCA(target_kernel="delta").fit(X, np.unique(QUARTERS, return_inverse=True)[1]).hsic_
    )


def decimals(library):
    module, values = pytest.importorskip(library), of("Decimal").tolist()
    if library == "polars":
        return [module.Series(values), module.DataFrame({"y": values})]
    if library == "pyarrow":
        return [module.array(values), module.table({"y": values})]
    arrow = module.Series(values, dtype=module.ArrowDtype(pytest.importorskip("pyarrow").decimal128(9, 2)))
    return [module.Series(values), module.DataFrame({"y": values}), arrow]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_decimals_are_numbers(X, library):
    expected = SPCA().fit(X, QUARTERS)
    for y in decimals(library):
        assert SPCA().fit(X, y).hsic_ == expected.hsic_


def categories(library, values):
    """A column of categories and the frame that has it alone."""
    module = pytest.importorskip(library)
    if library == "pandas":
        column = module.Series(values, dtype="category")
        return column, column.to_frame("y")
    if library == "polars":
        column = module.Series("y", values, dtype=module.Enum(sorted(set(values))))
        return column, column.to_frame()
    column = module.array(values).dictionary_encode()
    return column, module.table({"y": column})


@pytest.mark.parametrize(
    ("library", "names"),
    [
        ("pandas", "abcd"),
        ("pandas", [0, 1, 2, 3]),
        ("pandas", [0.5, 1.5, 2.0, 9.0]),
        ("polars", "abcd"),
        ("pyarrow", "abcd"),
        ("pyarrow", [0.5, 1.5, 2.0, 9.0]),
    ],
    ids=str,
)
@pytest.mark.parametrize("target_kernel", ["auto", "delta", "linear"])
def test_a_frame_of_one_category_column_is_that_column(X, labels, library, names, target_kernel):
    expected = SPCA().fit(X, labels)
    for y in categories(library, [names[label] for label in labels]):
        assert_allclose(SPCA(target_kernel=target_kernel).fit(X, y).hsic_, expected.hsic_, rtol=1e-13)


def test_several_category_columns_are_one_hot(X, labels, rng):
    pandas = pytest.importorskip("pandas")
    other = rng.integers(0, 3, 60)
    one_hot = np.column_stack([np.equal.outer(labels, range(4)), np.equal.outer(other, range(3))])
    y = pandas.DataFrame({"a": labels, "b": other}).astype("category")
    assert_allclose(SPCA().fit(X, y).hsic_, SPCA().fit(X, one_hot.astype(float)).hsic_, rtol=1e-13)


# --- the estimator ------------------------------------------------------------------------------------------


def test_in_a_pipeline_with_its_target(X, labels):
    from sklearn.neighbors import KNeighborsClassifier

    pipe = make_pipeline(SPCA(2), KNeighborsClassifier(1)).fit(X, labels)
    assert pipe.score(X, labels) > 0.9
    twin = clone(pipe[0].set_params(n_components=1)).fit(X, labels)
    assert twin.components_.shape == (1, 5)


def test_frozen_scores_are_those_of_the_model(X, labels):
    model = SPCA(2).fit(X, labels)
    assert_array_equal(model.freeze()(X), model.transform(X))
    assert_array_equal(model.freeze()(X[3]), model.transform(X[3:4])[0])


def test_a_failed_fit_changes_nothing(X, labels):
    model = SPCA().fit(X, labels)
    before = dict(vars(model))
    for y in (np.zeros(60, int), labels[:9], None, np.zeros((60, 2, 2))):
        with pytest.raises((ValueError, TypeError)):
            model.fit(X, y)
    assert all(vars(model)[name] is value for name, value in before.items())


def test_no_warnings_and_no_weights(X, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SPCA().fit(X, labels).transform(X)
    with pytest.raises(TypeError, match="takes no sample_weight"):
        SPCA().set_fit_request(sample_weight=True)
