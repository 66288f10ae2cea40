"""Text is read and written in a named encoding: on Windows Python's default is not UTF-8."""

import ast

import pytest
from places import ROOT

#: What opens a file, and where its mode is; None: it is always text.
_OPENS = {"open": 1, "fdopen": 1, "read_text": None, "write_text": None, "FileHandler": None}


def unnamed(tree):
    """Yields the lines of calls that open text without an encoding."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if name not in _OPENS or any(one.arg == "encoding" for one in call.keywords):
            continue
        if name == "open" and isinstance(call.func, ast.Attribute):
            continue  # a Path's, an archive's or an object's own: `open` is what is used here
        if _OPENS[name] is None or _is_text(call, _OPENS[name]):
            yield call.lineno


def _is_text(call, position):
    """Whether a call says by its mode, or by having none, that it opens text."""
    modes = [one.value for one in call.keywords if one.arg == "mode"]
    modes += call.args[position : position + 1]
    if not modes:
        return True
    return isinstance(modes[0], ast.Constant) and "b" not in modes[0].value


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["hybridnet", "engine", "kvstore", "examples", "docs"])
def test_text_has_its_encoding(folder):
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in unnamed(ast.parse(path.read_bytes()))
    ]
    assert not found, "these need encoding='utf-8'"


def test_what_has_none_is_found():
    text = """
        open(a)
        open(a, "rb")
        open(a, "w")
        open(a, mode="r", encoding="utf-8")
        p.read_text()
        p.write_text(x, encoding="utf-8")
        os.fdopen(3, "w")
    """
    tree = ast.parse("if x:" + text)
    assert [*unnamed(tree)] == [2, 4, 6, 8]
