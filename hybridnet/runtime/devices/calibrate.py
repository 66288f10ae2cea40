"""The speeds of devices and links: measured once in a process, or said by the user.

A measurement takes some tenths of a second, most of it compiling three small programs a device. It
is the least of a few tries, since others may use the machine meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, Final

import numpy as np

from hybridnet.base.errors import ParameterError
from hybridnet.base.lazy import jax
from hybridnet.base.locks import free_in_children
from hybridnet.base.tensor_type import tensor_type
from hybridnet.engine import RLock
from hybridnet.ops.core.registry import get
from hybridnet.passes import CostModel, DeviceCost, LinkCost

from ..platform.jax_devices import device_of
from ..segments.code import Code
from .device import Device

_TRIES: Final = 5
# Rows and columns of the product that is timed, and elements of the vector: 4 MiB of float32, more
# than a core's own caches hold.
_MATRIX_SIDE: Final = 384
_VECTOR_LENGTH: Final = 1 << 20
_SHORT_LENGTH: Final = 8
# What a node takes beside its work inside of a program. XLA fuses small ones; what a program takes
# to launch counts for the transfer that makes it one of its own.
_NODE_LATENCY: Final = 1e-6  # seconds
# No measurement is taken to be shorter, since clocks have an end.
_MIN_SECONDS: Final = 1e-7  # seconds


# The cost model that the user gave, if any.
_given: CostModel | None = None
_devices: Final[dict[str, tuple[DeviceCost, float]]] = {}
_links: Final[dict[tuple[str, str], LinkCost]] = {}
_lock: Final = free_in_children(RLock())


def set_costs(model: CostModel | None) -> CostModel | None:
    """Sets the cost model that nodes are placed by; None has it measured. Returns the one before.

    Raises:
        ParameterError: it is no cost model.
    """
    if model is not None and not isinstance(model, CostModel):
        raise ParameterError(f"set_costs: needs a CostModel or None, got {model!r}")
    global _given
    before, _given = _given, model
    return before


def costs_of(devices: Sequence[Device]) -> CostModel:
    """Returns the cost model for some devices: the user's, or what is measured now or was before.

    A device that says what it costs is believed.
    """
    if _given is not None:
        return _given
    with _lock:
        return _measured_costs(devices)


def _measured_costs(devices: Sequence[Device]) -> CostModel:
    """Returns what devices cost; measures what was not measured before."""
    for device in devices:
        if str(device.name) not in _devices:
            _devices[str(device.name)] = _measured(device)
    for source in devices:
        for target in devices:
            key = (str(source.name), str(target.name))
            if source is not target and key not in _links:
                _links[key] = _measured_link(source, target, _devices[key[1]][1])
    names = {str(device.name) for device in devices}
    links: Mapping[tuple[str, str], LinkCost] = {
        key: link for key, link in _links.items() if names.issuperset(key)
    }
    mean = [links[key] for key in sorted(links)]
    return CostModel(
        {name: _devices[name][0] for name in names},
        links,
        other_links=mean[len(mean) // 2] if mean else LinkCost(),
    )


def _measured(device: Device) -> tuple[DeviceCost, float]:
    """Returns what a device costs, and the seconds that it takes to launch a program."""
    if device.cost is not None:
        return device.cost, device.cost.latency
    launch = _time(_program(device, "_plus_scalar", (_SHORT_LENGTH,), 1.0))
    product = _time(_program(device, "dot", (_MATRIX_SIDE, _MATRIX_SIDE))) - launch
    stream = _time(_program(device, "_plus_scalar", (_VECTOR_LENGTH,), 1.0)) - launch
    cost = DeviceCost(
        flops=2.0 * _MATRIX_SIDE**3 / max(product, _MIN_SECONDS),
        bandwidth=8.0 * _VECTOR_LENGTH / max(stream, _MIN_SECONDS),  # read once and written once
        latency=_NODE_LATENCY,
    )
    return cost, launch


def _measured_link(source: Device, target: Device, launch: float) -> LinkCost:
    short, long = (_array(source, (count,)) for count in (_SHORT_LENGTH, _VECTOR_LENGTH))
    latency = _time(lambda: target.receive(short))
    moving = max(_time(lambda: target.receive(long)) - latency, _MIN_SECONDS)
    return LinkCost(bandwidth=4.0 * _VECTOR_LENGTH / moving, latency=latency + launch)


def _program(
    device: Device, operator: str, shape: tuple[int, ...], *scalars: float
) -> Callable[[], Any]:
    """Returns a function that runs an operator on an array and a number, or on two arrays."""
    call = get(operator).bind({"scalar": scalars[0]} if scalars else {})[0]
    count = 1 if scalars else 2
    kind = tensor_type(shape, np.dtype(np.float32))
    operands = tuple(range(-1, ~count, -1))
    code = Code(device.context, ((call, operands),), (kind,) * count, (0,), ())
    arrays = [_array(device, shape) for _ in range(count)]
    return lambda: device.run(code, list(arrays), list(scalars))[0]


def _array(device: Device, shape: tuple[int, ...]) -> Any:
    return jax.device_put(np.ones(shape, np.float32), device_of(device.context))


def _time(run: Callable[[], Any]) -> float:
    """Returns the least seconds of a few runs, after one that compiles."""
    run().block_until_ready()
    seconds = []
    for _ in range(_TRIES):
        start = perf_counter()
        run().block_until_ready()
        seconds.append(perf_counter() - start)
    return min(seconds)
