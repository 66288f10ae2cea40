"""Rules of operators that slide a window over the spatial axes of their data.

Data are (batch, channel, *spatial) or, with the channels last, (batch, *spatial, channel).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from hybridnet.base.attrs import Shape
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type

from ...core.checks import fill, require_floats, require_one_dtype, require_shape
from ...core.operator import Shapes, describe
from ...core.rules import UNKNOWN

_CHANNEL_FIRST: Final = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
_CHANNEL_LAST: Final = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


def _is_channel_last(layout: str | None) -> bool:
    return layout is not None and layout.endswith("C")


def split(shape: tuple[int, ...], layout: str | None) -> tuple[int, tuple[int, ...]]:
    """Returns the channels and the spatial shape of (batch, channel, *spatial) by layout."""
    return (shape[-1], shape[1:-1]) if _is_channel_last(layout) else (shape[1], shape[2:])


def joined(batch: int, channel: int, spatial: Sequence[int], layout: str | None) -> Shape:
    """The inverse of `split`, for data and, its filters as the batch, for weights."""
    if _is_channel_last(layout):
        return (batch, *spatial, channel)
    return (batch, channel, *spatial)


def check_data(op: str, data: TensorType, ndim: int, layout: str | None, why: str) -> None:
    """Checks dtype, rank and layout; `ndim` counts the spatial axes, `why` says what set it."""
    require_floats(op, ("data",), (data,))
    if ndim not in _CHANNEL_FIRST:
        raise ShapeError(f"{op}: must slide along 1, 2 or 3 axes, got {ndim} for {why}")
    if len(data.shape) != ndim + 2:
        raise ShapeError(f"{op}: data must have {ndim + 2} dimensions for {why}, got data {data}")
    if layout not in (None, _CHANNEL_FIRST[ndim], _CHANNEL_LAST[ndim]):
        raise ParameterError(
            f"{op}: layout must be {_CHANNEL_FIRST[ndim]} or {_CHANNEL_LAST[ndim]} for {why}, "
            f"got {layout!r}"
        )


def per_axis(op: str, params: Mapping[str, Any], name: str, default: int) -> tuple[int, ...]:
    """Returns a parameter with one number for each axis of the kernel."""
    kernel, value = params["kernel"], params[name]
    value = value or (default,) * len(kernel)
    if set(value[len(kernel) :]) == {default}:
        value = value[: len(kernel)]  # numbers for axes that are not there, and that say nothing
    least = 0 if default == 0 else 1
    if len(value) != len(kernel) or min(value) < least:
        raise ParameterError(
            f"{op}: {name} must have one number >= {least} for each axis of kernel {kernel}, "
            f"got {value}"
        )
    return tuple(value)


def check_kernel(op: str, kernel: tuple[int, ...]) -> None:
    """Checks that the kernel was given, and is not empty along any axis."""
    if not kernel or min(kernel) < 1:
        raise ParameterError(f"{op}: kernel must be a tuple of numbers >= 1, got {kernel}")


def check_sizes(op: str, data: TensorType, sizes: Sequence[int], params: Any) -> None:
    """Checks that the output's spatial sizes are not empty."""
    if min(sizes) < 1:
        got = ", ".join(
            f"{name} {params[name]}" for name in ("kernel", "pad", "dilate") if name in params
        )
        raise ShapeError(
            f"{op}: the window must fit into the padded data, got data {data} with {got}, "
            f"which gives an output of {tuple(sizes)}"
        )


def filter_inputs(*, no_bias: bool, **_: Any) -> Sequence[str]:
    """Returns the names of the inputs that a convolution takes."""
    return ("data", "weight") if no_bias else ("data", "weight", "bias")


@final
@dataclass(frozen=True)
class Filters:
    """The rules of an operator whose windows are filters with learned weights.

    Attributes:
        op: its name.
        sizes: (data, params) -> the spatial sizes of the output; checks the settings they come of.
        channels: (channels of data, num_filter, num_group) -> the weight's first axis, and its
            channel axis.
    """

    op: str
    sizes: Callable[[TensorType, Mapping[str, Any]], tuple[int, ...]]
    channels: Callable[[int, int, int], tuple[int, int]]

    def check(self, *types: TensorType, **params: Any) -> None:
        """Raises unless window, data, weight and bias fit one another."""
        data, kernel, layout = types[0], params["kernel"], params["layout"]
        check_kernel(self.op, kernel)
        check_data(self.op, data, len(kernel), layout, f"kernel {kernel}")
        channel, _ = split(data.shape, layout)
        group, filters = params["num_group"], params["num_filter"]
        if channel % group or filters % group:
            raise ParameterError(
                f"{self.op}: num_group must divide the {channel} channels of data {data} and "
                f"num_filter={filters}, got {group}"
            )
        check_sizes(self.op, data, self.sizes(data, params), params)
        names = filter_inputs(**params)
        if len(types) != len(names):
            raise ParameterError(
                f"{self.op}: requires a bias unless no_bias=True, got {describe(names, types)}"
            )
        require_one_dtype(self.op, names, types)
        because = f"kernel {kernel}, num_filter={filters}, num_group={group} and data {data}"
        require_shape(self.op, "weight", types[1], self._weight(channel, params), because)
        if len(types) > 2:
            require_shape(self.op, "bias", types[2], (filters,), f"num_filter={filters}")

    def infer(self, data: TensorType, *_: TensorType, **params: Any) -> tuple[TensorType]:
        """Returns the type of the output."""
        sizes = self.sizes(data, params)
        shape = joined(data.shape[0], params["num_filter"], sizes, params["layout"])
        return (tensor_type(shape, data.dtype),)

    def complete(self, shapes: Shapes, **params: Any) -> Shapes:
        """Fills in the shapes of weight and bias."""
        data, weight, *bias = shapes
        known = data is not None and len(data) == len(params["kernel"]) + 2
        channel = split(data, params["layout"])[0] if data is not None and known else UNKNOWN
        biases = [fill(shape, (params["num_filter"],)) for shape in bias]
        return [data, fill(weight, self._weight(channel, params)), *biases]

    def _weight(self, channel: int, params: Mapping[str, Any]) -> Shape:
        first, second = self.channels(channel, params["num_filter"], params["num_group"])
        return joined(first, second, params["kernel"], params["layout"])
