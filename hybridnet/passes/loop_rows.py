"""Calls of a lowered loop beside its body: counting, taking a row, keeping a row.

`foreach` reads row after row, and loops stack what their bodies give. Lowered, that is a counter
and arrays among the loop's variables, and these calls. Others count turns for gradients (see
`hybridnet.graph.subgraph.ControlCall`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, final
from weakref import WeakValueDictionary

import numpy as np

from hybridnet.base.errors import InternalError
from hybridnet.base.lazy import jax, jnp, lax
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.core import Arrays, Backward, Call, Operand, Types

#: The type of a loop's counter.
COUNTER = tensor_type((), np.dtype(np.int32))


@final
class RowCall(Call):
    """One of these calls.

    Args:
        key: its name, and all else that decides what it does.
        infer: from the types of its inputs to that of its output.
        lower: from its inputs to its output.
    """

    __slots__ = ("_infer", "_key", "_lower")

    def __init__(
        self,
        key: tuple[object, ...],
        infer: Callable[[Types], TensorType],
        lower: Callable[..., object],
    ) -> None:
        self._key = key
        self._infer = infer
        self._lower = lower
        super().__init__()

    @property
    def name(self) -> str:
        """As it is printed."""
        return str(self._key[0])

    def facts(self) -> Sequence[object]:
        """Its name, and all else that decides what it does."""
        return self._key

    def infer(self, types: Types) -> Types:
        """By its rule."""
        return (self._infer(types),)

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """By its rule."""
        return (self._lower(*operands),)

    def gradient(self, back: Backward) -> Sequence[Operand | None]:
        """Graphs are differentiated before they are lowered."""
        raise InternalError(f"the gradient of {self.name}")


_made: Final[WeakValueDictionary[tuple[Any, ...], RowCall]] = WeakValueDictionary()


def _call(name: str, infer: Any, lower: Any, *facts: object) -> Call:
    """Returns the one call of this name and these facts."""
    key = (name, *facts)
    return _made.get(key) or _made.setdefault(key, RowCall(key, infer, lower))


def zeros(type: TensorType) -> Call:
    """Returns the call of no inputs that gives zeros of a type."""
    return _call("_loop_zeros", lambda types: type, lambda: jnp.zeros(type.shape, type.dtype), type)


def next_count() -> Call:
    """Returns the call that adds one to a counter."""
    return _call("_next_count", lambda types: COUNTER, lambda count: count + 1)


def goes_on(limit: int) -> Call:
    """Returns the call of a counter, and maybe a condition, that says whether a loop goes on."""

    def lower(count: jax.Array, holds: jax.Array | None = None) -> Any:
        within = count < limit
        return within if holds is None else within & (holds.reshape(()) != 0)

    return _call("_goes_on", lambda types: tensor_type((), np.dtype(np.bool_)), lower, limit)


def take_row(length: int, reverse: bool, flat: bool) -> Call:
    """Returns the call that takes a row of an array, counted by a counter.

    Args:
        length: how many rows there are.
        reverse: whether the last one comes first.
        flat: whether a row of an array of one dimension has shape (1,), and not ().
    """

    def infer(types: Types) -> TensorType:
        return tensor_type(types[0].shape[1:] or ((1,) if flat else ()), types[0].dtype)

    def lower(rows: jax.Array, count: jax.Array) -> Any:
        place = length - 1 - count if reverse else count
        row = lax.dynamic_index_in_dim(rows, place, 0, keepdims=False)
        return row.reshape((1,)) if flat and row.ndim == 0 else row

    return _call("_take_row", infer, lower, length, reverse, flat)


def put_row(length: int, reverse: bool) -> Call:
    """Returns the call of an array, a row and a counter that puts the row in the array."""

    def lower(rows: jax.Array, row: jax.Array, count: jax.Array) -> Any:
        place = length - 1 - count if reverse else count
        return lax.dynamic_update_index_in_dim(rows, row, place, 0)

    return _call("_put_row", lambda types: types[0], lower, length, reverse)


def turns_type(count: int) -> TensorType:
    """Returns the type of the counts of some loops."""
    return tensor_type((count,), np.dtype(np.int32))


def with_turn(is_endless: bool) -> Call:
    """Returns the call of counts so far, and those of one turn, that gives the counts after it.

    Args:
        is_endless: whether the first count is that of the turns themselves; of other loops the
            largest is kept.
    """

    def lower(before: jax.Array, *turn: jax.Array) -> Any:
        first = before[:1] + 1 if is_endless else before[:0]
        most = jnp.maximum(before[int(is_endless) :], jnp.concatenate([before[:0], *turn]))
        return jnp.concatenate([first, most])

    return _call("_with_turn", lambda types: types[0], lower, is_endless)


def joined_turns(before: int, after: int) -> Call:
    """Returns the call that joins the counts of one branch, with zeros for those of the other.

    Args:
        before: how many loops come before those of this branch.
        after: and after.
    """

    def infer(types: Types) -> TensorType:
        return turns_type(before + after + sum(kind.shape[0] for kind in types))

    def lower(*counts: jax.Array) -> Any:
        return jnp.concatenate(
            [jnp.zeros(before, "int32"), *counts, jnp.zeros(after, "int32")], dtype="int32"
        )

    return _call("_joined_turns", infer, lower, before, after)


#: Name -> the function that makes a call of that name.
_MAKERS: Final[dict[str, Callable[..., Call]]] = {
    "_loop_zeros": zeros,
    "_next_count": next_count,
    "_goes_on": goes_on,
    "_take_row": take_row,
    "_put_row": put_row,
    "_with_turn": with_turn,
    "_joined_turns": joined_turns,
}


def row_call(facts: Sequence[Any]) -> Call:
    """Returns the call of which `RowCall.facts` says these.

    Raises:
        KeyError: there is no such call.
        TypeError: it has other facts.
    """
    return _MAKERS[facts[0]](*facts[1:])
