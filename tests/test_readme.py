"""The pages say what is true: the README's example runs, links and named files and commands exist."""

import doctest
import itertools
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as hosting sites form them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_quick_start_prints_what_it_says():
    (quick_start,) = blocks((ROOT / "README.md").read_text(), "python")
    test = doctest.DocTestParser().get_doctest(quick_start, {}, "README quick start", "README.md", 0)
    assert test.examples
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), f"{page.name} links to {target}, which does not exist"
        if anchor:
            assert anchor in anchors(there), f"{page.name} links to {target}, but there is no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_commands_exist(page):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", page.read_text())) <= targets


NAMED = re.compile(r"(?:Makefile|[\w./-]+(?:/|run|\.rs|\.pyi?|\.md|\.toml))")


def placed():
    """The paths in the layout of the design page."""
    (layout,) = blocks((ROOT / "docs" / "design.md").read_text(), "text")
    folder = ROOT
    for line in layout.splitlines():
        indented = line.startswith("  ")
        # The names open the line; what each holds follows.
        for name in itertools.takewhile(NAMED.fullmatch, line.split()):
            place = (folder if indented else ROOT) / name
            yield place
            if name.endswith("/") and not indented:
                folder = place


def test_the_layout_in_the_design_page_is_the_layout_on_disk():
    for place in placed():
        name = place.relative_to(ROOT)
        assert place.exists(), f"docs/design.md names {name}, which does not exist"


def test_every_folder_is_in_the_layout_of_the_design_page():
    named = {place.relative_to(ROOT).parts[0] for place in placed()}
    ignored = [".git", *(line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines())]
    for folder in filter(Path.is_dir, ROOT.iterdir()):
        known = folder.name in named or any(fnmatch(folder.name, pattern) for pattern in ignored)
        assert known, f"docs/design.md does not say what is in {folder.name}/"


def test_versions_agree():
    import prinax

    declared = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), flags=re.MULTILINE)
    assert declared is not None
    assert prinax.__version__ == declared[1]
