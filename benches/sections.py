"""Sections of docs/benchmarks.md beside its tables of times: memory, a neighbour, two threads against one."""

from measure import MEMORY_ROWS, NEIGHBOUR_ROWS, OURS, Result, Row
from report import markdown, quantity, ratio, verdict

# A p99 within this many medians is promised beside a busy neighbour.
STRAY = 3.0
# Medians closer than this the clock of a shared machine cannot tell apart.
APART = 1.05

MEMORY_PREFACE = """\
The peak of a process's own pages during a call, beyond what it held before: its libraries, its data, and
what one small call left. Less than 1 MB counts as 1 MB. The formulas give bytes, all in float64; they count
buffers that need not be filled, and leave out the stacks of threads."""
NEIGHBOUR_PREFACE = f"""\
Another process multiplies matrices with one thread all the while, so that one CPU is never free; every
contestant has 2 threads. Each call is timed by itself, in turns, contestant after contestant, after a pause
in which the threads of the one before come to rest. A peer that is slow beside the neighbour makes fewer
calls, and one that strays little may be slow in every call. The promise: our p99 stays within {STRAY:g}
medians. Where it does not, it is bold."""
THREADS_PREFACE = f"""\
Rows in which our median with 2 threads is more than {APART - 1:.0%} above that with 1."""


def all_of(results: list[Result]) -> list[str]:
    """Every section, those of memory and of the neighbour where there are such rows."""
    parts = []
    if members := of_group(results, MEMORY_ROWS):
        parts.append(f"## Memory\n\n{MEMORY_PREFACE}\n\n{memory(members)}")
    if members := of_group(results, NEIGHBOUR_ROWS):
        parts.append(f"## Beside a busy neighbour\n\n{NEIGHBOUR_PREFACE}\n\n{neighbour(members)}")
    return [*parts, f"## Two threads against one\n\n{THREADS_PREFACE}\n\n{two_threads(results)}"]


def tables(results: list[Result]) -> list[str]:
    """The tables of memory and of the neighbour alone, for the terminal."""
    found = [(memory, of_group(results, MEMORY_ROWS)), (neighbour, of_group(results, NEIGHBOUR_ROWS))]
    return [table(members) for table, members in found if members]


def of_group(results: list[Result], group: str) -> list[Result]:
    return [result for result in results if result.row.group == group]


def memory(results: list[Result]) -> str:
    """What was predicted of us, what was measured, and the peer that needs least."""
    header = ["task", "formula", "predicted", "prinax", "best peer", "its peak", "times ours"]
    lines = []
    for result in results:
        row, best = result.row, result.best_rival(result.row.threads)
        ours = result.outcomes[row.threads][OURS].median
        cells = [row.name, *prediction(row), quantity(ours, row.unit)]
        if best is None:
            cells += ["none", "-", "-"]
        else:
            cells += [best[0], quantity(best[1].median, row.unit), verdict(best[1].median, ours)]
        lines.append(cells)
    return markdown(header, lines)


def prediction(row: Row) -> list[str]:
    if row.predicted is None:
        return ["-", "-"]
    return [row.predicted.formula, quantity(row.predicted.value, row.unit)]


def neighbour(results: list[Result]) -> str:
    """Median and p99 of every contestant, and how far apart they are."""
    lines = []
    for result in results:
        for name, outcome in result.outcomes[result.row.threads].items():
            stray = outcome.p99 / outcome.median
            shown = f"**{ratio(stray)}**" if name == OURS and stray > STRAY else ratio(stray)
            times = (quantity(value, result.row.unit) for value in (outcome.median, outcome.p99))
            lines.append([result.row.name, name, str(len(outcome.samples)), *times, shown])
    return markdown(["call", "contestant", "calls", "median", "p99", "p99 / median"], lines)


def two_threads(results: list[Result]) -> str:
    """The rows in which a second thread costs us time."""
    lines = []
    for result in results:
        if {1, 2} <= result.outcomes.keys():
            one, two = (result.outcomes[count][OURS].median for count in (1, 2))
            if two > APART * one:
                times = [quantity(value, result.row.unit) for value in (one, two)]
                lines.append([result.row.name, *times, ratio(two / one)])
    return markdown(["row", "1 thread", "2 threads", "2 / 1"], lines) if lines else "In no row of this run."
