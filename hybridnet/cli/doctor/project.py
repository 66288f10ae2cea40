"""The files of a project: which there are, and what is in them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG
from typing import Final, final

from .findings import Spot

#: Folders that hold no code of the project; so do those that begin with a dot.
_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})
#: The file that marks a virtual environment, whatever its folder is called.
_ENVIRONMENT: Final = "pyvenv.cfg"
#: Sources that are longer are not read: no person has written them.
_MOST_BYTES: Final = 8 << 20


class Unreadable(Exception):
    """A file that cannot be read, or is not what its name says; the text says why."""


@final
class Project:
    """A folder of files, or one file.

    Args:
        root: the folder or the file.

    Attributes:
        folder: the folder from which paths are told.
        files: the regular files, in order. Links to folders are not followed.
        closed: the folders that cannot be looked into.
        modules: the names by which files of the project may import each other.
    """

    def __init__(self, root: Path) -> None:
        self.folder = root if root.is_dir() else root.parent
        self.closed: list[Path] = []
        found = _walk(root, self.closed) if root.is_dir() else filter(_is_regular, [root])
        self.files = list(found)
        code = self.files if root.is_dir() else list(_beside(root))
        self.modules = {path.stem for path in code if path.suffix in (".py", ".so", ".pyx")}
        for path in code:
            if path.suffix == ".py":
                self.modules.update(path.relative_to(self.folder).parts[:-1])

    def place(self, path: Path, line: int = 0) -> Spot:
        """Returns the place of a file, or of a line in it."""
        return Spot(path.relative_to(self.folder).as_posix(), line)

    def read(self, path: Path) -> bytes:
        """Returns what is in a text file or a source.

        Raises:
            Unreadable: it cannot be read, or is too long for one.
        """
        try:
            with path.open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
        except OSError as error:
            raise Unreadable(f"cannot be read: {error.strerror}") from error
        if len(data) > _MOST_BYTES:
            raise Unreadable(f"is longer than {_MOST_BYTES >> 20} MiB, and was left out")
        return data


def _walk(root: Path, closed: list[Path]) -> Iterator[Path]:
    for folder, folders, names in os.walk(
        root, onerror=lambda error: closed.append(Path(error.filename))
    ):
        if _ENVIRONMENT in names and Path(folder) != root:
            folders.clear()
            continue
        folders[:] = sorted(x for x in folders if x not in _SKIPPED and not x.startswith("."))
        yield from (path for name in sorted(names) if _is_regular(path := Path(folder, name)))


def _beside(file: Path) -> Iterator[Path]:
    """Yields what the code of a single file may import: its neighbours, and folders of code."""
    try:
        entries = sorted(file.parent.iterdir())
    except OSError:
        return
    for entry in entries:
        yield entry / "__init__.py" if entry.is_dir() else entry


def _is_regular(path: Path) -> bool:
    try:
        return S_ISREG(path.stat().st_mode)
    except OSError:  # such as a link to nothing, or to itself
        return False
