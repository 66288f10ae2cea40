"""Sizes and layouts of layers over one, two and three spatial axes."""

from __future__ import annotations

from typing import Any

from hybridnet.base.errors import ParameterError

__all__ = ["Sizes", "check_layout", "sizes_of"]

Sizes = int | tuple[int, ...] | list[int]


def sizes_of(value: Sizes, ndim: int, what: str) -> tuple[int, ...]:
    """Returns one number for each axis; a single one stands for all."""
    if isinstance(value, (tuple, list)):
        sizes = tuple(value)
        if len(sizes) == ndim and all(_is_whole(size) for size in sizes):
            return sizes
    elif _is_whole(value):
        return (value,) * ndim
    raise ParameterError(f"{what} must be a whole number or {ndim} of them, got {value!r}")


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def check_layout(layout: str, ndim: int, what: str) -> None:
    """Raises a ParameterError unless channels come first or last."""
    spatial = "DHW"[-ndim:]
    if layout not in (f"NC{spatial}", f"N{spatial}C"):
        raise ParameterError(
            f"{what}: layout must be 'NC{spatial}' or 'N{spatial}C', got {layout!r}"
        )
