"""ONNX's layers: convolution, pooling, normalization, products, softmax, recurrent networks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hybridnet.symbol import Symbol

from .arrival import Arrival
from .table import arrives

__all__: list[str] = []


# Windows ------------------------------------------------------------------------------------------


def _window(arrival: Arrival, kernel: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Returns strides, dilations and padding (before, then after) of a window."""
    count = len(kernel)
    strides = list(arrival.attrs.get("strides", [1] * count))
    dilations = list(arrival.attrs.get("dilations", [1] * count))
    pads = list(arrival.attrs.get("pads", [0] * 2 * count))
    automatic = arrival.attrs.get("auto_pad", "NOTSET")
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        before, after = [], []
        for axis, (k, s, d) in enumerate(zip(kernel, strides, dilations, strict=True)):
            size = arrival.size(2 + axis)
            total = max(0, (-(-size // s) - 1) * s + d * (k - 1) + 1 - size)
            small, large = total // 2, total - total // 2
            before.append(small if automatic == "SAME_UPPER" else large)
            after.append(large if automatic == "SAME_UPPER" else small)
        pads = before + after
    return strides, dilations, pads


def _even(arrival: Arrival, pads: Sequence[int], value: float) -> tuple[Symbol, tuple[int, ...]]:
    """Returns the data and the padding of both sides; what is uneven is padded at once."""
    count = len(pads) // 2
    before, after = pads[:count], pads[count:]
    data = arrival.symbol(0)
    if list(before) == list(after):
        return data, tuple(before)
    widths = [0, 0, 0, 0, *(one for pair in zip(before, after, strict=True) for one in pair)]
    padded = arrival.make(
        "Pad", data, mode="constant", pad_width=tuple(widths), constant_value=value
    )
    return padded, (0,) * count


@arrives("Conv")
def _conv(arrival: Arrival) -> Symbol:
    weight = arrival.types(1)[0].shape
    kernel = weight[2:]
    strides, dilations, pads = _window(arrival, kernel)
    data, pad = _even(arrival, pads, 0.0)
    rest = [arrival.symbol(index) for index in (1, 2) if arrival.has(index)]
    return arrival.make(
        "Convolution",
        data,
        *rest,
        kernel=tuple(kernel),
        stride=tuple(strides),
        dilate=tuple(dilations),
        pad=pad,
        num_filter=weight[0],
        num_group=arrival.attrs.get("group", 1),
        no_bias=len(rest) == 1,
    )


@arrives("ConvTranspose")
def _conv_transpose(arrival: Arrival) -> Symbol:
    weight, group = arrival.types(1)[0].shape, arrival.attrs.get("group", 1)
    kernel = weight[2:]
    strides, dilations, pads = _window(arrival, kernel)
    count = len(kernel)
    if pads[:count] != pads[count:] or arrival.attrs.get("auto_pad", "NOTSET") != "NOTSET":
        arrival.fail("padding must be the same on both sides", "slice the result instead")
    rest = [arrival.symbol(index) for index in (1, 2) if arrival.has(index)]
    shape = arrival.attrs.get("output_shape")
    return arrival.make(
        "Deconvolution",
        arrival.symbol(0),
        *rest,
        kernel=tuple(kernel),
        stride=tuple(strides),
        dilate=tuple(dilations),
        pad=tuple(pads[:count]),
        adj=tuple(arrival.attrs.get("output_padding", (0,) * count)),
        target_shape=tuple(shape[-count:]) if shape else None,
        num_filter=weight[1] * group,
        num_group=group,
        no_bias=len(rest) == 1,
    )


@arrives("MaxPool", "AveragePool", "LpPool")
def _pool(arrival: Arrival) -> Symbol:
    kernel = arrival.attrs["kernel_shape"]
    strides, dilations, pads = _window(arrival, kernel)
    if any(one != 1 for one in dilations) or arrival.num_outputs > 1:
        arrival.fail("dilations and positions have no form", "export the model without them")
    kind = {"MaxPool": "max", "AveragePool": "avg", "LpPool": "lp"}[arrival.op]
    counts_padding = bool(arrival.attrs.get("count_include_pad", 0))
    count = len(kernel)
    before, after = pads[:count], pads[count:]
    convention = "full" if arrival.attrs.get("ceil_mode") else "valid"
    data, pad = arrival.symbol(0), tuple(before)
    if kind == "lp":
        if arrival.attrs.get("p", 2) not in (1, 2, 3):
            arrival.fail("p must be 1, 2 or 3", "write it with Pow and AveragePool")
        data = arrival.make("abs", data)
    if convention == "full":
        return _rounded_up(arrival, data, kind, kernel, strides, pads, counts_padding)
    if before != after:
        hangs_over = _hangs_over(arrival, kernel, strides, pads)
        if hangs_over and not (kind == "avg" and counts_padding):
            convention = "full"  # which pads as much after the last element as windows need
        elif kind != "avg" or counts_padding:
            data, pad = _even(arrival, pads, -math.inf if kind == "max" else 0.0)
        else:
            arrival.fail("uneven padding that does not count has no form", "pad evenly")
    return arrival.make(
        "Pooling",
        data,
        kernel=tuple(kernel),
        pool_type=kind,
        stride=tuple(strides),
        pad=pad,
        pooling_convention=convention,
        count_include_pad=counts_padding if kind == "avg" else None,
        p_value=arrival.attrs.get("p", 2) if kind == "lp" else None,
    )


def _rounded_up(
    arrival: Arrival,
    data: Symbol,
    kind: str,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    counts_padding: bool,
) -> Symbol:
    """Pooling whose last windows may hang over the end, but begin in the data or before it."""
    count = len(kernel)
    if pads[:count] != pads[count:]:
        arrival.fail("ceil_mode needs the same padding on both sides", "export it without")
    made = arrival.make(
        "Pooling",
        data,
        kernel=tuple(kernel),
        pool_type=kind,
        stride=tuple(strides),
        pad=tuple(pads[:count]),
        pooling_convention="full",
        count_include_pad=counts_padding if kind == "avg" else None,
        p_value=arrival.attrs.get("p", 2) if kind == "lp" else None,
    )
    for axis, (k, s, p) in enumerate(zip(kernel, strides, pads[:count], strict=True)):
        if p + s <= k:
            continue  # no window can begin behind the data
        size = arrival.size(2 + axis)
        if -(-(size + 2 * p - k) // s) * s >= size + p:
            made = arrival.make("slice_axis", made, axis=2 + axis, begin=0, end=-1)
    return made


def _hangs_over(
    arrival: Arrival, kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int]
) -> bool:
    """Whether what is padded more after than before is what the last windows need."""
    count = len(kernel)
    for axis, (k, s) in enumerate(zip(kernel, strides, strict=True)):
        size, before, after = arrival.shape()[2 + axis], pads[axis], pads[axis + count]
        if size is None:
            return False
        windows = (size + before + after - k) // s + 1
        rounded_up = -(-(size + 2 * before - k) // s) + 1
        if windows != rounded_up or after < before:
            return False
    return True


@arrives("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def _global_pool(arrival: Arrival) -> Symbol:
    kind = {"GlobalAveragePool": "avg", "GlobalMaxPool": "max"}.get(arrival.op, "lp")
    return arrival.make(
        "Pooling",
        arrival.symbol(0),
        kernel=(1,) * (arrival.rank() - 2),
        pool_type=kind,
        global_pool=True,
        p_value=arrival.attrs.get("p", 2) if kind == "lp" else None,
    )


@arrives("Resize", "Upsample")
def _resize(arrival: Arrival) -> Symbol:
    old = arrival.shape()
    if len(old) != 4:
        arrival.fail("resizes batches of images only", "reshape the data")
    scales, sizes = _new_sizes(arrival, old)
    if list(scales[:2]) != [1, 1]:
        arrival.fail("resizes height and width only", "use Tile for other axes")
    known = [arrival.size(axis) for axis in (2, 3)]
    mode = arrival.attrs.get("mode", "nearest")
    how = arrival.attrs.get("coordinate_transformation_mode", "half_pixel")
    if arrival.op == "Upsample" or arrival.opset < 11:
        how = "asymmetric"
    if mode == "nearest":
        return _nearest(arrival, known, sizes, scales[2:], how)
    exact = all(abs(n * s - new) < 1e-3 for n, s, new in zip(known, scales[2:], sizes, strict=True))
    plain = (
        exact and not arrival.attrs.get("antialias") and not arrival.attrs.get("exclude_outside")
    )
    if mode != "linear" or not plain or how not in ("align_corners", "half_pixel", _PYTORCH):
        arrival.fail(
            f"mode {mode!r} with {how!r} and scales {list(scales)} has no form",
            "use 'nearest', or 'linear' without antialias to a whole size",
        )
    return arrival.make(
        "_contrib_BilinearResize2D",
        arrival.symbol(0),
        height=sizes[0],
        width=sizes[1],
        align_corners=how == "align_corners",
    )


_PYTORCH: Final = "pytorch_half_pixel"
#: How places between pixels are rounded.
_ROUNDINGS: Final[dict[str, Any]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
}


def _nearest(
    arrival: Arrival,
    known: Sequence[int],
    sizes: Sequence[int],
    scales: Sequence[float],
    how: str,
) -> Symbol:
    """Repeats pixels, or picks those that are nearest."""
    default = "floor" if how == "asymmetric" and arrival.opset < 11 else "round_prefer_floor"
    rounding = _ROUNDINGS[arrival.attrs.get("nearest_mode", default)]
    places = []
    for old, new, scale in zip(known, sizes, scales, strict=True):
        steps: np.ndarray[Any, Any] = np.arange(new)
        middle: np.ndarray[Any, Any]
        if how == "asymmetric":
            middle = steps / scale
        elif how == "align_corners":
            middle = steps * ((old - 1) / max(new - 1, 1))
        elif how in ("half_pixel", _PYTORCH):
            middle = (steps + 0.5) / scale - 0.5 if new > 1 or how != _PYTORCH else steps * 0.0
        else:
            arrival.fail(f"{how!r} has no form", "use 'asymmetric' or 'half_pixel'")
        places.append(np.clip(rounding(middle), 0, old - 1).astype(np.int64))
    scale = sizes[0] // known[0]
    repeated = [np.repeat(np.arange(old), scale) for old in known]
    if all(np.array_equal(*pair) for pair in zip(places, repeated, strict=True)):
        return arrival.make(
            "UpSampling", arrival.symbol(0), scale=scale, sample_type="nearest", num_args=1
        )
    data = arrival.symbol(0)
    for axis, vector in zip((2, 3), places, strict=True):
        data = arrival.make("take", data, arrival.parameter(vector, f"places{axis}"), axis=axis)
    return data


def _new_sizes(arrival: Arrival, old: Sequence[int | None]) -> tuple[list[float], list[int]]:
    """Returns the factors of all axes, and the new height and width."""
    axes = list(arrival.attrs.get("axes", range(4)))
    stretches = arrival.attrs.get("keep_aspect_ratio_policy", "stretch") == "stretch"
    if axes not in ([0, 1, 2, 3], [2, 3]) or not stretches:
        arrival.fail("axes must be height and width, each by itself", "give all sizes")
    place = 1 if arrival.op == "Upsample" or arrival.opset < 11 else 2
    known = [arrival.size(axis) for axis in (2, 3)]
    if arrival.has(3):
        new = arrival.vector(3)[-2:]
        sizes = [one for one in new if one is not None]
        if len(sizes) != 2:
            arrival.fail("the new sizes must be known", "export it with fixed shapes")
        return [1, 1, sizes[0] / known[0], sizes[1] / known[1]], sizes
    given = arrival.attrs.get("scales")
    scales = [float(s) for s in (arrival.constant(place, "scales") if given is None else given)]
    scales = [1.0] * (4 - len(scales)) + scales
    return scales, [int(size * scale) for size, scale in zip(known, scales[2:], strict=True)]


@arrives("MaxRoiPool")
def _roi_pool(arrival: Arrival) -> Symbol:
    return arrival.make(
        "ROIPooling",
        arrival.symbol(0),
        arrival.symbol(1),
        pooled_size=tuple(arrival.attrs["pooled_shape"]),
        spatial_scale=arrival.attrs.get("spatial_scale", 1.0),
    )


@arrives("RoiAlign")
def _roi_align(arrival: Arrival) -> Symbol:
    attrs = arrival.attrs
    how = attrs.get("coordinate_transformation_mode", "half_pixel")
    if attrs.get("mode", "avg") != "avg":
        arrival.fail("mode must be avg", "use MaxRoiPool")
    numbers = arrival.make("Cast", arrival.symbol(2), dtype=arrival.dtype(1).name)
    column = arrival.make("expand_dims", numbers, axis=1)
    rois = arrival.make("Concat", column, arrival.symbol(1), dim=1, num_args=2)
    return arrival.make(
        "_contrib_ROIAlign",
        arrival.symbol(0),
        rois,
        pooled_size=(attrs.get("output_height", 1), attrs.get("output_width", 1)),
        spatial_scale=attrs.get("spatial_scale", 1.0),
        sample_ratio=attrs.get("sampling_ratio", 0) or -1,
        aligned=how == "half_pixel",
    )


@arrives("GridSample")
def _grid_sample(arrival: Arrival) -> Symbol:
    attrs = arrival.attrs
    if arrival.rank() != 4:
        arrival.fail("samples images only", "write it with Gather")
    usual = attrs.get("mode", "linear") in ("linear", "bilinear") and attrs.get("align_corners")
    if not usual or attrs.get("padding_mode", "zeros") != "zeros":
        arrival.fail("only linear sampling with align_corners and zeros has a form", "use it")
    grid = arrival.make("transpose", arrival.symbol(1), axes=(0, 3, 1, 2))
    return arrival.make("BilinearSampler", arrival.symbol(0), grid)


# Normalization ------------------------------------------------------------------------------------


@arrives("BatchNormalization")
def _batch_norm(arrival: Arrival) -> Symbol:
    if arrival.num_outputs > 1 and arrival.attrs.get("training_mode"):
        arrival.fail("training_mode has no form", "export the model for inference")
    inputs = [arrival.symbol(index) for index in range(5)]
    return arrival.make(
        "BatchNorm",
        *inputs,
        eps=arrival.attrs.get("epsilon", 1e-5),
        momentum=arrival.attrs.get("momentum", 0.9),
        fix_gamma=False,
        use_global_stats=False,
    )


@arrives("InstanceNormalization")
def _instance_norm(arrival: Arrival) -> Symbol:
    inputs = [arrival.symbol(index) for index in range(3)]
    return arrival.make("InstanceNorm", *inputs, eps=arrival.attrs.get("epsilon", 1e-5))


@arrives("LayerNormalization")
def _layer_norm(arrival: Arrival) -> Symbol:
    rank, eps = arrival.rank(), arrival.attrs.get("epsilon", 1e-5)
    if arrival.axis(-1) == rank - 1:
        gamma = arrival.symbol(1)
        beta = arrival.symbol(2) if arrival.has(2) else arrival.make("zeros_like", gamma)
        return arrival.make("LayerNorm", arrival.symbol(0), gamma, beta, axis=-1, eps=eps)
    axes = tuple(range(arrival.axis(-1), rank))
    value = arrival.make("broadcast_mul", _standard(arrival, axes, eps), arrival.symbol(1, rank))
    if not arrival.has(2):
        return value
    return arrival.make("broadcast_add", value, arrival.symbol(2, rank))


def _standard(arrival: Arrival, axes: tuple[int, ...], eps: float) -> Symbol:
    """Returns the data less their mean, over the deviation."""
    data = arrival.symbol(0)
    mean = arrival.make("mean", data, axis=axes, keepdims=True)
    centered = arrival.make("broadcast_sub", data, mean)
    variance = arrival.make("mean", arrival.make("square", centered), axis=axes, keepdims=True)
    scale = arrival.make("rsqrt", arrival.make("_plus_scalar", variance, scalar=eps))
    return arrival.make("broadcast_mul", centered, scale)


@arrives("GroupNormalization")
def _group_norm(arrival: Arrival) -> Symbol:
    groups, eps = arrival.attrs["num_groups"], arrival.attrs.get("epsilon", 1e-5)
    data, rank = arrival.symbol(0), arrival.rank()
    split = arrival.make("Reshape", data, shape=(0, groups, -1))
    mean = arrival.make("mean", split, axis=(2,), keepdims=True)
    centered = arrival.make("broadcast_sub", split, mean)
    variance = arrival.make("mean", arrival.make("square", centered), axis=(2,), keepdims=True)
    scale = arrival.make("rsqrt", arrival.make("_plus_scalar", variance, scalar=eps))
    even = arrival.make("broadcast_mul", centered, scale)
    per_channel = arrival.opset >= 21
    made = arrival.make("reshape_like", even, data) if per_channel else even
    ndim = rank if per_channel else 3
    for op, index in (("broadcast_mul", 1), ("broadcast_add", 2)):
        vector = arrival.make("Reshape", arrival.symbol(index), shape=(1, -1, *[1] * (ndim - 2)))
        made = arrival.make(op, made, vector)
    return made if per_channel else arrival.make("reshape_like", made, data)


@arrives("RMSNormalization")
def _rms_norm(arrival: Arrival) -> Symbol:
    rank, eps, data = arrival.rank(), arrival.attrs.get("epsilon", 1e-5), arrival.symbol(0)
    axes = tuple(range(arrival.axis(-1), rank))
    square = arrival.make("mean", arrival.make("square", data), axis=axes, keepdims=True)
    scale = arrival.make("rsqrt", arrival.make("_plus_scalar", square, scalar=eps))
    even = arrival.make("broadcast_mul", data, scale)
    return arrival.make("broadcast_mul", even, arrival.symbol(1, rank))


@arrives("MeanVarianceNormalization")
def _mean_variance(arrival: Arrival) -> Symbol:
    return _standard(arrival, tuple(arrival.attrs.get("axes", (0, 2, 3))), 1e-9)


@arrives("LRN")
def _lrn(arrival: Arrival) -> Symbol:
    return arrival.make(
        "LRN",
        arrival.symbol(0),
        alpha=arrival.attrs.get("alpha", 1e-4),
        beta=arrival.attrs.get("beta", 0.75),
        knorm=arrival.attrs.get("bias", 1.0),
        nsize=arrival.attrs["size"],
    )


@arrives("LpNormalization")
def _lp_normalization(arrival: Arrival) -> Symbol:
    order, axis, data = arrival.attrs.get("p", 2), arrival.axis(-1), arrival.symbol(0)
    length = arrival.make("norm", data, ord=order, axis=axis, keepdims=True)
    length = arrival.make("_maximum_scalar", length, scalar=1e-30)  # what is 0 stays 0
    return arrival.make("broadcast_div", data, length)


# Softmax and dropout ------------------------------------------------------------------------------


@arrives("Softmax", "LogSoftmax")
def _softmax(arrival: Arrival) -> Symbol:
    op = "softmax" if arrival.op == "Softmax" else "log_softmax"
    if arrival.opset >= 13:
        return arrival.make(op, arrival.symbol(0), axis=arrival.axis(-1))
    axis, data = arrival.axis(1), arrival.symbol(0)
    if axis == arrival.rank() - 1:
        return arrival.make(op, data, axis=-1)
    # Older models mean all axes from this one on.
    rows = arrival.make("Reshape", data, shape=(*[0] * axis, -1))
    return arrival.make("reshape_like", arrival.make(op, rows, axis=-1), data)


@arrives("Hardmax")
def _hardmax(arrival: Arrival) -> Symbol:
    axis = arrival.axis(-1)
    if axis != arrival.rank() - 1:
        arrival.fail("the axis must be the last", "transpose the array")
    best = arrival.make("argmax", arrival.symbol(0), axis=axis)
    return arrival.make("one_hot", best, depth=arrival.size(axis), dtype=arrival.dtype().name)


@arrives("Dropout")
def _dropout(arrival: Arrival) -> Symbol:
    ratio = arrival.attrs.get("ratio", 0.5)
    if arrival.has(1):
        ratio = float(arrival.constant(1, "the ratio").reshape(()))
    always = arrival.has(2) and bool(arrival.constant(2, "training_mode").reshape(()))
    mode = "always" if always else "training"
    return arrival.make("Dropout", arrival.symbol(0), p=ratio, mode=mode)


# Products -----------------------------------------------------------------------------------------


@arrives("Gemm")
def _gemm(arrival: Arrival) -> Symbol:
    attrs = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0, **arrival.attrs}
    plain = attrs["alpha"] == 1 and not attrs["transA"] and arrival.is_constant(1)
    if plain and (not arrival.has(2) or (attrs["beta"] == 1 and arrival.is_constant(2))):
        weight = arrival.constant(1)
        width = weight.shape[0 if attrs["transB"] else 1]
        bias = arrival.constant(2) if arrival.has(2) else None
        if bias is None or bias.size == width:
            return _dense(arrival, weight, bool(attrs["transB"]), bias)
    product = arrival.make(
        "dot",
        arrival.symbol(0),
        arrival.symbol(1),
        transpose_a=bool(attrs["transA"]),
        transpose_b=bool(attrs["transB"]),
    )
    if attrs["alpha"] != 1:
        product = arrival.make("_mul_scalar", product, scalar=attrs["alpha"])
    if not arrival.has(2):
        return product
    addend = arrival.symbol(2, 2)
    if attrs["beta"] != 1:
        addend = arrival.make("_mul_scalar", addend, scalar=attrs["beta"])
    return arrival.make("broadcast_add", product, addend)


def _dense(
    arrival: Arrival,
    weight: np.ndarray[Any, Any],
    is_turned: bool,
    bias: np.ndarray[Any, Any] | None,
) -> Symbol:
    """A dense layer of constant weights."""
    matrix = arrival.symbol(1) if is_turned else arrival.parameter(weight.T.copy(), "weight")
    operands = [arrival.symbol(0), matrix]
    if bias is not None:
        own = bias.ndim == 1
        operands.append(arrival.symbol(2) if own else arrival.parameter(bias.reshape(-1), "bias"))
    return arrival.make(
        "FullyConnected",
        *operands,
        num_hidden=weight.shape[0] if is_turned else weight.shape[1],
        no_bias=bias is None,
        flatten=False,
    )


@arrives("MatMul")
def _matmul(arrival: Arrival) -> Symbol:
    ranks = arrival.rank(0), arrival.rank(1)
    if arrival.is_constant(1) and ranks[1] == 2 and ranks[0] >= 2:
        return _dense(arrival, arrival.constant(1), False, None)
    left, right = arrival.symbol(0), arrival.symbol(1)
    if ranks == (2, 2):
        return arrival.make("dot", left, right)
    if ranks == (3, 3) and arrival.shape(0)[0] == arrival.shape(1)[0]:
        return arrival.make("batch_dot", left, right)
    return arrival.make("_npi_matmul", left, right)


@arrives("Einsum")
def _einsum(arrival: Arrival) -> Symbol:
    inputs = [arrival.symbol(index) for index in range(len(arrival.inputs))]
    equation = arrival.attrs["equation"].replace(" ", "")
    return arrival.make("_npi_einsum", *inputs, subscripts=equation, num_args=len(inputs))


# Recurrent networks -------------------------------------------------------------------------------

#: Where our gates are among ONNX's.
_GATES: Final = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}
_USUAL: Final = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"]}


@arrives("LSTM", "GRU", "RNN")
def _recurrent(arrival: Arrival) -> list[Symbol]:
    attrs = arrival.attrs
    direction = attrs.get("direction", "forward")
    mode, hidden = _mode(arrival), attrs["hidden_size"]
    if attrs.get("layout") or attrs.get("clip") or arrival.has(7) or attrs.get("input_forget"):
        arrival.fail("layout, clip and peepholes have no form", "export the model without them")
    if arrival.op == "GRU" and not attrs.get("linear_before_reset"):
        arrival.fail("linear_before_reset must be 1", "train it so, or unroll the cell")
    count = 2 if direction == "bidirectional" else 1
    vector = arrival.parameter(_parameters(arrival, count), "parameters")
    data = arrival.symbol(0)
    if direction == "reverse":
        data = _turned(arrival, data)
    states = [
        arrival.symbol(index) if arrival.has(index) else _zero_state(arrival, count, hidden)
        for index in ((5, 6) if arrival.op == "LSTM" else (5,))
    ]
    lengths = [arrival.symbol(4)] if arrival.has(4) else []
    made = arrival.make(
        "RNN",
        data,
        vector,
        *states,
        *lengths,
        state_size=hidden,
        num_layers=1,
        mode=mode,
        bidirectional=count == 2,
        state_outputs=True,
        use_sequence_length=bool(lengths),
    )
    outputs = made[0]
    if direction == "reverse":
        outputs = _turned(arrival, outputs)
    split = arrival.make("Reshape", outputs, shape=(0, 0, count, hidden))
    ends = [made[index] for index in range(1, len(made))]
    return [arrival.make("transpose", split, axes=(0, 2, 1, 3)), *ends]


def _turned(arrival: Arrival, data: Symbol) -> Symbol:
    """Runs time backward."""
    if arrival.has(4):
        return arrival.make("SequenceReverse", data, arrival.symbol(4), use_sequence_length=True)
    return arrival.make("reverse", data, axis=(0,))


def _mode(arrival: Arrival) -> str:
    given = list(arrival.attrs.get("activations", ()))
    if arrival.op != "RNN":
        usual = _USUAL[arrival.op]
        if given and given[: len(usual)] != usual:
            arrival.fail(f"activations must be {usual}, got {given}", "unroll the cell")
        return arrival.op.lower()
    name = given[0] if given else "Tanh"
    if name not in ("Tanh", "Relu") or len(set(given)) > 1:
        arrival.fail(f"activations must be Tanh or Relu, got {given}", "unroll the cell")
    return f"rnn_{name.lower()}"


def _parameters(arrival: Arrival, directions: int) -> np.ndarray[Any, Any]:
    """Returns weights and biases as our vector: weights of all directions, then biases."""
    gates = list(_GATES[arrival.op])
    weights = [arrival.constant(index, "the weights") for index in (1, 2)]
    rows = weights[0].shape[1]
    biases = np.zeros((directions, 2 * rows), weights[0].dtype)
    if arrival.has(3):
        biases = arrival.constant(3, "the biases")

    def ordered(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return array.reshape(len(gates), -1)[gates].reshape(-1)

    matrices = [ordered(one[way]) for way in range(directions) for one in weights]
    vectors = [ordered(half) for way in range(directions) for half in np.split(biases[way], 2)]
    return np.concatenate([*matrices, *vectors])


def _zero_state(arrival: Arrival, directions: int, hidden: int) -> Symbol:
    batch = arrival.shape()[1]
    if batch is not None:
        shape = (directions, batch, hidden)
        return arrival.make("_zeros", shape=shape, dtype=arrival.dtype().name)
    # As many zeros as there are examples, however many these are.
    step = arrival.make("slice_axis", arrival.symbol(0), axis=0, begin=0, end=1)
    column = arrival.make("zeros_like", arrival.make("max", step, axis=(2,), keepdims=True))
    return arrival.make("tile", column, reps=(directions, 1, hidden))
