"""`Arrival`: one node of an ONNX model while it is translated, with all that this asks for.

A value is a symbol, or a constant: what depends on weights and shapes alone is computed at once.
Sizes that a model leaves open have no symbols. Everything about them is computed twice, for two
sizes in their place; where both agree, the result is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import ParameterError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.core import registry
from hybridnet.symbol import Symbol

from ..draft import Sizes


class ImportModelError(ParameterError):
    """A node of an ONNX model that has no form here."""


@final
@dataclass(frozen=True)
class ConstantValue:
    """A value that is known before the model runs.

    Attributes:
        name: in the model.
        first: the numbers, with the first size in the place of open ones.
        second: with the second size; the same array where none is open.
    """

    name: str
    first: NumpyArray
    second: NumpyArray


Held = Symbol | ConstantValue
Types = tuple[TensorType, TensorType]


@final
class Arrival:
    """A node, and its inputs as symbols or constants.

    Attributes:
        name: of the node, or of its first output.
        op: the operator's name in ONNX.
        opset: the version of the model's operators.
        inputs: values; None where one is left out.
        attrs: the attributes that the node has.
        num_outputs: how many outputs it has.
    """

    def __init__(
        self,
        name: str,
        op: str,
        opset: int,
        inputs: Sequence[Held | None],
        attrs: Mapping[str, Any],
        num_outputs: int,
        types_of: Callable[[Symbol], Types],
        parameter: Callable[[str, NumpyArray], Symbol],
    ) -> None:
        self.name = name
        self.op = op
        self.opset = opset
        self.inputs = list(inputs)
        self.attrs = attrs
        self.num_outputs = num_outputs
        self._types_of = types_of
        self._parameter = parameter
        self._made = 0

    def make(self, op: str, *inputs: Symbol, **attrs: Any) -> Symbol:
        """Applies an operator of ours; parameters that are None and may be are left out."""
        name = f"{self.name}_{self._made}" if self._made else self.name
        self._made += 1
        row = registry.get(op)
        known = {k: v for k, v in attrs.items() if v is not None or row.params[k].required}
        return Symbol.apply_operator(row, inputs, known, name=name)

    def parameter(self, array: NumpyArray, stem: str) -> Symbol:
        """Returns a new parameter with these numbers, named after the node."""
        return self._parameter(f"{self.name}_{stem}", np.asarray(array))

    def has(self, index: int) -> bool:
        """Whether an input is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def _held(self, index: int) -> Held:
        value = self.inputs[index] if index < len(self.inputs) else None
        if value is None:
            self.fail(f"input {index} is missing", "the model is damaged")
        return value

    def is_constant(self, index: int) -> bool:
        """Whether an input is given and known."""
        return self.has(index) and isinstance(self.inputs[index], ConstantValue)

    def symbol(self, index: int, rank: int = 0) -> Symbol:
        """Returns an input as a symbol, with at least so many dimensions."""
        value = self._held(index)
        if isinstance(value, ConstantValue):
            array = self.constant(index)
            if rank and array.ndim < rank:
                whole = array.reshape((1,) * (rank - array.ndim) + array.shape)
                return self._parameter(f"{value.name}_of_{rank}d", whole)
            # There are no arrays without dimensions here.
            return self._parameter(value.name, array.reshape(array.shape or (1,)))
        for _ in range(rank - self.rank(index)):
            value = self.make("expand_dims", value, axis=0)
        return value

    def symbols(self) -> list[Symbol]:
        """Returns all inputs as symbols of the same number of dimensions."""
        rank = max(self.rank(index) for index in range(len(self.inputs)))
        return [self.symbol(index, rank) for index in range(len(self.inputs))]

    def constant(self, index: int, what: str = "") -> NumpyArray:
        """Returns the numbers of an input.

        Raises:
            ImportModelError: they are known only when the model runs.
        """
        value = self._held(index)
        if not isinstance(value, ConstantValue) or not np.array_equal(value.first, value.second):
            self.fail(
                f"{what or f'input {index}'} must be known before it runs",
                "simplify the model (onnxsim), or export it with fixed shapes",
            )
        return value.first

    def number(self, index: int) -> float | None:
        """Returns an input that is one known number; None for any other."""
        value = self._held(index)
        if not isinstance(value, ConstantValue) or value.first.size != 1 or value.first.ndim > 1:
            return None
        return float(self.constant(index).reshape(()))

    def pairs(self, index: int) -> list[tuple[int, int]]:
        """Returns a vector of whole numbers, for both of the sizes in the place of open ones."""
        value = self._held(index)
        if not isinstance(value, ConstantValue):
            self.fail(f"input {index} must follow from shapes and weights", "simplify the model")
        pairs = zip(value.first.reshape(-1), value.second.reshape(-1), strict=True)
        return [(int(a), int(b)) for a, b in pairs]

    def vector(self, index: int) -> Sizes:
        """Returns a known vector of whole numbers, None where one depends on an open size."""
        return tuple(a if a == b else None for a, b in self.pairs(index))

    def numbers(self, index: int, attr: str) -> list[int] | None:
        """Returns whole numbers that older models have as an attribute, and newer as an input."""
        if attr in self.attrs:
            given = self.attrs[attr]
            return [int(one) for one in (given if isinstance(given, list) else [given])]
        if not self.has(index):
            return None
        return [int(one) for one in self.constant(index, attr).reshape(-1)]

    def types(self, index: int) -> Types:
        """Returns the types of an input, for both of the sizes in the place of open ones."""
        value = self._held(index)
        if isinstance(value, ConstantValue):
            from_arrays = [
                tensor_type(array.shape, array.dtype) for array in (value.first, value.second)
            ]
            return from_arrays[0], from_arrays[1]
        return self._types_of(value)

    def shape(self, index: int = 0) -> Sizes:
        """Returns the sizes of an input, None where they are open."""
        return self.shape_of(self.types(index))

    def sizes(self, value: Symbol) -> Sizes:
        """Returns the sizes of something made."""
        return self.shape_of(self._types_of(value))

    def shape_of(self, types: Types) -> Sizes:
        """Returns what two types have in common."""
        pairs = zip(types[0].shape, types[1].shape, strict=True)
        return tuple(a if a == b else None for a, b in pairs)

    def rank(self, index: int = 0) -> int:
        """Returns the number of dimensions of an input."""
        return len(self.types(index)[0].shape)

    def dtype(self, index: int = 0) -> np.dtype[Any]:
        """Returns the dtype of an input."""
        return self.types(index)[0].dtype

    def axis(self, default: int, index: int = 0, name: str = "axis") -> int:
        """Returns the attribute `axis`, counted from the front."""
        return int(self.attrs.get(name, default)) % max(self.rank(index), 1)

    def size(self, axis: int, index: int = 0) -> int:
        """Returns one size of an input.

        Raises:
            ImportModelError: it is left open.
        """
        size = self.shape(index)[axis]
        if size is None:
            self.fail(f"needs to know the size of axis {axis}", "export the model with it fixed")
        return size

    def fail(self, why: str, cure: str) -> NoReturn:
        """Raises the error of a node that cannot be translated."""
        raise ImportModelError(
            f"import_model: node {self.name!r} ({self.op}, opset {self.opset}): {why}; {cure}"
        )
