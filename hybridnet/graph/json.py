"""Graphs in MXNet's JSON: what MXNet 1.9 and older ones saved loads, and MXNet 1.9 loads ours.

A file lists the nodes, each with the name of its operator (``null`` for a variable), its
attributes as text, and its inputs as ``[node, output, version]``; ``heads`` are the outputs in the
same form, and ``control_deps`` the numbers of the nodes that must have run before one. Until
version 1.0 the attributes were called ``attr``, and before 0.9 operator parameters stood apart in
``param`` and auxiliary states were not listed as inputs.

Nothing in a file is trusted: whatever it holds, reading gives a graph or a FormatError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from hybridnet.base.errors import FormatError, GraphError, MXNetError
from hybridnet.base.numpy_mode import mode
from hybridnet.ops.core import UNKNOWN, CustomCall, OpCall, Operator, check_input_count, custom_call
from hybridnet.ops.core.registry import REGISTRY

from . import control_json
from .attributes import HIDDEN, attributes_of, stored_name
from .node import Edge, Node, topological, variable
from .subgraph import ControlCall

# The version we write as: files of MXNet 1.9.1.
_VERSION: Final = 10901
# The first one that lists auxiliary states as inputs.
_LISTS_STATES: Final = 900


def dumps(outputs: Sequence[Edge]) -> str:
    """Writes a graph as MXNet's JSON.

    Raises:
        GraphError: a node applies something that has no name in such files.
    """
    graph = _listed(outputs)
    read_as_numpy = {"is_np_shape": ["int", 1]} if mode.shape else {}
    graph["attrs"] = {**read_as_numpy, "mxnet_version": ["int", _VERSION]}
    return json.dumps(graph, indent=2)


def _listed(outputs: Sequence[Edge]) -> dict[str, Any]:
    """Returns the lists of a graph, as files have them."""
    nodes = topological(outputs)
    ids = {node: index for index, node in enumerate(nodes)}
    versions: dict[Node, int] = {}
    rows = [0]
    listed = []
    for node in nodes:
        entry: dict[str, object] = {"op": _name_of(node), "name": node.name}
        attrs = attributes_of(node)
        if isinstance(node.call, ControlCall):
            inside = control_json.subgraphs(node)
            attrs |= control_json.attributes(node, inside)
            entry["subgraphs"] = [_listed(graph.outputs) for graph in inside]
        if attrs:
            entry["attrs"] = dict(sorted(attrs.items()))
        updated = node.call.mutates if node.call is not None else {}
        for index in updated:
            source = node.inputs[index].node
            versions[source] = versions.get(source, 0) + 1
        entry["inputs"] = [
            [ids[edge.node], edge.index, versions.get(edge.node, 0)] for edge in node.inputs
        ]
        if node.controls:
            entry["control_deps"] = [ids[control] for control in node.controls]
        listed.append(entry)
        rows.append(rows[-1] + _num_listed(node))
    return {
        "nodes": listed,
        "arg_nodes": [index for index, node in enumerate(nodes) if node.is_variable],
        "node_row_ptr": rows,
        "heads": [[ids[edge.node], edge.index, 0] for edge in outputs],
    }


def _name_of(node: Node) -> str:
    if node.call is None:
        return "null"
    if isinstance(node.call, OpCall):
        return node.call.operator.name
    if isinstance(node.call, (ControlCall, CustomCall)):
        return node.call.name
    raise GraphError(
        f"node {node.name!r} applies {node.call.name}, which is no operator that a symbol file can "
        "name; save the symbol it was derived from instead"
    )


def _num_listed(node: Node) -> int:
    """Returns how many outputs MXNet counts: no random state, and no new auxiliary states."""
    if node.call is None:
        return 1
    return node.call.num_outputs - node.call.takes_state - len(node.call.mutates)


def loads(text: str | bytes) -> tuple[Edge, ...]:
    """Reads a graph from MXNet's JSON.

    Returns:
        Its outputs.

    Raises:
        FormatError: it is no JSON, is incomplete, names an operator that does not exist or gives
            one parameters it does not take, or has a cycle; the message names the node.
    """
    try:
        graph = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"symbol JSON: the text must be JSON: {error}") from error
    try:
        return _read(graph, None)
    except RecursionError as error:
        raise FormatError("symbol JSON: subgraphs are nested too deep") from error


class _Source(NamedTuple):
    """Whence a graph is: the file's version, and whether 0 is an unknown dimension in it alone.

    That is where shapes are NumPy's now and were not when the file was written.
    """

    version: int
    zero_is_unknown: bool


def _source(graph: Mapping[str, Any]) -> _Source:
    attrs = graph.get("attrs")
    as_numpy = isinstance(attrs, dict) and "is_np_shape" in attrs
    return _Source(_version(graph), mode.shape and not as_numpy)


def _read(graph: Any, source: _Source | None) -> tuple[Edge, ...]:
    """Reads a graph, or a subgraph of a file from this source."""
    if not isinstance(graph, dict):
        raise FormatError(f"symbol JSON: must be an object, got {_kind(graph)}")
    for key in ("nodes", "heads"):
        if not isinstance(graph.get(key), list):
            raise FormatError(f"symbol JSON: needs a list {key!r}, got {_kind(graph.get(key))}")
    reader = _Reader(graph["nodes"], _source(graph) if source is None else source)
    reader.read()
    heads = [reader.edge(head, f"head {number}") for number, head in enumerate(graph["heads"])]
    if not heads:
        raise FormatError("symbol JSON: needs at least one head, got none")
    return tuple(heads)


def _version(graph: Mapping[str, Any]) -> int:
    """Returns the version that wrote the file, such as 10901; 0 for those that did not say."""
    attrs = graph.get("attrs")
    stated = attrs.get("mxnet_version") if isinstance(attrs, dict) else None
    if stated is None:
        return 0
    if (
        isinstance(stated, list)
        and len(stated) == 2
        and isinstance(stated[1], int)
        and stated[1] >= 0
    ):
        return stated[1]
    raise FormatError(f"symbol JSON: mxnet_version must be like ['int', 10901], got {stated!r}")


class _Reader:
    """Makes the nodes of one file."""

    def __init__(self, listed: Sequence[Any], source: _Source) -> None:
        self.listed = listed
        self.source = source
        self.inputs: list[list[Any]] = []
        self.controls: list[list[int]] = []
        self.made: list[Node | None] = [None] * len(listed)

    def read(self) -> None:
        """Makes every node; inputs may be listed after the nodes that use them."""
        for number, entry in enumerate(self.listed):
            self.inputs.append(self._check(number, entry))
            self.controls.append(self._check_controls(number, entry))
        for number in range(len(self.listed)):
            self._make_from(number)

    def edge(self, entry: Any, where: str) -> Edge:
        """Returns the edge that ``[node, output]`` or ``[node, output, version]`` stands for."""
        number, index = self._reference(entry, where)
        node = self.made[number]
        assert node is not None
        hidden = node.call.takes_state if node.call is not None else 0
        if index >= node.num_outputs - hidden:
            raise FormatError(
                f"symbol JSON: {where} is output {index} of node {number} ({node.name!r}), which "
                f"has {node.num_outputs - hidden}"
            )
        return Edge(node, index)

    def _check(self, number: int, entry: Any) -> list[object]:
        """Checks the form of a node; returns its inputs as listed."""
        if not isinstance(entry, dict):
            raise FormatError(f"symbol JSON: node {number} must be an object, got {_kind(entry)}")
        for key in ("op", "name"):
            if not isinstance(entry.get(key), str):
                raise FormatError(
                    f"symbol JSON: node {number} needs a string {key!r}, got "
                    f"{_kind(entry.get(key))}"
                )
        inputs = entry.get("inputs", [])
        if not isinstance(inputs, list):
            raise FormatError(
                f"symbol JSON: inputs of node {number} must be a list, got {_kind(inputs)}"
            )
        for position, listed in enumerate(inputs):
            self._reference(listed, f"input {position} of node {number}")
        return inputs

    def _check_controls(self, number: int, entry: Mapping[str, Any]) -> list[int]:
        """Checks what must run before a node; returns the numbers of these nodes."""
        listed = entry.get("control_deps", [])
        if not isinstance(listed, list):
            raise FormatError(
                f"symbol JSON: control_deps of node {number} must be a list, got {_kind(listed)}"
            )
        where = f"a control_dep of node {number}"
        return [self._reference([node_id, 0], where)[0] for node_id in listed]

    def _reference(self, entry: Any, where: str) -> tuple[int, int]:
        if (
            isinstance(entry, list)
            and len(entry) in (2, 3)
            and all(isinstance(part, int) and not isinstance(part, bool) for part in entry)
            and 0 <= entry[0] < len(self.listed)
            and entry[1] >= 0
        ):
            return entry[0], entry[1]
        raise FormatError(
            f"symbol JSON: {where} must be [node, output] with a node from 0 to "
            f"{len(self.listed) - 1}, got {json.dumps(entry)[:80]}"
        )

    def _make_from(self, first: int) -> None:
        """Makes a node, and what it depends on before it."""
        stack: list[tuple[int, Iterator[int]]] = [(first, self._needs(first))]
        entered = {first}
        while stack:
            number, rest = stack[-1]
            if self.made[number] is not None:
                stack.pop()
                continue
            needed = next((i for i in rest if self.made[i] is None), None)
            if needed is None:
                made, before = self._make(number), self.controls[number]
                controls = tuple(control for i in before if (control := self.made[i]) is not None)
                self.made[number] = made.with_controls(controls)
                stack.pop()
            elif needed in entered:
                name = self.listed[needed]["name"]
                raise FormatError(
                    f"symbol JSON: the graph has a cycle through node {needed} ({name!r})"
                )
            else:
                entered.add(needed)
                stack.append((needed, self._needs(needed)))

    def _needs(self, number: int) -> Iterator[int]:
        """Returns the numbers of the nodes that a node comes after."""
        return iter([*(entry[0] for entry in self.inputs[number]), *self.controls[number]])

    def _make(self, number: int) -> Node:
        entry = self.listed[number]
        name = entry["name"]
        where = f"node {number} ({name!r})"
        attrs = _attributes(entry, where)
        inputs = [
            self.edge(entry, f"input {position} of {where}")
            for position, entry in enumerate(self.inputs[number])
        ]
        if entry["op"] == "null":
            if inputs:
                raise FormatError(f"symbol JSON: {where} is a variable and has inputs")
            kept = {stored_name(key): value for key, value in attrs.items()}
            if self.source.zero_is_unknown and "__shape__" in kept:
                kept["__shape__"] = re.sub(r"\b0\b", str(UNKNOWN), kept["__shape__"])
            return variable(name, kept)
        if entry["op"] in control_json.OPERATORS:
            return self._control(entry, where, attrs, inputs)
        if entry["op"] == "Custom":
            return self._custom(name, where, attrs, inputs)
        op = REGISTRY.get(entry["op"])
        if op is None:
            raise FormatError(
                f"symbol JSON: {where} applies operator {entry['op']!r}, which hybridnet does not "
                "have"
            )
        return self._apply(op, name, where, attrs, inputs)

    def _control(
        self, entry: Mapping[str, Any], where: str, attrs: dict[str, str], inputs: list[Edge]
    ) -> Node:
        listed = entry.get("subgraphs")
        if not isinstance(listed, list):
            raise FormatError(f"symbol JSON: {where} needs a list 'subgraphs', got {_kind(listed)}")
        inside = [_read(subgraph, self.source) for subgraph in listed]
        kept = {key: value for key, value in attrs.items() if key.startswith("__")}
        return control_json.read(entry["op"], entry["name"], where, attrs, inputs, inside, kept)

    def _custom(self, name: str, where: str, attrs: dict[str, str], inputs: list[Edge]) -> Node:
        kept = {key: value for key, value in attrs.items() if key.startswith("__")}
        params = {key: value for key, value in attrs.items() if key not in kept}
        try:
            call = custom_call(params.pop("op_type", None), params)
        except MXNetError as error:
            raise FormatError(f"symbol JSON: {where}: {error}") from error
        if len(inputs) != len(call.input_names):
            raise FormatError(
                f"symbol JSON: {where} must have {len(call.input_names)} inputs, got {len(inputs)}"
            )
        return Node(call, tuple(inputs), name, (), kept)

    def _apply(
        self, op: Operator, name: str, where: str, attrs: dict[str, str], inputs: list[Edge]
    ) -> Node:
        if op.variadic:
            attrs.pop("num_args", None)
        params = {key: value for key, value in attrs.items() if key in op.params}
        kept = {key: value for key, value in attrs.items() if key not in op.params}
        kept = _for_inputs(op, kept, inputs)
        unknown = {key: value for key, value in kept.items() if not key.startswith("__")}
        if op.params:
            params |= unknown  # refused by the operator, with its parameters listed
        try:
            call, scalars = op.bind(params)
            if not op.variadic and self.source.version < _LISTS_STATES:
                for missing in call.input_names()[len(inputs) :]:
                    inputs.append(Edge(variable(f"{name}_{missing}"), 0))
            check_input_count(call, len(inputs))
        except MXNetError as error:
            raise FormatError(f"symbol JSON: {where}: {error}") from error
        except (MemoryError, RecursionError) as error:
            raise FormatError(f"symbol JSON: {where}: a parameter is nested too deep") from error
        return Node(call, tuple(inputs), name, scalars, kept, written=params)


def _for_inputs(op: Operator, attrs: dict[str, str], inputs: Sequence[Edge]) -> dict[str, str]:
    """Stores the user's attributes as they are kept now.

    Old files hold ``lr_mult`` for ``__lr_mult__``, and ``weight_lr_mult`` at an operator for
    ``__lr_mult__`` at the variable that is its input ``weight``.
    """
    kept = {}
    for key, value in attrs.items():
        for hidden in HIDDEN:
            name = key.removesuffix(f"_{hidden}")
            if name != key and name in op.inputs[: len(inputs)]:
                source = inputs[op.inputs.index(name)].node
                if source.is_variable and isinstance(source.attrs, dict):
                    source.attrs.setdefault(stored_name(hidden), value)
                break
        else:
            kept[stored_name(key)] = value
    return kept


def _attributes(entry: Mapping[str, Any], where: str) -> dict[str, str]:
    """Returns a node's attributes, by whatever name its version kept them."""
    found: dict[str, str] = {}
    for key in ("param", "attr", "attrs"):
        attrs = entry.get(key)
        if attrs is None:
            continue
        if not isinstance(attrs, dict):
            raise FormatError(
                f"symbol JSON: {key} of {where} must be an object, got {_kind(attrs)}"
            )
        for name, value in attrs.items():
            if not isinstance(value, (str, int, float)):
                raise FormatError(
                    f"symbol JSON: attribute {name!r} of {where} must be a string, got "
                    f"{_kind(value)}"
                )
            found[name] = value if isinstance(value, str) else str(value)
    return found


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__
