"""Runners of a bound graph: as one call on one device, or as the parts of several.

`OnOneDevice` records the calls into the caller's segment, like any operator. `OnSeveralDevices`
runs them by `PartitionedCall`: the nodes of a call name their devices, and gradients are where the
node is that they are the gradient of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, final

from hybridnet.base.context import Context

from ..graphs.graph_call import GraphCall
from ..graphs.graph_programs import Run
from ..record import recorder
from ..segments.segment import Value
from .partitioned import PartitionedCall


class Where(Protocol):
    """Runs the calls of a bound graph."""

    def contexts(self, run: Run) -> Sequence[Context]:
        """Returns where the outputs of a run are."""

    def forward(self, run: Run, values: Sequence[Value]) -> list[Value]:
        """Runs the call of a run; returns its outputs, residuals included."""

    def backward(self, run: Run, values: Sequence[Value]) -> list[Value]:
        """Runs the gradient of a run.

        From its residuals, the inputs that its gradient uses, and the gradients of its outputs,
        each where it is, to the gradients of the wanted inputs, each where the input is.
        """


@final
class OnOneDevice:
    """Runs the calls of a bound graph on one device."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def contexts(self, run: Run) -> Sequence[Context]:
        """All are on the device."""
        return (self._ctx,) * run.call.num_outputs

    def forward(self, run: Run, values: Sequence[Value]) -> list[Value]:
        """Records the call."""
        return self._record(run.call, values, run.scalars)

    def backward(self, run: Run, values: Sequence[Value]) -> list[Value]:
        """Records its gradient."""
        call, scalars = run.backward()
        return self._record(call, values, scalars)

    def _record(
        self, call: GraphCall, values: Sequence[Value], scalars: tuple[float, ...]
    ) -> list[Value]:
        return recorder.record(self._ctx, call, tuple(values), scalars, call.output_types)


@final
class OnSeveralDevices:
    """Runs the calls of a bound graph whose nodes are on several devices.

    Args:
        ctx: where nothing else is said: the state of the random generator, too.
        inputs: the contexts of the graph's inputs.
    """

    def __init__(self, ctx: Context, inputs: Sequence[Context]) -> None:
        self._ctx = ctx
        self._inputs = tuple(inputs)
        self._made: dict[GraphCall, PartitionedCall] = {}

    def contexts(self, run: Run) -> Sequence[Context]:
        """The context where each is made, or written to."""
        return self._forward(run).contexts

    def partitioned(self, run: Run) -> list[PartitionedCall]:
        """Returns the parts of a run: of its call, and in training of its gradient."""
        return [self._forward(run)] + ([self._backward(run)] if run.call.split else [])

    def forward(self, run: Run, values: Sequence[Value]) -> list[Value]:
        """Runs the call's parts."""
        return self._forward(run).run(values, run.scalars)

    def backward(self, run: Run, values: Sequence[Value]) -> list[Value]:
        """Runs its gradient's parts."""
        _, scalars = run.backward()
        return self._backward(run).run(values, scalars)

    def _inputs_of(self, run: Run) -> tuple[Context, ...]:
        return (*self._inputs, self._ctx) if run.draws else self._inputs

    def _forward(self, run: Run) -> PartitionedCall:
        made = self._made.get(run.call)
        if made is None:
            inputs = self._inputs_of(run)
            wanted: list[Context | None] = [None] * run.call.num_outputs
            for place, number in enumerate(run.writes, run.num_heads):
                wanted[place] = inputs[number]
            for one in run.averages:
                for place in one.statistics:
                    wanted[place] = inputs[one.states[0]]
            made = self._made[run.call] = PartitionedCall(run.call, inputs, wanted, self._ctx)
        return made

    def _backward(self, run: Run) -> PartitionedCall:
        call, _ = run.backward()
        made = self._made.get(call)
        if made is None:
            split = run.call.split
            assert split is not None
            outputs, inputs = self._forward(run).contexts, self._inputs_of(run)
            where = [
                *outputs[run.num_results :],
                *(inputs[i] for i in split.uses),
                *(outputs[i] for i in split.given),
            ]
            wanted: list[Context | None] = [None] * call.num_outputs
            for position, number in zip(split.positions, split.wanted, strict=True):
                if number is not None:
                    wanted[number] = inputs[position]
            made = self._made[call] = PartitionedCall(call, where, wanted, self._ctx)
        return made
