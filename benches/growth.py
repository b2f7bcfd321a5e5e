"""How the time of our main calls grows with rows and columns, beside what the formulas say.

python benches/growth.py [FILE]

The picture alone, in about a minute; FILE is docs/pictures/growth.png unless given. A new panel is one more
entry in panels.py.
"""

import statistics
import sys
from pathlib import Path

import machine
import matplotlib.pyplot as plt
import numpy as np
import report
from compare import without_caps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from measure import turn
from panels import Curve, Panel, panels
from picture import COLOURS

ROUNDS = 5  # turns of each thread count: a slope is asked for, not a third digit
FITTED = 3  # points at least for a slope, where there are so many: two follow any disturbance
REACH = 4  # formulas are drawn on to so many times the largest size measured
GREY, PALE, INK = "#a0aec0", "#f1f5f9", "#4a5568"
MARKERS = "os"  # of the first road and of the second


def measure(counts: tuple[int, ...]) -> list[Curve]:
    """Every panel at every thread count."""
    curves: list[Curve] = []
    for panel in panels():
        print(f"growth: {panel.title}", flush=True)
        curves += _curves(panel, counts)
    return curves


def _curves(panel: Panel, counts: tuple[int, ...]) -> list[Curve]:
    calls = [panel.prepare(size) for size in panel.sizes]
    roads = tuple(panel.road(call) for call in calls)
    samples: dict[int, list[list[float]]] = {count: [[] for _ in calls] for count in counts}
    # All sizes in each round, so that a disturbance does not bend a line.
    for _ in range(ROUNDS):
        for place, call in enumerate(calls):
            for count, taken in samples.items():
                with machine.threads(count):
                    pace = min(taken[place], default=0.0) or machine.best(call, 2)
                    taken[place] += turn(call, pace)[0]
    medians = {count: tuple(map(statistics.median, taken)) for count, taken in samples.items()}
    return [Curve(panel, count, seconds, roads) for count, seconds in medians.items()]


def exponent(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, int]:
    """Slope of log time against log size over the upper half of the points, and the first size of these."""
    upper = slice(-max(FITTED, (len(sizes) + 1) // 2), None)
    slope = np.polyfit(np.log(sizes[upper]), np.log(seconds[upper]), 1)[0]
    return float(slope), int(sizes[upper][0])


SECTION = f"""## How the cost grows

![Time of the main calls against rows and columns, measured and by the formula](pictures/growth.png)

Medians of prinax alone, with 1 and 2 threads; squares where a fit takes another solver than at smaller
sizes. The grey line has the slope of the formula and passes through the largest size measured with 1
thread; dashed, up to {REACH} times that size, it is extrapolated and no measurement. The exponents are
fitted to the upper half of the sizes, since in small calls the formula has not yet outgrown what every
call costs. Below the formula's: larger calls still use the machine better. Above: the data outgrow a
cache, or something else ran.
"""
COLUMNS = ["call", "formula", "sizes fitted", "exponent of the formula"]


def section(curves: list[Curve]) -> str:
    """The picture and its exponents, for docs/benchmarks.md."""
    lines: dict[tuple[str, str], list[str]] = {}
    for curve in curves:
        for road, formula, sizes, seconds in curve.stretches():
            slope, begin = exponent(sizes, seconds)
            name = curve.panel.title + (f", {road}" if road else "")
            size = curve.panel.axis[-1]
            start = [name, str(formula), f"{size} = {begin:,} to {sizes[-1]:,}", f"{size}^{formula.power}"]
            lines.setdefault((curve.panel.title, road), start).append(f"{slope:.2f}")
    counts = dict.fromkeys(curve.threads for curve in curves)
    header = [*COLUMNS, *(f"measured, {report.threads(count)}" for count in counts)]
    return SECTION + "\n" + report.markdown(header, list(lines.values()))


def draw(curves: list[Curve], path: Path) -> None:
    """One panel a call, both axes logarithmic: medians, the formula's slope, and where that would lead."""
    shown = list(dict.fromkeys(curve.panel.title for curve in curves))
    figure, grid = plt.subplots(2, 3, figsize=(12, 7.6), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.12)
    for axes, title in zip(grid.flat, shown, strict=True):
        _panel(axes, [curve for curve in curves if curve.panel.title == title])
    for axes in grid[:, 0]:
        axes.set_ylabel("time of one call")
    _legend(figure, list(dict.fromkeys(curve.threads for curve in curves)))
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _panel(axes: Axes, curves: list[Curve]) -> None:
    panel = curves[0].panel
    axes.set_xscale("log")
    axes.set_yscale("log")
    highest = _formulas(axes, curves[0])
    for index, curve in enumerate(curves):
        # More threads lie below and wider, so that both are seen where they take the same time.
        look = {"color": COLOURS[index % len(COLOURS)], "zorder": 4 - index}
        axes.plot(panel.sizes, curve.seconds, linewidth=1.6 + 1.6 * index, **look)
        for marker, (_, _, sizes, seconds) in zip(MARKERS, curve.stretches(), strict=False):
            axes.plot(sizes, seconds, marker, markersize=5 + 2.5 * index, **look)
    _roads(axes, min(curves, key=lambda curve: curve.seconds[-1]))
    lowest = min(min(curve.seconds) for curve in curves)
    axes.set_xlim(panel.sizes[0] / 1.4, panel.sizes[-1] * REACH * 1.15)
    axes.set_ylim(lowest / 2, highest * 2)
    _words(axes, panel)


def _formulas(axes: Axes, curve: Curve) -> float:
    """The slope of each road's formula through its last point; the highest time drawn."""
    end = curve.panel.sizes[-1]
    axes.axvspan(end, end * REACH * 2, color=PALE, zorder=0)
    for _, formula, sizes, seconds in curve.stretches():
        drawn = np.append(sizes, REACH * end)
        times = seconds[-1] * (drawn / sizes[-1]) ** formula.power
        axes.plot(sizes, times[:-1], color=GREY, linewidth=1, zorder=1)
    axes.plot(drawn[-2:], times[-2:], "--", color=GREY, linewidth=1.4, zorder=1)
    return float(times[-1])


def _roads(axes: Axes, lowest: Curve) -> None:
    """The names of the roads below the lowest line, where there is more than one."""
    beside = {"xytext": (8, -15), "textcoords": "offset points", "color": INK, "fontsize": 8.5}
    for road, _, sizes, seconds in lowest.stretches():
        if road:
            early = (len(sizes) - 1) // 3  # so that the name ends before the extrapolated part
            axes.annotate(f"by {road}", (sizes[early], seconds[early]), **beside)


def _words(axes: Axes, panel: Panel) -> None:
    time = ", then ".join(_typeset(formula.order) for formula in panel.formulas.values())
    memory = f", memory {_typeset(panel.memory)}" if panel.memory else ""
    axes.set_title(panel.title, loc="left", fontsize=11, fontweight="bold", color="#1a202c", pad=22)
    axes.text(0, 1.03, f"time {time}{memory}", transform=axes.transAxes, color=INK)
    axes.set_xlabel(panel.axis)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: report.quantity(value, "s"))
    axes.tick_params(labelsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e2e8f0", linewidth=0.6, zorder=0)
    corner = {"transform": axes.transAxes, "ha": "right", "fontsize": 8.5, "style": "italic", "color": INK}
    axes.text(0.985, 0.03, "extrapolated", **corner)


def _typeset(order: str) -> str:
    return "$O(" + order.replace(" ", r"\,") + ")$"


def _legend(figure: Figure, counts: list[int]) -> None:
    handles = [
        Line2D([], [], color=colour, marker="o", linewidth=2, label=f"measured, {report.threads(count)}")
        for colour, count in zip(COLOURS, counts, strict=False)
    ]
    law = {"color": GREY, "linewidth": 1.2}
    handles += [
        Line2D([], [], **law, label="slope of the formula through the largest size measured"),
        Line2D([], [], **law, linestyle="--", label="extrapolated, not measured"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)


def main() -> int:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs/pictures/growth.png"
    curves = measure((1, 2))
    draw(curves, path)
    print(section(curves))
    return 0


if __name__ == "__main__":
    without_caps()
    sys.exit(main())
