"""`Flight`: a program that is about to be dispatched, and the Values that it makes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, final

from hybridnet.base.errors import OpError
from hybridnet.base.host_array import DeviceArray
from hybridnet.engine import RLock

from .segment import Value

__all__ = ["Flight"]


@final
class Flight:
    """Stands for a segment while a prepared call starts its program; see `PreparedCall`.

    The Values that the call makes have it as their `segment` until they get their arrays, so that a
    thread that needs one waits for it as for a segment's launch. If Ctrl-C interrupts the call,
    everything that is needed to finish is stored here, and the next thread calls `land`.

    Attributes:
        made: the new Values, one for each output of the program.
        before: the old Values of the storages that the call reads or overwrites; set before the
            first storage gets a new one.
        outputs: empty; once the program was dispatched, a list with one item: its outputs.
        places: for each storage that is overwritten, the number of the output that it becomes, and
            its own number in `before`.
        lost: a function from `before` to the message of the error for arrays that XLA has taken.
    """

    __slots__ = ("before", "lock", "lost", "made", "outputs", "owner", "places", "sealed")

    busy: Final = False
    launching: Final = True
    open: Final = False
    late: Final = False
    traced: Final = False

    def __init__(
        self, places: Sequence[tuple[int, int]], lost: Callable[[Sequence[Value]], str]
    ) -> None:
        self.lock = RLock()
        self.owner = threading.get_ident()
        self.sealed = False
        self.made: list[Value] = []
        self.before: list[Value] = []
        self.outputs: list[Sequence[DeviceArray]] = []
        self.places = places
        self.lost = lost

    def is_interrupted(self) -> bool:
        """Whether this thread is making the call; then a finalizer that interrupted it asks."""
        return bool(self.lock._is_owned())  # type: ignore[attr-defined]

    is_held_up = is_interrupted

    def land(self) -> None:
        """Gives the new Values their arrays.

        These are the outputs of the program; or, if it was not dispatched, the arrays of the old
        Values, so that each storage holds what it held before.
        """
        if self.outputs:
            for value, array in zip(self.made, self.outputs[0], strict=False):  # then answers
                value.array = array
                value.segment = None
            return
        for output, number in self.places if self.before else ():
            value, old = self.made[output], self.before[number]
            value.shared = old.shared
            if old.array.is_deleted():
                value.error = OpError(self.lost(self.before))
            else:
                value.array = old.array
            value.segment = None
