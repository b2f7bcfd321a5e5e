"""What a test must do: uniform p-values where there is nothing to find, small ones where there is."""

from pathlib import Path

import numpy as np
import pictures
from prinax import hsic_test
from scipy.stats import pearsonr

TESTS = 300  # of independent pairs
SAMPLES = 60
NOISES = (0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2)
CURVES = 40  # for each noise
SHOWN = 0.2
LEVEL = 0.05


def independent() -> dict[str, np.ndarray]:
    """p-values of pairs that have nothing to do with each other, by method."""
    found: dict[str, list[float]] = {"permutation": [], "gamma": []}
    for seed in range(TESTS):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=SAMPLES), rng.exponential(size=SAMPLES)
        found["permutation"].append(hsic_test(x, y, n_permutations=199, random_state=seed).pvalue)
        found["gamma"].append(hsic_test(x, y, method="gamma").pvalue)
    return {method: np.sort(values) for method, values in found.items()}


def power_of_tests() -> dict[str, list[float]]:
    """How often the dependence of a noisy parabola is found at the level, by test and noise."""
    power: dict[str, list[float]] = {"HSIC": [], "correlation": []}
    for noise in NOISES:
        hits = {"HSIC": 0, "correlation": 0}
        for seed in range(CURVES):
            x, y = parabola(noise, seed)
            hits["HSIC"] += hsic_test(x, y, n_permutations=199, random_state=seed).pvalue <= LEVEL
            hits["correlation"] += pearsonr(x, y).pvalue <= LEVEL
        for test, count in hits.items():
            power[test].append(count / CURVES)
    return power


def parabola(noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Uncorrelated, whatever the noise."""
    rng = np.random.default_rng(1000 + seed)
    x = rng.uniform(-1, 1, SAMPLES)
    return x, x**2 + noise * rng.normal(size=SAMPLES)


def draw() -> Path:
    figure, (left, middle, right) = pictures.new(11.5, 3.8, f"HSIC tests on {SAMPLES} samples", 1, 3)
    left.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle=":")
    share = (np.arange(TESTS) + 0.5) / TESTS
    for (method, values), colour in zip(independent().items(), (pictures.BLUE, pictures.ORANGE), strict=True):
        left.plot(share, values, color=colour, label=method)
    left.set(title="independent: p-values are uniform", xlabel="share of tests", ylabel="p-value")
    left.legend(frameon=False)

    middle.plot(*parabola(SHOWN, 0), "o", color=pictures.BLUE, markersize=4, alpha=0.7)
    middle.set(title=f"dependent, uncorrelated: noise {SHOWN}", xlabel="x", ylabel="y")

    for (test, shares), colour in zip(power_of_tests().items(), (pictures.BLUE, pictures.GREY), strict=True):
        right.plot(NOISES, shares, "o-", color=colour, markersize=4, label=test)
    right.axhline(LEVEL, color="black", linewidth=0.8, linestyle=":")
    right.set(title=f"found at the level {LEVEL}", xlabel="noise around the parabola", ylim=(-0.02, 1.02))
    right.yaxis.set_major_formatter("{x:.0%}")
    right.legend(frameon=False)
    return pictures.save(figure, "hsic_pvalues")


if __name__ == "__main__":
    print(draw())
