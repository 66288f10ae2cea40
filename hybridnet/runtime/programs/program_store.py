"""Programs that outlive the process: structures and executables on one side, files on the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, final

from hybridnet.base.interrupts import is_from_signal
from hybridnet.base.locks import free_in_children
from hybridnet.base.mesh import Mesh
from hybridnet.base.placement import Splits
from hybridnet.engine import RLock

from ..observe.program_log import describe, log
from ..platform.background import later
from ..segments.code import Code
from .compiling import executable_from, mesh_program_from, on_mesh, to_bytes
from .disk import ProgramFolder, cache_folder
from .executable import Executable
from .mesh_program import MeshExecutable
from .program_key import key_of, structure_key
from .recipe import Recipe
from .recipe_book import book

# Seconds at the end of a process in which programs are still written: a first, short run of a
# script is the one that later runs profit from.
_GRACE_SECONDS: Final = 0.2


def program_folder() -> ProgramFolder | None:
    """Returns the folder that HYBRIDNET_CACHE_DIR and HYBRIDNET_CACHE_SIZE say; None: off."""
    return cache_folder("programs")


class ProgramStore:
    """The programs in a folder, by structure.

    Args:
        folder: default the one of HYBRIDNET_CACHE_DIR, which is read at the first use.
    """

    def __init__(self, folder: ProgramFolder | None = None) -> None:
        self._folder = folder
        self._known = folder is not None
        # What another device of the kind needs is often the same, at the same time.
        self._unwritten: dict[str, _Unwritten] = {}

    def has(self, code: Code) -> bool:
        """Whether there is a program of this structure."""
        folder = self._open()
        if folder is None:
            return False
        key = key_of(code, book.recipe(code))
        return key is not None and (key in self._unwritten or folder.has(key))

    def may_have(self, code: Code) -> bool:
        """Whether there is a program of this structure, which another JAX may have made.

        This asks no JAX, which may not be loaded.
        """
        folder = self._open()
        structure = None if folder is None else structure_key(code)
        if folder is None or structure is None:
            return False
        return any(name.startswith(structure) for name in folder.names())

    def load(self, code: Code) -> Executable | None:
        """Returns the executable of a structure; None where there is none that can be used."""
        folder = self._open()
        if folder is None:
            return None
        if type(code.ctx) is Mesh:
            return self._on_mesh(code)
        key = key_of(code, book.recipe(code))
        return None if key is None else self._load(key, code, executable_from)

    def _load(
        self, key: str, code: Code, made_of: Callable[[Code, bytes], Executable]
    ) -> Executable | None:
        folder, fresh = self._open(), self._unwritten.get(key)
        assert folder is not None
        data = folder.read(key) if fresh is None else fresh.data()
        if data is None:
            return None
        try:
            return made_of(code, data)
        except Exception as error:  # whatever XLA has against it: it can be compiled
            if is_from_signal(error):
                raise
            log.info("%s: its file cannot be loaded: %s", describe(code), error)
            folder.remove(key)
            return None

    def may_keep(self, code: Code, recipe: Recipe) -> bool:
        """Whether there can be a file of a structure's program: other processes could use it."""
        if self._open() is None:
            return False
        if type(code.ctx) is Mesh:  # each of its programs has a key, see `mesh_key`
            return structure_key(code) is not None
        return key_of(code, recipe) is not None

    def save(self, code: Code, recipe: Recipe, executable: Executable) -> None:
        """Writes an executable made by `compile_code` by a recipe, in the background.

        One on a mesh has its programs written as it makes them.
        """
        if self._open() is None:
            return
        if isinstance(executable, MeshExecutable):
            executable.files = self
            return
        # Now, and not in the other thread: settings of JAX may be different there.
        key = key_of(code, recipe)
        if key is not None:
            self._save(key, code, executable)

    def _save(self, key: str, code: Code, executable: Executable) -> None:
        folder = self._open()
        assert folder is not None
        self._unwritten[key] = _Unwritten(code, executable)
        later(lambda: self._write(folder, key), "write program", grace=_GRACE_SECONDS)

    # -- on meshes ---------------------------------------------------------------------------

    def _on_mesh(self, code: Code) -> MeshExecutable | None:
        """Returns what reads the programs of a structure on a mesh, if there are files of any."""
        if not self.may_have(code):
            return None
        made = on_mesh(code)
        made.files = self
        return made

    def load_on_mesh(
        self, name: str, code: Code, placements: Sequence[Splits]
    ) -> Executable | None:
        """Returns the program of a name; None where there is none that can be used."""
        return self._load(name, code, partial(mesh_program_from, placements=placements))

    def save_on_mesh(self, name: str, code: Code, program: Executable) -> None:
        """Writes a program of a structure on a mesh, in the background."""
        self._save(name, code, program)

    # -- writing -----------------------------------------------------------------------------

    def _write(self, folder: ProgramFolder, key: str) -> None:
        unwritten = self._unwritten.get(key)
        if unwritten is None:
            return  # it was made twice, and is written
        try:
            data = unwritten.data()
            if data is not None:
                folder.write(key, data)
        finally:
            self._unwritten.pop(key, None)

    def _open(self) -> ProgramFolder | None:
        if not self._known:
            self._folder = program_folder()
            self._known = True
        return self._folder


@final
class _Unwritten:
    """An executable that is still to be written.

    Args:
        code: its structure.
        executable: as `compile_code` has made it.
    """

    def __init__(self, code: Code, executable: Executable) -> None:
        self._code = code
        self._executable: Executable | None = executable
        self._data: bytes | None = None
        self._lock = free_in_children(RLock())

    def data(self) -> bytes | None:
        """Returns it as `to_bytes` does."""
        with self._lock:
            if self._executable is not None:
                self._data = to_bytes(self._code, self._executable)
                self._executable = None
            return self._data
