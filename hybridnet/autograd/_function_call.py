"""A user's `Function` as a call: on the tape, and in the graphs of traced functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

from hybridnet import tape
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.graph.node import Graph
from hybridnet.ndarray import NDArray
from hybridnet.ops.call import Backward, Call, Types
from hybridnet.runtime.graph_call import GraphCall
from hybridnet.runtime.trace import GraphBuilder, Trace

__all__ = ["NOT_AGAIN", "FunctionCall", "SavedCall"]

#: When gradients of higher order need what a `Function` saved on the way.
NOT_AGAIN: Final = (
    "{name}: create_graph=True needs every array given to save_for_backward to be an input or an "
    "output of forward; compute others again in backward"
)
_CLOSED: Final = (
    "{name}.backward: in a traced function it can compute only with the gradients, what forward "
    "saved, and numbers, but it used another array; give that to save_for_backward in forward"
)


@final
class FunctionCall(Call):
    """A `Function` that ran forward: gives its results, and a gradient to what it was given.

    In a program it computes nothing: its operands are the inputs of `forward`, then the results,
    then whatever else was saved, and the results are its outputs.

    Args:
        function: the user's instance, which has run forward.
        num_inputs: how many inputs `forward` was given.
        num_outputs: how many results it had.
        ctx: where they are.
    """

    __slots__ = ("_ctx", "_function", "_num_inputs")
    symbolic_rule = False

    def __init__(self, function: Any, num_inputs: int, num_outputs: int, ctx: Context) -> None:
        self._function = function
        self._num_inputs = num_inputs
        self._ctx = ctx
        self.num_outputs = self.num_visible = num_outputs
        self.num_scalars = 0
        self.takes_state = False

    @property
    def name(self) -> str:
        """The name of the user's class."""
        return type(self._function).__name__

    def facts(self) -> Sequence[Any]:
        """How many operands are inputs and results: the user's code is no part of a program."""
        return self._num_inputs, self.num_outputs

    def infer(self, types: Types) -> Types:
        """The types of the results."""
        return types[self._num_inputs : self._num_inputs + self.num_outputs]

    def lower(
        self, platform: str, operands: Sequence[Any], scalars: Sequence[Any]
    ) -> Sequence[Any]:
        """The results."""
        return operands[self._num_inputs : self._num_inputs + self.num_outputs]

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Calls the user's `backward` with the gradients; zeros where nothing depends on one."""
        if isinstance(back.inputs[0], NDArray):
            return self._run(back.inputs, back.outputs, back.grads)
        return self._in_graph(back)

    def _run(
        self,
        inputs: Sequence[NDArray],
        outputs: Sequence[NDArray],
        grads: Sequence[NDArray | None],
    ) -> list[Any]:
        given = [
            output.zeros_like() if grad is None else grad
            for grad, output in zip(grads, outputs, strict=True)
        ]
        result = self._function.run_backward(inputs, outputs, given)
        found = list(result) if isinstance(result, (list, tuple)) else [result]
        if len(found) != self._num_inputs:
            raise MXNetError(
                f"{self.name}.backward must return {self._num_inputs} gradients, one for each "
                f"input of forward, got {len(found)}"
            )
        for one in found:
            if one is not None and not isinstance(one, NDArray):
                raise ParameterError(
                    f"{self.name}.backward must return NDArrays, got {type(one).__name__}"
                )
        return found

    def _in_graph(self, back: Backward) -> list[Any]:
        """Traces the user's `backward` and applies it as one call."""
        present = [one for one in back.grads if one is not None]
        handles = [*back.inputs, *back.outputs, *present]
        trace = Trace(next(tape.order))
        before = tape.state.recording, tape.state.training
        tape.state.recording, tape.state.training = False, True
        try:
            with trace:
                starts = [trace.placeholder(one.type) for one in handles]
                arrays = [NDArray.from_value(one, self._ctx) for one in starts]
                split = len(back.inputs), len(back.inputs) + len(back.outputs)
                given = iter(arrays[split[1] :])
                grads = [None if one is None else next(given) for one in back.grads]
                found = self._run(arrays[: split[0]], arrays[split[0] : split[1]], grads)
                values = [None if one is None else one.read() for one in found]
        finally:
            tape.state.recording, tape.state.training = before
        builder = GraphBuilder(trace.segment)
        graph, needed = builder.graph([builder.edge(one) for one in values if one is not None])
        trace.close()
        by_value = dict(zip(starts, handles, strict=True))
        if any(one not in by_value for one in needed):
            raise MXNetError(_CLOSED.format(name=self.name))
        if not needed:  # a call has at least one operand, which says what it is applied to
            needed = starts[:1]
            graph = Graph((builder.edge(starts[0]).node,), graph.outputs)
        call = GraphCall(graph, tuple(one.type for one in needed), f"_backward_{self.name}")
        made = iter(back.apply(call, [by_value[one] for one in needed]))
        return [None if one is None else next(made) for one in values]


@final
class SavedCall(Call):
    """What `forward` saved on the way, which is neither an input nor an output of it.

    Its operands are the array and the inputs of `forward`, on which it depends in a way that is
    not known: a gradient that reaches it cannot go on.
    """

    __slots__ = ("_function_name",)
    symbolic_rule = False

    def __init__(self, function_name: str) -> None:
        self._function_name = function_name
        self.num_outputs = self.num_visible = 1
        self.num_scalars = 0
        self.takes_state = False

    @property
    def name(self) -> str:
        """As it is printed."""
        return f"_saved_{self._function_name}"

    def facts(self) -> Sequence[Any]:
        """Nothing: it always gives its first operand."""
        return ()

    def infer(self, types: Types) -> Types:
        """The type of the array."""
        return types[:1]

    def lower(
        self, platform: str, operands: Sequence[Any], scalars: Sequence[Any]
    ) -> Sequence[Any]:
        """The array."""
        return operands[:1]

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Refused."""
        raise MXNetError(NOT_AGAIN.format(name=self._function_name))
