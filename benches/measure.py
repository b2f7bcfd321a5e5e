"""Rows and how they are timed: contestants in turn, round after round, so that a disturbance meets all."""

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import machine
import numpy as np
from prediction import Prediction

OURS = "prinax"
OWN_TABLES = MEMORY_ROWS, NEIGHBOUR_ROWS = "memory", "beside a busy neighbour"  # groups of rows
# A peer counts as equally accurate up to ten times our error, or below the floor that nobody can tell apart.
SLACK = 10.0
FLOOR = {"float64": 1e-9, "float32": 1e-5}
# One timed sample lasts at least this long, else the clock is what is measured.
SAMPLE = 30e-6
# A contestant slower than this runs once a thread count: its place in the table is clear.
SLOW = 1.5
# The threads of a contestant may spin for a while after its call (OpenBLAS's for a tenth of a second), on a
# CPU that the next one needs. So a turn begins with pauses, until this process computed for less than a
# tenth of one, or for a second, after which something else computes; rows whose calls are too short to be
# shared among threads need none.
PAUSE = 20e-3
AT_REST = 0.1 * PAUSE
MOST_PAUSES = 50
SHARED = 100e-6
# A virtual machine may give memory that has lain free for two seconds back to its host, and then waits twenty
# times as long for it as for its own. So before calls this long, which may need much of it, as much is taken,
# touched and freed unless that was done just now, for every contestant alike: else the first after a slow one
# would pay for it.
LONG = 5e-3
MEMORY = 1 << 30
PAGE = 4096
FRESH = 0.7
# Then comes one untimed call, whose caches were another's, and samples, up to so many and so long together.
TURN_SAMPLES = 10
TURN_SECONDS = 20e-3
# A peer below so many times our time could be ahead or behind by noise alone: both of us get more turns, and
# more again while an equally accurate one is this near, ahead or behind.
CLOSE = 2.0
NEAR = 1.15


@dataclass(frozen=True)
class Budget:
    """How long each contestant is timed at each thread count, how often at least and at most.

    We, and who is close to us or faster, go on until so many turns, or that many seconds altogether; where a
    verdict is near, we and the peers it hangs on go on `near` times as long.
    """

    seconds: float
    least: int
    most: int
    close_turns: int
    close_seconds: float
    near: int


FULL = Budget(0.2, 3, 150, 9, 3.0, 3)
QUICK = Budget(0.1, 3, 100, 3, 0.5, 1)

Call = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One line of the comparison.

    `prepare` makes the data and gives the contestants (name -> call) and `errors` (result -> relative error
    by kind). `flops` and `read` are the least work known for the task; the machine's limit follows from them.
    `measured` replaces timing in this process for costs that need one of their own (imports, memory, a
    neighbour): it gives name -> values in `unit`, taken on `threads` (0: whatever), ours as `predicted`.
    """

    name: str
    group: str
    prepare: Callable[[], tuple[dict[str, Call], Callable[[object], dict[str, float]]]] | None = None
    flops: float = 0.0
    read: float = 0.0
    dtype: str = "float64"
    quick: bool = False
    measured: Callable[[Budget], dict[str, list[float]]] | None = None
    unit: str = "s"
    threads: int = 0
    predicted: Prediction | None = None


@dataclass
class Outcome:
    """One contestant at one thread count: samples in the row's unit, errors by kind."""

    samples: list[float]
    errors: dict[str, float] = field(default_factory=dict)
    failure: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.samples) if self.samples else math.inf

    @property
    def p99(self) -> float:
        ordered = sorted(self.samples)
        return ordered[min(len(ordered) - 1, math.ceil(0.99 * len(ordered)) - 1)] if ordered else math.inf

    @property
    def error(self) -> float:
        """The largest error of any kind; a value that is not a number is as wrong as can be."""
        return max((value if value == value else math.inf for value in self.errors.values()), default=0.0)


@dataclass
class Result:
    """A row's outcomes: name -> outcome for each thread count (0 where threads do not matter)."""

    row: Row
    outcomes: dict[int, dict[str, Outcome]]

    def limit(self, threads: int, limits: machine.Limits) -> float | None:
        """The least time that the machine could take; None where it is not known."""
        row = self.row
        timed = row.read and row.measured is None
        return limits.seconds(threads, row.dtype, row.flops, row.read) if timed else None

    def rivals(self, threads: int) -> dict[str, Outcome]:
        """The peers as accurate as we are."""
        return rivals(self.row, self.outcomes[threads])

    def best_rival(self, threads: int) -> tuple[str, Outcome] | None:
        return min(self.rivals(threads).items(), key=lambda entry: entry[1].median, default=None)


def rivals(row: Row, entries: dict[str, Outcome]) -> dict[str, Outcome]:
    """The peers among the outcomes of a row that are as accurate as we are."""
    enough = max(SLACK * entries[OURS].error, FLOOR[row.dtype])
    return {n: o for n, o in entries.items() if not n.startswith(OURS) and o.samples and o.error <= enough}


def run(row: Row, counts: tuple[int, ...], budget: Budget) -> Result:
    """Measures one row at every thread count."""
    if row.measured is not None:
        return Result(row, {row.threads: {n: Outcome(v) for n, v in row.measured(budget).items()}})
    calls, errors = row.prepare()
    outcomes: dict[int, dict[str, Outcome]] = {count: {} for count in counts}
    pace: dict[tuple[int, str], float] = {}
    for name, call in calls.items():
        for count in counts:
            outcomes[count][name], seconds = _first(call, count, errors)
            if seconds < SLOW:
                pace[count, name] = seconds
    _rounds(row, calls, outcomes, pace, budget)
    return Result(row, outcomes)


def _first(call: Call, count: int, errors: Callable[[object], dict[str, float]]) -> tuple[Outcome, float]:
    """A warm-up whose result is checked, and about how long a call takes (infinity: never again)."""
    settle()
    with machine.threads(count):
        try:
            result, seconds = _timed(call)
        except Exception as error:  # a peer that refuses the task stays in the table, with its reason
            return Outcome([], failure=f"{type(error).__name__}: {error}".splitlines()[0][:90]), math.inf
        if seconds < SLOW:
            seconds = min(seconds, _timed(call)[1])
    return Outcome([seconds] if seconds >= SLOW else [], errors(result)), seconds


def _timed(call: Call) -> tuple[object, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def _rounds(
    row: Row,
    calls: dict[str, Call],
    outcomes: dict[int, dict[str, Outcome]],
    pace: dict[tuple[int, str], float],
    budget: Budget,
) -> None:
    spent = dict.fromkeys(pace, 0.0)
    turns = dict.fromkeys(pace, 0)
    taken = -math.inf  # when memory was last taken

    def waits(key: tuple[int, str]) -> bool:
        count, name = key
        samples = outcomes[count][name].samples
        if len(samples) < budget.least or (len(samples) < budget.most and spent[key] < budget.seconds):
            return True
        ours = outcomes[count][OURS].median
        if statistics.median(samples) > CLOSE * ours:
            return False
        near = [n for n, o in rivals(row, outcomes[count]).items() if ours / NEAR <= o.median <= ours * NEAR]
        more = budget.near if name in near or (near and name == OURS) else 1
        return turns[key] < more * budget.close_turns and spent[key] < more * budget.close_seconds

    while waiting := [key for key in pace if waits(key)]:
        for count, name in waiting:
            if pace[count, name] > SHARED:
                settle()
            if pace[count, name] > LONG and time.perf_counter() - taken > FRESH:
                np.empty(MEMORY, dtype=np.uint8)[::PAGE] = 1
                taken = time.perf_counter()
            with machine.threads(count):
                samples, seconds = turn(calls[name], pace[count, name])
            outcomes[count][name].samples.extend(samples)
            turns[count, name] += 1
            spent[count, name] += seconds


def settle() -> None:
    """Waits until no thread of this process computes any more, a second at most."""
    for _ in range(MOST_PAUSES):
        before = time.process_time()
        time.sleep(PAUSE)
        if time.process_time() - before < AT_REST:
            return


def turn(call: Call, pace: float) -> tuple[list[float], float]:
    """Some samples in a row, seconds a call, and the time they took together."""
    batch = range(max(1, math.ceil(SAMPLE / pace)))
    if pace < TURN_SECONDS:
        call()
    samples: list[float] = []
    spent = 0.0
    while not samples or (len(samples) < TURN_SAMPLES and spent < TURN_SECONDS):
        start = time.perf_counter()
        for _ in batch:
            call()
        seconds = time.perf_counter() - start
        samples.append(seconds / len(batch))
        spent += seconds
    return samples, spent
