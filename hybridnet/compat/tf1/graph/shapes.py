"""`TensorShape` and `Dimension`: shapes of which a part may not be known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

import numpy as np

__all__ = ["Dimension", "TensorShape", "as_dims", "dimension_value"]

#: The sizes of a tensor: None for a size that is not known, or for all of them.
Dims = tuple[int | None, ...] | None


def _combined(combine: Callable[[int, int], int]) -> Callable[[Dimension, Any], Any]:
    """Returns one of Python's operators on sizes, of which one may not be known."""

    def operator(self: Dimension, other: Any) -> Any:
        try:
            right = Dimension(other).value
        except (AttributeError, TypeError):
            return NotImplemented
        if self.value is None or right is None:
            return Dimension(None)
        return Dimension(combine(self.value, right))

    return operator


@final
class Dimension:
    """A size, or None where it is not known; arithmetic with an unknown one is unknown."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        found = value.value if isinstance(value, Dimension) else value
        if found is not None:
            found = found.__index__()
            if found < 0:
                raise ValueError(f"Dimension {found} must be >= 0")
        self.value: int | None = found

    def is_compatible_with(self, other: Any) -> bool:
        """Whether both may be one size."""
        other = Dimension(other)
        return None in (self.value, other.value) or self.value == other.value

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ValueError unless both may be one size."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """Returns the size that is known of the two."""
        self.assert_is_compatible_with(other)
        return Dimension(other) if self.value is None else self

    __add__ = _combined(lambda a, b: a + b)
    __radd__ = _combined(lambda a, b: b + a)
    __sub__ = _combined(lambda a, b: a - b)
    __rsub__ = _combined(lambda a, b: b - a)
    __mul__ = _combined(lambda a, b: a * b)
    __rmul__ = _combined(lambda a, b: b * a)
    __floordiv__ = _combined(lambda a, b: a // b)
    __mod__ = _combined(lambda a, b: a % b)

    def __int__(self) -> int:
        return self.__index__()

    def __index__(self) -> int:
        if self.value is None:
            raise TypeError("the size of this dimension is not known")
        return self.value

    def __eq__(self, other: object) -> Any:
        try:
            right = Dimension(other).value
        except (AttributeError, TypeError, ValueError):
            return NotImplemented
        return None if None in (self.value, right) else self.value == right

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented or same is None else not same

    def __lt__(self, other: Any) -> Any:
        right = Dimension(other).value
        return None if self.value is None or right is None else self.value < right

    def __gt__(self, other: Any) -> Any:
        right = Dimension(other).value
        return None if self.value is None or right is None else self.value > right

    def __hash__(self) -> int:
        return hash(self.value)

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)

    def __repr__(self) -> str:
        return f"Dimension({self.value})"


def dimension_value(dimension: Any) -> Any:
    """Returns the size as a number, or None; plain numbers as they are."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


@final
class TensorShape:
    """The sizes of a tensor, as far as they are known.

    Args:
        dims: sizes, with None for those that are not known; None if even their number is not.
    """

    __slots__ = ("_dims",)

    def __init__(self, dims: Any) -> None:
        self._dims = as_dims(dims)

    @property
    def dims(self) -> list[Dimension] | None:
        """The sizes, or None if their number is not known."""
        return None if self._dims is None else [Dimension(one) for one in self._dims]

    @property
    def ndims(self) -> int | None:
        """The number of dimensions, or None if it is unknown."""
        return None if self._dims is None else len(self._dims)

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None if it is unknown."""
        return self.ndims

    def is_fully_defined(self) -> bool:
        """Whether every size is known."""
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError unless every size is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def num_elements(self) -> int | None:
        """Returns the number of elements, or None if it is unknown."""
        if not self.is_fully_defined():
            return None
        return math.prod(one or 0 for one in self._dims or ())

    def as_list(self) -> list[int | None]:
        """Returns the sizes, None for those that are not known.

        Raises:
            ValueError: their number is not known.
        """
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def is_compatible_with(self, other: Any) -> bool:
        """Whether both may be the shape of one tensor."""
        other = as_dims(other)
        if self._dims is None or other is None:
            return True
        return len(self._dims) == len(other) and all(
            None in (a, b) or a == b for a, b in zip(self._dims, other, strict=True)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ValueError unless both may be the shape of one tensor."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def merge_with(self, other: Any) -> TensorShape:
        """Returns what is known of either.

        Raises:
            ValueError: they contradict one another.
        """
        self.assert_is_compatible_with(other)
        other = as_dims(other)
        if self._dims is None or other is None:
            return TensorShape(other if self._dims is None else self._dims)
        return TensorShape([b if a is None else a for a, b in zip(self._dims, other, strict=True)])

    def concatenate(self, other: Any) -> TensorShape:
        """Returns these sizes and then those of another shape."""
        other = as_dims(other)
        known = self._dims is not None and other is not None
        return TensorShape([*(self._dims or ()), *(other or ())] if known else None)

    def with_rank(self, rank: int) -> TensorShape:
        """Returns this shape with that many dimensions.

        Raises:
            ValueError: it has another number of them.
        """
        try:
            return self.merge_with([None] * rank)
        except ValueError:
            raise ValueError(f"Shape {self} must have rank {rank}") from None

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Returns this shape; raises ValueError if it has fewer dimensions than that."""
        if self.ndims is not None and self.ndims < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raises ValueError unless the number of dimensions may be that."""
        self.with_rank(rank)

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[Dimension]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter([Dimension(one) for one in self._dims])

    def __getitem__(self, key: Any) -> Any:
        kind: Any = TensorShape if isinstance(key, slice) else Dimension
        return kind(None if self._dims is None else self._dims[key])

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __eq__(self, other: object) -> Any:
        try:
            return self._dims == as_dims(other)
        except TypeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        sizes = ["?" if one is None else str(one) for one in self._dims]
        return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"

    def __repr__(self) -> str:
        return f"TensorShape({None if self._dims is None else self.dims})"


def as_dims(shape: Any) -> Dims:
    """Returns what users give for a shape as sizes.

    Args:
        shape: a number, a sequence of numbers, Nones and Dimensions, a TensorShape, or None. A
            size of -1 is one that is not known.

    Raises:
        TypeError: it is something else.
        ValueError: a size is negative.
    """
    if shape is None:
        return None
    if isinstance(shape, TensorShape):
        return shape._dims
    if isinstance(shape, Dimension):
        return (shape.value,)
    if isinstance(shape, (int, np.integer)):
        return (Dimension(int(shape)).value,)
    if isinstance(shape, np.ndarray):
        shape = shape.tolist()
    if not isinstance(shape, Sequence) or isinstance(shape, str):
        raise TypeError(f"a shape must be a sequence of sizes, got {shape!r}")
    sizes: Any = []
    for one in shape:
        value = None if isinstance(one, int) and one == -1 else one
        try:
            sizes.append(Dimension(value).value)
        except AttributeError:
            raise TypeError(f"a size must be a number or None, got {one!r} in {shape!r}") from None
    return tuple(sizes)
