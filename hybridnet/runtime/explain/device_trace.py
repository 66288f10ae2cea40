"""When each device of a mesh was at work, and on which collective: as XLA itself has noted it.

XLA's own profiler notes each operation of a program with its device. Of those only the collectives
are kept, and of each run of a program on a device its begin and its end.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter_ns, time_ns
from typing import Any, Final, NamedTuple, final

from hybridnet.base.errors import MXNetError
from hybridnet.base.lazy import jax
from hybridnet.base.mesh import Mesh

from ..observe import journal
from ..observe.events import name_of
from ..platform.jax_devices import device_of
from ..programs.cache import cache
from ..programs.executable import innermost
from ..programs.mesh_program import MeshExecutable
from .collectives import MeshLaunch

__all__ = ["DeviceTrace", "DeviceWork"]

_HOST: Final = "/host:CPU"


@final
class DeviceWork(NamedTuple):
    """An interval in which a device was at work.

    Attributes:
        kind: "device", a run of a program, or "collective".
        name: of the program, or what the collective is for.
        device: its name.
        start, end: nanoseconds of `perf_counter_ns`.
    """

    kind: str
    name: str
    device: str
    start: int
    end: int


class _Noted(NamedTuple):
    """An operation as XLA has noted it: its name, program, run and device, and when it was."""

    operation: str
    module: str
    run: int
    device: int
    start: int
    end: int


@final
class DeviceTrace:
    """XLA's profiler, from `begin` to `finish`. There is one in a process."""

    def __init__(self) -> None:
        self._folder: str | None = None

    def begin(self) -> None:
        """Starts XLA's profiler, which records what devices do.

        Raises:
            MXNetError: somebody else does so already.
        """
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        folder = tempfile.mkdtemp(prefix="hybridnet-trace-")
        try:
            jax.profiler.start_trace(folder, profiler_options=options)
        except RuntimeError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise MXNetError(
                "profiler: trace_devices requires XLA's profiler, which is in use; stop "
                f"jax.profiler's trace first: {error}"
            ) from error
        self._folder = folder

    def finish(self) -> list[DeviceWork]:
        """Ends it, and returns what devices of meshes did; empty if it has not begun."""
        folder, self._folder = self._folder, None
        if folder is None:
            return []
        try:
            jax.profiler.stop_trace()
            with warnings.catch_warnings():
                # Where that is an error, as in tests, the types of JAX's reader end the process.
                warnings.filterwarnings("ignore", "builtin type", DeprecationWarning)
                return [work for path in Path(folder).rglob("*.xplane.pb") for work in _read(path)]
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def forget(self) -> None:
        """In a forked child: the trace is the parent's."""
        self._folder = None


def _read(path: Path) -> Iterator[DeviceWork]:
    data = jax.profiler.ProfileData.from_file(str(path))
    planes = {plane.name: plane for plane in data.planes}
    began = dict(planes["Task Environment"].stats)["profile_start_time"]
    shift = int(began) + perf_counter_ns() - time_ns()
    launches = _launches()
    runs: dict[tuple[str, int, int], tuple[int, int]] = {}
    names: dict[str, dict[str, str]] = {}  # of the collectives of a program, by XLA's
    for one in _noted(planes.get(_HOST)):
        if one.module not in launches:
            continue
        launch, devices = launches[one.module]
        start, end = one.start + shift, one.end + shift
        key = one.module, one.run, one.device
        first, last = runs.get(key, (start, end))
        runs[key] = min(first, start), max(last, end)
        if one.module not in names:
            found = launch.collectives()
            names[one.module] = {each.name: launch.name_of(each) for each in found}
        name = names[one.module].get(one.operation)
        if name is not None:
            yield DeviceWork("collective", name, devices[one.device], start, end)
    for (module, _, device), (start, end) in runs.items():
        launch, devices = launches[module]
        yield DeviceWork("device", name_of(launch.code), devices[device], start, end)


def _noted(plane: Any) -> Iterator[_Noted]:
    """Yields the operations of programs that a plane of XLA's trace has."""
    for line in [] if plane is None else plane.lines:
        for event in line.events:
            facts = dict(event.stats)
            if "hlo_op" in facts and "device_ordinal" in facts:
                yield _Noted(
                    facts["hlo_op"],
                    facts["hlo_module"],
                    facts["run_id"],
                    facts["device_ordinal"],
                    int(event.start_ns),
                    int(event.start_ns + event.duration_ns),
                )


def _launches() -> dict[str, tuple[MeshLaunch, dict[int, str]]]:
    """Returns the programs on meshes by the names that XLA has for them, with their devices'."""
    found = {}
    for program in cache.programs():
        made, mesh = innermost(program.compiled), program.code.ctx
        if isinstance(made, MeshExecutable) and isinstance(mesh, Mesh):
            devices = {device_of(ctx).id: str(ctx) for ctx in mesh.contexts}
            lines = journal.lines_of(program.code)
            for module, executable in made.modules.items():
                found[module] = MeshLaunch(executable, program.code, lines), devices
    return found
