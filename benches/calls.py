"""The fixed calls whose instructions benches/instructions.py counts: it runs this program under valgrind."""

import gc
import json
import os
from collections.abc import Callable

import numpy as np
import prinax
import samples
from prinax import _core

Call = Callable[[], object]

SAMPLES = 3  # of each call, of which the smallest counts: malloc and dictionaries only ever add
# The interpreter rewrites code that has run some eight times, which is worth thousands of instructions; after
# two calls caches are filled and malloc's thresholds settled.
WARM, WARM_LONG = 20, 2
K = 10
GAMMA = 0.002  # at which a typical pair of rows of 20 columns has a kernel value of about 0.6


def calls() -> tuple[dict[str, Call], dict[str, Call]]:
    """Calls in which the interpreter's share matters, the first of which does nothing; and longer ones."""
    X = samples.decaying(1000, 100)
    narrow = samples.decaying(500, 20)
    row, batch, low = X[:1].copy(), X[:20].copy(), X[:100, :10].copy()
    model, stream = prinax.PCA(n_components=K).fit(X), prinax.IncrementalPCA(K).fit(X)
    frozen = model.freeze()
    short: dict[str, Call] = {
        "nothing": lambda: None,
        f"frozen 1 row, d=100, k={K}": lambda: frozen(row),
        f"transform 1 row, d=100, k={K}": lambda: model.transform(row),
        f"partial_fit 20 rows, d=100, k={K}": lambda: stream.partial_fit(batch),
        "fit 100 x 10": lambda: prinax.PCA().fit(low),
        "whiten zca 500 x 20": lambda: prinax.Whitener("zca").fit_transform(narrow),
    }
    single, flat, some = X.astype(np.float32), samples.decaying(300, 200), narrow[:300].copy()
    left, right = narrow[:300, :5].copy(), narrow[:300, 5:10].copy()
    A, B = prinax.covariance(X), prinax.covariance(samples.decaying(600, 300))
    long: dict[str, Call] = {
        f"frozen 1000 rows, d=100, k={K}": lambda: frozen(X),
        f"fit 1000 x 100, k={K}": lambda: prinax.PCA(n_components=K).fit(X),
        "fit 300 x 200, all": lambda: prinax.PCA().fit(flat),
        "covariance 1000 x 100, float64": lambda: prinax.covariance(X),
        "covariance 1000 x 100, float32": lambda: prinax.covariance(single),
        "eigh d=100, all": lambda: prinax.eigh(A),
        f"eigh d=300, k={K}": lambda: prinax.eigh(B, K),
        "kernel_matrix rbf 200 x 20": lambda: prinax.kernel_matrix(narrow[:200], gamma=GAMMA),
        f"KernelPCA fit 300 x 20, k={K}": lambda: prinax.KernelPCA(K, kernel="rbf", gamma=GAMMA).fit(some),
        "HSIC n=300, gamma the median": lambda: prinax.hsic(left, right),
    }
    return short, long


def sample(call: Call, warm: int) -> None:
    """The call between two calls of getppid, at which valgrind writes its counts down."""
    for _ in range(warm):
        call()
    for _ in range(SAMPLES):
        os.getppid()
        call()
        os.getppid()


def main() -> None:
    prinax.set_num_threads(1)
    short, long = calls()
    gc.disable()  # a collection would fall into whichever sample comes next
    for call in short.values():
        sample(call, WARM)
    for call in long.values():
        sample(call, WARM_LONG)
    numpy = ".".join(np.__version__.split(".")[:2])
    versions = {"level": _core.simd_level(), "prinax": prinax.__version__, "numpy": numpy}
    print(json.dumps(versions | {"samples": SAMPLES, "calls": [*short, *long]}))


if __name__ == "__main__":
    main()
