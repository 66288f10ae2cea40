"""Collective calls on arrays: each is made by all processes of the gang, in the same order.

A call returns at once, with arrays that are pending; what is computed of them waits for them, and
errors are raised where they are read. Gradients go through calls (`CollectiveCall`), which may be
part of traced functions. In a process that is on its own each call gives back what it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.errors import DTypeError, ParameterError, ShapeError
from hybridnet.base.mesh import Mesh
from hybridnet.ndarray import NDArray, zeros

from .calls import apply_collective
from .gang import current, size
from .programs import REDUCTIONS, AllGather, AllReduce, Broadcast, Kind, ReduceScatter

_LOGICAL: Final = ("min", "max")


def all_reduce(array: NDArray | Sequence[NDArray], op: str = "sum", *, priority: int = 0) -> Any:
    """Reduces arrays of all processes, element by element; all get the result.

    Args:
        array: an array, or a list of arrays on one device, which are one call; all processes give
            the same shapes and dtypes.
        op: 'sum', 'mean', 'prod', 'min' or 'max'. Booleans have 'min' (and) and 'max' (or), whole
            numbers no 'mean'.
        priority: of the call among other tasks; collective calls stay in their order.

    Returns:
        An array of the same shape and dtype; or a list, for a list. A sum has the same bits
        everywhere, but may differ in its last ones from a sum by rank. The gradient of a sum is
        the sum of all gradients, that of a mean their mean; that of a product goes to all, that of
        an extreme to those that hold it, in equal parts.

    Raises:
        ParameterError: there is no such `op`, or something is no dense array.
        DTypeError: the dtype has no such `op`.
        DeadNodeError: where the result is read: a process is gone.
        MXNetError: where the result is read: the others make another call.
    """
    arrays = _arrays("all_reduce", array)
    _check_op("all_reduce", op, arrays)
    return _call(AllReduce(op), array, arrays, priority)


def broadcast(array: NDArray | Sequence[NDArray], root: int = 0, *, priority: int = 0) -> Any:
    """Gives all processes the arrays of one of them, bit for bit.

    Args:
        array: an array, or a list of arrays on one device; those of the others only say shape and
            dtype, which must be the same.
        root: the rank whose arrays they get.
        priority: as in `all_reduce`.

    Returns:
        An array; or a list, for a list. The gradients of all add up in `root`; those of the others
        are zeros.

    Raises:
        ParameterError: there is no such rank, or something is no dense array.
        DeadNodeError: where the result is read: a process is gone.
        MXNetError: where the result is read: the others make another call.
    """
    arrays = _arrays("broadcast", array)
    if not isinstance(root, int) or not 0 <= root < size():
        raise ParameterError(f"broadcast: root must be a rank from 0 to {size() - 1}, got {root!r}")
    return _call(Broadcast(root), array, arrays, priority)


def reduce_scatter(
    array: NDArray | Sequence[NDArray], op: str = "sum", *, priority: int = 0
) -> Any:
    """Reduces arrays of all processes; each gets its part of the result, along the first axis.

    Args:
        array, op, priority: as in `all_reduce`. The first dimension must be a multiple of the
            number of processes.

    Returns:
        An array of shape ``(rows / size, ...)``: of rank ``r`` those from ``r * rows / size`` on;
        or a list, for a list. Its gradients are gathered, and then those of `all_reduce`.

    Raises:
        ShapeError: the first dimension cannot be split.
        ParameterError, DTypeError, DeadNodeError, MXNetError: as `all_reduce`.
    """
    arrays = _arrays("reduce_scatter", array)
    _check_op("reduce_scatter", op, arrays)
    for one in arrays:
        if not one.shape or one.shape[0] % size():
            raise ShapeError(
                "reduce_scatter: the first dimension must be a multiple of the number of processes,"
                f" {size()}, got shape {one.shape}"
            )
    return _call(ReduceScatter(op), array, arrays, priority)


def all_gather(array: NDArray | Sequence[NDArray], axis: int = 0, *, priority: int = 0) -> Any:
    """Gives all processes the arrays of all, one after the other along an axis, by rank.

    Args:
        array: an array, or a list of arrays on one device; all processes give the same shapes and
            dtypes.
        axis: along which; negative numbers count from the last.
        priority: as in `all_reduce`.

    Returns:
        An array, `size` times as long along the axis; or a list, for a list. Its gradients are
        added up, and each process gets those of its part.

    Raises:
        ShapeError: an array has no such axis.
        ParameterError, DeadNodeError, MXNetError: as `all_reduce`.
    """
    arrays = _arrays("all_gather", array)
    axes = set()
    for one in arrays:
        if not isinstance(axis, int) or not -one.ndim <= axis < one.ndim:
            raise ShapeError(
                f"all_gather: axis must be one of the array's, which has {one.ndim}, got {axis!r}"
            )
        axes.add(axis % one.ndim)
    if len(axes) > 1:
        raise ShapeError(
            f"all_gather: axis {axis} must be the same one of all arrays, counted from the first"
        )
    return _call(AllGather(axes.pop()), array, arrays, priority)


def barrier() -> None:
    """Waits until all processes are here, and what they called before is done.

    Raises:
        DeadNodeError: a process is gone.
        MXNetError: the others make another call.
    """
    if current() is not None:
        all_reduce(zeros((1,), dtype="int32"), "max").wait_to_read()


def _arrays(caller: str, given: Any) -> list[NDArray]:
    arrays = list(given) if isinstance(given, (list, tuple)) else [given]
    if not arrays:
        raise ParameterError(f"{caller}: needs at least one array, got none")
    for one in arrays:
        if not isinstance(one, NDArray) or one.stype != "default":
            kind = (
                f"one of storage {one.stype!r}" if isinstance(one, NDArray) else type(one).__name__
            )
            raise ParameterError(f"{caller}: needs dense arrays, got {kind}")
        if isinstance(one.context, Mesh):
            raise ParameterError(
                f"{caller}: needs arrays on a device, got one on {one.context}, which all devices "
                "have together: compute with it, and XLA puts the collective calls in"
            )
        if one.context.computes_on is not arrays[0].context.computes_on:
            raise ParameterError(
                f"{caller}: the arrays of one call must be on one device, got {arrays[0].context} "
                f"and {one.context}"
            )
    return arrays


def _check_op(caller: str, op: str, arrays: Sequence[NDArray]) -> None:
    if op not in REDUCTIONS:
        raise ParameterError(f"{caller}: op must be one of {', '.join(REDUCTIONS)}, got {op!r}")
    for one in arrays:
        dtype = one.type.dtype
        if dtype == np.bool_ and op not in _LOGICAL:
            raise DTypeError(
                f"{caller}: booleans can be reduced by {' and '.join(_LOGICAL)}, got op={op!r}; "
                "convert them to numbers"
            )
        if op == "mean" and dtype.kind in "iu":
            raise DTypeError(
                f"{caller}: op='mean' needs numbers with fractions, got {dtype.name}; use 'sum'"
            )


def _call(kind: Kind, given: object, arrays: Sequence[NDArray], priority: int) -> Any:
    if current() is None:
        made = [one.copy() for one in arrays]
    else:
        made = apply_collective(kind, arrays, priority)
    return made if isinstance(given, (list, tuple)) else made[0]
