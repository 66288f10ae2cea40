"""Rules on sums of any number of terms.

A sum is a tree of additions, each but the root used by the next only. Its terms are looked at
together, once, at the root.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, final

import numpy as np

from hybridnet.base.attrs import HostScalar
from hybridnet.base.dtype import BOOL, is_float
from hybridnet.graph import Edge, Graph, Node

from .pattern import FAMILIES, binary
from .rewrite import Rewriter, RewriteStep, indexed, op_name
from .rule import Rule

_REPEATED: Final = Rule(
    "repeated_term",
    "x + x + x + x",
    "_mul_scalar(x, 4)",
    where="x is whole, or there are at most 4",
    written=True,
)
_FACTORS_TEXT: Final = ("x*c1 + c2*x + x*c3", "x*(c1 + c2 + c3)")
_FACTORS: Final = Rule(
    "factors_of_sum", *_FACTORS_TEXT, where="x is whole; c are constants", written=True
)
_FACTORS_FLOAT: Final = Rule(
    "factors_of_sum_float", *_FACTORS_TEXT, exact=False, where="c are constants", written=True
)
_SMALL_TEXT: Final = ("(m1 + s1) + (m2 + s2)", "(m1 + m2) + (s1 + s2)")
_SMALL: Final = Rule(
    "small_terms_first",
    *_SMALL_TEXT,
    where="terms are whole, of several shapes, and fewer elements are added",
    written=True,
)
_SMALL_FLOAT: Final = Rule(
    "small_terms_first_float",
    *_SMALL_TEXT,
    exact=False,
    where="terms are of several shapes, and fewer elements are added",
    written=True,
)
RULES: Final = (_REPEATED, _FACTORS, _FACTORS_FLOAT, _SMALL, _SMALL_FLOAT)

_SUMS: Final = frozenset({*FAMILIES["add"], "add_n"})
# Adding x up to this often gives the same bits as multiplying: 2x is exact, 3x is rounded once,
# and what 3x was rounded by is less than half a unit of 4x, or a tie that goes to 4x.
_EXACT_REPEATS: Final = 4


@final
@dataclass(frozen=True, slots=True)
class _Term:
    """A value times numbers and constants."""

    base: Edge
    number: float = 1.0
    factor: Edge | None = None


def steps(graph: Graph, rewriter: Rewriter) -> Mapping[str, tuple[RewriteStep, ...]]:
    """Returns what applies the rules to the sums of a graph."""
    if not any(op_name(node) in _SUMS for node in graph.nodes):
        return {}
    sums = _Sums(_inner(graph, rewriter))
    applied: list[tuple[Rule, Callable[[_Sums, Rewriter, Node], Edge | None]]] = [
        (_REPEATED, _repeated),
        (_FACTORS, partial(_factored, floats=False)),
        (_FACTORS_FLOAT, partial(_factored, floats=True)),
        (_SMALL, partial(_small_first, floats=False)),
        (_SMALL_FLOAT, partial(_small_first, floats=True)),
    ]
    return indexed(RewriteStep(rule, tuple(_SUMS), partial(apply, sums)) for rule, apply in applied)


def _inner(graph: Graph, rewriter: Rewriter) -> set[Node]:
    """Returns the additions that are a part of another one."""
    uses = Counter(edge.node for node in graph.nodes for edge in node.inputs)
    uses.update(edge.node for edge in graph.outputs)
    return {
        edge.node
        for node in graph.nodes
        if op_name(node) in _SUMS
        for edge in node.inputs
        if op_name(edge.node) in _SUMS
        and uses[edge.node] == 1
        and rewriter.may_absorb(edge.node, node)
    }


@final
class _Sums:
    """The sums of a graph.

    Args:
        inner: the additions that are a part of another one.
    """

    def __init__(self, inner: set[Node]) -> None:
        self._inner = inner
        # Each rule asks for the terms of the same node.
        self._last: tuple[Node | None, list[Edge], int] = (None, [], 0)

    def terms(self, rewriter: Rewriter, root: Node) -> tuple[list[Edge], int]:
        """Returns the terms of a sum in order, and how many elements its additions compute.

        There are no terms where they differ in dtype, or the node is a part of another sum.
        """
        if self._last[0] is not root:
            inside = rewriter.visited in self._inner
            self._last = (root, *(([], 0) if inside else self._found(rewriter, root)))
        return self._last[1:]

    def _found(self, rewriter: Rewriter, root: Node) -> tuple[list[Edge], int]:
        wanted = rewriter.type(Edge(root, 0)).dtype
        found: list[Edge] = []
        elements = 0
        stack = [Edge(root, 0)]
        while stack:
            edge = stack.pop()
            node = edge.node
            if node is root or (op_name(node) in _SUMS and rewriter.original(node) in self._inner):
                elements += rewriter.type(edge).size * (len(node.inputs) - 1)
                stack += reversed(node.inputs)
            else:
                found.append(edge)
        if wanted == BOOL or any(rewriter.type(edge).dtype != wanted for edge in found):
            return [], 0
        return found, elements


def _term(rewriter: Rewriter, edge: Edge, root: Node) -> _Term:
    """Takes a product with constants apart, where nothing else uses it."""
    node = edge.node
    name = op_name(node)
    if not rewriter.is_absorbed(edge, root):
        return _Term(edge)
    if name == "_mul_scalar" and type(node.scalars[0]) is not HostScalar:
        return _Term(node.inputs[0], float(node.scalars[0]))
    if name == "negative":
        return _Term(node.inputs[0], -1.0)
    if name in FAMILIES["mul"]:
        for base, factor in (node.inputs, node.inputs[::-1]):
            if factor.node in rewriter.constants and base.node not in rewriter.constants:
                return _Term(base, factor=factor)
    return _Term(edge)


def _repeated(sums: _Sums, rewriter: Rewriter, root: Node) -> Edge | None:
    """Multiplies a value that is added to itself."""
    edges, _ = sums.terms(rewriter, root)
    if len(edges) < 2:
        return None
    terms = [_term(rewriter, edge, root) for edge in edges]
    total = sum(term.number for term in terms)
    if any(
        term.base != terms[0].base or term.factor is not None or not term.number.is_integer()
        for term in terms
    ):
        return None
    if is_float(rewriter.type(edges[0]).dtype) and (
        total > _EXACT_REPEATS or any(term.number < 1 for term in terms)
    ):
        return None
    return rewriter.make(
        "_mul_scalar", [terms[0].base], {"scalar": float(total)}, of=root, whole=True
    )


def _factored(sums: _Sums, rewriter: Rewriter, root: Node, *, floats: bool) -> Edge | None:
    """Adds the constants that one value is multiplied by."""
    edges, _ = sums.terms(rewriter, root)
    if not edges or is_float(rewriter.type(edges[0]).dtype) is not floats:
        return None
    groups: dict[Edge, list[_Term]] = {}
    for edge in edges:
        term = _term(rewriter, edge, root)
        groups.setdefault(term.base, []).append(term)
    if len(groups) == len(edges):
        return None
    numbers = [term.number for terms in groups.values() for term in terms]
    if not floats and not (
        all(number.is_integer() for number in numbers) and sum(map(abs, numbers)) < 2**53
    ):
        return None
    parts = [_product(rewriter, base, terms, root) for base, terms in groups.items()]
    if len(parts) > 1:
        return _chain(rewriter, parts, root, whole=True)
    (last,) = parts
    return rewriter.again(last.node, last.node.inputs, of=root) if last.index == 0 else None


def _product(rewriter: Rewriter, base: Edge, terms: Sequence[_Term], root: Node) -> Edge:
    """Returns a value times the sum of what it is multiplied by in these terms."""
    if len(terms) == 1 and terms[0].factor is None and terms[0].number == 1:
        return base
    number = sum(term.number for term in terms if term.factor is None)
    factors = [term.factor for term in terms if term.factor is not None]
    if not factors:
        return rewriter.make("_mul_scalar", [base], {"scalar": float(number)}, of=root)
    factor = _chain(rewriter, factors, root)
    if number:
        factor = rewriter.make("_plus_scalar", [factor], {"scalar": float(number)}, of=root)
    name = binary(FAMILIES["mul"], [rewriter.type(edge).shape for edge in (base, factor)])
    return rewriter.make(name, [base, factor], of=root)


def _small_first(sums: _Sums, rewriter: Rewriter, root: Node, *, floats: bool) -> Edge | None:
    """Adds terms of one shape first, then from the smaller ones on."""
    edges, elements = sums.terms(rewriter, root)
    if not edges or is_float(rewriter.type(edges[0]).dtype) is not floats:
        return None
    groups: dict[tuple[int, ...], list[Edge]] = {}
    for edge in edges:
        groups.setdefault(rewriter.type(edge).shape, []).append(edge)
    shapes = sorted(groups, key=lambda shape: rewriter.type(groups[shape][0]).size)
    if len(shapes) < 2 or elements <= _elements(shapes, groups):
        return None
    parts = [_chain(rewriter, groups[shape], root) for shape in shapes]
    return _chain(rewriter, parts, root, whole=True)


def _elements(shapes: Sequence[tuple[int, ...]], groups: Mapping[Any, Sequence[Edge]]) -> int:
    """Returns how many elements are computed by adding group by group."""
    within = sum(_size(shape) * (len(groups[shape]) - 1) for shape in shapes)
    joined: tuple[int, ...] = shapes[0]
    between = 0
    for shape in shapes[1:]:
        joined = np.broadcast_shapes(joined, shape)
        between += _size(joined)
    return within + between


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))


def _chain(rewriter: Rewriter, edges: Sequence[Edge], root: Node, whole: bool = False) -> Edge:
    """Adds values one after the other."""
    total = edges[0]
    for number, edge in enumerate(edges[1:], 2):
        name = binary(FAMILIES["add"], [rewriter.type(value).shape for value in (total, edge)])
        last = whole and number == len(edges)
        total = rewriter.make(name, [total, edge], of=root, whole=last)
    return total
