"""Eigenfaces: the components of 100 real faces, found on the side of the 100 samples, not the 625 pixels."""

from pathlib import Path

import data
import pictures
from prinax import PCA


def draw() -> Path:
    pca = PCA(n_components=15, svd_solver="gram").fit(data.faces())
    figure, axes = pictures.new(9.2, 3.1, "Eigenfaces: mean and 15 leading components of 100 faces", 2, 8)
    pictures.show(axes[0], pca.mean_, "mean", top=pca.mean_.max())
    for j, (axis, component) in enumerate(zip(axes[1:], pca.components_, strict=True)):
        span = component - component.min()
        pictures.show(axis, span, f"{j + 1}: {pca.explained_variance_ratio_[j]:.1%}")
    return pictures.save(figure, "eigenfaces")


if __name__ == "__main__":
    print(draw())
