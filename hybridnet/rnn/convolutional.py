"""Cells over pictures, whose gates are convolutions (Shi et al., "Convolutional LSTM", 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet import symbol
from hybridnet.base.defaults import with_defaults
from hybridnet.base.errors import ParameterError
from hybridnet.initializer.base import InitLike
from hybridnet.symbol import Symbol

from .base import ActivationOfSymbols, BaseRNNCell, RNNParams, SymbolState
from .weighted import gru_step, lstm_step

__all__ = ["BaseConvRNNCell", "ConvGRUCell", "ConvLSTMCell", "ConvRNNCell"]


def _leaky(x: Symbol, **kwargs: Any) -> Symbol:
    return symbol.LeakyReLU(x, act_type="leaky", slope=0.2, **kwargs)


class BaseConvRNNCell(BaseRNNCell):
    """Base of the cells over pictures; arguments as `ConvLSTMCell`."""

    def __init__(
        self,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: Sequence[int] = (3, 3),
        h2h_dilate: Sequence[int] = (1, 1),
        i2h_kernel: Sequence[int] = (3, 3),
        i2h_stride: Sequence[int] = (1, 1),
        i2h_pad: Sequence[int] = (1, 1),
        i2h_dilate: Sequence[int] = (1, 1),
        i2h_weight_initializer: InitLike | None = None,
        h2h_weight_initializer: InitLike | None = None,
        i2h_bias_initializer: InitLike | None = "zeros",
        h2h_bias_initializer: InitLike | None = "zeros",
        activation: ActivationOfSymbols = _leaky,
        prefix: str = "",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        if any(size % 2 == 0 for size in h2h_kernel):
            raise ParameterError(
                f"{type(self).__name__}: h2h_kernel must be odd, so that states keep their size, "
                f"got {tuple(h2h_kernel)}"
            )
        self._num_hidden = num_hidden
        self._input_shape = input_shape
        self._conv_layout = conv_layout
        self._activation = activation
        self._i2h = {
            "kernel": i2h_kernel,
            "stride": i2h_stride,
            "pad": i2h_pad,
            "dilate": i2h_dilate,
            "layout": conv_layout,
        }
        pairs = zip(h2h_dilate, h2h_kernel, strict=True)
        self._h2h = {
            "kernel": h2h_kernel,
            "dilate": h2h_dilate,
            "pad": tuple(dilate * (size - 1) // 2 for dilate, size in pairs),
            "stride": (1, 1),
            "layout": conv_layout,
        }
        state = symbol.Convolution(symbol.var("data"), num_filter=num_hidden, **self._i2h)
        (shape,) = state.infer_shape(data=tuple(input_shape))[1]
        self._state_shape = (0, *shape[1:])
        self._iW = self.params.get("i2h_weight", init=i2h_weight_initializer)
        self._hW = self.params.get("h2h_weight", init=h2h_weight_initializer)
        self._iB = self.params.get("i2h_bias", init=i2h_bias_initializer)
        self._hB = self.params.get("h2h_bias", init=h2h_bias_initializer)

    @property
    def state_info(self) -> list[SymbolState]:
        """The shape and layout of each state."""
        return [{"shape": self._state_shape, "__layout__": self._conv_layout} for _ in range(2)]

    def _conv_forward(
        self, inputs: Symbol, states: Sequence[Symbol], name: str
    ) -> tuple[Symbol, Symbol]:
        """Returns the parts of all gates that the inputs and the hidden state make."""
        filters = self._num_hidden * self._num_gates
        i2h = symbol.Convolution(
            inputs, self._iW, self._iB, num_filter=filters, name=name + "i2h", **self._i2h
        )
        h2h = symbol.Convolution(
            states[0], self._hW, self._hB, num_filter=filters, name=name + "h2h", **self._h2h
        )
        return i2h, h2h

    def _activated(self, x: Symbol, **kwargs: Any) -> Symbol:
        return self._get_activation(x, self._activation, **kwargs)

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Takes one step; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(inputs, states)")


@with_defaults(prefix="ConvRNN_")
class ConvRNNCell(BaseConvRNNCell):
    """Elman's cell over pictures; arguments as `ConvLSTMCell`."""

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("",)

    @property
    def state_info(self) -> list[SymbolState]:
        """The shape and layout of the state."""
        return super().state_info[:1]

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Takes one step."""
        self._counter += 1
        at = f"{self._prefix}t{self._counter}_"
        i2h, h2h = self._conv_forward(inputs, states, at)
        output = self._activated(i2h + h2h, name=at + "out")
        return output, [output]


@with_defaults(prefix="ConvLSTM_")
class ConvLSTMCell(BaseConvRNNCell):
    """An LSTM cell over pictures.

    Args:
        input_shape: of the inputs, with any batch size.
        num_hidden: channels of each state.
        h2h_kernel, h2h_dilate: of the convolution of the hidden state; the kernel is odd.
        i2h_kernel, i2h_stride, i2h_pad, i2h_dilate: of the convolution of the inputs.
        i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
            h2h_bias_initializer: first values.
        activation: the name of an activation, or a function of symbols.
        prefix: of the names of its nodes and variables.
        params: variables to share with other cells.
        conv_layout: 'NCHW' or 'NHWC'.
    """

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("_i", "_f", "_c", "_o")

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Takes one step."""
        self._counter += 1
        at = f"{self._prefix}t{self._counter}_"
        i2h, h2h = self._conv_forward(inputs, states, at)
        axis = self._conv_layout.find("C")
        return lstm_step(i2h + h2h, states, at, self._activated, axis)


@with_defaults(prefix="ConvGRU_")
class ConvGRUCell(BaseConvRNNCell):
    """A GRU cell over pictures; arguments as `ConvLSTMCell`."""

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("_r", "_z", "_o")

    @property
    def state_info(self) -> list[SymbolState]:
        """The shape and layout of the state."""
        return super().state_info[:1]

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Takes one step."""
        self._counter += 1
        at = f"{self._prefix}t{self._counter}_"
        i2h, h2h = self._conv_forward(inputs, states, at)
        axis = self._conv_layout.find("C")
        return gru_step(i2h, h2h, states[0], at, self._activated, axis)
