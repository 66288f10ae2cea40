"""`Mesh`: devices in a grid with named axes, which compute as one."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final, final

from .context import Context, current_context
from .errors import ParameterError

__all__ = ["Mesh"]

# (`tests/parallel/test_many_axes.py` fails when XLA has been mended.)
_WRONG: Final = (
    "Mesh: XLA computes some products of matrices wrongly where three or more axes have several "
    "devices, as those of {}, depending on how arrays lie; make a mesh of two axes, or compare "
    "results with one device's"
)


@final
class Mesh(Context):
    """Devices in a grid whose axes have names; a context whose arrays have parts on all of them.

    An array of a mesh has one shape and is used like any other. How it lies on the devices is its
    *placement*: along each axis of the mesh they have parts of it (`hn.parallel.split`) or all the
    same (`hn.parallel.broadcast`). What is computed from such arrays is one program for all
    devices, which XLA divides among them, with what they have to tell each other. (Xu et al.,
    "GSPMD", 2021.)

    Args:
        axes: the names of the axes, with their sizes.
        contexts: the devices, along the last axis first; default those of the type of the current
            context, from 0 on. Of a mesh of several processes, those of each process.
        processes: over how many processes of a gang the mesh is, all of them: those of rank 0 come
            first; see `hn.distributed`. All make the same mesh, and compute the same with it.

    Attributes:
        axes: as given.
        contexts: the devices, of this process.
        processes: as given.
        device_id: the number of the first device, whose random numbers the mesh draws.

    Raises:
        ParameterError: there are more or fewer contexts than places, or one of them is no device.

    Warns:
        UserWarning: three axes or more have several devices. XLA (JAX 0.10 to 0.12) then computes
            some products of matrices wrongly, and says nothing: 6 of 1,000 of random placements.

    Examples:
        >>> mesh = hn.Mesh({"data": 2})
        >>> x = nd.array([[1, 2], [3, 4]], ctx=mesh)
        >>> (x * 2).sum().asscalar()
        20.0
    """

    __slots__ = ("axes", "contexts", "processes")

    _meshes: ClassVar[dict[Any, Mesh]] = {}

    axes: Mapping[str, int]
    contexts: tuple[Context, ...]
    processes: int

    def __new__(
        cls,
        axes: Mapping[str, int],
        contexts: Iterable[Context] | None = None,
        processes: int = 1,
    ) -> Mesh:
        """Returns the one object for these axes and devices."""
        count = _count(axes)
        if not isinstance(processes, int) or processes < 1 or count % processes:
            raise ParameterError(
                f"Mesh: processes must divide the {count} places of {dict(axes)}, got {processes}"
            )
        count //= processes
        if contexts is None:
            kind = current_context()
            kind = kind.contexts[0] if isinstance(kind, Mesh) else kind
            contexts = [Context(kind.device_type, i) for i in range(count)]
        devices = tuple(contexts)
        for one in devices:
            if not isinstance(one, Context) or isinstance(one, Mesh):
                raise ParameterError(f"Mesh: contexts must be devices, such as cpu(0), got {one!r}")
        if len(devices) != count or len(set(devices)) != count:
            raise ParameterError(
                f"Mesh: axes {dict(axes)} require {count} different contexts"
                f"{' of each process' if processes > 1 else ''}, got {list(devices)}"
            )
        if len({one.device_type for one in devices}) > 1:
            raise ParameterError(f"Mesh: contexts must be of one type, got {list(devices)}")
        key = tuple(axes.items()), devices, processes
        found = cls._meshes.get(key)
        if found is not None:
            return found
        if sum([size > 1 for size in axes.values()]) > 2:
            warnings.warn(_WRONG.format(dict(axes)), stacklevel=2)
        made = object.__new__(cls)
        for name, value in (
            ("device_type", "mesh"),
            ("device_id", devices[0].device_id),
            ("computes_on", made),
            ("is_accelerator", False),
            ("axes", dict(axes)),
            ("contexts", devices),
            ("processes", processes),
        ):
            object.__setattr__(made, name, value)
        return cls._meshes.setdefault(key, made)

    def __reduce__(self) -> tuple[Callable[..., Mesh], tuple[Any, ...]]:
        return Mesh, (dict(self.axes), self.contexts, self.processes)

    @classmethod
    def most_devices(cls) -> int:
        """Returns how many devices the largest mesh of CPUs has."""
        of_cpus = [m for m in cls._meshes.values() if m.contexts[0].device_type == "cpu"]
        return max([1 + max(x.device_id for x in mesh.contexts) for mesh in of_cpus], default=0)

    @property
    def device_typeid(self) -> int:
        """MXNet's code of the type of its devices, as its files hold it."""
        return self.contexts[0].device_typeid

    def empty_cache(self) -> None:
        """Does so on each device; see `Context.empty_cache`."""
        for one in self.contexts:
            one.empty_cache()

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}={size}" for name, size in self.axes.items())
        return f"Mesh({axes})"


def _count(axes: Mapping[str, int]) -> int:
    """Returns how many places axes have.

    Raises:
        ParameterError: they are no axes.
    """
    named = isinstance(axes, Mapping) and bool(axes)
    if not named or not all(isinstance(name, str) and name.isidentifier() for name in axes):
        raise ParameterError(
            f'Mesh: axes must be sizes by name, such as {{"data": 8}}, got {axes!r}'
        )
    for name, size in axes.items():
        if not isinstance(size, int) or size < 1:
            raise ParameterError(f"Mesh: the size of {name!r} must be an integer >= 1, got {size}")
    return math.prod(axes.values())
