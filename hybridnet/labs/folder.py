"""A student's folder: what `hybridnet lab start` writes, and how the part in it is loaded."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from hybridnet.base.errors import FormatError, MXNetError

from .lab import Lab
from .words import LANGUAGES, Words

#: The student's file.
PART: Final = "part.py"
_ABOUT: Final = "lab.toml"
#: The name under which the part is loaded; a module of the student's cannot have it by chance.
_MODULE: Final = "hybridnet_lab_part"


@dataclass(frozen=True)
class Folder:
    """A student's folder.

    Attributes:
        path: of it.
        lab: which lab it is of.
        words: what is said there.
    """

    path: Path
    lab: Lab
    words: Words

    @property
    def part(self) -> Path:
        """The student's file."""
        return self.path / PART

    @property
    def pictures(self) -> Path:
        """The folder of what `run` and `start` draw."""
        return self.path / "pictures"


def start(lab: Lab, path: Path, language: str) -> Folder:
    """Makes a folder with the task, the stub and a test file.

    Raises:
        MXNetError: it is there and not empty.
        OSError: it cannot be written.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise MXNetError(f"{path}: needs a folder that is empty or not there yet")
    made = Folder(path, lab, lab.words(language))
    made.pictures.mkdir(parents=True)
    files = {
        _ABOUT: f'lab = "{lab.name}"\nlanguage = "{language}"\n',
        PART: lab.text(language, "part.txt"),
        "README.md": lab.text(language, "page.md"),
        "test_part.py": made.words("files.test"),
    }
    for name, text in files.items():
        (path / name).write_text(text.rstrip() + "\n", encoding="utf-8")
    return made


def opened(path: Path) -> Folder:
    """Returns a folder that `start` has made.

    Raises:
        MXNetError: it is none.
        FormatError: its `lab.toml` is damaged.
    """
    about = path / _ABOUT
    if not about.is_file():
        raise MXNetError(
            f"{path}: is no folder of a lab (it has no {_ABOUT}); hybridnet lab start makes one"
        )
    try:
        table = tomllib.loads(about.read_text(encoding="utf-8"))
        lab, language = Lab.find(str(table["lab"])), table["language"]
    except (KeyError, UnicodeDecodeError, tomllib.TOMLDecodeError, MXNetError) as error:
        raise FormatError(f"{about}: needs the lines lab and language: {error}") from error
    if language not in LANGUAGES:
        raise FormatError(f"{about}: language must be {' or '.join(LANGUAGES)}, got {language!r}")
    return Folder(path, lab, lab.words(language))


def load_part(file: Path) -> Any:
    """Runs the student's file; returns its module.

    Raises:
        OSError: it cannot be read.
        Exception: what it raises, or a SyntaxError.
    """
    module = ModuleType(_MODULE)
    module.__file__ = str(file)
    sys.modules[_MODULE] = module  # dataclasses look for it there
    sys.path.insert(0, str(file.resolve().parent))
    exec(compile(file.read_bytes(), str(file), "exec", dont_inherit=True), vars(module))
    return module
