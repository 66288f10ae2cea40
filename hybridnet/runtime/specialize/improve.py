"""Looks at programs that run often for inputs that stay the same, and has them made for these."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hybridnet.base import config

from ..platform.background import later
from ..programs.executable import innermost
from ..programs.program import Program
from ..tuning.turns import Turn, Turns
from .constants import Settled
from .settling import Settling
from .watch import Watch

__all__ = ["improve"]


def improve(program: Program, inputs: Sequence[Any], scalars: Sequence[Any]) -> int:
    """Looks at a program that runs once more; see `programs.cache.improvers`.

    Args:
        program: which.
        inputs: what it runs on.
        scalars: numbers, likewise.

    Returns:
        The number of runs at which it is to be asked again.
    """
    watch: Watch | None = program.watch
    if watch is None:  # its second run
        watch = program.watch = Watch()
        if config.tuning() == "off" or not config.constants_size():
            watch.next = sys.maxsize
    elif program.runs >= watch.next:
        constant = watch.look(program.runs, inputs, program.code.donated)
        if constant:
            _settle(program, inputs, scalars, constant)
    return watch.next


def _settle(
    program: Program, inputs: Sequence[Any], scalars: Sequence[Any], constant: Sequence[int]
) -> None:
    """Has a program made for inputs that stay the same, in the background."""

    @contextmanager
    def turns() -> Iterator[Turn]:
        held = Turns(program.compiled)
        program.stand_before(held)
        try:
            yield held.turn
        finally:
            program.step_aside(held)

    def put(made: Settled) -> None:
        program.stand_before(made, alone=True)

    def narrow(fewer: Sequence[int], arguments: Sequence[Any]) -> None:
        _settle(program, arguments[:-1], scalars, fewer)

    settling = Settling(program.code, inputs, scalars, constant)
    later(lambda: settling.run(innermost(program.compiled), narrow, turns, put), "settle")
