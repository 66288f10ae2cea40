"""Layers over one, two and three spatial axes: sizes, layouts, texts; parameters of any size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybridnet.base.errors import ParameterError
from hybridnet.initializer.base import InitLike

from ..block import HybridBlock
from ..parameter import Parameter

Sizes = int | tuple[int, ...] | list[int]


class SpatialBlock(HybridBlock):
    """Base of layers over spatial axes; a subclass says how many: ``class X(Base, ndim=2)``."""

    _ndim: int

    def __init_subclass__(cls, ndim: int | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if ndim is not None:
            cls._ndim = ndim


def sizes_of(value: Sizes, ndim: int, what: str) -> tuple[int, ...]:
    """Returns one number for each axis; a single one stands for all."""
    if isinstance(value, (tuple, list)):
        sizes = tuple(value)
        if len(sizes) == ndim and all(_is_whole(size) for size in sizes):
            return sizes
    elif _is_whole(value):
        return (value,) * ndim
    raise ParameterError(f"{what} must be a whole number or {ndim} of them, got {value!r}")


def _is_whole(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def deferred(
    block: HybridBlock, name: str, shape: tuple[int, ...], init: InitLike | None, **kwargs: Any
) -> Parameter:
    """Returns a parameter of a layer, whose unknown sizes the first input decides."""
    return block.params.get(name, shape=shape, init=init, allow_deferred_init=True, **kwargs)


def check_layout(layout: str, ndim: int, what: str) -> None:
    """Raises a ParameterError unless channels come first or last."""
    spatial = "DHW"[-ndim:]
    if layout not in (f"NC{spatial}", f"N{spatial}C"):
        raise ParameterError(
            f"{what}: layout must be 'NC{spatial}' or 'N{spatial}C', got {layout!r}"
        )


def shown_options(options: Mapping[str, Any], act: HybridBlock | None) -> str:
    """Returns the options of a convolution, and the activation that follows it, for its `repr`."""
    parts = [f"kernel_size={options['kernel']}", f"stride={options['stride']}"]
    if any(options["pad"]):
        parts.append(f"padding={options['pad']}")
    if any(step != 1 for step in options["dilate"]):
        parts.append(f"dilation={options['dilate']}")
    if options["num_group"] != 1:
        parts.append(f"groups={options['num_group']}")
    if options["no_bias"]:
        parts.append("bias=False")
    if act is not None:
        parts.append(repr(act))
    return ", ".join(parts)
