"""Running users' operators: `nd.Custom`, and the host tasks that run their Python code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hybridnet import tape
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.core import RUNNERS, CustomBackward, CustomCall, Types, custom_call
from hybridnet.runtime.asking import NANS, asks, require_finite
from hybridnet.runtime.recording import Value, recorder
from hybridnet.runtime.tasks import push_task
from hybridnet.runtime.watching import events

from .applying import targets_of, write_out
from .copies import put
from .ndarray import NDArray

__all__ = ["Custom", "named_inputs"]


def Custom(
    *data: object,
    op_type: str,
    name: str | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    **kwargs: object,
) -> Any:
    """Applies an operator written in Python; see `hybridnet.operator`.

    Its code runs as a host task: this returns at once, and an error in it is raised where a result
    is read, with this line.

    Args:
        data: the arguments, then the auxiliary states; or by their names.
        op_type: the name by which the operator was registered.
        name: without meaning for arrays.
        out: an array, or a list of them, to write the outputs to.
        kwargs: parameters, given to the class as text.

    Returns:
        The output, or a list of several.

    Raises:
        ParameterError: there is no such operator, or an input is missing.
    """
    arrays = {key: value for key, value in kwargs.items() if isinstance(value, NDArray)}
    call = custom_call(op_type, {k: value for k, value in kwargs.items() if k not in arrays})
    inputs = named_inputs(call, data, arrays)
    missing = [key for key, x in zip(call.input_names, inputs, strict=True) if x is None]
    if missing:
        raise ParameterError(f"{call!r}: needs an NDArray for {', '.join(missing)}")
    outputs = NDArray.apply_call(call.with_train(tape.state.training), inputs)
    shown = outputs[: call.num_visible]
    if out is not None:
        write_out(call, shown, targets_of(call, out))
        return out
    return shown[0] if len(shown) == 1 else shown


def named_inputs(call: CustomCall, data: Sequence[Any], named: dict[str, Any]) -> list[object]:
    """Returns the inputs of a user's operator in order, None for each that was not given.

    Raises:
        ParameterError: there are too many, or one is given twice.
    """
    names = call.input_names
    if len(data) > len(names):
        raise ParameterError(
            f"{call!r}: takes {len(names)} inputs ({', '.join(names)}), got {len(data)}"
        )
    found = dict(zip(names, data, strict=False))
    for key, value in named.items():
        if key not in names or found.get(key) is not None:
            raise ParameterError(
                f"{call!r}: input {key!r} is {'given twice' if key in names else 'not known'}; it "
                f"takes {', '.join(names)}"
            )
        found[key] = value
    return [found.get(key) for key in names]


def _forward(call: CustomCall, ctx: Context, values: Sequence[Value]) -> list[Value]:
    """Runs `forward`; returns the outputs and the new auxiliary states."""
    given = tuple(value.type for value in values)
    types = call.infer(given)
    count = len(call.arguments)

    def run(inputs: list[NDArray], outputs: list[NDArray]) -> list[NDArray]:
        aux = inputs[count:]
        call.operator(ctx, given).forward(
            bool(call.train), ["write"] * len(outputs), inputs[:count], outputs, aux
        )
        return [*outputs, *aux]

    task = _task(run, call, ctx, types[: call.num_visible], bool(call.train))
    return push_task(task, values, types, name=f"{call!r}.forward")


def _backward(call: CustomBackward, ctx: Context, values: Sequence[Value]) -> list[Value]:
    """Runs `backward`; returns the gradients of the arguments."""
    of = call.of
    heads, count = of.num_visible, len(of.arguments)
    types = call.infer(tuple(value.type for value in values))
    given = tuple(value.type for value in values[heads : heads + len(of.input_names)])

    def run(inputs: list[NDArray], grads: list[NDArray]) -> list[NDArray]:
        rest = inputs[heads:]
        requests = ["write" if want else "null" for want in call.wanted]
        of.operator(ctx, given).backward(
            requests,
            inputs[:heads],
            rest[:count],
            rest[len(given) :],
            grads,
            rest[count : len(given)],
        )
        return grads

    task = _task(run, call, ctx, types, bool(of.train))
    return push_task(task, values, types, name=f"{of!r}.backward")


def _task(
    run: Callable[[list[NDArray], list[NDArray]], list[NDArray]],
    call: CustomCall | CustomBackward,
    ctx: Context,
    types: Types,
    train: bool,
) -> Callable[..., list[Any]]:
    """Returns a host task that runs a user's code on arrays.

    Args:
        run: from inputs, and arrays to be filled, to results.
        call: the operator.
        ctx: where they are.
        types: of the arrays to be filled, zeros at first.
        train: whether it is in a training pass.
    """

    name = f"_backward_{call.of.op_type}" if isinstance(call, CustomBackward) else call.op_type

    def task(*arrays: DeviceArray) -> list[DeviceArray]:
        before = tape.state.recording, tape.state.training
        tape.state.recording, tape.state.training = False, train
        try:
            inputs = [NDArray.from_value(Value(_type(array), array), ctx) for array in arrays]
            filled = [
                NDArray.from_value(put(np.zeros(type_.shape, type_.dtype), ctx), ctx)
                for type_ in types
            ]
            with events.custom(name):
                made = [recorder.wait(output.read()) for output in run(inputs, filled)]
                recorder.flush()  # of this thread, which may not record again for long
            if asks(NANS):
                require_finite(call, arrays, made[: len(types)])
            return made
        finally:
            tape.state.recording, tape.state.training = before

    return task


def _type(array: DeviceArray | NumpyArray) -> TensorType:
    return tensor_type(tuple(array.shape), np.dtype(array.dtype))


RUNNERS.update(forward=_forward, backward=_backward)
