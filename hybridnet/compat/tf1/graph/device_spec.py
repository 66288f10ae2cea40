"""`DeviceSpec`: a device's name by its parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

from hybridnet.base import DeviceName

from .scopes import device_text, parsed_device

__all__ = ["DeviceSpec"]


@final
@dataclass(repr=False, unsafe_hash=True)
class DeviceSpec:
    """A device's name, or a part of one; `tf.device` takes it.

    Attributes:
        job: the job of a cluster.
        replica: which copy of the cluster.
        task: which process of the job.
        device_type: 'CPU', 'GPU': in capitals.
        device_index: which of the process's devices of that type.
    """

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    def __post_init__(self) -> None:
        self.device_type = self.device_type and self.device_type.upper()

    @property
    def _name(self) -> DeviceName:
        kind = self.device_type and self.device_type.lower()
        return DeviceName(self.job, self.replica, self.task, kind, self.device_index)

    @classmethod
    def _of(cls, name: DeviceName) -> DeviceSpec:
        return cls(name.job, name.replica, name.task, name.type, name.index)

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """Reads a name.

        Raises:
            ValueError: it is none.
        """
        return cls._of(parsed_device(spec) or DeviceName())

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Takes the parts of a name; returns itself."""
        vars(self).update(vars(self.from_string(spec)))
        return self

    def to_string(self) -> str:
        """Returns the name."""
        return device_text(self._name)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Returns this name with the parts that another one has, which win."""
        return self._of(self._name.merged(dev._name))

    def merge_from(self, dev: DeviceSpec) -> None:
        """Takes the parts that another name has."""
        vars(self).update(vars(self.make_merged_spec(dev)))

    def replace(self, **parts: Any) -> DeviceSpec:
        """Returns the name with other parts."""
        return replace(self, **parts)

    def __str__(self) -> str:
        return self.to_string()
