"""A table of translations, one for each type of Caffe's layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final, NoReturn, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import FormatError, MXNetError, ParameterError
from hybridnet.ops.core import registry
from hybridnet.symbol import Symbol, var

from .files import CaffeLayer

#: Layers that feed a network.
SOURCES: Final = frozenset(
    {
        "AnnotatedData",
        "Data",
        "DummyData",
        "HDF5Data",
        "ImageData",
        "Input",
        "MemoryData",
        "WindowData",
    }
)
#: Layers that measure, or throw away.
ENDS: Final = frozenset({"Accuracy", "HDF5Output", "Silence"})


@final
class Place:
    """A layer while it is translated.

    Attributes:
        layer: the layer.
        scale: the `Scale` that a `BatchNorm` is joined with.
        bottoms: what it reads.
        message: the layer's parameters.
    """

    def __init__(
        self,
        layer: CaffeLayer,
        scale: CaffeLayer | None,
        bottoms: Sequence[Symbol],
        weights: Mapping[str, list[NumpyArray]],
        params: dict[str, NumpyArray],
        shapes: Mapping[str, tuple[int, ...]],
    ) -> None:
        self.layer = layer
        self.scale = scale
        self.bottoms = list(bottoms)
        self.message = layer.message
        self.has_weights = bool(weights)
        self._weights = weights
        self._params = params
        self._shapes = shapes
        self._made = 0

    def make(self, op: str, *inputs: Symbol, **attrs: Any) -> Symbol:
        """Applies an operator; the first is called as the layer is."""
        name = f"{self.layer.name}_{self._made}" if self._made else self.layer.name
        self._made += 1
        return Symbol.apply_operator(registry.get(op), inputs, attrs, name=name)

    def blobs(self, of: CaffeLayer | None = None) -> list[NumpyArray]:
        """Returns the arrays of the layer; [] where there are no weights."""
        layer = of or self.layer
        if self.has_weights and layer.name not in self._weights:
            raise FormatError(
                f"import_caffe: the weights of layer {layer.name!r} ({layer.type}) are missing; "
                "the .caffemodel is of another network"
            )
        return self._weights.get(layer.name, [])

    def parameter(self, ending: str, array: NumpyArray | None) -> Symbol:
        """Returns the variable of a parameter, with its numbers where they are known."""
        name = f"{self.layer.name}_{ending}"
        if array is not None:
            self._params[name] = array
        return var(name)

    def shape(self, index: int = 0) -> tuple[int, ...] | None:
        """Returns the shape of what is read; None where the description does not tell."""
        bottom = self.bottoms[index]
        known = {name: self._shapes[name] for name in bottom.list_inputs() if name in self._shapes}
        try:
            _, shapes, _ = bottom.infer_shape_partial(**known)
        except MXNetError:
            return None
        (shape,) = shapes
        return tuple(shape) if shape and 0 not in shape else None

    def rank(self, index: int = 0) -> int:
        """Returns the number of dimensions of what is read; 4, Caffe's usual, if it is not told."""
        shape = self.shape(index)
        return 4 if shape is None else len(shape)

    def fail(self, why: str, cure: str) -> NoReturn:
        """Raises the error of a layer that has no form here."""
        raise ParameterError(
            f"import_caffe: layer {self.layer.name!r} ({self.layer.type}): {why}; {cure}"
        )


Translation = Callable[[Place], Symbol | Sequence[Symbol]]
_TRANSLATIONS: Final[dict[str, Translation]] = {}


def _layer(*types: str) -> Callable[[Translation], Translation]:
    def enter(translation: Translation) -> Translation:
        _TRANSLATIONS.update(dict.fromkeys(types, translation))
        return translation

    return enter


def translate(place: Place) -> list[Symbol]:
    """Returns what a layer makes.

    Raises:
        ParameterError: layers of this type, or with these parameters, have no form here.
    """
    kind = place.layer.type
    if kind not in _TRANSLATIONS:
        place.fail(
            "layers of this type have no form here",
            f"leave it out of the .prototxt, or write it with others: {', '.join(_TRANSLATIONS)}",
        )
    try:
        made = _TRANSLATIONS[kind](place)
    except (IndexError, ValueError) as error:
        if isinstance(error, MXNetError):
            raise
        raise FormatError(
            f"import_caffe: layer {place.layer.name!r} ({kind}): its weights or parameters are not "
            f"what Caffe has there: {error}"
        ) from error
    return [made] if isinstance(made, Symbol) and len(made) == 1 else list(made)


# Windows ------------------------------------------------------------------------------------------


def _pair(param: Any, name: str, default: int, single: str = "") -> tuple[int, ...]:
    """Reads a size that is given for each axis, or once for all, or as height and width."""
    height, width = f"{name}_h", f"{name}_w"
    if param.HasField(height) or param.HasField(width):
        return getattr(param, height) or default, getattr(param, width) or default
    given = getattr(param, single or name)
    if isinstance(given, int):
        return given, given
    sizes = tuple(given) or (default,)
    return sizes * 2 if len(sizes) == 1 else sizes


@_layer("Convolution", "Deconvolution")
def _convolution(place: Place) -> Symbol:
    param = place.message.convolution_param
    if param.axis != 1:
        place.fail("channels must be on axis 1", "transpose the data")
    kernel = _pair(param, "kernel", 0, "kernel_size")
    dilation = tuple(param.dilation) or (1,)
    blobs = place.blobs()
    operands = [place.parameter("weight", blobs[0] if blobs else None)]
    if param.bias_term:
        operands.append(place.parameter("bias", blobs[1].reshape(-1) if blobs else None))
    return place.make(
        place.layer.type,
        place.bottoms[0],
        *operands,
        kernel=kernel,
        stride=_pair(param, "stride", 1),
        pad=_pair(param, "pad", 0),
        dilate=dilation * 2 if len(dilation) == 1 else dilation,
        num_filter=param.num_output,
        num_group=param.group,
        no_bias=not param.bias_term,
    )


@_layer("Pooling")
def _pooling(place: Place) -> Symbol:
    param = place.message.pooling_param
    kinds = {0: "max", 1: "avg"}
    if param.pool not in kinds:
        place.fail("stochastic pooling has no form here", "use AVE for testing")
    if param.global_pooling:
        return place.make(
            "Pooling",
            place.bottoms[0],
            kernel=(1, 1),
            global_pool=True,
            pool_type=kinds[param.pool],
        )
    kernel = _pair(param, "kernel", 0, "kernel_size")
    stride, pad = _pair(param, "stride", 1), _pair(param, "pad", 0)
    pooled = place.make(
        "Pooling",
        place.bottoms[0],
        kernel=kernel,
        stride=stride,
        pad=pad,
        pool_type=kinds[param.pool],
        pooling_convention="valid" if param.round_mode == 1 else "full",
    )
    return _without_outside(place, pooled, kernel, stride, pad)


def _without_outside(
    place: Place,
    pooled: Symbol,
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
) -> Symbol:
    """Cuts off windows that begin in the padding at the end, which Caffe does not have."""
    shape = place.shape()
    for axis, (k, s, p) in enumerate(zip(kernel, stride, pad, strict=True)):
        if not p or p + s <= k:
            continue  # the last window reaches into the data, whatever its size is
        if shape is None:
            place.fail("its result hangs on the size of its data", "give the input's shape")
        if _begins_outside(shape[2 + axis], k, s, p):
            pooled = place.make("slice_axis", pooled, axis=2 + axis, begin=0, end=-1)
    return pooled


def _begins_outside(size: int, kernel: int, stride: int, pad: int) -> bool:
    count = math.ceil((size + 2 * pad - kernel) / stride) + 1
    return (count - 1) * stride >= size + pad


@_layer("LRN")
def _lrn(place: Place) -> Symbol:
    param = place.message.lrn_param
    (data,) = place.bottoms
    if param.norm_region == 0:
        return place.make(
            "LRN", data, alpha=param.alpha, beta=param.beta, knorm=param.k, nsize=param.local_size
        )
    squares = place.make("square", data)
    size = param.local_size
    mean = place.make(
        "Pooling", squares, kernel=(size, size), pad=(size // 2, size // 2), pool_type="avg"
    )
    inside = place.make(
        "_plus_scalar", place.make("_mul_scalar", mean, scalar=param.alpha), scalar=1
    )
    return place.make("elemwise_mul", data, place.make("_power_scalar", inside, scalar=-param.beta))


# Weights ------------------------------------------------------------------------------------------


@_layer("InnerProduct")
def _inner_product(place: Place) -> Symbol:
    param, blobs = place.message.inner_product_param, place.blobs()
    weight = None
    if blobs:
        weight = blobs[0].reshape(blobs[0].shape[-2:])
        weight = weight.T.copy() if param.transpose else weight
    if param.axis not in (1, -1):
        place.fail("axis must be 1 or -1", "reshape the data")
    operands = [place.parameter("weight", weight)]
    if param.bias_term:
        operands.append(place.parameter("bias", blobs[1].reshape(-1) if blobs else None))
    return place.make(
        "FullyConnected",
        place.bottoms[0],
        *operands,
        num_hidden=param.num_output,
        no_bias=not param.bias_term,
        flatten=param.axis == 1,
    )


@_layer("BatchNorm")
def _batch_norm(place: Place) -> Symbol:
    param, blobs = place.message.batch_norm_param, place.blobs()
    mean = var_ = gamma = beta = None
    if blobs:
        factor = float(blobs[2].reshape(-1)[0]) if len(blobs) > 2 else 1.0
        mean, var_ = (one.reshape(-1) * (1 / factor if factor else 0) for one in blobs[:2])
        gamma, beta = np.ones_like(mean), np.zeros_like(mean)
    if place.scale is not None:
        scales = place.blobs(place.scale)
        if scales:
            gamma = scales[0].reshape(-1)
            beta = scales[1].reshape(-1) if len(scales) > 1 else np.zeros_like(gamma)
    operands = [
        place.parameter(ending, array)
        for ending, array in (
            ("gamma", gamma),
            ("beta", beta),
            ("moving_mean", mean),
            ("moving_var", var_),
        )
    ]
    return place.make(
        "BatchNorm",
        place.bottoms[0],
        *operands,
        eps=param.eps,
        momentum=param.moving_average_fraction,
        fix_gamma=place.scale is None,
    )


@_layer("Scale", "Bias")
def _scale(place: Place) -> Symbol:
    is_scale = place.layer.type == "Scale"
    param = place.message.scale_param if is_scale else place.message.bias_param
    data, rank = place.bottoms[0], place.rank()
    axis = param.axis % rank
    op = "broadcast_mul" if is_scale else "broadcast_add"
    if len(place.bottoms) > 1:
        covered = place.rank(1)
        factor = place.bottoms[1]
        for _ in range(axis):
            factor = place.make("expand_dims", factor, axis=0)
        for _ in range(rank - axis - covered):
            factor = place.make("expand_dims", factor, axis=-1)
        return place.make(op, data, factor)
    blobs = place.blobs()
    covered = (rank - axis) if param.num_axes == -1 else param.num_axes
    around = [1] * axis, [1] * (rank - axis - covered)

    def placed(blob: NumpyArray) -> NumpyArray:
        return blob.reshape(*around[0], *blob.shape, *around[1])

    ending = "gamma" if is_scale else "beta"
    made = place.make(op, data, place.parameter(ending, placed(blobs[0]) if blobs else None))
    if not is_scale or not param.bias_term:
        return made
    beta = place.parameter("beta", placed(blobs[1]) if blobs else None)
    return place.make("broadcast_add", made, beta)


@_layer("PReLU")
def _prelu(place: Place) -> Symbol:
    blobs = place.blobs()
    slopes = place.parameter("gamma", blobs[0].reshape(-1) if blobs else None)
    return place.make("LeakyReLU", place.bottoms[0], slopes, act_type="prelu")


# Each element -------------------------------------------------------------------------------------


@_layer("ReLU")
def _relu(place: Place) -> Symbol:
    slope = place.message.relu_param.negative_slope
    if slope:
        return place.make("LeakyReLU", place.bottoms[0], act_type="leaky", slope=slope)
    return place.make("Activation", place.bottoms[0], act_type="relu")


@_layer("ELU")
def _elu(place: Place) -> Symbol:
    alpha = place.message.elu_param.alpha
    return place.make("LeakyReLU", place.bottoms[0], act_type="elu", slope=alpha)


@_layer("Sigmoid", "TanH", "BNLL")
def _activation(place: Place) -> Symbol:
    kinds = {"Sigmoid": "sigmoid", "TanH": "tanh", "BNLL": "softrelu"}
    return place.make("Activation", place.bottoms[0], act_type=kinds[place.layer.type])


@_layer("AbsVal")
def _abs(place: Place) -> Symbol:
    return place.make("abs", place.bottoms[0])


@_layer("Split")
def _split(place: Place) -> list[Symbol]:
    return place.bottoms * len(place.layer.tops)


@_layer("Dropout")
def _dropout(place: Place) -> Symbol:
    return place.make("Dropout", place.bottoms[0], p=place.message.dropout_param.dropout_ratio)


def _shifted(place: Place, param: Any) -> Symbol:
    scaled = place.make("_mul_scalar", place.bottoms[0], scalar=param.scale)
    return place.make("_plus_scalar", scaled, scalar=param.shift)


@_layer("Power")
def _power(place: Place) -> Symbol:
    param = place.message.power_param
    return place.make("_power_scalar", _shifted(place, param), scalar=param.power)


@_layer("Exp")
def _exp(place: Place) -> Symbol:
    param = place.message.exp_param
    base = math.e if param.base < 0 else param.base
    return place.make("_rpower_scalar", _shifted(place, param), scalar=base)


@_layer("Log")
def _log(place: Place) -> Symbol:
    param = place.message.log_param
    value = place.make("log", _shifted(place, param))
    return (
        value if param.base < 0 else place.make("_div_scalar", value, scalar=math.log(param.base))
    )


@_layer("Eltwise")
def _eltwise(place: Place) -> Symbol:
    param = place.message.eltwise_param
    if param.operation == 1:
        factors = list(param.coeff) or [1.0] * len(place.bottoms)
        terms = [
            one if factor == 1 else place.make("_mul_scalar", one, scalar=factor)
            for one, factor in zip(place.bottoms, factors, strict=True)
        ]
        return reduce(lambda left, right: place.make("elemwise_add", left, right), terms)
    op = "elemwise_mul" if param.operation == 0 else "_maximum"
    return reduce(lambda left, right: place.make(op, left, right), place.bottoms)


# Shapes -------------------------------------------------------------------------------------------


@_layer("Concat")
def _concat(place: Place) -> Symbol:
    param = place.message.concat_param
    axis = param.concat_dim if param.HasField("concat_dim") else param.axis
    return place.make("Concat", *place.bottoms, dim=axis, num_args=len(place.bottoms))


@_layer("Slice")
def _slice(place: Place) -> Symbol:
    param, count = place.message.slice_param, len(place.layer.tops)
    axis = param.slice_dim if param.HasField("slice_dim") else param.axis
    if not param.slice_point:
        return place.make("SliceChannel", place.bottoms[0], num_outputs=count, axis=axis)
    return place.make("_split_v2", place.bottoms[0], indices=(0, *param.slice_point), axis=axis)


@_layer("Flatten")
def _flatten(place: Place) -> Symbol:
    param = place.message.flatten_param
    rank = place.rank()
    first, last = param.axis % rank, param.end_axis % rank
    if (first, last) == (1, rank - 1):
        return place.make("Flatten", place.bottoms[0])
    if last - first != 1:
        place.fail("flattens all axes behind the first, or two", "write it with Reshape")
    return place.make("Reshape", place.bottoms[0], shape=(*[0] * first, -3, -2))


@_layer("Reshape")
def _reshape(place: Place) -> Symbol:
    param = place.message.reshape_param
    if param.axis or param.num_axes != -1:
        place.fail("axis and num_axes have no form here", "give all sizes")
    return place.make("Reshape", place.bottoms[0], shape=tuple(param.shape.dim))


@_layer("Permute")
def _permute(place: Place) -> Symbol:
    return place.make("transpose", place.bottoms[0], axes=tuple(place.message.permute_param.order))


@_layer("Crop")
def _crop(place: Place) -> Symbol:
    param = place.message.crop_param
    if param.axis % 4 != 2:
        place.fail("crops height and width only", "use Slice for other axes")
    offset = tuple(param.offset) or (0,)
    offset = offset * 2 if len(offset) == 1 else offset
    return place.make("Crop", *place.bottoms, num_args=2, offset=offset)


@_layer("Tile")
def _tile(place: Place) -> Symbol:
    param, rank = place.message.tile_param, place.rank()
    reps = [param.tiles if axis == param.axis % rank else 1 for axis in range(rank)]
    return place.make("tile", place.bottoms[0], reps=tuple(reps))


@_layer("Reduction")
def _reduction(place: Place) -> Symbol:
    param, data = place.message.reduction_param, place.bottoms[0]
    before = {2: "abs", 3: "square"}.get(param.operation)
    if before:
        data = place.make(before, data)
    axes = tuple(range(param.axis % place.rank(), place.rank()))
    value = place.make("mean" if param.operation == 4 else "sum", data, axis=axes)
    return value if param.coeff == 1 else place.make("_mul_scalar", value, scalar=param.coeff)


@_layer("ArgMax")
def _argmax(place: Place) -> Symbol:
    param = place.message.argmax_param
    if param.out_max_val or param.top_k != 1:
        place.fail("gives the best position only", "use topk")
    axis = param.axis if param.HasField("axis") else 1
    return place.make("argmax", place.bottoms[0], axis=axis, keepdims=True)


# Outputs ------------------------------------------------------------------------------------------


@_layer("Softmax")
def _softmax(place: Place) -> Symbol:
    return place.make("softmax", place.bottoms[0], axis=place.message.softmax_param.axis)


@_layer("SoftmaxWithLoss")
def _softmax_with_loss(place: Place) -> Symbol:
    param = place.message.loss_param
    ignores = param.HasField("ignore_label")
    per_batch = param.normalization == 2 or (param.HasField("normalize") and not param.normalize)
    return place.make(
        "SoftmaxOutput",
        *place.bottoms[:2],
        multi_output=place.rank() > 2,
        use_ignore=ignores,
        ignore_label=float(param.ignore_label) if ignores else -1.0,
        normalization="null" if param.normalization == 3 else "batch" if per_batch else "valid",
    )


@_layer("EuclideanLoss", "SigmoidCrossEntropyLoss", "HingeLoss")
def _other_losses(place: Place) -> Symbol:
    op = {
        "EuclideanLoss": "LinearRegressionOutput",
        "SigmoidCrossEntropyLoss": "LogisticRegressionOutput",
        "HingeLoss": "SVMOutput",
    }[place.layer.type]
    return place.make(op, *place.bottoms[:2])
