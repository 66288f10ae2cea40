"""Where an array lies on a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet.base.errors import ParameterError
from hybridnet.base.placement import Splits

from ..core import constraints
from ..core.call import Backward
from ..core.registry import operator
from ..core.rules import same_type

__all__ = ["splits_text"]


def splits_text(splits: Splits) -> str:
    """Returns which axes of a mesh split which of an array, as graphs say it: 'data:0,model:1'."""
    return ",".join(f"{name}:{axis}" for name, axis in splits)


def _splits(text: str) -> Splits:
    try:
        pairs = [one.split(":") for one in text.split(",") if one]
        return tuple((name, int(axis)) for name, axis in pairs)
    except ValueError:
        raise ParameterError(
            f"_to_placement: splits must be written 'data:0,model:1', got {text!r}"
        ) from None


def _back(back: Backward) -> Sequence[Any]:
    return [back.grads[0]]  # how it lies is the compiler's affair


@operator("_to_placement", infer=same_type, gradient=_back)
def to_placement(data: Any, *, splits: str = "") -> Any:
    """The array itself, lying on the devices of its mesh as is said; on one device the array.

    Args:
        data: an array of any shape and dtype.
        splits: which axes of the mesh split which of the array, as ``data:0,model:1``; along the
            others all devices have the same.
    """
    pairs = _splits(splits)
    constrain = constraints.thread.constrain
    return data if constrain is None else constrain(data, pairs)
