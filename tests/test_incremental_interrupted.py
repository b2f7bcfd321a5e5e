"""IncrementalPCA and Ctrl-C: an interruption anywhere leaves a model of the rows that it counts."""

import itertools
import os
import signal
import sys
import time

import prinax
import pytest
from numpy.testing import assert_allclose
from prinax import PCA, IncrementalPCA
from streams import six_columns


@pytest.fixture
def X(rng):
    return six_columns(rng)


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
