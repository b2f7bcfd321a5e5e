"""What the pictures share: one look, grids of images, one folder."""

import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

FOLDER = Path(os.environ.get("PRINAX_PICTURES", Path(__file__).parent / "pictures"))
BLUE, ORANGE, GREY = "#2b6cb0", "#dd6b20", "#a0aec0"

plt.rcParams.update(
    {
        "figure.dpi": 110,
        "savefig.bbox": "tight",
        "font.size": 10,
        "axes.titlesize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "figure.titlesize": 13,
        "figure.constrained_layout.use": True,
    }
)


def new(
    width: float, height: float, title: str, rows: int = 1, columns: int = 1
) -> tuple[Figure, np.ndarray]:
    """A figure under one title, and its axes as a flat array."""
    figure, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False)
    figure.suptitle(title)
    return figure, axes.ravel()


def show(
    axes: Axes, image: np.ndarray, title: str = "", *, signed: bool = False, top: float | None = None
) -> None:
    """One square image from its row of pixels; `signed`: blue below zero, white at zero, red above."""
    side = int(np.sqrt(image.size))
    high = float(np.abs(image).max()) if top is None else top
    low, colours = (-high, "RdBu_r") if signed else (0.0, "gray")
    axes.imshow(image.reshape(side, side), cmap=colours, vmin=low, vmax=high, interpolation="nearest")
    axes.set_title(title)
    axes.set_axis_off()


def tiles(axes: Axes, images: np.ndarray, columns: int, title: str, *, top: float | None = None) -> None:
    """Many small square images side by side, one a row of `images`: black -top, grey 0, white top."""
    side = int(np.sqrt(images.shape[1]))
    lines = len(images) // columns
    sheet = np.full((lines, columns, side + 1, side + 1), np.nan)
    sheet[:, :, 1:, 1:] = images[: lines * columns].reshape(lines, columns, side, side)
    sheet = sheet.transpose(0, 2, 1, 3).reshape(lines * (side + 1), -1)
    high = float(np.abs(images).max()) if top is None else top
    axes.imshow(sheet[1:, 1:], cmap="gray", vmin=-high, vmax=high, interpolation="nearest")
    axes.set_title(title, loc="left")
    axes.set_axis_off()


def save(figure: Figure, name: str) -> Path:
    """Writes `name`.png into the folder of pictures (PRINAX_PICTURES, else examples/pictures)."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.png"
    figure.savefig(path)
    plt.close(figure)
    return path
