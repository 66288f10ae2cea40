"""`PartitionedCall`: a graph whose nodes are on several devices, run as one call.

What `GraphCall` is on one device: its inputs are Values, some of which may still be being made, and
so are its outputs. It is not recorded but begins at once, or in a task of the engine when its
inputs are there; what is not done by then the engine's tasks do.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import final

from hybridnet import engine
from hybridnet.base import config
from hybridnet.base.context import Context
from hybridnet.base.device_name import DEVICE, DeviceName
from hybridnet.base.errors import GraphError, MXNetError, ParameterError
from hybridnet.graph import Node, infer_types, to_text
from hybridnet.ops.core import Types
from hybridnet.passes import (
    CostModel,
    DevicePart,
    FlowCall,
    Lowered,
    Transfer,
    log,
    lower_control,
    partition,
    upward_ranks,
)

from ..devices.device import Device, device_at, find_device, full_name
from ..graphs.graph_call import GraphCall
from ..record import recorder
from ..record.failures import fail
from ..record.host_task import awaited_ends
from ..segments.segment import Value
from .device_plan import DevicePlan
from .device_run import GraphRun
from .rendezvous import LocalRendezvous


@final
class PartitionedCall:
    """A call of a graph, cut into one part for each device.

    Loops and branches whose nodes are on several devices, or on the host, are taken apart before
    (`hybridnet.passes.lower_control`); any other is a node of one part.

    Args:
        call: whose graph it is; the nodes name their devices, those inside others too.
        inputs: the contexts of its inputs.
        wanted: for each output the context on which it is wanted; None has it on the device of its
            node.
        default: where nodes run that name no device and have no input.
        lower: whether all loops and branches are taken apart.
        soft: whether nodes inside loops and branches that name a device that is not there run where
            the loop or branch does, with a line in the log; default what the environment says.

    Attributes:
        call: as given.
        lowered: the graph with what was taken apart in the executor's primitives.
        contexts: of the outputs.
        transfers: one for each pair of Send and Recv.
        parts: the graph of each device, by its name.
        plans: what each device does.
        ranks: seconds from the start of each node of the lowered graph to the end of a run.

    Raises:
        GraphError: a node's device is not one of this process.
    """

    def __init__(
        self,
        call: GraphCall,
        inputs: Sequence[Context],
        wanted: Sequence[Context | None],
        default: Context,
        lower: bool = False,
        soft: bool | None = None,
    ) -> None:
        self.call = call
        self._inputs = tuple(inputs)
        found = _Devices(default, config.soft_placement() if soft is None else soft)
        lowered = self.lowered = found.lowered(call, inputs, lower)
        graph, types, devices = lowered.graph, lowered.types, lowered.devices
        # Where an output is wanted, or else where its node is. (After control flow was lowered, a
        # loop's results may be made on another device; that must not change where they are.)
        self.contexts = tuple(
            ctx or found.of_node[edge.node].context
            for ctx, edge in zip(wanted, call.graph.outputs, strict=True)
        )
        cut = partition(
            graph,
            devices,
            types,
            [str(full_name(ctx)) for ctx in self.contexts],
            lowered.scopes,
        )
        cut.verify(graph, devices)
        self.transfers: tuple[Transfer, ...] = cut.transfers
        self.parts: Mapping[str, DevicePart] = cut.parts
        by_name = found.by_name | {str(full_name(ctx)): device_at(ctx) for ctx in self.contexts}
        costs = CostModel()
        ranks = self.ranks = upward_ranks(
            graph, types, lambda node: _seconds(node, types, costs), lambda kind: 0.0
        )
        self.plans = [
            DevicePlan(part, by_name[name], call.input_types, ranks)
            for name, part in cut.parts.items()
        ]

    def __str__(self) -> str:
        texts = []
        for name, part in self.parts.items():
            types = infer_types(part.graph, [self.call.input_types[i] for i in part.inputs])
            texts.append(f"# {name}\n{to_text(part.graph, types)}")
        return "\n".join(texts)

    def run(self, values: Sequence[Value], scalars: Sequence[float]) -> list[Value]:
        """Runs it.

        Args:
            values: the inputs, on their contexts; what is recorded is launched now.
            scalars: the numbers that the call takes.

        Returns:
            The outputs, pending, on `contexts`. If a node fails they carry its error, which names
            the node and is raised where one of them is read.

        Raises:
            ParameterError: an input is missing.
            MXNetError: inside a trace, which is one program.
        """
        if recorder.current_trace() is not None:
            raise MXNetError(
                f"{self.call.name} runs on several devices, and cannot be part of a traced "
                "function, which is one program on one device; call it outside"
            )
        if len(values) < len(self._inputs):
            missing = self.call.graph.inputs[len(values)]
            raise ParameterError(f"{self.call.name}: the input {missing.title} is missing")
        for value in values:
            if value.segment is not None:
                recorder.launch(value.segment)
        made = [Value(kind) for kind in self.call.output_types]
        delivered = [*made, *(awaited_ends() if self.call.graph.targets else ())]
        numbers = dict(zip(self.call.hosts, scalars, strict=True))
        origin = engine.caller_origin(1)
        run = GraphRun(self.plans, LocalRendezvous(), numbers, len(made), origin)
        waits = {v.var for v in values if v.array is None and v.error is None}
        if not waits:
            try:
                _start(run, values)
            except BaseException:  # KeyboardInterrupt, before anybody waits for the run
                run.interrupt(threading.get_ident())
                raise
        if run.ended:
            _deliver(run, delivered)
        else:
            var = engine.new_variable()
            for value in delivered:
                value.var = var

            def task(on_complete: engine.Completion) -> None:
                def finish() -> None:
                    _deliver(run, delivered)
                    on_complete()

                if waits:
                    _start(run, values)
                run.when_ended(finish)

            engine.push_async(
                task, reads=tuple(waits), writes=(var,), name=self.call.name, origin=origin
            )
        if recorder.is_naive():
            for value in made:
                recorder.wait(value)
        return made


def _start(run: GraphRun, values: Sequence[Value]) -> None:
    """Starts a run whose inputs are there, or have failed."""
    broken = next((value.error for value in values if value.error is not None), None)
    if broken is None:
        run.start([value.array for value in values])
    else:  # one failure, however many it takes along
        run.fail(broken if isinstance(broken, MXNetError) else MXNetError(str(broken)))


def _deliver(run: GraphRun, made: Sequence[Value]) -> None:
    """Puts the outputs of a run that has ended, or its error, in their Values.

    One more Value may stand for its end.
    """
    if run.interrupted:
        for value in made:
            value.error = run.error
        return
    if run.error is not None:
        fail(made, run.error)
        return
    for value, array in zip(made, [*run.outputs, True], strict=False):
        value.array = array


class _Devices:
    """The devices of a graph's nodes.

    Attributes:
        by_name: those that were asked for.
        of_node: those of the whole graph's nodes, not of nodes inside others.
    """

    def __init__(self, default: Context, soft: bool) -> None:
        self._default = default
        self._soft = soft
        self.by_name: dict[str, Device] = {}
        self.of_node: dict[Node, Device] = {}

    def lowered(self, call: GraphCall, inputs: Sequence[Context], everything: bool) -> Lowered:
        """Finds the device of each node; replaces branches and loops across devices by primitives.

        Args:
            call: the graph.
            inputs: the contexts of its inputs.
            everything: whether to replace the branches and loops on one device as well.
        """
        graph = call.graph
        names: dict[Node, str] = {}
        for node, ctx in zip(graph.inputs, inputs, strict=True):
            names[node] = self._note(device_at(ctx))
        for node in graph.nodes:
            if not node.is_variable:
                first = names[node.inputs[0].node] if node.inputs else ""
                names[node] = self._of(node, first or self._note(device_at(self._default)))
        self.of_node = {node: self.by_name[name] for node, name in names.items()}
        return lower_control(graph, names, call.input_types, self._of, everything)

    def _note(self, device: Device) -> str:
        self.by_name[str(device.name)] = device
        return str(device.name)

    def _of(self, node: Node, other: str) -> str:
        """Returns the device that a node names; of one that names none another."""
        name = node.attrs.get(DEVICE)
        if name is None:
            return other
        wanted = DeviceName.parse(name)
        if wanted.covers(DeviceName.parse(other)):
            return other
        try:
            if wanted.type is None or wanted.index is None:
                device = find_device(wanted)
            else:
                device = device_at(Context(wanted.type, wanted.index))
        except MXNetError as error:
            return self._elsewhere(f"{node.title} is on an unknown device: {error}", other, error)
        if node.call is not None and not device.supports(node.call):
            return self._elsewhere(f"{node.title} has no kernel on {device.name}", other)
        return self._note(device)

    def _elsewhere(self, problem: str, other: str, cause: Exception | None = None) -> str:
        if not self._soft:
            raise GraphError(f"node {problem}") from cause
        log.warning("place: node %s; placed elsewhere", problem)
        return other


def _seconds(node: Node, types: Mapping[Node, Types], costs: CostModel) -> float:
    if node.call is None or isinstance(node.call, FlowCall):
        return 0.0
    inputs = tuple(types[edge.node][edge.index] for edge in node.inputs)
    return costs.compute("", node.call, inputs, types[node])
