"""KernelPCA.transform in one crossing, and where it looks closer: the same bits and the same refusals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from prinax import KernelPCA, KernelSPCA, NotFittedError

pytestmark = pytest.mark.numeric

KERNELS = ["linear", "poly", "rbf", "sigmoid", "cosine", "laplacian"]


@pytest.fixture
def model(rng):
    return KernelPCA(3, kernel="rbf", gamma=0.1).fit(rng.standard_normal((40, 6)))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("m", [1, 3, 50])
def test_rows_in_any_form_have_the_same_scores(m, kernel, dtype, rng):
    X, rows = (rng.standard_normal((n, 6)).astype(dtype) for n in (40, m))
    model = KernelPCA(3, kernel=kernel, gamma=0.01).fit(X)
    plain = model.transform(rows)
    assert plain.dtype == dtype
    wide = np.zeros((m, 12), dtype)
    wide[:, ::2] = rows
    for other in (
        wide[:, ::2],
        np.asfortranarray(wide[:, ::2]),
        rows.view(np.recarray),
        rows.astype(rows.dtype.newbyteorder()),
    ):
        assert_array_equal(model.transform(other), plain)


def test_a_row_of_another_dtype_meets_training_rows_of_its_own(model, rng):
    row = rng.standard_normal((1, 6)).astype("f4")
    scores = model.transform(row)
    assert scores.dtype == np.float32
    assert_allclose(scores, model.transform(row.astype(float)), rtol=1e-6)


def test_edited_arrays_are_honoured(model, rng):
    row = rng.standard_normal((1, 6))
    scores = model.transform(row)
    model.eigenvectors_ = np.ascontiguousarray(model.eigenvectors_)
    assert_array_equal(model.transform(row), scores)
    model.eigenvectors_ = np.asfortranarray(model.eigenvectors_[:, ::-1])
    model.eigenvalues_ = 4 * model.eigenvalues_[::-1]
    assert_allclose(model.transform(row), scores[:, ::-1] / 2, rtol=1e-12)
    model.eigenvalues_ = np.ascontiguousarray(model.eigenvalues_)
    assert_allclose(model.transform(row), scores[:, ::-1] / 2, rtol=1e-12)
    # The same rows, each beside the other's coefficients.
    order = rng.permutation(40)
    model.X_fit_, model._means = model.X_fit_[order], model._means[order]
    model.eigenvectors_ = np.asfortranarray(model.eigenvectors_[order])
    assert_allclose(model.transform(row), scores[:, ::-1] / 2, rtol=1e-12)


@pytest.mark.parametrize("m", [1, 30])
def test_fitted_rows_that_are_no_numbers_any_more_are_refused_by_name(m, rng):
    X = rng.standard_normal((40, 6))
    models = [
        KernelPCA(3, kernel="rbf", gamma=0.1, fit_inverse_transform=True).fit(X),
        KernelSPCA(2, kernel="rbf", gamma=0.1).fit(X, np.arange(40) % 3),
    ]
    for model in models:
        model.X_fit_[3, 2] = np.nan
        with pytest.raises(ValueError, match="Input X_fit_ contains NaN"):
            model.transform(rng.standard_normal((m, 6)))
    models[0].X_transformed_fit_[3, 2] = np.inf
    with pytest.raises(ValueError, match="Input X_transformed_fit_ contains infinity"):
        models[0].inverse_transform(rng.standard_normal((m, 3)))


def test_edited_arrays_that_do_not_fit_are_refused_by_name(model, rng):
    row = rng.standard_normal((1, 6))
    values = model.eigenvalues_
    model.eigenvalues_ = values[:2].copy()
    with pytest.raises(ValueError, match="eigenvalues_"):
        model.transform(row)
    model.eigenvalues_, model.X_fit_ = values, model.X_fit_[:-1].copy()
    with pytest.raises(ValueError, match="X_fit_"):
        model.transform(row)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (np.zeros((1, 5)), "X has 5 features, but KernelPCA is expecting 6 features as input"),
        (np.zeros((0, 6)), "minimum of 1"),
        (np.zeros(6), "2D array"),
        (np.full((1, 6), np.nan), "Input X contains NaN"),
        (np.array([[0.0, 0, 0, 0, 0, np.inf]]), "Input X contains infinity"),
    ],
)
def test_rows_that_do_not_fit_are_refused_with_a_sentence(model, rows, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.transform(rows)


def test_nothing_comes_before_a_fit():
    with pytest.raises(NotFittedError, match="KernelPCA instance is not fitted yet"):
        KernelPCA(kernel="rbf").transform(np.zeros((1, 6)))
