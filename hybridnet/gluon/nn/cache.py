"""The cache of keys and values that generation keeps."""

from __future__ import annotations

from typing import NamedTuple

from hybridnet import ndarray as nd
from hybridnet.base.array_types import DTypeLike
from hybridnet.base.context import Context
from hybridnet.base.errors import ShapeError
from hybridnet.ndarray import NDArray

__all__ = ["KeyValueCache"]


class KeyValueCache(NamedTuple):
    """The keys and values of the positions that a network has seen, written in place.

    A network that is given one writes the keys and values of its input at `starts`, and attends to
    all up to there. It is a tuple of arrays, so that a traced function can be given it.

    Attributes:
        keys: of each layer, (batch, size, heads, units).
        values: likewise.
        starts: (batch,), int32, how many positions of each sequence are known, and so where the
            next ones are written. Whoever runs the network moves it on.
    """

    keys: tuple[NDArray, ...]
    values: tuple[NDArray, ...]
    starts: NDArray

    @classmethod
    def zeros(
        cls,
        layers: int,
        shape: tuple[int, int, int, int],
        dtype: DTypeLike = "float32",
        ctx: Context | None = None,
    ) -> KeyValueCache:
        """Returns an empty cache.

        Args:
            layers: how many layers attend.
            shape: (batch, size, heads, units); size is the longest a sequence may become.
            dtype: of keys and values.
            ctx: where it is; None for the current context.
        """
        if len(shape) != 4:
            raise ShapeError(
                f"KeyValueCache.zeros: shape must be (batch, size, heads, units), got {shape}"
            )
        keys, values = (
            tuple([nd.zeros(shape, ctx=ctx, dtype=dtype) for _ in range(layers)]) for _ in range(2)
        )
        return cls(keys, values, nd.zeros((shape[0],), ctx=ctx, dtype="int32"))

    @property
    def size(self) -> int:
        """The longest a sequence may become."""
        return self.keys[0].shape[1]

    def write(self, layer: int, keys: NDArray, values: NDArray) -> tuple[NDArray, NDArray]:
        """Writes the keys and values of the next positions.

        Args:
            layer: which layer they are of, from 0.
            keys, values: (batch, length, heads, units).

        Returns:
            All keys and values of the layer, (batch, size, heads, units).
        """
        all_keys, all_values = self.keys[layer], self.values[layer]
        all_keys[:] = nd.contrib.cache_write(all_keys, keys, self.starts)
        all_values[:] = nd.contrib.cache_write(all_values, values, self.starts)
        return all_keys, all_values

    def grown(self, size: int) -> KeyValueCache:
        """Returns a cache of the same keys and values with room for longer sequences."""

        def longer(array: NDArray) -> NDArray:
            more = (array.shape[0], size - array.shape[1], *array.shape[2:])
            return nd.concat(array, nd.zeros(more, ctx=array.context, dtype=array.dtype), dim=1)

        keys, values = (tuple([longer(x) for x in part]) for part in (self.keys, self.values))
        return KeyValueCache(keys, values, self.starts)
