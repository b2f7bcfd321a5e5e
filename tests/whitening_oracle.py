"""The five forms of Kessy, Lewin and Strimmer (2018) by definition, and the rows that they are tested on."""

import numpy as np
from scipy.linalg import cholesky

METHODS = ["pca", "zca", "pca-cor", "zca-cor", "cholesky"]
DTYPES = [np.float32, np.float64]


def five_columns(rng):
    return rng.standard_normal((200, 5)) @ rng.standard_normal((5, 5)) + [1.0, -2.0, 30.0, 0.0, 5.0]


def definition(C, method, eps=0.0):
    """W by the formulas of the paper, with NumPy and SciPy."""
    d = len(C)
    if method == "cholesky":
        return cholesky(np.linalg.inv(C + eps * np.eye(d)), lower=True).T
    if method in ("pca", "zca"):
        values, U = np.linalg.eigh(C)
        values, U = values[::-1], U[:, ::-1]
        rotated = np.diag((values + eps) ** -0.5) @ U.T
        return rotated if method == "pca" else U @ rotated
    V = np.diag(np.diag(C) ** -0.5)
    return definition(V @ C @ V, method.removesuffix("-cor"), eps) @ V


def same_signs(W, like):
    """The rows of W with the signs of the rows of `like`."""
    return W * np.sign(np.sum(W * like, axis=1))[:, None]
