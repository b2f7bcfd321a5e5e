"""PCA and whitening in the plane: axes, rotation, projection to one number, approximation, two whitenings.

The points are real: the grey values of two neighbouring pixels in 100 faces, which mostly agree. Their colour
is their place along the first component, in every panel.
"""

from pathlib import Path

import data
import numpy as np
import pictures
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from prinax import PCA, Whitener

PLANE = {"xlabel": "pixel", "ylabel": "its right neighbour"}


def dots(axis: Axes, points: np.ndarray, along: np.ndarray, **options: object) -> None:
    axis.scatter(*points.T, c=along, cmap="viridis", s=16, **options)


def arrows(axis: Axes, pca: PCA) -> None:
    for direction, deviation in zip(pca.components_, np.sqrt(pca.explained_variance_), strict=True):
        tip = pca.mean_ + 2 * deviation * direction
        style = {"arrowstyle": "-|>", "color": pictures.ORANGE, "lw": 2}
        axis.annotate("", tip, pca.mean_, arrowprops=style)


def approximation(axis: Axes, pairs: np.ndarray, along: np.ndarray) -> None:
    rebuilt = PCA(n_components=1).fit(pairs).reconstruct(pairs)
    axis.add_collection(
        LineCollection(np.stack([pairs, rebuilt], axis=1), colors=pictures.GREY, linewidths=0.8)
    )
    dots(axis, pairs, along, alpha=0.35)
    axis.plot(*rebuilt.T, "o", color=pictures.ORANGE, markersize=3, label="rebuilt from one number")
    axis.legend(loc="lower right", frameon=False)


def draw() -> Path:
    pairs = data.faces().reshape(-1, 25, 25)[:, 12, 12:14]
    pca = PCA().fit(pairs)
    scores = pca.transform(pairs)
    along = scores[:, 0]
    figure, axes = pictures.new(11.5, 7.4, "Two neighbouring pixels of 100 faces", 2, 3)
    for axis in axes:
        axis.set_aspect("equal", adjustable="datalim")

    dots(axes[0], pairs, along)
    arrows(axes[0], pca)
    axes[0].set(title="data, and twice the deviation along each component", **PLANE)
    dots(axes[1], scores, along)
    axes[1].set(title="rotation: scores on both components", xlabel="component 1", ylabel="component 2")
    dots(axes[2], np.stack([along, np.zeros_like(along)], axis=1), along, alpha=0.6)
    axes[2].set(title="projection: one number a point", xlabel="component 1", yticks=[])
    axes[2].spines["left"].set_visible(False)

    approximation(axes[3], pairs, along)
    axes[3].set(title="approximation: back in the plane", **PLANE)
    dots(axes[4], Whitener("pca").fit_transform(pairs), along)
    axes[4].set(title="PCA whitening: rotated, variances 1", xlabel="score 1", ylabel="score 2")
    dots(axes[5], Whitener("zca").fit_transform(pairs), along)
    axes[5].set(
        title="ZCA whitening: turned back, near the data", xlabel="pixel", ylabel="its right neighbour"
    )
    return pictures.save(figure, "panels_2d")


if __name__ == "__main__":
    print(draw())
