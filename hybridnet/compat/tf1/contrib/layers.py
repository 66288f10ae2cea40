"""``tf.contrib.layers``: of its names those that scripts use most."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Signature, signature
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

from ..dtypes import float32
from ..graph import Tensor, add_to_collections, convert_to_tensor, described, name_scope
from ..layer.base import ZEROS
from ..layer.conv import spread_over
from ..layer.core import Flatten, finished, product
from ..operations import cast, one_hot, reduce_sum
from ..operations.elementwise import abs as sizes
from ..operations.nn.activation import l2_loss, relu
from ..operations.nn.conv import convolution
from ..operations.nn.pool import avg_pool, max_pool
from ..variables.initial import Initializer, VarianceScaling
from ..variables.partitioned import PartitionedVariable
from ..variables.scope import get_variable, variable_scope
from .framework import add_arg_scope
from .normal import batch_norm, dropout, layer_norm
from .optimizing import OPTIMIZER_CLS_NAMES as OPTIMIZER_CLS_NAMES
from .optimizing import OPTIMIZER_SUMMARIES as OPTIMIZER_SUMMARIES
from .optimizing import apply_regularization as apply_regularization
from .optimizing import optimize_loss as optimize_loss

__all__ = [
    "OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES", "apply_regularization", "avg_pool2d",
    "batch_norm", "conv2d", "conv2d_transpose", "convolution2d", "convolution2d_transpose",
    "dropout", "flatten", "fully_connected", "l1_regularizer", "l2_regularizer", "layer_norm",
    "linear", "max_pool2d", "one_hot_encoding", "optimize_loss", "repeat", "stack",
    "variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d",
]  # fmt: skip

_Made = TypeVar("_Made")


@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Tensor:
    """Returns (batch, the product of the rest).

    Args:
        inputs: (batch, ...).
        outputs_collections: the collections that the result is added to.
        scope: the name of the scope.
    """
    with name_scope(scope, "Flatten", [inputs]):
        made: Tensor = Flatten().call(inputs)
    return _collected(made, outputs_collections)


def _common(
    activation_fn: Callable[[Any], Any] | None = relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> None:
    """Declares the arguments that all layers with weights share; see `fully_connected`."""


class _Product(NamedTuple):
    """The part of a layer that uses its weights: a matrix product or a convolution.

    Attributes:
        shape: the shape of the weights.
        function: computes the result from the weights.
        layout: the layout of images, 'NHWC' or 'NCHW'.
    """

    shape: list[int]
    function: Callable[[Any], Tensor]
    layout: str | None = None


def _layer(default: str) -> Callable[[Callable[..., _Product]], Callable[..., Tensor]]:
    """Makes a layer with weights of a function of its inputs, and what else is its own.

    The arguments of `_common` come behind these.

    Args:
        default: the name of the scope of the variables, made unique.
    """
    shared = signature(_common).parameters

    def decorate(function: Callable[..., _Product]) -> Callable[..., Tensor]:
        own = list(signature(function).parameters.values())
        whole = Signature([*own, *shared.values()], return_annotation="Tensor")

        @wraps(function)
        def layer(*args: Any, **keywords: Any) -> Tensor:
            bound = whole.bind(*args, **keywords)
            bound.apply_defaults()
            given = bound.arguments
            how = SimpleNamespace(**{name: given.pop(name) for name in shared})
            inputs = given.pop("inputs")
            with variable_scope(how.scope, default, [inputs], reuse=how.reuse):
                x, count = convert_to_tensor(inputs), int(given.pop("num_outputs"))
                made = _computed(x, count, function(x, count, **given), how)
            return _collected(made, how.outputs_collections)

        layer.__signature__ = whole  # type: ignore[attr-defined]
        return layer

    return decorate


def _computed(x: Tensor, num_outputs: int, product: _Product, how: SimpleNamespace) -> Tensor:
    """Returns a product, normalized or with biases added, and an activation of it."""
    given = how.variables_collections or {}
    lists = given if isinstance(given, Mapping) else {"weights": given, "biases": given}

    def variable(name: str, shape: list[int], initializer: Any, regularizer: Any) -> Any:
        kind = x.dtype.base_dtype
        made = get_variable(name, shape, kind, initializer, regularizer, trainable=how.trainable)
        for one in made if isinstance(made, PartitionedVariable) else [made]:
            _collected(one, lists.get(name))
        return made

    begun = how.weights_initializer or xavier_initializer()
    made = product.function(variable("weights", product.shape, begun, how.weights_regularizer))
    b = None
    if how.normalizer_fn is not None:
        made = how.normalizer_fn(made, **(how.normalizer_params or {}))
    elif how.biases_initializer is not None:
        b = variable("biases", [num_outputs], how.biases_initializer, how.biases_regularizer)
    return finished(made, b, how.activation_fn, product.layout)


@add_arg_scope
@_layer("fully_connected")
def fully_connected(inputs: Any, num_outputs: int) -> _Product:
    """Returns activation(x W + b) over the last axis, as `tf.layers.dense` does.

    Args:
        inputs: `x`, (..., inputs).
        num_outputs: how many outputs.
        activation_fn: a function of a tensor; None: none.
        normalizer_fn: a function of x W, in whose place there is no `b` then.
        normalizer_params: its keywords.
        weights_initializer: sets the variable 'weights'; default `xavier_initializer`.
        weights_regularizer: what is computed of 'weights', and collected as a loss.
        biases_initializer: sets the variable 'biases'; None: there is none.
        biases_regularizer: likewise of 'biases'.
        reuse: whether the variables must be there already.
        variables_collections: a list that both are added to, or one for each of 'weights' and
            'biases'.
        outputs_collections: the collections that the result is added to.
        trainable: whether optimizers change them.
        scope: of the variables; default 'fully_connected', made unique.

    Raises:
        ValueError: the size of the last axis is not known.
    """
    size = inputs.shape.as_list()[-1]
    if size is None:
        raise ValueError("The last dimension of the inputs to a layer should be defined")
    return _Product([size, num_outputs], lambda w: product(inputs, w, num_outputs))


@add_arg_scope
@_layer("Conv")
def conv2d(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
) -> _Product:
    """Slides filters over images; the arguments that are not here are those of `fully_connected`.

    Args:
        inputs: (batch, height, width, channel), or (batch, channel, height, width).
        num_outputs: how many filters.
        kernel_size: their height and width, or one number for both.
        stride: the distance of two places, likewise.
        padding: 'SAME' or 'VALID'.
        data_format: 'NHWC' (the default) or 'NCHW'.
        rate: the distance of two elements of a filter, as `stride`.
        scope: of the variables; default 'Conv', made unique.

    Raises:
        ValueError: the number of channels is not known.
    """
    layout = data_format or "NHWC"

    def convolved(w: Any) -> Tensor:
        return convolution(inputs, w, padding, _two(stride), _two(rate), data_format=layout)

    shape = [*_two(kernel_size), _channels(inputs, layout), num_outputs]
    return _Product(shape, convolved, layout)


@add_arg_scope
@_layer("Conv2d_transpose")
def conv2d_transpose(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
) -> _Product:
    """Spreads each pixel over a filter; arguments as those of `conv2d`.

    The scope of the variables is by default 'Conv2d_transpose', made unique.

    Raises:
        ValueError: the number of channels is not known.
    """
    channels, sizes, steps = _channels(inputs, data_format), _two(kernel_size), _two(stride)
    return _Product(
        [*sizes, num_outputs, channels],
        lambda w: spread_over(inputs, w, sizes, steps, padding, data_format),
        data_format,
    )


def _of_images(default: str, pool: Callable[..., Tensor], what: str) -> Callable[..., Tensor]:
    def pooled(
        inputs: Any,
        kernel_size: Any,
        stride: Any = 2,
        padding: str = "VALID",
        data_format: str = "NHWC",
        outputs_collections: Any = None,
        scope: str | None = None,
    ) -> Tensor:
        with name_scope(scope, default, [inputs]):
            made = pool(inputs, _two(kernel_size), _two(stride), padding, data_format)
        return _collected(made, outputs_collections)

    doc = f"""Returns the {what} of each window of images.

    Args:
        inputs: (batch, height, width, channel), or (batch, channel, height, width).
        kernel_size: the height and width of a window, or one number for both.
        stride: the distance of two windows, likewise.
        padding: 'VALID' or 'SAME'.
        data_format: 'NHWC' or 'NCHW'.
        outputs_collections: the collections that the result is added to.
        scope: the name of the scope; default '{default}'.
    """
    return add_arg_scope(described(pooled, f"{pool.__name__}2d", doc))


max_pool2d = _of_images("MaxPool2D", max_pool, "greatest element")
avg_pool2d = _of_images("AvgPool2D", avg_pool, "mean")


@add_arg_scope
def one_hot_encoding(
    labels: Any,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Tensor:
    """Returns a row for each label, with one number at its place and another elsewhere."""
    with name_scope(scope, "OneHotEncoding", [labels]):
        made = one_hot(cast(convert_to_tensor(labels), "int64"), num_classes, on_value, off_value)
    return _collected(made, outputs_collections)


def repeat(
    inputs: Any, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """Applies a layer several times, in scopes 'repeat_1', 'repeat_2', ... of one scope.

    Args:
        inputs: of the first.
        repetitions: how often.
        layer: a function of its inputs.
        args: its other arguments.
        kwargs: its keywords; ``scope`` is that of all (default 'Repeat').
    """
    return _applied("Repeat", inputs, layer, [args] * repetitions, **kwargs)


def stack(inputs: Any, layer: Callable[..., Any], stack_args: Any, **kwargs: Any) -> Any:
    """Applies a layer for each of several arguments; see `repeat`."""
    several = [one if isinstance(one, (list, tuple)) else [one] for one in stack_args]
    return _applied("Stack", inputs, layer, several, **kwargs)


def _applied(
    default: str, made: Any, layer: Callable[..., Any], several: Any, scope: Any = None, **same: Any
) -> Any:
    with variable_scope(scope, default, [made]):
        called = scope or getattr(layer, "__name__", default.lower())
        for number, own in enumerate(several, 1):
            made = layer(made, *own, scope=f"{called}_{number}", **same)
        return made


def _collected(made: _Made, collections: Any) -> _Made:
    """Adds a variable or a result to collections, if there are some; returns it."""
    if collections:
        add_to_collections(collections, made)
    return made


def _two(numbers: Any) -> list[int]:
    """Returns a height and a width of two numbers, or of one."""
    given = [numbers] * 2 if isinstance(numbers, int) else [int(one) for one in numbers]
    if len(given) != 2:
        raise ValueError(f"a height and a width are needed, got {numbers!r}")
    return given


def _channels(images: Tensor, layout: str) -> int:
    found: int | None = images.shape.as_list()[layout.index("C")]
    if found is None:
        raise ValueError("The number of channels of the inputs to a layer should be defined")
    return found


def _regularizer(
    scale: float, name: str, scope: str | None, measure: Callable[[Any], Any]
) -> Callable[[Any], Tensor | None]:
    if scale < 0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}")

    def regularized(weights: Any) -> Tensor | None:
        if scale == 0:
            return None
        with name_scope(scope, name, [weights]):
            made: Tensor = measure(weights) * scale
            return made

    return regularized


def l1_regularizer(scale: float, scope: str | None = None) -> Callable[[Any], Tensor | None]:
    """Returns a function for `get_variable`: `scale` times the sum of sizes."""
    return _regularizer(scale, "l1_regularizer", scope, lambda one: reduce_sum(sizes(one)))


def l2_regularizer(scale: float, scope: str | None = None) -> Callable[[Any], Tensor | None]:
    """Returns a function for `get_variable`: `scale` times half the sum of squares."""
    return _regularizer(scale, "l2_regularizer", scope, l2_loss)


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: Any = float32,
) -> Initializer:
    """Returns an initializer whose spread depends on the sizes of a layer (He et al., 2015).

    Args:
        factor: of the variance.
        mode: 'FAN_IN', 'FAN_OUT' or 'FAN_AVG'.
        uniform: whether samples are spread evenly, and not normal.
        seed: without meaning here; see `tf.set_random_seed`.
        dtype: where a call gives none.
    """
    spread = "uniform" if uniform else "truncated_normal"
    return VarianceScaling(factor, mode.lower(), spread, seed, dtype)


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: Any = float32
) -> Initializer:
    """Returns an initializer whose spread depends on both sizes of a layer (Glorot, 2010)."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer
convolution2d = conv2d
convolution2d_transpose = conv2d_transpose


@add_arg_scope
def linear(inputs: Any, num_outputs: int, **keywords: Any) -> Tensor:
    """As `fully_connected`, without an activation."""
    made: Tensor = fully_connected(inputs, num_outputs, **{"activation_fn": None, **keywords})
    return made
