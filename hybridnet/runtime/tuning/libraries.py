"""Programs that were made without oneDNN are compiled once more when what calls it is built.

On a new machine that takes some seconds, once. A small program is not kept waiting for so long: it
is compiled with XLA's own kernels first (`programs.making`), and here with oneDNN's.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import perf_counter
from typing import Any, Final

from ..observe.program_log import describe, explaining, log, say
from ..platform.background import later, later_in_own_thread
from ..platform.blas_threads import build_onednn, leave_one
from ..platform.turns import short_turns
from ..programs.cache import cache
from ..programs.compiling import compile_code
from ..programs.program import Program
from ..programs.recipe_book import book
from ..segments.code import Code

__all__ = ["improve"]

# The structures whose programs are being made.
_underway: Final[set[Code]] = set()


def improve(program: Program, inputs: Sequence[Any], scalars: Sequence[Any]) -> int:
    """Has a program that does without oneDNN be compiled anew, and replaces it when that is done.

    It is one of `programs.cache.improvers`.

    Returns:
        The number of runs of the program at which to call this again.
    """
    account = program.account
    if not account.is_plain or program.compiled is None:  # None: it was given up just now
        return sys.maxsize
    made, code = program.ready, program.code
    if made is None:
        if code not in _underway:
            _underway.add(code)
            later_in_own_thread(lambda: _build(program), "build")
    elif account.runs % 2 == 0:  # the next run begins a pair, see `Program.take_over`
        program.ready, account.is_plain = None, False
        cache.replace(code, book.recipe(code), made)
        return sys.maxsize
    return account.runs + 1


def _build(program: Program) -> None:
    build_onednn()
    later(lambda: _compile(program), "compile with oneDNN")


def _compile(program: Program) -> None:
    started = perf_counter()
    code = program.code
    try:
        with leave_one(), short_turns():
            made = compile_code(code, book.recipe(code), for_disk=True, in_background=True)
    except Exception as error:  # it runs as it did
        log.info("%s: does not compile with oneDNN: %s", describe(code), error)
        program.account.is_plain = False
        return
    finally:
        _underway.discard(code)
    if program.kept and program.compiled is not None:
        program.ready = made
    if explaining():
        say("%s: compiled with oneDNN in %.1f s", describe(code), perf_counter() - started)
