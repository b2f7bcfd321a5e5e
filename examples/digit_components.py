"""What PCA finds in 500 handwritten eights: their mean, and the directions in which they differ most."""

from pathlib import Path

import data
import pictures
from prinax import PCA


def draw() -> Path:
    pca = PCA(n_components=9).fit(data.eights())
    figure, axes = pictures.new(8.4, 4.0, "500 handwritten eights: mean and leading components", 2, 5)
    pictures.show(axes[0], pca.mean_, "mean")
    for j, (axis, component) in enumerate(zip(axes[1:], pca.components_, strict=True)):
        pictures.show(axis, component, f"{j + 1}: {pca.explained_variance_ratio_[j]:.1%}", signed=True)
    return pictures.save(figure, "digit_components")


if __name__ == "__main__":
    print(draw())
