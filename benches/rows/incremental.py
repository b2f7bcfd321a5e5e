"""Rows that stream: a whole fit in batches, and a small batch more."""

from collections.abc import Callable
from functools import partial

import numpy as np
import prinax
import samples
import sklearn.decomposition
from measure import OURS, Call, Row

# n, d, k, rows of a batch, quick
FITS = ((10_000, 100, 10, 500, True), (60_000, 784, 50, 1000, False))
# d, k, rows of the batch, rows seen before
UPDATES = ((100, 10, 20, 1000), (100, 10, 200, 1000), (784, 50, 200, 5000))


def rows() -> list[Row]:
    fits = [
        Row(
            name=f"IncrementalPCA {n} x {d}, k={k}, batches of {batch}",
            group="streaming",
            prepare=partial(whole, n, d, k, batch),
            flops=n * d * (d + 1) + 4 / 3 * d**3,
            read=8 * n * d,
            quick=quick,
        )
        for n, d, k, batch, quick in FITS
    ]
    return fits + [
        Row(
            name=f"partial_fit {m} rows, d={d}, k={k}",
            group="streaming",
            prepare=partial(more, d, k, m, seen),
            flops=m * d * (d + 1),
            read=8 * m * d,
            quick=True,
        )
        for d, k, m, seen in UPDATES
    ]


def whole(n: int, d: int, k: int, batch: int) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    X = samples.decaying(n, d)
    calls: dict[str, Call] = {
        OURS: lambda: prinax.IncrementalPCA(k).fit(X[i : i + batch] for i in range(0, n, batch)),
        "scikit-learn": lambda: sklearn.decomposition.IncrementalPCA(k, batch_size=batch).fit(X),
    }
    return calls, partial(errors, X, X[:0])


def more(d: int, k: int, m: int, seen: int) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    """One batch again and again, into models that have seen some rows."""
    X = samples.decaying(seen + m, d)
    first, batch = X[:seen], X[seen:].copy()
    lazy, read = (prinax.IncrementalPCA(k).fit(first) for _ in range(2))
    theirs = sklearn.decomposition.IncrementalPCA(k, batch_size=m).fit(first)

    def update_and_read() -> prinax.IncrementalPCA:
        _ = read.partial_fit(batch).components_
        return read

    calls: dict[str, Call] = {
        OURS: lambda: lazy.partial_fit(batch),
        "prinax, components_ read": update_and_read,
        "scikit-learn": lambda: theirs.partial_fit(batch),
    }
    return calls, partial(errors, first, batch)


def errors(first: np.ndarray, batch: np.ndarray, model: object) -> dict[str, float]:
    """Largest relative error of a singular value against a full SVD of all rows the model has seen."""
    times = (model.n_samples_seen_ - len(first)) // max(len(batch), 1)
    weights = np.concatenate([np.ones(len(first)), np.full(len(batch), float(times))])
    X = np.concatenate([first, batch])
    centred = (X - np.average(X, axis=0, weights=weights)) * np.sqrt(weights)[:, None]
    right = np.linalg.svd(np.linalg.qr(centred, mode="r"), compute_uv=False)
    found = model.singular_values_
    return {"sigma": float(np.abs(found / right[: len(found)] - 1).max())}
