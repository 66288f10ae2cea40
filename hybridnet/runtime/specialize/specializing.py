"""Specializes a program: compiles it in two parts, and puts these to use if they are faster.

This happens in the background, once for each program that was launched with the same weights for a
while (`constants`). Meanwhile only weak references to the weights are held, so that a training step
can reuse their memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final, final

import numpy as np

from hybridnet.base import config
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.dtype import is_float
from hybridnet.base.lazy import jax, jnp
from hybridnet.ops.core import picking
from hybridnet.ops.host import by_jax
from hybridnet.passes import TOLERANCE

from ..observe.program_log import describe, explaining, log, say
from ..platform.background import is_ending
from ..platform.jax_devices import sharding_of
from ..programs.compiling import (
    compile_lowered,
    lower,
    options_beside,
    options_of,
    shapes_of,
)
from ..programs.executable import Executable
from ..programs.recipe_book import book
from ..segments.code import Code
from ..tuning.launches import CapturedLaunch
from ..tuning.timing import Turn, compare
from .constants import Narrow, Specialized
from .specialized_code import lower_specialized
from .splitting import split

# A prologue whose results have fewer bytes than this saves too little time to be measured.
_MIN_RESULT_BYTES: Final = 1 << 14
# The least share of a program's time, as foreseen, that is worth compiling it again: a fourth of
# the least gain that counts (`tuning.timing`), as what is foreseen is rough. A training step that
# is given one batch again and again has less: what follows from the batch alone is its transposes.
_MIN_TIME_SHARE: Final = 0.005
_TOO_LITTLE: Final = (
    "%s: %d inputs stay the same; %.4f of the time is what follows from them alone, too little to "
    "be made once"
)
# Seconds of comparing the two by turns, and how often: what else the machine does may hide a gain
# from the clock.
_COMPARE_SECONDS: Final = 1.0
_COMPARISONS: Final = 4
# The results of both ways must not differ by more than this share of the greatest one. It is more
# than one operator's tolerance, since differences add up over a network.
_MAX_DIFFERENCE: Final = 100 * TOLERANCE


@final
class Specializer:
    """The arguments of a launch, kept until its program has been specialized for them.

    Args:
        code: the structure.
        inputs: JAX arrays; those that stay the same are referred to weakly, of others there is a
            copy.
        scalars: numbers.
        constant: the inputs, by number, that stay the same.
    """

    def __init__(
        self,
        code: Code,
        inputs: Sequence[Any],
        scalars: Sequence[float],
        constant: Sequence[int],
    ) -> None:
        self._code = code
        self._constant = tuple(constant)
        fixed = frozenset(constant)
        self._refs: list[Callable[[], Any]] = [
            weakref.ref(array) if slot in fixed else partial(_itself, jnp.copy(array))
            for slot, array in enumerate(inputs)
        ]
        self._scalars = list(scalars)

    def run(
        self,
        whole: Executable,
        narrow: Narrow,
        turns: Callable[[], AbstractContextManager[Turn]],
        put: Callable[[Specialized], None],
    ) -> None:
        """Specializes the program; does nothing if that gains nothing, or the weights were freed.

        Args:
            whole, narrow: see `Specialized`.
            turns: a scope in which launches of other threads may be held up.
            put: called with the `Specialized` that is to replace the executable.
        """
        try:
            made = specialize(self._code, whole, self._constant, narrow)
            inputs = [ref() for ref in self._refs]
            if made is None or is_ending() or any(array is None for array in inputs):
                return
            if not made.prepare(inputs):
                return
            launch = CapturedLaunch(self._code, inputs, self._scalars)
            del inputs
            if not _agree(launch.outputs(whole), launch.outputs(made)):
                say("%s: not the same with inputs that stay the same", describe(self._code))
                return
            with turns() as turn:
                for _ in range(_COMPARISONS):
                    found = compare(launch.timer(whole), launch.timer(made), _COMPARE_SECONDS, turn)
                    if found.is_win or not found.is_promising or is_ending():
                        break
        except Exception as error:  # the program stays as it is
            log.info("%s: cannot be made for inputs that stay: %s", describe(self._code), error)
            return
        if explaining():
            say(
                "%s: %d inputs stay the same; %.3f of the time with what follows from them made "
                "once%s",
                describe(self._code),
                len(self._constant),
                found.ratio,
                "" if found.is_win else ", which is too little",
            )
        if found.is_win:
            put(made)


def _itself(array: object) -> Any:
    return array


def specialize(
    code: Code, whole: Executable, constant: Sequence[int], narrow: Narrow
) -> Specialized | None:
    """Compiles a structure in two parts, which takes about as long as compiling it.

    Args:
        code: the structure.
        whole, constant, narrow: see `Specialized`.

    Returns:
        None if too little depends on these inputs alone.

    Raises:
        Exception: any error of a lowering or of XLA.
    """
    sharding = sharding_of(code.ctx)
    recipe = book.recipe(code)
    with jax.enable_x64(True), picking(recipe.picks):
        shapes = shapes_of(code)
        inference = lower_specialized(code, constant)  # it gains by other lowerings, too
        closed = by_jax(jax.jit(inference or lower(code)).trace, *shapes).jaxpr
        parts = split(closed, constant, config.constants_size())
        if parts is None or parts.nbytes < _MIN_RESULT_BYTES:
            return None
        if inference is None and parts.share < _MIN_TIME_SHARE:
            if explaining():
                say(_TOO_LITTLE, describe(code), len(constant), parts.share)
            return None
        made = [
            jax.ShapeDtypeStruct(kind.shape, kind.dtype, sharding=sharding) for kind in parts.types
        ]
        given = {slot: place for place, slot in enumerate(parts.takes)}
        main = jax.jit(
            parts.main,
            donate_argnums=tuple(given[slot] for slot in code.donated),
            keep_unused=True,
            out_shardings=sharding,
        ).trace(*(shapes[slot] for slot in parts.takes), *made)
        prologue = jax.jit(parts.prologue, keep_unused=True, out_shardings=sharding)
        prologue_lowered = prologue.lower(*(shapes[slot] for slot in parts.reads))
        options = {**options_beside(code, main.jaxpr), **options_of(code, recipe)}
        return Specialized(
            whole,
            compile_lowered(prologue_lowered, {}, in_background=True),
            compile_lowered(main.lower(), options, in_background=True),
            constant,
            parts,
            narrow,
        )


def _agree(first: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two lists of results are equal up to rounding.

    Whole numbers may differ: they may be positions of values that are equal but for rounding.
    """
    return all(map(_is_close, first, other))


def _is_close(a: NumpyArray, b: NumpyArray) -> bool:
    if not is_float(a.dtype) or not a.size:
        return True
    a, b = a.astype(np.float64), b.astype(np.float64)
    bound = _MAX_DIFFERENCE * float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a)))
    return bool(np.allclose(a, b, rtol=0, atol=bound, equal_nan=True))
