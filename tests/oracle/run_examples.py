"""Runs the examples in the docstrings of MXNet's Python code, under MXNet and here, and compares.

    python tests/oracle/run_examples.py run PACKAGE mxnet.json             # mxnet==1.9.1
    python tests/oracle/run_examples.py run PACKAGE ours.json              # hybridnet
    python tests/oracle/run_examples.py compare mxnet.json ours.json

PACKAGE is the folder ``mxnet`` of its installed wheel: its text is read in both cases, and under
hybridnet its code is not run. What is printed is compared but for addresses, the names of classes'
modules and the last digits of numbers; examples that draw random numbers are counted apart.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib.util
import io
import json
import re
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SECONDS = 20  # for one example
_NUMPY = re.compile(r"numpy|np_")  # files whose examples are of MXNet's NumPy front end
_NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?|nan|inf")
_SETUP = """
import os, random, sys
import numpy as np
import numpy as onp
import mxnet as mx
from mxnet import autograd, gluon, image, init, nd, npx, recordio, sym
"""


def docstrings(package: Path) -> Iterator[tuple[str, str]]:
    """Yields the docstrings that hold examples, with their places."""
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
                text = ast.get_docstring(node)
                if text and ">>>" in text:
                    yield f"{path.relative_to(package)}:{getattr(node, 'name', '')}", text


def run(package: Path) -> dict[str, list[tuple[str, str, str]]]:
    """Returns of each docstring its examples, how each ended, and what it printed."""
    import mxnet as mx
    import numpy as np

    def stop(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    found = {}
    for number, (place, text) in enumerate(docstrings(package)):
        space: dict[str, Any] = {}
        exec(_SETUP, space)
        mx.random.seed(1)
        np.random.seed(1)
        if _NUMPY.search(place):
            mx.npx.set_np()
            space["np"] = mx.np
        with contextlib.suppress(ValueError):  # a docstring that is none
            examples = doctest.DocTestParser().get_examples(text)
            found[f"{place} {number}"] = [(one.source, *_ended(one, space)) for one in examples]
        mx.npx.reset_np()
    return found


def _ended(example: doctest.Example, space: dict[str, Any]) -> tuple[str, str]:
    printed, how = io.StringIO(), ""
    signal.alarm(_SECONDS)
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(example.source, "<example>", "single"), space)
    except Exception as error:
        how = f"{type(error).__name__}: {str(error)[:200]}"
    finally:
        signal.alarm(0)
    return how, printed.getvalue()


def _plain(text: str) -> str:
    """Returns what was printed without what is its own of a process or a NumPy."""
    text = re.sub(r", shape=\([\d, ]*\)|0x[0-9a-f]+|<module .*?>", "", text)
    text = re.sub(r"np\.\w+?\d+\(([^()]*)\)|np\.(True|False)_", r"\1\2", text)
    text = re.sub(r"\b(mxnet|hybridnet)[\w.]*\.", "", text)
    return re.sub(r"\s+", "", text)


def _alike(one: str, other: str) -> bool:
    one, other = _plain(one), _plain(other)
    if one == other:
        return True
    numbers = [[float(x) for x in _NUMBER.findall(text)] for text in (one, other)]
    if _NUMBER.sub("", one) != _NUMBER.sub("", other) or len(numbers[0]) != len(numbers[1]):
        return False
    pairs = zip(*numbers, strict=True)
    return all(x == y or abs(x - y) <= 2e-5 * max(1.0, abs(x)) for x, y in pairs)


def compare(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Prints the examples that MXNet runs and hybridnet does not, or otherwise; and counts."""
    counts: Counter[str] = Counter()
    for place, examples in theirs.items():
        for (source, how, printed), (_, our_how, our_print) in zip(
            examples, ours[place], strict=True
        ):
            if how:
                kind = "fails in both" if our_how else "runs only here"
            elif our_how:
                kind = "refused"
            elif _alike(printed, our_print):
                kind = "same"
            else:
                kind = "random" if re.search(r"random|shuffle|empty", place + source) else "differs"
            counts[kind] += 1
            if kind in ("refused", "differs"):
                shown = our_how or f"MXNet {printed[:300]!r}, here {our_print[:300]!r}"
                print(f"{kind}: {place}: {source.strip()}: {shown}")
            if kind == "refused":
                break  # those after it may rest on it
    print(f"{len(theirs)} docstrings: {dict(counts)}")


def main() -> None:
    command, *paths = sys.argv[1:]
    if command == "compare":
        compare(*(json.loads(Path(path).read_text(encoding="utf-8")) for path in paths))
        return
    warnings.simplefilter("ignore")
    if importlib.util.find_spec("hybridnet") is not None:
        from hybridnet.compat import mxnet

        mxnet.install()
    Path(paths[1]).write_text(json.dumps(run(Path(paths[0]))), encoding="utf-8")


if __name__ == "__main__":
    main()
