"""Layers of ``tf.contrib.layers`` that normalize, and dropout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..graph import GraphKeys, Tensor, convert_to_tensor, identity
from ..graph.control import add_to_collections, control_dependencies, get_collection_ref
from ..layer.base import ONES, ZEROS
from ..layer.core import Dropout
from ..layer.norm import BatchNormalization
from ..operations.nn.norm import batch_normalization, moments
from ..variables.scope import get_variable, variable_scope
from .framework import add_arg_scope

__all__ = ["batch_norm", "dropout", "layer_norm"]


@add_arg_scope
def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Callable[[Any], Any] | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    param_regularizers: Mapping[str, Any] | None = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
) -> Tensor:
    """Normalizes channels over the batch, as `tf.layers.batch_normalization` does.

    Args:
        inputs: (batch, ..., channel), or (batch, channel, ...).
        decay: how much of the averages stays in a step.
        center: whether there is a 'beta'.
        scale: whether there is a 'gamma'.
        epsilon: what is added to variances.
        activation_fn: a function of the result; None: none.
        param_initializers: for 'beta', 'gamma', 'moving_mean' and 'moving_variance'.
        param_regularizers: for 'beta' and 'gamma'.
        updates_collections: the collections of what moves the averages; with None they are moved
            whenever the result is computed.
        is_training: a bool, or a tensor of one.
        reuse: whether the variables must be there already.
        variables_collections: the collections that they are added to.
        outputs_collections: the collections that the result is added to.
        trainable: whether optimizers change 'beta' and 'gamma'.
        batch_weights: must be None.
        fused: whether the average of variances takes the unbiased ones; default for images.
        data_format: 'NHWC' or 'NCHW'.
        zero_debias_moving_mean: must be False.
        scope: of the variables; default 'BatchNorm', made unique.

    Raises:
        NotImplementedError: `batch_weights` or `zero_debias_moving_mean` is given.
    """
    if batch_weights is not None or zero_debias_moving_mean:
        raise NotImplementedError(
            "batch_norm: batch_weights and zero_debias_moving_mean are not there; leave them out"
        )
    begin, held = param_initializers or {}, param_regularizers or {}
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as own:
        x = convert_to_tensor(inputs)
        layer = BatchNormalization(
            1 if data_format.startswith("NC") else -1, decay, epsilon, center, scale,
            begin.get("beta", ZEROS), begin.get("gamma", ONES), begin.get("moving_mean", ZEROS),
            begin.get("moving_variance", ONES), held.get("beta"), held.get("gamma"),
            fused=fused, trainable=trainable,
        )  # fmt: skip
        made = layer(x, training=is_training, scope=own)
        everywhere = get_collection_ref(GraphKeys.UPDATE_OPS)
        for one in layer.updates:
            everywhere.remove(one)
            add_to_collections(updates_collections or (), one)
        if variables_collections:
            for one in layer.weights:
                add_to_collections(variables_collections, one)
        if not updates_collections:
            with control_dependencies(layer.updates):
                made = identity(made)
        return _finished(made, activation_fn, outputs_collections)


@add_arg_scope
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Callable[[Any], Any] | None = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Tensor:
    """Normalizes each example by its own mean and variance (Ba et al., 2016).

    Args:
        inputs: (batch, ...).
        center, scale, activation_fn, reuse, variables_collections, outputs_collections,
            trainable: as for `batch_norm`.
        begin_norm_axis: mean and variance are over this axis and all after it.
        begin_params_axis: the variables have the sizes of this axis and all after it.
        scope: of the variables; default 'LayerNorm', made unique.

    Raises:
        ValueError: sizes that the variables have are not known.
    """
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse):
        x = convert_to_tensor(inputs)
        rank = x.shape.ndims
        sizes = [] if rank is None else x.shape.as_list()[begin_params_axis:]
        if rank is None or None in sizes:
            raise ValueError(f"layer_norm: sizes of the last dimensions must be known, got {x}")
        parts = {}
        for name, there, begin in (("beta", center, ZEROS), ("gamma", scale, ONES)):
            if there:
                parts[name] = get_variable(name, sizes, x.dtype, begin, trainable=trainable)
                add_to_collections(variables_collections or (), parts[name])
        first = begin_norm_axis % rank
        mean, variance = moments(x, list(range(first, rank)), keep_dims=True)
        made = batch_normalization(x, mean, variance, parts.get("beta"), parts.get("gamma"), 1e-12)
        made.set_shape(x.shape)
        return _finished(made, activation_fn, outputs_collections)


@add_arg_scope
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Tensor:
    """Sets elements to 0 at random in training, and scales the others up.

    Args:
        inputs: a tensor.
        keep_prob: the part that stays on average.
        noise_shape: as for `tf.nn.dropout`.
        is_training: a bool, or a tensor of one.
        outputs_collections: the collections that the result is added to.
        scope: the name of the scope.
        seed: without meaning here; see `tf.set_random_seed`.
    """
    with variable_scope(scope, "Dropout", [inputs]) as own:
        layer = Dropout(1 - keep_prob, noise_shape)
        made: Tensor = layer(inputs, training=is_training, scope=own)
        return _finished(made, None, outputs_collections)


def _finished(made: Tensor, activation: Callable[[Any], Any] | None, collections: Any) -> Tensor:
    if activation is not None:
        made = activation(made)
    add_to_collections(collections or (), made)
    return made
