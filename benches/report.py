"""Tables for the terminal and for docs/benchmarks.md, from the same results."""

import json
import math
import sys
from pathlib import Path

import machine
from measure import OURS, OWN_TABLES, Outcome, Result, Row
from panels import Curve


def heading(description: list[str], limits: machine.Limits) -> str:
    lines = [*description, f"limits, from {limits.source}:"]
    for (count, dtype), flops in sorted(limits.flops.items()):
        lines.append(f"  {threads(count)}, {dtype}: {flops / 1e9:.0f} Gflop/s")
    lines += [f"  {threads(count)}: {rate / 1e9:.1f} GB/s" for count, rate in sorted(limits.read.items())]
    return "\n".join(lines)


def threads(count: int) -> str:
    return f"{count} thread{'s' * (count > 1)}"


def quantity(value: float, unit: str) -> str:
    """A value in the unit that a reader would choose."""
    if not math.isfinite(value):
        return "-"
    if unit == "MB":
        return "at most 1 MB" if value <= 1.0 else f"{value:.0f} MB" if value >= 10 else f"{value:.1f} MB"
    for factor, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= factor:
            return f"{value / factor:.3g} {name}"
    return f"{value * 1e9:.0f} ns"


def ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def error(outcome: Outcome) -> str:
    return ", ".join(f"{kind} {value:.0e}" for kind, value in outcome.errors.items()) or "-"


def entries(result: Result) -> list[list[str]]:
    """Cells of every contestant of a row: name, threads, median, p99, against ours, errors."""
    unit = result.row.unit
    cells = []
    for count, outcomes in result.outcomes.items():
        ours = outcomes[OURS].median
        for name, outcome in outcomes.items():
            if outcome.failure:
                cells.append([name, str(count or "-"), "-", "-", "-", outcome.failure])
                continue
            against = ratio(outcome.median / ours) if ours > 0 and math.isfinite(ours) else "-"
            spread = quantity(outcome.p99, unit) if len(outcome.samples) > 1 else "one run"
            cells.append(
                [name, str(count or "-"), quantity(outcome.median, unit), spread, against, error(outcome)]
            )
    return cells


COLUMNS = ["", "threads", "median", "p99", "of ours", "errors"]


def detail(result: Result) -> str:
    """One row for the terminal."""
    table = [COLUMNS, *entries(result)]
    widths = [max(len(line[i]) for line in table) for i in range(len(COLUMNS))]
    return "\n".join(
        "  "
        + "  ".join(
            cell.ljust(w) if i in (0, 5) else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in table
    ) + predicted(result.row)


def predicted(row: Row) -> str:
    if row.predicted is None:
        return ""
    return f"\n  predicted: {quantity(row.predicted.value, row.unit)}, {row.predicted.formula}"


def verdicts(result: Result, limits: machine.Limits) -> list[list[str]]:
    """The row against the best peer of equal accuracy, and against the machine, at each thread count.

    None for rows with tables of their own.
    """
    lines = []
    if result.row.group in OWN_TABLES:
        return lines
    for count, outcomes in result.outcomes.items():
        ours, best = outcomes[OURS], result.best_rival(count)
        cells = [result.row.name, str(count or "-"), quantity(ours.median, result.row.unit)]
        if best is None:
            cells += ["none as accurate", "-", "-"]
        else:
            cells += [
                best[0],
                quantity(best[1].median, result.row.unit),
                verdict(best[1].median, ours.median),
            ]
        limit = result.limit(count, limits)
        lines.append([*cells, f"{limit / ours.median:.0%}" if limit else "-"])
    return lines


def verdict(theirs: float, ours: float) -> str:
    value = theirs / ours if ours > 0 else math.inf
    return f"{ratio(value)}x" if value >= 1 else f"**{ratio(value)}x**"


SUMMARY = [
    "row",
    "threads",
    "prinax",
    "best peer of equal accuracy",
    "its median",
    "prinax is faster by",
    "of the limit",
]


def summary(results: list[Result], limits: machine.Limits) -> str:
    """The closing table for the terminal; rows that a peer wins are marked with asterisks."""
    lines = [line for result in results for line in verdicts(result, limits)]
    return markdown(SUMMARY, lines) if lines else ""


def markdown(header: list[str], lines: list[list[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *lines])


def write_json(path: Path, results: list[Result], limits: machine.Limits) -> None:
    rows = [
        {
            "row": result.row.name,
            "group": result.row.group,
            "unit": result.row.unit,
            "threads": count,
            "contestant": name,
            "median": outcome.median if outcome.samples else None,
            "p99": outcome.p99 if outcome.samples else None,
            "samples": len(outcome.samples),
            "errors": outcome.errors,
            "failure": outcome.failure,
            "limit": result.limit(count, limits),
            "predicted": result.row.predicted.value if result.row.predicted else None,
        }
        for result in results
        for count, outcomes in result.outcomes.items()
        for name, outcome in outcomes.items()
    ]
    rates = {
        "flops": {f"{count} {dtype}": rate for (count, dtype), rate in limits.flops.items()},
        "read": {str(count): rate for count, rate in limits.read.items()},
    }
    path.write_text(
        json.dumps({"machine": machine.description(), "limits": rates, "rows": rows}, indent=1) + "\n"
    )


PREFACE = """# Benchmarks

Written by `python benches/compare.py` (`make bench`); edit the script, not this page.

Every contestant runs in the same process on the same data, in turns of at most ten calls, with 1 and
with 2 threads. A turn begins with a pause that lasts until the threads of the contestant before have
stopped spinning (OpenBLAS's after a tenth of a second), with a gigabyte of memory taken and freed where
calls are long, so that no virtual machine makes them wait for it, and with an untimed call where they
are short. We and the peers below twice our time have nine turns each or three seconds, the others a
few; we and an equally accurate peer within 15 % of us have three times as many. Beside each time stands
the error: of the singular values, each relative to itself (against QR and the singular values of R,
never squared), the residual |Xc'Xc v - sigma^2 v| / sigma_1^2, of scores and matrix entries against
long double. A peer counts as equally accurate when its error is at most ten times ours, or below 1e-9
(float32: 1e-5). Ratios below 1, where a peer is faster, are bold. "Of the limit" is the least time that
the arithmetic, or one reading of the data, could take at the rates below (measured before the rows and
after them, the higher of both), as a share of ours; for fits the arithmetic is that of the cheapest known
road. On a shared machine only ratios within one run mean anything.
"""


def write_docs(
    folder: Path, results: list[Result], limits: machine.Limits, missing: list[str], curves: list[Curve]
) -> None:
    """docs/benchmarks.md and its pictures; `missing` are the rows not run, `curves` may be empty."""
    import growth
    import picture
    import sections

    lost = [line for result in results for line in verdicts(result, limits) if line[5].startswith("**")]
    parts = [
        PREFACE,
        "```text\n" + heading(machine.description(), limits) + "\n```",
        "## Summary\n\n" + summary(results, limits),
        "## Where prinax is slower",
        markdown(SUMMARY, lost) if lost else "In no row of this run.",
    ]
    parts += sections.all_of(results)
    if missing:
        parts.append("## Not measured in this run\n\n" + "\n".join(f"- {name}" for name in missing))
    if curves:
        parts.append(growth.section(curves))
    for group in dict.fromkeys(result.row.group for result in results):
        parts.append(f"## Every contestant: {group}")
        members = (result for result in results if result.row.group == group)
        parts += [f"### {result.row.name}\n\n" + markdown(COLUMNS, entries(result)) for result in members]
    page, pictures = folder / "benchmarks.md", folder / "pictures"
    page.write_text("\n\n".join(parts) + "\n")
    pictures.mkdir(exist_ok=True)
    picture.ratios(results, pictures / "ratios.png")
    if curves:
        growth.draw(curves, pictures / "growth.png")
    print(f"wrote {page} and {pictures}", file=sys.stderr)
