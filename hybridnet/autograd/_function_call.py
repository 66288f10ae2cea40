"""A user's `Function` as a call: on the tape, and in the graphs of traced functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, final

from hybridnet import tape
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.graph import Graph
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import Arrays, Backward, Call, Types
from hybridnet.runtime.calls import GraphCall
from hybridnet.runtime.recording import Value
from hybridnet.runtime.traces import GraphBuilder, Trace

from .scopes import Scope

__all__ = ["NOT_AGAIN", "FunctionCall", "RanCall", "SavedCall", "heads_of"]

#: When gradients of higher order need what a `Function` saved on the way.
NOT_AGAIN: Final = (
    "{name}: create_graph=True needs every array given to save_for_backward to be an input or an "
    "output of forward; compute others again in backward"
)
_CLOSED: Final = (
    "{name}.backward: in a traced function it can compute only with the gradients, what forward "
    "saved, and numbers, but it used another array; give that to save_for_backward in forward"
)


def heads_of(grads: Sequence[NDArray | None], outputs: Sequence[NDArray]) -> list[NDArray]:
    """Returns the gradients of outputs; zeros where nothing depends on one."""
    pairs = zip(grads, outputs, strict=False)
    return [output.zeros_like() if grad is None else grad for grad, output in pairs]


class RanCall(Call):
    """A user's code that ran forward: gives its results, and a gradient to what it was given.

    In a program it computes nothing: its operands are the inputs of the code, then its results,
    then whatever else the gradient reads, and the results are its outputs.

    Args:
        name: of the user's code.
        num_inputs: how many inputs it was given.
        num_outputs: how many results it had.
        ctx: where they are.
    """

    __slots__ = ("_ctx", "_num_inputs", "name")
    symbolic_rule = False
    name: str

    def __init__(self, name: str, num_inputs: int, num_outputs: int, ctx: Context) -> None:
        super().__init__(num_outputs)
        self.name = name
        self._num_inputs = num_inputs
        self._ctx = ctx

    def facts(self) -> Sequence[Any]:
        """The number of inputs and results: the user's code is no part of a program."""
        return self._num_inputs, self.num_outputs

    def infer(self, types: Types) -> Types:
        """The types of the results."""
        return types[self._num_inputs : self._num_inputs + self.num_outputs]

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """The results."""
        return operands[self._num_inputs : self._num_inputs + self.num_outputs]

    def record(self, inputs: Sequence[NDArray], outputs: Sequence[NDArray]) -> bool:
        """Puts this on the tape, and gives the results their places there; whether it is there."""
        node = tape.record_call(
            self,
            tuple(x.edge for x in inputs),
            (),
            tuple(x.read() for x in inputs),
            [x.read() for x in outputs],
            tuple(x.type for x in outputs),
            outputs[0].context,
            inputs[0].context,
        )
        if node is None:
            return False
        for index, output in enumerate(outputs):
            output.set_edge(tape.Edge(node, index))
        return True

    def _checked(self, made: Any, rule: str, each: str) -> list[Any]:
        """Returns what a user's rule has returned: a gradient, or None, for each input.

        Args:
            made: what the rule returned.
            rule, each: what it and an input are called in messages.

        Raises:
            MXNetError: they are more or fewer than the inputs.
            ParameterError: one is no array.
        """
        found = list(made) if isinstance(made, (list, tuple)) else [made]
        if len(found) != self._num_inputs:
            raise MXNetError(
                f"{rule} must return {self._num_inputs} gradients, one for each {each}, "
                f"got {len(found)}"
            )
        for value in found:
            if value is not None and not isinstance(value, NDArray):
                raise ParameterError(f"{rule} must return NDArrays, got {type(value).__name__}")
        return found

    def _traced(
        self, handles: Sequence[Any], training: bool | None, rule: Callable[..., list[Any]]
    ) -> tuple[Trace, list[Value], list[Value | None]]:
        """Traces a user's rule, without recording.

        Returns:
            The trace, what stands in it for the handles, and the gradients.
        """
        trace = Trace(next(tape.order))
        with Scope(False, training), trace:
            starts = [trace.placeholder(handle.type) for handle in handles]
            found = rule([NDArray.from_value(start, self._ctx) for start in starts])
            return trace, starts, [None if value is None else value.read() for value in found]

    def _traced_call(
        self, trace: Trace, values: Sequence[Value | None], start: Value
    ) -> tuple[GraphCall, list[Value]]:
        """Returns the traced gradient as a call, and the values that it is applied to.

        A call has at least one operand, which says what it is applied to: `start`, where the
        gradient needs nothing.
        """
        builder = GraphBuilder(trace.segment)
        graph, needed = builder.graph(
            [builder.edge(value) for value in values if value is not None]
        )
        trace.close()
        if not needed:
            needed = [start]
            graph = Graph((builder.edge(start).node,), graph.outputs)
        call = GraphCall(graph, tuple(value.type for value in needed), f"_backward_{self.name}")
        return call, needed


@final
class FunctionCall(RanCall):
    """A `Function`, the user's instance, that ran forward."""

    __slots__ = ("_function",)

    def __init__(self, function: Any, num_inputs: int, num_outputs: int, ctx: Context) -> None:
        super().__init__(type(function).__name__, num_inputs, num_outputs, ctx)
        self._function = function

    @property
    def own_gradients(self) -> Collection[int]:
        """All results: what the user's rule makes of zeros is the user's affair."""
        return range(self.num_outputs)

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
        made = self._function.run_backward(inputs, outputs, heads_of(grads, outputs))
        return self._checked(made, f"{self.name}.backward", "input of forward")

    def _in_graph(self, back: Backward) -> list[Any]:
        """Traces the user's `backward` and applies it as one call."""
        present = [grad for grad in back.grads if grad is not None]
        handles = [*back.inputs, *back.outputs, *present]
        first, last = len(back.inputs), len(back.inputs) + len(back.outputs)

        def rule(arrays: list[NDArray]) -> list[Any]:
            given = iter(arrays[last:])
            grads = [None if grad is None else next(given) for grad in back.grads]
            return self._run(arrays[:first], arrays[first:last], grads)

        trace, starts, values = self._traced(handles, True, rule)
        call, needed = self._traced_call(trace, values, starts[0])
        by_value = dict(zip(starts, handles, strict=True))
        if any(value not in by_value for value in needed):
            raise MXNetError(_CLOSED.format(name=self.name))
        made = iter(back.apply(call, [by_value[value] for value in needed]))
        return [None if value is None else next(made) for value in values]


@final
class SavedCall(Call):
    """An array that `forward` saved on the way, neither an input nor an output of it.

    Its operands are the array and the inputs of `forward`, on which it depends in a way that is
    not known: a gradient that reaches it cannot go on.
    """

    __slots__ = ("_function_name",)
    symbolic_rule = False

    def __init__(self, function_name: str) -> None:
        self._function_name = function_name
        super().__init__()

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

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """The array."""
        return operands[:1]

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Refused."""
        raise MXNetError(NOT_AGAIN.format(name=self._function_name))
