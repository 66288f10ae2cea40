"""`Function`: an operation with a gradient written in Python over NDArrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from hybridnet import tape
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import recorder

from ._function_call import NOT_AGAIN, FunctionCall, SavedCall
from .scopes import pause

__all__ = ["Function"]


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
    # Where each saved array is found on the way back: input i is i, output i is ~i; None for an
    # array that is kept as it is. In a traced function these are inputs of the call too.
    _places: tuple[int | None, ...] = ()
    _recorded = False

    def save_for_backward(self, *args: NDArray) -> None:
        """Keeps arrays for `backward`, where they are `saved_tensors`."""
        self._saved = args

    @property
    def saved_tensors(self) -> tuple[NDArray, ...]:
        """The arrays that `save_for_backward` kept. They may be set, and let go of by None."""
        return self._saved

    @saved_tensors.setter
    def saved_tensors(self, arrays: Sequence[NDArray] | None) -> None:
        self._saved = () if arrays is None else tuple(arrays)

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
        recording = tape.state.recording and bool(inputs)
        if recording and self._recorded:
            raise MXNetError(
                f"{name}: this instance was called before and holds what its backward needs; "
                f"make a new one for each call: {name}()(x)"
            )
        with pause(train_mode=tape.state.training):
            result = self.forward(*inputs)
        if not recording:
            return result
        single = not isinstance(result, (list, tuple))
        results = [result] if single else list(result)
        # Fresh handles: forward may return one of its inputs, which has its own place on the tape.
        outputs = [array.detach() for array in results]
        places = [_place(array, inputs, results) for array in self._saved]
        outputs = self._record(inputs, outputs, places)
        return outputs[0] if single else type(result)(outputs)

    def _record(
        self, inputs: Sequence[NDArray], outputs: list[NDArray], places: list[int | None]
    ) -> list[NDArray]:
        """Puts this on the tape; returns the outputs with their places there."""
        call = FunctionCall(self, len(inputs), len(outputs), inputs[0].context)
        if recorder.current_trace() is not None:
            others = [i for i, place in enumerate(places) if place is None]
            saved = SavedCall(call.name)
            operands = [*inputs, *outputs]
            for i in others:
                places[i] = len(operands)
                operands += NDArray.apply_call(saved, [self._saved[i].detach(), *inputs])
            made: list[NDArray] = NDArray.apply_call(call, operands)
            if made[0].edge is not None:
                self._places, self._recorded, self._saved = tuple(places), True, ()
            return made
        if call.record(inputs, outputs):
            self._places, self._recorded = tuple(places), True
        return outputs

    def run_backward(
        self, inputs: Sequence[NDArray], outputs: Sequence[NDArray], grads: Sequence[NDArray]
    ) -> Any:
        """Runs `backward` with the saved arrays as the tape has them (for the inside of autograd).

        These have the values that `forward` saw, whatever was done to the arrays since, and their
        own place on the tape, so that the walk back can itself be recorded.
        """
        saved = []
        for index, place in enumerate(self._places):
            if place is None:
                if tape.state.recording:
                    raise MXNetError(NOT_AGAIN.format(name=type(self).__name__))
                if index >= len(self._saved):
                    raise MXNetError(
                        f"{type(self).__name__}: backward runs again, and has let go of what "
                        "it needs: it set saved_tensors to None"
                    )
                saved.append(self._saved[index])
            else:
                saved.append(inputs[place] if place >= 0 else outputs[~place])
        self._saved = tuple(saved)
        return self.backward(*grads)


def _place(array: NDArray, inputs: Sequence[Any], results: Sequence[Any]) -> int | None:
    for index, x in enumerate(inputs):
        if x is array:
            return index
    for index, result in enumerate(results):
        if result is array:
            return ~index
    return None
