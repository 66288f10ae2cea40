"""Rules' expressions, compiled to what matches and builds nodes.

An expression applies operators to variables::

    _mul_scalar(_mul_scalar(x, a), b)         transpose(transpose(x, axes=p), axes=q)

The operands come first; what follows are the numbers an operator takes (`a`, `b`), which are
matched only where they are known when the graph is made, and then parameters by keyword. On the
left side a name stands for anything, and for the same thing wherever it comes again; parameters
that are not mentioned must have their default values. On the right side, numbers and parameters
are Python expressions over what the names stand for (`Value` for operands), `result` for the whole
of the left side, `train` and `platform` of the context, and the functions of
`hybridnet.passes.conditions`; so is a rule's condition.

``add``, ``sub``, ``mul`` and ``div`` stand for every operator that computes it of two arrays;
operands of sums and products are tried in both orders.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from types import CodeType
from typing import Any, Final, final

from hybridnet.base.attrs import HostScalar
from hybridnet.base.errors import InternalError
from hybridnet.base.locks import free_in_children
from hybridnet.engine import RLock
from hybridnet.graph import Edge, Graph, Node
from hybridnet.ops.core import OpCall, Operator
from hybridnet.ops.core.registry import get

from .conditions import FUNCTIONS, Value
from .context import PassContext
from .rewrite import Rewriter, RewriteStep, indexed, op_name
from .rule import Rule

#: Held while rules are compiled: Python 3.11 takes fright ("AST constructor recursion depth
#: mismatch") when two threads parse at once, as two do that build their first programs.
_COMPILING: Final = free_in_children(RLock())
#: What computes the same of two arrays.
FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "add": ("elemwise_add", "broadcast_add", "_grad_add", "_npi_add"),
    "sub": ("elemwise_sub", "broadcast_sub", "_npi_subtract"),
    "mul": ("elemwise_mul", "broadcast_mul", "_npi_multiply"),
    "div": ("elemwise_div", "broadcast_div"),
}
#: f(x, y) is f(y, x), to the bit.
COMMUTATIVE: Final = frozenset({*FAMILIES["add"], *FAMILIES["mul"]})
# Parameters that change nothing in a graph whose types are known.
_IGNORED: Final = frozenset({"ctx", "is_int", "num_args", "forward_stype"})

_Bound = dict[str, Any]


@final
@dataclass(frozen=True, slots=True)
class _Name:
    """A name that stands for a number or the value of a parameter."""

    name: str


@final
@dataclass(frozen=True, slots=True)
class _Any:
    """A variable: any value, or the one it stands for already."""

    name: str

    def match(self, rewriter: Rewriter, edge: Edge, root: Node, bound: _Bound) -> bool:
        return bool(bound.setdefault(self.name, edge) == edge)

    def build(self, rewriter: Rewriter, root: Node, bound: _Bound, values: _Bound) -> Edge:
        edge: Edge = bound[self.name]
        return edge


@final
@dataclass(frozen=True, slots=True)
class _Apply:
    """An operator applied to expressions.

    Attributes:
        operators: any of these; the first is made, or the second where shapes differ.
        inputs: the operands.
        numbers: names, or values that the numbers must have, and code that computes them.
        attrs: names or values by parameter, and code.
        defaults: what the parameters that are not mentioned must be.
    """

    operators: tuple[str, ...]
    inputs: tuple[_Any | _Apply, ...]
    numbers: tuple[tuple[Any, CodeType], ...]
    attrs: Mapping[str, tuple[Any, CodeType]]
    defaults: Mapping[str, object]

    def match(self, rewriter: Rewriter, edge: Edge, root: Node, bound: _Bound) -> bool:
        node = edge.node
        if op_name(node) not in self.operators or edge.index:
            return False
        if len(node.inputs) != len(self.inputs):
            return False
        if node is not root and not rewriter.may_absorb(node, root):
            return False
        call = node.call
        assert type(call) is OpCall
        for name, default in self.defaults.items():
            if call.attrs.get(name, default) != default:
                return False
        for (wanted, _), number in zip(self.numbers, node.scalars, strict=False):
            if type(number) is HostScalar or not _fits(wanted, float(number), bound):
                return False
        for name, (wanted, _) in self.attrs.items():
            if not _fits(wanted, call.attrs[name], bound):
                return False
        for pattern, operand in zip(self.inputs, node.inputs, strict=True):
            if not pattern.match(rewriter, operand, root, bound):
                return False
        return True

    def build(
        self, rewriter: Rewriter, root: Node, bound: _Bound, values: _Bound, whole: bool = False
    ) -> Edge:
        inputs = [pattern.build(rewriter, root, bound, values) for pattern in self.inputs]
        operator = self.operators[0]
        if len(self.operators) > 1:
            operator = binary(self.operators, [rewriter.type(edge).shape for edge in inputs])
        numbers = [_evaluated(code, values) for _, code in self.numbers]
        attrs = {name: _evaluated(code, values) for name, (_, code) in self.attrs.items()}
        attrs.update(zip(get(operator).dynamic, map(float, numbers), strict=False))
        return rewriter.make(operator, inputs, attrs, of=root, whole=whole)


def binary(operators: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> str:
    """Returns the operator of a family for operands of these shapes."""
    return operators[0] if shapes[0] == shapes[-1] else operators[1]


def _fits(wanted: Any, value: Any, bound: _Bound) -> bool:
    if isinstance(wanted, _Name):
        wanted = bound.setdefault(wanted.name, value)
    # Compared as text: 0.0 is not -0.0, and NaN is NaN.
    return repr(float(wanted) if isinstance(value, float) else wanted) == repr(value)


def _evaluated(code: CodeType, values: _Bound) -> Any:
    # The code is that of a rule of the library, never a user's.
    return eval(code, FUNCTIONS, values)


def compiled(rule: Rule) -> RewriteStep:
    """Returns what applies a rule.

    Raises:
        InternalError: an expression is none.
    """
    with _COMPILING:
        return _compiled(rule)


@cache
def _compiled(rule: Rule) -> RewriteStep:
    before = [
        pattern for pattern in _orders(_read(rule, rule.before)) if isinstance(pattern, _Apply)
    ]
    after = _read(rule, rule.after)
    where = _code(ast.parse(rule.where, mode="eval").body) if rule.where else None

    def apply(rewriter: Rewriter, node: Node) -> Edge | None:
        for pattern in before:
            bound: _Bound = {}
            if not pattern.match(rewriter, Edge(node, 0), node, bound):
                continue
            context = rewriter.context
            values: _Bound = {
                "train": context.train,
                "platform": context.platform,
                "result": Value(Edge(node, 0), rewriter),
            }
            for name, value in bound.items():
                values[name] = Value(value, rewriter) if type(value) is Edge else value
            if where is not None and not _evaluated(where, values):
                continue
            if isinstance(after, _Apply):
                return after.build(rewriter, node, bound, values, whole=True)
            return after.build(rewriter, node, bound, values)
        return None

    nested = [pattern.operators for pattern in before[0].inputs if isinstance(pattern, _Apply)]
    return RewriteStep(
        rule,
        before[0].operators,
        apply,
        frozenset(nested[0]) if nested else frozenset(),
        any(f"{name}.{fact}" in rule.where for name in "cd" for fact in ("fill", "constant")),
    )


def rewritten(graph: Graph, context: PassContext, rules: Iterable[Rule]) -> Graph:
    """Applies rules that are operator expressions: all that a pass of them has to do.

    Raises:
        InternalError: a rule cannot be read, or two undo one another.
    """
    return Rewriter(graph, context, indexed(map(compiled, rules))).run()


def _orders(pattern: _Any | _Apply) -> list[_Any | _Apply]:
    """Returns a pattern with the operands of sums and products in every order."""
    if isinstance(pattern, _Any):
        return [pattern]
    found: list[_Any | _Apply] = []
    for inputs in product(*map(_orders, pattern.inputs)):
        orders = [inputs]
        if COMMUTATIVE.issuperset(pattern.operators) and inputs[0] != inputs[1]:
            orders.append(inputs[::-1])
        for order in orders:
            made = _Apply(
                pattern.operators, order, pattern.numbers, pattern.attrs, pattern.defaults
            )
            found += [made] if made not in found else []
    return found


def _read(rule: Rule, text: str) -> _Any | _Apply:
    try:
        return _pattern(ast.parse(text, mode="eval").body)
    except (SyntaxError, TypeError, ValueError, AttributeError) as error:
        raise InternalError(f"rule {rule.name}: cannot read {text!r}: {error}") from error


def _pattern(tree: ast.expr) -> _Any | _Apply:
    if isinstance(tree, ast.Name):
        return _Any(tree.id)
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise ValueError(f"must be a name or an operator applied, got {ast.unparse(tree)}")
    operators = tuple(get(name).name for name in FAMILIES.get(tree.func.id, (tree.func.id,)))
    row = get(operators[0])
    count = len(tree.args) if row.variadic else min(len(row.inputs), len(tree.args))
    attrs = {
        str(keyword.arg): (_name_or_value(keyword.value), _code(keyword.value))
        for keyword in tree.keywords
    }
    return _Apply(
        operators,
        tuple(map(_pattern, tree.args[:count])),
        tuple((_name_or_value(number), _code(number)) for number in tree.args[count:]),
        attrs,
        _defaults(row, attrs),
    )


def _defaults(row: Operator, attrs: Mapping[str, object]) -> dict[str, object]:
    return {
        name: param.default
        for name, param in row.static.items()
        if name not in attrs and name not in _IGNORED and not param.required
    }


def _name_or_value(tree: ast.expr) -> Any:
    """Returns a name, or the value of a literal; None for an expression, which only builds."""
    if isinstance(tree, ast.Name):
        return _Name(tree.id)
    try:
        return ast.literal_eval(tree)
    except ValueError:
        return None


def _code(tree: ast.expr) -> CodeType:
    return compile(ast.Expression(tree), "<rule>", "eval")
