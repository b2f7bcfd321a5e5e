"""Noise removal: a few components fitted to noisy images alone bring the images closer to the clean ones."""

from pathlib import Path

import data
import numpy as np
import pictures
from prinax import PCA

NOISE = 80.0  # standard deviation of the added noise, in grey values of 255
KEPT = 20
SHOWN = (0, 7, 11, 23, 42, 60)


def denoise() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The clean eights, the same with noise, and the noisy ones rebuilt from a few components."""
    clean = data.eights()
    noisy = clean + np.random.default_rng(0).normal(scale=NOISE, size=clean.shape)
    return clean, noisy, PCA(n_components=KEPT).fit(noisy).reconstruct(noisy)


def root_mean_square(difference: np.ndarray) -> float:
    return float(np.sqrt(np.mean(difference**2)))


def draw() -> Path:
    clean, noisy, denoised = denoise()
    before, after = root_mean_square(noisy - clean), root_mean_square(denoised - clean)
    title = f"Noise removal with {KEPT} components fitted to the noisy images"
    figure, axes = pictures.new(8.6, 4.8, title, 3, len(SHOWN))
    lines = (
        (clean, "clean"),
        (noisy, f"noisy: error {before:.0f}"),
        (denoised, f"denoised: error {after:.0f}"),
    )
    for row, (images, label) in enumerate(lines):
        for column, i in enumerate(SHOWN):
            axis = axes[row * len(SHOWN) + column]
            pictures.show(axis, images[i], top=255)
        axes[row * len(SHOWN)].set_title(label, loc="left")
    return pictures.save(figure, "denoise_digit")


if __name__ == "__main__":
    print(draw())
