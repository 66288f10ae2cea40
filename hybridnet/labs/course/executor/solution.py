"""Lab 7: a count of missing tensors for each program, and a heap of those that miss none."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from hybridnet import runtime


class Queue(runtime.ReadyQueue):
    """Counts down what each program waits for; what waits for nothing is in a heap."""

    def __init__(self, programs: Sequence[runtime.ReadyProgram]) -> None:
        self._programs = programs
        #: Program number -> how many of its tensors are still missing.
        self._missing = [len(program.reads) for program in programs]
        #: Slot -> the numbers of the programs that read it.
        self._readers: dict[int, list[int]] = {}
        #: (minus the urgency, program number): the smallest is at the front.
        self._ready: list[tuple[int, int]] = []
        for program in programs:
            for slot in program.reads:
                self._readers.setdefault(slot, []).append(program.number)
            if not program.reads:
                self._push(program.number)

    def put(self, slots: Sequence[int]) -> None:
        """Counts down, and moves the programs that miss nothing any more into the heap."""
        for slot in slots:
            for number in self._readers.get(slot, ()):
                self._missing[number] -= 1
                if not self._missing[number]:
                    self._push(number)

    def next(self) -> runtime.ReadyProgram | None:
        """Takes the most urgent program out of the heap."""
        if not self._ready:
            return None
        _, number = heapq.heappop(self._ready)
        return self._programs[number]

    def _push(self, number: int) -> None:
        heapq.heappush(self._ready, (-self._programs[number].urgency, number))
