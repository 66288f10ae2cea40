"""Lab 2: what is to hold of the gradient of a graph, tried on small graphs of whole numbers.

The operators are made here, and computed with Python's integers, so that nothing is rounded. The
gradients that are compared with are forward ones: how much each result changes with a variable,
from the variable to the outputs, where the part goes from the outputs to the variables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from hybridnet.graph import Edge, GradientRules, Graph, Node, variable
from hybridnet.ops.core import Arrays, Backward, Call, Types

from ...checking import Check, Wrong

_VARIABLES: Final = "xyz"
#: What comes to the input of a loss, whatever is above it.
_OWN: Final = 5
#: Nodes of the two chains: a gradient that goes all ways one by one does not come to an end of the
#: first, and one that calls itself for each node is too deep for the second.
_DOUBLED: Final = 40
_DEEP: Final = 3000

_T = TypeVar("_T")


class _NumberOperator(Call):
    """An operator on whole numbers.

    Args:
        name: of it.
        compute: from numbers to numbers.
        rule: its gradient rule; None: it has none.
        is_loss: whether the rule does without the gradient of the output.
    """

    name = ""

    def __init__(
        self,
        name: str,
        compute: Callable[..., Sequence[int]],
        rule: Callable[[Backward], Sequence[Any]] | None = None,
        num_outputs: int = 1,
        is_loss: bool = False,
    ) -> None:
        super().__init__(num_outputs)
        self.name = name
        self._compute = compute
        self._rule = rule
        self._is_loss = is_loss

    @property
    def no_gradient(self) -> str:
        return "" if self._rule else "stopping the gradient is what it is for"

    @property
    def own_gradients(self) -> Collection[int]:
        return (0,) if self._is_loss else ()

    def infer(self, types: Types) -> Types:
        return types[:1] * self.num_outputs

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        return list(self._compute(*operands))

    def gradient(self, back: Backward) -> Sequence[Any]:
        assert self._rule is not None
        return self._rule(back)


def _of_product(back: Backward) -> Sequence[Any]:
    (x, y), (grad,) = back.inputs, back.grads
    return [back.apply(_MUL, [grad, y])[0], back.apply(_MUL, [grad, x])[0]]


def _of_both(back: Backward) -> Sequence[Any]:
    first, second = back.grads
    if first is None:
        return [second, back.apply(_NEGATE, [second])[0]]
    if second is None:
        return [first, first]
    return [back.apply(_ADD, [first, second])[0], back.apply(_SUB, [first, second])[0]]


_ADD: Final = _NumberOperator(
    "+", lambda x, y: [x + y], lambda back: [back.grads[0], back.grads[0]]
)
_SUB: Final = _NumberOperator(
    "-",
    lambda x, y: [x - y],
    lambda back: [back.grads[0], back.apply(_NEGATE, [back.grads[0]])[0]],
)
_MUL: Final = _NumberOperator("*", lambda x, y: [x * y], _of_product)
_NEGATE: Final[_NumberOperator] = _NumberOperator(
    "negate", lambda x: [-x], lambda back: [back.apply(_NEGATE, [back.grads[0]])[0]]
)
_BOTH: Final = _NumberOperator("both", lambda x, y: [x + y, x - y], _of_both, num_outputs=2)
_STOP: Final = _NumberOperator("stop", lambda x: [x])
_FIVE: Final = _NumberOperator("five", lambda x: [_OWN])
_LOSS: Final = _NumberOperator(
    "loss", lambda x: [x], lambda back: [back.apply(_FIVE, [back.inputs[0]])[0]], is_loss=True
)
_OPERATORS: Final = {op.name: op for op in (_ADD, _SUB, _MUL, _NEGATE, _BOTH, _STOP, _LOSS)}
_REMARKS: Final = {
    "both": "(the sum and the difference)",
    "stop": "(the same number; no gradient)",
    "loss": f"(the same number; its input's gradient is {_OWN})",
}


@dataclass(frozen=True)
class _ExpressionLine:
    """A line of an expression, which becomes one node: names = op(operands)."""

    names: tuple[str, ...]
    op: str
    operands: tuple[str, ...]

    def __str__(self) -> str:
        if len(self.op) == 1:
            return f"{self.names[0]} = {self.operands[0]} {self.op} {self.operands[1]}"
        text = f"{', '.join(self.names)} = {self.op}({', '.join(self.operands)})"
        return f"{text:20} {_REMARKS.get(self.op, '')}".rstrip()


@dataclass(frozen=True)
class _Expressions:
    """A graph as lines.

    Attributes:
        values: of the variables.
        lines: the nodes.
        outputs: the names of results, and for each its gradient; None where none is given.
        wanted: names of variables.
    """

    values: Mapping[str, int]
    lines: Sequence[_ExpressionLine]
    outputs: Sequence[tuple[str, int | None]]
    wanted: Sequence[str]

    def __str__(self) -> str:
        lines = [f"{name} = {value}" for name, value in self.values.items()]
        lines += map(str, self.lines)
        lines.append("outputs: " + ", ".join(f"{name} ({_told(g)})" for name, g in self.outputs))
        return "\n".join([*lines, f"wanted: {', '.join(self.wanted)}"])

    def cut(self, wanted: Sequence[str]) -> _Expressions:
        """Returns it for some wanted variables, without the lines that no output depends on."""
        used = {name for name, _ in self.outputs}
        lines = []
        for line in reversed(self.lines):
            if used & {*line.names}:
                used.update(line.operands)
                lines.append(line)
        values = {name: value for name, value in self.values.items() if name in {*used, *wanted}}
        return _Expressions(values, lines[::-1], self.outputs, wanted)

    def built(self) -> _BuiltExpressions:
        edges = {name: Edge(variable(name), 0) for name in self.values}
        inputs = tuple(edge.node for edge in edges.values())
        for line in self.lines:
            operands = tuple(edges[name] for name in line.operands)
            node = Node(_OPERATORS[line.op], operands, line.names[0])
            edges |= {name: Edge(node, index) for index, name in enumerate(line.names)}
        heads = {
            index: Edge(variable(f"grad_of_output{index}"), 0)
            for index, (_, grad) in enumerate(self.outputs)
            if grad is not None
        }
        graph = Graph(inputs, tuple(edges[name] for name, _ in self.outputs))
        known = [*self.values.values(), *(g for _, g in self.outputs if g is not None)]
        given = [*inputs, *(edge.node for edge in heads.values())]
        wanted = [edges[name].node for name in self.wanted]
        return _BuiltExpressions(graph, wanted, heads, dict(zip(given, known, strict=True)))

    def gradient(self, wanted: str) -> int | None:
        """Returns how much the outputs change with a variable; None where they do not depend."""
        value: dict[str, int] = dict(self.values)
        change: dict[str, int | None] = dict.fromkeys(self.values)
        change[wanted] = 1
        terms = []
        reached = self._reached()
        for line in self.lines:
            x, *others = line.operands
            dx = change[x]
            if line.op == "loss" and reached & {*line.names} and dx is not None:
                terms.append(_OWN * dx)
            if line.op in ("stop", "loss"):
                found: list[int | None] = [None]
            elif line.op == "negate":
                found = [None if dx is None else -dx]
            else:
                y, dy = value[others[0]], change[others[0]]
                if line.op == "*":
                    found = [_sum(_times(y, dx), _times(value[x], dy))]
                else:
                    signs = {"+": (1,), "-": (-1,), "both": (1, -1)}[line.op]
                    found = [_sum(dx, _times(sign, dy)) for sign in signs]
            change |= zip(line.names, found, strict=True)
            results = _OPERATORS[line.op].lower("", [value[name] for name in line.operands], ())
            value |= zip(line.names, results, strict=True)
        terms += [
            d * grad for name, grad in self.outputs if grad and (d := change[name]) is not None
        ]
        return sum(terms) if terms else None

    def _reached(self) -> set[str]:
        """Returns the results that outputs with a gradient depend on."""
        reached = {name for name, grad in self.outputs if grad is not None}
        for line in reversed(self.lines):
            if reached & {*line.names}:
                reached.update(line.operands)
        return reached


@dataclass(frozen=True)
class _BuiltExpressions:
    """The graph that the part is given, with what is asked of it, and the values of variables."""

    graph: Graph
    wanted: list[Node]
    heads: dict[int, Edge]
    values: dict[Node, int]


def _told(grad: int | None) -> str:
    return "without a gradient" if grad is None else f"gradient {grad}"


def _times(factor: int, change: int | None) -> int | None:
    return None if change is None else factor * change


def _sum(first: int | None, second: int | None) -> int | None:
    return (first or 0) + (second or 0) if (first, second) != (None, None) else None


@st.composite
def _expressions(
    draw: Any, ops: Sequence[str] = "+*-", *, once: bool = False, every: bool = False
) -> _Expressions:
    """Draws examples.

    Args:
        ops: the operators.
        once: each result is read once.
        every: variables may be outputs, the same may be an output twice and wanted twice, outputs
            may have no gradient, and variables may be wanted that nothing depends on.
    """
    values = {name: draw(st.integers(2, 5)) for name in _VARIABLES[: draw(st.integers(1, 3))]}
    ready = list(values)
    lines: list[_ExpressionLine] = []
    names = iter("abcdefghijklmn")

    def operand() -> str:
        return _taken(ready, draw(st.integers(0, len(ready) - 1)), once)

    for op in draw(st.lists(st.sampled_from([*ops]), min_size=1, max_size=6)):
        count = 1 if op in ("negate", "stop", "loss") else 2
        if once and len(ready) < count:
            break
        operands = tuple(operand() for _ in range(count))
        made = tuple(next(names) for _ in range(_OPERATORS[op].num_outputs))
        lines.append(_ExpressionLine(made, op, operands))
        ready += made
    results = [name for line in lines for name in line.names]
    if once or not results:
        chosen = [ready[-1]]
    else:
        places = st.sampled_from([*results[::-1], *values] if every else results[::-1])
        chosen = draw(st.lists(places, min_size=1, max_size=3, unique=not every))
    grads = st.one_of(st.integers(1, 3), st.none()) if every else st.integers(1, 3)
    outputs = [(name, draw(grads)) for name in chosen]
    example = _Expressions(values, lines, outputs, [])
    if every:
        wanted = draw(st.lists(st.sampled_from([*values]), min_size=1, max_size=3))
    else:
        wanted = [name for name in values if example.gradient(name) is not None]
    return example.cut(wanted)


def _taken(items: list[_T], index: int, once: bool) -> _T:
    return items.pop(index) if once else items[index]


class _WatchedRules:
    """The rules that the part asks, which note what it asks for."""

    def __init__(self, built: _BuiltExpressions) -> None:
        self._rules = GradientRules(built.graph, built.heads)
        self._names = {node: node.name for node in built.graph.nodes}
        self._needed = {*built.wanted}
        for node in built.graph.nodes:
            if any(edge.node in self._needed for edge in node.inputs):
                self._needed.add(node)
        self.asked: set[Node] = set()
        #: The first thing that nobody wants and that was asked for, as what is wrong.
        self.needless: Wrong | None = None

    def backward(
        self, node: Node, grads: Sequence[Edge | None], asked: Sequence[bool]
    ) -> list[Edge | None]:
        found = self._rules.backward(node, grads, asked)
        if node not in self._names:
            raise Wrong("foreign", node=node.title)
        if node in self.asked:
            raise Wrong("again", node=self._names[node])
        self.asked.add(node)
        for edge, want in zip(node.inputs, asked, strict=True):
            if want and edge.node not in self._needed and self.needless is None:
                self.needless = Wrong("needless", node=node.name, input=edge.node.name)
        return found

    def add(self, of: Edge, first: Edge, second: Edge) -> Edge:
        return self._rules.add(of, first, second)

    def begins(self, node: Node) -> bool:
        return self._rules.begins(node)


def _asked(part: Any, built: _BuiltExpressions) -> tuple[list[Edge | None], _WatchedRules]:
    """Returns what the part answers, which has the right form, and what it asked for."""
    rules = _WatchedRules(built)
    found = part.gradients(built.graph, built.wanted, built.heads, rules)
    if not isinstance(found, list):
        raise Wrong("no_list", answer=repr(found))
    if len(found) != len(built.wanted):
        raise Wrong("length", count=len(found), wanted=len(built.wanted))
    for item in found:
        if item is not None and not _is_edge(item):
            raise Wrong("no_edge", answer=repr(item))
    return found, rules


def _is_edge(item: object) -> bool:
    if not isinstance(item, Edge) or not isinstance(item.node, Node):
        return False
    return isinstance(item.index, int) and 0 <= item.index < item.node.num_outputs


def _is_right(part: Any, example: _Expressions) -> None:
    built = example.built()
    found, _ = _asked(part, built)
    for name, edge in zip(example.wanted, found, strict=True):
        wanted = example.gradient(name)
        if wanted is None and edge is not None:
            raise Wrong("not_none", variable=name, formula=_formula(edge))
        if wanted is not None and edge is None:
            raise Wrong("none", variable=name, wanted=wanted)
        if edge is not None:
            value = _value(edge, built)
            if value != wanted:
                raise Wrong(
                    "value", variable=name, wanted=wanted, found=value, formula=_formula(edge)
                )


def _value(edge: Edge, built: _BuiltExpressions) -> int:
    values = {Edge(node, 0): value for node, value in built.values.items()}
    for node in Graph((), (edge,)).nodes:
        if node.call is None:
            if node not in built.values:
                raise Wrong("foreign", node=node.title)
            continue
        operands = [values[one] for one in node.inputs]
        if isinstance(node.call, _NumberOperator):
            results = node.call.lower("", operands, ())
        else:  # sums and zeros, which the framework adds
            results = [sum(operands) if len(operands) > 1 else 0]
        values |= {Edge(node, index): value for index, value in enumerate(results)}
    return values[edge]


def _formula(edge: Edge, depth: int = 5) -> str:
    """Writes what an edge computes from variables and results, as far as it fits into a line."""
    node = edge.node
    if node.call is None or node.name not in ("broadcast_add", *_OPERATORS):
        return node.name
    if not depth:
        return "..."
    operands = [_formula(one, depth - 1) for one in node.inputs]
    sign = {"broadcast_add": "+"}.get(node.name, node.name)
    text = f" {sign} ".join(operands) if len(operands) == 2 else f"{sign} {operands[0]}"
    return f"({text})" if len(text) < 60 else "..."


def _asks_no_more(part: Any, example: _Expressions) -> None:
    _, rules = _asked(part, example.built())
    if rules.needless is not None:
        raise rules.needless


def _goes_deep(part: Any) -> None:
    doubled = [_ExpressionLine((f"y{i}",), "+", (f"y{i - 1}",) * 2) for i in range(1, _DOUBLED + 1)]
    _is_right(part, _Expressions({"y0": 1}, doubled, [(f"y{_DOUBLED}", 1)], ["y0"]))
    deep = [_ExpressionLine((f"y{i}",), "negate", (f"y{i - 1}",)) for i in range(1, _DEEP + 1)]
    _is_right(part, _Expressions({"y0": 1}, deep, [(f"y{_DEEP}", 1)], ["y0"]))


CHECKS: Final = (
    Check("once", _is_right, _expressions(once=True)),
    Check("several", _is_right, _expressions()),
    Check("parts", _is_right, _expressions(("both", "*"))),
    Check("none", _is_right, _expressions(("stop", "*", "+"), every=True)),
    Check("losses", _is_right, _expressions(("loss", "stop", "*"), every=True), tries=500),
    Check("no_more", _asks_no_more, _expressions(("*", "+", "both"), every=True)),
    Check("deep", _goes_deep),
)
