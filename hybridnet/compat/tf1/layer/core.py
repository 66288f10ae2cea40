"""Layers of any network: `Dense`, `Dropout`, `Flatten`."""

from __future__ import annotations

from typing import Any, final

from ..graph import Tensor, TensorShape, identity
from ..operations import matmul, reshape, shape_of, stack, tensordot, transpose
from ..operations.nn.activation import bias_add, dropout
from .base import ZEROS, Layer, either, known_sizes, weight_settings

__all__ = ["Dense", "Dropout", "Flatten", "finished", "product"]


def finished(x: Tensor, bias: Any, activation: Any, data_format: str | None = None) -> Tensor:
    """Returns a tensor with a bias added, and an activation of it; either may be None."""
    if bias is not None:
        x = bias_add(x, bias, data_format=data_format)
    made: Tensor = x if activation is None else activation(x)
    return made


def product(x: Tensor, kernel: Any, units: int) -> Tensor:
    """Returns the product of a tensor's last axis and a matrix of so many columns."""
    rank = x.shape.ndims
    if rank == 2:
        return matmul(x, kernel)
    made: Tensor = tensordot(x, kernel, [[rank - 1], [0]])  # type: ignore[operator]
    made.set_shape([*x.shape.as_list()[:-1], units])
    return made


@final
class Dense(Layer):
    """activation(x W + b) over the last axis.

    Args:
        units: how many outputs.
        activation: a function of a tensor; None: none.
        use_bias: whether there is a `b`.
        kernel_initializer: sets `W`, (inputs, units); default as `tf.get_variable`.
        bias_initializer: sets `b`, (units,).
        kernel_regularizer: what is computed of `W`, and collected as a loss.
        bias_regularizer: likewise of `b`.
        activity_regularizer: likewise of the result.
        kernel_constraint: kept with `W`.
        bias_constraint: kept with `b`.
        trainable: whether optimizers change them.
        name: of the layer.
        kwargs: those of `Layer`.
    """

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.units = int(units)
        self.activation = activation
        self.use_bias = use_bias
        self._kernel = weight_settings(kernel_initializer, kernel_regularizer, kernel_constraint)
        self._bias = weight_settings(bias_initializer, bias_regularizer, bias_constraint)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: TensorShape) -> None:
        """Makes `kernel` and `bias`."""
        (size,) = known_sizes("Dense", input_shape, -1)
        self.kernel = self.add_weight("kernel", [size, self.units], **self._kernel)
        if self.use_bias:
            self.bias = self.add_weight("bias", [self.units], **self._bias)

    def call(self, inputs: Tensor, *args: Any, **keywords: Any) -> Tensor:
        """Returns the result: (..., units)."""
        return finished(product(inputs, self.kernel, self.units), self.bias, self.activation)


@final
class Dropout(Layer):
    """Sets elements to 0 at random in training, and scales the others up.

    Args:
        rate: the part that is set to 0 on average.
        noise_shape: as for `tf.nn.dropout`.
        seed: without meaning here; see `tf.set_random_seed`.
        name: of the layer.
        kwargs: those of `Layer`.
    """

    def __init__(
        self,
        rate: Any = 0.5,
        noise_shape: Any = None,
        seed: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.rate = rate
        self.noise_shape = noise_shape

    def call(self, inputs: Tensor, *args: Any, training: Any = False, **keywords: Any) -> Tensor:
        """Returns the result; `training` is a bool, or a tensor of one."""

        def dropped() -> Tensor:
            return dropout(inputs, rate=self.rate, noise_shape=self.noise_shape)

        made: Tensor = either(args[0] if args else training, dropped, lambda: identity(inputs))
        return made


@final
class Flatten(Layer):
    """(batch, ...) -> (batch, the product of the rest).

    Args:
        data_format: 'channels_last', or 'channels_first': the channels are then moved last.
        kwargs: those of `Layer`.
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format

    def call(self, inputs: Tensor, *args: Any, **keywords: Any) -> Tensor:
        """Returns the result."""
        x = inputs
        rank = x.shape.ndims
        if rank is not None and rank > 2 and self.data_format == "channels_first":
            x = transpose(x, [0, *range(2, rank), 1])
        sizes = x.shape.as_list()
        rest = 1
        for one in sizes[1:]:
            rest = -1 if one is None or rest < 0 else rest * one
        if rest < 0:  # the product is told by a run
            return reshape(x, stack([shape_of(x)[0], -1]))  # type: ignore[index]
        return reshape(x, [-1 if sizes[0] is None else sizes[0], rest])
