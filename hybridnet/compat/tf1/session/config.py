"""Options of sessions, with the names of TensorFlow's messages.

And the switches of TensorFlow 2 that programs for 1.x throw first: here they are thrown for good.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple, final

from hybridnet.session import Runner

__all__ = [
    "ConfigProto", "GPUOptions", "GraphOptions", "OptimizerOptions", "disable_eager_execution",
    "disable_resource_variables", "disable_v2_behavior", "enable_resource_variables",
    "executing_eagerly",
]  # fmt: skip


class _Options(SimpleNamespace):
    """Options with the names of TensorFlow's messages; what it holds is not looked at."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _Options()
        setattr(self, name, made)
        return made


@final
class GPUOptions(_Options):
    """The options of GPUs' memory; without effect here, since XLA manages it."""


@final
class OptimizerOptions(_Options):
    """The options of graph optimization; without effect here, see `hybridnet.passes`."""


@final
class GraphOptions(_Options):
    """The options of running graphs; without effect here."""


@final
class ConfigProto(_Options):
    """Options of a session.

    Args:
        allow_soft_placement: whether Operations that cannot be on their device are put on another.
        options: others, without meaning here.
    """

    def __init__(self, allow_soft_placement: bool = False, **options: Any) -> None:
        super().__init__(allow_soft_placement=allow_soft_placement, **options)


class DeviceAttributes(NamedTuple):
    """A device of this process.

    Attributes:
        name: in full.
        device_type: 'CPU' or 'GPU'.
        memory_limit_bytes: 0: it is not known.
    """

    name: str
    device_type: str
    memory_limit_bytes: int = 0


def num_gpus() -> int:
    """Returns how many GPUs this process has."""
    return sum(one.type == "gpu" for one in Runner.devices())


def disable_v2_behavior() -> None:
    """Means nothing here: there is only TensorFlow 1's behavior."""


def disable_eager_execution() -> None:
    """Means nothing here: graphs are built, and sessions run them."""


def enable_resource_variables() -> None:
    """Means nothing here: variables are one kind."""


def disable_resource_variables() -> None:
    """Means nothing here: variables are one kind."""


def executing_eagerly() -> bool:
    """Whether Operations run where they are written; they never do (`hn.nd` is for that)."""
    return False
