"""Pooling layers, over windows and over everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from hybridnet.base.defaults import with_defaults
from hybridnet.base.errors import ParameterError

from ..block import HybridBlock
from ..types import BlockNames, Data, Operators
from .axes import Sizes, SpatialBlock, check_layout, sizes_of

__all__ = [
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "ReflectionPad2D",
]


class _Pooling(SpatialBlock):
    """Base of the pooling layers; arguments as `AvgPool2D`, and whether all positions are pooled.

    Input (batch, channels, *spatial), output the same with smaller spatial axes; channels last for
    the other layout.
    """

    _kind: str

    def __init_subclass__(cls, kind: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if kind is not None:
            cls._kind = kind

    def __init__(
        self,
        pool_size: Sizes,
        strides: Sizes | None,
        padding: Sizes,
        ceil_mode: bool,
        layout: str,
        count_include_pad: bool | None = None,
        global_pool: bool = False,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        name = type(self).__name__
        check_layout(layout, self._ndim, name)
        size = sizes_of(pool_size, self._ndim, f"{name}: pool_size")
        steps = size if strides is None else strides
        self._kwargs: dict[str, Any] = {
            "kernel": size,
            "stride": sizes_of(steps, self._ndim, f"{name}: strides"),
            "pad": sizes_of(padding, self._ndim, f"{name}: padding"),
            "pool_type": self._kind,
            "global_pool": global_pool,
            "pooling_convention": "full" if ceil_mode else "valid",
            "layout": layout,
        }
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Pools."""
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        options = self._kwargs
        ceil = options["pooling_convention"] == "full"
        return (
            f"{type(self).__name__}(size={options['kernel']}, stride={options['stride']}, "
            f"padding={options['pad']}, ceil_mode={ceil}, "
            f"global_pool={options['global_pool']}, pool_type={self._kind}, "
            f"layout={options['layout']})"
        )


class _MaxPool(_Pooling, kind="max"):
    """Base of the maxima over windows; arguments as `MaxPool2D`."""

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, **kwargs)


class MaxPool1D(_MaxPool, ndim=1):
    """The maximum over windows of one axis; arguments as `MaxPool2D`."""


@with_defaults(pool_size=(2, 2), layout="NCHW")
class MaxPool2D(_MaxPool, ndim=2):
    """The maximum over windows of two axes.

    Args:
        pool_size: the window, a number or one for each spatial axis.
        strides: its steps; default the window's size.
        padding: on both sides of each axis.
        layout: the order of the axes, 'NCHW' or 'NHWC'.
        ceil_mode: whether a last, incomplete window counts.

    Input (batch, channels, height, width), output (batch, channels, height', width').
    """


class MaxPool3D(_MaxPool, ndim=3):
    """The maximum over windows of three axes; arguments as `MaxPool2D`, in another order."""

    def __init__(
        self,
        pool_size: Sizes = (2, 2, 2),
        strides: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(pool_size, strides, padding, layout, ceil_mode, **kwargs)


class _AvgPool(_Pooling, kind="avg"):
    """Base of the averages over windows; arguments as `AvgPool2D`."""

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        layout: str = "NCW",
        count_include_pad: bool = True,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(
            pool_size, strides, padding, ceil_mode, layout, count_include_pad, **kwargs
        )


class AvgPool1D(_AvgPool, ndim=1):
    """The average over windows of one axis; arguments as `AvgPool2D`, in another order."""

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(
            pool_size, strides, padding, ceil_mode, layout, count_include_pad, **kwargs
        )


@with_defaults(pool_size=(2, 2), layout="NCHW")
class AvgPool2D(_AvgPool, ndim=2):
    """The average over windows of two axes.

    Args:
        pool_size, strides, padding, ceil_mode, layout: as for `MaxPool2D`.
        count_include_pad: whether an average counts the padding.

    Input (batch, channels, height, width), output (batch, channels, height', width').
    """


@with_defaults(pool_size=(2, 2, 2), layout="NCDHW")
class AvgPool3D(_AvgPool, ndim=3):
    """The average over windows of three axes; arguments as `AvgPool2D`."""


class _GlobalPool(_Pooling):
    """Base of pooling over all positions.

    Args:
        layout: the order of the axes, channels first or last.
    """

    def __init__(self, layout: str = "NCW", **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(1, None, 0, True, layout, global_pool=True, **kwargs)


class GlobalMaxPool1D(_GlobalPool, ndim=1, kind="max"):
    """The maximum over one axis, which becomes size 1."""


@with_defaults(layout="NCHW")
class GlobalMaxPool2D(_GlobalPool, ndim=2, kind="max"):
    """The maximum over two axes, which become size 1."""


@with_defaults(layout="NCDHW")
class GlobalMaxPool3D(_GlobalPool, ndim=3, kind="max"):
    """The maximum over three axes, which become size 1."""


class GlobalAvgPool1D(_GlobalPool, ndim=1, kind="avg"):
    """The average over one axis, which becomes size 1."""


@with_defaults(layout="NCHW")
class GlobalAvgPool2D(_GlobalPool, ndim=2, kind="avg"):
    """The average over two axes, which become size 1."""


@with_defaults(layout="NCDHW")
class GlobalAvgPool3D(_GlobalPool, ndim=3, kind="avg"):
    """The average over three axes, which become size 1."""


class ReflectionPad2D(HybridBlock):
    """Pads images by their own mirror image at each edge.

    Args:
        padding: rows and columns at each side, or 8 numbers: before and after on each axis.

    The input has the shape (batch, channels, height, width), and the padding must be less than
    height and width.
    """

    def __init__(self, padding: int | Sequence[int] = 0, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        if isinstance(padding, int):
            padding = (0, 0, 0, 0, padding, padding, padding, padding)
        if len(padding) != 8:
            raise ParameterError(
                f"ReflectionPad2D: padding must be a number or 8 of them, got {padding!r}"
            )
        self._padding = tuple(padding)

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Pads."""
        return F.pad(x, mode="reflect", pad_width=self._padding)
