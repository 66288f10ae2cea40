"""Finds programs whose inputs stay the same, and has them be specialized (see `constants`)."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, final

from hybridnet.base import config
from hybridnet.base.host_array import DeviceArray

from ..platform.background import later
from ..platform.dlpack_exports import is_exported
from ..programs.cache import cache
from ..programs.executable import innermost
from ..programs.program import Program
from ..tiers.choice import Purchase, decide_constants
from ..tiers.prices import prices
from ..tuning.launches import note_launch
from ..tuning.timing import Turn, Turns
from .constants import LEAST_BYTES
from .specializing import Specializer

# The inputs are looked at for the first time after so many launches, and for the second time so
# many launches later; both again when a program for them is worth its price, if it was not; else
# the whole is repeated after ever more launches, up to a last time. The two distances have no
# common divisor, so that batches that come in turn are not taken for weights.
_BEGIN_LAUNCHES: Final = 8
_AGAIN_LAUNCHES: Final = 5
_RARER_FACTOR: Final = 8
_LAST_LAUNCH: Final = 4096


@final
class Watch:
    """Compares the inputs of one program's launches, a few times in the life of the program.

    It looks again after many more launches, since a network is first trained, when its weights
    change, and used later.

    Attributes:
        next: the number of launches after which it looks next.
    """

    __slots__ = ("_begun", "_same", "_seen", "next")

    def __init__(self) -> None:
        self.next = _BEGIN_LAUNCHES
        self._begun = _BEGIN_LAUNCHES
        self._seen: list[weakref.ref[Any]] | None = None
        self._same: tuple[int, ...] = ()  # of those seen, after the second look

    def look(
        self, launches: int, inputs: Sequence[DeviceArray], donated: Sequence[int]
    ) -> tuple[int, ...]:
        """Looks at the inputs of a launch.

        Args:
            launches: the number of launches before.
            inputs: the inputs.
            donated: the numbers of the inputs that the program donates, which cannot stay the same.

        Returns:
            The numbers of the inputs that have stayed the same; empty if they are small together,
            or if it is not known yet.
        """
        seen = self._seen
        if seen is None or len(seen) != len(inputs):
            self._seen = [weakref.ref(array) for array in inputs]
            self._same = ()
            self.next = launches + _BEGIN_LAUNCHES
            return ()
        slots = tuple(
            slot
            for slot in self._same or range(len(inputs))
            if seen[slot]() is inputs[slot]
            and slot not in donated
            and not is_exported(inputs[slot])
        )
        is_much = sum(inputs[slot].nbytes for slot in slots) >= LEAST_BYTES
        if is_much and not self._same:
            self._same = slots
            self.next = launches + _AGAIN_LAUNCHES
            return ()
        self._seen = None
        self._begun *= _RARER_FACTOR
        self.next = self._begun if self._begun <= _LAST_LAUNCH else sys.maxsize
        if not is_much:
            return ()
        self.next = sys.maxsize
        return slots


def improve(program: Program, inputs: Sequence[DeviceArray], scalars: Sequence[float]) -> int:
    """Looks at the inputs of a program that is about to run; see `programs.making.improvers`.

    Returns:
        The number of runs at which to call this again.
    """
    watch: Watch | None = program.account.watch
    if watch is None:  # its second run
        watch = program.account.watch = Watch()
        if config.tuning() == "off" or not config.constants_size():
            watch.next = sys.maxsize
    elif program.account.runs >= watch.next:
        constant = watch.look(program.account.runs, inputs, program.code.donated)
        if constant:
            note_launch(program, inputs, scalars)
            made = decide_constants(program.account, prices, cache.load())
            if made.purchase is Purchase.NONE:
                watch.next = made.due
            else:
                _specialize(program, inputs, scalars, constant)
    return watch.next


def _specialize(
    program: Program,
    inputs: Sequence[DeviceArray],
    scalars: Sequence[float],
    constant: Sequence[int],
) -> None:
    """Specializes a program for inputs that stay the same, in the background."""

    @contextmanager
    def turns() -> Iterator[Turn]:
        held = Turns(program.compiled)
        program.wrap(held)
        try:
            yield held.turn
        finally:
            program.unwrap(held)

    def narrow(fewer: Sequence[int], arguments: Sequence[DeviceArray]) -> None:
        _specialize(program, arguments[:-1], scalars, fewer)

    put = partial(program.wrap, alone=True)
    specializer = Specializer(program.code, inputs, scalars, constant)
    later(lambda: specializer.run(innermost(program.compiled), narrow, turns, put), "specialize")
