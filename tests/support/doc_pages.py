"""The examples of a page of docs/: they are run, and what they print is compared with the page.

The ```python blocks of a page are one program, run from top to bottom; or one each, where the page
has `APART`. A block that begins with ``# relu.py`` is that file, for messages with lines. A ```text
block right after one holds what it prints, from which times and how a launch ran may differ.

Where a change of the library changes what is printed, this writes it into the page:

    python tests/support/doc_pages.py docs/architecture.md
"""

from __future__ import annotations

import io
import json
import linecache
import os
import re
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

ROOT = next(one for one in Path(__file__).resolve().parents if (one / "pyproject.toml").exists())

APART = "<!-- each example runs by itself -->"

_BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)

#: What differs from run to run, and what stands for it when two texts are compared.
_UNSETTLED = (
    (re.compile(r"(?m)^(# \d+ operators? on [^:;\n]*):[^;\n]*"), r"\1"),  # how it ran
    (re.compile(r"(?m)^# this structure: .*\n"), ""),  # how often
    (re.compile(r"[ \t]+"), " "),  # columns as wide as what stands in them
    (re.compile(r"(?<= )\d+\.\d(?= )"), "0.0"),  # milliseconds
    (re.compile(r" +$", re.MULTILINE), ""),
)


class Example(NamedTuple):
    """A block of a page.

    Attributes:
        line: where it begins in the page.
        code: what is run.
        shown: what the page says that it prints; None where the page does not say.
        place: where that text begins and ends in the page.
    """

    line: int
    code: str
    shown: str | None
    place: tuple[int, int]


def examples(page: Path) -> list[Example]:
    """Returns the blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Example(text.count("\n", 0, one.start(1)) + 1, one[1], one[2], one.span(2))
        for one in _BLOCK.finditer(text)
    ]


def run(page: Path) -> list[str]:
    """Runs the blocks of a page in this process; returns what each prints."""
    apart = APART in page.read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    printed = []
    for one in examples(page):
        names = {"__name__": "__main__"} if apart or not names else names
        named = re.match(r"# (\w+\.py)\n", one.code)
        file = named[1] if named else f"{page.name}:{one.line}"
        # Where traced functions look for their source.
        linecache.cache[file] = (len(one.code), None, one.code.splitlines(True), file)
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile(one.code, file, "exec"), names)
        printed.append(out.getvalue())
    return printed


def printed_by(*pages: Path) -> list[str]:
    """Runs the blocks of pages, one after another, in a process of its own.

    Returns:
        What each block prints.
    """
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import doc_pages, json, "
        f"pathlib; pages = map(pathlib.Path, {[str(page) for page in pages]!r}); "
        "print(json.dumps([text for page in pages for text in doc_pages.run(page)]))"
    )
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("HYBRIDNET_", "MXNET_"))}
    environ["HYBRIDNET_CACHE_DIR"] = "off"
    environ["HYBRIDNET_ONEDNN"] = "0"
    environ["HYBRIDNET_NUM_CPU_DEVICES"] = "2"
    with tempfile.TemporaryDirectory() as folder:  # for the files that examples write
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            timeout=240,
            cwd=folder,
            env=environ,
            check=False,
        )
    assert done.returncode == 0 and not done.stderr, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


def settled(text: str) -> str:
    """Returns a text without what differs from run to run."""
    for pattern, instead in _UNSETTLED:
        text = pattern.sub(instead, text)
    return text.strip()


def rewrite(page: Path) -> None:
    """Writes what the examples print into the page, where it says what they print."""
    text = page.read_text(encoding="utf-8")
    pairs = zip(examples(page), printed_by(page), strict=True)
    for one, printed in reversed(list(pairs)):
        if one.shown is not None:
            begin, end = one.place
            text = text[:begin] + printed.strip("\n") + "\n" + text[end:]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(Path(name).resolve())
