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
from .constants import Specialized
from .specializing import Specializer
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
            _specialize(program, inputs, scalars, constant)
    return watch.next


def _specialize(
    program: Program, inputs: Sequence[Any], scalars: Sequence[Any], constant: Sequence[int]
) -> None:
    """Has a program made for inputs that stay the same, in the background."""

    @contextmanager
    def turns() -> Iterator[Turn]:
        held = Turns(program.compiled)
        program.wrap(held)
        try:
            yield held.turn
        finally:
            program.unwrap(held)

    def put(made: Specialized) -> None:
        program.wrap(made, alone=True)

    def narrow(fewer: Sequence[int], arguments: Sequence[Any]) -> None:
        _specialize(program, arguments[:-1], scalars, fewer)

    specializer = Specializer(program.code, inputs, scalars, constant)
    later(lambda: specializer.run(innermost(program.compiled), narrow, turns, put), "specialize")
