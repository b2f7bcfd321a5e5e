"""What whitening multiplies a patch with: the rows of the whitening matrix, drawn as patches.

Those of PCA are waves over the whole patch, from coarse to fine. Those of ZCA are all alike, one a pixel: the
pixel less its surroundings, as cells of the retina respond.
"""

from pathlib import Path

import data
import numpy as np
import pictures
from prinax import Whitener, center_rows

EPS = 1e-3
COLUMNS = 7


def draw() -> Path:
    patches = center_rows(data.photograph_patches())
    side = int(np.sqrt(patches.shape[1]))
    figure, (waves, dots) = pictures.new(8.6, 4.7, "Filters that whiten patches of photographs", 1, 2)
    rotated = Whitener("pca", eps=EPS, center=False).fit(patches).whitening_matrix_[: COLUMNS**2]
    norms = np.linalg.norm(rotated, axis=1, keepdims=True)
    pictures.tiles(
        waves, rotated / norms, COLUMNS, f"PCA: the first {COLUMNS**2}, each at full contrast", top=0.2
    )
    symmetric = Whitener("zca", eps=EPS, center=False).fit(patches).whitening_matrix_
    every_other = np.arange(0, side, side // COLUMNS)
    pixels = (every_other[:, None] * side + every_other).ravel()
    surroundings = 0.35 * symmetric.max()
    pictures.tiles(dots, symmetric[pixels], COLUMNS, "ZCA: those of every other pixel", top=surroundings)
    return pictures.save(figure, "whitening_filters")


if __name__ == "__main__":
    print(draw())
