"""IncrementalPCA as an object: refusals change nothing, copies and merges are models of their own."""

import copy
import pickle

import numpy as np
import prinax
import pytest
from numpy.testing import assert_array_equal
from prinax import PCA, IncrementalPCA
from streams import assert_same_model, six_columns


@pytest.fixture
def X(rng):
    return six_columns(rng)


# --- refusals change nothing --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("batch", "weights", "sentence"),
    [
        ([[1, 2, 3, 4, 5, np.nan]], None, "NaN"),
        ([[1, 2, 3, 4, 5, np.inf]], None, "infinity"),
        ([[1, 2, 3]], None, "X has 3 features, but IncrementalPCA is expecting 6 features"),
        (np.zeros((0, 6)), None, r"0 sample\(s\)"),
        ([1, 2, 3, 4, 5, 6], None, "Reshape your data"),
        (np.ones((2, 6)), [1, -1], "sample_weight must not be negative"),
        (np.ones((2, 6)), [0, 0], "sample_weight is zero for every row"),
        (np.ones((2, 6)), [1], "sample_weight must be 1-D of length 2"),
    ],
)
def test_a_refused_batch_changes_nothing_bit_for_bit(X, batch, weights, sentence):
    model = IncrementalPCA(3, forgetting_factor=0.9).partial_fit(X)
    before, state = dict(vars(model)), model._moments.to_bytes()
    with pytest.raises(ValueError, match=sentence):
        model.partial_fit(batch, sample_weight=weights)
    assert model._moments.to_bytes() == state
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def test_a_stream_that_fails_midway_changes_nothing(X):
    def broken():
        yield X[:50]
        raise OSError("the disk is gone")

    model = IncrementalPCA(3).fit(X[:40])
    state, seen = model._moments.to_bytes(), model.n_samples_seen_
    for bad, error in ((broken(), OSError), (iter([X, X[:, :2]]), ValueError), (iter([]), ValueError)):
        with pytest.raises(error):
            model.fit(bad)
        assert model._moments.to_bytes() == state
        assert model.n_samples_seen_ == seen
    with pytest.raises(AttributeError, match="before it is fitted"):
        _ = IncrementalPCA().components_


@pytest.mark.parametrize(
    ("parameters", "call", "error", "sentence"),
    [
        ({"n_components": 7}, "partial_fit", ValueError, "n_components=7 must be at most n_features=6"),
        ({"n_components": 7}, "fit", ValueError, r"min\(n_samples, n_features\)=6"),
        (
            {"n_components": "mle"},
            "fit",
            ValueError,
            "n_components must be an integer of at least 0, a share",
        ),
        ({"n_components": True}, "partial_fit", TypeError, "n_components must be an integer"),
        ({"forgetting_factor": 0}, "partial_fit", ValueError, "forgetting_factor must be above 0"),
        ({"forgetting_factor": 1.5}, "fit", ValueError, "forgetting_factor must be above 0 and at most 1"),
        ({"batch_size": 0}, "fit", ValueError, "batch_size must be an integer of at least 1"),
        ({"whiten": "yes"}, "fit", TypeError, "whiten must be True or False"),
    ],
)
def test_wrong_parameters_are_refused_with_a_sentence(X, parameters, call, error, sentence):
    model = IncrementalPCA(**parameters)
    with pytest.raises(error, match=sentence):
        getattr(model, call)(X)
    assert not hasattr(model, "n_samples_seen_")


def test_wrong_calls_are_refused_with_a_sentence(X):
    with pytest.raises(TypeError, match="progress must be True, False or a callable"):
        IncrementalPCA().fit(X, progress="bar")
    with pytest.raises(TypeError, match="sample_weight goes with an array"):
        IncrementalPCA().fit(iter([X]), sample_weight=np.ones(120))
    with pytest.raises(TypeError, match="X must be an array to be transformed"):
        IncrementalPCA().fit_transform(iter([X]))
    with pytest.raises(TypeError, match="other must be an IncrementalPCA, got a PCA"):
        IncrementalPCA().merge(PCA())
    with pytest.raises(prinax.NotFittedError):
        IncrementalPCA().merge(IncrementalPCA())
    with pytest.raises(ValueError, match="other has 2 features, but 6 are needed"):
        IncrementalPCA().fit(X).merge(IncrementalPCA().fit(X[:, :2]))
    with pytest.raises(ValueError, match=r"1 sample\(s\)"):
        IncrementalPCA().fit(X[:1])


# --- copies and merges --------------------------------------------------------------------------------------


@pytest.mark.parametrize("solved", [False, True])
def test_pickles_and_copies_go_on_by_themselves(X, solved):
    model = IncrementalPCA(3).partial_fit(X[:60])
    if solved:
        _ = model.components_
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert_array_equal(twin.components_, IncrementalPCA(3).partial_fit(X[:60]).components_)
        assert_same_model(twin.partial_fit(X[60:]), PCA(3).fit(X))
        assert model.n_samples_seen_ == 60
    assert model._moments.count == 60


def test_fit_forgets_and_partial_fit_goes_on(X):
    model = IncrementalPCA(3).fit(X[:50])
    assert_same_model(model.partial_fit(X[50:]), PCA(3).fit(X))
    assert_same_model(model.fit(X[:50]), PCA(3).fit(X[:50]))
    # Everything has been kept, so the number of components may change on the way.
    assert_same_model(model.set_params(n_components=5).partial_fit(X[50:]), PCA(5).fit(X))


def test_other_stays_as_it_is_after_a_merge(X):
    one, other = IncrementalPCA(3).fit(X[:30]), IncrementalPCA(2).fit(X[30:])
    state = other._moments.to_bytes()
    assert_same_model(one.merge(other), PCA(3).fit(X))
    assert other._moments.to_bytes() == state
    assert other.n_components_ == 2


def test_fit_transform_has_the_bits_of_fit_then_transform(X):
    assert_array_equal(IncrementalPCA(3).fit_transform(X), IncrementalPCA(3).fit(X).transform(X))
