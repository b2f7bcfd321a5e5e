"""IncrementalPCA.fit reads iterables of batches, mapped files and frames, and says how far it is."""

import sys

import numpy as np
import prinax
import pytest
from numpy.testing import assert_array_equal
from prinax import PCA, IncrementalPCA
from streams import assert_same_model, six_columns

pytestmark = pytest.mark.numeric


@pytest.fixture
def X(rng):
    return six_columns(rng)


@pytest.mark.parametrize(
    "batches",
    [
        lambda X: iter(np.split(X, 4)),
        lambda X: (part for part in np.split(X, [1, 2, 50])),
        lambda X: np.split(X, 3),
        lambda X: tuple(np.split(X, 3)),
        lambda X: map(np.ndarray.tolist, np.split(X, 4)),
    ],
    ids=["iterator", "generator", "list", "tuple", "iterator of lists"],
)
def test_fit_reads_batches(X, batches):
    assert_same_model(IncrementalPCA(3).fit(batches(X)), PCA(3).fit(X))


class Loader:
    """Batches that know their number, as data loaders of other libraries do."""

    def __init__(self, batches):
        self.batches = batches

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        return iter(self.batches)


def test_progress_is_told(X):
    told = []
    IncrementalPCA(3).fit(Loader(np.split(X, 4)), progress=lambda *done: told.append(done))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    IncrementalPCA(3).fit(iter(np.split(X, 2)), progress=lambda *done: told.append(done))
    assert told[4:] == [(1, None), (2, None)]


def test_progress_without_tqdm_is_a_line_on_a_terminal(X, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    IncrementalPCA(3).fit(np.split(X, 2), progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    IncrementalPCA(3).fit(np.split(X, 2), progress=True)
    assert capsys.readouterr().err == "\rIncrementalPCA: batch 1 of 2\rIncrementalPCA: batch 2 of 2\n"


def test_progress_may_be_shown_by_tqdm(X, capsys):
    pytest.importorskip("tqdm")
    IncrementalPCA(3).fit(np.split(X, 2), progress=True)
    assert "2/2" in capsys.readouterr().err


@pytest.mark.parametrize("dtype", ["<i2", ">f8", "<f4", "<f8"])
def test_a_memory_map_is_read_without_a_copy_of_it(rng, tmp_path, dtype):
    X = rng.integers(-99, 99, (1000, 7)).astype(dtype)
    X.tofile(tmp_path / "rows")
    mapped = np.memmap(tmp_path / "rows", dtype, "r", shape=X.shape)
    before = bytes(mapped)
    seen = []
    model = IncrementalPCA(3, batch_size=100)
    original = prinax._validation.matrix
    try:
        prinax._validation.matrix = lambda A, *rest, **more: seen.append(len(A)) or original(A, *rest, **more)
        model.fit(mapped)
    finally:
        prinax._validation.matrix = original
    assert seen == ([1000] if dtype in ("<f4", "<f8") else [100] * 10)
    assert bytes(mapped) == before
    assert_same_model(model, PCA(3).fit(X.astype(float)), 1e-6 if dtype == "<f4" else 1e-12)


def test_read_only_rows_are_read_and_nothing_is_changed(X):
    before = X.copy()
    X.flags.writeable = False
    model = IncrementalPCA(3, copy=False).fit(X)
    model.partial_fit(X)
    model.transform(X)
    assert_array_equal(X, before)


def test_frames_keep_their_names(X):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    model = IncrementalPCA(2).partial_fit(frame[:60]).partial_fit(frame[60:])
    assert_array_equal(model.feature_names_in_, list("abcdef"))
    with pytest.raises(ValueError, match="same order"):
        model.partial_fit(frame[list("bacdef")])
    model = IncrementalPCA(2).fit(iter([frame[:60], frame[60:]]))
    assert_array_equal(model.feature_names_in_, list("abcdef"))
