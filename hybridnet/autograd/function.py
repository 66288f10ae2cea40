"""`Function`: an operation with a gradient written in Python over NDArrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, final

from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.ndarray import NDArray, _tape
from hybridnet.ops.call import Backward, Call, Types

from .scopes import pause

__all__ = ["Function"]


@final
class _FunctionCall(Call):
    """A `Function` on the tape; it never becomes part of a program, its operations do."""

    __slots__ = ("function",)

    def __init__(self, function: Function, num_outputs: int) -> None:
        self.function = function
        self.num_outputs = self.num_visible = num_outputs
        self.num_scalars = 0
        self.takes_state = False

    @property
    def name(self) -> str:
        """The name of the user's class."""
        return type(self.function).__name__

    def infer(self, types: Types) -> Types:
        """Not asked: the outputs exist already."""
        raise MXNetError(f"{self.name} cannot be part of a graph")

    def lower(
        self, platform: str, operands: Sequence[Any], scalars: Sequence[Any]
    ) -> Sequence[Any]:
        """Not asked: the operations inside are recorded one by one."""
        raise MXNetError(f"{self.name} cannot be part of a graph")

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Calls the user's `backward` with the gradients; zeros where nothing depends on one."""
        grads = [
            output.zeros_like() if grad is None else grad
            for grad, output in zip(back.grads, back.outputs, strict=True)
        ]
        self.function._reconnect(back)
        result = self.function.backward(*grads)
        found = list(result) if isinstance(result, (list, tuple)) else [result]
        if len(found) != len(back.inputs):
            raise MXNetError(
                f"{self.name}.backward must return {len(back.inputs)} gradients, one for each "
                f"input of forward, got {len(found)}"
            )
        for one in found:
            if one is not None and not isinstance(one, NDArray):
                raise ParameterError(
                    f"{self.name}.backward must return NDArrays, got {type(one).__name__}"
                )
        return found


class Function(ABC):
    """An operation whose gradient you write yourself.

    Subclass it, define `forward` and `backward` over NDArrays, and call an instance, a new one for
    each call::

        class Sigmoid(autograd.Function):
            def forward(self, x):
                y = 1 / (1 + nd.exp(-x))
                self.save_for_backward(y)
                return y

            def backward(self, dy):
                (y,) = self.saved_tensors
                return dy * y * (1 - y)

        y = Sigmoid()(x)

    Gradients of higher order work where what is saved is an input or an output of `forward`.
    """

    _saved: tuple[NDArray, ...] = ()
    # Where each saved array came from: input i is i, output i is ~i, anything else None.
    _places: tuple[int | None, ...] = ()
    _recorded = False

    def save_for_backward(self, *args: NDArray) -> None:
        """Keeps arrays for `backward`, where they are `saved_tensors`."""
        self._saved = args

    @property
    def saved_tensors(self) -> tuple[NDArray, ...]:
        """What `save_for_backward` kept."""
        return self._saved

    @abstractmethod
    def forward(self, *inputs: NDArray) -> Any:
        """Computes the output, or a tuple of outputs."""

    @abstractmethod
    def backward(self, *output_grads: NDArray) -> Any:
        """Computes the gradient of each input of `forward` from those of its outputs."""

    def __call__(self, *inputs: NDArray) -> Any:
        """Runs `forward`; when recording, puts this on the tape.

        Raises:
            ParameterError: an input is not an NDArray.
            MXNetError: this instance is on the tape already.
        """
        name = type(self).__name__
        for x in inputs:
            if not isinstance(x, NDArray):
                raise ParameterError(f"{name}: inputs must be NDArrays, got {type(x).__name__}")
        recording = _tape.state.recording and bool(inputs)
        if recording and self._recorded:
            raise MXNetError(
                f"{name}: this instance was called before and holds what its backward needs; "
                f"make a new one for each call: {name}()(x)"
            )
        with pause(train_mode=_tape.state.training):
            result = self.forward(*inputs)
        if not recording:
            return result
        single = not isinstance(result, (list, tuple))
        results = [result] if single else list(result)
        # Fresh handles: forward may return one of its inputs, which has its own place on the tape.
        outputs = [one.detach() for one in results]
        node = _tape.record_call(
            _FunctionCall(self, len(outputs)),
            tuple(x.edge for x in inputs),
            (),
            tuple(x.read() for x in inputs),
            [x.read() for x in outputs],
            outputs[0].context,
            inputs[0].context,
        )
        if node is not None:
            self._recorded = True
            self._places = tuple(_place(one, inputs, results) for one in self._saved)
            for index, output in enumerate(outputs):
                output.set_edge(_tape.Edge(node, index))
        return outputs[0] if single else type(result)(outputs)

    def _reconnect(self, back: Backward) -> None:
        """Makes the saved inputs and outputs those of the tape.

        These have the values that `forward` saw, whatever was done to the arrays since, and their
        own place on the tape, so that the walk back can itself be recorded.
        """
        saved = []
        for array, place in zip(self._saved, self._places, strict=True):
            if place is None:
                if _tape.state.recording:
                    raise MXNetError(
                        f"{type(self).__name__}: create_graph=True needs every array given to "
                        "save_for_backward to be an input or an output of forward; compute "
                        "others again in backward"
                    )
                saved.append(array)
            else:
                saved.append(back.inputs[place] if place >= 0 else back.outputs[~place])
        self._saved = tuple(saved)


def _place(array: NDArray, inputs: Sequence[Any], results: Sequence[Any]) -> int | None:
    for index, one in enumerate(inputs):
        if one is array:
            return index
    for index, one in enumerate(results):
        if one is array:
            return ~index
    return None
