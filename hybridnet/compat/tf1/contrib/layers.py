"""``tf.contrib.layers``: of its names those that scripts use most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import float32
from ..graph.control import add_to_collections, name_scope
from ..graph.tensor import Tensor
from ..layer.core import Flatten
from ..operations.elementwise import abs as sizes
from ..operations.nn.activation import l2_loss
from ..operations.reduction import reduce_sum
from ..variables.initial import Initializer, VarianceScaling

__all__ = [
    "flatten", "l1_regularizer", "l2_regularizer", "variance_scaling_initializer",
    "xavier_initializer", "xavier_initializer_conv2d",
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
