"""`DeviceSpec`: a device's name by its parts."""

from __future__ import annotations

from typing import Any, final

from hybridnet.base import DeviceName

from .scopes import device_text, parsed_device

__all__ = ["DeviceSpec"]


@final
class DeviceSpec:
    """A device's name, or a part of one; `tf.device` takes it.

    Args:
        job: the job of a cluster.
        replica: which copy of the cluster.
        task: which process of the job.
        device_type: 'CPU', 'GPU'.
        device_index: which of the process's devices of that type.
    """

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        kind = None if device_type is None else device_type.lower()
        self._name = DeviceName(job, replica, task, kind, device_index)

    @classmethod
    def _of(cls, name: DeviceName) -> DeviceSpec:
        made = cls()
        made._name = name
        return made

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """Reads a name.

        Raises:
            ValueError: it is none.
        """
        return cls._of(parsed_device(spec) or DeviceName())

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Takes the parts of a name; returns itself."""
        self._name = parsed_device(spec) or DeviceName()
        return self

    @property
    def job(self) -> str | None:
        """The job, or None."""
        return self._name.job

    @property
    def replica(self) -> int | None:
        """The number of the replica of the cluster, or None."""
        return self._name.replica

    @property
    def task(self) -> int | None:
        """The number of the task in its job, or None."""
        return self._name.task

    @property
    def device_type(self) -> str | None:
        """The type, in capitals, or None."""
        return None if self._name.type is None else self._name.type.upper()

    @property
    def device_index(self) -> int | None:
        """The number of the device among those of its type, or None."""
        return self._name.index

    def to_string(self) -> str:
        """Returns the name."""
        return device_text(self._name)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Returns this name with the parts that another one has, which win."""
        return self._of(self._name.merged(dev._name))

    def merge_from(self, dev: DeviceSpec) -> None:
        """Takes the parts that another name has."""
        self._name = self._name.merged(dev._name)

    def replace(self, **parts: Any) -> DeviceSpec:
        """Returns the name with other parts."""
        held = {
            "job": self.job,
            "replica": self.replica,
            "task": self.task,
            "device_type": self.device_type,
            "device_index": self.device_index,
        }
        return DeviceSpec(**{**held, **parts})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self._name == other._name

    def __hash__(self) -> int:
        return hash(self._name)

    def __str__(self) -> str:
        return self.to_string()
