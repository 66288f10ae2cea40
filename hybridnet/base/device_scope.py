"""`device`: where the nodes of all symbols made in a ``with`` block run."""

from __future__ import annotations

from .context import Context, places
from .device_name import DeviceName


class DeviceScope:
    """A ``with`` block for nodes on a device; made by `device`."""

    __slots__ = ("_name",)

    def __init__(self, name: DeviceName | None) -> None:
        self._name = name

    def __enter__(self) -> DeviceScope:
        places().append(self._name)
        return self

    def __exit__(self, *exc: object) -> None:
        places().pop()


def device(name: str | Context | DeviceName | None) -> DeviceScope:
    """Returns a scope in which nodes of symbols are put on a device.

        with hn.device("/job:worker/task:0/device:cpu:1"):
            hidden = hn.sym.FullyConnected(data, num_hidden=128)

    It is a wish that counts when the symbol is bound. The scope of a context does the same
    (``with hn.cpu(1):``), and beside it sets where arrays are made.

    Args:
        name: a device's name or a part of one, which adds to the scopes outside and wins over
            them; a context; None takes back what the scopes outside say.

    Raises:
        ParameterError: the name is not of its form.
    """
    return DeviceScope(None if name is None else DeviceName.of(name))


def current_device() -> str:
    """Returns the name of the device that the scopes in force ask for; '' where there are none."""
    stack = places()
    if not stack:
        return ""
    name = DeviceName()
    for scope in stack:
        name = DeviceName() if scope is None else name.merged(DeviceName.of(scope))
    return str(name)
