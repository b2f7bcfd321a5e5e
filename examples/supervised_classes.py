"""SPCA against PCA on real classes: as many numbers a sample, chosen with and without a look at the labels.

Ten digits in 784 pixels, and eight kinds of cancer in 6,830 genes of a few dozen cell lines. How good the
numbers are is told by the simplest classifier, the nearest class mean, on samples that no model has seen.
"""

from pathlib import Path

import data
import numpy as np
import pictures
from matplotlib.axes import Axes
from prinax import PCA, SPCA

LEAST = 5  # samples of a class of cell lines
TRAINED = 4000  # digits, the other 1,000 are tested
MODELS = {"PCA": PCA, "SPCA": SPCA}
COLOURS = {"PCA": pictures.GREY, "SPCA": pictures.ORANGE}


def accuracies(X: np.ndarray, y: np.ndarray, test: np.ndarray, most: int) -> dict[str, np.ndarray]:
    """Which rows of `test` are classified rightly from 1, 2, ..., `most` scores: {model: (most, rows)}."""
    train = np.setdiff1d(np.arange(len(X)), test)
    found = {}
    for name, model in MODELS.items():
        fitted = model(n_components=most).fit(X[train], y[train])
        known, new = fitted.transform(X[train]), fitted.transform(X[test])
        found[name] = np.array(
            [nearest(known[:, :k], y[train], new[:, :k]) == y[test] for k in range(1, most + 1)]
        )
    return found


def nearest(known: np.ndarray, labels: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The class whose mean is nearest to each row of `new`."""
    classes = np.unique(labels)
    means = np.array([known[labels == c].mean(axis=0) for c in classes])
    return classes[((new[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)]


def digits() -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    X, y = data.mnist()
    test = np.random.default_rng(0).permutation(len(X))[TRAINED:]
    shares = {name: right.mean(axis=1) for name, right in accuracies(X, y, test, 9).items()}
    return X, y, shares


def cells() -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Every cell line in turn is left out of the fit and tested."""
    X, y = data.cancer_cells()
    kinds, counts = np.unique(y, return_counts=True)
    frequent = np.isin(y, kinds[counts >= LEAST])
    X, y = X[frequent], y[frequent]
    most = len(np.unique(y)) - 1
    found = [accuracies(X, y, np.array([i]), most) for i in range(len(X))]
    return X, y, {name: np.mean([f[name][:, 0] for f in found], axis=0) for name in MODELS}


def scatter(axes: Axes, name: str, X: np.ndarray, y: np.ndarray, shown: np.ndarray) -> None:
    Z = MODELS[name](n_components=2).fit(X, y).transform(X)[shown]
    classes = np.unique(y)
    for c, colour in zip(classes, pictures.plt.get_cmap("tab10").colors, strict=False):
        axes.plot(*Z[y[shown] == c].T, "o", color=colour, markersize=4, alpha=0.7, label=str(c).lower())
    axes.set(title=f"{name}, 2 of {X.shape[1]} dimensions", xticks=[], yticks=[])


def curve(axes: Axes, shares: dict[str, np.ndarray], chance: float) -> None:
    for name, share in shares.items():
        axes.plot(np.arange(1, len(share) + 1), share, "o-", color=COLOURS[name], markersize=4)
        axes.annotate(
            name, (len(share), share[-1]), xytext=(6, -3), textcoords="offset points", color=COLOURS[name]
        )
    axes.axhline(chance, color="black", linewidth=0.8, linestyle=":")
    axes.annotate("chance", (1, chance), xytext=(0, 3), textcoords="offset points")
    axes.set(title="unseen samples classified rightly", xlabel="scores a sample", ylim=(0, 1))
    axes.yaxis.set_major_formatter("{x:.0%}")


def draw() -> Path:
    figure, axes = pictures.new(
        11.5, 7.0, "The directions that tell classes apart, with and without labels", 2, 3
    )
    for line, (X, y, shares) in zip((axes[:3], axes[3:]), (digits(), cells()), strict=True):
        shown = np.random.default_rng(1).permutation(len(X))[:1500]
        scatter(line[0], "PCA", X, y, shown)
        scatter(line[1], "SPCA", X, y, shown)
        line[1].legend(fontsize=7, markerscale=1.2, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        curve(line[2], shares, np.unique(y, return_counts=True)[1].max() / len(y))
    axes[0].set_ylabel("5,000 handwritten digits")
    axes[3].set_ylabel("cancer cell lines (NCI60)")
    return pictures.save(figure, "supervised_classes")


if __name__ == "__main__":
    print(draw())
