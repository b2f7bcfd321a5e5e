"""FrozenTransform among threads, forks and other processes: the same bits everywhere, and no wait."""

import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import prinax
import pytest
from numpy.testing import assert_array_equal
from prinax import FrozenTransform
from processes import run


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def frozen(request, rng):
    matrix = rng.standard_normal((20, 100)).astype(request.param)
    return FrozenTransform(matrix, rng.standard_normal(100) + 50, rng.uniform(0.5, 2, 100))


def together(work, count):
    """Runs `work(number)` in so many threads; what any of them raised is raised here."""
    errors = []

    def safely(number):
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=safely, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_many_threads_get_the_same_bits(frozen, rng):
    rows = (rng.standard_normal((64, 100)) + 50).astype(frozen.dtype)
    right = frozen(rows)

    def hammer(start):
        out = np.empty(20, frozen.dtype)
        for i in range(1000):
            at = (7 * start + i) % 64
            assert (frozen(rows[at], out=out) == right[at]).all()
            assert i % 50 != 0 or (frozen(rows) == right).all()

    together(hammer, 16)


def test_large_batches_from_many_threads_share_the_pool(frozen, rng):
    rows = (rng.standard_normal((6000, 100)) + 50).astype(frozen.dtype)
    right = frozen(rows)

    def hammer(_):
        for _ in range(10):
            assert (frozen(rows) == right).all()

    together(hammer, 6)


def test_one_object_is_saved_read_and_called_at_once(frozen, rng, tmp_path):
    row = (rng.standard_normal(100) + 50).astype(frozen.dtype)
    right = frozen(row)

    def hammer(number):
        path = tmp_path / f"{number}{('.npz', '.safetensors')[number % 2]}"
        for _ in range(20):
            frozen.save(path)
            for twin in (FrozenTransform.load(path), pickle.loads(pickle.dumps(frozen))):
                assert (twin(row) == right).all()
            assert_array_equal(frozen.mean, frozen.mean)

    together(hammer, 8)


def test_a_large_batch_has_the_same_bits_for_any_number_of_threads(frozen, rng):
    rows = (rng.standard_normal((5000, 100)) + 50).astype(frozen.dtype)
    found = []
    for threads in (1, 2, 5):
        prinax.set_num_threads(threads)
        found.append(frozen(rows))
    prinax.set_num_threads(None)
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])
    assert_array_equal(found[0][4711], frozen(rows[4711]))


def test_a_file_gives_the_same_bits_in_another_process(frozen, rng, tmp_path):
    row = (rng.standard_normal(100) + 50).astype(frozen.dtype)
    frozen.save(tmp_path / "model.npz")
    code = (
        "import sys, numpy, prinax; f = prinax.FrozenTransform.load(sys.argv[1]); "
        "sys.stdout.buffer.write(f(numpy.frombuffer(sys.stdin.buffer.read(), f.dtype)).tobytes())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "model.npz")]
    done = subprocess.run(command, input=row.tobytes(), capture_output=True, check=True)
    assert done.stdout == frozen(row).tobytes()


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="POSIX processes and signals")
def test_forked_children_project_and_stream_after_their_parent_did():
    """RyanCodrai/turbovec#147; huggingface/tokenizers#187: a pool whose threads did not survive the fork."""
    script = """
    X = np.random.default_rng(0).standard_normal((20000, 100)) + 5
    frozen = PCA(20).fit(X).freeze()
    model = prinax.IncrementalPCA(5).partial_fit(X)
    whitened = prinax.Whitener().fit(X)
    right = [frozen(X), frozen(X[0]), whitened.transform(X)]
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        found = [frozen(X), frozen(X[0]), whitened.transform(X)]
        same = all(map(np.array_equal, right, found))
        twin = prinax.IncrementalPCA(5).partial_fit(X)
        same &= np.array_equal(model.components_, twin.components_)
        same &= model.partial_fit(X).n_samples_seen_ == 40000
        os._exit(0 if same else 3)
    print(os.waitpid(pid, 0)[1], model.n_samples_seen_)
    """
    assert run(script) == "0 20000"
