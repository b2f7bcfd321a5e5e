"""The two estimators of the criterion with explicit matrices, and the kernel they are given most often."""

import numpy as np

R = np.random.default_rng


def median_rbf(x):
    x = np.asarray(x, float).reshape(len(x), -1)
    squares = ((x[:, None] - x) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * np.median(squares[np.triu_indices(len(x), 1)] ** 0.5) ** 2))


def biased(K, L):
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n
    return np.trace(K @ H @ L @ H) / (n - 1) ** 2


def unbiased(K, L):
    """Song et al. (2012), equation 5."""
    n = len(K)
    K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    one = np.ones(n)
    grand = (one @ K @ one) * (one @ L @ one) / ((n - 1) * (n - 2))
    return (np.trace(K @ L) + grand - 2 / (n - 2) * (one @ K @ L @ one)) / (n * (n - 3))


ESTIMATORS = {"biased": biased, "unbiased": unbiased}
