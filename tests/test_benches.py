"""The benchmark runs, checks what it times, and knows which peers count."""

import json
import math
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[1] / "benches"


@pytest.fixture
def measure(monkeypatch):
    pytest.importorskip("threadpoolctl")
    monkeypatch.syspath_prepend(str(BENCHES))
    import measure

    return measure


def test_a_restricted_run_writes_its_numbers(tmp_path):
    pytest.importorskip("threadpoolctl")
    file = tmp_path / "numbers.json"
    options = ["--quick", "--threads", "1", "--only", "covariance 100 x 10", "--json", str(file)]
    done = subprocess.run(
        [sys.executable, str(BENCHES / "compare.py"), *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    numbers = json.loads(file.read_text())
    contestants = {row["contestant"]: row for row in numbers["rows"]}
    assert {"prinax", "numpy.cov", "scikit-learn"} <= set(contestants)
    for row in contestants.values():
        assert row["median"] > 0
        assert row["errors"]["entries"] < 1e-13


def test_a_peer_counts_only_when_as_accurate(measure):
    row = measure.Row(name="row", group="group")
    outcomes = {
        "prinax": measure.Outcome([2.0], {"sigma": 1e-8}),
        "slow and right": measure.Outcome([3.0], {"sigma": 1e-15}),
        "fast and nearly as right": measure.Outcome([1.0], {"sigma": 9e-8}),
        "fast and wrong": measure.Outcome([0.1], {"sigma": 1e-3}),
        "not a number": measure.Outcome([0.1], {"sigma": math.nan}),
        "failed": measure.Outcome([], failure="ValueError"),
    }
    result = measure.Result(row, {1: outcomes})
    assert set(result.rivals(1)) == {"slow and right", "fast and nearly as right"}
    assert result.best_rival(1)[0] == "fast and nearly as right"


def test_the_machine_is_at_least_as_fast_as_it_was_ever_seen(measure):
    def seen(double, single, read):
        flops = {(2, "float64"): double, (2, "float32"): single}
        return measure.machine.Limits(flops, {2: read}, "a product")

    both = seen(100.0, 110.0, 30.0).or_better(seen(55.0, 200.0, 33.0))
    assert both == seen(100.0, 200.0, 33.0)
    row = measure.Row(name="row", group="group", flops=400.0, read=66.0, dtype="float32")
    assert measure.Result(row, {}).limit(2, both) == 2.0
    assert measure.Result(measure.Row(name="row", group="group"), {}).limit(2, both) is None


def turns_taken(measure, monkeypatch, seconds, wrong=()):
    calls = {name: partial(float, value) for name, value in seconds.items()}
    monkeypatch.setattr(measure, "turn", lambda call, pace: ([call()], call()))  # one sample a turn
    outcomes = {name: measure.Outcome([], {"sigma": float(name in wrong)}) for name in calls}
    budget = measure.Budget(seconds=0.0, least=1, most=10, close_turns=4, close_seconds=10.0, near=3)
    row = measure.Row(name="row", group="group")
    measure._rounds(row, calls, {1: outcomes}, dict.fromkeys(((1, name) for name in calls), 1e-6), budget)
    return {name: len(outcome.samples) for name, outcome in outcomes.items()}


def test_who_is_close_to_us_is_timed_longer(measure, monkeypatch):
    seconds = {"prinax": 1.0, "ahead": 0.5, "close": 1.9, "far": 2.1}
    turns = turns_taken(measure, monkeypatch, seconds)
    assert turns == {"prinax": 4, "ahead": 4, "close": 4, "far": 1}


def test_a_near_verdict_is_timed_longest(measure, monkeypatch):
    seconds = {"prinax": 1.0, "near": 0.9, "near and wrong": 1.1, "close": 1.9, "far": 2.1}
    turns = turns_taken(measure, monkeypatch, seconds, wrong=["near and wrong"])
    assert turns == {"prinax": 12, "near": 12, "near and wrong": 4, "close": 4, "far": 1}


def test_a_turn_waits_for_threads_that_still_compute(measure):
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            pass

    spinner = threading.Thread(target=spin)
    spinner.start()
    threading.Timer(5 * measure.PAUSE, stop.set).start()
    measure.settle()
    assert stop.is_set()
    spinner.join()


@pytest.fixture
def curves(measure):
    """Both thread counts of every panel, as if each took exactly what its formula says."""
    pytest.importorskip("matplotlib")
    import panels

    made = []
    for panel in panels.panels():
        roads = list(panel.formulas)
        taken = [
            roads[2 * i // len(panel.sizes)] if len(roads) > 1 else roads[0] for i in range(len(panel.sizes))
        ]
        powers = [panel.formulas[road].power for road in taken]
        for threads in (1, 2):
            seconds = [1e-7 / threads * size**power for size, power in zip(panel.sizes, powers, strict=True)]
            made.append(panels.Curve(panel, threads, tuple(seconds), tuple(taken)))
    return made


def test_exponents_are_those_of_the_formulas_where_times_follow_them(curves):
    import growth

    table = [line.split(" | ") for line in growth.section(curves).splitlines() if line.startswith("| ")]
    header, rule, *lines = table
    assert len(header) == len(rule) == 6
    assert len(lines) == 7
    for line in lines:
        power = float(line[3].partition("^")[2])
        assert [float(cell.rstrip(" |")) for cell in line[4:]] == [power, power]


def test_the_picture_of_growth_is_drawn(curves, tmp_path):
    import growth

    growth.draw(curves, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 10_000


def test_the_growth_is_on_the_page_only_where_it_was_measured(curves, tmp_path):
    import machine
    import report

    for shown in ([], curves):
        report.write_docs(tmp_path, [], machine.Limits({}, {}, ""), ["a row"], shown)
        assert ("## How the cost grows" in (tmp_path / "benchmarks.md").read_text()) == bool(shown)
        assert (tmp_path / "pictures" / "growth.png").exists() == bool(shown)


def test_quantiles_are_of_the_samples(measure):
    outcome = measure.Outcome([float(i) for i in range(1, 101)])
    assert outcome.median == 50.5
    assert outcome.p99 == 99.0


def of_samples(measure, group, times, **options):
    """A row's result from the samples of each contestant."""
    row = measure.Row("row", group, **options)
    return measure.Result(row, {row.threads: {n: measure.Outcome(t) for n, t in times.items()}})


def test_memory_stands_beside_its_prediction_and_out_of_the_tables_of_times(measure):
    import report
    import sections
    from prediction import megabytes

    def size(n):
        """8 n: one number a row."""
        return 8 * n

    times = {"prinax": [3.0], "thrifty": [6.0], "lavish": [60.0]}
    predicted = megabytes(size, 250_000)
    memory = of_samples(measure, measure.MEMORY_ROWS, times, unit="MB", predicted=predicted)
    assert report.verdicts(memory, limits=None) == []
    line = "| row | 8 n: one number a row | 2.0 MB | 3.0 MB | thrifty | 6.0 MB | 2.00x |"
    assert line in sections.memory([memory]).splitlines()


def test_calls_that_stray_beside_a_neighbour_are_bold_when_they_are_ours(measure):
    import sections

    def last_cells(times):
        beside = of_samples(measure, measure.NEIGHBOUR_ROWS, times, threads=2)
        return [line.split(" | ")[-1] for line in sections.neighbour([beside]).splitlines()[2:]]

    steady, stray = [1.0] * 90 + [3.0] * 10, [1.0] * 90 + [4.0] * 10
    assert last_cells({"prinax": stray, "peer": stray}) == ["**4.00** |", "4.00 |"]
    assert last_cells({"prinax": steady}) == ["3.00 |"]


def test_rows_that_a_second_thread_slows_are_listed(measure):
    import sections

    row = measure.Row("row", "group")
    outcomes = {1: {"prinax": measure.Outcome([1.0])}, 2: {"prinax": measure.Outcome([1.04])}}
    assert sections.two_threads([measure.Result(row, outcomes)]) == "In no row of this run."
    outcomes[2]["prinax"].samples[0] = 1.06
    assert "| row | 1 s | 1.06 s | 1.06 |" in sections.two_threads([measure.Result(row, outcomes)])


def test_the_neighbour_ends_with_its_block(measure):
    from neighbour import busy

    def interrupted():
        with busy() as process:
            os.kill(process, 0)
            found.append(process)
            raise KeyboardInterrupt

    found = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with pytest.raises(ProcessLookupError):
        os.kill(found[0], 0)


def test_the_neighbour_ends_when_its_parent_is_killed():
    program = f"import os, sys; sys.path.append({str(BENCHES)!r}); from neighbour import busy\n"
    program += "with busy(): os.kill(os.getpid(), 9)"
    # The neighbour holds the parent's standard error: there is no end to read before its own.
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert done.returncode == -9
