"""Inference of shapes and dtypes for symbols: the arguments users give, the lists they get."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hybridnet.base.array_types import DType, Shape
from hybridnet.base.dtype import DTYPE_OF_CODE, FLOAT32, as_dtype
from hybridnet.base.errors import ParameterError
from hybridnet.base.numpy_mode import mode
from hybridnet.graph import Edge, Graph, Node, infer_dtypes, infer_shapes
from hybridnet.ops.core import UNKNOWN


def known_by_name(
    what: str, names: Sequence[str], args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, object]:
    """Returns what the user told about arguments, by position or by name.

    Raises:
        ParameterError: both ways were used, or an argument does not exist.
    """
    if args and kwargs:
        raise ParameterError(f"{what}: give arguments by position or by name, not both")
    if len(args) > len(names):
        raise ParameterError(f"{what}: the symbol has {len(names)} arguments, got {len(args)}")
    given = dict(zip(names, args, strict=False)) if args else dict(kwargs)
    for name in given:
        if name not in names:
            raise ParameterError(
                f"{what}: the symbol has no argument {name!r}; it has {', '.join(names) or 'none'}"
            )
    return {name: value for name, value in given.items() if value is not None}


def inferred_dtypes(
    graph: Graph, given: Mapping[str, Any], default: DType | None = None
) -> dict[Edge, DType | None]:
    """Infers dtypes, from those given by name and those that variables were made with."""
    known: dict[Node, DType] = {}
    for node in graph.inputs:
        if node.name in given:
            known[node] = as_dtype(given[node.name])
        elif "__dtype__" in node.attrs:
            dtype = _stated_dtype(node)
            if dtype is not None:
                known[node] = dtype
    return infer_dtypes(graph.nodes, known, default)


def inferred_shapes(
    graph: Graph, given: Mapping[str, object], dtypes: Mapping[Edge, DType | None] | None = None
) -> dict[Edge, Shape | None]:
    """Infers shapes, from those given by name and those that variables were made with.

    Those given are as users write them: an unknown dimension is 0 or -1, and in NumPy mode, where
    0 is a size, -1. Those returned are as `infer_shapes` has them.

    Raises:
        ParameterError: a shape is no tuple of whole numbers.
    """
    known: dict[Node, Shape] = {}
    for node in graph.inputs:
        if node.name in given:
            known[node] = _shape(node.name, given[node.name])
        elif (stated := _stated_shape(node)) is not None:
            known[node] = stated
    if dtypes is None:
        dtypes = inferred_dtypes(graph, {}, FLOAT32)
    return infer_shapes(graph.nodes, known, dtypes)


def shown(shape: Shape | None) -> Shape | None:
    """Returns a shape as users read it in the mode they are in.

    Where shapes are NumPy's, an unknown dimension is -1, and None a shape of which nothing is
    known; else 0 and ().
    """
    if mode.shape:
        return shape
    return tuple(0 if size == UNKNOWN else size for size in shape or ())


def warn_unknown(what: str, values: Mapping[str, object]) -> None:
    """Warns that inference did not come to an end, as MXNet does, listing what is not known."""
    unknown = UNKNOWN if mode.shape else 0
    listed = "".join(f"\n\t{name}: {value}" for name, value in values.items())
    warnings.warn(
        f"Cannot decide {what} for the following arguments ({unknown}s in a shape are unknown "
        f"dimensions). Consider providing them as input:{listed}",
        stacklevel=4,
    )


def _shape(name: str, value: object) -> Shape:
    if not isinstance(value, (tuple, list)) or not all(
        isinstance(item, (int, np.integer)) and item >= UNKNOWN for item in value
    ):
        raise ParameterError(f"the shape of {name!r} must be a tuple of integers, got {value!r}")
    unknown = (UNKNOWN,) if mode.shape else (UNKNOWN, 0)
    return tuple(UNKNOWN if item in unknown else int(item) for item in value)


def _stated_shape(node: Node) -> Shape | None:
    text = node.attrs.get("__shape__")
    if text is None:
        return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = text
    if isinstance(value, int):
        value = (value,)
    if value == () and not mode.shape:
        return None
    return _shape(node.name, value)


def _stated_dtype(node: Node) -> DType | None:
    text = node.attrs["__dtype__"]
    try:
        code = int(text)
    except ValueError:
        return as_dtype(text)
    if code == -1:
        return None
    if code not in DTYPE_OF_CODE:
        raise ParameterError(f"variable {node.name!r}: there is no dtype with the code {code}")
    return DTYPE_OF_CODE[code]
