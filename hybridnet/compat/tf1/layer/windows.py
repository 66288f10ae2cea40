"""Arguments of layers over windows: sizes, and where the channels are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operations.nn.windows import FORMATS

__all__ = ["format_of", "numbers", "with_channel"]


def format_of(data_format: str, spatial: int) -> str:
    """Returns the layout that 'channels_last' or 'channels_first' stands for.

    Raises:
        ValueError: it is neither.
    """
    names = ("channels_last", "channels_first")
    if data_format not in names:
        raise ValueError(f"data_format must be one of {', '.join(names)}, got {data_format}")
    return FORMATS[spatial][names.index(data_format)]


def with_channel(steps: Sequence[int], layout: str) -> list[int]:
    """Returns steps along the axes of space with those along batch and channel, which are 1."""
    found = [1, *steps]
    found.insert(layout.index("C"), 1)
    return found


def numbers(what: str, value: Any, spatial: int) -> tuple[int, ...]:
    """Returns the number for each spatial axis, of one, or one each.

    Raises:
        ValueError: there are more or fewer.
    """
    listed = tuple(value) if isinstance(value, (list, tuple)) else (value,) * spatial
    if len(listed) != spatial or not all(isinstance(one, int) for one in listed):
        raise ValueError(f"{what} must be a whole number, or {spatial} of them, got {value}")
    return listed
