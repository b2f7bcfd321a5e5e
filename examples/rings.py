"""Concentric rings: no line separates them, and one number from kernel PCA does.

Linear PCA only turns the picture. The rbf kernel sends each point to its similarities with all others, and
the leading direction among these tells the inner ring from the outer one.
"""

from pathlib import Path

import numpy as np
import pictures
from prinax import PCA, KernelPCA

POINTS = 200
RADII = (1.0, 3.0)


def rings() -> tuple[np.ndarray, np.ndarray]:
    """Points on two noisy circles about the origin, and which circle each is of."""
    rng = np.random.default_rng(0)
    which = np.repeat([0, 1], POINTS)
    angle = rng.uniform(0, 2 * np.pi, which.size)
    radius = np.take(RADII, which) + 0.15 * rng.standard_normal(which.size)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), which


def draw() -> Path:
    X, which = rings()
    panels = {
        "data": (X, "x", "y"),
        "PCA: the same picture, turned": (PCA(2).fit_transform(X), "component 1", "component 2"),
        "kernel PCA, rbf: component 1 separates": (
            KernelPCA(2, kernel="rbf", gamma=0.4).fit_transform(X),
            "component 1",
            "component 2",
        ),
    }
    figure, axes = pictures.new(11.5, 4.2, "Two rings under linear and kernel PCA", 1, 3)
    for axis, (title, (points, xlabel, ylabel)) in zip(axes, panels.items(), strict=True):
        for ring, (name, colour) in enumerate(
            (("inner ring", pictures.BLUE), ("outer ring", pictures.ORANGE))
        ):
            own = points[which == ring]
            axis.plot(*own.T, "o", color=colour, markersize=3.5, alpha=0.7, label=name)
        axis.set(title=title, xlabel=xlabel, ylabel=ylabel)
    for axis in axes[:2]:
        axis.set_aspect("equal", adjustable="datalim")
    axes[2].legend(loc=(0.24, 0.03), frameon=False)
    return pictures.save(figure, "rings")


if __name__ == "__main__":
    print(draw())
