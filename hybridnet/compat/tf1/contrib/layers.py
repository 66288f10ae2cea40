"""``tf.contrib.layers``: of its names those that scripts use most."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..dtypes import float32
from ..graph.control import add_to_collections, name_scope
from ..graph.tensor import Tensor
from ..graph.values import convert_to_tensor
from ..layer.base import ZEROS
from ..layer.core import Flatten, finished, product
from ..operations.elementwise import abs as sizes
from ..operations.nn.activation import l2_loss, relu
from ..operations.reduction import reduce_sum
from ..variables.initial import Initializer, VarianceScaling
from ..variables.scope import get_variable, variable_scope

__all__ = [
    "flatten", "fully_connected", "l1_regularizer", "l2_regularizer",
    "variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d",
]  # fmt: skip


def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Tensor:
    """Returns (batch, the product of the rest).

    Args:
        inputs: (batch, ...).
        outputs_collections: the collections that the result is added to.
        scope: the name of the scope.
    """
    with name_scope(scope, "Flatten", [inputs]):
        made: Tensor = Flatten().call(inputs)
    if outputs_collections:
        add_to_collections(outputs_collections, made)
    return made


def fully_connected(
    inputs: Any,
    num_outputs: int,
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
) -> Tensor:
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
    lists = variables_collections or {}
    if not isinstance(lists, Mapping):
        lists = {"weights": lists, "biases": lists}
    with variable_scope(scope, "fully_connected", [inputs], reuse=reuse):
        x = convert_to_tensor(inputs)
        size = x.shape.as_list()[-1]
        if size is None:
            raise ValueError("The last dimension of the inputs to a layer should be defined")
        w = _weight(
            "weights", [size, int(num_outputs)], weights_initializer or xavier_initializer(),
            weights_regularizer, lists, trainable, x,
        )  # fmt: skip
        made, b = product(x, w, int(num_outputs)), None
        if normalizer_fn is not None:
            made = normalizer_fn(made, **(normalizer_params or {}))
        elif biases_initializer is not None:
            b = _weight(
                "biases", [int(num_outputs)], biases_initializer, biases_regularizer, lists,
                trainable, x,
            )  # fmt: skip
        made = finished(made, b, activation_fn)
    if outputs_collections:
        add_to_collections(outputs_collections, made)
    return made


def _weight(
    name: str,
    shape: list[int],
    initializer: Any,
    regularizer: Any,
    lists: Mapping[str, Any],
    trainable: bool,
    inputs: Tensor,
) -> Any:
    made = get_variable(
        name, shape, inputs.dtype.base_dtype, initializer, regularizer, trainable=trainable
    )
    if lists.get(name):
        add_to_collections(lists[name], made)
    return made


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
