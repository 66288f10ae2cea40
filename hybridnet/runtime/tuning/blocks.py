"""Programs that have run for long are compiled once more, to ask for their memory in blocks.

Where the temporary memory of a program comes in blocks, the kernel need not clear it at each run
(`programs.compile_options`), but XLA cannot write such a program to disk. So programs that are kept
on disk are made without: the next process has them at its first steps. One that has run as often as
here goes on for longer than its second compilation takes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import perf_counter
from typing import Any, Final

from ..observe.program_log import describe, explaining, log, say
from ..platform.background import later
from ..platform.blas_threads import leave_one
from ..platform.turns import short_turns
from ..programs.cache import cache
from ..programs.compiling import compile_in_blocks
from ..programs.program import Program
from ..programs.recipe_book import book
from ..programs.room import memory_of

__all__ = ["improve"]

# Runs after which it is done. A step of ResNet-18 (batch 32) takes 0.4 s, a tenth of it for 34,000
# pages, and compiles in 8 s, beside which it runs at half its speed: repaid after 400 more.
_LONG: Final = 512
# Bytes that a program allocates at a run; fewer fit into the heap of a thread.
_MUCH: Final = 64 << 20


def improve(program: Program, inputs: Sequence[Any], scalars: Sequence[Any]) -> int:
    """Has a program that needs much memory be compiled anew, to take it in several blocks.

    It is one of `programs.cache.improvers`.

    Returns:
        The number of runs of the program at which to call this again.
    """
    if program.account.runs < _LONG:
        return _LONG
    if program.account.runs == _LONG and memory_of(program.code, program.compiled) >= _MUCH:
        later(lambda: _compile(program), "compile for blocks of memory")
    return sys.maxsize


def _compile(program: Program) -> None:
    started = perf_counter()
    code = program.code
    recipe = book.recipe(code)
    try:
        with leave_one(), short_turns():
            compiled = compile_in_blocks(code, recipe)
    except Exception as error:  # it runs as it did
        log.info("%s: does not compile for blocks of memory: %s", describe(code), error)
        return
    if compiled is None or not program.kept:
        return
    cache.replace(code, recipe, compiled)
    if explaining():
        took = perf_counter() - started
        say(
            "%s: compiled in %.1f s for blocks of memory, having run for long", describe(code), took
        )
