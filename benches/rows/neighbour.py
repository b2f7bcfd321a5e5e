"""How far the p99 of calls strays from their median while another process keeps one CPU busy."""

import time
from collections.abc import Callable
from functools import partial

import machine
import samples
from measure import NEIGHBOUR_ROWS, OURS, Budget, Call, Row, settle
from neighbour import busy

from rows import covariance, fit, transform

THREADS = 2
# Together at least 200 samples, of which the p99 is the third largest.
TURNS = 8
TURN_CALLS = 25
TURN_SECONDS = 50e-3
# Seconds of calls after which a contestant is not waited for: where threads wait for each other by spinning,
# a call may take a hundred times as long as alone. The table says how many calls there were.
PATIENCE = 3.0

BY_HAND = ("NumPy (x - mean) @ W",)
FITS = ("scikit-learn auto", "NumPy covariance")


def rows() -> list[Row]:
    return [
        _row(
            "frozen 1 row, d=100, k=10",
            partial(transform.prepare, True, 1, 100, 10, "float64"),
            BY_HAND,
            True,
        ),
        _row(
            "frozen 1000 rows, d=100, k=10",
            partial(transform.prepare, True, 1000, 100, 10, "float64"),
            BY_HAND,
        ),
        _row(
            "covariance 1000 x 100",
            partial(covariance.covariances, 1000, 100, "float64"),
            ("NumPy centre, X.T @ X",),
        ),
        *(_row(f"fit {n} x 100, k=10", partial(fits, n), FITS) for n in (1000, 10_000)),
    ]


def _row(call: str, prepare: Callable, peers: tuple[str, ...], quick: bool = False) -> Row:
    return Row(
        name=f"beside a neighbour: {call}",
        group=NEIGHBOUR_ROWS,
        measured=partial(measured, prepare, peers),
        quick=quick,
        threads=THREADS,
    )


def fits(n: int) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    return fit.prepare(samples.decaying(n, 100), 10)


def measured(prepare: Callable, peers: tuple[str, ...], _budget: Budget) -> dict[str, list[float]]:
    """Seconds of every call of ours and of the peers named, in turns."""
    calls, _ = prepare()
    times: dict[str, list[float]] = {name: [] for name in (OURS, *peers)}
    with busy(), machine.threads(THREADS):
        for _ in range(TURNS):
            for name, taken in times.items():
                if (left := PATIENCE - sum(taken)) > 0:
                    taken += turn(calls[name], left)
    return times


def turn(call: Call, most: float) -> list[float]:
    """Calls timed one by one, as a service waits for each, for `most` seconds; one untimed before them."""
    settle()
    call()
    taken: list[float] = []
    spent = 0.0
    while (len(taken) < TURN_CALLS or spent < TURN_SECONDS) and spent < most:
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
        spent += taken[-1]
    return taken
