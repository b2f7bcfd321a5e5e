"""Rows that the covariance, Gram and moments tests go through, and the oracle's covariance beside ours."""

import numpy as np
import oracle
from numpy.testing import assert_array_equal

EPS = {"f4": 2.0**-23, "f8": 2.0**-52}
SHAPES = [(2, 1), (2, 3), (3, 2), (17, 5), (100, 33), (700, 7), (40, 130), (1025, 24), (30, 260)]


def rows(shape, dtype="f8", offset=0.0, seed=0):
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((shape[1], shape[1])) / np.sqrt(shape[1])
    return (rng.standard_normal(shape) @ mixing + offset).astype(dtype)


def assert_covariance(C, X, **options):
    """Entry by entry relative to the two standard deviations: the rounding of a panel."""
    wanted = oracle.covariance(X, **options)
    deviation = np.sqrt(wanted.diagonal())
    near = 4 * np.sqrt(min(len(X), 512)) * EPS[X.dtype.str[1:]]
    assert C.dtype == np.float64
    assert_array_equal(C, C.T)
    assert float(np.abs((C - wanted) / np.outer(deviation, deviation)).max()) <= near
