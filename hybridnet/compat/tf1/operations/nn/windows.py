"""Arguments of convolution and pooling, read as TensorFlow does: layouts, strides, padding."""

from __future__ import annotations

from typing import Any, Final

from ...graph import Tensor, known_numbers, with_default

__all__ = ["FORMATS", "check_rank", "layout_of", "numbers_of", "padding_of"]

#: Layouts by how many axes of space there are: the channels last, and first.
FORMATS: Final = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def layout_of(kind: str, spatial: int, data_format: str | None) -> str:
    """Returns the layout; default the channels last.

    Raises:
        ValueError: it is none for that many spatial axes.
    """
    allowed = FORMATS[spatial]
    found = with_default(data_format, allowed[0])
    if found not in allowed:
        raise ValueError(f"{kind}: data_format must be one of {', '.join(allowed)}, got {found}")
    return str(found)


def numbers_of(kind: str, what: str, value: Any, spatial: int, layout: str) -> tuple[int, ...]:
    """Returns the number for each spatial axis, of one number, one each, or one for all axes."""
    found = known_numbers(with_default(value, 1))
    listed = found if isinstance(found, list) else [found]
    if len(listed) == 1:
        return tuple(listed * spatial)
    if len(listed) == spatial:
        return tuple(listed)
    if len(listed) != spatial + 2:
        raise ValueError(
            f"{kind}: {what} must have 1, {spatial} or {spatial + 2} numbers, got {value}"
        )
    inner = listed[1:-1] if layout.endswith("C") else listed[2:]
    outer = [listed[0], listed[-1] if layout.endswith("C") else listed[1]]
    if outer != [1, 1]:
        raise ValueError(f"{kind}: {what} must be 1 along batch and channel, got {value}")
    return tuple(inner)


def padding_of(kind: str, padding: Any, spatial: int, layout: str) -> dict[str, Any]:
    """Returns the parameters that a padding stands for: by name, or as pairs of numbers."""
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise ValueError(
                f"{kind}: padding must be SAME, VALID or pairs of numbers, got {padding}"
            )
        return {"padding": padding.upper()}
    pairs = known_numbers(padding)
    if pairs is None or len(pairs) != spatial + 2:
        raise ValueError(f"{kind}: padding must have a pair for each dimension, got {padding}")
    inner = pairs[1:-1] if layout.endswith("C") else pairs[2:]
    return {"padding": "VALID", "pads": tuple(one for pair in inner for one in pair)}


def check_rank(kind: str, name: str, x: Tensor, rank: int) -> None:
    """Raises ValueError if a tensor is known to have another number of dimensions."""
    if x.shape.ndims not in (None, rank):
        raise ValueError(f"{kind}: {name} must have {rank} dimensions, got shape {x.shape}")
