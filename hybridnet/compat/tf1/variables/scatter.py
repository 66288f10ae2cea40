"""Changing rows of a variable: ``tf.scatter_update``, ``tf.scatter_add``, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hybridnet.graph import EdgeHandle

from ..graph import Tensor, convert_to_tensor, handle, name_scope
from ..operations.gathering import gather_nd
from .variable import Variable, after, changed, ref_tensor, value_for

__all__ = [
    "scatter_add", "scatter_max", "scatter_min", "scatter_nd_add", "scatter_nd_sub",
    "scatter_nd_update", "scatter_sub", "scatter_update",
]  # fmt: skip


def scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Returns what puts rows in the place of some of a variable's, and is the new value.

    Args:
        ref: the variable.
        indices: which rows; where one comes twice, any of its updates stays.
        updates: the rows, of shape ``indices.shape + ref.shape[1:]``.
        use_locking: without meaning here: a run's updates are made together.
    """
    return _scattered("ScatterUpdate", ref, indices, updates, name)


def scatter_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Returns what adds to rows of a variable, and is the new value; see `scatter_update`.

    A row whose index comes twice is added to twice.
    """
    return _scattered("ScatterAdd", ref, indices, updates, name)


def scatter_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Returns what subtracts from rows of a variable, and is the new value; see `scatter_add`."""
    return _scattered("ScatterSub", ref, indices, updates, name)


def scatter_max(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Returns what raises rows of a variable to others, and is the new value."""
    return _at_tuples("ScatterMax", "max", ref, indices, updates, name, whole_rows=True)


def scatter_min(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Returns what lowers rows of a variable to others, and is the new value."""
    return _at_tuples("ScatterMin", "min", ref, indices, updates, name, whole_rows=True)


def scatter_nd_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Returns what replaces elements or slices of a variable, and is the new value.

    Args:
        ref: the variable.
        indices: (..., depth) whole numbers, for the first `depth` axes of the variable.
        updates: (..., *rest) what comes there.
        use_locking: without meaning here: a run's updates are made together.
    """
    return _at_tuples("ScatterNdUpdate", "set", ref, indices, updates, name)


def scatter_nd_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Returns what adds to elements or slices of a variable; see `scatter_nd_update`."""
    return _at_tuples("ScatterNdAdd", "add", ref, indices, updates, name)


def scatter_nd_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Returns what subtracts from elements or slices of a variable; see `scatter_nd_update`."""
    return _at_tuples("ScatterNdSub", "sub", ref, indices, updates, name)


def _at_tuples(
    kind: str, how: str, ref: Any, indices: Any, updates: Any, name: str | None,
    whole_rows: bool = False,
) -> Tensor:  # fmt: skip
    tensor = ref_tensor(ref, kind)

    def update(now: EdgeHandle, places: EdgeHandle, given: EdgeHandle) -> EdgeHandle:
        places = handle("expand_dims", places, axis=-1) if whole_rows else places
        return handle("_update_tuples", now, places, given, how=how)

    return _changed(kind, update, tensor, ref, indices, updates, name)


#: How the sums of the updates of each row change a variable.
_BY_SUM: Final = {"ScatterAdd": "broadcast_add", "ScatterSub": "broadcast_sub"}


def _scattered(kind: str, ref: Any, indices: Any, updates: Any, name: str | None) -> Tensor:
    tensor = ref_tensor(ref, kind)
    shape = tuple(tensor.shape.as_list())

    def update(now: EdgeHandle, rows: EdgeHandle, given: EdgeHandle) -> EdgeHandle:
        if kind in _BY_SUM:
            total = handle("_segment_reduce", given, rows, num_segments=shape[0])
            return handle(_BY_SUM[kind], now, total)
        places = handle("expand_dims", rows, axis=0)
        return handle("_scatter_set_nd", now, given, places, shape=shape)

    return _changed(kind, update, tensor, ref, indices, updates, name)


def _changed(
    kind: str, update: Callable[..., EdgeHandle], tensor: Tensor, ref: Any, indices: Any,
    updates: Any, name: str | None,
) -> Tensor:  # fmt: skip
    """Adds the Operation that changes a variable by a rule of it, numbers, and updates."""
    with after(ref), name_scope(name, kind, [tensor]) as scope:
        places = convert_to_tensor(indices, name="indices")
        values = value_for(tensor, updates, kind)
        with tensor.graph.colocate_with(tensor.op):
            return changed(kind, update, tensor, [places, values], scope)


def _method(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def method(
        variable: Variable, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        return function(variable, sparse_delta.indices, sparse_delta.values, name=name)

    method.__doc__ = f"""As `tf.{function.__name__}`, with IndexedSlices for rows and indices."""
    return method


def _gathered(variable: Variable, indices: Any, name: str | None = None) -> Tensor:
    """As `tf.gather_nd`, of the variable's value."""
    return gather_nd(variable, indices, name=name)


_METHODS: Final = {
    **{one.__name__: _method(one) for one in (scatter_add, scatter_sub, scatter_update)},
    "gather_nd": _gathered,
}
for _name, _function in _METHODS.items():
    setattr(Variable, _name, _function)
