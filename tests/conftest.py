"""Data that many tests share."""

import numpy as np
import pytest

# Helpers whose assertions tell what they compared, as those of the tests do.
pytest.register_assert_rewrite(
    "covariance_oracle", "hsic_oracle", "kernel_oracle", "pca_oracle", "saved", "streams", "whitening_oracle"
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def X(rng):
    """Columns of different size and place."""
    return rng.standard_normal((60, 5)) * [1, 2, 3, 4, 5] + [0.0, 10.0, -3.0, 1.0, 100.0]


@pytest.fixture
def labels(rng):
    """A class of four for each row of X."""
    return rng.integers(0, 4, 60)


def _one_hot(labels):
    return np.equal.outer(labels, np.unique(labels)).astype(float)


def _families():
    """Matrices that have broken eigensolvers or PCA somewhere; each n x d with rows as samples."""
    rng = np.random.default_rng(7)
    cloud = rng.standard_normal((40, 6))
    labels = np.repeat([0, 1, 2, 3], [12, 9, 8, 11])
    hilbert = 1 / (np.arange(8)[:, None] + np.arange(8) + 1.0)
    return {
        "ordinary": cloud * [6, 5, 4, 3, 2, 1],
        "wide": rng.standard_normal((7, 30)),
        "one feature": rng.standard_normal((20, 1)),
        "two rows": np.array([[1.0, 0.0], [0.0, 1.0]]),
        "all rows equal": np.tile([3.0, -1.0, 0.1], (9, 1)),
        "constant column": np.column_stack([cloud[:, :3], np.full(40, 0.1)]),
        "duplicated rows": np.repeat(cloud[:5], 8, axis=0),
        "duplicated columns": cloud[:, [0, 1, 0, 2, 1, 0]],
        "one-hot labels": _one_hot(labels),
        "0/1 blocks": np.equal.outer(labels, labels).astype(float),
        "graded": cloud * np.logspace(0, -12, 6),
        "far away": cloud + 1e8,
        "tiny": cloud * 1e-200,
        "huge": cloud * 1e200,
        "hilbert": hilbert,
        "equal variances": 2.0 * np.vstack([np.eye(4), -np.eye(4)]),
    }


@pytest.fixture(params=_families())
def nasty(request):
    return _families()[request.param]
