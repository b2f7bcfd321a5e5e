"""MDS, Isomap, LLE and Laplacian eigenmaps: each is kernel PCA with a kernel of its own.

The data are a sheet rolled up in space. MDS keeps straight distances and only turns the roll; the other three
look at neighbours alone, and unroll it. The kernels are computed here with NumPy and SciPy;
`KernelPCA(kernel="precomputed")` centres each and finds the coordinates.
"""

from pathlib import Path

import numpy as np
import pictures
from prinax import KernelPCA
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

POINTS = 900
NEIGHBOURS = 12
RIDGE = 1e-3  # of the local inner products of LLE, whose neighbours outnumber the dimensions


def swiss_roll() -> tuple[np.ndarray, np.ndarray]:
    """Points of a rolled-up sheet, and the angle of each: how far along the sheet it lies."""
    rng = np.random.default_rng(0)
    angle = 1.5 * np.pi * (1 + 2 * rng.uniform(size=POINTS))
    height = rng.uniform(0, 21, POINTS)
    return np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)]), angle


def neighbours(D: np.ndarray) -> np.ndarray:
    """The nearest other points of each point, by row."""
    return np.argsort(D, axis=1)[:, 1 : NEIGHBOURS + 1]


def graph(D: np.ndarray) -> np.ndarray:
    """1 where one of two points is among the nearest of the other."""
    A = np.zeros_like(D)
    np.put_along_axis(A, neighbours(D), 1.0, axis=1)
    return np.maximum(A, A.T)


def mds(X: np.ndarray) -> np.ndarray:
    """-1/2 of the squared distances: centred, the inner products of the points."""
    return -0.5 * cdist(X, X, "sqeuclidean")


def isomap(X: np.ndarray) -> np.ndarray:
    """MDS of the distances along the graph of neighbours."""
    D = cdist(X, X)
    geodesic = shortest_path(csr_array(D * graph(D)), directed=False)
    return -0.5 * geodesic**2


def lle(X: np.ndarray) -> np.ndarray:
    """Pseudo-inverse of (I - W)'(I - W), the rows of W rebuilding each point from its neighbours."""
    nearest = neighbours(cdist(X, X))
    apart = X[nearest] - X[:, None]
    local = apart @ apart.transpose(0, 2, 1)
    local += RIDGE * np.trace(local, axis1=1, axis2=2)[:, None, None] * np.eye(NEIGHBOURS)
    weights = np.linalg.solve(local, np.ones((len(X), NEIGHBOURS, 1)))[..., 0]
    W = np.zeros((len(X), len(X)))
    np.put_along_axis(W, nearest, weights / weights.sum(axis=1, keepdims=True), axis=1)
    return inverse_beside_constants((np.eye(len(X)) - W).T @ (np.eye(len(X)) - W))


def laplacian_eigenmaps(X: np.ndarray) -> np.ndarray:
    """Pseudo-inverse of the Laplacian of the graph of neighbours."""
    A = graph(cdist(X, X))
    return inverse_beside_constants(np.diag(A.sum(axis=1)) - A)


def inverse_beside_constants(M: np.ndarray) -> np.ndarray:
    """Inverse of a symmetric matrix on all but the constant vector, which it sends to 0."""
    constant = np.ones_like(M) / len(M)
    inverse = np.linalg.inv(M + constant) - constant
    return (inverse + inverse.T) / 2


METHODS = {
    "MDS: straight distances": mds,
    "Isomap: distances along the sheet": isomap,
    "LLE: local weights": lle,
    "Laplacian eigenmaps: the order along it": laplacian_eigenmaps,
}


def draw() -> Path:
    X, angle = swiss_roll()
    figure, axes = pictures.new(12.5, 7.4, "A rolled-up sheet under four kernels of kernel PCA", 2, 3)
    dots = {"c": angle, "cmap": "viridis", "s": 9}
    axes[0].remove()
    space = figure.add_subplot(2, 3, 1, projection="3d")
    space.scatter(*X.T, **dots)
    space.view_init(elev=12, azim=-75)
    space.set(title="data: 900 points in space", xticks=[], yticks=[], zticks=[])
    for axis, (title, kernel) in zip(axes[1:5], METHODS.items(), strict=True):
        Z = KernelPCA(2, kernel="precomputed").fit_transform(kernel(X))
        axis.scatter(*Z.T, **dots)
        axis.set(title=title, xlabel="component 1", ylabel="component 2", xticks=[], yticks=[])
    sheet = axes[5].scatter(angle, X[:, 1], **dots)
    axes[5].set(title="the sheet, flat", xlabel="along the sheet", ylabel="across", xticks=[], yticks=[])
    figure.colorbar(sheet, ax=axes[5], label="along the sheet", ticks=[])
    return pictures.save(figure, "manifolds")


if __name__ == "__main__":
    print(draw())
