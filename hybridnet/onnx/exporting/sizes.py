"""The known shapes and dtypes in a symbol, and which sizes follow from those left open.

A size that is left open has no symbol of its own: the shapes are inferred once as they were given,
and once more with another size in its place. What has changed is open; where nothing can be
inferred then, the network needs the size that it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

import numpy as np

from hybridnet.base.array_types import DTypeLike, Shape
from hybridnet.base.dtype import FLOAT32
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.graph import Edge
from hybridnet.symbol import Symbol

from ..draft import Sizes


@final
class Known:
    """The types of all values of a symbol, and their sizes with None where they are open."""

    def __init__(self, types: dict[Edge, TensorType], open_sizes: dict[Edge, set[int]]) -> None:
        self.types = types
        self._open = open_sizes

    def sizes(self, edge: Edge) -> Sizes:
        """Returns the sizes of a value."""
        here = self._open.get(edge, ())
        return tuple(None if i in here else n for i, n in enumerate(self.types[edge].shape))


def known_of(
    symbol: Symbol,
    shapes: Mapping[str, Shape],
    dtypes: Mapping[str, DTypeLike],
    is_open: Mapping[str, Sequence[bool]],
) -> Known:
    """Infers all types.

    Args:
        symbol: the network.
        shapes: of inputs and parameters by name.
        dtypes: likewise.
        is_open: for each dimension of inputs whether it is to be left open.

    Raises:
        ParameterError: a shape cannot be told.
        ShapeError, DTypeError: shapes or dtypes do not fit; the message names the node.
    """
    internals = symbol.get_internals()
    found = _shapes(internals, shapes)
    if found is None:
        raise ParameterError(
            "export_model: in_shapes must tell all shapes; those of "
            f"{', '.join(_untold(symbol, shapes))} cannot be inferred"
        )
    _, kinds, _ = internals.infer_type_partial(**dtypes)
    types = {
        edge: tensor_type(found[edge], np.dtype(kind or FLOAT32))
        for edge, kind in zip(internals.edges, kinds, strict=True)
    }
    changes: dict[Edge, set[int]] = {}
    for name, marks in is_open.items():
        for place, mark in enumerate(marks):
            if mark:
                for edge, changed in _changed(internals, shapes, found, name, place):
                    changes.setdefault(edge, set()).update(changed)
    return Known(types, changes)


def _shapes(internals: Symbol, shapes: Mapping[str, Shape]) -> dict[Edge, Shape] | None:
    _, found, _ = internals.infer_shape_partial(**shapes)
    if any(shape is None or min(shape, default=1) < 1 for shape in found):
        return None
    return dict(zip(internals.edges, map(tuple, found), strict=True))


def _untold(symbol: Symbol, shapes: Mapping[str, Shape]) -> list[str]:
    return [name for name in symbol.list_inputs() if name not in shapes] or ["some values"]


def _changed(
    internals: Symbol,
    shapes: Mapping[str, Shape],
    found: Mapping[Edge, Shape],
    name: str,
    place: int,
) -> list[tuple[Edge, set[int]]]:
    """Finds which dimensions in a network depend on one dimension of an input.

    It infers all shapes once more, with another size in that dimension.

    Args:
        internals: a symbol of the outputs of all nodes.
        shapes: the shapes of the inputs by name.
        found: the shapes of all outputs with these.
        name: the input.
        place: the dimension of it.

    Returns:
        Pairs of an output and its dimensions that changed; empty if the network does not take
        another size there.
    """
    shape = shapes[name]
    other = (*shape[:place], 2 * shape[place] + (shape[place] == 1), *shape[place + 1 :])
    try:
        seen = _shapes(internals, {**shapes, name: other})
    except MXNetError:
        seen = None
    if seen is None or any(len(seen[edge]) != len(found[edge]) for edge in found):
        return []
    rows = [
        (
            edge,
            {
                i
                for i, pair in enumerate(zip(seen[edge], found[edge], strict=True))
                if pair[0] != pair[1]
            },
        )
        for edge in found
    ]
    return [(edge, changed) for edge, changed in rows if changed]
