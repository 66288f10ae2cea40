"""`StepTrace`: when what of one step ran on a task, for the client that asks for it."""

from __future__ import annotations

from time import perf_counter_ns, time_ns
from typing import Any, final

from hybridnet.engine import RLock
from hybridnet.runtime.calls import Code
from hybridnet.runtime.watching import events

from .registered import Registered


@final
class StepTrace:
    """Notes the programs and transfers of one step; `end` it when the step has ended.

    Args:
        graph: the parts that run.

    Attributes:
        rows: for each program and transfer the device, the name, the label, when it began in
            microseconds of the clock, and how many it took.
    """

    def __init__(self, graph: Registered) -> None:
        self._devices = {
            program.code: name
            for plan, name in zip(graph.plans, graph.devices, strict=True)
            for program in plan.programs
        }
        self._offset = time_ns() - perf_counter_ns()
        self._lock = RLock()
        self.rows: list[list[Any]] = []
        events.listen(self._hear)

    def end(self) -> None:
        """Stops noting."""
        events.unlisten(self._hear)

    def take_transfer(self, device: str, label: str, start: int, end: int) -> None:
        """Notes a tensor that came from another task."""
        self._note(device, "RecvTensor", label, start, end)

    def _hear(self, kind: str, what: Code | str, start: int, end: int) -> None:
        if kind == "device" and not isinstance(what, str) and what in self._devices:
            name = events.name_of(what)
            self._note(self._devices[what], name, name, start, end)

    def _note(self, device: str, name: str, label: str, start: int, end: int) -> None:
        begun = (start + self._offset) // 1000
        with self._lock:
            self.rows.append([device, name, label, begun, (end - start) // 1000])
