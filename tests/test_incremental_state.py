"""IncrementalPCA as an object: refusals change nothing, one solution on first read, copies, merging."""

import copy
import itertools
import os
import pickle
import signal
import sys
import threading
import time

import numpy as np
import prinax
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from prinax import PCA, IncrementalPCA


@pytest.fixture
def X(rng):
    return rng.standard_normal((120, 6)) * [6, 5, 4, 3, 2, 1] + [1.0, -2.0, 30.0, 0.0, 5.0, 100.0]


def assert_same_model(model, right):
    assert_allclose(model.mean_, right.mean_, rtol=1e-12)
    assert_allclose(model.singular_values_, right.singular_values_, rtol=1e-12)
    assert_allclose(model.components_, right.components_, atol=1e-10)
    assert_allclose(model.noise_variance_, right.noise_variance_, rtol=1e-10)


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


# --- interruptions ------------------------------------------------------------------------------------------


def interrupted_anywhere(make, call):
    """What a KeyboardInterrupt before each bytecode of prinax in turn leaves; the last call is whole."""
    home = os.path.dirname(prinax.__file__)
    for stop in itertools.count():
        model, steps = make(), itertools.count()

        def trace(frame, event, _, stop=stop, steps=steps):
            if not frame.f_code.co_filename.startswith(home):
                return None
            frame.f_trace_opcodes = True
            if event == "opcode" and next(steps) == stop:
                raise KeyboardInterrupt
            return trace

        before, whole = sys.gettrace(), False
        sys.settrace(trace)
        try:
            call(model)
            whole = True
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        yield model
        if whole:
            return


@pytest.mark.parametrize("call", ["partial_fit", "merge", "fit"])
def test_an_interruption_anywhere_leaves_a_model_of_the_rows_it_counts(X, call):
    argument = IncrementalPCA(2).fit(X[40:]) if call == "merge" else X if call == "fit" else X[40:]
    right = {n: X[:n].mean(axis=0) for n in (40, 120)}

    def make():
        model = IncrementalPCA(2).partial_fit(X[:40])
        model.transform(X[:1])
        return model

    seen = set()
    for model in interrupted_anywhere(make, lambda model: getattr(model, call)(argument)):
        seen.add(model.n_samples_seen_)
        assert model._moments.count == model.n_samples_seen_
        assert_allclose(model.mean_, right[model.n_samples_seen_], rtol=1e-12)
    assert seen == {40, 120}


def test_an_interrupted_fit_leaves_the_names_of_the_fit_before(X):
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcdef"))
    for model in interrupted_anywhere(lambda: PCA(2).fit(frame), lambda model: model.fit(X[:40])):
        assert model.n_samples_ == (120 if hasattr(model, "feature_names_in_") else 40)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
@pytest.mark.parametrize("kind", ["IncrementalPCA", "Moments"])
def test_an_interrupted_batch_is_not_taken_in_and_may_be_given_again(rng, kind):
    """Also one too small for the core to look for Ctrl-C while it works."""
    X = rng.standard_normal((4000, 300))

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(5):
            model = IncrementalPCA(2).partial_fit(X[:10])
            moments = model._moments
            take = model.partial_fit if kind == "IncrementalPCA" else moments.update
            state, done = moments.to_bytes(), False
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.003)
                take(X)
                done = True  # before the signal, on a fast machine
                time.sleep(1)
            except KeyboardInterrupt:
                pass
            if not done:
                assert moments.to_bytes() == state
                take(X)
            assert moments.count == 4010
            assert kind == "Moments" or model.n_samples_seen_ == 4010
    finally:
        signal.signal(signal.SIGALRM, before)


# --- one solution, on first read ----------------------------------------------------------------------------


def test_reading_and_transforming_change_no_visible_state(X):
    model = IncrementalPCA(3).partial_fit(X)
    before = dict(vars(model))
    model.transform(X)
    assert model.components_ is model.components_
    model.score(X)
    assert vars(model) == before


def test_an_edited_attribute_is_honoured_until_the_next_batch(X):
    model = IncrementalPCA(3).partial_fit(X)
    model.components_ = np.eye(6)[:2]
    assert_allclose(model.transform(X), (X - model.mean_)[:, :2])
    model.partial_fit(X)
    assert model.components_.shape == (3, 6)


def test_many_threads_read_one_solution(rng, monkeypatch):
    model = IncrementalPCA(3).partial_fit(rng.standard_normal((300, 60)))
    core, solved = prinax._core.pca_from_moments, []

    def slowly(*arguments):
        solved.append(1)
        time.sleep(0.02)
        return core(*arguments)

    monkeypatch.setattr(prinax._core, "pca_from_moments", slowly)
    found = []
    threads = [threading.Thread(target=lambda: found.append(model.components_)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert solved == [1]
    assert len(found) == 8
    assert all(components is found[0] for components in found)


def test_threads_that_read_after_each_batch_see_one_model(rng):
    X = rng.standard_normal((400, 20))
    model = IncrementalPCA(3)
    for start in range(0, 400, 20):
        model.partial_fit(X[start : start + 20])
        found = []

        def read(found=found):
            components = model.components_
            found.append((components, model.transform(X[:5]).tobytes(), model.explained_variance_))

        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        assert len({scores for _, scores, _ in found}) == 1
        assert all(
            part is first for entry in found for part, first in zip(entry[::2], found[0][::2], strict=True)
        )


def test_a_solution_may_be_asked_for_by_the_thread_that_solves_it(X, monkeypatch):
    """As a signal handler does, or a finalizer, which the core lets run while it computes."""
    model = IncrementalPCA(3).partial_fit(X)
    core, inner = prinax._core.pca_from_moments, []

    def entered_again(*arguments):
        if not inner:
            inner.append(None)
            inner[0] = model.components_
        return core(*arguments)

    monkeypatch.setattr(prinax._core, "pca_from_moments", entered_again)
    thread = threading.Thread(target=lambda: inner.append(model.components_), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "it waits for itself"
    assert inner[0] is inner[1] is model.components_


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_made_while_another_thread_streams_are_of_one_moment(rng, twin_of):
    X = rng.standard_normal((20, 8))
    model, running = IncrementalPCA(2).partial_fit(X), True

    def stream():
        for i in itertools.count():
            if not running:
                return
            model.partial_fit(X + i)
            _ = model.mean_

    pause = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=stream)
    thread.start()
    try:
        for _ in range(300):
            twin = twin_of(model)
            assert twin.n_samples_seen_ == twin._moments.count
            assert_allclose(twin.mean_, twin._moments.mean, rtol=1e-12)
            assert twin.partial_fit(X).n_samples_seen_ == twin._moments.count
    finally:
        running = False
        thread.join()
        sys.setswitchinterval(pause)


@pytest.mark.parametrize(
    "read",
    [
        lambda model, X: model.freeze()(X),
        lambda model, X: model.transform(X.astype("f4")),
        lambda model, X: model.inverse_transform(X[:, :3]),
        lambda model, X: model.reconstruct(X),
        lambda model, X: model.squared_residuals(X),
        lambda model, X: model.score_samples(X),
        lambda model, X: model.get_covariance(),
        lambda model, X: model.get_precision(),
        lambda model, X: model.n_components_for(min_eigenvalue=2),
    ],
    ids=[
        *("freeze", "transform", "inverse_transform", "reconstruct", "squared_residuals"),
        *("score_samples", "get_covariance", "get_precision", "n_components_for"),
    ],
)
def test_a_call_reads_all_of_one_model_though_batches_come_in_meanwhile(X, monkeypatch, read):
    model = IncrementalPCA(3, whiten=True).partial_fit(X[:60])
    alone, batch, busy = copy.deepcopy(model), 50 * X[60:] * np.arange(6) - 7, False

    def meanwhile(look):
        def looked_at(*arguments, **options):
            nonlocal busy
            if not busy:  # the batch is looked at too
                busy = True
                model.partial_fit(batch)
                busy = False
            return look(*arguments, **options)

        return looked_at

    with monkeypatch.context() as patch:
        for name in ("vector", "matrix"):
            patch.setattr(prinax._validation, name, meanwhile(getattr(prinax._validation, name)))
        found = read(model, X)
    batches = (model.n_samples_seen_ - 60) // len(batch)
    assert batches > 1
    possible = [read(alone, X)] + [read(alone.partial_fit(batch), X) for _ in range(batches)]
    assert any(np.array_equal(found, right) for right in possible)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore")
def test_a_child_forked_while_another_thread_solves_does_not_wait_for_it(X):
    model = IncrementalPCA(3).partial_fit(X)
    lock = model._solution._lock_here()
    lock.acquire()  # as a thread does that is solving now, and does not exist in the child
    child = os.fork()
    if child == 0:
        os._exit(0 if model.components_.shape == (3, 6) else 1)
    for _ in range(400):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child waits for ever")
    lock.release()
    assert status == 0


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
