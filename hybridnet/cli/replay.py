"""``hybridnet replay``: a saved step, run again operator by operator."""

from __future__ import annotations

import argparse
from typing import Any


def add_replay(commands: Any) -> None:
    """Adds the command to the parser's."""
    replay = commands.add_parser(
        "replay",
        help="run a step again that hn.debug.save_step saved: what each operator made",
        description="Runs a saved step again, operator by operator, and prints the ranges of what "
        "each makes. >> marks what made NaN or infinity of finite inputs; then the status is 1.",
    )
    replay.add_argument("path", metavar="STEP", help="the file")
    replay.add_argument(
        "--first", action="store_true", help="print only the first that is marked, with its inputs"
    )
    replay.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    # Here and not above: it brings in JAX, which takes a second that help does not.
    from hybridnet.debug.steps import replay

    steps = replay(options.path)
    first = next((step for step in steps if step.is_first), None)
    if not options.first:
        for step in steps:
            print(step)
    elif first is not None:
        print(first)
        for number, array in enumerate(first.inputs):
            print(f"input {number}:")
            print(array)
    found = "the first is marked >>" if first else "no NaN or infinity of finite inputs"
    print(f"{len(steps)} operators; {found}")
    return int(first is not None)
