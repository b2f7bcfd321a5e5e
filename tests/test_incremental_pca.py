"""IncrementalPCA: equal to PCA of all rows at once, however they come."""

import pickle

import numpy as np
import prinax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from prinax import PCA, IncrementalPCA, Moments
from streams import assert_same_model, six_columns, streamed

pytestmark = pytest.mark.numeric

DTYPES = [np.float32, np.float64]


@pytest.fixture
def X(rng):
    return six_columns(rng)


# --- equal to PCA -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[120], [1] * 120, [119, 1], [1, 119], [3, 50, 67], [2] * 60])
@pytest.mark.parametrize("k", [None, 1, 4, 6, 0.9])
def test_a_stream_is_pca_of_all_rows(X, sizes, k):
    model, right = streamed(X, sizes, n_components=k), PCA(k).fit(X)
    assert_same_model(model, right)
    assert_allclose(model.transform(X), right.transform(X), atol=1e-11)
    assert model.n_samples_seen_ == 120
    assert model.n_components_ == right.n_components_
    assert_allclose(model.var_, X.var(axis=0))
    assert_allclose(model.get_covariance(), right.get_covariance(), atol=1e-11)
    assert_allclose(model.score(X), right.score(X))


@settings(max_examples=80, deadline=None)
@given(data=st.data(), n=st.integers(2, 40), d=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_any_split_and_any_order_of_merging_give_pca(data, n, d, seed):
    X = np.random.default_rng(seed).standard_normal((n, d)) * 2.0 ** np.arange(d) + 100
    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1), max_size=6)))
    parts = [IncrementalPCA().partial_fit(rows) for rows in np.split(X, cuts)]
    parts = data.draw(st.permutations(parts))
    merged = IncrementalPCA()
    for part in parts:
        merged.merge(part)
    right = PCA().fit(X)
    total = right.total_variance_
    for model in (merged, streamed(X, np.diff([0, *cuts, n]))):
        assert_allclose(
            model.singular_values_, right.singular_values_, atol=1e-12 * right.singular_values_[0]
        )
        assert_allclose(model.get_covariance(), right.get_covariance(), rtol=0, atol=1e-12 * total)
        assert_allclose(model.reconstruct(X) if d < n else X, X, rtol=1e-12)
        assert_allclose(model.mean_, right.mean_, rtol=1e-14)
        assert model.n_samples_seen_ == n


def test_the_result_has_the_same_bits_for_any_number_of_threads(rng):
    X = rng.standard_normal((6000, 40)) + 1e6
    found = []
    for threads in (1, 2, 4):
        prinax.set_num_threads(threads)
        found.append(pickle.dumps([IncrementalPCA(5).fit(X).components_, IncrementalPCA(5).fit(X).mean_]))
    prinax.set_num_threads(None)
    assert len(set(found)) == 1


@pytest.mark.parametrize(("dtype", "offset"), [(np.float64, 1e8), (np.float32, 1e4)])
def test_an_offset_costs_no_digits(rng, dtype, offset):
    X = (rng.integers(-999, 1000, (200, 3)) / dtype(64) + dtype(offset)).astype(dtype)
    right = PCA(svd_solver="full").fit(X.astype(np.float64) - offset)
    model = streamed(X, [1] * 50 + [150])
    assert_allclose(
        model.singular_values_, right.singular_values_, rtol=1e-6 if dtype is np.float32 else 1e-10
    )


def test_it_does_not_drift_over_a_hundred_thousand_single_rows(rng):
    X = rng.standard_normal((100_000, 2)) * [2, 1] + 1e6
    moments = Moments(2)
    for row in X[:, None]:
        moments._state.update(row, None)
    assert_allclose(moments.covariance(), np.cov((X - 1e6).T), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("unit", [1e-200, 1e-15, 1e200])
def test_any_unit(X, unit):
    model, right = streamed(X * unit, [7] * 17 + [1]), PCA().fit(X)
    assert_allclose(model.singular_values_ / unit, right.singular_values_, rtol=1e-10)
    assert_allclose(model.components_, right.components_, atol=1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
def test_single_precision_rows_have_single_precision_components(X, dtype):
    X = X.astype(dtype)
    model = streamed(X, [60, 60], n_components=2)
    assert model.components_.dtype == dtype
    assert model.transform(X).dtype == dtype
    assert model.mean_.dtype == np.float64
    assert model.freeze().dtype == dtype
    assert_array_equal(model.freeze()(X), model.transform(X))


def test_whitening_is_that_of_pca(X):
    model, right = streamed(X, [50, 70], whiten=True), PCA(whiten=True).fit(X)
    Z = model.transform(X)
    assert_allclose(Z, right.transform(X), atol=1e-9)
    assert_allclose(np.cov(Z.T), np.eye(6), atol=1e-10)
    assert_allclose(model.inverse_transform(Z), X, rtol=1e-9)


def test_n_components_for_answers_for_the_rows_so_far():
    """Rows along the axes: the squared lengths are 18, 8 and 2, later 18, 8 and 202; the divisors 5 and 7."""
    model = streamed(np.concatenate([np.diag([3.0, 2, 1]), -np.diag([3.0, 2, 1])]), [1, 2, 3])
    assert [model.n_components_for(ratio=share) for share in (0.64, 0.65, 0.92, 0.93)] == [1, 2, 2, 3]
    assert [model.n_components_for(min_eigenvalue=least) for least in (4, 3.5, 0.5, 0.3)] == [0, 1, 2, 3]
    model.partial_fit([[0, 0, 10], [0, 0, -10]])
    assert [model.n_components_for(ratio=share) for share in (0.88, 0.9, 0.97)] == [1, 2, 3]
    assert [model.n_components_for(min_eigenvalue=least) for least in (29, 28, 2, 1)] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="give exactly one of ratio and min_eigenvalue"):
        model.n_components_for()
    with pytest.raises(prinax.NotFittedError):
        IncrementalPCA().n_components_for(ratio=0.5)


def test_dead_directions_get_nothing(rng):
    X = rng.standard_normal((50, 3))
    X[:, 2] = X[:, 0] + X[:, 1]
    model = streamed(X, [10] * 5, whiten=True)
    assert model.rank_ == 2
    assert_array_equal(model.transform(X + np.eye(3)[2])[:, 2], 0)
    assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_the_rounding_of_single_precision_rows_is_no_direction(rng, offset):
    X = (rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)) + offset).astype(np.float32)
    moments = Moments(6)
    moments.update(X)
    for model in (streamed(X, [50] * 4, whiten=True), PCA.from_moments(moments, whiten=True)):
        assert model.rank_ == 2
        assert_array_equal(model.explained_variance_[2:], 0)
        assert_array_equal(model.transform(X)[:, 2:], 0)


def test_forgetting_a_first_row_far_away_does_not_depend_on_the_batches(rng):
    X = rng.standard_normal((3000, 3)) + 1
    X[0] = 1e30
    weights = 0.9 ** np.arange(2999, -1, -1.0)[1:]  # the first row adds 1e-77
    mean = weights @ X[1:] / weights.sum()
    scatter = (X[1:] - mean).T @ ((X[1:] - mean) * weights[:, None])
    wanted = np.linalg.eigvalsh(scatter / (weights.sum() - 1))[::-1]
    for model in (
        IncrementalPCA(forgetting_factor=0.9).fit(X),
        streamed(X, [10] * 300, forgetting_factor=0.9),
        streamed(X, [1] * 3000, forgetting_factor=0.9),
    ):
        assert_allclose(model.mean_, mean, rtol=1e-12)
        assert_allclose(model.explained_variance_, wanted, rtol=1e-10)


# --- few rows, small batches --------------------------------------------------------------------------------


def test_the_first_batch_may_have_fewer_rows_than_components():
    rows = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]], float)
    model = IncrementalPCA(2).partial_fit(rows[:5]).partial_fit(rows[5:])
    assert_allclose(model.explained_variance_, [7.93954312, 0.06045688], rtol=1e-7)
    assert_allclose(np.abs(model.transform([[3, 2]])), [[3.6053038, 0.04224385]], rtol=1e-7)


def test_components_grow_with_the_rows(rng):
    X = rng.standard_normal((60, 50))
    model = IncrementalPCA(20)
    for start in range(0, 60, 10):
        model.partial_fit(X[start : start + 10])
        assert model.n_components_ == min(20, start + 10)
    assert_same_model(model, PCA(20, svd_solver="covariance_eigh").fit(X), 1e-11)
    free = IncrementalPCA().partial_fit(X[:3])
    assert free.n_components_ == 3
    assert free.partial_fit(X[3:]).n_components_ == 50


def test_one_row_at_a_time_from_the_start(rng):
    X = rng.standard_normal((50, 3))
    model = IncrementalPCA(1)
    model.partial_fit(X[:1])
    assert_array_equal(model.explained_variance_, [0])
    assert_array_equal(model.explained_variance_ratio_, [0])
    assert_array_equal(model.transform(X[:1]), [[0]])
    for row in X[1:]:
        model.partial_fit(row[None])
    assert_allclose(model.explained_variance_, [1.31316041], rtol=1e-8)
    assert_same_model(model, PCA(1).fit(X))


def test_every_row_counts_once_whatever_the_last_batch(rng):
    X = rng.standard_normal((101, 4))
    assert IncrementalPCA(2, batch_size=10).fit(X).n_samples_seen_ == 101
    wide = rng.integers(0, 9, (1041, 100))
    assert_same_model(IncrementalPCA(100, batch_size=1000).fit(wide), PCA(100).fit(wide), 1e-11)


@pytest.mark.parametrize("batch_size", [10, 25, 50, 100, None])
def test_the_batch_size_does_not_matter(rng, batch_size):
    X = rng.standard_normal((100, 8))
    model = IncrementalPCA(2, batch_size=batch_size).fit(X)
    assert_allclose(model.explained_variance_, [1.56382199, 1.34718079], rtol=1e-8)
    assert model.batch_size_ == batch_size or (batch_size is None and model.batch_size_ == 40)
