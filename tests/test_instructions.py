"""Instruction counts: callgrind's parts are read as they are written, and a regression is told from noise."""

from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[1] / "benches"

# The extension calls libc, and the interpreter the extension: inclusive lines follow `calls=`.
PART = """\
creator: callgrind-3.19.0
positions: line
events: Ir
summary: 1063

ob=/usr/lib/libpython3.11.so.1.0
fl=ceval.c
fn=_PyEval_EvalFrameDefault
0 700
cob=/site-packages/prinax/_core.abi3.so
cfi=???
cfn=project
calls=2 0
0 330

ob=/site-packages/prinax/_core.abi3.so
fl=???
fn=project
0 300
fi=inlined.rs
0 20
cob=/lib/libc.so.6
cfn=memcpy
calls=1 0
0 10

ob=/lib/libc.so.6
fl=memcpy.S
fn=memcpy
0 43

totals: 1063
"""


@pytest.fixture
def instructions(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHES))
    import instructions

    return instructions


def setting(**changes):
    return {"prinax": "1", "numpy": "2.4", "python": "3.11", "libc": "glibc", "valgrind": "3.19"} | changes


def test_a_part_counts_what_each_function_takes_itself(instructions):
    assert instructions.parse(PART) == (1063, 320)


def test_the_least_sample_counts_without_what_nothing_takes(instructions):
    parts = [(110, 0), (100, 0), (900, 60), (907, 50)]
    assert instructions.smallest(parts, ["nothing", "call"], 2) == {"call": (800, 50)}


@pytest.mark.parametrize(
    ("count", "on_file", "verdict"),
    [
        (1030, 1000, ""),
        (970, 1000, ""),
        (1031, 1000, "MORE"),
        (969, 1000, "FEWER"),
        (1000, 0, "NEW"),
    ],
)
def test_three_percent_either_way_is_noise(instructions, count, on_file, verdict):
    assert instructions.judge(count, on_file) == (verdict and getattr(instructions, verdict))


def test_only_more_instructions_fail(instructions, capsys):
    filed = instructions.Counts(setting(), {"a": 1000, "b": 1000}, {"a": 500, "b": 500})
    found = instructions.Counts(setting(), {"a": 900, "b": 1000, "c": 7}, {"a": 900, "b": 500, "c": 5})
    assert not instructions.report(found, filed)
    assert instructions.report(filed, found)
    printed = capsys.readouterr().out
    assert "-10.00 %  fewer" in printed
    assert "+11.11 %  FAILED" in printed


def test_elsewhere_only_the_extension_is_compared(instructions, capsys):
    filed = instructions.Counts(setting(python="3.14", prinax="2"), {"a": 1000}, {"a": 500})
    assert not instructions.report(instructions.Counts(setting(), {"a": 2000}, {"a": 500}), filed)
    assert "on file for python 3.14\n" in capsys.readouterr().out
    assert instructions.report(instructions.Counts(setting(), {"a": 1000}, {"a": 600}), filed)


def test_without_valgrind_the_check_is_left_out(instructions, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["instructions.py"])
    monkeypatch.setattr(instructions.shutil, "which", lambda name: None)
    assert instructions.main() == 0
    assert "valgrind is missing" in capsys.readouterr().out
