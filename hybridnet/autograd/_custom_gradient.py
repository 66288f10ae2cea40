"""`custom_gradient`: a function that returns its result and the function for its gradient."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, final

from hybridnet import tape
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.nested import leaves_of, with_leaves
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import Backward
from hybridnet.runtime.calls import GraphCall
from hybridnet.runtime.recording import Value, recorder

from ._function_call import RanCall, heads_of

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
        inputs = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, NDArray)]
        if not tape.state.recording or not inputs:
            return result
        leaves = leaves_of(result)
        outputs = [leaf for leaf in leaves if isinstance(leaf, NDArray)]
        if not outputs:
            return result
        call = _CustomGradient(name, gradient, len(inputs), outputs)
        fresh = iter(call.apply(inputs, [output.detach() for output in outputs]))
        return with_leaves(
            result, [next(fresh) if isinstance(leaf, NDArray) else leaf for leaf in leaves]
        )

    return applied


@final
class _CustomGradient(RanCall):
    """A function that has run, and the user's function for its gradient, which may read others.

    Args:
        num_inputs: how many arguments are arrays.
        outputs: the arrays in its result.
    """

    __slots__ = ("_given", "_gradient", "_graph", "_present")

    def __init__(
        self, name: str, gradient: Callable[..., Any], num_inputs: int, outputs: Sequence[NDArray]
    ) -> None:
        super().__init__(name, num_inputs, len(outputs), outputs[0].context)
        self._gradient: Callable[..., Any] | None = gradient
        #: In a trace: the gradient as a call, what it reads (operands by number, or ~i for the
        #: gradient of result i), and which arguments get one.
        self._graph: GraphCall | None = None
        self._given: list[int] = []
        self._present: list[bool] = []

    def apply(self, inputs: Sequence[NDArray], outputs: Sequence[NDArray]) -> list[NDArray]:
        """Puts this on the tape; returns the results with their places there."""
        if recorder.current_trace() is not None:
            # What the gradient reads is known while the arrays are there: it is traced now.
            operands = [*inputs, *outputs, *self._trace(inputs, outputs)]
            made: list[NDArray] = NDArray.apply_call(self, operands)
            return made
        self.record(inputs, outputs)
        return list(outputs)

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Runs the user's function on the gradients; zeros where nothing depends on a result."""
        heads = heads_of(back.grads, back.outputs)
        rest = [None] * (len(back.inputs) - self._num_inputs)
        if self._gradient is not None:
            return [*self._run(self._gradient, heads), *rest]
        if self._graph is None:
            return [None] * len(back.inputs)
        given = [heads[~number] if number < 0 else back.inputs[number] for number in self._given]
        made = iter(back.apply(self._graph, given))
        return [*(next(made) if present else None for present in self._present), *rest]

    def _run(self, gradient: Callable[..., Any], heads: Sequence[NDArray]) -> list[Any]:
        """Runs the user's function; returns a gradient, or None, for each argument."""
        rule = f"custom_gradient: the gradient of {self.name}"
        return self._checked(gradient(*heads), rule, "argument that is an array")

    def _trace(self, inputs: Sequence[NDArray], outputs: Sequence[NDArray]) -> list[NDArray]:
        """Traces the user's function; returns what it reads beside the gradients it is given.

        The function itself is let go: it may hold arrays of the trace around.
        """
        gradient, self._gradient = self._gradient, None
        assert gradient is not None
        run = functools.partial(self._run, gradient)
        trace, starts, values = self._traced(outputs, None, run)
        if trace.written() or trace.sources:
            raise MXNetError(_WRITES.format(name=self.name))
        captured = {capture.value: capture for capture in trace.captured()}
        call, needed = self._traced_call(trace, values, starts[0])
        self._present = [value is not None for value in values]
        if not any(self._present):
            return []
        self._graph = call
        numbers = {start: ~i for i, start in enumerate(starts)}
        extra: list[NDArray] = []
        for value in needed:
            if value not in numbers:
                numbers[value] = self._num_inputs + len(outputs) + len(extra)
                extra.append(self._outside(value, captured))
        self._given = [numbers[value] for value in needed]
        return extra

    def _outside(self, value: Value, captured: dict[Value, Any]) -> NDArray:
        """Returns the array that a value of the trace stands for."""
        capture = captured.get(value)
        if capture is None:
            return NDArray.from_value(value, self._ctx)
        handle: NDArray | None = capture.handle
        if handle is None:
            raise MXNetError(_WRITES.format(name=self.name))
        whole: NDArray = NDArray.from_storage(capture.storage)
        return whole if capture.edge is None else handle
