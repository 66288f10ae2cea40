"""Cells over rows, pictures and volumes, whose gates are convolutions (Shi et al. 2015)."""

from __future__ import annotations

from hybridnet.base.defaults import with_defaults
from hybridnet.base.errors import ParameterError
from hybridnet.initializer.base import InitLike

from ...nn.axes import Sizes, SpatialBlock, deferred, sizes_of
from ...parameter import Parameter, ParameterDict
from ...rnn import HybridRecurrentCell
from ...types import ActivationLike, Data, Operators, StateInfo

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
]


class _BaseConvRNNCell(HybridRecurrentCell, SpatialBlock):
    """Base of the cells here; arguments as `Conv2DLSTMCell`.

    A subclass says what the cell is (gates, number of states), and over how many axes.
    """

    _gates: int
    _num_states = 1

    i2h_weight: Parameter

    def __init__(
        self,
        input_shape: tuple[int, ...],
        hidden_channels: int,
        i2h_kernel: Sizes,
        h2h_kernel: Sizes,
        i2h_pad: Sizes = (0,),
        i2h_dilate: Sizes = (1,),
        h2h_dilate: Sizes = (1,),
        i2h_weight_initializer: InitLike | None = None,
        h2h_weight_initializer: InitLike | None = None,
        i2h_bias_initializer: InitLike | None = "zeros",
        h2h_bias_initializer: InitLike | None = "zeros",
        conv_layout: str = "NCW",
        activation: ActivationLike = "tanh",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_channels = hidden_channels
        self._input_shape = input_shape
        self._conv_layout = conv_layout
        self._activation = activation
        self._channel_axis = conv_layout.find("C")
        kernel = self._sizes("i2h_kernel", i2h_kernel)
        hidden = self._sizes("h2h_kernel", h2h_kernel)
        if any(size % 2 == 0 for size in hidden):
            raise ParameterError(
                f"{type(self).__name__}: h2h_kernel must be odd, so that states keep their size, "
                f"got {h2h_kernel}"
            )
        pad = self._sizes("i2h_pad", i2h_pad)
        dilate = self._sizes("i2h_dilate", i2h_dilate)
        h2h_steps = self._sizes("h2h_dilate", h2h_dilate)
        shared = {
            "stride": (1,) * self._ndim,
            "num_filter": self._gates * hidden_channels,
            "layout": conv_layout,
        }
        self._i2h = {**shared, "kernel": kernel, "pad": pad, "dilate": dilate}
        around = tuple(d * (k - 1) // 2 for d, k in zip(h2h_steps, hidden, strict=True))
        self._h2h = {**shared, "kernel": hidden, "pad": around, "dilate": h2h_steps}
        channels, sizes = self._parted(input_shape)
        after = tuple(
            x + 2 * p - d * (k - 1) if x else 0
            for x, k, p, d in zip(sizes, kernel, pad, dilate, strict=True)
        )
        self._state_shape = self._joined((), hidden_channels, after)
        rows = self._gates * hidden_channels
        for name, shape, init in (
            ("i2h_weight", self._joined((rows,), channels, kernel), i2h_weight_initializer),
            ("h2h_weight", self._joined((rows,), hidden_channels, hidden), h2h_weight_initializer),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        ):
            setattr(self, name, deferred(self, name, shape, init))

    def _sizes(self, name: str, value: Sizes) -> tuple[int, ...]:
        return sizes_of(value, self._ndim, f"{type(self).__name__}: {name}")

    def _parted(self, shape: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """Returns the channels and the sizes of inputs without the batch."""
        if self._channel_axis == 1:
            return shape[0], tuple(shape[1:])
        return shape[-1], tuple(shape[:-1])

    def _joined(
        self, first: tuple[int, ...], channels: int, sizes: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Returns a shape in the order of the layout."""
        rest = (channels, *sizes) if self._channel_axis == 1 else (*sizes, channels)
        return (*first, *rest)

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Returns the shape and layout of each state."""
        info: StateInfo = {
            "shape": (batch_size, *self._state_shape),
            "__layout__": self._conv_layout,
        }
        return [info.copy() for _ in range(self._num_states)]

    def hybrid_forward(
        self,
        F: Operators[Data],
        inputs: Data,
        states: list[Data],
        i2h_weight: Data,
        h2h_weight: Data,
        i2h_bias: Data,
        h2h_bias: Data,
    ) -> tuple[Data, list[Data]]:
        """Takes one step."""
        at = f"t{self._counter}_"
        i2h = F.Convolution(inputs, i2h_weight, i2h_bias, name=at + "i2h", **self._i2h)
        h2h = F.Convolution(states[0], h2h_weight, h2h_bias, name=at + "h2h", **self._h2h)
        return self._stepped(F, i2h, h2h, states, at)

    def _stepped(
        self, F: Operators[Data], i2h: Data, h2h: Data, states: list[Data], at: str
    ) -> tuple[Data, list[Data]]:
        """Returns the output and the states for the parts of the gates."""
        raise NotImplementedError

    def __repr__(self) -> str:
        shape = self.i2h_weight.shape or (0, 0)
        channels = shape[1 if self._channel_axis == 1 else -1]
        shown = f"{channels or None} -> {shape[0]}, {self._activation}, {self._conv_layout}"
        return f"{type(self).__name__}({shown})"


class _ConvRNNCell(_BaseConvRNNCell):
    """Base of Elman's cells."""

    _gates = 1

    def _alias(self) -> str:
        return "conv_rnn"

    def _stepped(
        self, F: Operators[Data], i2h: Data, h2h: Data, states: list[Data], at: str
    ) -> tuple[Data, list[Data]]:
        output = self._get_activation(F, i2h + h2h, self._activation, name=at + "out")
        return output, [output]


class _ConvLSTMCell(_BaseConvRNNCell):
    """Base of the LSTM cells."""

    _gates = 4
    _num_states = 2

    def _alias(self) -> str:
        return "conv_lstm"

    def _stepped(
        self, F: Operators[Data], i2h: Data, h2h: Data, states: list[Data], at: str
    ) -> tuple[Data, list[Data]]:
        i, f, g, o = F.SliceChannel(
            i2h + h2h, num_outputs=4, axis=self._channel_axis, name=at + "slice"
        )
        i = F.Activation(i, act_type="sigmoid", name=at + "i")
        f = F.Activation(f, act_type="sigmoid", name=at + "f")
        g = self._get_activation(F, g, self._activation, name=at + "c")
        o = F.Activation(o, act_type="sigmoid", name=at + "o")
        cell = F.elemwise_add(f * states[1], i * g, name=at + "state")
        shown = self._get_activation(F, cell, self._activation)
        hidden = F.elemwise_mul(o, shown, name=at + "out")
        return hidden, [hidden, cell]


class _ConvGRUCell(_BaseConvRNNCell):
    """Base of the GRU cells."""

    _gates = 3

    def _alias(self) -> str:
        return "conv_gru"

    def _stepped(
        self, F: Operators[Data], i2h: Data, h2h: Data, states: list[Data], at: str
    ) -> tuple[Data, list[Data]]:
        cut = {"num_outputs": 3, "axis": self._channel_axis}
        i2h_r, i2h_z, i2h_n = F.SliceChannel(i2h, name=at + "i2h_slice", **cut)
        h2h_r, h2h_z, h2h_n = F.SliceChannel(h2h, name=at + "h2h_slice", **cut)
        reset = F.Activation(i2h_r + h2h_r, act_type="sigmoid", name=at + "r_act")
        update = F.Activation(i2h_z + h2h_z, act_type="sigmoid", name=at + "z_act")
        new = self._get_activation(F, i2h_n + reset * h2h_n, self._activation, name=at + "h_act")
        output = F.elemwise_add((1.0 - update) * new, update * states[0], name=at + "out")
        return output, [output]


_two = with_defaults(i2h_pad=(0, 0), i2h_dilate=(1, 1), h2h_dilate=(1, 1), conv_layout="NCHW")
_three = with_defaults(
    i2h_pad=(0, 0, 0), i2h_dilate=(1, 1, 1), h2h_dilate=(1, 1, 1), conv_layout="NCDHW"
)


class Conv1DRNNCell(_ConvRNNCell, ndim=1):
    """Elman's cell over rows; arguments as `Conv2DLSTMCell`."""


@_two
class Conv2DRNNCell(_ConvRNNCell, ndim=2):
    """Elman's cell over pictures; arguments as `Conv2DLSTMCell`."""


@_three
class Conv3DRNNCell(_ConvRNNCell, ndim=3):
    """Elman's cell over volumes; arguments as `Conv2DLSTMCell`."""


class Conv1DLSTMCell(_ConvLSTMCell, ndim=1):
    """An LSTM cell over rows; arguments as `Conv2DLSTMCell`."""


@_two
class Conv2DLSTMCell(_ConvLSTMCell, ndim=2):
    """An LSTM cell over pictures.

    Args:
        input_shape: of the inputs, without the batch; 0 for a size that is not known.
        hidden_channels: channels of each state.
        i2h_kernel, i2h_pad, i2h_dilate: of the convolution of the inputs.
        h2h_kernel, h2h_dilate: of that of the hidden state; the kernel is odd.
        i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
            h2h_bias_initializer: first values.
        conv_layout: 'NCHW' or 'NHWC'.
        activation: the name of an activation, or a function.
        prefix, params: see `gluon.Block`.

    Inputs (batch, *input_shape) and a list of the states; output as a state, and the new states.
    """


@_three
class Conv3DLSTMCell(_ConvLSTMCell, ndim=3):
    """An LSTM cell over volumes; arguments as `Conv2DLSTMCell`."""


class Conv1DGRUCell(_ConvGRUCell, ndim=1):
    """A GRU cell over rows; arguments as `Conv2DLSTMCell`."""


@_two
class Conv2DGRUCell(_ConvGRUCell, ndim=2):
    """A GRU cell over pictures; arguments as `Conv2DLSTMCell`."""


@_three
class Conv3DGRUCell(_ConvGRUCell, ndim=3):
    """A GRU cell over volumes; arguments as `Conv2DLSTMCell`."""
