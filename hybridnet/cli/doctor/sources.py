"""Files of Python and notebooks as trees, parsed and not run."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from .findings import Findings, Group, Spot
from .project import Project, Unreadable

#: What Python 3 says of lines that Python 2 takes, and such lines where it says "invalid syntax".
_SAID_OF_2: Final = re.compile(
    r"Missing parentheses in call to '(print|exec)'|multiple exception types|leading zeros in"
    r"|inconsistent use of tabs|invalid (hexadecimal|octal|decimal) literal|Did you mean print"
)
_LINE_OF_2: Final = re.compile(r"^\s*(print|exec)\s+\S|\braise\s+\w+\s*,|\bur['\"]|<>|`\w|\d[lL]\b")
#: Names that became keywords.
_KEYWORD: Final = re.compile(r"\b(async|await)\s*[=,)]|[.(,]\s*(async|await)\b")
#: Magics of IPython whose cell is Python; the cells of others are not.
_PYTHON_CELL: Final = re.compile(r"%%(time|timeit|capture|prun)\b")
#: Lines of a cell for IPython and for shells, and what is assigned from them.
_MAGIC: Final = re.compile(r"(?m)^([ \t]*)(?:[%!?].*|[\w.]+\?\??\s*)$")
_ASSIGNED: Final = re.compile(r"(?m)^(\s*[\w, ]+=\s*)[%!].*$")


@final
@dataclass(frozen=True)
class Source:
    """A file of Python, or a notebook.

    Attributes:
        tree: all of it as one module.
        place: tells where a line of the tree is.
    """

    tree: ast.Module
    place: Callable[[int], Spot]


def read_sources(project: Project, findings: Findings) -> Iterator[Source]:
    """Yields what can be parsed of a project's code; what cannot be is a finding."""
    for path in project.files:
        try:
            if path.suffix == ".py":
                yield _python(project, path)
            elif path.suffix == ".ipynb":
                yield _notebook(project, path, findings)
        except Unreadable as error:
            findings.add(Group.NOTE, str(error), project.place(path), path.name)
        except SyntaxError as error:
            line = error.lineno or 0
            findings.add(Group.STOPS, _about(error), project.place(path, line))


def _python(project: Project, path: Path) -> Source:
    data = project.read(path)
    if b"\0" in data:
        raise Unreadable("is no text, whatever its name says, and was left out")
    name = project.place(path).file
    return Source(parse(data), lambda line: Spot(name, line))


def parse(text: str | bytes, is_cells: bool = False) -> ast.Module:
    """Parses Python in whatever coding its first lines name.

    Args:
        text: a file, or a cell.
        is_cells: whether it is many cells, each parsed before.

    Raises:
        SyntaxError: it is not Python 3.
        Unreadable: it is nested too deep.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in strings, which stay as they are
            if not is_cells:  # the compiler refuses more, such as a late `from __future__`
                compile(text, "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            return ast.parse(text)
    except (RecursionError, MemoryError) as error:
        raise Unreadable("is nested too deep to be parsed, and was left out") from error
    except ValueError as error:
        raise SyntaxError(str(error)) from error


def _notebook(project: Project, path: Path, findings: Findings) -> Source:
    """Joins the cells that are Python: names of one are known in the others."""
    name = project.place(path).file
    lines: list[str] = []
    places: list[Spot] = []
    for number, text in enumerate(_cells(project.read(path)), 1):
        if text.startswith("%%") and not _PYTHON_CELL.match(text):
            continue
        try:
            text = _without_magics(text)
        except SyntaxError as error:
            findings.add(Group.STOPS, _about(error), Spot(name, error.lineno or 0, number))
            continue
        cell = text.split("\n")
        lines += cell
        places += [Spot(name, line, number) for line in range(1, len(cell) + 1)]
    return Source(parse("\n".join(lines), is_cells=True), lambda line: places[line - 1])


def _without_magics(text: str) -> str:
    """Returns a cell as Python: lines for IPython do nothing, and all may be indented.

    Raises:
        SyntaxError: it is not Python 3.
    """
    indent = text[: len(text) - len(text.lstrip(" \t"))]
    text = re.sub(f"(?m)^{indent}", "", text)
    try:
        parse(text)
    except SyntaxError:  # perhaps by its magics; an operator % may begin a line, too
        text = _ASSIGNED.sub(r"\1None", _MAGIC.sub(r"\1pass", text))
        parse(text)
    return text


def _cells(data: bytes) -> Iterator[str]:
    try:
        notebook: Any = json.loads(data)
        sheets = notebook.get("worksheets", [notebook])  # of the third version of the format
        for cell in (one for sheet in sheets for one in sheet["cells"]):
            if cell["cell_type"] == "code":
                text = "".join(cell["source"] if "source" in cell else cell["input"])
                yield "\n".join(re.split(r"\r\n?|\n", text))  # the lines that Python counts
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise Unreadable("is no notebook that can be read, and was left out") from error


def _about(error: SyntaxError) -> str:
    """Says what is wrong with a file that Python 3 does not parse."""
    message, line = error.msg or "", error.text or ""
    if _SAID_OF_2.search(message) or _LINE_OF_2.search(line):
        return f"Python 2 ({message}): `2to3 -w FILE` of Python 3.12 or older rewrites it"
    if _KEYWORD.search(line):
        return f"`async` and `await` are keywords now ({message}): rename what is called so"
    return f"not Python 3: {message}"
