"""A device from outside the library: it computes one operator after another, at a speed of its own.

It is what a user writes for a new kind of device, and what tests of several devices run on: nothing
is compiled as a whole, so that many random graphs can be run in little time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

import hybridnet as hn
from hybridnet import engine
from hybridnet.ops.core.call import Call
from hybridnet.runtime.devices.device import _registered, users
from hybridnet.runtime.segments.code import Code


class Simulated(hn.runtime.Device):
    """Computes in the memory of ``cpu(0)``.

    Args:
        index: ``/device:toy:{index}``.
        cost: what it says to the placer.
        without: names of operators for which it has no kernel.

    Attributes:
        ran: the names of the operators, in the order in which they ran.
        before: called with each operator's name before it runs.
    """

    def __init__(
        self,
        index: int,
        cost: hn.runtime.DeviceCost | None = None,
        without: Sequence[str] = (),
        device_type: str = "toy",
    ) -> None:
        super().__init__(device_type, index, memory=hn.cpu(0))
        self._cost = cost or hn.runtime.DeviceCost()
        self.without = set(without)
        self.ran: list[str] = []
        self.before: Callable[[str], Any] = lambda name: None

    @property
    def cost(self) -> hn.runtime.DeviceCost:
        return self._cost

    def supports(self, call: Call) -> bool:
        return call.name not in self.without

    def receive(self, array: Any) -> Any:
        # All simulated devices share one memory; what comes from another task is NumPy's.
        with jax.enable_x64(True):
            return jax.numpy.asarray(array)

    def run(self, code: Code, inputs: list[Any], scalars: list[Any]) -> Sequence[Any]:
        results: list[Any] = []
        position = 0
        with jax.enable_x64(True):
            for call, operands in code.instructions:
                own = scalars[position : position + call.num_scalars]
                position += call.num_scalars
                arrays = [results[i] if i >= 0 else inputs[~i] for i in operands]
                results += self._compute(call, arrays, [np.float64(one) for one in own])
            return [jax.numpy.asarray(results[i]) for i in code.outputs]

    def _compute(self, call: Call, arrays: list[Any], numbers: list[Any]) -> Sequence[Any]:
        graph = getattr(call, "graph", None)
        if graph is None:
            self.before(call.name)
            self.ran.append(call.name)
            return call.lower("cpu", arrays, numbers)
        # What is run as part of a graph is a whole graph: node by node.
        given = dict(zip(call.hosts, numbers, strict=True))
        values = {node: [array] for node, array in zip(graph.inputs, arrays, strict=True)}
        for node in graph.nodes:
            if node.call is not None:
                operands = [values[edge.node][edge.index] for edge in node.inputs]
                own = [given.get(one, one) for one in node.scalars]
                own = [np.float64(one) for one in own]
                values[node] = list(self._compute(node.call, operands, own))
        return [values[edge.node][edge.index] for edge in graph.outputs]


@contextmanager
def simulated(*devices: Simulated) -> Iterator[tuple[Simulated, ...]]:
    """A block in which these devices are registered."""
    for one in devices:
        hn.runtime.register_device(one)
    try:
        yield devices
    finally:
        for one in devices:
            _registered.pop(one.context, None)
            users.pop(one.context, None)


@contextmanager
def running_on(other: engine.Engine) -> Iterator[engine.Engine]:
    """A block in which tasks are pushed to another engine."""
    previous = engine.set_engine(other)
    try:
        yield other
        other.wait_for_all()
    finally:
        engine.set_engine(previous or engine.ThreadedEngine())
