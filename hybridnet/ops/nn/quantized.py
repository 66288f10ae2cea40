"""Layers of 8-bit whole numbers, for networks that were trained with floats.

Each takes, after its arrays, the range of each of them, and returns that of its result. ``int8`` is
centered at 0: 127 stands for the furthest end of the range. ``uint8`` spans it, so that a whole
number of steps, the offset, lies between its 0 and the float 0.

Weights and biases may also have a range for each output channel.

Sums are exact. Kernels for floats compute them, which are the fast ones everywhere: of so few terms
at a time that a float32 holds their sum, and products of 8 bits are exact even where a device
rounds factors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple, cast

import numpy as np

from hybridnet.base.attrs import Platform, Range, Shape
from hybridnet.base.dtype import FLOAT32
from hybridnet.base.errors import DTypeError, ParameterError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax

from ..core.operator import Shapes, describe
from ..core.registry import get, operator
from ..math.quantization import ROUNDED, check_ends, furthest, over, range_type
from .conv import lowerings
from .conv.convolution import Layout, Tune

_EIGHT_BITS: Final = ("int8", "uint8")
OUTPUTS: Final = ("output", "min_output", "max_output")
_INT32: Final = np.dtype(np.int32)
_MAX_INT8: Final = np.float32(127)
_MOST_SUM: Final = np.float32(2**31 - 1)
#: Terms of a sum of products of which a float32 holds each sum exactly.
_MAX_EXACT_TERMS: Final = 2**24 // (255 * 127)


def _with_ranges(names: Sequence[str]) -> list[str]:
    ranges = [f"{end}_{name}" for name in names for end in ("min", "max")]
    return [*names, *ranges]


_INPUTS: Final = tuple(_with_ranges(("data", "weight", "bias")))
_PLAIN: Final = tuple(_with_ranges(("data",)))
_DTYPES: Final = {
    **dict.fromkeys(_INPUTS[3:], "float32"),
    **dict.fromkeys(("weight", "bias"), "int8"),
}


# What all have in common --------------------------------------------------------------------------


def _check_kinds(
    op: str, names: Sequence[str], types: Sequence[TensorType], weighted: bool = False
) -> None:
    """Checks the count and dtypes of arrays and ranges; the layer's own rules check shapes."""
    if len(types) != len(names):
        raise ParameterError(f"{op}: requires {', '.join(names)}, got {len(types)} inputs")
    count = len(names) // 3
    if types[0].dtype.name not in _EIGHT_BITS:
        raise DTypeError(f"{op}: data must be int8 or uint8, got {describe(names, types)}")
    if any(kind.dtype.name != "int8" for kind in types[1:count]):
        raise DTypeError(f"{op}: weight and bias must be int8, got {describe(names, types)}")
    channels = types[1].shape[0] if count > 1 and types[1].shape else 1
    check_ends(op, "the ends of ranges", names, types, count, channels if weighted else 1)


def _as_floats(types: Sequence[TensorType]) -> list[TensorType]:
    return [tensor_type(kind.shape, FLOAT32) for kind in types]


def inferred(layer: str, types: Sequence[TensorType], params: Any) -> TensorType:
    """Returns the type of what a layer of floats makes of arrays of these shapes."""
    infer = get(layer).infer
    assert infer is not None
    (made,) = infer(*_as_floats(types), **params)
    return made


def completed(shapes: Shapes, layer: Shapes) -> Shapes:
    """Returns the shapes of all inputs: those of the arrays, and of the ends of their ranges."""
    return [*layer, *(shape or (1,) for shape in shapes[len(layer) :])]


class _Read(NamedTuple):
    """Data as float32 whole numbers, in steps from the float 0; how large a step is; the offset."""

    steps: Any
    size: Any
    offset: Any


def step_of(dtype: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Returns how large a step is in 8-bit whole numbers of a range, and their offset."""
    if dtype == np.int8:
        return furthest(low, high) / _MAX_INT8, np.float32(0)
    spread = (high - low).reshape(())
    size = jnp.where(spread > 0, spread, 1) / np.float32(255)
    return size, jnp.rint(low.reshape(()) / size)


def read_steps(data: Any, low: Any, high: Any) -> _Read:
    """Returns 8-bit whole numbers of a range as steps from the float 0."""
    size, offset = step_of(data.dtype, low, high)
    return _Read(data.astype(np.float32) + offset, size, offset)


def _written(
    sums: Any, bias: Any, size: Any, bias_range: Sequence[Any], terms: int, spatial: int = 0
) -> Any:
    """Adds the bias to sums whose unit is `size`; returns them and the range of an int32.

    Args:
        sums: int32; the channels, which the bias is for, stand before `spatial` axes.
        bias: int8, or None.
        size: the unit of the sums, or that of each channel.
        bias_range: the ends of the bias's range, or of each channel's.
        terms: how many products each is a sum of.
        spatial: see above.
    """
    after = (1,) * spatial
    if bias is not None:
        ratio = over(furthest(*bias_range) / _MAX_INT8, size)
        whole = (bias.astype(np.float32) * ratio).astype(_INT32)
        sums = sums + whole.reshape(-1, *after)
    if size.shape:  # one unit for all, the smallest with which no sum is too large
        room = _MOST_SUM / np.float32(2 * 255 * 127 * max(terms, 1))
        unit = jnp.maximum(jnp.min(jnp.where(size > 0, size, jnp.inf)), size.max() / room)
        unit = jnp.where(jnp.isfinite(unit), unit, 0)
        sums = jnp.rint(sums * over(size, unit).reshape(-1, *after)).astype(_INT32)
        size = unit
    end = jnp.reshape(size * _MOST_SUM, 1)
    return sums, -end, end


def sums_type(kind: TensorType) -> tuple[TensorType, ...]:
    """Returns the types of int32 sums of a shape, and of both ends of their range."""
    return tensor_type(kind.shape, _INT32), range_type(), range_type()


def _taken(arrays: Sequence[Any], no_bias: bool) -> tuple[list[Any], list[Any]]:
    """Splits what a layer with a weight takes into arrays, bias included, and ranges."""
    given = [array for array in arrays if array is not None]
    count = 2 if no_bias else 3
    return [*given[:count], None][:3], given[count:]


# Layers with weights ------------------------------------------------------------------------------


def _layer_inputs(*, no_bias: bool, **_: Any) -> Sequence[str]:
    return _with_ranges(("data", "weight") if no_bias else ("data", "weight", "bias"))


def _layer_check(op: str, layer: str, types: Sequence[TensorType], params: Any) -> None:
    names = _layer_inputs(**params)
    _check_kinds(op, names, types, weighted=True)
    check = get(layer).check
    assert check is not None
    check(*_as_floats(types[: len(names) // 3]), **params)


def _layer_types(layer: str, types: Sequence[TensorType], params: Any) -> tuple[TensorType, ...]:
    count = len(_layer_inputs(**params)) // 3
    return sums_type(inferred(layer, types[:count], params))


def _layer_cost(layer: str, types: Sequence[TensorType], params: Any) -> float:
    cost = get(layer).cost
    assert cost is not None
    return cost(*_as_floats(types[: len(_layer_inputs(**params)) // 3]), **params)


def _layer_shapes(layer: str, shapes: Shapes, params: Mapping[str, Any]) -> Shapes:
    complete = get(layer).complete
    assert complete is not None
    return completed(shapes, complete(shapes[: len(shapes) // 3], **params))


@operator(
    "_contrib_quantized_fully_connected",
    outputs=3,
    takes=_layer_inputs,
    check=lambda *types, **params: _layer_check(
        "quantized_fully_connected", "FullyConnected", types, params
    ),
    infer=lambda *types, **params: _layer_types("FullyConnected", types, params),
    complete=lambda shapes, **params: _layer_shapes("FullyConnected", shapes, params),
    cost=lambda *types, **params: _layer_cost("FullyConnected", types, params),
    input_dtypes=_DTYPES,
    no_gradient=ROUNDED,
    output_names=OUTPUTS,
)
def quantized_fully_connected(
    data: Any,
    weight: Any,
    bias: Any,
    min_data: Any,
    max_data: Any,
    min_weight: Any,
    max_weight: Any = None,
    min_bias: Any = None,
    max_bias: Any = None,
    *,
    num_hidden: Annotated[int, Range(1)],
    no_bias: bool = False,
    flatten: bool = True,
) -> Any:
    """Applies a dense layer of 8-bit whole numbers.

    Args:
        data: int8 or uint8, shaped as for FullyConnected.
        weight: int8, (num_hidden, features).
        bias: int8, (num_hidden,); not taken with no_bias=True.
        min_data: the range of `data`, as quantize_v2 returns it.
        max_data: likewise.
        min_weight: the range of `weight`, or (channels,) of each output channel.
        max_weight: likewise.
        min_bias: the range of `bias`, or (channels,) of each of its numbers.
        max_bias: likewise.
        num_hidden: how many outputs there are for each row.
        flatten: as for FullyConnected.

    Returns:
        int32 sums, and the range of which the greatest int32 stands for the end.
    """
    (data, weight, bias), ends = _taken(
        (data, weight, bias, min_data, max_data, min_weight, max_weight, min_bias, max_bias),
        no_bias,
    )
    read, filters = read_steps(data, *ends[:2]), weight.astype(np.float32)
    steps = read.steps
    if flatten:
        steps = steps.reshape(steps.shape[0], math.prod(steps.shape[1:]))
    last = steps.ndim - 1
    sums: Any = 0
    for first in range(0, weight.shape[1], _MAX_EXACT_TERMS):
        part = slice(first, first + _MAX_EXACT_TERMS)
        dimensions = (((last,), (1,)), ((), ()))
        sums = sums + lax.dot_general(steps[..., part], filters[:, part], dimensions).astype(_INT32)
    size = read.size * furthest(*ends[2:4]) / _MAX_INT8
    return _written(sums, bias, size, ends[4:], weight.shape[1])


def _check_conv(*types: TensorType, **params: Any) -> None:
    if params["num_group"] != 1 or (params["layout"] or "NCHW").endswith("C"):
        raise ParameterError(
            "quantized_conv: requires num_group=1 and a layout with the channels before the "
            f"spatial axes, got num_group={params['num_group']}, layout={params['layout']!r}; "
            "leave this layer in floats (excluded_sym_names)"
        )
    _layer_check("quantized_conv", "Convolution", types, params)


@operator(
    "_contrib_quantized_conv",
    outputs=3,
    takes=_layer_inputs,
    check=_check_conv,
    infer=lambda *types, **params: _layer_types("Convolution", types, params),
    complete=lambda shapes, **params: _layer_shapes("Convolution", shapes, params),
    cost=lambda *types, **params: _layer_cost("Convolution", types, params),
    input_dtypes=_DTYPES,
    no_gradient=ROUNDED,
    output_names=OUTPUTS,
)
def quantized_conv(
    data: Any,
    weight: Any,
    bias: Any,
    min_data: Any,
    max_data: Any,
    min_weight: Any,
    max_weight: Any = None,
    min_bias: Any = None,
    max_bias: Any = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: Annotated[int, Range(1)],
    num_group: Annotated[int, Range(1)] = 1,
    workspace: Annotated[int, Range(0)] = 1024,
    no_bias: bool = False,
    cudnn_tune: Tune | None = None,
    cudnn_off: bool = False,
    layout: Layout | None = None,
    platform: Platform,
) -> Any:
    """Slides filters of 8-bit whole numbers over the spatial axes.

    Args:
        data: int8 or uint8, (batch, channel, *spatial).
        weight: int8, (num_filter, channel, *kernel).
        bias: int8, (num_filter,); not taken with no_bias=True.
        min_data: the range of `data`, as quantize_v2 returns it.
        max_data: likewise.
        min_weight: the range of `weight`, or (channels,) of each output channel.
        max_weight: likewise.
        min_bias: the range of `bias`, or (channels,) of each of its numbers.
        max_bias: likewise.
        num_group: 1.
        layout: one with the channels before the spatial axes.

    Returns:
        int32 sums, and the range of which the greatest int32 stands for the end.
    """
    (data, weight, bias), ends = _taken(
        (data, weight, bias, min_data, max_data, min_weight, max_weight, min_bias, max_bias),
        no_bias,
    )
    read, filters = read_steps(data, *ends[:2]), weight.astype(np.float32)
    channels = max(1, _MAX_EXACT_TERMS // math.prod(kernel))
    sums: Any = 0
    for first in range(0, weight.shape[1], channels):
        part = slice(first, first + channels)
        made = lowerings.convolution(
            read.steps[:, part],
            filters[:, part],
            kernel=kernel,
            stride=stride,
            dilate=dilate,
            pad=pad,
            layout=layout,
            platform=cast("lowerings.Platform", platform),
        )
        sums = sums + jnp.rint(made).astype(_INT32)
    size = read.size * furthest(*ends[2:4]) / _MAX_INT8
    return _written(sums, bias, size, ends[4:], math.prod(weight.shape[1:]), len(kernel))


# Layers without -----------------------------------------------------------------------------------


def _plain_types(layer: str, data: TensorType, params: Any) -> tuple[TensorType, ...]:
    made = inferred(layer, [data], params)
    return tensor_type(made.shape, data.dtype), range_type(), range_type()


def _plain_shapes(shapes: Shapes, **_: Any) -> Shapes:
    return completed(shapes, list(shapes[:1]))


def _back(steps: Any, read: _Read, like: Any) -> Any:
    """Steps from 0 in the dtype that they came from."""
    return (jnp.rint(steps) - read.offset).astype(like.dtype)


def _check_pooling(*types: TensorType, **params: Any) -> None:
    _check_kinds("quantized_pooling", _PLAIN, types)
    check = get("Pooling").check
    assert check is not None
    check(*_as_floats(types[:1]), **params, p_value=None)


@operator(
    "_contrib_quantized_pooling",
    outputs=3,
    check=_check_pooling,
    infer=lambda data, *_, **params: _plain_types("Pooling", data, params),
    complete=_plain_shapes,
    input_dtypes=_DTYPES,
    no_gradient=ROUNDED,
    output_names=OUTPUTS,
)
def quantized_pooling(
    data: Any,
    min_data: Any,
    max_data: Any,
    *,
    kernel: Shape = (),
    pool_type: Literal["avg", "max"] = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: Literal["full", "same", "valid"] = "valid",
    stride: Shape = (),
    pad: Shape = (),
    count_include_pad: bool | None = None,
    layout: Layout | None = None,
    platform: Platform,
) -> Any:
    """Reduces each window of 8-bit whole numbers to one, of the same range.

    Args:
        data: int8 or uint8, shaped as for Pooling.
        min_data: its range.
        max_data: likewise.
        pool_type: 'max', or 'avg', which rounds to the nearest whole number.
    """
    read = read_steps(data, min_data, max_data)
    steps = lowerings.pooling(
        read.steps,
        kernel=kernel,
        pool_type=pool_type,
        global_pool=global_pool,
        stride=stride,
        pad=pad,
        pooling_convention=pooling_convention,
        p_value=None,
        count_include_pad=count_include_pad,
        layout=layout,
        platform=cast("lowerings.Platform", platform),
    )
    return _back(steps, read, data), min_data.reshape(1), max_data.reshape(1)


@operator(
    "_contrib_quantized_flatten",
    outputs=3,
    check=lambda *types, **_: _check_kinds("quantized_flatten", _PLAIN, types),
    infer=lambda data, *_, **params: _plain_types("Flatten", data, params),
    complete=_plain_shapes,
    input_dtypes=_DTYPES,
    no_gradient="its input is whole numbers",
    output_names=OUTPUTS,
)
def quantized_flatten(data: Any, min_data: Any, max_data: Any) -> Any:
    """Makes one axis of all axes but the first.

    Args:
        data: int8 or uint8.
        min_data: its range, which is returned.
        max_data: likewise.
    """
    flat = data.reshape(data.shape[0], math.prod(data.shape[1:]))
    return flat, min_data.reshape(1), max_data.reshape(1)


@operator(
    "_contrib_quantized_act",
    outputs=3,
    check=lambda *types, **_: _check_kinds("quantized_act", _PLAIN, types),
    infer=lambda data, *_, **__: (data, range_type(), range_type()),
    complete=_plain_shapes,
    input_dtypes=_DTYPES,
    no_gradient="its input is whole numbers",
    output_names=OUTPUTS,
)
def quantized_act(
    data: Any, min_data: Any, max_data: Any, *, act_type: Literal["relu"] = "relu"
) -> Any:
    """Puts 0 in the place of negative numbers.

    Args:
        data: int8 or uint8.
        min_data: its range, which is returned.
        max_data: likewise.
        act_type: 'relu'.
    """
    read = read_steps(data, min_data, max_data)
    steps = jnp.maximum(read.steps, 0)
    return _back(steps, read, data), min_data.reshape(1), max_data.reshape(1)
