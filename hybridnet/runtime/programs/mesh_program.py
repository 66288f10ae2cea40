"""The executable of a structure on a mesh: a program for each way in which its inputs lie.

A structure says nothing of placements, which are only known once its inputs are there. XLA divides
a program among the devices by them; it chooses how results lie, but for those that overwrite an
array, which lie as that did. (Xu et al., "GSPMD: general and scalable parallelization for ML
computation graphs", 2021.)

Programs on a mesh of one process are kept on disk, each by itself: one that is there is neither
traced nor compiled.

Where a mesh is over the processes of a gang, each launch is told to `spanning` before it begins,
and a program that is new to this process is not even compiled until all are to launch it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final, NamedTuple, Protocol, final
from zlib import crc32

from hybridnet.base.host_array import DeviceArray
from hybridnet.base.lazy import jax, jax_core
from hybridnet.base.mesh import Mesh
from hybridnet.base.placement import Splits
from hybridnet.ops.host import by_jax

from ..observe.events import compiling, name_of
from ..observe.program_log import describe, explaining, say
from ..platform.jax_devices import splits_of
from ..segments.code import Code
from .program_key import mesh_key
from .room import is_lack
from .spanning import Peers, spanning

__all__ = ["MeshExecutable"]

#: In how many ways the inputs of a structure may lie before its programs are given up.
_MAX_PLACEMENTS: Final = 64

#: How many programs of one process were named, and of several, which all count alike.
_numbers: Final = {False: count(), True: count()}


class Files(Protocol):
    """Where programs on meshes are kept: `ProgramStore`."""

    def load_on_mesh(self, name: str, code: Code, placements: Sequence[Splits]) -> Any:
        """Returns the program of a name; None where there is none that can be used."""

    def save_on_mesh(self, name: str, code: Code, program: Any) -> None:
        """Writes a program, in the background."""


class _Made(NamedTuple):
    """A program for inputs that lie in one way, and what says which it is, in all processes."""

    program: Any
    what: str


@final
class MeshExecutable:
    """The programs of a structure on a mesh; called as a program is.

    Args:
        code: the structure.
        traced: traces it.

    Attributes:
        files: where its programs are kept; None: nowhere.
        last: the executable that was called last; None if none was.
        modules: the executables by the names that XLA has for them, as in its traces.
    """

    def __init__(self, code: Code, traced: Callable[[], jax.stages.Traced]) -> None:
        assert isinstance(code.ctx, Mesh)
        self._code = code
        self._trace = traced
        self._traced: jax.stages.Traced | None = None
        self.files: Files | None = None
        self._spans = code.ctx.processes > 1
        self._made: dict[tuple[Any, ...], _Made] = {}
        self.last: Any = None
        self.modules: dict[str, Any] = {}

    def trace(self) -> jax.stages.Traced:
        """Traces the structure, once.

        Raises:
            Exception: whatever a lowering has against it.
        """
        if self._traced is None:
            self._traced = self._trace()
        return self._traced

    def __call__(self, *arguments: jax.Array) -> Sequence[DeviceArray]:
        """Starts the program for arguments that lie as these do; compiles it if need be.

        Raises:
            MXNetError: other processes of the mesh launch something else, or one is gone.
        """
        key = tuple([x.sharding for x in arguments])
        made = self._made.get(key)
        gang = spanning.gang if self._spans else None
        if made is None:
            made = self._new(key, gang)
        elif gang is not None:
            gang.launch(made.what)
        self.last = made.program
        if gang is not None:
            return _launched(made.program, arguments, gang)
        outputs: Sequence[DeviceArray] = made.program(*arguments)
        return outputs

    def _new(self, key: tuple[Any, ...], gang: Peers | None) -> _Made:
        """Reads the program for inputs that lie in a new way, or compiles it."""
        files, code, program = self.files, self._code, None
        lies = [splits for splits in map(splits_of, key) if splits is not None]
        file = mesh_key(code, lies) if files is not None and len(lies) == len(key) else None
        kind = "gang_program" if self._spans else "mesh_program"
        name = f"{kind}_{next(_numbers[self._spans]) if file is None else file[-12:]}"
        if files is None or file is None:
            made = self._compiled(key, name, gang)
        elif (program := files.load_on_mesh(file, code, lies)) is not None:
            made = _Made(program, "")
        else:
            made = self._compiled(key, name, gang)
            files.save_on_mesh(file, code, made.program)
        if len(self._made) >= _MAX_PLACEMENTS:
            self._made.clear()
            self.modules.clear()
        self._made[key] = made
        self.modules[f"jit_{name}"] = made.program
        if explaining() and len(self._made) > 1:
            how = "compiled" if program is None else "read from disk"
            say("%s: %s again, as its inputs lie in another way", describe(code), how)
        return made

    def _compiled(self, key: tuple[Any, ...], name: str, gang: Peers | None) -> _Made:
        code = self._code
        types = self.trace().jaxpr
        donated = code.donated
        # As `Segment.code` pairs them.
        kept = [key[slot] for slot in donated]
        others = [None] * (len(code.outputs) - len(kept))
        program = jax.jit(
            _named(jax_core.jaxpr_as_fun(types), name),
            in_shardings=key,
            out_shardings=[*kept, *others],
            donate_argnums=donated,
            keep_unused=True,
        )
        with jax.enable_x64(True):
            given = [
                jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=sharding)
                for one, sharding in zip(types.in_avals, key, strict=True)
            ]
            lowered = by_jax(program.lower, *given)
            what = ""
            if gang is not None:
                what = _told(code, lowered.as_text())
                gang.launch(what)
            with compiling(awaited=True):
                return _Made(lowered.compile(), what)


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Returns a function under the name that XLA is to have for its program.

    XLA names its inputs ``args[0]``, ``args[1]``, ..., as `read_collectives` expects.
    """

    def program(*args: Any) -> Any:
        return function(*args)

    program.__name__ = name
    return program


def _told(code: Code, text: str) -> str:
    """Returns what says which program it is: the same in all processes that launch it."""
    return f"{name_of(code)} on {code.ctx} ({crc32(text.encode()):08x})"


def _launched(program: Any, arguments: Sequence[jax.Array], gang: Peers) -> Sequence[DeviceArray]:
    """Starts a program, of which the gang was told."""
    try:
        outputs: Sequence[DeviceArray] = program(*arguments)
    except RuntimeError as error:
        if is_lack(error):
            raise
        raise gang.explained(error) from error
    finally:
        gang.launched()
    return outputs
