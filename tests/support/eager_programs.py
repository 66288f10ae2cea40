"""Runs random eager programs in every way they can be run, and compares.

Ways: synchronously, operator by operator, in short segments (which cuts raw loops after whole
turns), compiled as wholes, from programs on disk, and on NumPy in float64. Where the same operators
run one by one, results must be the same bits, and errors the same words at the same line.

As a script: ``python tests/support/eager_programs.py --count 20000 --seed 0``; of each hundred
programs, ``--whole`` are also compiled as wholes, which takes a hundred times longer.
"""

from __future__ import annotations

import argparse
import functools
import gc
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Read at the first use of JAX.
os.environ.setdefault("HYBRIDNET_NUM_CPU_DEVICES", "2")
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "2")
os.environ.setdefault("HYBRIDNET_CACHE_DIR", "off")

from deciding import always_whole, never_whole
from eager_maker import Program, make_program
from eager_runs import Outcome, compare, compare_exactly, run_ours, run_reference, worker
from helpers import naive, settle

from hybridnet.base import config
from hybridnet.runtime.programs.cache import ProgramCache
from hybridnet.runtime.programs.disk import ProgramFolder
from hybridnet.runtime.programs.making import Decide
from hybridnet.runtime.programs.program_store import ProgramStore
from hybridnet.runtime.record import at_once, launch, recorder, waiting
from hybridnet.runtime.segments.code import Code

__all__ = ["check_stepwise", "check_whole", "step_by_step", "whole"]


@contextmanager
def _deciding(decide: Decide, cache: ProgramCache) -> Iterator[None]:
    was = launch.cache, cache.decide, waiting.note_launched
    recorder.flush_all()
    launch.cache, cache.decide = cache, decide
    # No clock is to have operators computed at once, in neither thread that runs programs.
    vars(at_once.thread).clear()
    worker.submit(lambda: vars(at_once.thread).clear()).result()
    waiting.note_launched = lambda _: None
    try:
        yield
        recorder.flush_all()
    finally:
        launch.cache, cache.decide, waiting.note_launched = was


@functools.cache
def _never_compiled(host: str) -> ProgramCache:
    """Returns a cache of its own for each HYBRIDNET_HOST.

    The process's has programs that NumPy runs, from before that was set, and executables of some of
    them, which would take over between two runs and round differently.
    """
    return ProgramCache()


@contextmanager
def step_by_step() -> Iterator[None]:
    """A scope in which structures run instruction by instruction, always."""
    with _deciding(never_whole, _never_compiled(config.host())):
        yield


@contextmanager
def whole(folder: Path | None = None) -> Iterator[ProgramCache]:
    """A scope in which structures are compiled as wholes, always; gives the cache, empty at first.

    Args:
        folder: where programs are kept; default nowhere.
    """
    store = None if folder is None else ProgramStore(ProgramFolder(folder, 1 << 30))
    cache = ProgramCache(store=store)
    with _deciding(always_whole, cache):
        yield cache


@contextmanager
def short_segments(limit: int) -> Iterator[None]:
    """A scope in which this thread's segments hold a load of no more than that, or a turn."""
    recorder.flush()
    was, recorder.thread.limit = recorder.thread.limit, limit
    try:
        yield
        recorder.flush()
    finally:
        recorder.thread.limit = was


def check_stepwise(program: Program, limit: int) -> Outcome:
    """Runs a program synchronously, recorded, in short segments, and on NumPy; returns the first.

    Raises:
        AssertionError: two ways differ.
    """
    settle()  # a program of one operator that came in between would round in another way
    with step_by_step(), naive():
        wanted = run_ours(program)
    compare(wanted, run_reference(program, wanted.draws), program)
    with step_by_step():
        compare_exactly(run_ours(program), wanted, program)
        with short_segments(limit):
            compare_exactly(run_ours(program), wanted, program)
    return wanted


def check_whole(program: Program, wanted: Outcome) -> None:
    """Runs a program compiled as a whole, once more when that is hot, and from disk.

    Raises:
        AssertionError: it differs from `wanted` by more than rounding, or from itself at all.
    """
    # Another thread's read cuts this thread's segment wherever that thread happens to come to it,
    # and finalizers record where the collector happens to run: then other programs result, which
    # round differently, and of which only those that both runs have can be read from disk.
    chance = _kinds(program.steps)
    same = compare if "elsewhere" in chance else compare_exactly
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "programs"
        with whole(folder) as cache:
            first = run_ours(program)
            assert first.errors == wanted.errors, program
            compare(first, wanted, program)
            same(run_ours(program), first, program)
            settle()
        before, made = cache.statistics(), _wholes(cache)
        with whole(folder) as cache:
            same(run_ours(program), first, program)
            settle()
        after = cache.statistics()
        by_chance = not chance.isdisjoint(("cycles", "elsewhere"))
        assert after.loaded > 0 or (by_chance and made.isdisjoint(_wholes(cache))), program
        if not by_chance:
            assert after.compilations <= before.compilations - after.loaded, program


def _wholes(cache: ProgramCache) -> set[Code]:
    """Returns the structures of several instructions that have a program."""
    found = {one.code for one in cache.programs() if one.compiled is not None}
    return {code for code in found if len(code.instructions) > 1}


def _kinds(steps: Iterable[Any]) -> set[str]:
    """Returns the kinds of some steps, and of those inside loops and recorded sections."""
    found = set()
    for step in steps:
        found.add(step[0])
        if step[0] in ("loop", "train"):
            found |= _kinds(step[2])
    return found


def main() -> int:
    """Runs many programs; returns how many of them failed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=20000)
    options.add_argument("--seed", type=int, default=0, help="of the first program")
    options.add_argument("--whole", type=int, default=1, help="of each hundred")
    given = options.parse_args()
    failed = wholes = 0
    began = time.perf_counter()
    gc.freeze()
    for seed in range(given.seed, given.seed + given.count):
        program = make_program(seed)
        try:
            wanted = check_stepwise(program, 4 + seed % 60)
            if seed % 100 < given.whole:
                wholes += 1
                check_whole(program, wanted)
        except Exception as error:
            failed += 1
            print(f"seed {seed}: {type(error).__name__}: {error}", flush=True)
        if (seed + 1) % 500 == 0:
            done = seed + 1 - given.seed
            took = time.perf_counter() - began
            print(f"{done} programs, {wholes} as wholes, {failed} failed, {took:.0f} s", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
