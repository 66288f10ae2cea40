"""The parameters of a recurrent network: their sizes, cut into weights, and joined to a vector."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax

from ...core.operator import describe
from ...core.registry import operator
from ...core.rules import one_axis, promote_types, unify_around
from ._layer import GATES, KEPT


@final
@dataclass(frozen=True)
class Net:
    """The sizes of a network."""

    mode: str
    layers: int
    directions: int
    hidden: int
    projected: int | None
    clip: tuple[float, float, bool] | None

    @property
    def shown(self) -> int:
        """The size of a hidden state."""
        return self.hidden if self.projected is None else self.projected

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the states."""
        return ("state", "state_cell") if self.mode == "lstm" else ("state",)

    @property
    def num_kept(self) -> int:
        """The number of arrays kept for the gradient; 0 where it computes the network again."""
        if self.projected is not None or self.clip is not None:
            return 0
        return self.layers * self.directions * KEPT[self.mode]

    def state_shape(self, name: str, batch: int) -> tuple[int, int, int]:
        """Returns the shape of a state."""
        size = self.shown if name == "state" else self.hidden
        return (self.layers * self.directions, batch, size)

    def blocks(self, features: int) -> Iterator[tuple[tuple[int, ...], ...]]:
        """Yields for each layer and direction the shapes of its weights."""
        gates = GATES[self.mode] * self.hidden
        for layer in range(self.layers):
            inputs = features if layer == 0 else self.shown * self.directions
            for _ in range(self.directions):
                shapes: tuple[tuple[int, ...], ...] = ((gates, inputs), (gates, self.shown))
                if self.projected is not None:
                    shapes = (*shapes, (self.projected, self.hidden))
                yield shapes

    def size(self, features: int) -> int:
        """Returns the number of parameters for inputs of so many features."""
        weights = sum(rows * columns for block in self.blocks(features) for rows, columns in block)
        return weights + 2 * self.layers * self.directions * GATES[self.mode] * self.hidden


def net_of(
    *,
    state_size: int,
    num_layers: int,
    mode: str,
    bidirectional: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    **_: Any,
) -> Net:
    """Returns the sizes that the operator's parameters say."""
    clip = None
    if lstm_state_clip_min is not None or lstm_state_clip_max is not None or lstm_state_clip_nan:
        low = -np.inf if lstm_state_clip_min is None else lstm_state_clip_min
        high = np.inf if lstm_state_clip_max is None else lstm_state_clip_max
        clip = (low, high, lstm_state_clip_nan)
    return Net(mode, num_layers, 1 + bidirectional, state_size, projection_size, clip)


def unpacked(parameters: Any, net: Net, features: int) -> list[tuple[Any, ...]]:
    """Returns for each layer and direction its weights, then its two biases."""
    blocks = list(net.blocks(features))
    biases = [(GATES[net.mode] * net.hidden,)] * (2 * len(blocks))
    shapes = [*itertools.chain(*blocks), *biases]
    # At once, so that the gradient is joined at once.
    cut = lax.split(parameters, [math.prod(shape) for shape in shapes])
    arrays = iter([array.reshape(shape) for array, shape in zip(cut, shapes, strict=True)])
    weights = [tuple(itertools.islice(arrays, len(block))) for block in blocks]
    return [(*pair, next(arrays), next(arrays)) for pair in weights]


def _joined_type(*data: TensorType, dim: int, **_: Any) -> tuple[TensorType]:
    axis = one_axis("_rnn_param_concat", dim, data[0])
    rests = {type_.shape[:axis] + type_.shape[axis + 1 :] for type_ in data}
    if len(rests) > 1 or len({len(type_.shape) for type_ in data}) > 1:
        names = [f"data{number}" for number in range(len(data))]
        raise ShapeError(
            f"_rnn_param_concat: inputs must have equal shapes except along dim={dim}, got "
            f"{describe(names, data)}"
        )
    shape = list(data[0].shape)
    shape[axis] = sum(type_.shape[axis] for type_ in data)
    return (tensor_type(tuple(shape), promote_types(data)),)


@operator(
    "_rnn_param_concat",
    aliases=("_npi_rnn_param_concat",),
    infer=_joined_type,
    complete=unify_around,
)
def rnn_param_concat(*data: Any, num_args: int = 0, dim: int = 1) -> Any:
    """Joins the flattened weights and biases of a recurrent network to its parameter vector.

    Args:
        data: arrays of equal shapes, except along `dim`.
        num_args: how many there are; saved symbols hold it, calls need not give it.
        dim: the axis.
    """
    dtype = promote_types(data)
    return jnp.concatenate([array.astype(dtype) for array in data], axis=dim)
