"""What README, CONTRIBUTING and docs/ say is there, and their examples do what they say."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from doc_pages import ROOT, examples, printed_by, settled

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "tutorials/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
#: Those that say what their examples print.
RUN = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / f"{name}.md"
        for name in ("architecture", "extending", "data", "interchange", "parallel", "text")
    ),
]
#: Those that name files.
GUIDES = [
    *(ROOT / name for name in ("CONTRIBUTING.md", "docs/labs.md", "docs/labs.zh.md")),
    *RUN[1:],
]

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FILE = re.compile(r"`((?:hybridnet|engine|kvstore|tests|docs|benchmarks|tutorials)/[\w/.-]*)`")
_TABLE = re.compile(r"(?m)(?:^\|.*\n)+")
_NAME_IN_FILE = re.compile(r"`([\w.]+)`\s+in\s+`([\w/]+\.py)`")


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT).with_suffix(""))


@cache
def _names(path: Path) -> frozenset[str]:
    """Returns what a module defines, methods as ``Class.method``."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            inside = [one for one in node.body if isinstance(one, ast.FunctionDef)]
            found |= {f"{node.name}.{one.name}" for one in inside}
    return frozenset(found)


def _anchors(page: Path) -> set[str]:
    """Returns the anchors that a page's headings have on GitHub."""
    headings = re.findall(r"(?m)^#+ (.*)$", page.read_text(encoding="utf-8"))
    kept = [re.sub(r"[^\w\- ]", "", one).strip().lower() for one in headings]
    return {one.replace(" ", "-") for one in kept}


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page):
    for link in _LINK.findall(page.read_text()):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in _anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_the_rows_of_a_table_have_as_many_cells_as_its_head(page):
    for table in _TABLE.findall(page.read_text()):
        head, *rows = table.splitlines()
        assert re.fullmatch(r"\|(?: *:?-+:? *\|)+", rows[0]), head
        for row in rows:
            assert _cells(row) == _cells(head), row


def _cells(row: str) -> int:
    return len(re.findall(r"(?<!\\)\|", row))


@pytest.mark.parametrize("page", GUIDES, ids=_name)
def test_files_are_there(page):
    for file in _FILE.findall(page.read_text()):
        assert (ROOT / file).exists(), file


@pytest.mark.parametrize("page", GUIDES, ids=_name)
def test_names_are_in_the_files_that_are_said_to_have_them(page):
    for name, file in _NAME_IN_FILE.findall(page.read_text()):
        assert name in _names(ROOT / file), (name, file)


def test_the_floors_are_folders_and_modules():
    (drawn,) = re.findall(r"(?s)## The floors.*?```\n(.*?)```", RUN[1].read_text())
    for line in drawn.splitlines():
        for name in line[20:].split():
            homes = [ROOT / name, ROOT / "hybridnet" / name, ROOT / "hybridnet" / f"{name}.py"]
            assert any(one.exists() for one in homes), name


def test_what_the_readme_says_was_measured_is_on_the_page_of_all_measurements():
    table = re.findall(r"(?m)^\| .* \|$", RUN[0].read_text().split("## Measured")[1])
    numbers = [re.match(r"[\d.]+", cell) for row in table[2:] for cell in row.split(" | ")[1:]]
    page = re.findall(r"[\d.]+", (ROOT / "docs" / "benchmarks.md").read_text())
    assert {one[0] for one in numbers if one} <= set(page)


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=_name)
def test_examples_print_what_the_page_says(page):
    for one, printed in zip(examples(page), printed_by(page), strict=True):
        if one.shown is not None:
            changed = f"line {one.line}: see the docstring of doc_pages.py"
            assert settled(printed) == settled(one.shown), changed


@pytest.mark.slow
def test_the_examples_of_all_other_pages_run():
    """In one process, as most of the time is that of its start."""
    printed_by(*(page for page in PAGES if page not in RUN and examples(page)))
