"""Reports from users of other libraries, retold: forks, frozen interpreters, Ctrl-C, threads, memory."""

import os
import signal
import time

import numpy as np
import prinax
import pytest
from interpreter import is_free_during
from numpy.lib.stride_tricks import as_strided
from numpy.testing import assert_array_equal
from prinax import PCA, eigh
from processes import run, start

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="POSIX processes and signals")

FORK = """
    X = np.random.default_rng(0).standard_normal((20000, 200))
    expected = PCA(5).fit(X).components_

    def child(work):
        "Exit code of a forked child that does the work within 20 s."
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
            os._exit(0 if work() else 3)
        return os.waitpid(pid, 0)[1]

    def same():
        return np.array_equal(PCA(5).fit(X).components_, expected)
"""


def test_a_forked_child_fits_after_its_parent_did():
    """RyanCodrai/turbovec#147; granne/granne#18; huggingface/tokenizers#187; pola-rs/polars#19149, #20284."""
    assert run(FORK + "    print(child(same), child(lambda: child(same) == 0), same())") == "0 0 True"


def test_a_child_forked_while_another_thread_fits_fits_too():
    script = """
    long = windows(60000, 500)
    busy = threading.Thread(target=lambda: PCA(5, svd_solver="covariance_eigh").fit(long))
    busy.start()
    time.sleep(0.05)
    assert busy.is_alive()
    status = child(same)
    busy.join()
    print(status)
    """
    assert run(FORK + script) == "0"


def test_a_fork_pool_fits_in_its_workers():
    script = """
    import multiprocessing
    def components(X):
        return PCA(5).fit(X).components_
    signal.alarm(40)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(all(np.array_equal(expected, c) for c in pool.map(components, [X] * 4)))
    """
    assert run(FORK + script) == "True"


LONG = {
    "covariance_eigh": 'PCA(2, svd_solver="covariance_eigh").fit(windows(4_000_000, 1000))',
    "full": 'PCA(2, svd_solver="full").fit(windows(2_000_000, 1000))',
    "lanczos": 'PCA(2, svd_solver="lanczos").fit(windows(20_000_000, 1000))',
    "gram": 'PCA(2, svd_solver="gram").fit(windows(1000, 4_000_000))',
    "eigh": "prinax.eigh(np.cos(np.add.outer(*2 * [np.arange(5000.0)]) ** 2))",
    "SPCA": "prinax.SPCA().fit(windows(6_000_000, 1000), np.arange(6_000_000.0) % 1000)",
    "hsic": "prinax.hsic(windows(200_000, 5), windows(200_000, 3))",
    "permutations": "prinax.hsic_test(windows(1000, 5), windows(1000, 3), n_permutations=10**6)",
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("work", LONG.values(), ids=LONG.keys())
def test_ctrl_c_ends_a_long_computation_and_leaves_the_library_usable(work, threads):
    """rigetti/qcs-sdk-rust#283; Eventual-Inc/Daft#755; PyO3/pyo3#1301: a signal that waited for the end."""
    script = f"""
    prinax.set_num_threads({threads})
    X = np.random.default_rng(0).standard_normal((50, 4))
    before = PCA(2).fit(X).components_
    print("started", flush=True)
    try:
        {work}
        print("finished")
    except KeyboardInterrupt:
        print("stopped", np.array_equal(PCA(2).fit(X).components_, before))
    """
    with start(script) as process:
        try:
            assert process.stdout.readline() == "started\n"
            time.sleep(0.4)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=15)
        finally:
            process.kill()
    assert (out.strip(), errors, process.returncode) == ("stopped True", "", 0)


def test_a_signal_handler_may_use_the_model_that_is_being_solved():
    script = """
    X = np.random.default_rng(0).standard_normal((1500, 900))
    model = prinax.IncrementalPCA(2).partial_fit(X)
    signal.signal(signal.SIGALRM, lambda *_: print(model.transform(X[:1]).shape))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    print(model.transform(X[:2]).shape)
    """
    assert sorted(run(script, timeout=30).splitlines()) == ["(1, 2)", "(2, 2)"]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_finalizer_computes_while_the_interpreter_shuts_down(threads):
    """Nobody has pressed Ctrl-C: there was nobody left to ask."""
    script = f"""
    prinax.set_num_threads({threads})
    X = windows(100_000, 500)

    class Last:
        model, rows, write = PCA(2, svd_solver="covariance_eigh"), X, os.write

        def __del__(self):
            self.model.fit(self.rows)
            self.write(1, str(self.model.n_samples_).encode())

    last = Last()
    """
    assert run(script) == "100000"


def windows(n, d):
    return as_strided(np.random.default_rng(0).standard_normal(n + d), (n, d), (8, 8))


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="Linux lists the threads of a process")
def test_one_thread_computes_on_the_one_that_called():
    """So callers on several threads, with one each, never wait for each other."""
    script = """
    prinax.set_num_threads(1)
    before = len(os.listdir("/proc/self/task"))
    PCA(2, svd_solver="covariance_eigh").fit(windows(60000, 400))
    print(len(os.listdir("/proc/self/task")) - before)
    """
    assert run(script) == "0"


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="Linux lists the threads of a process")
def test_threads_that_meet_at_their_first_call_share_one_pool():
    script = """
    prinax.set_num_threads(50)
    X, barrier = np.random.default_rng(0).standard_normal((3000, 300)), threading.Barrier(8)

    def fit():
        barrier.wait()
        PCA(3).fit(X)

    before = tasks()
    threads = [threading.Thread(target=fit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    time.sleep(0.2)
    print(tasks() - before)
    """
    assert run(script, OPENBLAS_NUM_THREADS="1") == "49"  # beside the one that calls


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="systems that say which CPUs a thread may use"
)
def test_helpers_may_use_every_cpu_again():
    """While they are woken they keep off the caller's."""
    script = """
    prinax.set_num_threads(3)
    for _ in range(20):
        PCA(2, svd_solver="covariance_eigh").fit(windows(3000, 300))
    wanted = os.sched_getaffinity(0)
    found = lambda: [os.sched_getaffinity(int(task)) for task in os.listdir("/proc/self/task")]
    deadline = time.monotonic() + 10
    while any(cpus != wanted for cpus in found()) and time.monotonic() < deadline:
        time.sleep(0.01)
    print(len(found()), all(cpus == wanted for cpus in found()))
    """
    assert run(script, OPENBLAS_NUM_THREADS="1") == "3 True"


@pytest.mark.parametrize("name", ["PRINAX_NUM_THREADS", "OMP_NUM_THREADS"])
def test_an_environment_that_asks_for_a_million_threads_gets_what_a_machine_can_start(name):
    script = """
    print(prinax.get_num_threads())
    PCA(2, svd_solver="covariance_eigh").fit(windows(60000, 100))
    """
    assert run(script, **{name: "1000000"}) == str(max(256, os.cpu_count()))


ROTATED = np.cos(np.add.outer(np.arange(900.0), np.arange(900.0)) ** 2)
# What is made ready beforehand, and what is then to be done with it.
BUSY = {
    "covariance_eigh": (windows(60000, 400), PCA(2, svd_solver="covariance_eigh").fit),
    "full": (windows(30000, 300), PCA(2, svd_solver="full").fit),
    "lanczos": (windows(100000, 400), PCA(2, svd_solver="lanczos").fit),
    "gram": (windows(400, 60000), PCA(2, svd_solver="gram").fit),
    "eigh": (ROTATED, eigh),
}


@pytest.mark.parametrize("case", BUSY)
def test_other_threads_run_while_a_fit_computes(case):
    """scipy/scipy#12436; numpy/numpy#7179; simpeg/pymatsolver#42: 2 ticks of 42, a freeze of 2.6 s."""
    X, work = BUSY[case]
    assert is_free_during(lambda: work(X))


def test_a_fit_of_microseconds_keeps_the_interpreter():
    """To take it back beside a busy thread may cost 5 ms."""
    X, pca = np.eye(4), PCA()
    assert not is_free_during(lambda: pca.fit(X))


@pytest.fixture
def threads():
    """`prinax.set_num_threads`, undone afterwards."""
    yield prinax.set_num_threads
    prinax.set_num_threads(None)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("solver", ["auto", "covariance_eigh", "gram", "lanczos", "full", "randomized"])
@pytest.mark.parametrize("shape", [(20000, 20), (1500, 300), (150, 900)])
def test_the_number_of_threads_changes_no_bit(threads, solver, shape, dtype):
    """scikit-learn/scikit-learn#34070; scverse/scanpy#1187: the core count changed results."""
    if solver == "gram":
        shape = (min(shape[0], 400), shape[1])
    X = (np.random.default_rng(0).standard_normal(shape) + 1).astype(dtype)
    found = []
    for n in (1, 2, 5, 2):
        threads(n)
        assert prinax.get_num_threads() == n
        model = PCA(4, svd_solver=solver).fit(X)
        found.append(
            (
                model.components_,
                model.singular_values_,
                model.mean_,
                model.transform(X),
                model.residuals(X[:500]),
            )
        )
    for others in found[1:]:
        for a, b in zip(found[0], others, strict=True):
            assert_array_equal(a, b)


@pytest.mark.parametrize("n", [0, -1, 1.5, "2", True])
def test_an_impossible_number_of_threads_is_refused(threads, n):
    with pytest.raises((ValueError, TypeError, OverflowError)):
        threads(n)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"OMP_NUM_THREADS": "1"}, 1),
        ({"OMP_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "5", "PRINAX_NUM_THREADS": "2"}, 2),
    ],
    ids=str,
)
def test_the_environment_sets_the_number_of_threads(environment, expected):
    """joblib/threadpoolctl#16; joblib/joblib#1825: workers that each take every core."""
    script = """
    before = tasks()
    PCA(2, svd_solver="covariance_eigh").fit(windows(20000, 300))
    print(prinax.get_num_threads(), tasks() - before)
    """
    size, made = map(int, run(script, OPENBLAS_NUM_THREADS="1", **environment).split())
    assert size == expected
    assert made <= expected + 1


def test_without_a_setting_no_more_threads_than_allowed_cpus_and_none_for_small_work():
    script = """
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    before = tasks()
    PCA(2).fit_transform(np.random.default_rng(0).standard_normal((100, 5)))
    print(prinax.get_num_threads(), tasks() - before)
    """
    assert run(script, OPENBLAS_NUM_THREADS="1") == "1 0"


def test_joblib_workers_agree_with_the_parent():
    script = """
    from joblib import Parallel, delayed
    X = np.random.default_rng(0).standard_normal((5000, 50))
    found = Parallel(n_jobs=2)(delayed(PCA(3).fit_transform)(X) for _ in range(2))
    print(all(np.array_equal(f, PCA(3).fit_transform(X)) for f in found))
    """
    assert run(script) == "True"


def test_fits_take_no_memory_that_grows_with_the_rows():
    """scikit-learn/scikit-learn#11102, #22553, #5173: three copies of X for an SVD, one for every mean."""
    script = """
    X = np.empty((200_000, 50))
    np.random.default_rng(0).standard_normal(out=X)
    PCA(3).fit(X[:5000])
    at_rest = peak()
    for solver in ("auto", "covariance_eigh", "full"):
        PCA(3, svd_solver=solver, scale=True, whiten=True).fit(X)
    panels = peak() - at_rest
    for solver in ("lanczos", "randomized"):
        PCA(3, svd_solver=solver).fit(X)
    print(int(panels), int(peak() - at_rest))
    """
    panels, blocks = map(int, run(script).split())  # X is 76 MiB
    assert panels < 16
    assert blocks < 76


def test_float32_rows_are_not_copied_to_float64():
    script = """
    X = np.empty((400_000, 50), "f4")
    np.random.default_rng(0).standard_normal(out=X, dtype="f4")
    PCA(3).fit(X[:5000]).transform(X[:5000])
    at_rest = peak()
    model = PCA(3).fit(X)
    fit = peak() - at_rest
    model.transform(X)
    print(int(fit), int(peak() - at_rest))
    """
    fit, transform = map(int, run(script).split())  # X is 76 MiB, its scores are 5
    assert fit < 16
    assert transform < 24


def test_score_and_fit_of_wide_rows_need_no_square_of_the_width():
    """scikit-learn/scikit-learn#13922: 576 MiB for 50 x 6000, and a wrong divisor."""
    script = """
    X = np.random.default_rng(0).standard_normal((50, 6000))
    PCA(2).fit(X[:, :500]).score(X[:, :500])
    at_rest = peak()
    score = PCA(10).fit(X).score(X)
    PCA(10, svd_solver="gram").fit(np.tile(X, (1, 5))).squared_residuals(np.tile(X, (1, 5)))
    print(score, int(peak() - at_rest))
    """
    score, extra = run(script).split()
    assert float(score) == pytest.approx(-7700.570392, abs=1e-6)
    assert int(extra) < 120  # a 6000 x 6000 matrix is 275 MiB
