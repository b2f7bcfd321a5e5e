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


def test_what_fits_within_the_limit_is_computed():
    script = """
    M = prinax.Moments(2000); M.update(many(2, 2000))
    limit(400_000_000)
    PCA(1).fit(W[:, :2000]).get_covariance(), M.covariance(), M.to_bytes(), prinax.gram(many(2000, 3))
    prinax.Whitener().fit(W[:, :1000]), PCA(1, svd_solver="lanczos").fit(W[:, :100_000])
    """
    assert run(f"    D = {D}\n" + WIDE + LIMITED + script) == ""
