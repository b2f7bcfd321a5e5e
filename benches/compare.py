"""prinax against every peer installed: one process, interleaved, 1 and 2 threads each, errors beside times.

python benches/compare.py [--quick] [--only TEXT] [--threads N] [--json FILE]

A full run ends with the growth of our own times (benches/growth.py) and writes docs/benchmarks.md with its
pictures; ended early by Ctrl-C it writes them too, with the rows that are missing and without the growth. A
restricted run only prints. A new family of rows is one file in benches/rows with a function `rows()`.
"""

import argparse
import os
import signal
import sys
from pathlib import Path

# Read once by OpenBLAS when it loads; where set, they hold NumPy and SciPy below the kernels of the machine.
CAPS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def without_caps() -> None:
    """Starts this program again without the variables that slow the peers."""
    if any(name in os.environ for name in CAPS):
        environment = {name: value for name, value in os.environ.items() if name not in CAPS}
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small shapes and few repeats: a minute or two")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name contains TEXT")
    parser.add_argument(
        "--threads", type=int, metavar="N", help="this thread count only (default: 1, then 2)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every number of the rows there too")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    import machine
    import measure
    import report
    import rows
    import sections

    threads = (options.threads,) if options.threads else (1, 2)
    whole = not (options.quick or options.only or options.threads)
    budget = measure.QUICK if options.quick else measure.FULL
    chosen = [row for row in rows.discover() if options.only in row.name and (row.quick or not options.quick)]
    if not chosen:
        print(f"no row's name contains {options.only!r}", file=sys.stderr)
        return 1
    chosen.sort(key=lambda row: not row.quick)  # the dear ones last
    limits = machine.limits(threads)
    print(report.heading(machine.description(), limits), flush=True)
    results, curves = [], []
    try:
        for number, row in enumerate(chosen, 1):
            # Some peers' libraries take Ctrl-C over when they are loaded.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            print(f"[{number}/{len(chosen)}] {row.name}", flush=True)
            results.append(measure.run(row, threads, budget))
            print(report.detail(results[-1]), flush=True)
        if whole:
            import growth

            curves = growth.measure(threads)
    except KeyboardInterrupt:
        print(f"ended after {len(results)} of {len(chosen)} rows", file=sys.stderr)
    limits = limits.or_better(machine.limits(threads))
    print(*filter(None, [report.summary(results, limits), *sections.tables(results)]), sep="\n\n")
    if options.json:
        report.write_json(options.json, results, limits)
    if results and whole:
        missing = [row.name for row in chosen[len(results) :]]
        report.write_docs(Path(__file__).parents[1] / "docs", results, limits, missing, curves)
    return 0


if __name__ == "__main__":
    without_caps()
    sys.exit(main())
