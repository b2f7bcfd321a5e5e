"""IncrementalPCA is solved once, on first read, whichever threads, copies and processes read it."""

import copy
import itertools
import os
import pickle
import sys
import threading
import time

import numpy as np
import prinax
import pytest
from numpy.testing import assert_allclose
from prinax import IncrementalPCA
from streams import six_columns


@pytest.fixture
def X(rng):
    return six_columns(rng)


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
