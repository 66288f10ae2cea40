"""`Function`: an operation with a gradient written in Python over NDArrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, final

from hybridnet.base.errors import MXNetError
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

    def lower(self, platform: str, operands: Sequence[Any], scalars: Sequence[Any]) -> Sequence[Any]:
        """Not asked: the operations inside are recorded one by one."""
        raise MXNetError(f"{self.name} cannot be part of a graph")

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Calls the user's `backward` with the gradients; zeros where nothing depends on one."""
        grads = [
            output.zeros_like() if grad is None else grad
            for grad, output in zip(back.grads, back.outputs, strict=True)
        ]
        with pause(train_mode=True):
            result = self.function.backward(*grads)
        found = list(result) if isinstance(result, (list, tuple)) else [result]
        if len(found) != len(back.inputs):
            raise MXNetError(
                f"{self.name}.backward must return {len(back.inputs)} gradients, one for each "
                f"input of forward, got {len(found)}"
            )
        return found


class Function(ABC):
    """An operation whose gradient you write yourself.

    Subclass it, define `forward` and `backward` over NDArrays, and call an instance::

        class Sigmoid(autograd.Function):
            def forward(self, x):
                y = 1 / (1 + nd.exp(-x))
                self.save_for_backward(y)
                return y

            def backward(self, dy):
                (y,) = self.saved_tensors
                return dy * y * (1 - y)

        y = Sigmoid()(x)
    """

    def __init__(self) -> None:
        self._saved: tuple[NDArray, ...] = ()

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
        """Runs `forward`; when recording, puts this on the tape."""
        with pause(train_mode=_tape.state.training):
            result = self.forward(*inputs)
        if not _tape.state.recording:
            return result
        single = not isinstance(result, (list, tuple))
        # Fresh handles: forward may return one of its inputs, which has its own place on the tape.
        outputs = [one.detach() for one in ([result] if single else result)]
        edges = tuple(x.edge for x in inputs)
        if not outputs or not inputs:
            return result
        node = _tape.record_call(
            _FunctionCall(self, len(outputs)),
            edges,
            (),
            tuple(x.read() for x in inputs),
            [x.read() for x in outputs],
            outputs[0].context,
            inputs[0].context,
        )
        if node is not None:
            for index, output in enumerate(outputs):
                output.set_edge(_tape.Edge(node, index))
        return outputs[0] if single else type(result)(outputs)
