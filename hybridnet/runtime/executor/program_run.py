"""Running one program of a partitioned graph on its device, and saying which node of it failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybridnet import engine
from hybridnet.base.attrs import HostScalar, Number
from hybridnet.base.errors import MXNetError, OpError
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.interrupts import is_from_signal
from hybridnet.graph import Node
from hybridnet.ops.core import Types

from ..checks.asked import asked
from ..checks.checked import checked
from ..devices.device import Device, JaxDevice
from ..observe import events, journal
from ..platform.jax_devices import place
from ..record import recorder
from ..record.answers import note_answers
from ..record.dispatched import note_dispatched
from ..record.host_task import awaited
from ..segments.code import Code
from ..segments.segment import Value
from .device_plan import DevicePlan, DeviceProgram

#: What stands for the numbers that Python is asked for in a run.
Numbers = Mapping[HostScalar, float]


class _Failed(Exception):
    """A node's failure, with the node."""

    def __init__(self, node: Node, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.node = node
        self.cause = cause


def error_of(
    plan: DevicePlan, program: DeviceProgram, caught: BaseException, where: str = ""
) -> MXNetError:
    """Returns the error of a program that failed, which names the node where that can be told.

    `where` says the iteration, in a loop.
    """
    if isinstance(caught, _Failed):
        nodes, cause = [caught.node], caught.cause
    else:
        nodes, cause = list(program.nodes), caught
    titles = ", ".join(node.title for node in nodes[:3])
    rest = f" or one of {len(nodes) - 3} more" if len(nodes) > 3 else ""
    what = "node" if len(nodes) == 1 else "one of the nodes"
    error = OpError(f"{what} {titles}{rest} on {plan.device.context} failed{where}: {cause}")
    error.__cause__ = cause
    return error


def _numbers(scalars: Sequence[Number], numbers: Numbers) -> list[Any]:
    return [numbers[scalar] if type(scalar) is HostScalar else scalar for scalar in scalars]


def run_program(
    plan: DevicePlan,
    program: DeviceProgram,
    arrays: list[DeviceArray],
    numbers: Numbers,
    origin: engine.Origin | None,
    awaited: bool = False,
) -> Sequence[DeviceArray]:
    """Runs a program on its device; returns its outputs.

    Args:
        plan, program: the program, and whose it is.
        arrays: its inputs, JAX arrays.
        numbers: the values of the `HostScalar`s.
        origin: the user's line, for traces.
        awaited: whether the outputs are waited for at once.

    Raises:
        Exception: whatever the device has against it; the node is named where that can be told.
    """
    scalars = _numbers(program.scalars, numbers)
    if program.call.on_host:
        return _run_on_host(program, arrays, scalars)
    if type(plan.device) is not JaxDevice:  # a user's is promised arrays of JAX
        place(program.code.ctx, arrays)
    note = journal.Launch(program.code, list(scalars))
    journal.launches.append(note)
    if journal.is_listening():
        note.lines, note.origin, note.how = {0: origin}, origin, "as part of a graph"
    asking = checked(program.code, asked.mode) if asked.mode else None
    code = program.code
    if asking is not None:
        code = note.ran = asking.code
        note.answers = asking.about
    try:
        outputs = _observed(plan.device, code, list(arrays), scalars, awaited)
    except Exception as caught:
        if len(program.nodes) == 1 or is_from_signal(caught):
            raise
        return _run_nodes(plan, program, arrays, numbers)
    if outputs:
        note_dispatched(program.code.ctx, outputs[0])
    if asking is not None:
        note_answers(asking, None, (arrays, scalars), {0: origin}, (), outputs, lists=0)
        outputs = outputs[: len(program.code.outputs)]
    return outputs


def _observed(
    device: Device, code: Code, arrays: list[DeviceArray], scalars: list[float], awaited: bool
) -> Sequence[DeviceArray]:
    """Runs a program; while somebody listens, waits for its end and tells how long it took."""
    run = device.run_awaited if awaited else device.run
    if events.observer is None or (events.waits and isinstance(device, JaxDevice)):
        return run(code, arrays, scalars)
    with events.span("device", code):
        outputs = run(code, arrays, scalars)
        for array in outputs:
            array.block_until_ready()
    return outputs


def _run_on_host(
    program: DeviceProgram, arrays: list[DeviceArray], scalars: Sequence[float]
) -> Sequence[DeviceArray]:
    """Runs a program with Python code in it, node by node, in this thread."""
    ctx = program.code.ctx
    values = [
        Value(kind, array) for kind, array in zip(program.code.input_types, arrays, strict=True)
    ]
    with awaited():  # what has effects may have no results to wait for
        made = program.call.run_on_host(ctx, values, tuple(scalars), recorder.record)
    return [recorder.ready_array(value) for value in made]


def _run_nodes(
    plan: DevicePlan, program: DeviceProgram, arrays: list[DeviceArray], numbers: Numbers
) -> Sequence[DeviceArray]:
    """Runs the nodes of a program that failed one by one: so the one that fails is known."""
    graph = program.graph
    made: dict[Node, Sequence[Any]] = {
        node: (array,) for node, array in zip(graph.inputs, arrays, strict=True)
    }
    types: dict[Node, Types] = {
        node: (kind,) for node, kind in zip(graph.inputs, program.call.input_types, strict=True)
    }
    for node in program.nodes:
        assert node.call is not None
        inputs = tuple(types[edge.node][edge.index] for edge in node.inputs)
        operands = tuple(range(-1, ~len(inputs), -1))
        count = node.call.num_outputs
        code = Code(plan.device.context, ((node.call, operands),), inputs, tuple(range(count)), ())
        given = [made[edge.node][edge.index] for edge in node.inputs]
        try:
            types[node] = node.call.infer(inputs)
            made[node] = plan.device.run(code, given, _numbers(node.scalars, numbers))
        except Exception as caught:
            if is_from_signal(caught):
                raise
            raise _Failed(node, caught) from caught
    return [made[edge.node][edge.index] for edge in graph.outputs]
