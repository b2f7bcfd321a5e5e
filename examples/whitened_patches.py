"""Whitening of natural images: patches of photographs before and after, at three values of eps.

A patch first loses its own mean, its brightness (`center_rows`). Neighbouring pixels then still agree;
whitening makes all pixels uncorrelated with variance 1. ZCA keeps the look of the patch and brings out its
edges; PCA whitening gives scores, which look like no picture. `eps` decides how much of the finest detail,
mostly noise of the camera, is blown up with the rest.
"""

from pathlib import Path

import data
import numpy as np
import pictures
from prinax import Whitener, center_rows

# The eigenvalues reach from 0.5 down to 0.0002; the last is 0, for each patch has lost its mean.
EPSILONS = (0.0, 1e-2, 0.3)
SHOWN = 14
# Grey values reach from black to white over this many standard deviations on either side.
CONTRAST = 2.5


def draw() -> Path:
    patches = data.photograph_patches()
    centred = center_rows(patches)
    by_contrast = np.argsort(centred.std(axis=1))
    chosen = by_contrast[np.linspace(0.5 * len(patches), 0.99 * len(patches), SHOWN).astype(int)]
    title = "Patches of photographs, 14 x 14 pixels, before and after whitening"
    figure, axes = pictures.new(8.6, 7.6, title, 8)
    pictures.tiles(axes[0], 2 * patches[chosen] - 1, SHOWN, "as they are", top=1)
    lines = [("own mean removed", centred)]
    for method in ("pca", "zca"):
        for eps in EPSILONS:
            whitener = Whitener(method, eps=eps, center=False)
            lines.append((f"{method.upper()}-whitened, eps = {eps:g}", whitener.fit_transform(centred)))
    for axis, (label, images) in zip(axes[1:], lines, strict=True):
        pictures.tiles(axis, images[chosen], SHOWN, label, top=CONTRAST * images[chosen].std())
    return pictures.save(figure, "whitened_patches")


if __name__ == "__main__":
    print(draw())
