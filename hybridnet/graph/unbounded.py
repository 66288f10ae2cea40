"""The gradient of loops without a maximum.

XLA's arrays have a size that is known before a program is built, and what backward needs of a loop
is an array with a row for each iteration. So the forward run counts the iterations of each such
loop, those of an inner one at most (see `ControlCall`); the host asks for the counts; and the
gradient is that of the same loops with maxima: the next powers of two, so that few programs serve
all counts. It runs the loops again, keeping what it needs, and then backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from hybridnet.base.context import Context
from hybridnet.base.dtype import is_float
from hybridnet.ops.core import Arrays, Backward, HostOnlyCall, Operand, Scalars, Types

from .evaluate import infer_types
from .node import Edge, Graph, Node, variable
from .split import joint_gradient
from .structure import open_scalars
from .subgraph import RUNNERS, ControlCall, gradient_types, type_of

#: The least maximum of a loop: one program serves the first counts.
_MIN_COUNT = 4


@final
class UnboundedGradient(HostOnlyCall):
    """The gradients of a call with loops that have no maximum.

    Its inputs are the counts, those of the call, and the gradients of some of its outputs.

    Args:
        wanted: the inputs whose gradients it gives, by number.
        given: the outputs whose gradients it is given, by number.

    Attributes:
        of, wanted, given: as given.
        hosts: stand for the call's numbers in the graph that it runs.
    """

    on_host = True
    __slots__ = ("_made", "given", "hosts", "of", "wanted")
    no_gradient = "the gradient of a loop without a maximum is not itself differentiated; give one"

    def __init__(self, of: ControlCall, wanted: tuple[int, ...], given: tuple[int, ...]) -> None:
        self.of = of
        self.wanted = wanted
        self.given = given
        super().__init__(len(wanted), num_scalars=of.num_scalars)
        self.hosts = open_scalars(of.num_scalars)
        self._made: dict[tuple[Types, tuple[int, ...]], tuple[Graph, tuple[int | None, ...]]] = {}

    @property
    def name(self) -> str:
        """As MXNet names gradients."""
        return f"_backward{self.of.name}"

    def infer(self, types: Types) -> Types:
        """A gradient has the type of what it is the gradient of."""
        return tuple(types[1 + i] for i in self.wanted)

    def graph(self, types: Types, counts: Sequence[int]) -> tuple[Graph, tuple[int | None, ...]]:
        """Returns what it computes, once it is known how often the loops were run.

        Args:
            types: of the call's inputs.
            counts: how often each loop was run.

        Returns:
            A graph of the call's inputs and the gradients of its outputs; and for each gradient the
            number of the output that it is, None where it is zeros.
        """
        limits = tuple(max(_MIN_COUNT, 1 << (count - 1).bit_length()) for count in counts)
        made = self._made.get((types, limits))
        if made is None:
            made = self._made.setdefault((types, limits), self._make(types, limits))
        return made

    def _make(self, types: Types, limits: tuple[int, ...]) -> tuple[Graph, tuple[int | None, ...]]:
        call = self.of.with_limits(iter(limits))
        inputs = tuple(variable(f"input{i}") for i in range(len(types)))
        node = Node(call, tuple(Edge(source, 0) for source in inputs), call.name, self.hosts)
        outputs = tuple(Edge(node, index) for index in range(call.num_outputs))
        shown = self.of.num_visible
        given = [number - (number > shown) for number in self.given]  # it does not count
        graph = Graph(inputs, outputs)
        return joint_gradient(graph, self.wanted, given, infer_types(graph, types))

    def run_on_host(
        self, ctx: Context, values: Arrays, scalars: Scalars, record: object
    ) -> list[Any]:
        """Asks for the counts, and has the gradient run."""
        return RUNNERS["unbounded"](self, ctx, values, scalars)


def unbounded_gradient(call: ControlCall, back: Backward) -> Sequence[Operand | None]:
    """Runs the gradient of a call with loops that have no maximum.

    Args:
        back: of it.
    """
    types = gradient_types(call, back)
    closed = call.with_train(True)
    assert isinstance(closed, ControlCall)
    given = tuple(i for i in back.given if is_float(type_of(back.grads[i], call.name).dtype))
    wanted = tuple(i for i, kind in enumerate(types) if back.wanted[i] and is_float(kind.dtype))
    if not given or not wanted:
        return [None] * len(back.inputs)
    made = UnboundedGradient(closed, wanted, given)
    heads = [back.grads[i] for i in given]
    operands = [back.outputs[call.num_visible], *back.inputs, *heads]
    return back.placed(wanted, back.apply(made, operands, back.scalars))
