"""`Flight`: a program that is about to be dispatched, and the Values that it makes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, final

from hybridnet.base.errors import OpError

from .segment import Value

__all__ = ["Flight"]


@final
class Flight:
    """The segment of a prepared call's Values until the call has landed.

    It is a segment in the midst of its launch, as far as anybody else can tell. Whoever is
    interrupted in between (Ctrl-C) leaves here what there was to do, and `land` does it.

    Attributes:
        made: the new Values, one for each output of the program.
        before: those of the storages that it reads or overwrites, once these may have the new ones.
        outputs: the outputs of the program, in a list, once it was dispatched.
        places: of each storage that is overwritten, the output it becomes and its number among
            `before`.
        lost: says what has become of arrays whose memory XLA had taken, given `before`.
    """

    __slots__ = ("before", "lock", "lost", "made", "outputs", "owner", "places", "sealed")

    open: Final = False
    late: Final = False
    traced: Final = False

    def __init__(
        self, places: Sequence[tuple[int, int]], lost: Callable[[Sequence[Value]], str]
    ) -> None:
        self.lock = threading.RLock()
        self.owner = threading.get_ident()
        self.sealed = False
        self.made: list[Value] = []
        self.before: list[Value] = []
        self.outputs: list[Sequence[Any]] = []
        self.places = places
        self.lost = lost

    def is_interrupted(self) -> bool:
        """Whether this thread is making the call: what asks is a finalizer."""
        return bool(self.lock._is_owned())  # type: ignore[attr-defined]

    is_held_up = is_interrupted

    def land(self) -> None:
        """Gives the new Values their arrays: the program's outputs, else those of the old ones."""
        if self.outputs:
            for value, array in zip(self.made, self.outputs[0], strict=True):
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
