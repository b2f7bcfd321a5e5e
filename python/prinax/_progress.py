"""Telling how far a long read has come."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Report = Callable[[int, int | None], Any]


@contextlib.contextmanager
def reporting(
    progress: bool | Report, total: int | None, what: str, unit: str = "batch"
) -> Iterator[Callable[[int], None]]:
    """A function to be called with the number of steps done.

    `progress` True shows tqdm's bar where tqdm is installed, else a line on a terminal's stderr; a callable
    is called with (done, total), total None when unknown.
    """
    if callable(progress):
        yield lambda done: progress(done, total)
    elif not progress:
        yield lambda done: None
    elif (tqdm := _tqdm()) is not None:
        with tqdm(total=total, desc=what, unit=unit) as bar:
            yield lambda done: bar.update(done - bar.n)
    elif sys.stderr.isatty():
        of = "" if total is None else f" of {total}"
        yield lambda done: print(f"\r{what}: {unit} {done}{of}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
    else:
        yield lambda done: None


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm
