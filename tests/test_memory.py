"""What the machine has no room for is a MemoryError that names the bytes: never an abort, never a panic.

Each case runs in a process of its own, which an abort would end; inputs are small or broadcast, so that
whoever does not refuse at once is late.
"""

import re
import sys

import pytest
from processes import run

# (3, D) rows fit anywhere, D x D numbers (32 TB) nowhere.
D = 2_000_000

WIDE = """
    rng = np.random.default_rng(0)
    W = rng.standard_normal((3, D))
    X = rng.standard_normal((9, 2))

    def many(*shape):
        return np.broadcast_to(1.0, shape)
"""

REFUSED = """
    try:
        CALL
    except MemoryError as error:
        print(error)
"""


def refusal(call, before=""):
    """The sentence with which a call is refused."""
    return run(f"    D = {D}\n" + WIDE + before + REFUSED.replace("CALL", call), timeout=30)


def assert_names_bytes(sentence, size=None):
    wanted = r"\d+" if size is None else str(size)
    assert re.search(rf"needs {wanted} bytes \(\d+\.\d GB\), more than there is room for", sentence), sentence


@pytest.mark.parametrize(
    ("call", "size"),
    [
        ("PCA(1).fit(W).get_covariance()", 8 * D * (D + 2)),
        ("PCA(1).fit(W).get_precision()", 8 * D * (D + 2)),
        ("PCA(1, scale=True).fit(W).get_precision()", 8 * D * (D + 2)),
        ("PCA(1).fit(W.astype('f4')).get_covariance()", 8 * D * (D + 2)),
        ("prinax.IncrementalPCA(1).fit(W)", None),
        ("PCA(1, svd_solver='covariance_eigh').fit(W)", None),
        ("prinax.Whitener().fit(W)", 16 * D * D),
        ("prinax.Whitener('zca-cor').fit(W)", 16 * D * D),
        ("prinax.Whitener(eps=0.1).fit(W.astype('f4'))", 16 * D * D),
        ("prinax.Whitener('cholesky', eps=0.1).fit(W)", None),
        ("prinax.SPCA(1, target_kernel='linear').fit(W, W[::-1])", None),
        ("prinax.SPCA(1, target_kernel='linear').fit(W.astype('f4'), W)", None),
        ("prinax.SPCA(1).fit(many(100_000, 2 * D), np.arange(100_000))", 3 * 8 * 2 * D * 100_000),
        ("prinax.KernelSPCA(1, target_kernel='linear').fit(X, W.repeat(3, axis=0))", 16 * D * D),
        ("prinax.KernelPCA(D, kernel='linear').fit(W.T)", 8 * D * (3 * D + 3)),
        ("PCA.from_covariance(many(D, D), np.zeros(D), 5)", None),
        ("prinax.covariance(W)", 8 * D * D),
        ("prinax.gram(W.T)", 8 * D * D),
    ],
)
def test_matrices_that_a_call_needs(call, size):
    assert_names_bytes(refusal(call), size)


ROWS = 10**13


@pytest.mark.parametrize(
    ("model", "call", "columns"),
    [
        ("PCA(2).fit(np.eye(5))", "model.transform(many(ROWS, 5))", 2),
        ("PCA(2, scale=True).fit(np.eye(5))", "model.transform(many(ROWS, 5))", 2),
        ("PCA(2).fit(np.eye(5))", "model.inverse_transform(many(ROWS, 2))", 5),
        ("PCA(2).fit(np.eye(5, dtype='f4'))", "model.inverse_transform(many(ROWS, 2))", 5),
        ("PCA(2).fit(np.eye(5))", "model.reconstruct(many(ROWS, 5))", 5),
        ("PCA(2).fit(np.eye(5))", "model.residuals(many(ROWS, 5))", 5),
        ("PCA(2).fit(np.eye(5))", "model.squared_residuals(many(ROWS, 5))", 1),
        ("PCA(2).fit(np.eye(5))", "model.score_samples(many(ROWS, 5))", 1),
        ("prinax.Whitener().fit(X)", "model.inverse_transform(many(ROWS, 2))", 2),
        ("prinax.KernelPCA(3, kernel='rbf').fit(X)", "model.transform(many(ROWS, 2))", 3),
        ("prinax.KernelPCA(3, kernel='rbf').fit(X)", "model.squared_residuals(many(ROWS, 2))", 1),
        ("prinax.KernelSPCA(1).fit(X, X[:, 0] > 0)", "model.transform(many(ROWS, 2))", 1),
        ("PCA(2).fit(np.eye(5)).freeze()", "model(np.zeros((2, 5))); prinax.center_rows(many(ROWS, 5))", 5),
    ],
)
def test_results_of_many_rows(model, call, columns):
    sentence = refusal(call, f"    ROWS = {ROWS}\n    model = {model}\n")
    assert_names_bytes(sentence, 8 * ROWS * columns)


# The limit that `ulimit -v` sets, in bytes beyond what the process has.
LIMITED = """
    def limit(more):
        with open("/proc/self/status") as status:
            (mine,) = [int(line.split()[1]) * 1024 for line in status if line.startswith("VmSize:")]
        resource.setrlimit(resource.RLIMIT_AS, (mine + more,) * 2)
    prinax.set_num_threads(1)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits what Linux can limit")
@pytest.mark.parametrize(
    ("before", "megabytes", "call"),
    [
        ("M = prinax.Moments(6000); M.update(many(2, 6000))", 250, "M.covariance()"),
        ("M = prinax.Moments(6000); M.update(many(2, 6000))", 100, "M.scatter()"),
        ("M = prinax.Moments(6000); M.update(many(2, 6000))", 100, "M.to_bytes()"),
        ("M = prinax.Moments(6000); M.update(many(2, 6000))", 100, "M.merge(M)"),
        ("M = prinax.Moments(6000); M.update(W[:, :6000])", 100, "PCA.from_moments(M)"),
        ("", 1000, "PCA(1, svd_solver='lanczos').fit(many(3, 10**8))"),
        ("", 1000, "PCA(1, svd_solver='randomized').fit(many(3, 10**8))"),
        ("", 200, "PCA(1).fit(many(3 * 10**6, 20), sample_weight=np.ones(3 * 10**6))"),
        ("", 200, "PCA(svd_solver='full').fit(many(20, 3 * 10**6))"),
        ("", 350, "prinax.gram(many(6000, 3))"),
        ("", 200, "prinax.covariance(many(3, 6000))"),
        ("A = np.zeros((3000, 3000))", 150, "prinax.eigh(A)"),
        ("model = PCA(2).fit(np.eye(5))", 200, "model.reconstruct(many(10**7, 5))"),
        ("model = PCA(2).fit(np.eye(5))", 200, "model.inverse_transform(many(10**7, 2))"),
        ("model = prinax.KernelPCA(3, kernel='rbf').fit(X)", 200, "model.transform(many(10**7, 2))"),
        ("", 200, "prinax.KernelPCA(3, kernel='rbf', eigen_solver='dense').fit(many(4000, 2))"),
        ("F = prinax.FrozenTransform(many(20, 10**6), np.zeros(10**6))", 100, "F.matrix"),
        ("F = prinax.FrozenTransform(many(20, 10**6), np.zeros(10**6))", 100, "F.to_bytes()"),
    ],
)
def test_limits_of_the_process_count(before, megabytes, call):
    assert_names_bytes(refusal(call, LIMITED + f"    {before}\n    limit({megabytes}_000_000)\n"))


# Zeros that lie in a file and count nothing until they are read; the weights are 1 here and there.
MAPPED = """
    import tempfile
    def mapped(shape, dtype="f4"):
        with tempfile.NamedTemporaryFile() as file:
            return np.memmap(file.name, dtype, "w+", shape=shape)
    def weights(n):
        w = mapped(n, "f8")
        w[::1000] = 1
        return w
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits what Linux can limit")
@pytest.mark.parametrize(
    ("before", "megabytes", "call"),
    [
        ("M = np.ones((1000, 10_000)); F = prinax.FrozenTransform(M, M[0]).to_bytes()", limit, call)
        for limit, call in [
            (50, "prinax.FrozenTransform(M, M[0])"),
            (60, "prinax.FrozenTransform.from_bytes(F)"),
            (130, "prinax.FrozenTransform.from_bytes(F)"),
        ]
    ]
    + [("M = mapped(2 * 10**7); F = prinax.FrozenTransform(M[None], np.zeros(2 * 10**7))", 80, "F(M)")]
    + [
        ("M = mapped((3, 10**7)); y = np.array([[0.0], [1], [1]])", limit, call)
        for limit in (100, 300, 550)
        for call in [
            "prinax.kernel_matrix(M)",
            "prinax.kernel_matrix(M, kernel='linear')",
            "prinax.kernel_matrix(M, kernel='laplacian')",
            "prinax.kernel_matrix(M, gamma='median')",
            "prinax.hsic(M, y)",
            "prinax.KernelPCA(1, kernel='rbf').fit(M)",
            "prinax.KernelSPCA(1).fit(M, [0, 1, 1])",
        ]
    ]
    + [("M = mapped((3, 10**7))", limit, "prinax.gram(M)") for limit in (100, 300)],
)
def test_copies_on_the_way_count(before, megabytes, call):
    assert_names_bytes(refusal(call, LIMITED + MAPPED + f"    {before}\n    limit({megabytes}_000_000)\n"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits what Linux can limit")
@pytest.mark.parametrize(
    "call",
    [
        "prinax.covariance(M, sample_weight=w)",
        "prinax.Moments(1).update(M, w)",
        "prinax.IncrementalPCA(1).partial_fit(M, sample_weight=w)",
        "prinax.IncrementalPCA(1, forgetting_factor=0.9).partial_fit(M)",
        "prinax.IncrementalPCA(1, forgetting_factor=0.999).partial_fit(M, sample_weight=w)",
    ],
)
def test_weights_and_forgetting_take_no_memory_a_row(call):
    before = "M, w = mapped((10**7, 1)), weights(10**7); M[::1000, 0] = np.arange(10_000)"
    # A mask of the weights, a byte a row, is made on the way.
    assert refusal(call, LIMITED + MAPPED + f"    {before}\n    limit(50_000_000)\n") == ""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits what Linux can limit")
@pytest.mark.parametrize(
    "call", ["PCA(1)", "PCA()", "PCA(1, scale=True)", "prinax.Whitener()", "prinax.Whitener('zca-cor')"]
)
def test_weighted_fits_copy_no_rows_where_nothing_is_measured_again(call):
    before = "M, w = mapped((10**6, 20)), np.ones(10**6); M[::100] = rng.standard_normal((10**4, 20))"
    assert (
        refusal(
            f"{call}.fit(M, sample_weight=w)", LIMITED + MAPPED + f"    {before}\n    limit(50_000_000)\n"
        )
        == ""
    )


def test_rows_without_end_are_read_until_somebody_stops_it():
    script = """
    X = np.broadcast_to(np.ones((1, 1)), (10**15, 1))
    threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        prinax.IncrementalPCA(1, forgetting_factor=0.9).partial_fit(X)
    except KeyboardInterrupt:
        print("stopped")
    """
    assert run(script) == "stopped"


def test_a_thread_keeps_no_large_scratch():
    script = """
    F = prinax.FrozenTransform(np.ones((1, 10**7), "f4"), np.zeros(10**7))
    x = np.ones(10**7, "f4")
    def resident():
        with open("/proc/self/status") as status:
            (mine,) = [int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS:")]
        return mine
    before = resident()
    F(x)
    print(resident() - before < 10)
    """
    assert run(script) == "True"


def test_what_fits_within_the_limit_is_computed():
    script = """
    M = prinax.Moments(2000); M.update(many(2, 2000))
    limit(400_000_000)
    PCA(1).fit(W[:, :2000]).get_covariance(), M.covariance(), M.to_bytes(), prinax.gram(many(2000, 3))
    prinax.Whitener().fit(W[:, :1000]), PCA(1, svd_solver="lanczos").fit(W[:, :100_000])
    """
    assert run(f"    D = {D}\n" + WIDE + LIMITED + script) == ""


def test_the_full_solver_takes_one_copy_of_wide_data():
    script = """
    M = mapped((20, 10**6), "f8")
    M[:, ::100] = np.random.default_rng(0).standard_normal((20, 10**4))
    limit(8 * M.size * 3 // 2)
    print(PCA(2, svd_solver="full").fit(M).rank_)
    """
    assert run(LIMITED + MAPPED + script) == "19"
