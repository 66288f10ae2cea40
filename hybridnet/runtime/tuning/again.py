"""Programs that run are compiled once more for what they did without at first.

On a new machine what calls oneDNN takes some seconds to build, once; a small program is compiled
with XLA's own kernels meanwhile (`programs.making`). And where the temporary memory of a program
comes in blocks, the kernel need not clear it at each run (`programs.compile_options`), but XLA
cannot write such a program to disk: so those that are kept on disk are made without, and the next
process has them at its first steps. A program for a GPU that somebody waited for was compiled
without XLA's autotuners. When a second compilation is worth its price is decided in
`hybridnet.runtime.tiers.choice`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import perf_counter
from typing import Final

from hybridnet.base.host_array import DeviceArray

from ..observe.program_log import describe, explaining, log, say
from ..platform.background import in_turn, later, later_in_own_thread
from ..platform.blas_threads import build_onednn, leave_one
from ..platform.switch_interval import short_switch_interval
from ..programs.cache import cache
from ..programs.compiling import compile_code, compile_in_blocks
from ..programs.program import Program
from ..programs.recipe_book import book
from ..programs.room import memory_of
from ..segments.code import Code
from ..tiers.choice import Purchase, decide_again
from ..tiers.prices import prices
from .launches import note_launch

# The structures whose programs are being made.
_underway: Final[set[Code]] = set()
_WORDS: Final = {
    Purchase.BLOCKS: "for blocks of memory",
    Purchase.LIBRARY: "with oneDNN",
    Purchase.TUNED: "with XLA's autotuners",
}


def improve(program: Program, inputs: Sequence[DeviceArray], scalars: Sequence[float]) -> int:
    """Compiles a program once more if that is worth it; see `programs.making.improvers`.

    Returns:
        The number of runs of the program at which to call this again.
    """
    account, made, code = program.account, program.ready, program.code
    if program.compiled is None:  # it was given up just now
        return sys.maxsize
    pair = account.runs + 2 - account.runs % 2
    if made is not None and (account.is_plain or account.is_untuned):
        if account.runs % 2:  # it is put to use when a pair begins, see `Program.take_over`
            return pair
        program.ready, account.is_plain, account.is_untuned = None, False, False
        cache.replace(code, made)
    elif code in _underway:
        return pair
    if account.is_plain or account.is_untuned:
        note_launch(program, inputs, scalars)
    memory = memory_of(code, program.compiled)
    decision = decide_again(account, prices, cache.load(), memory)
    if decision.purchase is Purchase.NONE:
        return decision.due
    _underway.add(code)
    if decision.purchase is Purchase.BLOCKS:
        account.is_in_blocks = True
        later(lambda: _compile(program, decision.purchase), "compile for blocks of memory")
        return sys.maxsize
    if decision.purchase is Purchase.TUNED:
        in_turn(lambda: _compile(program, decision.purchase), "compile with autotuners")
        return pair
    later_in_own_thread(lambda: _build(program), "build")
    return pair


def _build(program: Program) -> None:
    build_onednn()
    later(lambda: _compile(program, Purchase.LIBRARY), "compile with oneDNN")


def _compile(program: Program, purchase: Purchase) -> None:
    started, code, recipe = perf_counter(), program.code, book.recipe(program.code)
    in_blocks = purchase is Purchase.BLOCKS
    what = _WORDS[purchase]
    try:
        with leave_one(), short_switch_interval():
            if in_blocks:
                made = compile_in_blocks(code, recipe)
            else:
                made = compile_code(code, recipe, for_disk=True, in_background=True)
    except Exception as error:  # it runs as it did
        log.info("%s: does not compile %s: %s", describe(code), what, error)
        program.account.is_plain = program.account.is_untuned = False
        return
    finally:
        _underway.discard(code)
    if made is None or not program.kept or program.compiled is None:
        return
    if in_blocks:
        cache.replace(code, made)
    else:
        cache.save(code, recipe, made)  # at once: the loop may be over before it is put to use
        program.ready = made
    if explaining():
        say("%s: compiled %s in %.1f s", describe(code), what, perf_counter() - started)
