"""`PlacedCall`: a traced function whose operators are on several devices.

Its graph is run by the executor (`PartitionedCall`), and so is its gradient: as one call on the
tape, whose inputs and outputs are each where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from hybridnet import tape
from hybridnet.base.context import Context
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import MXNetError
from hybridnet.graph import Graph, structure_of, with_open_scalars
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import Backward, HostOnlyCall, Operand, Scalars, Types
from hybridnet.runtime.calls import GraphCall
from hybridnet.runtime.placing import PartitionedCall
from hybridnet.runtime.recording import recorder

from .build import on_tape


@final
class PlacedCall(HostOnlyCall):
    """A call of a graph whose nodes name their devices.

    Args:
        inputs: where its inputs are.
        contexts: where its outputs are wanted; None leaves one where it is made.
        ctx: where nodes run that name no device.
    """

    __slots__ = ("_contexts", "_ctx", "_inputs", "_made", "_run", "_training", "call")
    refusal = "{name} runs on several devices, and is no part of a program"
    fault = MXNetError
    symbolic_rule = False
    one_dtype = False

    def __init__(
        self,
        call: GraphCall,
        inputs: Sequence[Context],
        contexts: Sequence[Context | None],
        ctx: Context,
    ) -> None:
        self.call = call
        self._inputs = tuple(inputs)
        self._contexts = tuple(contexts)
        self._ctx = ctx
        self._run: PartitionedCall | None = None
        self._training: dict[tuple[int, ...], PlacedCall] = {}
        # Gradients, by what they are of.
        self._made: dict[GraphCall, PlacedCall] = {}
        self.num_outputs = call.num_outputs
        self.num_visible = call.num_visible
        self.num_scalars = call.num_scalars
        self.takes_state = False

    @property
    def name(self) -> str:
        """The function's name."""
        return self.call.name

    @property
    def partitioned(self) -> PartitionedCall:
        """The parts of it, one for each device."""
        if self._run is None:
            self._run = PartitionedCall(self.call, self._inputs, self._contexts, self._ctx)
        return self._run

    def training(self, wanted: tuple[int, ...]) -> PlacedCall:
        """Returns the call that also keeps what its gradient needs."""
        made = self._training.get(wanted)
        if made is None:
            call = self.call.training(wanted)
            rest = (None,) * (call.num_outputs - len(self._contexts))
            made = PlacedCall(call, self._inputs, (*self._contexts, *rest), self._ctx)
            made = self._training.setdefault(wanted, made)
        return made

    def apply(
        self, operands: Sequence[NDArray], scalars: Scalars, watches: bool = True
    ) -> list[NDArray]:
        """Runs it; while recording, puts it on the tape.

        Args:
            watches: whether it is made to keep what its gradient needs.
        """
        values = [operand.read() for operand in operands]
        trace = recorder.current_trace()
        recording = tape.state.recording
        of = self
        if recording and watches and trace is None:
            wanted = tuple(
                number
                for number, operand in enumerate(operands)
                if on_tape(operand) and is_float(operand.type.dtype)
            )
            of = self.training(wanted) if wanted else self
        contexts = of.partitioned.contexts
        if trace is None:
            made = of.partitioned.run(values, scalars)
        else:
            made = trace.inline(of.call, values, scalars, contexts)
        outputs = list(map(NDArray.from_value, made, contexts))
        if recording:
            edges = [operand.edge for operand in operands]
            types = of.call.output_types
            node = tape.record_call(of, edges, scalars, values, made, types, self._ctx)
            if node is not None:
                for index, output in enumerate(outputs):
                    output.set_edge(tape.Edge(node, index))
        return outputs

    def infer(self, types: Types) -> Types:
        """Returns the types of the graph's outputs."""
        return self.call.infer(types)

    def gradient(self, back: Backward) -> Sequence[Operand | None]:
        """Runs the backward graph, each part of it where that of the forward graph ran."""
        call = self.call
        given = back.given
        heads = [back.grads[i] for i in given]
        split, contexts = call.split, self.partitioned.contexts
        if split is not None and given == split.given:
            backward, positions, numbers = call.backward_call(given), split.positions, split.wanted
            first = call.first_residual(split)
            operands = [*back.outputs[first:], *(back.inputs[i] for i in split.uses)]
            places = [*contexts[first:], *(self._inputs[i] for i in split.uses)]
        else:
            positions = tuple(
                i
                for i, type_ in enumerate(call.input_types)
                if back.wanted[i] and is_float(type_.dtype)
            )
            backward, numbers = call.joint_call(positions, given)
            operands, places = list(back.inputs), list(self._inputs)
        result: list[Any] = [None] * len(back.inputs)
        if all(number is None for number in numbers):
            return result
        made = self._made.get(backward)
        if made is None:
            wanted: list[Context | None] = [None] * backward.num_outputs
            for position, number in zip(positions, numbers, strict=True):
                if number is not None:
                    wanted[number] = self._inputs[position]
            where = [*places, *(contexts[i] for i in given)]
            made = self._made.setdefault(backward, PlacedCall(backward, where, wanted, self._ctx))
        scalars = dict(zip(call.hosts, back.scalars, strict=True))
        own = tuple(scalars[host] for host in backward.hosts)
        grads = made.apply([*operands, *heads], own)
        for position, number in zip(positions, numbers, strict=True):
            if number is not None:
                result[position] = grads[number]
        return result

    def __repr__(self) -> str:
        return repr(self.call)


def placed_call(
    graph: Graph,
    types: Types,
    name: str,
    num_visible: int,
    inputs: Sequence[Context],
    contexts: Sequence[Context],
    ctx: Context,
) -> tuple[PlacedCall, tuple[Any, ...]]:
    """Returns the call of a graph on several devices, and the numbers that it takes.

    Graphs of one structure may be on different devices, so it is not shared with others.
    """
    call = GraphCall(with_open_scalars(graph), types, name, num_visible)
    return PlacedCall(call, inputs, contexts, ctx), structure_of(graph)[1]
