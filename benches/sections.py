"""Sections of docs/benchmarks.md beside its tables of times: memory."""

from measure import MEMORY_ROWS, OURS, Result, Row
from report import markdown, quantity, verdict

MEMORY_PREFACE = """\
The peak of a process's own pages during a call, beyond what it held before: its libraries, its data, and
what one small call left. Less than 1 MB counts as 1 MB. The formulas give bytes, all in float64; they count
buffers that need not be filled, and leave out the stacks of threads."""


def all_of(results: list[Result]) -> list[str]:
    """Every section for which there are rows."""
    members = of_group(results, MEMORY_ROWS)
    return [f"## Memory\n\n{MEMORY_PREFACE}\n\n{memory(members)}"] if members else []


def tables(results: list[Result]) -> list[str]:
    """The tables alone, for the terminal."""
    members = of_group(results, MEMORY_ROWS)
    return [memory(members)] if members else []


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
