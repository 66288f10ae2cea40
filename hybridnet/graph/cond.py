"""`cond`: runs one of two graphs, depending on a value.

It is lowered to `lax.cond`. Its gradient is another `cond`, whose graphs are the gradients of the
two; each computes again what it needs of its graph.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, final

from hybridnet.base.dtype import is_float
from hybridnet.base.errors import ShapeError
from hybridnet.base.lazy import jax
from hybridnet.ops.core import Arrays, Backward, Operand, Types
from hybridnet.ops.core.registry import get
from hybridnet.ops.host import jnp, lax

from .evaluate import infer_types
from .node import Edge, Graph, Node
from .split import joint_gradient
from .subgraph import ControlCall, Subgraph, closed, gradient_types, opened, shared, type_of
from .transform import prepare
from .unbounded import unbounded_gradient


@final
class CondCall(ControlCall):
    """One of two graphs of the same inputs.

    Its inputs are the condition, one number, and what the graphs read; its outputs those of the
    graphs, and what these overwrite.

    Args:
        parts: the graph for a condition that is not 0, and that for 0.
        num_visible: how many outputs users know of.
        num_scalars: how many numbers it takes.
        is_open: whether the mode of its operators is not known.
        written: the inputs of the graphs, by number, that have an output for their new value.
        mutated: those of them that are overwritten.
        draws: whether the random state is the last input and output.
    """

    offset = 1
    __slots__ = ("_gradients", "draws", "mutates", "written")
    name = "_cond"

    def __init__(
        self,
        parts: tuple[Subgraph, ...],
        num_visible: int,
        num_scalars: int,
        is_open: bool = False,
        written: Sequence[int] = (),
        mutated: Sequence[int] = (),
        draws: bool = False,
    ) -> None:
        super().__init__(parts, num_scalars, is_open)
        self.written = tuple(written)
        self.draws = self.takes_state = draws
        self.num_visible = num_visible
        first = num_visible + bool(self.num_unbounded)
        self.num_outputs = first + len(self.written) + draws
        self.mutates = {1 + place: first + i for i, place in enumerate(written) if place in mutated}
        self._gradients: dict[Hashable, CondCall] = {}

    def layout(self) -> tuple[object, ...]:
        """The inputs that it overwrites."""
        return (self.num_visible, self.written, tuple(self.mutates), self.draws)

    def close(self, train: bool) -> CondCall:
        """Fixes the mode of the graphs."""
        made = [closed(part, train, self.written, self.draws) for part in self.parts]
        mutated = {place for _, places in made for place in places}
        return self._remade((made[0][0], made[1][0]), sorted(mutated))

    def with_parts(self, parts: tuple[Subgraph, ...], limit: int | None = None) -> CondCall:
        """Returns the choice between two other graphs."""
        return self._remade(parts, [place - 1 for place in self.mutates], self.is_open)

    def with_tables(self, graphs: Sequence[Graph], count: int) -> CondCall:
        """Returns the choice between other graphs, which have further outputs, its last.

        Args:
            graphs: that for a condition that is not 0, and that for 0.
            count: of further outputs.
        """
        parts = [Subgraph(g, part.places) for g, part in zip(graphs, self.parts, strict=True)]
        mutated = [place - 1 for place in self.mutates]
        shown, written = self.num_visible, self.written
        made = CondCall(tuple(parts), shown, self.num_scalars, False, written, mutated, self.draws)
        made.num_outputs += count
        return made

    def _remade(
        self, parts: tuple[Subgraph, ...], mutated: Sequence[int], is_open: bool = False
    ) -> CondCall:
        shown, written = self.num_visible, self.written
        made = CondCall(parts, shown, self.num_scalars, is_open, written, mutated, self.draws)
        return made if is_open else shared(made)

    def infer(self, types: Types) -> Types:
        """Returns the types of the outputs.

        Raises:
            ShapeError: the condition is not one number, or the graphs do not give the same types.
        """
        if self.is_open:
            return self.with_train(False).infer(types)
        if types[0].size != 1:
            raise ShapeError(f"cond: pred must have one element, got {types[0]}")
        then, other = (part.infer(types[1:]) for part in self.parts)
        if then != other:
            raise ShapeError(
                "cond: then_func and else_func must give outputs of the same shapes and dtypes, "
                f"got {list(then)} and {list(other)}"
            )
        return (*then[: self.num_visible], *self.counts_type, *then[self.num_visible :])

    def compute(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Runs one of the graphs."""

        shown = self.num_visible

        def branch(number: int) -> Any:
            def run(*inputs: jax.Array) -> list[Any]:
                made, counts = self.parts[number].run_counting(platform, inputs, scalars)
                if not self.num_unbounded:
                    return made
                counted = [jnp.zeros(part.num_unbounded, "int32") for part in self.parts]
                counted[number] = counted[number] if counts is None else counts
                return [*made[:shown], jnp.concatenate(counted), *made[shown:]]

            return run

        holds = operands[0].reshape(()) != 0
        made: Sequence[Any] = lax.cond(holds, branch(0), branch(1), *operands[1:])
        return made

    def gradient(self, back: Backward) -> Sequence[Operand | None]:
        """Runs the gradient of the graph that was run."""
        types = gradient_types(self, back, "cond: a branch")
        if self.num_unbounded:
            return unbounded_gradient(self, back)
        given = tuple(i for i in back.given if is_float(type_of(back.grads[i], self.name).dtype))
        wanted = tuple(
            i for i, kind in enumerate(types) if i and back.wanted[i] and is_float(kind.dtype)
        )
        if not given or not wanted:
            return [None] * len(back.inputs)
        key = (types, given, wanted)
        if key not in self._gradients:
            self._gradients[key] = self._make_gradient(types, given, wanted)
        operands = [*back.inputs, *(back.grads[i] for i in given)]
        return back.placed(wanted, back.apply(self._gradients[key], operands, back.scalars))

    def _make_gradient(
        self, types: Types, given: tuple[int, ...], wanted: tuple[int, ...]
    ) -> CondCall:
        """Returns the gradient as a call of the inputs and the gradients of the outputs."""
        call = self.with_train(True)
        assert isinstance(call, CondCall)
        zeros = get("zeros_like").bind({})[0]
        parts = []
        for part in call.parts:
            positions = [i - 1 for i in wanted]
            known = infer_types(part.graph, types[1:])
            graph, numbers = joint_gradient(part.graph, positions, given, known)
            outputs = []
            for place, number in zip(positions, numbers, strict=True):
                like = Edge(part.graph.inputs[place], 0)
                none = Edge(Node(zeros, (like,), "zeros"), 0)
                outputs.append(none if number is None else graph.outputs[number])
            parts.append(Subgraph(Graph(graph.inputs, tuple(outputs)), part.places))
        return shared(CondCall((parts[0], parts[1]), len(wanted), self.num_scalars))


def open_cond(then: Graph, other: Graph) -> tuple[CondCall, tuple[Any, ...]]:
    """Returns the call of a symbol's two graphs, which have equal inputs, and the numbers in it."""
    parts, scalars = opened(then, other)
    count = len(then.inputs)
    ready = [prepare(graph, True) for graph in (then, other)]
    written = sorted({place for prepared in ready for place in prepared.writes if place < count})
    draws = any(prepared.draws for prepared in ready)
    call = CondCall(
        (parts[0], parts[1]), len(then.outputs), len(scalars), True, written, written, draws
    )
    return call, scalars
