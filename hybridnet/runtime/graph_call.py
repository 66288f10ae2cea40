"""`GraphCall`: a graph that is run as one call, like an operator.

A traced function, a hybridized block and a bound symbol are each one of these, recorded into the
caller's segment like any operator; so a training step made of them can still become one program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from hybridnet.base.dtype import is_float
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph.evaluate import evaluate, host_scalars_of, infer_types
from hybridnet.graph.gradient import GradientGraph, differentiate
from hybridnet.graph.node import Graph
from hybridnet.ops.backward import vjp_gradient
from hybridnet.ops.call import Backward, Call, Types

__all__ = ["GraphCall"]


@final
class GraphCall(Call):
    """A graph with the types of its inputs fixed.

    Gradients reach it through its visible outputs; the others are states that it updates.

    Attributes:
        graph: what is run.
        input_types: of its inputs.
        hosts: the numbers it asks Python for at each run; given as scalars.
        split: how it was made from a graph to be differentiated; None for any other.
    """

    __slots__ = (
        "_backward",
        "_name",
        "_training",
        "graph",
        "hosts",
        "input_types",
        "output_types",
        "split",
    )

    def __init__(
        self,
        graph: Graph,
        input_types: Types,
        name: str,
        num_visible: int | None = None,
        split: GradientGraph | None = None,
    ) -> None:
        self.graph = graph
        self.input_types = input_types
        self._name = name
        self.hosts = host_scalars_of(graph)
        self.split = split
        self.num_outputs = len(graph.outputs)
        self.num_visible = self.num_outputs if num_visible is None else num_visible
        self.num_scalars = len(self.hosts)
        self.takes_state = False
        types = infer_types(graph, input_types)
        self.output_types: Types = tuple(types[e.node][e.index] for e in graph.outputs)
        self._training: dict[tuple[int, ...], GraphCall] = {}
        self._backward: GraphCall | None = None

    @property
    def name(self) -> str:
        """The name of the function, block or symbol."""
        return self._name

    @property
    def weight(self) -> int:
        """Its operators."""
        return sum(node.call.weight for node in self.graph.nodes if node.call is not None)

    def infer(self, types: Types) -> Types:
        """Returns the types of the outputs; the inputs must have the types it was made for."""
        if types != self.input_types:
            raise ShapeError(
                f"{self.name}: was made for inputs {list(self.input_types)}, got {list(types)}"
            )
        return self.output_types

    def lower(
        self, platform: str, operands: Sequence[Any], scalars: Sequence[Any]
    ) -> Sequence[Any]:
        """Runs the graph's nodes."""
        numbers = dict(zip(self.hosts, scalars, strict=True))
        return evaluate(self.graph, platform, operands, numbers)

    def training(self, wanted: tuple[int, ...]) -> GraphCall:
        """Returns the call that also keeps what its gradient needs, as hidden outputs.

        Args:
            wanted: the inputs whose gradients will be asked for, by number.
        """
        made = self._training.get(wanted)
        if made is None:
            given = [i for i in range(self.num_visible) if is_float(self.output_types[i].dtype)]
            types = infer_types(self.graph, self.input_types)
            split = differentiate(self.graph, wanted, given, types)
            made = GraphCall(split.forward, self.input_types, self.name, self.num_visible, split)
            made = self._training.setdefault(wanted, made)
        return made

    def backward_call(self) -> GraphCall:
        """Returns the gradient of a call made by `training`, as a call.

        Its inputs are the residuals, the forward inputs it uses, and the head gradients.
        """
        assert self.split is not None
        if self._backward is None:
            split = self.split
            types: list[TensorType] = list(
                self.output_types[len(self.output_types) - split.num_residuals :]
            )
            types += [self.input_types[i] for i in split.uses]
            types += [self.output_types[i] for i in split.given]
            self._backward = GraphCall(split.backward, tuple(types), f"_backward_{self.name}")
        return self._backward

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Runs the backward graph on what the forward call kept."""
        split = self.split
        if split is None:
            return vjp_gradient(back)
        first = self.num_outputs - split.num_residuals
        if any(one is not None for i, one in enumerate(back.grads) if i not in split.given):
            # The gradient of a gradient also reaches the residuals.
            return vjp_gradient(back)
        heads = [
            back.outputs[i].zeros_like() if back.grads[i] is None else back.grads[i]
            for i in split.given
        ]
        operands = [*back.outputs[first:], *(back.inputs[i] for i in split.uses), *heads]
        call = self.backward_call()
        numbers = dict(zip(self.hosts, back.scalars, strict=True))
        grads = back.apply(call, operands, tuple(numbers[one] for one in call.hosts))
        result: list[Any] = [None] * len(back.inputs)
        for position, number in zip(split.positions, split.wanted, strict=True):
            if number is not None:
                result[position] = grads[number]
        return result

    def __repr__(self) -> str:
        return f"{self.name}[{len(self.graph.nodes)} nodes]"
