"""The scopes of a graph: ``with`` blocks that set names, devices and control dependencies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from hybridnet.base import Context, DeviceName, ParameterError

if TYPE_CHECKING:
    from .tensor import Operation, Tensor

__all__ = ["Controller", "Scopes", "device_text", "parsed_device"]

_OP_NAME: Final = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_SCOPE_NAME: Final = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


@dataclass(slots=True, eq=False)
class Controller:
    """A ``with control_dependencies(...)`` block.

    Attributes:
        ops: what runs before what is made in the block.
        fresh: whether the blocks around it do not count (``control_dependencies(None)``).
        inside: what was made in the block, which runs after `ops` anyway.
    """

    ops: Sequence[Operation]
    fresh: bool
    inside: set[Operation] = field(default_factory=set)


class Scopes:
    """The blocks in force in one graph, and the names that are taken in it."""

    def __init__(self) -> None:
        self.name = ""
        self._taken: dict[str, int] = {}
        self.devices: list[Any] = []
        self.controllers: list[Controller] = []
        #: The names of what new Operations are to be with.
        self.colocations: tuple[str, ...] = ()
        self.overrides: dict[str, str] = {}

    # -- names -------------------------------------------------------------------------------

    def unique(self, name: str, mark: bool = True) -> str:
        """Returns a name of the scope in force that is not taken; see ``Graph.unique_name``."""
        full = f"{self.name}/{name}" if self.name else name
        key = full.lower()
        count = self._taken.get(key, 0)
        if mark:
            self._taken[key] = count + 1
        if count:
            made = key
            while made in self._taken:
                made = f"{key}_{count}"
                count += 1
            if mark:
                self._taken[made] = 1
                self._taken[key] = count
            full = f"{full}_{count - 1}"
        return full

    def op_name(self, name: str) -> str:
        """Returns the full name of a new Operation; one that ends with / is taken as it is.

        Raises:
            ValueError: the name has letters that names must not have.
        """
        if name.endswith("/"):
            return name[:-1]
        if not _OP_NAME.match(name):
            raise ValueError(
                f"'{name}' is not a valid node name: it must begin with a letter, a digit or '.', "
                "and hold but letters, digits and _.\\/>-"
            )
        return self.unique(name)

    @contextmanager
    def named(self, name: str | None) -> Iterator[str]:
        """A block whose names begin with a name; None and '' end the blocks around it."""
        if name and not (_SCOPE_NAME.match(name) if self.name else _OP_NAME.match(name)):
            raise ValueError(f"'{name}' is not a valid scope name")
        was = self.name
        if not name:
            self.name = ""
        elif name.endswith("/"):
            self.name = name[:-1]
        else:
            self.name = self.unique(name)
        try:
            yield f"{self.name}/" if self.name else ""
        finally:
            self.name = was

    # -- what runs before --------------------------------------------------------------------

    def controls(self, inputs: Sequence[Tensor]) -> list[Operation]:
        """Returns what runs before a new Operation with these inputs."""
        found: dict[Operation, None] = {}
        for block in self.controllers:
            # What reads something made in the block runs after the block's Operations anyway.
            if not any(one.op in block.inside for one in inputs):
                found.update(dict.fromkeys(block.ops))
        read = {one.op for one in inputs}
        return [op for op in found if op not in read]

    def note(self, op: Operation) -> None:
        """Notes that an Operation was made in the blocks in force."""
        for block in self.controllers:
            block.inside.add(op)

    @contextmanager
    def controlled(self, block: Controller) -> Iterator[None]:
        """A block in which Operations run after others."""
        was = self.controllers
        self.controllers = [block] if block.fresh else [*was, block]
        try:
            yield
        finally:
            self.controllers = was

    # -- devices -----------------------------------------------------------------------------

    @contextmanager
    def placed(self, where: Any) -> Iterator[None]:
        """A block whose Operations are put on a device."""
        self.devices.append(where if callable(where) else parsed_device(where))
        try:
            yield
        finally:
            self.devices.pop()

    def device_of(self, op: Operation) -> DeviceName:
        """Returns the device that the blocks in force put an Operation on."""
        name = DeviceName()
        for where in self.devices:
            found: Any = where(op) if isinstance(where, Callable) else where  # type: ignore[arg-type]
            if found is None:
                name = DeviceName()
            else:
                name = name.merged(parsed_device(found) or DeviceName())
        return name

    @contextmanager
    def together(self, names: tuple[str, ...], ignore: bool) -> Iterator[None]:
        """A block whose Operations are on the devices of others."""
        was, devices = self.colocations, self.devices
        self.colocations = names if ignore else tuple(dict.fromkeys((*was, *names)))
        self.devices = []
        try:
            yield
        finally:
            self.colocations, self.devices = was, devices


def parsed_device(where: Any) -> DeviceName | None:
    """Returns a device's name: of text in TensorFlow's form, or of a context.

    Raises:
        ValueError: it is not of the form.
    """
    if where is None or isinstance(where, DeviceName):
        return where
    if isinstance(where, Context):
        return DeviceName.of(where)
    text = re.sub(r"/{2,}", "/", str(where))  # scripts put a / before names that have one
    if text and not text.startswith("/"):
        text = f"/{text}"
    try:
        return DeviceName.parse(text)
    except ParameterError as error:
        raise ValueError(f"Unknown attribute or form of device {where!r}: {error}") from error


def device_text(name: DeviceName) -> str:
    """Returns a device's name as TensorFlow writes it: ``/device:CPU:0``."""
    return re.sub(r"(?<=/device:)[a-z_]+", lambda match: match.group().upper(), str(name))
