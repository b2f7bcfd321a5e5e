"""Which columns of real data depend on each other: correlation sees lines, HSIC sees any shape.

178 Italian wines, 13 chemical measurements and the grower. Each square on the right is an aligned HSIC (CKA
with Gaussian kernels); a dot marks pairs whose independence is not rejected at 1 in 1,000.
"""

from pathlib import Path

import numpy as np
import pictures
from prinax import cka, hsic_test
from sklearn.datasets import load_wine

LEVEL = 0.001
RBF = {"kernel_x": "rbf", "kernel_y": "rbf"}


def dependence(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(d, d) alignments and p-values of all pairs of columns."""
    d = X.shape[1]
    strength, pvalue = np.eye(d), np.zeros((d, d))
    for i in range(d):
        for j in range(i):
            strength[i, j] = strength[j, i] = cka(X[:, i], X[:, j], **RBF)
            pvalue[i, j] = pvalue[j, i] = hsic_test(X[:, i], X[:, j], method="gamma").pvalue
    return strength, pvalue


def draw() -> Path:
    wine = load_wine()
    names = [*(name.replace("_", " ") for name in wine.feature_names), "grower"]
    names = [name.split("/")[0] for name in names]
    X = np.column_stack([wine.data, wine.target])
    strength, pvalue = dependence(X)
    figure, axes = pictures.new(12.0, 5.6, "178 wines: which measurements depend on each other", 1, 2)
    correlation = np.abs(np.corrcoef(X.T))
    for axis, table, title in (
        (axes[0], correlation, "absolute correlation"),
        (axes[1], np.sqrt(strength), f"root of the aligned HSIC; dot: p > {LEVEL}"),
    ):
        image = axis.imshow(
            np.ma.masked_where(np.eye(len(names), dtype=bool), table), cmap="Blues", vmin=0, vmax=1
        )
        axis.set(title=title, xticks=range(len(names)), yticks=range(len(names)))
        axis.set_xticklabels(names, rotation=90)
        axis.set_yticklabels(names)
        axis.spines[:].set_visible(False)
    across, down = np.nonzero(pvalue > LEVEL)
    axes[1].plot(down, across, ".", color=pictures.ORANGE, markersize=5)
    figure.colorbar(image, ax=list(axes), shrink=0.8)
    return pictures.save(figure, "hsic_columns")


if __name__ == "__main__":
    print(draw())
