"""The part of a graph that is another process's, as JSON.

A part is registered once and run often, so what is written is all that `DevicePlan` needs of it:
nodes with their scopes and ranks, Sends, Recvs and the primitives of control flow, and frames. What
runs Python code cannot go to another process, and neither can a loop or branch that was not taken
apart; that is said with the node's line. Nothing that is read is trusted: whatever it holds,
reading gives a part or a `FormatError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from hybridnet import engine
from hybridnet.base.attrs import HostScalar
from hybridnet.base.errors import FormatError, GraphError
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Edge, Graph, Node, variable
from hybridnet.ops.core import Call

from .call_json import is_written, read_call, read_type, read_whole, write_call, write_type
from .flow import (
    PIVOT,
    SWITCH,
    EnterCall,
    ExitCall,
    FlowCall,
    Frame,
    LoopCondCall,
    MergeCall,
    NextIterationCall,
)
from .partition import NOTHING, DevicePart, RecvCall, SendCall, Transfer

_NODES: Final = 1 << 20
_LINKS: Final = 1 << 16  # inputs or controls of one node, numbers that it takes
_TEXT: Final = 1 << 16


@final
@dataclass(frozen=True, slots=True)
class ReadPart:
    """A part that was read.

    Attributes:
        part: the part; its nodes are their own `originals`.
        input_types: of its inputs, by their numbers in the whole graph.
        ranks: seconds from the start of each node to the end of the run, by the cost model.
    """

    part: DevicePart
    input_types: Mapping[int, TensorType]
    ranks: Mapping[Node, float]


def write_part(
    part: DevicePart,
    input_types: Sequence[TensorType],
    ranks: Mapping[Node, float],
    hosts: Sequence[HostScalar] = (),
) -> dict[str, object]:
    """Returns a part as what `json` writes.

    Args:
        part: of a partitioned graph.
        input_types: of the inputs of the whole graph.
        ranks: of the whole graph's nodes.
        hosts: the numbers that Python is asked for, in the order in which they are given.

    Raises:
        GraphError: a node cannot go to another process.
    """
    return _Writer(part, hosts).write(input_types, ranks)


class _Writer:
    def __init__(self, part: DevicePart, hosts: Sequence[HostScalar]) -> None:
        self._part = part
        self._hosts = {host: number for number, host in enumerate(hosts)}
        nodes = dict.fromkeys((*part.graph.inputs, *part.graph.nodes))
        self._ids = {node: number for number, node in enumerate(nodes)}
        self._frames: dict[Frame, int] = {}

    def write(
        self, input_types: Sequence[TensorType], ranks: Mapping[Node, float]
    ) -> dict[str, Any]:
        part, ids = self._part, self._ids
        nodes = [self._node(node, ranks) for node in ids]
        frames = [
            {
                "name": frame.name,
                "parent": -1 if frame.parent is None else self._frames[frame.parent],
                "parallel": frame.parallel_iterations,
            }
            for frame in self._frames
        ]
        return {
            "device": part.device,
            "frames": frames,
            "nodes": nodes,
            "inputs": [[number, write_type(input_types[number])] for number in part.inputs],
            "outputs": [[ids[edge.node], edge.index] for edge in part.graph.outputs],
            "targets": [ids[node] for node in part.graph.targets],
            "results": list(part.results),
            "sends": [ids[node] for node in part.sends],
            "receives": [ids[node] for node in part.receives],
        }

    def _frame(self, frame: Frame | None) -> int:
        """Returns a frame's number; those around it come before it."""
        if frame is None:
            return -1
        if frame not in self._frames:
            self._frame(frame.parent)
            self._frames[frame] = len(self._frames)
        return self._frames[frame]

    def _node(self, node: Node, ranks: Mapping[Node, float]) -> dict[str, object]:
        part = self._part
        written: dict[str, Any] = {"name": node.name}
        if node.call is not None:
            written["call"] = self._call(node, node.call)
            written["inputs"] = [[self._ids[edge.node], edge.index] for edge in node.inputs]
        if node.controls:
            written["controls"] = [self._ids[control] for control in node.controls]
        if node.scalars:
            written["scalars"] = [self._number(scalar) for scalar in node.scalars]
        if node.attrs:
            written["attrs"] = dict(node.attrs)
        line = engine.resolve_origin(node.origin)
        if line is not None:
            written["line"] = list(line)
        frame = self._frame(part.frames[node])
        if frame >= 0:
            written["frame"] = frame
        if node in part.originals:
            rank = ranks[part.originals[node]]
            written["scope"] = [part.levels[node], part.regions[node], rank]
        return written

    def _number(self, scalar: Any) -> Any:
        if isinstance(scalar, HostScalar):
            return {"host": self._hosts[scalar]}
        return repr(float(scalar))

    def _call(self, node: Node, call: Call) -> dict[str, object]:
        if isinstance(call, (SendCall, RecvCall)):
            way = "send" if isinstance(call, SendCall) else "recv"
            kind = None if call.is_control else write_type(call.type)
            return {way: list(call.transfer), "type": kind}
        if isinstance(call, FlowCall):
            written: dict[str, Any] = {"flow": call.name}
            if not isinstance(call, MergeCall) or call.frame is not None:
                frame = getattr(call, "frame", None)
                written |= {} if frame is None else {"frame": self._frame(frame)}
            if isinstance(call, (MergeCall, NextIterationCall)):
                written["number"] = call.number
            if isinstance(call, EnterCall):
                written["constant"] = call.is_constant
            return written
        if not is_written(call):
            raise GraphError(
                f"node {node.title} cannot run in another process: only operators and their "
                "gradients can, no code of Python's; place it on a device of this process"
            )
        return write_call(call)


def read_part(data: object, hosts: Sequence[HostScalar] = ()) -> ReadPart:
    """Returns the part that `write_part` wrote.

    Args:
        data: what `json` has read.
        hosts: what stands for the numbers that are given at each run, in order.

    Raises:
        FormatError: it is no part, or one with an operator that this process does not have.
    """
    return _PartReader(_fields(data, "a part"), hosts).read()


class _PartReader:
    def __init__(self, data: Mapping[str, object], hosts: Sequence[HostScalar]) -> None:
        self._data = data
        self._hosts = hosts
        self._nodes: list[Node] = []
        self._frames: list[Frame] = []
        self._frame_of: dict[Node, Frame | None] = {}
        self._scopes: dict[Node, tuple[int, int, float]] = {}

    def read(self) -> ReadPart:
        data = self._data
        for one in _list(data, "frames", _NODES):
            self._frames.append(self._read_frame(_fields(one, "a frame")))
        for one in _list(data, "nodes", _NODES):
            self._read_node(_fields(one, "a node"))
        numbers, types = [], {}
        for one in _list(data, "inputs", _NODES):
            number, kind = _pair(one, "an input")
            numbers.append(read_whole(number, 0, _NODES, "an input's number"))
            types[numbers[-1]] = read_type(kind)
        variables = tuple(node for node in self._nodes if node.is_variable)
        if len(variables) != len(numbers):
            raise FormatError(f"a part with {len(variables)} variables has {len(numbers)} inputs")
        outputs = tuple(self._edge(one) for one in _list(data, "outputs", _NODES))
        targets, sends, receives = (
            tuple(self._at(one) for one in _list(data, name, _NODES))
            for name in ("targets", "sends", "receives")
        )
        results = tuple(
            read_whole(one, 0, _NODES, "a result's number")
            for one in _list(data, "results", _NODES)
        )
        kinds = ((sends, SendCall), (receives, RecvCall))
        if any(not isinstance(node.call, kind) for nodes, kind in kinds for node in nodes):
            raise FormatError("sends and receives of a part must be such")
        graph = Graph(variables, outputs, targets)
        try:
            graph.verify()
        except GraphError as error:
            raise FormatError(f"a part: {error}") from error
        part = DevicePart(
            _text(data, "device"),
            graph,
            tuple(numbers),
            results,
            sends,
            receives,
            {node: node for node in self._scopes},
            {node: scope[0] for node, scope in self._scopes.items()},
            {node: scope[1] for node, scope in self._scopes.items()},
            self._frame_of,
        )
        return ReadPart(part, types, {node: scope[2] for node, scope in self._scopes.items()})

    def _read_frame(self, data: Mapping[str, object]) -> Frame:
        parent = read_whole(data.get("parent"), -1, len(self._frames) - 1, "a frame's parent")
        parallel = read_whole(data.get("parallel"), 1, _NODES, "parallel")
        around = None if parent < 0 else self._frames[parent]
        return Frame(_text(data, "name"), around, parallel)

    def _read_node(self, data: Mapping[str, object]) -> None:
        name, attrs = _text(data, "name"), data.get("attrs", {})
        if not isinstance(attrs, dict) or not all(isinstance(one, str) for one in attrs.values()):
            raise FormatError(f"node {name[:40]!r}: attrs must hold texts")
        if "call" not in data:
            node = variable(name, attrs, _line(data))
        else:
            call = self._read_call(_fields(data["call"], f"the call of {name[:40]!r}"))
            inputs = tuple(self._edge(one) for one in _list(data, "inputs", _LINKS))
            controls = tuple(self._at(one) for one in _list(data, "controls", _LINKS))
            scalars = tuple(self._number(one) for one in _list(data, "scalars", _LINKS))
            if len(scalars) != call.num_scalars:
                raise FormatError(
                    f"node {name[:40]!r} takes {call.num_scalars} numbers, got {len(scalars)}"
                )
            node = Node(call, inputs, name, scalars, attrs, _line(data), controls)
        self._nodes.append(node)
        frame = read_whole(data.get("frame", -1), -1, len(self._frames) - 1, "a node's frame")
        self._frame_of[node] = None if frame < 0 else self._frames[frame]
        if node.call is not None and not isinstance(node.call, (SendCall, RecvCall, FlowCall)):
            scope = data.get("scope")
            if not isinstance(scope, list) or len(scope) != 3:
                raise FormatError(f"node {name[:40]!r} needs its scope")
            level, region = (read_whole(one, 0, 1 << 40, "a scope") for one in scope[:2])
            self._scopes[node] = level, region, _float(scope[2])

    def _read_call(self, data: Mapping[str, object]) -> Call:
        for way, kind in (("send", SendCall), ("recv", RecvCall)):
            if way in data:
                parts = _list(data, way, 3)
                if len(parts) != 3 or not all(isinstance(one, str) for one in parts):
                    raise FormatError(f"a {way} needs source, destination and tensor")
                made = data.get("type")
                call: Call = kind(Transfer(*parts), NOTHING if made is None else read_type(made))
                return call
        if "flow" not in data:
            return read_call(data)
        name = data["flow"]
        maker = _FLOWS.get(name) if isinstance(name, str) else None
        if maker is None:
            raise FormatError(f"there is no primitive {str(name)[:40]!r}")
        number = read_whole(data.get("number", 0), 0, _NODES, "a loop variable")
        frame = read_whole(data.get("frame", -1), -1, len(self._frames) - 1, "a frame")
        found = None if frame < 0 else self._frames[frame]
        if found is None and maker in _LOOPS:
            raise FormatError(f"{name} needs its frame")
        return maker(found, number, data.get("constant") is True)

    def _edge(self, data: object) -> Edge:
        number, index = _pair(data, "an edge")
        node = self._at(number)
        return Edge(node, read_whole(index, 0, node.num_outputs - 1, f"an output of {node.name!r}"))

    def _at(self, number: object) -> Node:
        return self._nodes[read_whole(number, 0, len(self._nodes) - 1, "a node that came before")]

    def _number(self, data: object) -> Any:
        if isinstance(data, dict) and data.keys() == {"host"}:
            return self._hosts[read_whole(data["host"], 0, len(self._hosts) - 1, "a number")]
        return _float(data)


_Maker = Callable[[Any, int, bool], FlowCall]


def _enter(frame: Any, number: int, constant: bool) -> FlowCall:
    return EnterCall(frame, constant)


def _exit(frame: Any, number: int, constant: bool) -> FlowCall:
    return ExitCall(frame)


def _loop_cond(frame: Any, number: int, constant: bool) -> FlowCall:
    return LoopCondCall(frame)


def _next(frame: Any, number: int, constant: bool) -> FlowCall:
    return NextIterationCall(frame, number)


_LOOPS: Final[tuple[_Maker, ...]] = (_enter, _exit, _loop_cond, _next)
_FLOWS: Final[Mapping[str, _Maker]] = {
    SWITCH.name: lambda frame, number, constant: SWITCH,
    PIVOT.name: lambda frame, number, constant: PIVOT,
    MergeCall.name: lambda frame, number, constant: MergeCall(frame, number),
    EnterCall.name: _enter,
    ExitCall.name: _exit,
    LoopCondCall.name: _loop_cond,
    NextIterationCall.name: _next,
}


def _fields(data: object, what: str) -> Mapping[str, object]:
    if isinstance(data, dict):
        return data
    raise FormatError(f"{what} must be an object, got {str(data)[:40]}")


def _list(data: Mapping[str, object], name: str, most: int) -> list[Any]:
    found = data.get(name, [])
    if isinstance(found, list) and len(found) <= most:
        return found
    raise FormatError(f"{name} must be a list of {most} at most, got {str(found)[:40]}")


def _pair(data: object, what: str) -> tuple[Any, Any]:
    if isinstance(data, list) and len(data) == 2:
        return data[0], data[1]
    raise FormatError(f"{what} must be a pair, got {str(data)[:40]}")


def _text(data: Mapping[str, object], name: str) -> str:
    found = data.get(name)
    if isinstance(found, str) and len(found) <= _TEXT:
        return found
    raise FormatError(f"{name} must be a text, got {str(found)[:40]}")


def _line(data: Mapping[str, object]) -> tuple[str, int] | None:
    """Returns the user's line that made a node, if it is known."""
    if "line" not in data:
        return None
    file, number = _pair(data["line"], "a line")
    if not isinstance(file, str) or len(file) > _TEXT:
        raise FormatError("a line needs the name of its file")
    return file, read_whole(number, 0, 1 << 31, "a line")


def _float(data: object) -> float:
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        return float(data)
    if isinstance(data, str) and len(data) < 40:
        try:
            return float(data)
        except ValueError:
            pass
    raise FormatError(f"a number must be one, got {str(data)[:40]}")
