"""Branches beside each other, batch norm over devices, and layers that enlarge pictures."""

from __future__ import annotations

import math
import warnings
from typing import Any, Unpack

from hybridnet import ndarray
from hybridnet.base.array_types import DTypeLike
from hybridnet.base.errors import ParameterError
from hybridnet.initializer.base import InitLike
from hybridnet.ndarray import NDArray

from ...block import Block, HybridBlock
from ...nn import BatchNorm, HybridSequential, Sequential
from ...parameter import ParameterDict
from ...types import BlockNames, Data, Operators

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SparseEmbedding",
    "SyncBatchNorm",
]


class Concurrent(Sequential):
    """Blocks beside each other: each gets the input, and the outputs are joined.

    Args:
        axis: along which they are joined.
        prefix, params: see `gluon.Block`.
    """

    def __init__(
        self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Any) -> Any:
        """Runs all blocks on x."""
        return ndarray.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class HybridConcurrent(HybridSequential):
    """Hybrid blocks beside each other: each gets the input, and the outputs are joined.

    Args:
        axis: along which they are joined.
        prefix, params: see `gluon.Block`.
    """

    def __init__(
        self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Runs all blocks on x."""
        return F.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class Identity(HybridBlock):
    """Gives its input: the short way beside other branches.

    Args:
        prefix, params: see `gluon.Block`.
    """

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Returns x."""
        return x


class SparseEmbedding(Block):
    """`nn.Embedding` whose weight is row-sparse, for tables too large to be moved as a whole.

    Only the rows that are looked up are fetched from the trainer's store, which `Trainer` needs.

    Args:
        input_dim: numbers are from 0 to input_dim - 1.
        output_dim: length of a vector.
        dtype: of the vectors.
        weight_initializer: their first values.
        kwargs: ``prefix`` and ``params``.

    Input of any shape; output with one more axis, of size output_dim.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        weight_initializer: InitLike | None = None,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        self._sizes = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype}
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            grad_stype="row_sparse",
            stype="row_sparse",
        )

    def forward(self, x: NDArray) -> NDArray:
        """Looks the vectors up."""
        rows = self.weight.row_sparse_data(x)
        return ndarray.Embedding(x, rows, sparse_grad=True, name="fwd", **self._sizes)

    def __repr__(self) -> str:
        sizes = self._sizes
        shown = f"{sizes['input_dim']} -> {sizes['output_dim']}, {sizes['dtype']}"
        return f"{type(self).__name__}({shown})"


class SyncBatchNorm(BatchNorm):
    """`BatchNorm` with the mean and variance of the whole batch, wherever its parts are.

    On one device, and in one program over several, that is `BatchNorm`.

    Args:
        in_channels: channels; 0 to find out from the first input.
        num_devices: on how many devices the batch is.
        momentum, epsilon, center, scale, use_global_stats, beta_initializer, gamma_initializer,
            running_mean_initializer, running_variance_initializer: as for `BatchNorm`.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(
        self,
        in_channels: int = 0,
        num_devices: int | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: InitLike | None = "zeros",
        gamma_initializer: InitLike | None = "ones",
        running_mean_initializer: InitLike | None = "zeros",
        running_variance_initializer: InitLike | None = "ones",
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(
            1,
            momentum,
            epsilon,
            center,
            scale,
            use_global_stats,
            beta_initializer,
            gamma_initializer,
            running_mean_initializer,
            running_variance_initializer,
            in_channels,
            **kwargs,
        )
        if num_devices is None:
            warnings.warn(
                "SyncBatchNorm: num_devices is taken to be 1; pass the number of devices that the "
                "batch is split over",
                UserWarning,
                stacklevel=2,
            )
            num_devices = 1
        self._sync = {
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
            "ndev": num_devices,
            "key": self.prefix,
        }

    def hybrid_forward(
        self,
        F: Operators[Data],
        x: Data,
        gamma: Data,
        beta: Data,
        running_mean: Data,
        running_var: Data,
    ) -> Data:
        """Normalizes."""
        return F.contrib.SyncBatchNorm(
            x, gamma, beta, running_mean, running_var, name="fwd", **self._sync
        )


class _PixelShuffle(HybridBlock):
    """Base of the layers that make one element of each channel of a group; see `PixelShuffle2D`."""

    _ndim: int

    def __init__(self, factor: int | tuple[int, ...] | list[int]) -> None:
        super().__init__()
        given = tuple(factor) if isinstance(factor, (tuple, list)) else (factor,) * self._ndim
        if len(given) != self._ndim:
            raise ParameterError(
                f"{type(self).__name__}: factor must be a whole number or {self._ndim} of them, "
                f"got {factor!r}"
            )
        self._factors = tuple(int(one) for one in given)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Moves channels between the elements of the axes after them."""
        n, rest = self._ndim, (0,) * self._ndim
        # (N, C f1 ... fn, D1, ..., Dn) to (N, C, f1, ..., fn, D1, ..., Dn), one axis at a time.
        x = F.reshape(x, shape=(0, -4, -1, math.prod(self._factors), *rest))
        for at in range(n - 1):
            after = math.prod(self._factors[at + 1 :])
            x = F.reshape(x, shape=(*(0,) * (2 + at), -4, self._factors[at], after, *rest))
        pairs = [axis for at in range(n) for axis in (2 + n + at, 2 + at)]
        x = F.transpose(x, axes=(0, 1, *pairs))
        return F.reshape(x, shape=(0, 0, *(-3,) * n))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors})"


class PixelShuffle1D(_PixelShuffle):
    """As `PixelShuffle2D`, over one axis: (batch, f channels, width) to (batch, channels, f width).

    Args:
        factor: f.
    """

    _ndim = 1

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors[0]})"


class PixelShuffle2D(_PixelShuffle):
    """Enlarges pictures by making pixels of groups of channels (Shi et al. 2016).

    Args:
        factor: how many times as high and as wide, one number or two: f and g.

    Input (batch, f g channels, height, width), output (batch, channels, f height, g width).
    """

    _ndim = 2


class PixelShuffle3D(_PixelShuffle):
    """As `PixelShuffle2D`, over three axes.

    Args:
        factor: how many times as deep, high and wide, one number or three.

    Input (batch, f g h channels, depth, height, width), output
    (batch, channels, f depth, g height, h width).
    """

    _ndim = 3
