"""Run one of scikit-learn's own test files against our classes."""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def run_peer_tests(module, classes, left_out, folder):
    """Outcomes of a test module of scikit-learn by test id, and which functions of `left_out` it has."""
    report = folder / "report.json"
    task = json.dumps({"classes": classes, "left_out": left_out, "report": str(report)})
    inherited = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    environment = os.environ | {
        "PEERS": task,
        "PYTHONPATH": os.pathsep.join([str(HERE), *inherited]),
        "SKLEARN_RUN_FLOAT32_TESTS": "1",
    }
    options = ["-q", "-c", os.devnull, "--rootdir", str(folder), "-p", "no:cacheprovider", "-p", "swap"]
    command = [sys.executable, "-P", "-m", "pytest", *options, "--pyargs", module]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert report.exists(), done.stdout + done.stderr
    found = json.loads(report.read_text())
    return found["outcomes"], found["left_out"]


def assert_only_listed_differences(peers, different, left_out, at_least):
    """Nothing else fails, nothing listed passes, nothing left out is gone, and `at_least` tests pass."""
    outcomes, found = peers
    surprises, stale = differences(outcomes, different)
    assert not surprises, f"these fail without being listed: {surprises}"
    assert not stale, f"these are listed and do not fail: {stale}"
    assert found == sorted(left_out), f"of the tests left out these exist: {found}"
    passed = sum(outcome == "passed" for outcome in outcomes.values())
    assert passed > at_least, f"only {passed} passed"


def differences(outcomes, listed):
    """The ids that fail without being listed, and the entries of the list whose tests do not all fail."""
    failed = [test for test, outcome in outcomes.items() if outcome == "failed"]
    surprises = [test for test in failed if not test.startswith(tuple(listed))]
    stale = []
    for prefix in listed:
        under = [outcome for test, outcome in outcomes.items() if test.startswith(prefix)]
        if not under or set(under) != {"failed"}:
            stale.append(prefix)
    return surprises, stale
