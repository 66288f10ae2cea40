"""The spec of a dataset's elements: a dtype and a static shape for each component."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ..dtypes import DType, as_dtype
from ..graph import Tensor, TensorShape, constant_value, host_constant, known_count
from ..nest import flatten, map_structure, pack_sequence_as

__all__ = [
    "Array", "Component", "Given", "Spec", "Specified", "as_array", "as_tuples", "component_of",
    "given_value", "number_of", "parts_like",
]  # fmt: skip

Array = np.ndarray[Any, Any]


@final
@dataclass(frozen=True)
class Component:
    """The spec of one component of an element.

    Attributes:
        dtype: the dtype of the component.
        shape: its static shape, as far as it is known.
    """

    dtype: DType
    shape: TensorShape


@final
@dataclass(frozen=True, eq=False)
class Spec:
    """The spec of an element: its structure and the specs of its components.

    Attributes:
        structure: a nest with the element's structure; its leaves have no meaning.
        kinds: the specs of the components, in the order of the leaves.
    """

    structure: Any
    kinds: tuple[Component, ...]

    @staticmethod
    def of(types: Any, shapes: Any) -> Spec:
        """Returns the spec of nested dtypes and shapes; None: the latter are not known."""
        kinds = [as_dtype(one).base_dtype for one in flatten(types)]
        sizes = [None] * len(kinds) if shapes is None else parts_like(types, shapes)
        pairs = zip(kinds, sizes, strict=True)
        return Spec(types, tuple(Component(kind, TensorShape(size)) for kind, size in pairs))

    def types(self) -> Any:
        """Returns the dtypes, nested."""
        return pack_sequence_as(self.structure, [one.dtype for one in self.kinds])

    def shapes(self) -> Any:
        """Returns the shapes, nested."""
        return pack_sequence_as(self.structure, [one.shape for one in self.kinds])

    def shaped(self, change: Callable[[TensorShape], Any]) -> Spec:
        """Returns the spec with other shapes."""
        kinds = (Component(one.dtype, TensorShape(change(one.shape))) for one in self.kinds)
        return Spec(self.structure, tuple(kinds))


class Specified:
    """The base class of datasets and iterators, which have elements of one spec.

    Attributes:
        spec: the spec of an element.
    """

    spec: Spec

    @property
    def output_types(self) -> Any:
        """The dtypes of an element, nested as it is."""
        return self.spec.types()

    @property
    def output_shapes(self) -> Any:
        """The shapes of an element, as far as they are known, nested as it is."""
        return self.spec.shapes()

    @property
    def output_classes(self) -> Any:
        """`Tensor`, nested as an element is."""
        return map_structure(lambda _: Tensor, self.output_types)


@final
@dataclass(frozen=True, eq=False)
class Given:
    """An argument of a dataset: an array, or a tensor whose value is known only in a run.

    Attributes:
        array: the array; None where the argument is a tensor.
        tensor: the tensor; None where the argument is an array.
    """

    array: Array | None
    tensor: Tensor | None


def given_value(value: Any) -> tuple[Given, Component]:
    """Returns an argument of a dataset, and what is known of it."""
    if hasattr(value, "value") and hasattr(value, "initializer"):  # a variable
        value = value.value()
    if isinstance(value, Tensor):
        known = constant_value(value)
        if known is None:
            return Given(None, value), Component(value.dtype.base_dtype, value.shape)
        value = np.asarray(known)
    of_numpy = isinstance(value, (np.ndarray, np.generic))
    array = as_array(value) if of_numpy else _narrow(as_array(value))
    return Given(array, None), component_of(array)


def as_array(value: Any) -> Array:
    """Returns a value as an array; text as one of bytes."""
    array = np.asarray(value)
    return host_constant(array, None)[0] if array.dtype.kind in "OSU" else array


def _narrow(array: Array) -> Array:
    """Returns Python's numbers in the dtypes that TensorFlow takes them for."""
    narrow = {"float64": np.float32, "int64": np.int32}.get(array.dtype.name)
    return array if narrow is None else array.astype(narrow)


def component_of(array: Array) -> Component:
    """Returns what is known of an array."""
    return Component(as_dtype(array.dtype), TensorShape(array.shape))


def parts_like(structure: Any, parts: Any) -> list[Any]:
    """Returns the parts of a nest in the order of the leaves of another nest.

    The parts may be lists themselves, such as shapes: `structure` says where they begin.

    Args:
        structure: nested tuples, lists and dicts.
        parts: the same nest, with a part in the place of each leaf.

    Raises:
        ValueError: it has more or fewer parts than there are leaves.
    """
    if isinstance(structure, dict):
        return [one for key in sorted(structure) for one in parts_like(structure[key], parts[key])]
    if isinstance(structure, (list, tuple)):
        if len(structure) != len(parts):
            raise ValueError(f"{len(structure)} parts are needed, as in {structure}, got {parts}")
        pairs = zip(structure, parts, strict=True)
        return [one for pair in pairs for one in parts_like(*pair)]
    return [parts]


def number_of(what: str, value: Any) -> int:
    """Returns a count that is known when the graph is built.

    Raises:
        ValueError: it is not.
    """
    return known_count(value, f"{what} must be one number that is known, got {value!r}")


def as_tuples(structure: Any) -> Any:
    """Returns a nest whose lists are arrays of numbers: a dataset's own nests are tuples."""
    if isinstance(structure, dict):
        return {key: as_tuples(one) for key, one in structure.items()}
    if isinstance(structure, tuple):
        made = [as_tuples(one) for one in structure]
        kind: Any = type(structure)
        return kind(*made) if hasattr(structure, "_fields") else kind(made)
    if isinstance(structure, list) and any(isinstance(one, Tensor) for one in flatten(structure)):
        from_list: Any = map_structure(lambda one: one, structure)
        return tuple(from_list)
    return _Leaf(structure) if isinstance(structure, list) else structure


class _Leaf:
    """A list that is one array."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        made = _narrow(as_array(self.values))
        return made if dtype is None else made.astype(dtype)
