"""One 8 rebuilt from 1, 10, 100 and 500 components: U U'(x - mean) + mean."""

from pathlib import Path

import data
import numpy as np
import pictures
from prinax import PCA

KEPT = (1, 10, 100, 500)


def draw() -> Path:
    images = data.eights()
    digit = images[7:8]
    figure, axes = pictures.new(8.4, 2.5, "An 8 rebuilt from its leading components", 1, len(KEPT) + 1)
    pictures.show(axes[0], digit, "original\n784 pixels", top=255)
    for axis, k in zip(axes[1:], KEPT, strict=True):
        rebuilt = PCA(n_components=k).fit(images).reconstruct(digit)
        error = np.linalg.norm(rebuilt - digit) / np.linalg.norm(digit)
        pictures.show(axis, rebuilt, f"{k} component{'s' * (k > 1)}\nerror {error:.1%}", top=255)
    return pictures.save(figure, "digit_rebuilt")


if __name__ == "__main__":
    print(draw())
