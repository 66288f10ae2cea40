"""Notebooks say what they need, hold no outputs, and are the same program in each language."""

import ast
import json
import re
import tomllib

import pytest
from places import ROOT

TUTORIALS = ROOT / "tutorials"
NOTEBOOKS = sorted(TUTORIALS.rglob("*.ipynb"))
TRANSLATED = sorted((TUTORIALS / "zh").glob("*.ipynb"))

_CHINESE = re.compile("[\u4e00-\u9fff]")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def cells_of(path):
    """Returns the kind and the text of each cell."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]


def name_of(path):
    return str(path.relative_to(TUTORIALS).with_suffix(""))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_notebooks_install_what_they_need_and_have_no_outputs(path):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text, first = ("".join(cell["source"]) for cell in cells[:2])
    assert text.startswith("# ")
    (asked,) = re.findall(r"%pip install --quiet 'hybridnet\[([\w,]+)\]'", first)
    assert set(asked.split(",")) <= extras["optional-dependencies"].keys()
    for cell in cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_links_of_notebooks_lead_somewhere(path):
    for kind, text in cells_of(path):
        for link in _LINK.findall(text) if kind == "markdown" else ():
            file = link.partition("#")[0]
            assert link.startswith("https://") or (path.parent / file).exists(), link


def differing(ours, theirs):
    """Returns what of a program differs from another, except for texts that were translated.

    Args:
        ours: a node of the program, or a part of one.
        theirs: the translated one's. A text of it with Chinese signs may say anything; values that
            stand in a text are to be the same ones, in any order.
    """
    if isinstance(ours, ast.JoinedStr) and isinstance(theirs, ast.JoinedStr):
        texts = [one.value for one in theirs.values if isinstance(one, ast.Constant)]
        if _CHINESE.search("".join(texts)):
            values = [
                sorted(ast.dump(one) for one in node.values if not isinstance(one, ast.Constant))
                for node in (ours, theirs)
            ]
            return None if values[0] == values[1] else values
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        found = (differing(*pair) for pair in zip(ours, theirs, strict=True))
        return next((one for one in found if one is not None), None)
    if isinstance(ours, ast.AST) and type(ours) is type(theirs):
        return differing(*([value for _, value in ast.iter_fields(one)] for one in (ours, theirs)))
    if isinstance(ours, str) and isinstance(theirs, str) and _CHINESE.search(theirs):
        return None
    return None if ours == theirs and type(ours) is type(theirs) else (ours, theirs)


def program(text):
    """Returns the program of a cell, in which commands of notebooks are texts."""
    return ast.parse(re.sub(r"(?m)^( *)(%.*)$", r'\1"""\2"""', text))


@pytest.mark.parametrize("path", TRANSLATED, ids=lambda path: path.stem)
def test_a_translated_notebook_is_the_same_program(path):
    """So only the English ones need be run."""
    english, chinese = cells_of(TUTORIALS / path.name), cells_of(path)
    assert [kind for kind, _ in english] == [kind for kind, _ in chinese]
    for (kind, ours), (_, theirs) in zip(english, chinese, strict=True):
        if kind == "code":
            assert differing(program(ours), program(theirs)) is None
            assert ours.count("#") == theirs.count("#")
        else:
            assert _CHINESE.search(theirs)


@pytest.mark.parametrize(
    ("theirs", "same"),
    [
        ("print(f'{b}是{a:.1f}')  # 注释", True),
        ("print(f'{b}是{a:.2f}')", False),
        ("print(f'{a:.1f} is {b}')", True),
        ("print(f'{a:.1f} was {b}')", False),
        ("print('是')", False),
        ("print(f'{a:.1f} is {b}', 1)", False),
    ],
)
def test_programs_that_differ_are_told(theirs, same):
    ours = "print(f'{a:.1f} is {b}')"
    assert (differing(program(ours), program(theirs)) is None) == same
    assert (differing(program("f('a')"), program("f('甲')")) is None) and differing(
        program("f('a')"), program("f('b')")
    )
