"""A pytest plugin: scikit-learn's own test files see our classes under scikit-learn's names.

Loaded with `-p swap` in a process of its own, told what to do by one JSON document in the variable PEERS:
{"classes": names to swap, "left_out": test functions not to run, "report": file for the outcomes}.
"""

import json
import os

import prinax
import sklearn.decomposition

TASK = json.loads(os.environ["PEERS"])
REPORT = {"outcomes": {}, "left_out": []}


def pytest_configure():
    for name in TASK["classes"]:
        setattr(sklearn.decomposition, name, getattr(prinax, name))


def pytest_collection_modifyitems(items):
    REPORT["left_out"] = sorted({item.originalname for item in items} & set(TASK["left_out"]))
    items[:] = [item for item in items if item.originalname not in TASK["left_out"]]


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        REPORT["outcomes"][report.nodeid.rpartition("::")[2]] = report.outcome


def pytest_sessionfinish():
    with open(TASK["report"], "w") as file:
        json.dump(REPORT, file)
