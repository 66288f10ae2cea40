"""Parts of applying an operator to arrays: changed inputs, ``out=``, and its refusals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from hybridnet import tape
from hybridnet.base.attrs import Number
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError, ParameterError, ShapeError
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.origins import CallSite, noted_origin
from hybridnet.ops.core import (
    Call,
    IndexBound,
    OpCall,
    Operator,
    Types,
    bounds_call,
    may_be_outside,
)
from hybridnet.runtime.asking import (
    INDICES,
    PositionRow,
    asks,
    at_hand,
    note_positions,
    require_inside,
)
from hybridnet.runtime.recording import Value, generator, recorder
from hybridnet.runtime.tasks import failed, in_host_memory, push_task

from ._host import AbstractArray

__all__ = [
    "changed_by",
    "check_positions",
    "check_result",
    "contexts_differ",
    "looked_at",
    "not_arrays",
    "on_first_cpu",
    "record_changing",
    "refused",
    "targets_of",
    "watch_positions",
    "write_out",
]


# Calls that take positions, with types, of which it is remembered what these may be.
_REMEMBERED: Final = 1024


def changed_by(call: Call, inputs: Sequence[object], ctx: Context) -> list[object]:
    """Returns what a call that changes something reads: its inputs, and the random state."""
    return [*inputs, generator.state_of(ctx)] if call.takes_state else [*inputs]


def record_changing(
    call: Call, inputs: Sequence[Any], scalars: tuple[Number, ...], types: Types, ctx: Context
) -> tuple[list[Value], list[Value], Types]:
    """Records a call that overwrites inputs or the random state; the lock is held.

    Returns:
        The Values of its inputs, with the random state, the Values it makes, and their types.
    """
    direct = recorder.thread.trace is None
    values = [x._storage.value if direct and x._offset is None else x.read() for x in inputs]
    if call.takes_state:
        state = generator.state_of(ctx)
        types = (*types, state.type)
        values.append(state.read())
    made_types = call.inferred.get(types) or call.infer(types)
    made = recorder.record(ctx, call, values, scalars, made_types)
    if call.takes_state:
        state.write(made[-1])
    rest: Iterable[tuple[int, int]] = call.updates.items()
    if direct:
        pairs = tuple(rest)
        changed = [inputs[index] for index, _ in pairs]
        left = changed[0].assign_values(changed, [made[i] for _, i in pairs], ctx) if pairs else ()
        rest = [pairs[number] for number in left]
    for index, output in rest:
        inputs[index].write(made[output])
    return values, made, made_types


def targets_of(call: Call, out: Any) -> list[Any]:
    """Returns the arrays given as ``out=``.

    Raises:
        ParameterError: there are more than the call has outputs.
    """
    targets = list(out) if isinstance(out, (list, tuple)) else [out]
    if len(targets) > call.num_visible:
        raise ParameterError(
            f"{call.name}: out= takes at most {call.num_visible} arrays, got {len(targets)}"
        )
    return targets


def write_out(call: Call, outputs: list[Any], targets: Sequence[Any]) -> None:
    """Writes the outputs of a call, where they are not None, to the arrays given as ``out=``."""
    what = f"{call.name}(out=...)"
    for target, result in zip(targets, outputs, strict=False):
        if result is None:
            continue
        related = isinstance(target, type(result)) or isinstance(result, type(target))
        if not related:  # arrays with NumPy's semantics and those without are
            raise ParameterError(f"{call.name}: out= needs an NDArray, got {type(target).__name__}")
        if target.shape != result.shape:
            raise ShapeError(
                f"{call.name}: out= must have shape {result.shape}, got {target.shape}"
            )
        if target.context.computes_on is not result.context.computes_on:
            moved = on_first_cpu(call, [target, result])
            if moved is None:
                raise contexts_differ(call, [result, target])
            result = moved[1]
        target.replace(result, what)


def refused(op: Operator, scalars: tuple[Number, ...], outputs: list[Any]) -> list[Any]:
    """Returns the outputs of a call; where its numbers have no meaning, such that have failed.

    Args:
        op: an operator that may refuse.
        scalars: the numbers.
        outputs: what was recorded.

    Raises:
        ParameterError: inside a trace.
    """
    refusal = op.refusal(scalars)
    if not refusal:
        return outputs
    if recorder.current_trace() is not None:
        raise ParameterError(refusal)
    made = failed([output.type for output in outputs], refusal)
    if recorder.is_naive():
        recorder.wait(made[0])
    return [type(x).from_value(value, x.context) for x, value in zip(outputs, made, strict=True)]


def looked_at(call: OpCall, inputs: Sequence[Any], outputs: list[Any]) -> list[Any]:
    """Returns the outputs of a call whose values a task looks at: they fail where it finds fault.

    A compiled program cannot raise. Where autograd records, and in traces, nobody looks, so that a
    step stays one program.
    """
    look = None if call.operator.look is None else call.operator.look(**call.attrs)
    if look is None or tape.state.recording or recorder.current_trace() is not None:
        return outputs
    count = len(outputs)

    def task(*arrays: DeviceArray) -> Sequence[DeviceArray]:
        hosts = [in_host_memory(array) for array in arrays]
        look(hosts[count:], hosts[:count])
        return arrays[:count]

    reads = [x.read() for x in (*outputs, *inputs)]
    types = tuple(x.type for x in outputs)
    made = push_task(task, reads, types, name=call.name, as_they_are=True)
    if recorder.is_naive():
        recorder.wait(made[0])
    return [type(x).from_value(value, x.context) for x, value in zip(outputs, made, strict=True)]


@lru_cache(_REMEMBERED)
def _bounds_of(call: Call, types: Types, everything: bool) -> Sequence[IndexBound]:
    """Returns what positions may be that a call is given; remembered, as most come again.

    Raises:
        ShapeError, DTypeError: the types do not fit.
    """
    call.infer(types)
    return tuple(call.bounds(types, everything=everything))


def check_positions(call: Call, inputs: Sequence[Any]) -> Sequence[PositionRow]:
    """Checks the positions that a call is given, as far as they are at hand.

    Returns:
        What is to be checked when they have been computed; see `watch_positions`.

    Raises:
        OutOfBoundsError: one is outside.
    """
    if recorder.thread.trace is not None:
        return ()  # a graph looks at its own
    try:
        types = tuple([x.type for x in inputs])
    except AttributeError:  # what is no array is another error
        return ()
    later = []
    for bound in _bounds_of(call, types, asks(INDICES)):
        value = inputs[bound.input].read()
        array = value.array
        if array is None or not at_hand(array):
            site = CallSite(noted_origin(1))
            later.append(PositionRow(call.name, bound, value.type.shape, site))
        elif may_be_outside(in_host_memory(array), bound):
            site = CallSite(noted_origin(1))
            require_inside(call.name, bound, in_host_memory(array), site)
    return later


def watch_positions(inputs: Sequence[Any], later: Sequence[PositionRow]) -> None:
    """Records a check of positions, which is made when they have been computed.

    Args:
        inputs: of the call that was recorded.
        later: what `check_positions` returned.
    """
    call = bounds_call(tuple([row.bound for row in later]))
    values = [inputs[row.bound.input].read() for row in later]
    (kind,) = call.infer(tuple([value.type for value in values]))
    table = recorder.record_one(inputs[0].storage.ctx, call, values, (), kind)
    note_positions(table, later)
    if recorder.is_naive():
        recorder.wait(table)


def not_arrays(call: Call, inputs: Sequence[object]) -> ParameterError:
    """Returns the error for inputs that are no arrays."""
    names = call.input_names(len(inputs)) if isinstance(call, OpCall) else ()
    for index, x in enumerate(inputs):
        if not isinstance(x, AbstractArray):
            name = names[index] if index < len(names) else f"input {index}"
            what = "was not given" if x is None else f"is a {type(x).__name__}"
            return ParameterError(
                f"{call.name}: {name} must be an NDArray, but it {what}; "
                "make one with nd.array(...)"
            )
    return ParameterError(f"{call.name}: every input must be an NDArray")


def on_first_cpu(call: Call, inputs: Sequence[Any]) -> list[Any] | None:
    """Returns arrays of several CPU contexts as arrays of the first one's, as MXNet takes them.

    None: one is on another kind of device, or the call overwrites what would be copied, or this is
    inside a traced function, which has one context.
    """
    if call.updates or recorder.current_trace() is not None:
        return None
    if any(x.storage.ctx.device_type != "cpu" for x in inputs):
        return None
    first = inputs[0].storage.ctx
    return [x if x.storage.ctx is first else x.as_in_context(first) for x in inputs]


def contexts_differ(call: Call, inputs: Sequence[Any]) -> MXNetError:
    """Returns the error for arrays of several contexts."""
    where = ", ".join(str(x.context) for x in inputs)
    return MXNetError(
        f"{call.name}: all inputs must be on one context, got {where}; "
        "move them with as_in_context(...)"
    )


def check_result(shape: tuple[int, ...], other: object, result: Any, what: str) -> None:
    """Checks that an array can be overwritten with the result of an operation on it.

    Args:
        shape: of the array.
        other: the right-hand side.
        result: the result, or NotImplemented.
        what: the operator, for messages.

    Raises:
        TypeError: the right-hand side is nothing that the operation takes.
        ShapeError: the result has another shape.
    """
    if result is NotImplemented:
        raise TypeError(
            f"{what}: the right-hand side must be an NDArray or a number, got "
            f"{type(other).__name__}"
        )
    if result.shape != shape:
        raise ShapeError(f"{what}: the result must keep the shape {shape}, got {result.shape}")
