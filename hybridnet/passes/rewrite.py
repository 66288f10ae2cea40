"""`Rewriter`: goes through a graph once and replaces what rules say.

Nodes are visited after their inputs, each is tried against the rules of its operator only, and what
comes out is tried again until nothing fits. So a pass takes time in proportion to the graph.

Three things hold of every replacement, whatever rule made it: it has the type of what it stands
for; the node that takes a node's place has its name and attributes; and a node that must be kept is
neither looked through nor lost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, final

from hybridnet.base.attrs import HostScalar
from hybridnet.base.errors import InternalError, MXNetError
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Edge, Graph, Node
from hybridnet.ops.core import Call, OpCall
from hybridnet.ops.core.registry import get

from .context import PassContext, infer
from .rule import Rule

#: An edge for each output of a node, None where it is not used.
Replacement = tuple[Edge | None, ...]

# A node is replaced this often at most: past it, two rules undo one another.
_LIMIT: Final = 100


@final
@dataclass(frozen=True, slots=True)
class RewriteStep:
    """A rule and what applies it.

    Attributes:
        rule: for reports.
        operators: the nodes it is tried at, by the name of their operator.
        apply: takes the rewriter and a node; returns what takes its place: an edge for each of its
            outputs, which may be None for one that is not used, or the edge itself where there is
            but one. None where the rule does not fit; an MXNetError means that too.
        operands: it fits only where an operand is one of these operators'; empty if that does not
            matter. This is asked first, of all steps together.
        of_constant: it fits only where an operand depends on nothing.
    """

    rule: Rule
    operators: tuple[str, ...]
    apply: Callable[[Rewriter, Node], Edge | Replacement | None]
    operands: frozenset[str] = frozenset()
    of_constant: bool = False


def indexed(steps: Iterable[RewriteStep]) -> Mapping[str, tuple[RewriteStep, ...]]:
    """Returns steps by operator, in the order given."""
    found: dict[str, list[RewriteStep]] = defaultdict(list)
    for step in steps:
        for operator in step.operators:
            found[operator].append(step)
    return {operator: tuple(listed) for operator, listed in found.items()}


def op_name(node: Node) -> str:
    """Returns the canonical name of a node's operator; '' if it is no operator's call."""
    call = node.call
    return call.operator.name if type(call) is OpCall else ""


def is_pure(call: Call) -> bool:
    """Whether all that a call does is in its outputs: it may be computed twice, or not at all."""
    return not (call.takes_state or call.on_host or call.updates)


@final
class Rewriter:
    """One pass over one graph.

    Args:
        context: of the pass.
        steps: see `add_steps`.

    Attributes:
        context: of the pass.
        constants: the nodes, old and new, that depend on nothing.
        visited: the node of the old graph that is being replaced.
    """

    def __init__(
        self, graph: Graph, context: PassContext, steps: Mapping[str, Sequence[RewriteStep]]
    ) -> None:
        self.context = context
        self.constants: set[Node] = set()
        self._graph = graph
        self._types = dict(context.types(graph))
        self.visited: Node | None = None
        # The nodes of the old graph that new ones are, with other inputs.
        self._was: dict[Node, Node] = {}
        # How much more often nodes are used than in the old graph.
        self._further: Counter[Node] = Counter()
        self._steps: dict[str, tuple[RewriteStep, ...]] = {}
        # The steps that are tried at nodes that depend on nothing.
        self._of_constants: tuple[RewriteStep, ...] = ()
        self.add_steps(steps)

    def add_steps(self, steps: Mapping[str, Sequence[RewriteStep]]) -> None:
        """Adds to what is tried.

        Args:
            steps: by operator, see `indexed`; under '*' those that are tried at every node that
                depends on nothing. Rules that the context does not allow are left out.
        """
        for operator, listed in steps.items():
            allowed = tuple(step for step in listed if self.context.allows(step.rule))
            if operator == "*":
                self._of_constants += allowed
            elif allowed:
                self._steps[operator] = (*self._steps.get(operator, ()), *allowed)

    def run(self) -> Graph:
        """Returns the graph after the rules were applied to all nodes that they match."""
        if not self._of_constants and not any(
            op_name(node) in self._steps for node in self._graph.nodes
        ):
            return self._graph
        # For each node that was replaced, the edges that its outputs became.
        moved: dict[Node, Sequence[Edge]] = {}
        for node in self._graph.nodes:
            if node.call is not None:
                self._visit(node, moved)
        if not moved:
            return self._graph
        made = Graph(self._graph.inputs, _moved(self._graph.outputs, moved))
        self.context.learn(made, self._types)
        return made

    def type(self, edge: Edge) -> TensorType:
        """Returns the type of a value, of the old graph or the new one."""
        return self._types[edge.node][edge.index]

    def uses(self, edge: Edge) -> int:
        """Returns how often a node is used; more than once, if a rule put it where it was not."""
        node = edge.node
        return self._uses[self.original(node)] + self._further[node]

    def original(self, node: Node) -> Node:
        """Returns the node of the old graph whose place a node took; itself, if there is none."""
        return self._was.get(node, node)

    def is_used(self, output: int) -> bool:
        """Whether an output of the node that is being visited is used."""
        return self.visited is not None and Edge(self.visited, output) in self._used

    @cached_property
    def _used(self) -> Counter[Edge]:
        """The number of uses of each value of the old graph."""
        found = Counter(edge for node in self._graph.nodes for edge in node.inputs)
        found.update(self._graph.outputs)
        return found

    @cached_property
    def _uses(self) -> Counter[Node]:
        """The number of uses of each node of the old graph."""
        found: Counter[Node] = Counter()
        for edge, count in self._used.items():
            found[edge.node] += count
        return found

    def may_absorb(self, node: Node, into: Node) -> bool:
        """Whether a rule may look through a node: replace it together with one that uses it."""
        return node.name not in self.context.keep and node.attrs == into.attrs

    def is_absorbed(self, edge: Edge, into: Node) -> bool:
        """Whether a rule may look through a value's node, of which nothing else reads."""
        return self.uses(edge) == 1 and self.may_absorb(edge.node, into)

    def make(
        self,
        operator: str,
        inputs: Sequence[Edge],
        attrs: Mapping[str, object] | None = None,
        *,
        of: Node,
        whole: bool = False,
    ) -> Edge:
        """Makes a node, and simplifies it.

        Args:
            inputs: to what it is applied, values of the new graph.
            attrs: its parameters.
            of: the node that is being replaced, whose attributes the new one gets.
            whole: whether it takes that node's place, and so its name; it is left as it is then.

        Raises:
            MXNetError: the operator cannot be applied so.
        """
        call, scalars = get(operator).bind(attrs or {})
        name = of.name if whole else f"{of.name}_{call.name.lstrip('_')}"
        made = self.add(replace(of, call=call, inputs=tuple(inputs), name=name, scalars=scalars))
        if whole:
            self._was[made] = self.original(of)
        else:
            self._further[made] = 1
        return Edge(made, 0) if whole else self._simplified(made)

    def again(self, node: Node, inputs: Sequence[Edge], *, of: Node) -> Edge:
        """Makes a node that does what another does, in the place of a third."""
        assert node.call is not None
        inputs = tuple(inputs)
        made = self.add(replace(of, call=node.call, inputs=inputs, scalars=node.scalars))
        self._was[made] = self.original(of)
        return Edge(made, 0)

    def add(self, node: Node) -> Node:
        """Notes a new node, whose inputs are known, and infers its types."""
        assert node.call is not None
        self._types[node] = infer(node.call, tuple(map(self.type, node.inputs)))
        self._note_constant(node)
        return node

    def _visit(self, node: Node, moved: dict[Node, Sequence[Edge]]) -> None:
        """Finds out what takes the place of a node, and notes it if that is another one."""
        self.visited = made = node
        for edge in node.inputs:
            if edge.node in moved:
                made = node.with_inputs(_moved(node.inputs, moved))
                # Whatever took the place of an input has its type.
                self._types[made] = self._types[node]
                self._was[made] = node
                break
        self._note_constant(made)
        if op_name(made) in self._steps or made in self.constants:
            if made.num_outputs != 1:
                found = self._outputs_of(made)
                if any(edge.node is not node for edge in found):
                    moved[node] = found
                return
            edge = self._simplified(made)
            if edge.node is not made and edge.node not in self._was:
                self._further[edge.node] += 1
            if edge.node is not node:
                moved[node] = (edge,)
        elif made is not node:
            moved[node] = tuple(Edge(made, index) for index in range(node.num_outputs))

    def _note_constant(self, node: Node) -> None:
        for edge in node.inputs:
            if edge.node not in self.constants:
                return
        assert node.call is not None
        if is_pure(node.call) and not any(type(scalar) is HostScalar for scalar in node.scalars):
            self.constants.add(node)

    def _outputs_of(self, node: Node) -> Sequence[Edge]:
        """Applies the first rule that fits to a node of several outputs."""
        unchanged = [Edge(node, index) for index in range(node.num_outputs)]
        if node.name in self.context.keep:
            return unchanged
        for step, found in self._fitting(node):
            if isinstance(found, Edge):
                continue
            if any(self.is_used(i) for i, edge in enumerate(found) if edge is None):
                continue
            for edge in found:
                if edge is not None and edge.node is not node:
                    self._further[edge.node] += 1
            self.context.fired[step.rule.name] += 1
            return [new or old for new, old in zip(found, unchanged, strict=True)]
        return unchanged

    def _simplified(self, node: Node) -> Edge:
        """Applies rules to a node of one output until none fits."""
        edge = Edge(node, 0)
        for _ in range(_LIMIT):
            found = self._replaced(edge.node)
            if found is None:
                return edge
            edge = found
            if edge.node.num_outputs != 1 or edge.node.call is None:
                return edge
        raise InternalError(f"passes: the rules at node {node.name!r} do not come to an end")

    def _replaced(self, node: Node) -> Edge | None:
        """Returns what the first rule that fits makes of a node of one output."""
        for step, found in self._fitting(node):
            edge = found if isinstance(found, Edge) else found[0]
            assert edge is not None
            if node.name in self.context.keep and edge.node.name != node.name:
                if op_name(node) == "_copy":
                    continue
                edge = self.make("_copy", [edge], of=node, whole=True)
            self.context.fired[step.rule.name] += 1
            return edge
        return None

    def _fitting(self, node: Node) -> Iterator[tuple[RewriteStep, Edge | Replacement]]:
        """Yields what the rules make of a node, where that has its types."""
        steps = self._steps.get(op_name(node), ())
        if node in self.constants:
            steps += self._of_constants
        if not steps:
            return
        names = {op_name(edge.node) for edge in node.inputs}
        beside = any(edge.node in self.constants for edge in node.inputs)
        for step in steps:
            if (step.of_constant and not beside) or (
                step.operands and step.operands.isdisjoint(names)
            ):
                continue
            try:
                found = step.apply(self, node)
            except MXNetError:
                continue  # the operators of the replacement do not take these types
            if found is None:
                continue
            made = (found,) if isinstance(found, Edge) else found
            types = zip(made, self._types[node], strict=True)
            if all(edge is None or self.type(edge) is wanted for edge, wanted in types):
                yield step, found


def _moved(edges: Sequence[Edge], moved: Mapping[Node, Sequence[Edge]]) -> tuple[Edge, ...]:
    return tuple(moved[edge.node][edge.index] if edge.node in moved else edge for edge in edges)
