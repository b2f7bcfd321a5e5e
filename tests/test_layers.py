"""The layer rule of the Rust core, read off its `use crate::` lines, and the width of its comments."""

import pathlib
import re

import pytest

SOURCE = pathlib.Path(__file__).parent.parent / "src"

# A room uses rooms of a lower layer; rooms of one layer do not know each other, but for the foundation's.
LAYERS = [
    {"bands", "error", "matrix", "memory", "power", "threads"},
    {"simd"},
    {"covariance", "linalg", "kernel"},
    {"hsic"},
    {"models"},
    {"python"},
]
HEIGHT = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}
FILES = sorted(path for path in SOURCE.rglob("*.rs") if path.name != "lib.rs")

# `use crate::room::..`, `use crate::{a::.., b}`, `crate::room::path` in an expression.
PATHS = re.compile(r"\bcrate::(\{[^;]*\}|\w+)")


def rooms_used(text):
    text = re.sub(r"//.*", "", text)
    for found in PATHS.findall(text):
        yield from _outer_names(found) if found.startswith("{") else [found]


def _outer_names(group):
    flat, depth = "", 0
    for character in group[1:-1]:
        depth += {"{": 1, "}": -1}.get(character, 0)
        flat += character if depth == 0 else ""
    return [part.strip().partition("::")[0] for part in flat.split(",") if part.strip()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_uses_only_what_stands_below_it(path):
    room = path.relative_to(SOURCE).parts[0].removesuffix(".rs")
    assert room in HEIGHT, f"{room} has no place in the layer rule"
    for used in set(rooms_used(path.read_text())) - {room}:
        lower = HEIGHT.get(used, -1 if used[0].isupper() else len(LAYERS)) < HEIGHT[room]
        assert lower or {room, used} <= LAYERS[0], f"{path.name} of {room} uses {used}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_the_room_python_knows_python(path):
    if path.relative_to(SOURCE).parts[0] != "python":
        assert not re.search(r"\b(pyo3|numpy)::", path.read_text())


def test_the_reader_of_use_lines():
    text = "use crate::simd::{Lane, run};\nuse crate::{error::{Error, Result}, Team};\n// crate::hsic"
    assert sorted(rooms_used(text)) == ["Team", "error", "simd"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_comments_keep_to_the_width_of_the_code(path):
    """rustfmt wraps code, and leaves comments as long as they are."""
    width = int(re.search(r"max_width = (\d+)", (SOURCE.parent / "rustfmt.toml").read_text())[1])
    lines = path.read_text().splitlines()
    assert [line for line in lines if line.lstrip().startswith("//") and len(line) > width] == []
