"""Segments that a user's device runs, by its own kernels, where others become programs of XLA's.

Which kind a segment is, is looked at when it is begun, so that recording for JAX's devices does
nothing for this. What only makes and moves memory (arrays made of nothing, copies, parts that are
read and written) is no kernel's work: it is recorded for the context in whose memory the device's
arrays are. A graph is recorded as one call, and all its operators need kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

from hybridnet.base.attrs import Number
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError, OpError
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.interrupts import is_from_signal
from hybridnet.base.lazy import jax
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.core import Call, Types

from ..devices.device import Device, users
from ..observe import events, journal
from ..platform.jax_devices import place, refuse_forked
from ..programs.steps import Failed
from ..segments.code import Code, result_types
from ..segments.segment import Segment, Value
from .lined import LinedSegment

__all__ = ["DeviceSegment", "new_segment", "run_by_device"]

# Operators that take arrays and compute nothing of their elements.
_MOVES: Final = frozenset(
    {"_assign_cast", "_copy", "_view", "_view_assign", "_view_fill", "ones_like", "zeros_like"}
)


@final
class DeviceSegment(LinedSegment):
    """A segment for a context of a user's device. It always notes lines: it can afford to.

    Attributes:
        device: the device.
    """

    __slots__ = ("device",)

    def __init__(self, device: Device, limit: int) -> None:
        super().__init__(device.context, limit)
        self.device = device

    def append(
        self, call: Call, values: Sequence[Value], scalars: tuple[Number, ...], types: Types
    ) -> list[Value] | None:
        """Adds one instruction; see `Segment.append`. Also None where it `leaves` the call.

        Raises:
            MXNetError: the device has no kernel for it.
        """
        if self.leaves(call, values):
            return None
        return super().append(call, values, scalars, types)

    def append_one(
        self, call: Call, values: Sequence[Value], scalars: tuple[Number, ...], type: TensorType
    ) -> Value | None:
        """Adds one instruction; see `append`."""
        return (
            None if self.leaves(call, values) else super().append_one(call, values, scalars, type)
        )

    def leaves(self, call: Call, values: Sequence[Value]) -> bool:
        """Whether a call is recorded for the context of the memory instead.

        Raises:
            MXNetError: it is the device's, which has no kernel for it.
        """
        is_graph = hasattr(call, "graph")
        if not is_graph and (call.name in _MOVES or len(values) == call.takes_state):
            return True
        lacking = _lacking(self.device, call)
        if lacking is None:
            return False
        within = "" if lacking is call else f"{call.name}: "
        raise MXNetError(
            f"{within}{lacking.name} has no kernel on {self.ctx}; give the device one, or "
            "compute it elsewhere, on x.as_in_context(hn.cpu())"
        )


def _lacking(device: Device, call: Call) -> Call | None:
    """Returns the call, or of a graph the first one in it, that a device has no kernel for."""
    graph = getattr(call, "graph", None)
    if graph is None:
        return None if device.supports(call) else call
    inside = (_lacking(device, node.call) for node in graph.nodes if node.call is not None)
    return next((found for found in inside if found is not None), None)


def new_segment(ctx: Context, limit: int) -> Segment:
    """Returns a segment for a context, which notes lines if somebody wants them."""
    device = users.get(ctx)
    if device is not None:
        return DeviceSegment(device, limit)
    return LinedSegment(ctx, limit) if journal.listeners.lines else Segment(ctx, limit)


def run_by_device(segment: DeviceSegment, code: Code) -> list[Any]:
    """Runs a segment by its device's kernels.

    If that fails, its instructions are run one by one: the error names the one that failed, and all
    that do not depend on it have their results.

    Returns:
        For each output an array, or `Failed`.

    Raises:
        MXNetError: in a forked child, where JAX has no threads to give an array by.
        Exception: whatever the device has against the only instruction.
    """
    refuse_forked()
    device, inputs, scalars = segment.device, segment.inputs, segment.scalars
    place(code.ctx, inputs)
    if Failed not in map(type, inputs):
        try:
            return _run(device, code, list(inputs), list(scalars))
        except Exception as caught:
            if is_from_signal(caught) or len(code.instructions) == 1:
                raise
    results: list[Any] = []
    types: list[TensorType] = []
    position = 0
    for call, operands in code.instructions:
        own = scalars[position : position + call.num_scalars]
        position += call.num_scalars
        given = [results[i] if i >= 0 else inputs[~i] for i in operands]
        kinds = tuple([types[i] if i >= 0 else code.input_types[~i] for i in operands])
        number = len(types)
        types += call.infer(kinds)
        alone = Code(
            code.ctx,
            ((call, tuple(range(-1, ~len(kinds), -1))),),
            kinds,
            tuple(range(call.num_outputs)),
            (),
        )
        failed = next((one for one in given if type(one) is Failed), None)
        if failed is None:
            try:
                results += _run(device, alone, given, own)
                continue
            except Exception as caught:
                if is_from_signal(caught):
                    raise
                error = OpError(f"{call.name} on {code.ctx} failed: {caught}")
                error.__cause__ = caught
                failed = Failed(error, number)
        results += [failed] * call.num_outputs
    return [results[i] for i in code.outputs]


def _run(
    device: Device, code: Code, inputs: list[DeviceArray], scalars: list[float]
) -> list[DeviceArray]:
    """Runs a structure on a device; returns the outputs."""
    with jax.enable_x64(True):
        if events.observer is None:
            return _checked(device, code, device.run(code, inputs, scalars))
        with events.span("device", code):
            outputs = _checked(device, code, device.run(code, inputs, scalars))
            jax.block_until_ready(outputs)
        return outputs


def _checked(device: Device, code: Code, made: Sequence[object]) -> list[Any]:
    """Returns what a device made of a structure.

    Raises:
        OpError: these are not the arrays that the structure says.
    """
    outputs = list(made)
    types = result_types(code)
    if len(outputs) != len(code.outputs):
        raise OpError(
            f"{device.name}: run must return {len(code.outputs)} arrays, got {len(outputs)}"
        )
    for number, one in zip(code.outputs, outputs, strict=True):
        kind = types[number]
        if not isinstance(one, jax.Array) or one.shape != kind.shape or one.dtype != kind.dtype:
            got = f"{type(one).__name__} of {getattr(one, 'dtype', 'no dtype')}"
            raise OpError(
                f"{device.name}: run must return a JAX array of type {kind} for output {number}, "
                f"got {got} and shape {getattr(one, 'shape', 'none')}"
            )
    return outputs
