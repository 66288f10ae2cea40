"""The calls behind indexing that is no view: strided windows and index arrays.

They are calls of their own, not rows of the registry, because their parameters are Python index
objects that no saved graph holds; saved graphs use `slice`, `take` and `gather_nd`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self, final

import numpy as np

from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core import (
    Arrays,
    Backward,
    Call,
    HostForm,
    IndexBound,
    Operand,
    Types,
    convert,
    output_types,
    vjp_gradient,
)
from hybridnet.ops.host import at, jnp, lax

# Distinct index patterns remembered by each kind.
_LIMIT = 4096


class AbstractIndexCall(Call):
    """An index with fixed structure; equal ones are one object."""

    __slots__ = ("pattern",)

    _made: ClassVar[dict[Any, Any]]

    def __init__(self, *pattern: Any) -> None:
        self.pattern = pattern
        super().__init__(num_scalars=self._count_scalars())

    @classmethod
    def of(cls, *pattern: Any) -> Self:
        """Returns the one call with this structure."""
        made: Self | None = cls._made.get(pattern)
        if made is None:
            if len(cls._made) >= _LIMIT:
                cls._made.clear()
            made = cls._made.setdefault(pattern, cls(*pattern))
        return made

    @abstractmethod
    def _count_scalars(self) -> int:
        """Returns how many positions the call takes as numbers."""

    @property
    def name(self) -> str:
        """As it is printed in graphs."""
        return f"_{type(self).__name__.lower()}"

    def facts(self) -> Sequence[object]:
        """The structure of the index."""
        return self.pattern

    def evaluate(self, operands: Arrays, scalars: Arrays) -> Arrays:
        """Computes it as for XLA, on NumPy arrays."""
        return self.lower("cpu", operands, scalars)

    def host_form(self, types: Types) -> HostForm:
        """Likewise."""
        return super().host_form(types)._replace(is_straight=True)

    def gradient(self, back: Backward) -> Sequence[Operand | None]:
        """The default rule."""
        return vjp_gradient(back)

    def __repr__(self) -> str:
        return f"{self.name}{self.pattern}"


def _window(base: Any, scalars: Sequence[Any], steps: Any, lengths: Any) -> tuple[Any, Any]:
    """Returns the positions on each axis as (starts of a slice with step 1, its sizes)."""
    sizes = [
        (length - 1) * abs(step) + 1 if length else 0
        for step, length in zip(steps, lengths, strict=True)
    ]
    starts = [
        (scalar.astype(np.int64) + (0 if step > 0 else -(size - 1)))
        for scalar, step, size in zip(scalars, steps, sizes, strict=True)
    ]
    return starts, sizes


class _WindowCall(AbstractIndexCall):
    """A strided window, whose starts are numbers."""

    __slots__ = ()

    def _count_scalars(self) -> int:
        return len(self.pattern[0])


@final
class Window(_WindowCall):
    """``x[a:b:c, i, ...]`` that is not one run of memory; its starts are inputs.

    The pattern is (steps, lengths) of each axis and the shape of the result.
    """

    __slots__ = ()
    _made: ClassVar[dict[Any, Any]] = {}

    def infer(self, types: Types) -> Types:
        """The shape is known from the pattern."""
        return (tensor_type(self.pattern[2], types[0].dtype),)

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Cuts out the span at step 1, then takes every step-th element of it."""
        steps, lengths, shape = self.pattern
        (base,) = operands
        starts, sizes = _window(base, scalars, steps, lengths)
        span = lax.dynamic_slice(base, starts, sizes)
        return (span[tuple(slice(None, None, step) for step in steps)].reshape(shape),)


@final
class WindowAssign(_WindowCall):
    """``x[a:b:c, i, ...] = value`` for such a part; inputs are x and the value."""

    __slots__ = ()
    _made: ClassVar[dict[Any, Any]] = {}

    def infer(self, types: Types) -> Types:
        """The array keeps its type."""
        return (types[0],)

    @property
    def rewrites(self) -> bool:
        """Yes."""
        return True

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Rewrites the span that holds the part and puts it back."""
        steps, lengths, shape = self.pattern
        base, value = operands
        if math.prod(lengths) == 0:
            return (base,)
        value = jnp.broadcast_to(_strip(convert(value, base.dtype), len(shape)), shape)
        starts, sizes = _window(base, scalars, steps, lengths)
        part = value.reshape(lengths)
        if any(step != 1 for step in steps):
            span = lax.dynamic_slice(base, starts, sizes)
            part = at(span)[tuple(slice(None, None, step) for step in steps)].set(part)
        return (lax.dynamic_update_slice(base, part, starts),)


def _strip(value: Any, ndim: int) -> Any:
    """Drops leading axes of size 1 that the part does not have, as NumPy's assignment does."""
    while value.ndim > ndim and value.shape[0] == 1:
        value = value[0]
    return value


def _build(pattern: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[object, ...]:
    remaining = iter(arrays)
    index: list[Any] = []
    for item in pattern:
        if item == "array":
            array = next(remaining)
            index.append(
                array if jnp.issubdtype(array.dtype, np.integer) else array.astype(np.int64)
            )
        elif isinstance(item, tuple):
            index.append(slice(*item))
        else:
            index.append(item)
    return tuple(index)


def _evaluate(call: Call, types: Types) -> Types:
    try:
        return output_types(call, types)
    except (TypeError, ValueError, IndexError) as error:
        arrays = ", ".join(map(str, types[1:]))
        raise ShapeError(
            f"indexing {types[0]} with arrays ({arrays}): {str(error).splitlines()[0]}"
        ) from error


class _ArrayIndexCall(AbstractIndexCall):
    """An index with arrays in it."""

    __slots__ = ("_types",)

    #: The number of the first input that is an index array.
    _first: ClassVar[int] = 1

    def bounds(self, types: Types, *, everything: bool) -> Sequence[IndexBound]:
        """Positions on the axes that have index arrays; negative ones count from the end."""
        found: list[IndexBound] = []
        items = [item for item in self.pattern[0] if item is not None]
        for axis, item in enumerate(items):
            if item == "array":
                size = types[0].shape[axis]
                number = self._first + len(found)
                found.append(IndexBound(number, "the index", (size,), (axis,), None, always=True))
        return found

    def _count_scalars(self) -> int:
        self._types: dict[Types, Types] = {}
        return 0

    def infer(self, types: Types) -> Types:
        """By abstract evaluation, remembered."""
        found = self._types.get(types)
        if found is None:
            found = self._types.setdefault(types, _evaluate(self, types))
        return found


@final
class Gather(_ArrayIndexCall):
    """``x[index]`` with index arrays; inputs are x and the arrays.

    Positions outside are errors (`bounds`); in a program that only gives out who is to blame they
    are clipped.
    """

    __slots__ = ()
    _made: ClassVar[dict[Any, Any]] = {}

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """NumPy's rules for mixed indices are JAX's too; one element has shape (1,)."""
        base, *arrays = operands
        part = at(base)[_build(self.pattern[0], arrays)].get(mode="clip")
        return (part.reshape(part.shape or (1,)),)


@final
class Scatter(_ArrayIndexCall):
    """``x[index] = value`` with index arrays; inputs are x, the value and the arrays."""

    __slots__ = ()
    _first = 2
    _made: ClassVar[dict[Any, Any]] = {}

    @property
    def rewrites(self) -> bool:
        """Yes."""
        return True

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Positions out of range are left out."""
        base, value, *arrays = operands
        index = _build(self.pattern[0], arrays)
        value = _strip(convert(value, base.dtype), base[index].ndim)
        return (at(base)[index].set(value),)
