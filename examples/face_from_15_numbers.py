"""A face as 15 numbers: `transform` writes them, `inverse_transform` draws the face again."""

from pathlib import Path

import data
import numpy as np
import pictures
from prinax import PCA

SHOWN = (2, 17, 31, 48, 64, 90)


def draw() -> Path:
    faces = data.faces()
    pca = PCA(n_components=15).fit(faces)
    numbers = pca.transform(faces)
    rebuilt = pca.inverse_transform(numbers)
    figure, axes = pictures.new(8.6, 4.4, "A face from 15 numbers (625 pixels each)", 3, len(SHOWN))
    for column, i in enumerate(SHOWN):
        original, code, drawn = axes[column], axes[column + len(SHOWN)], axes[column + 2 * len(SHOWN)]
        pictures.show(original, faces[i], "original" if column == 0 else "", top=1)
        code.bar(range(15), numbers[i], color=np.where(numbers[i] < 0, pictures.ORANGE, pictures.BLUE))
        code.set(
            ylim=(-np.abs(numbers).max(), np.abs(numbers).max()),
            title="its 15 numbers" if column == 0 else "",
        )
        code.set_axis_off()
        pictures.show(drawn, rebuilt[i], "drawn from them" if column == 0 else "", top=1)
    return pictures.save(figure, "face_from_15_numbers")


if __name__ == "__main__":
    print(draw())
