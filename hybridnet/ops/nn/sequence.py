"""Batches of sequences of different lengths, in arrays as long as the longest.

Data are (steps, batch, ...), or (batch, steps, ...) with ``axis=1``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from hybridnet.base.attrs import Range
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax

from ..core.call import IndexBound
from ..core.checks import fill
from ..core.families import convert
from ..core.operator import Shapes
from ..core.registry import operator
from ..core.rules import same_type

_Axis = Annotated[int, Range(0, 1)]


def _takes(*, use_sequence_length: bool, **_: Any) -> Sequence[str]:
    return ("data", "sequence_length") if use_sequence_length else ("data",)


def _check(op: str) -> Any:
    def check(data: TensorType, *lengths: TensorType, axis: int, **_: Any) -> None:
        if len(data.shape) < 2:
            order = "(batch, steps, ...)" if axis else "(steps, batch, ...)"
            raise ShapeError(f"{op}: data must be {order} for axis={axis}, got data {data}")
        if lengths and lengths[0].shape != (data.shape[1 - axis],):
            raise ShapeError(
                f"{op}: sequence_length must have shape ({data.shape[1 - axis]},), one for each "
                f"sequence of data {data} with axis={axis}, got sequence_length {lengths[0]}"
            )

    return check


def _complete(shapes: Shapes, *, axis: int, **_: Any) -> Shapes:
    data = shapes[0]
    if len(shapes) < 2 or data is None or len(data) < 2:
        return shapes
    return [data, fill(shapes[1], (data[1 - axis],))]


def _steps_and_lengths(data: Any, lengths: Any, axis: int) -> tuple[Any, Any]:
    """Returns the number of each step and the lengths, shaped to broadcast against the data.

    Lengths are cut off to whole numbers.
    """
    rest = (1,) * (data.ndim - 2)
    steps = jnp.arange(data.shape[axis], dtype="int32")
    steps = steps.reshape((1, -1, *rest) if axis else (-1, 1, *rest))
    lengths = lengths.astype("int32").reshape((-1, 1, *rest) if axis else (1, -1, *rest))
    return steps, lengths


def _length_bounds(
    data: TensorType, *lengths: TensorType, axis: int, least: int, **_: Any
) -> Sequence[IndexBound]:
    return [IndexBound(1, "sequence_length", (data.shape[axis] + 1,), (), least) for _ in lengths]


@operator(
    "SequenceMask",
    bounds=partial(_length_bounds, least=0),
    takes=_takes,
    check=_check("SequenceMask"),
    infer=same_type,
    complete=_complete,
)
def sequence_mask(
    data: Any,
    sequence_length: Any = None,
    *,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: _Axis = 0,
) -> Any:
    """Overwrites what comes after the end of each sequence.

    Args:
        data: (steps, batch, ...), or (batch, steps, ...) with ``axis=1``.
        sequence_length: (batch,), the number of steps of each sequence.
        use_sequence_length: whether `sequence_length` is given; without it nothing changes.
        value: what is written.
        axis: the axis of the steps.

    Returns:
        The shape and dtype of `data`.
    """
    if sequence_length is None:
        return data
    steps, lengths = _steps_and_lengths(data, sequence_length, axis)
    return jnp.where(steps < lengths, data, convert(jnp.asarray(value), data.dtype))


def _check_last(data: TensorType, *lengths: TensorType, axis: int, **options: Any) -> None:
    _check("SequenceLast")(data, *lengths, axis=axis, **options)
    if not data.shape[axis]:
        raise ShapeError(f"SequenceLast: needs at least one step, on axis {axis}, got data {data}")


def _last_type(data: TensorType, *_: TensorType, axis: int, **__: Any) -> tuple[TensorType]:
    shape = data.shape[:axis] + data.shape[axis + 1 :]
    return (tensor_type(shape, data.dtype),)


@operator(
    "SequenceLast",
    bounds=partial(_length_bounds, least=1),
    takes=_takes,
    check=_check_last,
    infer=_last_type,
    complete=_complete,
)
def sequence_last(
    data: Any,
    sequence_length: Any = None,
    *,
    use_sequence_length: bool = False,
    axis: _Axis = 0,
) -> Any:
    """The last step of each sequence.

    Args:
        data: (steps, batch, ...), or (batch, steps, ...) with ``axis=1``.
        sequence_length: (batch,), the number of steps of each sequence. A length below 1 counts
            as 1, one above `steps` as `steps`; MXNet reads outside the array there.
        use_sequence_length: whether `sequence_length` is given; without it all are of full length.
        axis: the axis of the steps.

    Returns:
        (batch, ...), of the dtype of `data`.
    """
    if sequence_length is None:
        return lax.index_in_dim(data, -1, axis, keepdims=False)
    lengths = _steps_and_lengths(data, sequence_length, axis)[1]
    last = jnp.clip(lengths, 1, data.shape[axis]) - 1
    return jnp.take_along_axis(data, last, axis=axis).squeeze(axis)


@operator(
    "SequenceReverse",
    bounds=partial(_length_bounds, least=0),
    takes=_takes,
    check=_check("SequenceReverse"),
    infer=same_type,
    complete=_complete,
)
def sequence_reverse(
    data: Any,
    sequence_length: Any = None,
    *,
    use_sequence_length: bool = False,
    axis: _Axis = 0,
) -> Any:
    """Puts the steps of each sequence in reverse order; what comes after its end stays.

    Args:
        data: (steps, batch, ...), or (batch, steps, ...) with ``axis=1``, which MXNet lacks.
        sequence_length: (batch,), the number of steps of each sequence. One above `steps` counts
            as `steps`; MXNet reads outside the array there.
        use_sequence_length: whether `sequence_length` is given; without it all are of full length.
        axis: the axis of the steps.

    Returns:
        The shape and dtype of `data`.
    """
    if sequence_length is None:
        return jnp.flip(data, axis)
    steps, lengths = _steps_and_lengths(data, sequence_length, axis)
    lengths = jnp.minimum(lengths, data.shape[axis])
    source = jnp.where(steps < lengths, lengths - 1 - steps, steps)
    return jnp.take_along_axis(data, source, axis=axis)
