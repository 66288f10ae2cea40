"""Graphs as text that people read, and that `parse` reads back to an equal graph.

    %0 = input('data') : float32[4,3]
    %1 = input('fc_weight', attrs={'__lr_mult__': '2'}) : float32[8,3]
    %2 = FullyConnected(%0, %1, num_hidden=8, no_bias=True, name='fc') : float32[4,8]
    %3 = BatchNorm(%2, ...)[5] : ...
    %4 = _no_op(controls=[%3], name='step')
    run %4
    return %2, %3[1]

A line is a Python expression in which ``%n`` stands for line n and ``%n[i]`` for its output i.
Parameters at their defaults are left out, and so is a name that is the operator's; types are there
for readers. ``train=True`` says that a call is in a training pass, and ``vjp(dot(...), wanted=(0,),
given=(0,))`` is the gradient of a call with respect to some inputs, from some outputs' gradients.
``controls`` must have run before; what stands after ``run`` runs though nothing reads it.
A number that a traced function asks Python for at each call is shown as ``<from Python>``, which
does not read back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from hybridnet.base.attrs import HostScalar
from hybridnet.ops.core import Call, OpCall, Types, VjpCall

from .attributes import parameters_of
from .node import Edge, Graph, Node

# The column in which comments stand, at most.
_COMMENTS: Final = 72


def to_text(
    graph: Graph,
    types: Mapping[Node, Types] | None = None,
    *,
    order: Sequence[Node] = (),
    notes: Mapping[Node, str] | None = None,
) -> str:
    """Writes a graph as text.

    Args:
        types: of its nodes, where known, to be shown.
        order: nodes that are written before others, each after its inputs; also such as no output
            depends on.
        notes: on nodes, for readers: a comment at the end of the line.
    """
    numbers: dict[Node, int] = {}
    lines: list[str] = []
    comments: dict[int, str] = {}
    for node in dict.fromkeys((*graph.inputs, *order, *graph.nodes)):
        numbers[node] = len(numbers)
        line = f"%{numbers[node]} = {_expression(node, numbers)}"
        if types is not None and node in types:
            line += f" : {', '.join(map(str, types[node]))}"
        if notes is not None and node in notes:
            comments[len(lines)] = notes[node]
        lines.append(line)
    width = min(_COMMENTS, max((len(lines[at]) for at in comments), default=0))
    for at, comment in comments.items():
        lines[at] = f"{lines[at]:<{width}}  # {comment}"
    if graph.targets:
        lines.append("run " + ", ".join(f"%{numbers[node]}" for node in graph.targets))
    lines.append("return " + ", ".join(_reference(edge, numbers) for edge in graph.outputs))
    return "\n".join(lines) + "\n"


def _reference(edge: Edge, numbers: Mapping[Node, int]) -> str:
    suffix = f"[{edge.index}]" if edge.index else ""
    return f"%{numbers[edge.node]}{suffix}"


def _expression(node: Node, numbers: Mapping[Node, int]) -> str:
    attrs = [f"attrs={dict(node.attrs)!r}"] if node.attrs else []
    if node.controls:
        attrs.append(f"controls=[{', '.join(f'%{numbers[control]}' for control in node.controls)}]")
    call = node.call
    if call is None:
        return f"input({', '.join([repr(node.name), *attrs])})"
    operands = [_reference(edge, numbers) for edge in node.inputs]
    name = [] if node.name == call.name else [f"name={node.name!r}"]
    if isinstance(call, VjpCall):
        scalars = [f"scalars=[{', '.join(map(_literal, node.scalars))}]"] if node.scalars else []
        return f"{_gradient(call)}({', '.join([*operands, *scalars, *name, *attrs])})"
    params = [f"{key}={_literal(value)}" for key, value in parameters_of(node).items()]
    params += _mode(call)
    return f"{call.name}({', '.join([*operands, *params, *name, *attrs])})"


def _mode(call: Call) -> list[str]:
    if isinstance(call, OpCall) and call.train is not None:
        return [f"train={call.train}"]
    return []


def _gradient(call: VjpCall) -> str:
    of = call.of
    if isinstance(of, VjpCall):
        inner = _gradient(of)
    else:
        attrs = of.attrs if isinstance(of, OpCall) else {}
        params = [f"{key}={_literal(value)}" for key, value in attrs.items()]
        inner = f"{of.name}({', '.join([*params, *_mode(of)])})"
    return f"vjp({inner}, wanted={call.wanted}, given={call.given})"


def _literal(value: object) -> str:
    if isinstance(value, HostScalar):
        return "<from Python>"
    # Infinity and NaN are no Python literals; operators read them from strings too.
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return repr(str(value))
    if isinstance(value, tuple):
        return f"({''.join(_literal(part) + ', ' for part in value)[:-1]})"
    return repr(value)


Graph.write = to_text
