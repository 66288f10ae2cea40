"""`Place`: one node of our graph while it is translated, with all that a translation asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, final

import numpy as np

from hybridnet.base.array_types import ArrayLike, DTypeLike, NumpyArray
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import ParameterError
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Node
from hybridnet.ops.core import OpCall

from ..draft import Draft, Sizes


class ExportError(ParameterError):
    """A node that ONNX has no form for."""


@final
class Place:
    """A node, its inputs in the ONNX graph, and that graph.

    Attributes:
        draft: what steps are added to.
        node: ours.
        name: of the node; what is added is named after it.
        attrs: the operator's parameters, those that are numbers of the program too.
        inputs: names of the inputs in the ONNX graph.
        types: of the inputs, at the shapes that the export was given.
        sizes: of the inputs, None where they are left open.
        results: types of the outputs.
        result_sizes: of the outputs.
    """

    def __init__(
        self,
        draft: Draft,
        node: Node,
        call: OpCall,
        inputs: Sequence[str],
        types: Sequence[TensorType],
        sizes: Sequence[Sizes],
        results: Sequence[TensorType],
        result_sizes: Sequence[Sizes],
        value_of: Callable[[int], NumpyArray | None],
    ) -> None:
        self.draft = draft
        self.node = node
        self.name = node.name
        self.call = call
        self.attrs: Mapping[str, Any] = {**call.attrs, **call.by_parameter(node.scalars)}
        self.inputs = list(inputs)
        self.types = list(types)
        self.sizes = list(sizes)
        self.results = list(results)
        self.result_sizes = list(result_sizes)
        self._value_of = value_of

    def add(self, op: str, *inputs: str, **attrs: Any) -> str:
        """Adds a step of one output; attributes that are None are left out."""
        return self.draft.add(self.name, op, inputs, attrs)

    def add_several(self, op: str, count: int, *inputs: str, **attrs: Any) -> list[str]:
        """Adds a step of several outputs."""
        return self.draft.add_several(self.name, op, inputs, count, attrs)

    def constant(self, value: ArrayLike, dtype: DTypeLike) -> str:
        """Returns the name of a constant."""
        return self.draft.constant(np.asarray(value).astype(dtype))

    def ints(self, *numbers: int) -> str:
        """Returns a constant vector of int64: axes, sizes, positions."""
        return self.constant(np.array(numbers, np.int64), np.int64)

    def number(self, value: float, dtype: DTypeLike = None) -> str:
        """Returns a constant number, by default of the dtype of the first result."""
        return self.constant(value, self.results[0].dtype if dtype is None else dtype)

    def cast(self, value: str, source: DTypeLike, target: DTypeLike) -> str:
        """Returns a value in another dtype; itself where that is the same."""
        if np.dtype(source) == np.dtype(target):
            return value
        return self.add("Cast", value, to=np.dtype(target))

    def operands(self, dtype: DTypeLike = None) -> list[str]:
        """Returns all inputs in one dtype, by default that of the first result."""
        wanted = self.results[0].dtype if dtype is None else dtype
        return [
            self.cast(name, type_.dtype, wanted)
            for name, type_ in zip(self.inputs, self.types, strict=True)
        ]

    def positions(self, index: int) -> str:
        """Returns an input as whole numbers of int64."""
        return self.cast(self.inputs[index], self.types[index].dtype, np.int64)

    def rank(self, index: int = 0) -> int:
        """Returns the number of dimensions of an input."""
        return len(self.types[index].shape)

    def axis(self, axis: int, index: int = 0) -> int:
        """Returns an axis of an input, counted from the front."""
        return axis % max(self.rank(index), 1)

    def fixed(self, sizes: Sequence[int | None], what: str) -> tuple[int, ...]:
        """Returns sizes that a translation must know.

        Raises:
            ExportError: one is left open.
        """
        found = tuple(size for size in sizes if size is not None)
        if len(found) != len(sizes):
            self.fail(f"needs to know {what}", "export it with a fixed size there")
        return found

    def shape_vector(self, value: str, sizes: Sizes) -> str:
        """Returns the shape of a value as a vector: a constant where it is known."""
        known = [size for size in sizes if size is not None]
        return self.ints(*known) if len(known) == len(sizes) else self.add("Shape", value)

    def size(self, value: str, sizes: Sizes, axis: int) -> str:
        """Returns one size of a value as a vector of one number."""
        known = sizes[axis]
        if known is not None:
            return self.ints(known)
        return self.add("Shape", value, start=axis, end=axis + 1)

    def vector(self, parts: Sequence[str]) -> str:
        """Joins vectors of int64."""
        return parts[0] if len(parts) == 1 else self.add("Concat", *parts, axis=0)

    def reshape(self, value: str, sizes: Sequence[int]) -> str:
        """Reshapes by ONNX's codes: 0 copies the size at its place, -1 is found."""
        return self.add("Reshape", value, self.ints(*sizes))

    def reshape_to(self, value: str, sizes: Sizes, before: Sizes = ()) -> str:
        """Gives a value a shape of which at most some sizes are open.

        Args:
            value: what is reshaped.
            sizes: the new ones.
            before: those of the value, to copy an open one from its place.
        """
        codes: list[int] = []
        found = False
        for place, size in enumerate(sizes):
            if size is not None:
                codes.append(size)
            elif _is_copied(sizes, before, place):
                codes.append(0)
            elif not found:
                codes.append(-1)
                found = True
            else:
                self.fail("several sizes of its result are left open", "fix all but one of them")
        if 0 in [size for size in sizes if size is not None]:
            self.fail("its result has no elements", "ONNX has no such reshape; leave it out")
        return self.reshape(value, codes)

    def unsqueeze(self, value: str, *axes: int) -> str:
        """Adds axes of size 1."""
        return self.add("Unsqueeze", value, self.ints(*axes)) if axes else value

    def squeeze(self, value: str, *axes: int) -> str:
        """Drops axes of size 1."""
        return self.add("Squeeze", value, self.ints(*axes)) if axes else value

    def transpose(self, value: str, axes: Sequence[int]) -> str:
        """Puts the axes in another order."""
        if list(axes) == sorted(axes):
            return value
        return self.add("Transpose", value, perm=list(axes))

    def cut(self, value: str, axis: int, begin: int, end: int, step: int = 1) -> str:
        """Takes a part of an axis."""
        places = [self.ints(number) for number in (begin, end, axis, step)]
        return self.add("Slice", value, *places)

    def reduce(self, op: str, value: str, axes: Sequence[int], keepdims: bool = True) -> str:
        """Reduces over axes; over none, the value stays as it is."""
        if not axes:
            return value
        return self.add(op, value, self.ints(*axes), keepdims=int(keepdims))

    def along(self, vector: str, axis: int, rank: int) -> str:
        """Gives a vector the dimensions to be broadcast along an axis."""
        return self.reshape(vector, [-1 if i == axis else 1 for i in range(rank)])

    def known_value(self, index: int) -> NumpyArray | None:
        """Returns the numbers of an input that parameters alone make; None for any other."""
        found: NumpyArray | None = self._value_of(index)
        return found

    def is_zeros(self, index: int) -> bool:
        """Whether an input is zeros, as a state is at the beginning."""
        call = self.node.inputs[index].node.call
        return call is not None and call.name in ("_zeros", "_zeros_without_dtype", "zeros_like")

    def require_floats(self) -> None:
        """Raises ExportError unless the first input is floating point."""
        if not is_float(self.types[0].dtype):
            self.fail(f"takes no {self.types[0].dtype}", "cast its input to float32")

    def fail(self, why: str, cure: str) -> NoReturn:
        """Raises the error of a node that cannot be translated."""
        raise ExportError(f"export_model: node {self.node.title}: {why} in ONNX; {cure}")


def _is_copied(sizes: Sizes, before: Sizes, place: int) -> bool:
    """Whether an open size is that of the value before, at the same place."""
    if place >= len(before) or before[place] is not None:
        return False
    return sizes[:place] == before[:place] and (
        math.prod(n or 1 for n in sizes[place:]) == math.prod(n or 1 for n in before[place:])
    )
