"""`Device`: what runs the programs of a context; and the registry of devices, to which users add.

    class Turtle(hn.runtime.Device):       # see tests/passes/test_placement.py for a whole one
        def run(self, code, inputs, scalars): ...

    hn.runtime.register_device(Turtle("turtle", 0, memory=hn.cpu(0)))
    with hn.device("/device:turtle:0"): ...

The devices of JAX are there without being registered. As in TensorFlow (Abadi et al., "TensorFlow:
Large-Scale Machine Learning on Heterogeneous Distributed Systems", 2015, section 3), a device has a
name, says which kernels it has, and runs them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.device_name import LOCALHOST, DeviceName
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.host_array import DeviceArray, HostArray
from hybridnet.base.lazy import jax
from hybridnet.base.locks import free_in_children
from hybridnet.base.mesh import Mesh
from hybridnet.engine import RLock
from hybridnet.ops.core import Call
from hybridnet.passes import DeviceCost, DeviceSite

from ..platform.jax_devices import (
    device_of,
    host,
    num_devices,
    platform_of,
    put_on_device,
    sharding_of,
    spread,
)
from ..programs.cache import cache
from ..segments.code import Code

#: Types of JAX's devices, in the order in which they are listed.
_JAX_TYPES: Final = ("cpu", "gpu", "tpu")


class Device(ABC):
    """Runs programs, on arrays of its context. Subclass it and call `register_device`.

    It is given parts of graphs, and what eager code computes from arrays of its context; from
    several threads, if they compute. Arrays are made, copied and cut up in `memory`, without it.

    Args:
        device_type: what its contexts and names are called by: a word in lower case.
        index: which of the devices of that type it is.
        memory: the context in whose memory its arrays are.

    Attributes:
        context: stands for it: ``hn.nd.ones((2,), ctx=device.context)``.
        memory: as given.
        name: its name in full.
    """

    def __init__(self, device_type: str, index: int, memory: Context) -> None:
        Context.add_type(device_type)
        self.context = Context(device_type, index)
        self.memory = memory
        self.name = full_name(self.context)

    @property
    @abstractmethod
    def cost(self) -> DeviceCost | None:
        """Its speed, for the placer; None has it measured."""

    @abstractmethod
    def supports(self, call: Call) -> bool:
        """Whether it can run a call (`call.name` is the operator).

        Of a graph it is asked for each operator in it, and `run` is given the graph as one call.
        """

    @abstractmethod
    def receive(self, array: DeviceArray | NumpyArray) -> DeviceArray:
        """Returns a copy of another device's JAX array in this one's memory; must not block.

        What comes from another process is an array of NumPy's, to which nobody writes.
        """

    @abstractmethod
    def run(
        self, code: Code, inputs: list[DeviceArray], scalars: list[float]
    ) -> Sequence[DeviceArray]:
        """Runs a program. It computes with what it is given, and with no arrays of hybridnet's.

        Args:
            code: its structure: calls, types of the inputs, which results are wanted.
            inputs: JAX arrays in this device's memory.
            scalars: the numbers its calls take beside them, in order.

        Returns:
            JAX arrays, which may still be being computed.
        """

    def run_awaited(
        self, code: Code, inputs: list[DeviceArray], scalars: list[float]
    ) -> Sequence[DeviceArray]:
        """Does what `run` does, for a program whose results are waited for at once."""
        return self.run(code, inputs, scalars)

    def hands_over(self, code: Code) -> bool:
        """Whether `run` of this program takes no longer than to hand it over to another thread.

        As it is here, no: each program is a task of the engine, except small ones.
        """
        return False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


@final
class JaxDevice(Device):
    """A device of JAX, or a mesh of them: programs are XLA's, found in the program cache."""

    def __init__(self, context: Context) -> None:
        self.context = self.memory = context  # which is known, of a type or a mesh
        self.name = full_name(context)

    @property
    def cost(self) -> DeviceCost | None:
        """None: its speed is measured, and not given."""
        return None

    def supports(self, call: Call) -> bool:
        """True: XLA has kernels for all operators on each platform."""
        return True

    def receive(self, array: DeviceArray | NumpyArray) -> DeviceArray:
        """JAX copies, and orders the copy after the program that makes the array.

        An array of NumPy's came from another process, and nobody writes to it: it is taken over,
        on CPUs as it is.
        """
        if type(self.context) is Mesh:
            host = array.numpy if type(array) is HostArray else array
            return spread(host, self.context, ())
        if type(array) is np.ndarray:
            is_cpu = platform_of(self.context) == "cpu"
            return HostArray(array, self.context) if is_cpu else put_on_device(self.context, array)
        with jax.enable_x64(True):
            given = array.numpy if type(array) is HostArray else array
            # Contexts of CPUs may share a device, and programs overwrite what is theirs.
            moved: jax.Array = jax.device_put(given, sharding_of(self.context), may_alias=False)
            return moved

    def run(
        self, code: Code, inputs: list[DeviceArray], scalars: list[float]
    ) -> Sequence[DeviceArray]:
        """See `ProgramCache.run`."""
        return cache.run(code, inputs, scalars)

    def run_awaited(
        self, code: Code, inputs: list[DeviceArray], scalars: list[float]
    ) -> Sequence[DeviceArray]:
        """See `ProgramCache.run_awaited`."""
        return cache.run_awaited(code, inputs, scalars)

    def hands_over(self, code: Code) -> bool:
        """If it is compiled, as XLA has threads of its own; or if NumPy runs it in no time."""
        state = cache.state(code)
        return state is not None and (state.compiled or state.is_quick)


_registered: Final[dict[Context, Device]] = {}
#: Those of them that users brought.
users: Final[dict[Context, Device]] = {}
_lock: Final = free_in_children(RLock())


def full_name(context: Context) -> DeviceName:
    """Returns the name of this process's device of a context."""
    return DeviceName(LOCALHOST, 0, 0, context.device_type, context.device_id)


def register_device(device: Device) -> None:
    """Makes a device known, so that its context and its name can be used; again replaces it.

    Eager code uses it by its context: ``nd.ones((2,), ctx=hn.Context("turtle", 0))``.

    Raises:
        ParameterError: it is no Device, or is called as JAX's devices are.
    """
    if not isinstance(device, Device):
        raise ParameterError(f"register_device: needs a Device, got {device!r}")
    if device.context.device_type in _JAX_TYPES:
        raise ParameterError(
            f"register_device: {device.context.device_type!r} is the type of JAX's devices; give "
            "the device a type of its own"
        )
    with _lock:
        host(device.context, device.memory)
        _registered[device.context] = users[device.context] = device


def device_at(context: Context) -> Device:
    """Returns the device of a context.

    Raises:
        MXNetError: this process has no such device.
    """
    found = _registered.get(context)
    if found is None:
        device_of(context)  # raises where there is none
        with _lock:
            found = _registered.setdefault(context, JaxDevice(context))
    return found


def receive(context: Context, array: DeviceArray | NumpyArray) -> DeviceArray:
    """Returns a copy of another device's JAX array in the memory of a context's device.

    Raises:
        MXNetError: this process has no such device.
    """
    return device_at(context.computes_on).receive(array)


def list_devices() -> list[Device]:
    """Returns the devices of this process: JAX's, and then those that were registered.

    Of CPUs those are listed that do not share a device of JAX with one before.
    """
    own = [Context(kind, i) for kind in _JAX_TYPES for i in range(num_devices(kind))]
    return [device_at(context) for context in (*own, *users)]


def devices_with(names: Iterable[DeviceName]) -> list[Device]:
    """Returns the devices of this process, and the CPUs beyond them that have one of some names."""
    more = filter(None, map(_cpu_named, names))
    return list(dict.fromkeys((*list_devices(), *map(device_at, more))))


def _cpu_named(name: DeviceName) -> Context | None:
    """Returns the context of a CPU's name with a number; of other names None."""
    if name.type != "cpu" or name.index is None:
        return None
    context = Context("cpu", name.index)
    return context if name.covers(full_name(context)) else None


def find_device(name: str | Context | DeviceName) -> Device:
    """Returns the first device with a name.

    Raises:
        ParameterError: the name is not of its form.
        MXNetError: there is none.
    """
    wanted = DeviceName.of(name)
    for device in devices_with([wanted]):
        if wanted.covers(device.name):
            return device
    have = ", ".join(str(device.name) for device in list_devices())
    raise MXNetError(f"device {name}: there is no such device; there are {have}")


def sites_of(devices: Sequence[Device]) -> list[DeviceSite]:
    """Returns devices as the placer sees them."""
    return [DeviceSite(device.name, device.supports) for device in devices]
