"""`BatchNormalization`: normal by the batch in training, by averages of batches else."""

from __future__ import annotations

from typing import Any, final

from .. import dtypes
from ..graph import TensorShape, colocate_with, name_scope
from ..graph.adding import EdgeHandle, Operation, Tensor, constant
from ..operations import cast, reshape
from ..operations.nn.norm import batch_normalization, fused_batch_norm, moments
from ..variables.scope import get_variable_scope
from ..variables.variable import changed
from .base import ONES, ZEROS, Layer, chosen, either, known_sizes, weight_settings

__all__ = ["BatchNormalization"]


@final
class BatchNormalization(Layer):
    """gamma * (x - mean) / sqrt(variance + epsilon) + beta, for each channel (Ioffe, Szegedy 2015).

    In training mean and variance are those of the batch, and move averages by Operations that are
    in the collection UPDATE_OPS: a training step must run these, too.

    Args:
        axis: that of the channels.
        momentum: the part of the averages that a batch leaves as it is.
        epsilon: a small number.
        center: whether there is a beta.
        scale: whether there is a gamma.
        beta_initializer, gamma_initializer: set them.
        moving_mean_initializer: sets the average of means.
        moving_variance_initializer: sets the average of variances.
        beta_regularizer, gamma_regularizer: what is computed of them, and collected as losses.
        beta_constraint, gamma_constraint: kept with them.
        renorm: must be False.
        renorm_clipping, renorm_momentum: without meaning here.
        fused: whether the average of variances takes the unbiased ones; default for images.
        trainable: whether optimizers change beta and gamma.
        virtual_batch_size, adjustment: must be None.
        name: of the layer.
        kwargs: those of `Layer`.

    Raises:
        NotImplementedError: `renorm`, `virtual_batch_size` or `adjustment` is given.
    """

    def __init__(
        self,
        axis: Any = -1,
        momentum: Any = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = ZEROS,
        gamma_initializer: Any = ONES,
        moving_mean_initializer: Any = ZEROS,
        moving_variance_initializer: Any = ONES,
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: Any = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, **kwargs)
        if renorm or virtual_batch_size is not None or adjustment is not None:
            raise NotImplementedError(
                "BatchNormalization: renorm, virtual_batch_size and adjustment are not there; "
                "leave them out to normalize by the batch as it is"
            )
        self.axis = axis[0] if isinstance(axis, (list, tuple)) else axis
        self.momentum = momentum
        self.epsilon = epsilon
        self.fused = fused
        gamma = weight_settings(gamma_initializer, gamma_regularizer, gamma_constraint)
        beta = weight_settings(beta_initializer, beta_regularizer, beta_constraint)
        self._parts = {"gamma": (scale, gamma), "beta": (center, beta)}
        self._moving = (moving_mean_initializer, moving_variance_initializer)
        self.gamma: Any = None
        self.beta: Any = None

    def build(self, input_shape: TensorShape) -> None:
        """Makes gamma, beta and the averages."""
        sizes = known_sizes("BatchNormalization", input_shape, self.axis)
        self.axis %= len(input_shape.as_list())
        kind = dtypes.float32 if self.dtype in (dtypes.float16, dtypes.bfloat16) else self.dtype
        for name, (there, how) in self._parts.items():
            setattr(self, name, self.add_weight(name, sizes, kind, **how) if there else None)
        mean, variance = self._moving
        scope = get_variable_scope()
        partitioner, scope.partitioner = scope.partitioner, None  # one Operation moves an average
        try:
            self.moving_mean = self.add_weight("moving_mean", sizes, kind, mean, trainable=False)
            self.moving_variance = self.add_weight(
                "moving_variance", sizes, kind, variance, trainable=False
            )
        finally:
            scope.partitioner = partitioner

    def call(self, inputs: Tensor, *args: Any, training: Any = False, **keywords: Any) -> Tensor:
        """Returns the result; `training` is a bool, or a tensor of one."""
        now = chosen(args[0] if args else training)
        rank = inputs.shape.ndims
        fused = self.fused is not False and rank == 4 and self.axis in (1, 3)
        normal = self._fused if fused else self._plain
        averages = (self.moving_mean.value(), self.moving_variance.value())
        made: Tensor
        made, mean, variance = either(
            now, lambda: normal(inputs, None), lambda: normal(inputs, averages)
        )
        made.set_shape(inputs.shape)
        if now is not False:
            rest = either(now, lambda: constant(1.0) - self.momentum, lambda: constant(0.0))
            pairs = ((self.moving_mean, mean), (self.moving_variance, variance))
            self.add_update([_moved(one, value, rest) for one, value in pairs])
        return made

    def _fused(self, x: Tensor, averages: Any) -> list[Tensor]:
        size = self.moving_mean.shape.as_list()
        kind = self.moving_mean.dtype.base_dtype
        scale = constant(1.0, kind, size) if self.gamma is None else self.gamma.value()
        offset = constant(0.0, kind, size) if self.beta is None else self.beta.value()
        layout = "NHWC" if self.axis == 3 else "NCHW"
        mean, variance = averages or (None, None)
        given = (x, scale, offset, mean, variance, self.epsilon, layout)
        return list(fused_batch_norm(*given, is_training=not averages))

    def _plain(self, x: Tensor, averages: Any) -> list[Tensor]:
        rank = len(x.shape.as_list())
        axes = [one for one in range(rank) if one != self.axis]
        mean, variance = averages or moments(x, axes)
        whole = [1 if one in axes else -1 for one in range(rank)]

        def spread(value: Any) -> Any:
            return value if value is None or self.axis == rank - 1 else reshape(value, whole)

        center, width, beta, gamma = map(spread, (mean, variance, self.beta, self.gamma))
        made = batch_normalization(x, center, width, beta, gamma, self.epsilon)
        return [made, mean, variance]


def _moved(variable: Any, value: Tensor, rest: Tensor) -> Operation:
    """Adds what moves an average towards a value by a part of what lies between."""

    def moved(now: EdgeHandle, value: EdgeHandle, rest: EdgeHandle) -> Any:
        return now - (now - value) * rest

    ref = variable._variable
    inputs = [cast(one, ref.dtype.base_dtype) for one in (value, rest)]
    with name_scope("AssignMovingAvg") as scope, colocate_with(variable.op):
        return changed("AssignSub", moved, ref, inputs, scope).op
