"""The command ``hybridnet doctor``: its arguments and its exit status."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

from hybridnet.base.errors import MXNetError

from .findings import Group
from .report import as_json, as_text

_HELP: Final = """\
Reads a project of MXNet's without running it, and says what will not run here, what is to
change, what differs, and where. It looks at code of Python and notebooks (the names that they use
of MXNet, NumPy and Python), requirements, shell scripts, C++, and files of models and records.
Methods of arrays it cannot know; what is not found to be missing may still be.

Exit status: 0, nothing stops the project from running by `hybridnet run`; 1, something will not
run; 2, the command could not be understood, or there is no such folder.
"""


def add_doctor(commands: Any) -> None:
    """Adds the command to the parser's commands."""
    parser = commands.add_parser(
        "doctor",
        help="say what of a project of MXNet's will run, by reading it",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", type=Path, metavar="DIR|FILE", help="the project, or one file")
    parser.add_argument("--json", action="store_true", help="print all findings as JSON")
    parser.add_argument(
        "--try",
        dest="imports",
        action="store_true",
        help="run its imports of packages, too, in a process of their own",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    # Brings in most of hybridnet; help must not wait.
    from .examine import examine

    if not options.path.exists():
        raise MXNetError(f"{options.path}: there is no such folder or file")
    findings, files = examine(options.path, options.imports)
    show = as_json if options.json else as_text
    print(show(findings, options.path, files))
    return int(bool(findings.of(Group.STOPS)))
