"""`custom_gradient`: a function that returns its result and the function for its gradient."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, final

from hybridnet import tape
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.nested import leaves_of, with_leaves
from hybridnet.graph.node import Graph
from hybridnet.ndarray import NDArray
from hybridnet.ops.call import Backward, Call, Types
from hybridnet.runtime import recorder
from hybridnet.runtime.graph_call import GraphCall
from hybridnet.runtime.segment import Value
from hybridnet.runtime.trace import GraphBuilder, Trace

__all__ = ["custom_gradient"]

_RETURNS: Final = (
    "custom_gradient: {name} must return its result and a function from the gradients of that to "
    "those of its arguments, got {got}"
)
_WRITES: Final = (
    "custom_gradient: in a traced function the gradient of {name} can compute, but neither "
    "overwrite arrays nor draw random numbers"
)


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function's gradient what it says itself. Use as a decorator.

        @hn.custom_gradient
        def log1pexp(x):
            e = hn.nd.exp(x)

            def grad(dy):
                return dy * (1 - 1 / (1 + e))

            return hn.nd.log(1 + e), grad

    The gradient may use what the function computed, is itself differentiated for gradients of
    higher order, and runs in traced functions too. Arrays that the function reads from outside get
    no gradient by it; give them as arguments.

    Args:
        f: returns ``(y, grad)``: an array, or nested lists, tuples and dicts of them, and a
            function that is called with the gradient of each and returns that of each argument that
            is an array: one, or a sequence of them, None for no gradient.
    """

    @functools.wraps(f)
    def applied(*args: Any, **kwargs: Any) -> Any:
        name = getattr(f, "__name__", type(f).__name__)
        made = f(*args, **kwargs)
        if not isinstance(made, (tuple, list)) or len(made) != 2 or not callable(made[1]):
            raise ParameterError(_RETURNS.format(name=name, got=type(made).__name__))
        result, gradient = made
        inputs = [one for one in (*args, *kwargs.values()) if isinstance(one, NDArray)]
        if not tape.state.recording or not inputs:
            return result
        leaves = leaves_of(result)
        outputs = [one for one in leaves if isinstance(one, NDArray)]
        if not outputs:
            return result
        call = _CustomGradient(name, gradient, len(inputs), outputs[0].context)
        fresh = iter(call.apply(inputs, [one.detach() for one in outputs]))
        return with_leaves(
            result, [next(fresh) if isinstance(one, NDArray) else one for one in leaves]
        )

    return applied


@final
class _CustomGradient(Call):
    """A function that has run: gives its results, and a gradient to what it was given.

    In a program it computes nothing: its operands are the function's arguments, its results, and
    what the gradient reads of other arrays; the results are its outputs.

    Args:
        name: of the function.
        gradient: the user's function for the gradient.
        num_inputs: how many arguments are arrays.
        ctx: where the results are.
    """

    __slots__ = ("_ctx", "_given", "_gradient", "_graph", "_name", "_num_inputs", "_present")
    symbolic_rule = False

    def __init__(
        self, name: str, gradient: Callable[..., Any], num_inputs: int, ctx: Context
    ) -> None:
        self._name = name
        self._gradient: Callable[..., Any] | None = gradient
        self._num_inputs = num_inputs
        self._ctx = ctx
        self.num_scalars = 0
        self.takes_state = False
        #: In a trace: the gradient as a call, what it reads (operands by number, or ~i for the
        #: gradient of result i), and which arguments get one.
        self._graph: GraphCall | None = None
        self._given: list[int] = []
        self._present: list[bool] = []

    @property
    def name(self) -> str:
        """The name of the function."""
        return self._name

    def facts(self) -> Sequence[Any]:
        """How many operands are arguments and results: the gradient is no part of the program."""
        return self._num_inputs, self.num_outputs

    def infer(self, types: Types) -> Types:
        """The types of the results."""
        return types[self._num_inputs : self._num_inputs + self.num_outputs]

    def lower(
        self, platform: str, operands: Sequence[Any], scalars: Sequence[Any]
    ) -> Sequence[Any]:
        """The results."""
        return operands[self._num_inputs : self._num_inputs + self.num_outputs]

    def apply(self, inputs: Sequence[NDArray], outputs: Sequence[NDArray]) -> list[NDArray]:
        """Puts this on the tape; returns the results with their places there."""
        self.num_outputs = self.num_visible = len(outputs)
        if recorder.current_trace() is not None:
            # What the gradient reads is known while the arrays are there: it is traced now.
            operands = [*inputs, *outputs, *self._trace(inputs, outputs)]
            made: list[NDArray] = NDArray.apply_call(self, operands)
            return made
        node = tape.record_call(
            self,
            tuple(x.edge for x in inputs),
            (),
            tuple(x.read() for x in inputs),
            [x.read() for x in outputs],
            tuple(x.type for x in outputs),
            self._ctx,
            inputs[0].context,
        )
        if node is not None:
            for index, output in enumerate(outputs):
                output.set_edge(tape.Edge(node, index))
        return list(outputs)

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Runs the user's function on the gradients; zeros where nothing depends on a result."""
        heads = [
            output.zeros_like() if grad is None else grad
            for grad, output in zip(back.grads, back.outputs, strict=False)
        ]
        rest = [None] * (len(back.inputs) - self._num_inputs)
        if self._gradient is not None:
            return [*self._run(self._gradient, heads), *rest]
        if self._graph is None:
            return [None] * len(back.inputs)
        given = [heads[~number] if number < 0 else back.inputs[number] for number in self._given]
        made = iter(back.apply(self._graph, given))
        return [*(next(made) if one else None for one in self._present), *rest]

    def _run(self, gradient: Callable[..., Any], heads: Sequence[NDArray]) -> list[Any]:
        """Runs the user's function; returns a gradient, or None, for each argument."""
        made = gradient(*heads)
        found = list(made) if isinstance(made, (list, tuple)) else [made]
        if len(found) != self._num_inputs:
            raise MXNetError(
                f"custom_gradient: the gradient of {self._name} must return {self._num_inputs} "
                f"gradients, one for each argument that is an array, got {len(found)}"
            )
        for one in found:
            if one is not None and not isinstance(one, NDArray):
                raise ParameterError(
                    f"custom_gradient: the gradient of {self._name} must return NDArrays, got "
                    f"{type(one).__name__}"
                )
        return found

    def _trace(self, inputs: Sequence[NDArray], outputs: Sequence[NDArray]) -> list[NDArray]:
        """Traces the user's function; returns what it reads beside the gradients it is given.

        The function itself is let go: it may hold arrays of the trace around.
        """
        gradient, self._gradient = self._gradient, None
        assert gradient is not None
        trace = Trace(next(tape.order))
        before = tape.state.recording, tape.state.training
        tape.state.recording = False
        try:
            with trace:
                starts = [trace.placeholder(one.type) for one in outputs]
                found = self._run(gradient, [NDArray.from_value(one, self._ctx) for one in starts])
                values = [None if one is None else one.read() for one in found]
        finally:
            tape.state.recording, tape.state.training = before
        if trace.written() or trace.sources:
            raise MXNetError(_WRITES.format(name=self._name))
        builder = GraphBuilder(trace.segment)
        graph, needed = builder.graph([builder.edge(one) for one in values if one is not None])
        captured = {one.value: one for one in trace.captured()}
        trace.close()
        self._present = [one is not None for one in values]
        numbers = {one: ~i for i, one in enumerate(starts)}
        extra: list[NDArray] = []
        for value in needed:
            if value not in numbers:
                numbers[value] = self._num_inputs + len(outputs) + len(extra)
                extra.append(self._outside(value, captured))
        if not any(self._present):
            return []
        if not needed:  # a call has at least one operand, which says what it is applied to
            needed = starts[:1]
            graph = Graph((builder.edge(starts[0]).node,), graph.outputs)
        self._given = [numbers[value] for value in needed]
        self._graph = GraphCall(graph, tuple(one.type for one in needed), f"_backward_{self._name}")
        return extra

    def _outside(self, value: Value, captured: dict[Value, Any]) -> NDArray:
        """Returns the array that a value of the trace stands for."""
        one = captured.get(value)
        if one is None:
            return NDArray.from_value(value, self._ctx)
        handle: NDArray | None = one.handle
        if handle is None:
            raise MXNetError(_WRITES.format(name=self._name))
        if one.edge is not None:
            return handle
        whole: NDArray = NDArray.from_storage(one.storage)
        return whole
