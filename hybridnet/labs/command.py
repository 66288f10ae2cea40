"""The command ``hybridnet lab``: list, start, check, run, solution."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

from .folder import PART, Folder, opened, start
from .lab import Lab
from .names import NAMES
from .report import as_text
from .terminal import mark, say, shown_language
from .watching import messages
from .words import LANGUAGES, Words, own_language

_HELP: Final = """\
Labs: write a part of the system yourself, and train LeNet with it in the place of ours.

  hybridnet lab list                     the labs, in the order of the course
  hybridnet lab start engine my-engine   a folder with the task, a stub and tests
  hybridnet lab check my-engine          which property of the part fails, with the smallest example
  hybridnet lab run my-engine            trains LeNet with it, and draws what it did
  hybridnet lab solution engine          a part that passes, and where ours is

Exit status: 0, all is well; 1, the part is not right yet; 2, the command could not be understood.
"""


def add_lab(commands: Any) -> None:
    """Adds the command to the parser's commands."""
    parser = commands.add_parser(
        "lab",
        help="write a part of the system yourself: the course",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parts = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def add(name: str, what: str, run: Any) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = parts.add_parser(name, help=what, description=what)
        made.set_defaults(run=run)
        return made

    def ask_language(parser: argparse.ArgumentParser) -> None:
        what = "language (default: yours)"
        parser.add_argument("--lang", choices=LANGUAGES, default=own_language(), help=what)

    ask_language(add("list", "print the labs", _list))
    begin = add("start", "make a folder with the task, a stub and tests", _start)
    begin.add_argument("name", metavar="NAME", help=f"{', '.join(NAMES)}, or a number")
    begin.add_argument("folder", metavar="DIR", type=Path, help="the folder, which is made")
    ask_language(begin)
    for name, what, run in (
        ("check", "try each property of the part in a folder", _check),
        ("run", "train LeNet with the part in a folder", _run),
    ):
        add(name, what, run).add_argument("folder", metavar="DIR", type=Path, help="the folder")
    solution = add("solution", "print a part that passes", _solution)
    solution.add_argument("name", metavar="NAME", help=f"{', '.join(NAMES)}, or a number")
    ask_language(solution)


def _list(options: argparse.Namespace) -> int:
    for name in NAMES:
        words = Lab(name).words(shown_language(options.lang))
        say(f"{Lab(name).number:2}  {name:12}  {words('title')}")
    return 0


def _start(options: argparse.Namespace) -> int:
    lab = Lab.find(options.name)
    made = start(lab, options.folder, options.lang)
    lab.runner.figure(made.pictures)
    words = _words(made)
    say(words("start.made", folder=made.path, title=words("title"), part=PART))
    return 0


def _words(folder: Folder) -> Words:
    """Returns what is said of a folder, as far as that can be shown."""
    return folder.lab.words(shown_language(folder.words.language))


def _check(options: argparse.Namespace) -> int:
    folder = opened(options.folder)
    return 0 if _holds(folder) else 1


def _holds(folder: Folder) -> bool:
    """Tries the properties one after the other and prints which hold; whether all do."""
    words, left = _words(folder), [check.name for check in folder.lab.checks]
    for message in messages("check", folder):
        kind, name = message["kind"], message.get("check", "")
        if kind == "holds":
            left.remove(name)
            say(f"{mark(True)} {words(f'checks.{name}')}")
        elif kind in ("found", "unreadable"):
            if name:
                left.remove(name)
                say(f"{mark(False)} {words(f'checks.{name}')}")
            say(as_text(message, words))
            if left:
                say(words("check.left", count=len(left)))
            return False
    say(words("check.all"))
    return True


def _run(options: argparse.Namespace) -> int:
    folder = opened(options.folder)
    words = _words(folder)
    if not _holds(folder):
        say(words("run.not_yet"))
        return 1
    say(words("run.begins"))
    for message in messages("run", folder):
        if message["kind"] != "outcome":
            say(as_text(message, words))
            return 1
        _print_outcome(message, words)
    return 0


def _print_outcome(outcome: dict[str, Any], words: Words) -> None:
    accuracy = f"{outcome['accuracy']:.1%}"
    say(words("run.trained", accuracy=accuracy, seconds=f"{outcome['seconds']:.1f}"))
    for key, count in outcome["counts"].items():
        say(words(f"counts.{key}", count=f"{count:,}"))
    for picture in outcome["pictures"]:
        say(words("run.picture", file=picture))


def _solution(options: argparse.Namespace) -> int:
    lab = Lab.find(options.name)
    say(lab.solution())
    say("# " + lab.words(shown_language(options.lang))("ours"))
    return 0
