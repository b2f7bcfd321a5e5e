"""The README's picture: how much faster than the best equally accurate peer, row by row."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from measure import OURS, OWN_TABLES, Result

COLOURS = ("#2b6cb0", "#90cdf4")
LOST = "#dd6b20"


def ratios(results: list[Result], path: Path) -> None:
    """Bars of (best peer's time) / (ours), one a thread count, axis logarithmic; orange where we lose."""
    shown = [
        result
        for result in results
        if result.row.group not in OWN_TABLES and any(result.best_rival(c) for c in result.outcomes)
    ]
    figure, axes = plt.subplots(figsize=(9, 0.32 * len(shown) + 1.3), layout="constrained")
    for place, result in enumerate(shown):
        counts = [count for count in result.outcomes if result.best_rival(count)]
        height = 0.8 / len(counts)
        for index, count in enumerate(counts):
            name, best = result.best_rival(count)
            value = best.median / result.outcomes[count][OURS].median
            colour = COLOURS[index] if value >= 1 else LOST
            middle = place + (index - (len(counts) - 1) / 2) * height
            axes.barh(middle, value - 1, height, left=1, color=colour)
            axes.text(
                max(value, 1) * 1.04,
                middle,
                f"{value:.1f}  {name}",
                va="center",
                fontsize=6.5,
                color="#4a5568",
            )
    axes.axvline(1, color="#1a202c", linewidth=1)
    axes.set_xscale("log")
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_yticks(range(len(shown)), [result.row.name for result in shown], fontsize=8)
    axes.set_xlabel("times faster than the best peer of equal accuracy, with 1 (dark) and 2 (light) threads")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.18)
    figure.savefig(path, dpi=120)
    plt.close(figure)
