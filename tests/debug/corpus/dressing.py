"""Comments, blank lines and broken lines for a program, so that no two have the same numbers."""

from __future__ import annotations

import ast
import random

_HEADS = (
    '"""Trains a little."""',
    '"""An excerpt of a larger program."""',
    "# Run it alone: it writes nothing.",
    "#!/usr/bin/env python\n# -*- coding: utf-8 -*-",
    '"""Notes.\n\nWhat is computed here is of no use to anybody.\n"""',
    "",
)
_REMARKS = (
    "# As in the paper, without its second term.",
    "# The order matters.",
    "# TODO: a faster way",
    "# (shapes: rows, columns)",
    "# see the notes on units",
    "# This was a list once.",
    "# Kept apart for the tests.",
)


def dress(text: str, rng: random.Random, mark: str) -> str:
    """Returns a program that does the same and looks different.

    Args:
        text: the program.
        rng: where the choices come from.
        mark: the comment of the lines whose numbers are looked for.
    """
    if rng.random() < 0.4:
        text = _broken(text, mark)
    tree = ast.parse(text)
    starts = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)}
    # No remark between a decorator and its function, nor before `else`, which is no statement.
    starts -= {node.lineno for node in ast.walk(tree) if getattr(node, "decorator_list", None)}
    made = [rng.choice(_HEADS)]
    for number, line in enumerate(text.split("\n"), 1):
        if number in starts and not line.startswith(("import", "from")) and rng.random() < 0.15:
            indent = line[: len(line) - len(line.lstrip())]
            made.append(rng.choice(("", indent + rng.choice(_REMARKS))))
        made.append(line)
    return "\n".join(made).lstrip("\n")


def _broken(text: str, mark: str) -> str:
    """Spreads the first marked assignment of one line over several, if there is any."""
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Assign) or node.lineno != node.end_lineno:
            continue
        line = lines[node.lineno - 1]
        if not line.endswith(mark):
            continue
        indent = " " * node.col_offset
        target = ast.get_source_segment(text, node.targets[0])
        value = node.value
        if isinstance(value, ast.Call) and len(value.args) > 1:
            called = ast.get_source_segment(text, value.func)
            inner = [ast.get_source_segment(text, one) for one in value.args]
            inner += [
                f"{one.arg}={ast.get_source_segment(text, one.value)}"
                if one.arg
                else f"**{ast.get_source_segment(text, one.value)}"
                for one in value.keywords
            ]
            begin, end = f"{indent}{target} = {called}(  {mark}", f"{indent})"
            body = [f"{indent}    {one}," for one in inner]
        else:
            begin, end = f"{indent}{target} = (", f"{indent})"
            body = [f"{indent}    {ast.get_source_segment(text, value)}  {mark}"]
        lines[node.lineno - 1 : node.lineno] = [begin, *body, end]
        return "\n".join(lines)
    return text
