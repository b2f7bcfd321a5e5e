"""Kernels and solvers that the kernel PCA tests go through, and the answer with H written out."""

import numpy as np
from oracle import centring

KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.2, "degree": 2, "coef0": 1.0},
    "rbf": {"gamma": 0.3},
    "cosine": {},
    "laplacian": {"gamma": 0.2},
}
SOLVERS = ["auto", "dense", "lanczos", "randomized"]


def reference(K, k):
    """Eigenvalues and vectors of H K H, descending, and its trace."""
    H = centring(len(K))
    centred = H @ K @ H
    values, vectors = np.linalg.eigh((centred + centred.T) / 2)
    return values[::-1][:k], vectors[:, ::-1][:, :k], np.trace(centred)
