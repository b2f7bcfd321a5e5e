"""IncrementalPCA: sample weights are frequencies, and forgetting is a weight."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from prinax import PCA, IncrementalPCA
from streams import assert_same_model, six_columns, streamed

pytestmark = pytest.mark.numeric


@pytest.fixture
def X(rng):
    return six_columns(rng)


def test_weights_are_repeats(X, rng):
    weights = rng.integers(0, 4, len(X))
    right = PCA(3).fit(np.repeat(X, weights, axis=0))
    whole = IncrementalPCA(3).fit(X, sample_weight=weights)
    parts = IncrementalPCA(3)
    for part in (slice(0, 1), slice(1, 40), slice(40, 120)):
        if weights[part].any():
            parts.partial_fit(X[part], sample_weight=weights[part])
    integers = IncrementalPCA(3, batch_size=9).fit(np.round(X).astype(int), sample_weight=weights)
    for model in (whole, parts):
        assert_same_model(model, right)
        assert model.n_samples_seen_ == np.count_nonzero(weights)
    assert_same_model(integers, PCA(3).fit(np.repeat(np.round(X), weights, axis=0)))


@pytest.mark.parametrize("dtype", [">f8", ">f4", "f8", "f4"])
@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_absent_rows_must_be_finite_in_every_piece(X, dtype, value, name):
    bad = X.astype(dtype)
    bad[:20, 1] = value
    weights = np.repeat([0, 1], [20, 100])
    with pytest.raises(ValueError, match=f"X contains {name}"):
        IncrementalPCA(batch_size=10).fit(bad, sample_weight=weights)


def test_weights_that_leave_no_degree_of_freedom_are_told_on_reading(X):
    model = IncrementalPCA(2).partial_fit(X[:2], sample_weight=[0.25, 0.25])
    with pytest.raises(ValueError, match=r"sum to 0\.5, but must sum to more than 1"):
        model.transform(X)
    assert_same_model(model.partial_fit(X, sample_weight=np.full(120, 0.25)), model)
    with pytest.raises(ValueError, match="sample_weight"):
        IncrementalPCA(2).fit(X, sample_weight=np.full(120, 1e-3))


@pytest.mark.parametrize("factor", [0.5, 0.97, 0.999])
def test_forgetting_is_its_weights(X, factor):
    weights = factor ** np.arange(119, -1, -1.0)
    right = PCA(3).fit(X, sample_weight=weights)
    for sizes in ([120], [1] * 120, [5, 100, 15]):
        model = streamed(X, sizes, n_components=3, forgetting_factor=factor)
        assert_same_model(model, right, 1e-11)
        assert model.n_samples_seen_ == 120
    assert_same_model(IncrementalPCA(3, forgetting_factor=factor).fit(X), right, 1e-11)


@settings(max_examples=50, deadline=None)
@given(data=st.data(), n=st.integers(2, 30), factor=st.floats(0.05, 1.0), seed=st.integers(0, 2**32 - 1))
def test_forgetting_does_not_depend_on_the_batches(data, n, factor, seed):
    X = np.random.default_rng(seed).standard_normal((n, 3)) + 10
    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1), max_size=8)))
    whole = IncrementalPCA(forgetting_factor=factor).partial_fit(X)
    parts = streamed(X, np.diff([0, *cuts, n]), forgetting_factor=factor)
    assert_allclose(parts.mean_, whole.mean_, rtol=1e-12)
    assert_allclose(parts.singular_values_, whole.singular_values_, atol=1e-11 * whole.singular_values_[0])


def test_a_model_that_forgets_follows_the_stream(rng):
    old, new = rng.standard_normal((500, 2)) * [10, 1], rng.standard_normal((500, 2)) * [1, 10] + 50
    model = IncrementalPCA(1, forgetting_factor=0.98).partial_fit(old).partial_fit(new)
    assert_allclose(np.abs(model.components_), [[0, 1]], atol=0.1)
    assert_allclose(model.mean_, 50, atol=5)
