"""`while_loop`: a graph run over and over while another one says so.

Outside training it is lowered to one `lax.while_loop`. What is to be differentiated is the loop
over `max_iterations` rows, each of which runs the body only while the condition holds. Of a loop
without a maximum see `unbounded`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, final

from hybridnet.base.errors import GraphError, ShapeError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core import FIRST_ROWS, Arrays, Backward, Call, Operand, Types
from hybridnet.ops.core.registry import get
from hybridnet.ops.host import jnp, lax

from .cond import CondCall
from .foreach import ForeachCall, ForeachSpec, gradient_of_kept
from .node import Edge, Graph, Node, variable
from .subgraph import ControlCall, Subgraph, closed, opened, shared
from .transform import prepare


@final
class WhileCall(ControlCall):
    """A body run while a condition holds.

    Its inputs are what condition and body read; its outputs the stacked outputs of the body, with
    zeros after the last iteration, the last loop variables, and what else is carried.

    Args:
        parts: the condition, one number, and the body: outputs to be stacked, then the new values
            of what is carried. Both take all inputs.
        num_out: how many outputs are to be stacked.
        carried: the inputs, by number, that the body gives new values for.
        num_states: how many of these, from the first, users know of: the loop variables.
        max_iterations: how often the body is run at most; None if the condition alone ends it, and
            then nothing is stacked.
        num_scalars: how many numbers it takes.
        is_open: whether the mode of its operators is not known.
        written: those of the inputs that are carried because the body overwrites them.
        draws: whether the random state is carried, as the last input and output.
    """

    may_keep = True
    __slots__ = (
        "_twins",
        "carried",
        "draws",
        "max_iterations",
        "mutates",
        "num_out",
        "num_states",
        "written",
    )
    name = "_while_loop"

    def __init__(
        self,
        parts: tuple[Subgraph, Subgraph],
        num_out: int,
        carried: tuple[int, ...],
        num_states: int,
        max_iterations: int | None,
        num_scalars: int,
        is_open: bool = False,
        written: Sequence[int] = (),
        draws: bool = False,
    ) -> None:
        super().__init__(parts, num_scalars, is_open, max_iterations is None)
        self.num_out = num_out
        self.carried = carried
        self.num_states = num_states
        self.max_iterations = max_iterations
        self.written = tuple(written)
        self.draws = self.takes_state = draws
        self.num_visible = num_out + num_states
        first = self.num_visible + bool(self.num_unbounded)
        self.num_outputs = first + len(carried) - num_states
        self.mutates = {
            place: first + i
            for i, place in enumerate(carried[num_states:])
            if place in self.written
        }
        self._twins: dict[Types, ForeachCall] = {}

    def layout(self) -> tuple[object, ...]:
        """The fields of the loop, and what it overwrites."""
        loop = (self.num_out, self.carried, self.num_states, self.max_iterations)
        return (*loop, self.written, self.draws)

    def close(self, train: bool) -> WhileCall:
        """Fixes the mode of condition and body."""
        count = len(self.written)
        places = self.carried[self.num_states :][:count]
        condition, _ = closed(self.parts[0], train, (), self.draws)
        # The state goes through the condition, where nothing is drawn, unchanged.
        heads = condition.graph.outputs[:1]
        body, written = closed(self.parts[1], train, places, self.draws)
        graph = Graph(condition.graph.inputs, heads, condition.graph.targets)
        return self._remade((Subgraph(graph, condition.places), body), self.max_iterations, written)

    def with_parts(self, parts: tuple[Subgraph, ...], limit: int | None = None) -> WhileCall:
        """Returns the loop of another condition and body."""
        condition, body = parts
        limit = self.max_iterations if self.max_iterations is not None else limit
        return self._remade((condition, body), limit, self.written, self.is_open)

    def with_table(self, body: Graph) -> WhileCall:
        """Returns the loop with a further input and output, its last: a table as `BoundsCall` has.

        The input is a table without entries; the output, of each row the first entry.

        Args:
            body: the body, with the table of one turn as its last output.
        """
        condition, part = self.parts
        seen, unread = variable("outside"), variable("outside")
        *outputs, table = body.outputs
        first = Node(FIRST_ROWS, (Edge(seen, 0), table), "outside")
        graphs = (
            replace(condition.graph, inputs=(*condition.graph.inputs, unread)),
            replace(body, inputs=(*body.inputs, seen), outputs=(*outputs, Edge(first, 0))),
        )
        return WhileCall(
            (Subgraph(graphs[0], condition.places), Subgraph(graphs[1], part.places)),
            self.num_out,
            (*self.carried, len(body.inputs)),
            self.num_states,
            self.max_iterations,
            self.num_scalars,
            False,
            self.written,
        )

    def is_fixed(self, number: int) -> bool:
        """Loop variables are not."""
        return number not in self.carried

    def _remade(
        self,
        parts: tuple[Subgraph, Subgraph],
        limit: int | None,
        written: Sequence[int],
        is_open: bool = False,
    ) -> WhileCall:
        made = WhileCall(
            parts,
            self.num_out,
            self.carried,
            self.num_states,
            limit,
            self.num_scalars,
            is_open,
            written,
            self.draws,
        )
        return made if is_open else shared(made)

    def infer(self, types: Types) -> Types:
        """Returns the types of the outputs.

        Raises:
            ShapeError, DTypeError: they do not fit, or a loop variable changes its type.
        """
        if self.is_open:
            return self.with_train(False).infer(types)
        (condition,) = self.parts[0].infer(types)
        if condition.size != 1:
            raise ShapeError(f"while_loop: cond must give one element, got {condition}")
        found = self.parts[1].infer(types)
        states = found[self.num_out :]
        for number, (place, state) in enumerate(zip(self.carried, states, strict=True)):
            if state != types[place]:
                name = self.parts[1].graph.inputs[place].name
                raise ShapeError(
                    f"while_loop: loop variable {number} ({name!r}) must keep its shape and dtype, "
                    f"but it begins as {types[place]} and the body makes it {state}"
                )
        rows = self.max_iterations or 0
        outs = [tensor_type((rows, *kind.shape), kind.dtype) for kind in found[: self.num_out]]
        shown = self.num_states
        return (*outs, *states[:shown], *self.counts_type, *states[shown:])

    def compute(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Runs the loop."""
        condition, body = self.parts

        def inputs(states: Any) -> list[Any]:
            every = list(operands)
            for place, state in zip(self.carried, states, strict=True):
                every[place] = state
            return every

        def goes_on(now: Any) -> Any:
            count, states, _, _ = now
            (holds,) = condition.run(platform, inputs(states), scalars)
            holds = holds.reshape(()) != 0
            return holds if self.max_iterations is None else holds & (count < self.max_iterations)

        def step(now: Any) -> Any:
            count, states, stacked, most = now
            made, counts = body.run_counting(platform, inputs(states), scalars)
            stacked = [
                _with_row(platform, rows, row, count)
                for rows, row in zip(stacked, made, strict=False)
            ]
            most = most if counts is None else jnp.maximum(most, counts)
            return count + 1, made[self.num_out :], stacked, most

        types = self.infer(tuple(tensor_type(array.shape, array.dtype) for array in operands))
        stacked = [jnp.zeros(kind.shape, kind.dtype) for kind in types[: self.num_out]]
        first = [operands[place] for place in self.carried]
        most = jnp.zeros(body.num_unbounded, "int32") if body.num_unbounded else None
        start = (jnp.zeros((), "int32"), first, stacked, most)
        count, states, stacked, most = lax.while_loop(goes_on, step, start)
        if not self.num_unbounded:
            return [*stacked, *states]
        counts = [count.reshape(1)] * self.is_endless + ([] if most is None else [most])
        shown = self.num_states
        return [*stacked, *states[:shown], jnp.concatenate(counts), *states[shown:]]

    def keeping(self, types: Types) -> Call:
        """Returns the loop over rows that does the same and keeps what its gradient needs.

        Itself where the number of rows is known only once it has run.
        """
        if self.num_unbounded:
            return self
        made = self._twins.get(types)
        if made is None:
            made = self._twins.setdefault(types, self._twin(types).keeping(types))
        return made

    def _twin(self, types: Types) -> ForeachCall:
        condition, body = self.parts
        inputs = body.graph.inputs
        place = dict(zip((Edge(n, 0) for n in condition.graph.inputs), inputs, strict=True))
        found = body.infer(types)
        outputs = []
        for number in range(self.num_out):
            kind = found[number]
            zeros = get("_zeros").bind({"shape": kind.shape, "dtype": kind.dtype.name})[0]
            outputs.append(Edge(Node(zeros, (), "zeros"), 0))
        outputs += [Edge(inputs[place], 0) for place in self.carried]
        rest = Subgraph(Graph(inputs, tuple(outputs)), {})
        choice = shared(CondCall((body, rest), len(outputs), self.num_scalars))
        hosts = sorted({**condition.places, **body.places}.items(), key=lambda pair: pair[1])
        holds = _moved(condition.graph, {edge: Edge(node, 0) for edge, node in place.items()})
        node = Node(
            choice,
            (holds, *(Edge(source, 0) for source in inputs)),
            "step",
            _in_order(hosts, self.num_scalars),
        )
        graph = Graph(inputs, tuple(Edge(node, i) for i in range(len(outputs))))
        assert self.max_iterations is not None
        loop = ForeachSpec(0, self.num_out, self.carried, self.num_states, self.max_iterations)
        return shared(ForeachCall(Subgraph(graph, dict(hosts)), loop, self.num_scalars))

    def gradient(self, back: Backward) -> Sequence[Operand | None]:
        """Runs the gradient of the loop over rows."""
        return gradient_of_kept(self, back)


def _with_row(platform: str, rows: Any, row: Any, number: Any) -> Any:
    """Returns the stacked rows with one of them changed."""
    if platform == "host":
        rows[int(number)] = row  # nobody else has them
        return rows
    return lax.dynamic_update_index_in_dim(rows, row, number, 0)


def _in_order(hosts: Sequence[tuple[Any, int]], count: int) -> tuple[object, ...]:
    """Returns the numbers of a call by their places; any will do where none is used."""
    numbers: list[Any] = [0.0] * count
    for scalar, place in hosts:
        numbers[place] = scalar
    return tuple(numbers)


def _moved(graph: Graph, place: dict[Edge, Edge]) -> Edge:
    """Returns the output of a graph over other inputs."""
    for node in graph.nodes:
        made = node.with_inputs(tuple(place.get(edge, edge) for edge in node.inputs))
        place.update(
            (Edge(node, i), Edge(made, i)) for i in range(node.num_outputs) if not node.is_variable
        )
    return place.get(graph.outputs[0], graph.outputs[0])


def open_while(
    condition: Graph,
    body: Graph,
    carried: tuple[int, ...],
    num_out: int,
    max_iterations: int | None,
) -> tuple[WhileCall, tuple[Any, ...]]:
    """Returns the call of a symbol's loop, and the numbers in it.

    Args:
        condition: from all inputs to one number.
        body: from all inputs to the outputs to be stacked, and the new loop variables.
        carried: the inputs, by number, that are the loop variables.
        num_out: how many outputs are to be stacked.
        max_iterations: how often the body is run at most; None if the condition alone ends it.

    Raises:
        GraphError: the condition draws random numbers, overwrites an array, or contains a loop
            without a maximum.
    """
    parts, scalars = opened(condition, body)
    tested = prepare(condition, True)
    if tested.draws or tested.writes:
        raise GraphError(
            "while_loop: cond must neither draw random numbers nor overwrite arrays; do it in func"
        )
    if parts[0].num_unbounded:
        raise GraphError(
            "while_loop: cond must not contain a loop without a maximum; give that loop "
            "maximum_iterations, or run it in the body"
        )
    ready = prepare(body, True)
    count = len(body.inputs)
    written = [place for place in ready.writes if place < count]
    every = (*carried, *written, *([count] if ready.draws else []))
    call = WhileCall(
        (parts[0], parts[1]),
        num_out,
        every,
        len(carried),
        max_iterations,
        len(scalars),
        True,
        written,
        ready.draws,
    )
    return call, scalars
