"""Reads graphs from the text that `to_text` writes, and tells whether two graphs are alike."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any, Final

from hybridnet.base.errors import FormatError, MXNetError
from hybridnet.ops.core import MAKERS, Call, VjpCall, vjp_call
from hybridnet.ops.core.registry import REGISTRY

from .gradient import REROUTED
from .node import Edge, Graph, Node, variable

_LINE: Final = re.compile(r"%(?P<number>\d+) = (?P<value>.*?)(?: : (?P<types>\w+\[[^'\"]*))?")
# Strings are kept apart, so that only references to lines are found.
_REFERENCE: Final = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|%(\d+)")
_VALUE: Final = "_value_"


def parse(text: str) -> Graph:
    """Reads a graph that `to_text` wrote.

    Raises:
        FormatError: the text is none; the message gives the line.
    """
    nodes: list[Node] = []
    inputs: list[Node] = []
    targets: tuple[Node, ...] = ()
    lines = text.split("\n")
    for count, line in enumerate(lines, 1):
        try:
            if line.startswith("return "):
                if any(rest.strip() for rest in lines[count:]):
                    raise FormatError("nothing may follow 'return'")
                outputs = _python(f"[{line.removeprefix('return ')}]")
                edges = tuple(_edge(output, nodes) for output in outputs.elts)
                graph = Graph(tuple(inputs), edges, targets)
                graph.verify()
                return graph
            if line.startswith("run "):
                targets = _listed(_python(f"[{line.removeprefix('run ')}]"), nodes)
                continue
            if not line.strip():
                continue
            found = _LINE.fullmatch(line)
            if found is None or int(found["number"]) != len(nodes):
                raise FormatError(f"must begin with '%{len(nodes)} = ', got {line[:40]!r}")
            node = _node(_python(found["value"]), nodes)
            nodes.append(node)
            if node.is_variable:
                inputs.append(node)
        except (MXNetError, AttributeError, TypeError, ValueError, RecursionError) as error:
            raise FormatError(f"graph text, line {count}: {error}") from error
    raise FormatError("graph text: the last line must be 'return ...', and there is none")


def _python(text: str) -> Any:
    """Returns the syntax tree of an expression with references."""
    plain = _REFERENCE.sub(lambda m: m[0] if m[1] is None else f"{_VALUE}{m[1]}", text)
    try:
        return ast.parse(plain, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FormatError(f"must be an expression, got {text[:80]!r}") from error


def _listed(tree: Any, nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Returns the nodes that a list of references to lines stands for."""
    if not isinstance(tree, ast.List):
        raise FormatError(f"must be a list like [%0], got {ast.unparse(tree)[:40]!r}")
    return tuple(_line(element, nodes) for element in tree.elts)


def _edge(tree: object, nodes: Sequence[Node]) -> Edge:
    index = 0
    if isinstance(tree, ast.Subscript):
        index = ast.literal_eval(tree.slice)
        tree = tree.value
    node = _line(tree, nodes)
    if not isinstance(index, int) or not 0 <= index < node.num_outputs:
        raise FormatError(f"%{nodes.index(node)} has {node.num_outputs} outputs, got [{index}]")
    return Edge(node, index)


def _line(tree: Any, nodes: Sequence[Node]) -> Node:
    if not isinstance(tree, ast.Name) or not tree.id.startswith(_VALUE):
        raise FormatError(f"operands must be references like %0, got {ast.unparse(tree)[:40]!r}")
    number = int(tree.id.removeprefix(_VALUE))
    if number >= len(nodes):
        raise FormatError(f"%{number} is not there yet")
    return nodes[number]


def _node(tree: Any, nodes: Sequence[Node]) -> Node:
    if not isinstance(tree, ast.Call):
        raise FormatError(f"must apply an operator, got {ast.unparse(tree)[:40]!r}")
    given = [keyword for keyword in tree.keywords if keyword.arg == "controls"]
    tree.keywords = [keyword for keyword in tree.keywords if keyword.arg != "controls"]
    controls = _listed(given[0].value, nodes) if given else ()
    keywords = _keywords(tree)
    attrs = keywords.pop("attrs", {})
    if not isinstance(attrs, dict) or not all(
        isinstance(part, str) for item in attrs.items() for part in item
    ):
        raise FormatError(f"attrs must be a dict of strings, got {attrs!r}")
    if isinstance(tree.func, ast.Name) and tree.func.id == "input":
        name = ast.literal_eval(tree.args[0]) if len(tree.args) == 1 else None
        if not isinstance(name, str) or keywords or controls:
            raise FormatError("an input must be input('name') or input('name', attrs={...})")
        return variable(name, attrs)
    operands = tuple(_edge(operand, nodes) for operand in tree.args)
    name = keywords.pop("name", None)
    if isinstance(tree.func, ast.Call):
        call: Call = _gradient_call(tree.func)
        scalars = tuple(float(scalar) for scalar in keywords.pop("scalars", ()))
        if keywords:
            raise FormatError(f"a gradient takes no parameters, got {', '.join(keywords)}")
    else:
        call, scalars = _operator_call(tree.func, keywords)
    name = call.name if name is None else str(name)
    return Node(call, operands, name, scalars, attrs, controls=controls)


def _keywords(tree: ast.Call) -> dict[str, Any]:
    found = {}
    for keyword in tree.keywords:
        if keyword.arg is None:
            raise FormatError("** is not understood here")
        found[keyword.arg] = ast.literal_eval(keyword.value)
    return found


def _operator_call(function: Any, keywords: dict[str, Any]) -> tuple[Call, tuple[Any, ...]]:
    name = ast.unparse(function)
    if name == REROUTED.name and not keywords:
        return REROUTED, ()
    if name in MAKERS:
        return MAKERS[name](**keywords), ()
    op = REGISTRY.get(name)
    if op is None:
        raise FormatError(f"there is no operator {name!r}")
    train = keywords.pop("train", None)
    return op.bind(keywords, train)


def _gradient_call(tree: ast.Call) -> VjpCall:
    name = ast.unparse(tree.func)
    if name != "vjp" or len(tree.args) != 1 or not isinstance(tree.args[0], ast.Call):
        raise FormatError("a gradient must be vjp(operator(...), wanted=(...), given=(...))")
    inner = tree.args[0]
    keywords = _keywords(tree)
    if keywords.keys() != {"wanted", "given"}:
        raise FormatError("vjp must have wanted=(...) and given=(...)")
    of: Call
    if isinstance(inner.func, ast.Name) and inner.func.id == "vjp":
        of = _gradient_call(inner)
    else:
        of, _ = _operator_call(inner.func, _keywords(inner))
    return vjp_call(of, _numbers(keywords["wanted"]), _numbers(keywords["given"]))


def _numbers(value: object) -> tuple[int, ...]:
    if isinstance(value, tuple) and all(
        isinstance(number, int) and number >= 0 for number in value
    ):
        return value
    raise FormatError(f"wanted and given must be tuples of numbers, got {value!r}")
