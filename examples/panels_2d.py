"""PCA in the plane: the axes, the rotation, the projection to one number, and the approximation it gives.

The points are real: the grey values of two neighbouring pixels in 100 faces, which mostly agree.
"""

from pathlib import Path

import data
import numpy as np
import pictures
from matplotlib.collections import LineCollection
from prinax import PCA


def draw() -> Path:
    pairs = data.faces().reshape(-1, 25, 25)[:, 12, 12:14]
    pca = PCA().fit(pairs)
    line = PCA(n_components=1).fit(pairs)
    figure, axes = pictures.new(8.6, 8.2, "Two neighbouring pixels of 100 faces", 2, 2)
    for axis in axes:
        axis.set_aspect("equal", adjustable="datalim")

    plane = {"xlabel": "pixel", "ylabel": "its right neighbour"}
    axes[0].plot(*pairs.T, "o", color=pictures.BLUE, markersize=4, alpha=0.7)
    for direction, deviation in zip(pca.components_, np.sqrt(pca.explained_variance_), strict=True):
        tip = pca.mean_ + 2 * deviation * direction
        axes[0].annotate(
            "", tip, pca.mean_, arrowprops={"arrowstyle": "-|>", "color": pictures.ORANGE, "lw": 2}
        )
    axes[0].set(title="data, and twice the deviation along each component", **plane)

    scores = pca.transform(pairs)
    axes[1].plot(*scores.T, "o", color=pictures.BLUE, markersize=4, alpha=0.7)
    axes[1].set(title="rotation: scores on both components", xlabel="component 1", ylabel="component 2")

    along = line.transform(pairs)[:, 0]
    axes[2].plot(along, np.zeros_like(along), "o", color=pictures.BLUE, markersize=4, alpha=0.5)
    axes[2].set(title="projection: one number a point", xlabel="component 1", yticks=[])
    axes[2].spines["left"].set_visible(False)

    rebuilt = line.reconstruct(pairs)
    axes[3].add_collection(
        LineCollection(np.stack([pairs, rebuilt], axis=1), colors=pictures.GREY, linewidths=0.8)
    )
    axes[3].plot(*pairs.T, "o", color=pictures.BLUE, markersize=4, alpha=0.35, label="data")
    axes[3].plot(*rebuilt.T, "o", color=pictures.ORANGE, markersize=3, label="rebuilt from one number")
    axes[3].set(title="approximation: back in the plane", **plane)
    axes[3].legend(loc="lower right", frameon=False)
    return pictures.save(figure, "panels_2d")


if __name__ == "__main__":
    print(draw())
