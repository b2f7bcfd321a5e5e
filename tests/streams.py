"""Rows that the tests of streamed models go through, and what two equal models have in common."""

import numpy as np
from numpy.testing import assert_allclose
from prinax import IncrementalPCA


def six_columns(rng):
    return rng.standard_normal((120, 6)) * [6, 5, 4, 3, 2, 1] + [1.0, -2.0, 30.0, 0.0, 5.0, 100.0]


def streamed(X, sizes, **parameters):
    model = IncrementalPCA(**parameters)
    start = 0
    for size in sizes:
        model.partial_fit(X[start : start + size])
        start += size
    assert start == len(X)
    return model


def assert_same_model(model, right, tolerance=1e-12):
    assert_allclose(model.mean_, right.mean_, rtol=0, atol=tolerance * np.abs(right.mean_).max())
    assert_allclose(
        model.singular_values_, right.singular_values_, atol=tolerance * right.singular_values_[0]
    )
    assert_allclose(model.components_, right.components_, atol=100 * tolerance)
    assert_allclose(model.explained_variance_ratio_, right.explained_variance_ratio_, atol=tolerance)
    assert_allclose(model.noise_variance_, right.noise_variance_, atol=tolerance * right.total_variance_)
