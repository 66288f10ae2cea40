"""Names of devices: ``/job:worker/replica:0/task:0/device:cpu:1``, or a part of that.

A part that is left out may be anything, so that a name says what a user wants: ``/device:gpu`` is
any GPU, ``/task:1`` any device of the second process. The form is TensorFlow's (Abadi et al.,
"TensorFlow: Large-Scale Machine Learning on Heterogeneous Distributed Systems", 2015, section 2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Final, final

from .context import Context
from .errors import ParameterError

#: The attributes of a node that say where it is to run: on a device of this name,
DEVICE: Final = "__device__"
#: and where the nodes of these names run (with commas between).
COLOCATE: Final = "__colocate__"

#: The job of a process that is in no cluster. It answers to every job, as that job's task 0, so
#: that a program for a cluster can be tried in one process.
LOCALHOST: Final = "localhost"

_WORD: Final = r"[A-Za-z][A-Za-z0-9_]*"
_PART_PATTERN: Final = re.compile(
    rf"/(?:job:(?P<job>{_WORD})|replica:(?P<replica>\d+)|task:(?P<task>\d+)"
    rf"|device:(?P<type>{_WORD}|\*)(?::(?P<index>\d+|\*))?"
    rf"|(?P<short>{_WORD}):(?P<number>\d+))(?=/|$)"
)
_FORM: Final = "'/job:worker/replica:0/task:0/device:cpu:1' or a part of that"


@final
@dataclass(frozen=True, slots=True)
class DeviceName:
    """A device, or a set of them; None is a part that may be anything.

    Attributes:
        job: the job of a cluster: 'worker', 'ps'.
        replica: which copy of the whole cluster.
        task: which process of the job.
        type: 'cpu', 'gpu', 'tpu', or what a user's device calls itself.
        index: which of the process's devices of that type.
    """

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    type: str | None = None
    index: int | None = None

    @classmethod
    def parse(cls, text: str) -> DeviceName:
        """Reads a name.

        Args:
            text: as in the title of this module; ``/cpu:1`` is short for ``/device:cpu:1``, a
                ``*`` or what is left out may be anything, and '' is any device.

        Raises:
            ParameterError: it is not of that form.
        """
        found: dict[str, str] = {}
        position = 0
        while position < len(text):
            match = _PART_PATTERN.match(text, position)
            if match is None:
                raise ParameterError(f"device: the name must be {_FORM}, got {text!r}")
            for part, value in match.groupdict().items():
                name = {"short": "type", "number": "index"}.get(part, part)
                if value is None:
                    continue
                if name in found:
                    raise ParameterError(f"device: the name has two parts {name}, got {text!r}")
                found[name] = value
            position = match.end()
        numbers = {
            part: int(found[part])
            for part in ("replica", "task", "index")
            if found.get(part, "*") != "*"
        }
        kind = found.get("type", "*")
        return cls(found.get("job"), type=None if kind == "*" else kind.lower(), **numbers)

    @classmethod
    def of(cls, given: str | Context | DeviceName) -> DeviceName:
        """Returns the name that users give as text, as a context, or as what it is.

        Raises:
            ParameterError: it is none of these, or not of their form.
        """
        if isinstance(given, DeviceName):
            return given
        if isinstance(given, Context):
            return cls(type=given.device_type, index=given.device_id)
        if isinstance(given, str):
            return cls.parse(given)
        raise ParameterError(f"device: must be a name like {_FORM}, or a Context, got {given!r}")

    def merged(self, inner: DeviceName) -> DeviceName:
        """Returns this name with what another one says, which wins where both say something.

        A type of its own takes no number from outside: ``/device:cpu:1`` with ``/device:gpu``
        is any GPU.
        """
        given = {
            field.name: getattr(inner, field.name)
            for field in fields(inner)
            if getattr(inner, field.name) is not None
        }
        if inner.type not in (None, self.type):
            given.setdefault("index", None)
        return replace(self, **given)

    def covers(self, device: DeviceName) -> bool:
        """Whether a device has all parts that this name gives; see `LOCALHOST`."""
        wanted = replace(self, job=None) if device.job == LOCALHOST else self
        return all(
            getattr(wanted, field.name) in (None, getattr(device, field.name))
            for field in fields(self)
        )

    @property
    def process(self) -> DeviceName:
        """The name of the process alone, without a device in it."""
        return DeviceName(self.job, self.replica, self.task)

    def __str__(self) -> str:
        parts = [
            f"/{part}:{getattr(self, part)}"
            for part in ("job", "replica", "task")
            if getattr(self, part) is not None
        ]
        if self.type is not None or self.index is not None:
            index = "" if self.index is None else f":{self.index}"
            parts.append(f"/device:{self.type or '*'}{index}")
        return "".join(parts)
