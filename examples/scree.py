"""How fast the spectrum of the digit 8 falls, and how many components keep a given share of the variance."""

from pathlib import Path

import data
import numpy as np
import pictures
from prinax import PCA

SHARES = (0.90, 0.95, 0.99)


def draw() -> Path:
    pca = PCA().fit(data.eights())
    number = np.arange(1, pca.n_components_ + 1)
    captured = np.cumsum(pca.explained_variance_ratio_)
    figure, (scree, curve) = pictures.new(9.0, 3.8, "Spectrum of the digit 8 (500 images, 784 pixels)", 1, 2)

    scree.semilogy(number[: pca.rank_], pca.explained_variance_[: pca.rank_], color=pictures.BLUE)
    scree.set(title="Scree", xlabel="component", ylabel="eigenvalue (log scale)")

    curve.plot(number, captured, color=pictures.BLUE)
    for share in SHARES:
        k = pca.n_components_for(ratio=share)
        curve.plot([0, k, k], [share, share, captured[0]], color=pictures.GREY, linewidth=0.8, linestyle="--")
        curve.plot(k, share, "o", color=pictures.ORANGE, markersize=4)
        curve.annotate(f"{share:.0%}: {k}", (k, share), xytext=(7, -11), textcoords="offset points")
    curve.set(title="Captured variance", xlabel="components kept", ylabel="share of the variance")
    curve.set(xlim=(0, 300), ylim=(captured[0], 1.02))
    curve.yaxis.set_major_formatter("{x:.0%}")
    return pictures.save(figure, "scree")


if __name__ == "__main__":
    print(draw())
