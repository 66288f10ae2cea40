"""`foreach`: runs a graph, the body, for each row of some arrays, with states from row to row.

It is lowered to one `lax.scan`. Its gradient is another `foreach`, which goes backward over the
rows: its body is the gradient of the body, it reads what the forward rows have kept (stacked to
arrays of rows), and it sums up the gradients of the arrays that all rows share. As the gradient is
again a `foreach`, it has a gradient itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, final

from hybridnet.base.dtype import is_float
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.core import Arrays, Backward, Operand, Types
from hybridnet.ops.core.registry import get
from hybridnet.ops.host import jnp, lax

from .evaluate import infer_types
from .node import Edge, Graph, Node, variable
from .split import GradientGraph, differentiate, narrowed
from .subgraph import ControlCall, Subgraph, closed, gradient_types, opened, shared
from .transform import prepare
from .unbounded import unbounded_gradient


@final
@dataclass(frozen=True)
class ForeachSpec:
    """The settings by which a body is run over rows.

    Attributes:
        num_data: how many of the inputs, from the first, are arrays of rows.
        num_out: how many of the body's outputs, from the first, are stacked.
        carried: the inputs, by number, that the body's further outputs replace for the next row.
        num_states: how many of these, from the first, users know of.
        length: the number of rows; None where the data say it.
        reverse: whether the last row comes first.
        kept: how many of the stacked outputs, the last ones, are for the gradient; they come out
            after all else.
        flat: whether a row of an array of one dimension has shape (1,), as in MXNet, and not ().
    """

    num_data: int
    num_out: int
    carried: tuple[int, ...]
    num_states: int
    length: int | None = None
    reverse: bool = False
    kept: int = 0
    flat: bool = False


@final
class ForeachCall(ControlCall):
    """A body run over rows.

    Its inputs are the arrays of rows, the first states, and what every row reads; its outputs the
    stacked outputs of the body, the last states, and what else is carried.

    Args:
        body: from the inputs, with a row in the place of an array, to outputs and new states.
        loop: how it is run.
        num_scalars: how many numbers it takes.
        is_open: whether the mode of its operators is not known.
        written: those of the inputs that are carried because the body overwrites them.
        draws: whether the random state is carried, as the last input and output.
        split: of a call that keeps what its gradient needs, that of the body.
    """

    may_keep = True
    __slots__ = ("_kept", "_reverse", "draws", "loop", "mutates", "split", "written")
    name = "_foreach"

    def __init__(
        self,
        body: Subgraph,
        loop: ForeachSpec,
        num_scalars: int,
        is_open: bool = False,
        written: Sequence[int] = (),
        draws: bool = False,
        split: GradientGraph | None = None,
    ) -> None:
        super().__init__((body,), num_scalars, is_open)
        self.loop = loop
        self.written = tuple(written)
        self.draws = self.takes_state = draws
        self.split = split
        counts = bool(self.num_unbounded)
        self.num_outputs = loop.num_out + len(loop.carried) + counts
        self.num_visible = loop.num_out - loop.kept + loop.num_states
        first = loop.num_out + loop.num_states + counts
        places = loop.carried[loop.num_states :]
        self.mutates = {place: first + i for i, place in enumerate(places) if place in self.written}
        self._kept: dict[Types, ForeachCall] = {}
        self._reverse: dict[Hashable, _Reverse] = {}

    def layout(self) -> tuple[object, ...]:
        """The fields of the loop, and what it overwrites."""
        split = None if self.split is None else (self.split.given, self.split.uses)
        return (*astuple(self.loop), self.written, self.draws, split)

    def close(self, train: bool) -> ForeachCall:
        """Fixes the mode of the body."""
        loop = self.loop
        body, written = closed(
            self.parts[0], train, loop.carried[loop.num_states :][: len(self.written)], self.draws
        )
        return shared(ForeachCall(body, loop, self.num_scalars, False, written, self.draws))

    def with_parts(self, parts: tuple[Subgraph, ...], limit: int | None = None) -> ForeachCall:
        """Returns the loop of another body; of one that keeps nothing for its gradient."""
        (body,) = parts
        made = ForeachCall(
            body, self.loop, self.num_scalars, self.is_open, self.written, self.draws
        )
        return made if self.is_open else shared(made)

    def with_table(self, graph: Graph) -> ForeachCall:
        """Returns the loop with a further output, its last: the rows of one more of the body's.

        Args:
            graph: the body, with that as its last output.
        """
        loop, body = self.loop, self.parts[0]
        *outputs, table = graph.outputs
        outputs.insert(loop.num_out, table)
        return ForeachCall(
            Subgraph(replace(graph, outputs=tuple(outputs)), body.places),
            replace(loop, num_out=loop.num_out + 1, kept=loop.kept + 1),
            self.num_scalars,
            False,
            self.written,
            self.draws,
            self.split,
        )

    def part_types(self, types: Types) -> Types:
        """With rows in the places of arrays."""
        return self.row_types(types)

    def is_fixed(self, number: int) -> bool:
        """Rows and states are not."""
        return number >= self.loop.num_data and number not in self.loop.carried

    # -- running -----------------------------------------------------------------------------

    def rows(self, types: Sequence[TensorType]) -> int:
        """Returns the number of rows.

        Raises:
            ShapeError: the arrays have different numbers of rows, or an array has none.
        """
        data = types[: self.loop.num_data]
        if any(not kind.shape for kind in data) or len({kind.shape[0] for kind in data}) > 1:
            raise ShapeError(
                "foreach: the data must be arrays with the same number of rows (the first "
                f"dimension), got {', '.join(map(repr, data))}"
            )
        if data:
            return data[0].shape[0]
        assert self.loop.length is not None
        return self.loop.length

    @property
    def _row(self) -> tuple[int, ...]:
        """The shape of a row of an array of one dimension."""
        return (1,) if self.loop.flat else ()

    def row_types(self, types: Sequence[TensorType]) -> Types:
        """Returns the types of the body's inputs."""
        rows = [
            tensor_type(kind.shape[1:] or self._row, kind.dtype)
            for kind in types[: self.loop.num_data]
        ]
        return (*rows, *types[self.loop.num_data :])

    def infer(self, types: Types) -> Types:
        """Returns the types of the outputs.

        Raises:
            ShapeError, DTypeError: they do not fit, or a state changes its type.
        """
        if self.is_open:
            return self.with_train(False).infer(types)
        loop, count = self.loop, self.rows(types)
        found = self.parts[0].infer(self.row_types(types))
        outs = [tensor_type((count, *kind.shape), kind.dtype) for kind in found[: loop.num_out]]
        states = found[loop.num_out :]
        for number, (place, state) in enumerate(zip(loop.carried, states, strict=True)):
            if state != types[place]:
                raise ShapeError(
                    f"foreach: state {number} must keep its shape and dtype from row to row, but "
                    f"it begins as {types[place]} and the body makes it {state}"
                )
        split, shown = loop.num_out - loop.kept, loop.num_states
        return (
            *outs[:split],
            *states[:shown],
            *self.counts_type,
            *states[shown:],
            *outs[split:],
        )

    def compute(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Scans the rows."""
        loop = self.loop

        def step(before: Any, rows: Any) -> Any:
            states, most = before
            inputs = [*rows, *operands[loop.num_data :]]
            for place, state in zip(loop.carried, states, strict=True):
                inputs[place] = state
            made, counts = self.parts[0].run_counting(platform, inputs, scalars)
            most = most if counts is None else jnp.maximum(most, counts)
            return (made[loop.num_out :], most), made[: loop.num_out]

        first = [operands[place] for place in loop.carried]
        rows = [
            array.reshape(array.shape[:1] + (array.shape[1:] or self._row))
            for array in operands[: loop.num_data]
        ]
        length = None if rows else loop.length
        start = (first, jnp.zeros(self.num_unbounded, "int32") if self.num_unbounded else None)
        (states, most), outs = lax.scan(step, start, rows, length=length, reverse=loop.reverse)
        split, shown = loop.num_out - loop.kept, loop.num_states
        counts = [most] if self.num_unbounded else []
        return [*outs[:split], *states[:shown], *counts, *states[shown:], *outs[split:]]

    # -- its gradient ------------------------------------------------------------------------

    def keeping(self, types: Types) -> ForeachCall:
        """Returns the call that also keeps what its gradient needs, for inputs of these types.

        It has no effects: random state and overwritten arrays are ordinary inputs and outputs.
        """
        if self.split is not None or self.num_unbounded:
            return self
        made = self._kept.get(types)
        if made is None:
            made = self._kept.setdefault(types, self._keep(types))
        return made

    def _keep(self, types: Types) -> ForeachCall:
        body, loop = self.parts[0], self.loop
        rows = self.row_types(types)
        found = infer_types(body.graph, rows)
        floats = [i for i, kind in enumerate(rows) if is_float(kind.dtype)]
        given = [
            i
            for i, edge in enumerate(body.graph.outputs)
            if is_float(found[edge.node][edge.index].dtype)
        ]
        split = differentiate(body.graph, floats, given, found)
        # The states that each row began with are kept too, where they are needed.
        used = [Edge(body.graph.inputs[i], 0) for i in split.uses if i in loop.carried]
        kept = (*split.residuals, *used)
        outputs = (*split.heads[: loop.num_out], *kept, *split.heads[loop.num_out :])
        return shared(
            ForeachCall(
                Subgraph(Graph(body.graph.inputs, outputs), body.places),
                replace(loop, num_out=loop.num_out + len(kept), kept=len(kept)),
                self.num_scalars,
                split=split,
            )
        )

    def unkept(self) -> ForeachCall:
        """Returns the call for which what this one keeps are stacked outputs like the others."""
        loop = replace(self.loop, kept=0)
        return shared(ForeachCall(self.parts[0], loop, self.num_scalars))

    def gradient(self, back: Backward) -> Sequence[Operand | None]:
        """Runs the gradient of the body backward over the rows."""
        return gradient_of_kept(self, back)

    def run_back(self, back: Backward, types: Types) -> list[Any]:
        """Runs the gradient of a call that keeps what is needed for it.

        Args:
            back: of this call.
            types: of the inputs.
        """
        loop, split = self.loop, self.split
        assert split is not None
        num_out = loop.num_out - loop.kept
        # Of the body's outputs those count that have a gradient, and every state.
        given = tuple(i for i in split.given if i >= num_out or back.grads[i] is not None)
        wanted = tuple(i for i in split.positions if back.wanted[i] or i in loop.carried)
        key = (types, given, wanted)
        if key not in self._reverse:
            self._reverse[key] = self._make_reverse(types, given, wanted)
        reverse = self._reverse[key]
        heads = {
            i: back.outputs[i].zeros_like() if back.grads[i] is None else back.grads[i]
            for i in reverse.given
        }
        operands = [
            *back.outputs[num_out + len(loop.carried) :],
            *(self._with_rows(back.inputs[i], types[i]) for i in reverse.rows),
            *(head for i, head in heads.items() if i < num_out),
            *(head for i, head in heads.items() if i >= num_out),
            *(back.inputs[i].zeros_like() for i in reverse.summed),
            *(back.inputs[i] for i in reverse.read),
        ]
        made = back.apply(reverse.call, operands, back.scalars)
        grads: list[Any] = [None] * len(back.inputs)
        states = [loop.carried[i - num_out] for i in reverse.given if i >= num_out]
        places = (*reverse.row_grads, *states, *reverse.summed)
        for place, grad in zip(places, made, strict=True):
            grads[place] = grad
            if place < loop.num_data and loop.flat and len(types[place].shape) == 1:
                grads[place] = grad.reshape_like(back.inputs[place])
        return grads

    def _with_rows(self, data: Any, type: TensorType) -> Any:
        """Returns an array whose rows have the shape that the body takes."""
        return data.expand_dims(1) if self.loop.flat and len(type.shape) == 1 else data

    def _make_reverse(
        self, types: Types, given: tuple[int, ...], wanted: tuple[int, ...]
    ) -> _Reverse:
        loop, split, inputs = self.loop, self.split, self.parts[0].graph.inputs
        assert split is not None
        num_out = loop.num_out - loop.kept
        kept_states = [i for i in split.uses if i in loop.carried]
        if given != split.given:
            known = infer_types(split.forward, self.row_types(types))
            split = narrowed(split, given, known) or split
        count = split.num_residuals
        ends = count, count + len(split.uses)
        residuals, heads = split.backward.inputs[:count], split.backward.inputs[ends[1] :]
        rows = tuple(i for i in split.uses if i < loop.num_data)
        read = tuple(i for i in split.uses if i >= loop.num_data and i not in loop.carried)
        by_output = dict(zip(split.given, heads, strict=True))
        states = {i: node for i, node in by_output.items() if i >= num_out}
        number = dict(zip(split.positions, split.wanted, strict=True))
        flows = [i for i in wanted if number[i] is not None and i not in loop.carried]
        row_grads = tuple(i for i in flows if i < loop.num_data)
        summed = tuple(i for i in flows if i >= loop.num_data)

        def grad(position: int) -> Edge:
            found = number[position]
            assert found is not None
            return split.backward.outputs[found]

        state_grads = []
        for i, head in states.items():
            place = loop.carried[i - num_out]
            none = number[place] is None  # the body does not read this state
            state_grads.append(_apply("zeros_like", Edge(head, 0)) if none else grad(place))
        sums = [variable(f"sum{i}") for i in summed]
        front = (
            *residuals,
            *(inputs[i] for i in kept_states),
            *(inputs[i] for i in rows),
            *(node for i, node in by_output.items() if i < num_out),
        )
        graph = Graph(
            (*front, *states.values(), *sums, *(inputs[i] for i in read)),
            (
                *(grad(i) for i in row_grads),
                *state_grads,
                *(
                    _apply("elemwise_add", Edge(s, 0), grad(i))
                    for s, i in zip(sums, summed, strict=True)
                ),
            ),
        )
        carried = tuple(range(len(front), len(front) + len(states) + len(sums)))
        back_loop = ForeachSpec(
            len(front), len(row_grads), carried, len(carried), self.rows(types), not loop.reverse
        )
        call = shared(
            ForeachCall(Subgraph(graph, self.parts[0].places), back_loop, self.num_scalars)
        )
        return _Reverse(call, rows, read, split.given, row_grads, summed)


@final
@dataclass(frozen=True)
class _Reverse:
    """The loop backward.

    Its inputs are what was kept, arrays of rows, the gradients of stacked outputs, those of the
    last states, zeros to sum up to, and what each row reads.

    Attributes:
        call: the loop; its outputs are the gradients.
        rows: the inputs of the loop forward, by number, that are read row by row.
        read: those that each row reads.
        given: the body's outputs whose gradients it takes.
        row_grads: the arrays of rows whose gradients it gives.
        summed: the inputs whose gradients it sums up.
    """

    call: ForeachCall
    rows: tuple[int, ...]
    read: tuple[int, ...]
    given: tuple[int, ...]
    row_grads: tuple[int, ...]
    summed: tuple[int, ...]


def _apply(name: str, *inputs: Edge) -> Edge:
    return Edge(Node(get(name).bind({})[0], inputs, name), 0)


def gradient_of_kept(call: ControlCall, back: Backward) -> Sequence[Any]:
    """Runs the gradient of a loop; where it kept too little for that, it is run again.

    Args:
        call: one with `keeping`.
        back: of it.
    """
    if call.num_unbounded:
        return unbounded_gradient(call, back)
    types = gradient_types(call, back)
    grads = list(back.grads)
    if isinstance(call, ForeachCall) and call.split is not None:
        count = call.loop.num_out - call.loop.kept
        ends = count + len(call.loop.carried)
        if all(grad is None for grad in grads[ends:]):
            return call.run_back(back, types)
        # Of second order: what was kept is an output like the others.
        call = call.unkept()
        grads = [*grads[:count], *grads[ends:], *grads[count:ends]]
    kept = call.with_train(True).keeping(types)
    assert isinstance(kept, ForeachCall)
    outputs = back.apply(kept, back.inputs, back.scalars)
    grads += [None] * (len(outputs) - len(grads))
    return kept.run_back(replace(back, call=kept, outputs=outputs, grads=grads), types)


def open_foreach(
    body: Graph,
    num_data: int,
    num_states: int,
    num_out: int,
    *,
    flat: bool = True,
    reverse: bool = False,
) -> Any:
    """Returns the call of a symbol's body, and the numbers in it.

    Args:
        body: its inputs are rows, states, and what all rows read; its outputs those to be stacked,
            and the new states.
        num_data: how many rows.
        num_states: how many states.
        num_out: how many outputs are to be stacked.
        flat: whether a row of an array of one dimension has shape (1,), and not ().
        reverse: whether the last row comes first.
    """
    (part,), scalars = opened(body)
    ready = prepare(body, True)
    count = len(body.inputs)
    written = [i for i in ready.writes if i < count]
    carried = (*range(num_data, num_data + num_states), *written, *([count] if ready.draws else []))
    loop = ForeachSpec(num_data, num_out, carried, num_states, reverse=reverse, flat=flat)
    return ForeachCall(part, loop, len(scalars), True, written, ready.draws), scalars
