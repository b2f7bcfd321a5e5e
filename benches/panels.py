"""What the picture of growth shows: one call a panel, at which sizes, and what the formula says of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import prinax
import samples
from measure import Call
from rows.hsic import GAMMA, pair
from rows.kernel import D, K, near_median

COLUMNS = 100  # of the fits against rows
ROWS = 5000  # of the fits against columns
SCORES = 50  # of one row: many, so that the arithmetic is soon more than the call itself
ANY = ""  # the road where one formula holds for all


@dataclass(frozen=True)
class Formula:
    """The order of the cost, and the power in it of the size on the axis."""

    order: str
    power: int

    def __str__(self) -> str:
        return f"O({self.order})"


@dataclass(frozen=True)
class Panel:
    """One call at growing sizes: `prepare` makes the data of a size and gives the call.

    `formulas` by the road that prinax takes (`solver_`), in the order in which it takes them as sizes grow.
    """

    title: str
    axis: str  # its last letter is the symbol
    sizes: tuple[int, ...]
    prepare: Callable[[int], Call]
    formulas: dict[str, Formula]
    memory: str = ""

    def road(self, call: Call) -> str:
        return ANY if ANY in self.formulas else call().solver_


@dataclass(frozen=True)
class Curve:
    """A panel's medians at one thread count, with the road that each size took."""

    panel: Panel
    threads: int
    seconds: tuple[float, ...]
    roads: tuple[str, ...]

    def stretches(self) -> Iterator[tuple[str, Formula, np.ndarray, np.ndarray]]:
        """Road, formula, sizes, seconds: road after road."""
        for road, formula in self.panel.formulas.items():
            taken = np.array(self.roads) == road
            if taken.any():
                yield road, formula, np.array(self.panel.sizes)[taken], np.array(self.seconds)[taken]


def panels() -> list[Panel]:
    """All panels, in the order of the picture. No call takes more than about half a second."""
    n, d = "number of rows, n", "number of columns, d"
    return [
        Panel(
            f"PCA fit, d = {COLUMNS}, k = {K}",
            n,
            (300, 1000, 3000, 10_000, 30_000, 100_000, 300_000),
            lambda n: fit(samples.decaying(n, COLUMNS)),
            {ANY: Formula("n d^2", 1)},
        ),
        Panel(
            f"PCA fit, n = {ROWS}, k = {K}",
            d,
            (30, 60, 120, 240, 480, 960, 1920),
            lambda d: fit(samples.decaying(ROWS, d)),
            {"covariance_eigh": Formula("n d^2", 2), "lanczos": Formula("n d", 1)},
        ),
        Panel("eigh, all pairs", d, (16, 32, 64, 128, 256, 512, 1024), eigh, {ANY: Formula("d^3", 3)}),
        Panel(
            f"KernelPCA fit, rbf, d = {D}, k = {K}",
            n,
            (400, 800, 1600, 3200, 6400),
            kernel_fit,
            {ANY: Formula("n^2", 2)},
            memory="n^2",
        ),
        Panel(
            "HSIC, rbf",
            n,
            (200, 400, 800, 1600, 3200, 6400, 12_800),
            hsic,
            {ANY: Formula("n^2", 2)},
            memory="n d",
        ),
        Panel(
            f"FrozenTransform, one row, k = {SCORES}",
            d,
            (50, 150, 500, 1500, 5000, 15_000),
            frozen,
            {ANY: Formula("d k", 1)},
        ),
    ]


def fit(X: np.ndarray) -> Call:
    return lambda: prinax.PCA(n_components=K).fit(X)


def eigh(d: int) -> Call:
    A = prinax.covariance(samples.decaying(2 * d, d))
    return lambda: prinax.eigh(A)


def kernel_fit(n: int) -> Call:
    X = samples.decaying(n, D)
    gamma = near_median(X)
    return lambda: prinax.KernelPCA(K, kernel="rbf", gamma=gamma).fit(X)


def hsic(n: int) -> Call:
    X, Y = pair(n)
    return lambda: prinax.hsic(X, Y, gamma_x=GAMMA, gamma_y=GAMMA)


def frozen(d: int) -> Call:
    X = samples.decaying(2 * SCORES, d)
    ready, row = prinax.PCA(n_components=SCORES).fit(X).freeze(), X[0].copy()
    return lambda: ready(row)
