"""Whether what became of a program names the right line: one rule for all libraries."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from program import MARK, Program

RIGHT, ELSEWHERE, SILENT = "right", "another line", "silent"

#: What hybridnet's error is to be, by the kind of the program.
CLASSES = {
    "nan": {"FloatingPointError"},
    "index": {"IndexError"},
    "memory": {"OutOfMemoryError"},
    "shape": {"MXNetError", "IndexError", "TypeError", "ValueError"},
}

#: How many places a message may name: one that lists the whole program tells nothing.
_FIRST = 3
_SPAN = r"\d+(?:-\d+)?"
#: After "a.py:12, 15" no unit: "a.py:12, 15 MiB" and "a.py:12, 1,500" name one line.
_END = r"(?!\d|[,.]\d| ?[A-Za-z])"

Range = tuple[int, int]


def accepted(text: str) -> list[Range]:
    """Returns the lines of the planted statements, first and last.

    A statement over several lines may be named by any of them. Of one that holds others, as a loop
    does, only its head counts; of a lambda, only itself.
    """
    marked = [number for number, line in enumerate(text.split("\n"), 1) if line.endswith(MARK)]
    found = []
    for line in marked:
        ranges = [_lines(node) for node in ast.walk(ast.parse(text)) if _is_place(node)]
        inside = [one for one in ranges if one[0] <= line <= one[1]]
        found.append(min(inside, key=lambda one: one[1] - one[0]))
    return found


def _is_place(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt | ast.Lambda)


def _lines(node: Any) -> Range:
    body = getattr(node, "body", None)
    if isinstance(body, list):
        return node.lineno, max(node.lineno, body[0].lineno - 1)
    return node.lineno, node.end_lineno


def judge(program: Program, file: str, outcome: dict[str, Any]) -> tuple[str, str]:
    """Returns the verdict on a planted program, and why, in words.

    Args:
        program: it.
        file: where it lay.
        outcome: what became of it; see `run_program.run`.
    """
    right = accepted(program.text)
    named = places(outcome["text"], PurePath(file).name)
    frames = outcome["frames"][:1]
    said = f"{(outcome['raised'] or ['nothing raised'])[0]}: {outcome['text'].strip()[:400]}"
    if not outcome["raised"] and not named:
        return SILENT, said
    is_named = any(_within(one, right) for one in [*named[:_FIRST], *([line] for line in frames)])
    # Programs of TensorFlow wait for TensorFlow's classes.
    wanted = {"MXNetError"} if program.front == "tf1" else CLASSES[program.kind]
    wrong_class = program.library == "hybridnet" and not wanted & {*outcome["raised"]}
    lines = f"wanted {right}, named {named}, raised at {frames}"
    if is_named and not wrong_class:
        return RIGHT, said
    return ELSEWHERE, f"{lines}; {said}"


def _within(lines: Sequence[int], ranges: Sequence[Range]) -> bool:
    return all(any(first <= line <= last for first, last in ranges) for line in lines)


def places(text: str, name: str) -> list[list[int]]:
    """Returns the lines of a file that a text names; those that it names as one list, together.

    ``train.py:12`` is a line, ``train.py:12-15, 20`` a list, which names a line only if all of it
    is the statement. A traceback within a text names its innermost line, and that before all.
    """
    found = []
    for match in re.finditer(rf"{re.escape(name)}:({_SPAN}(?:, {_SPAN}{_END})*)", text):
        lines = []
        for span in match[1].split(", "):
            first, _, last = span.partition("-")
            lines += [int(first), int(last or first)]
        found.append(lines)
    traced = re.findall(rf'File "[^"]*{re.escape(name)}", line (\d+)', text)
    return [[int(line)] for line in traced[-1:]] + found
