"""Metadata of a run: when each node ran, and which part of the graph each device had.

The names are those of TensorFlow's messages, so that programs that read these find them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns, time_ns
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

from hybridnet.base.context import Context
from hybridnet.base.device_name import DEVICE
from hybridnet.base.locks import free_in_children
from hybridnet.engine import RLock
from hybridnet.graph import Graph, Node
from hybridnet.ops.core import Call
from hybridnet.runtime.placing import full_name
from hybridnet.runtime.recording import Value, recorder
from hybridnet.runtime.watching import events

if TYPE_CHECKING:
    from .step import SessionProgram


@final
@dataclass
class RunOptions:
    """Options of a run.

    Attributes:
        trace_level: FULL_TRACE (or another of the traces) has the nodes timed, which run one by one
            then; NO_TRACE does not.
        output_partition_graphs: whether the metadata gets the graphs of the devices.
        timeout_in_ms: milliseconds that the run may wait for other tasks, and for queues; 0: as
            many as the session's options say.
    """

    NO_TRACE: ClassVar[int] = 0
    SOFTWARE_TRACE: ClassVar[int] = 1
    HARDWARE_TRACE: ClassVar[int] = 2
    FULL_TRACE: ClassVar[int] = 3

    trace_level: int = 0
    output_partition_graphs: bool = False
    timeout_in_ms: int = 0


@final
@dataclass
class NodeExecStats:
    """When a node ran.

    Attributes:
        node_name: its name; on several devices that of the program that it was part of.
        all_start_micros: when it began, in microseconds of the clock.
        all_end_rel_micros: how long it took, in microseconds.
        timeline_label: the operator.
    """

    node_name: str
    all_start_micros: int
    all_end_rel_micros: int
    timeline_label: str = ""

    @property
    def op_start_rel_micros(self) -> int:
        """When it began to compute, from its beginning."""
        return 0

    @property
    def op_end_rel_micros(self) -> int:
        """When it had computed, from its beginning."""
        return self.all_end_rel_micros


@final
@dataclass
class DeviceStepStats:
    """The statistics of a device.

    Attributes:
        device: its name in full.
        node_stats: its nodes, in the order in which they began.
    """

    device: str
    node_stats: list[NodeExecStats] = field(default_factory=list)


@final
@dataclass
class StepStats:
    """The statistics of a run.

    Attributes:
        dev_stats: for each device.
    """

    dev_stats: list[DeviceStepStats] = field(default_factory=list)


@final
@dataclass(frozen=True)
class NodeDef:
    """A node, in words.

    Attributes:
        name: of the node.
        op: our operator; 'variable' for a value from outside.
        input: the names of what it reads, ``name:index`` where that is not the first output.
        device: the device's name, '' where nothing is said of it.
    """

    name: str
    op: str
    input: tuple[str, ...]
    device: str


@final
@dataclass(frozen=True)
class PartitionGraph:
    """The part of a graph that one device runs; ``print`` shows it.

    Attributes:
        device: its name in full.
        graph: the part.
    """

    device: str
    graph: Graph

    @property
    def node(self) -> list[NodeDef]:
        """Its nodes, each after what it reads."""
        return [_node_def(node) for node in (*self.graph.inputs, *self.graph.nodes)]

    def __str__(self) -> str:
        return f"# {self.device}\n{self.graph}"


def _node_def(node: Node) -> NodeDef:
    names = [
        edge.node.name if not edge.index else f"{edge.node.name}:{edge.index}"
        for edge in node.inputs
    ]
    op = "variable" if node.call is None else node.call.name
    return NodeDef(node.name, op, tuple(names), node.attrs.get(DEVICE, ""))


@final
@dataclass
class RunMetadata:
    """The report of a run, if its options ask for it.

    Attributes:
        step_stats: when what ran.
        partition_graphs: the graph of each device.
    """

    step_stats: StepStats = field(default_factory=StepStats)
    partition_graphs: list[PartitionGraph] = field(default_factory=list)


@final
class Trace:
    """Fills the metadata of one run with what its options ask for.

    Attributes:
        timeout: seconds that the run may wait for others, if its options say it.
    """

    @classmethod
    def of(cls, options: RunOptions | None, metadata: RunMetadata | None) -> Trace | None:
        """Returns that of a run; None where its options ask for nothing."""
        if options is None or (metadata is None and not options.timeout_in_ms > 0):
            return None
        if metadata is None:
            options, metadata = RunOptions(timeout_in_ms=options.timeout_in_ms), RunMetadata()
        return cls(options, metadata)

    def __init__(self, options: RunOptions, metadata: RunMetadata) -> None:
        milliseconds = options.timeout_in_ms
        self.timeout: Final = milliseconds / 1000 if milliseconds > 0 else None
        self._options = options
        self._metadata = metadata
        self._devices: dict[str, DeviceStepStats] = {}
        self._lock: Final = free_in_children(RLock())
        self._offset = time_ns() - perf_counter_ns()

    def run(self, program: SessionProgram, values: Sequence[Value]) -> list[Value]:
        """Runs a program and notes what is asked for; returns its results."""
        if self._options.output_partition_graphs:
            self._metadata.partition_graphs = _graphs(program)
        if self._options.trace_level == RunOptions.NO_TRACE:
            if program.parts is not None:
                return program.parts.run(values, program.scalars)
            call = program.call
            made = recorder.record(program.ctx, call, values, program.scalars, call.output_types)
            recorder.flush()
            return made
        if program.parts is not None:
            made = self._observed(program, values)
        else:
            made = self._one_by_one(program, values)
        self._metadata.step_stats = StepStats(list(self._devices.values()))
        return made

    @property
    def is_timed(self) -> bool:
        """Whether it is asked when what ran."""
        return self._options.trace_level != RunOptions.NO_TRACE

    def take(
        self, rows: Sequence[tuple[str, str, str, int, int]], graphs: Mapping[str, Graph]
    ) -> None:
        """Fills the metadata of a run over several processes.

        Args:
            rows: the device, and what `NodeExecStats` has, of what ran.
            graphs: the parts of the devices.
        """
        if self._options.output_partition_graphs:
            self._metadata.partition_graphs = [PartitionGraph(*one) for one in graphs.items()]
        if self.is_timed:
            for device, name, label, begun, took in sorted(rows, key=lambda row: row[3]):
                stats = NodeExecStats(name, begun, took, label)
                self._devices.setdefault(device, DeviceStepStats(device)).node_stats.append(stats)
            self._metadata.step_stats = StepStats(list(self._devices.values()))

    def _one_by_one(self, program: SessionProgram, values: Sequence[Value]) -> list[Value]:
        names = iter([node.name for node in program.call.graph.nodes if node.call is not None])

        def timed(ctx: Context, call: Call, *rest: Any) -> list[Value]:
            # What only computes runs twice: the first time may be spent on compiling it.
            for _ in range(1 if call.on_host else 2):
                start = perf_counter_ns()
                made = recorder.record(ctx, call, *rest)
                recorder.flush()
                for value in made:
                    recorder.wait(value)
            self._note(ctx, next(names), call.name, start, perf_counter_ns())
            return made

        return program.call.run_on_host(program.ctx, values, program.scalars, timed)

    def _observed(self, program: SessionProgram, values: Sequence[Value]) -> list[Value]:
        assert program.parts is not None

        def listen(kind: str, what: Any, start: int, end: int) -> None:
            if kind == "device" and not isinstance(what, str):
                name = events.name_of(what)
                self._note(what.ctx, name, name, start, end)

        events.listen(listen)
        try:
            made = program.parts.run(values, program.scalars)
            for value in made:
                recorder.wait(value)
        finally:
            events.unlisten(listen)
        return made

    def _note(self, ctx: Context, name: str, label: str, start: int, end: int) -> None:
        device = str(full_name(ctx))
        begun = (start + self._offset) // 1000
        stats = NodeExecStats(name, begun, (end - start) // 1000, label)
        with self._lock:
            self._devices.setdefault(device, DeviceStepStats(device)).node_stats.append(stats)


def _graphs(program: SessionProgram) -> list[PartitionGraph]:
    if program.parts is None:
        return [PartitionGraph(str(full_name(program.ctx)), program.call.graph)]
    return [PartitionGraph(name, part.graph) for name, part in program.parts.parts.items()]
