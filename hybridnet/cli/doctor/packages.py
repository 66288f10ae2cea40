"""The packages that a project imports and requires: which are here, and which need MXNet itself."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from .findings import Findings, Group, Spot
from .names import OURS
from .project import Project, Unreadable
from .uses import Use

#: Packages that call MXNet's C library, and what is here instead.
_ON_THE_LIBRARY: Final = {
    "horovod.mxnet": "Trainer(kvstore='horovod'), or hn.distributed (docs/collectives.md)",
    "byteps.mxnet": "Trainer(kvstore='horovod'), or servers (docs/distribution.md)",
    "nvidia.dali.plugin.mxnet": "io.ImageRecordIter, or a gluon.data.DataLoader (docs/data.md)",
    "keras.backend.mxnet_backend": "gluon, whose layers have most of Keras' names",
    "tvm.contrib.mxnet": "hn.export, which writes StableHLO",
}
_IMPORTED: Final = (
    "`hybridnet run` makes `import mxnet` hybridnet; for good, write `import hybridnet as mx`"
)
#: Packages of Python that use MXNet by its public names.
_ON_MXNET: Final = frozenset({
    "autogluon", "d2l", "gluoncv", "gluonface", "gluonfr", "gluonnlp", "gluonts", "insightface",
    "mxboard", "mxfusion", "sockeye",
})  # fmt: skip
#: Modules that have left Python since MXNet's last release, and those that Python 2 had.
_LEFT: Final = frozenset({
    "asynchat", "asyncore", "cgi", "distutils", "imghdr", "imp", "pipes", "smtpd", "sndhdr",
    "telnetlib", "formatter", "parser",
})  # fmt: skip
_OF_PYTHON_2: Final = frozenset({
    "ConfigParser", "HTMLParser", "Queue", "SocketServer", "StringIO", "Tkinter", "__builtin__",
    "cPickle", "cStringIO", "commands", "copy_reg", "httplib", "thread", "urllib2", "urlparse",
})  # fmt: skip

_REQUIREMENTS: Final = re.compile(
    r"(.*requirements.*\.(txt|in)|setup\.(py|cfg)|environment.*\.ya?ml|pyproject\.toml|Pipfile)$"
)
#: Files that name a package without a version only where they require it.
_LISTS: Final = (".txt", ".in", ".yml", ".yaml")
_REQUIREMENT: Final = re.compile(
    r"""(?:^\s*(?:-\s*)?["']?|["']|,\s*)"""
    r"""(?P<name>mxnet(?:[-_](?:cu\d\w*|mkl|native|nightly))?|numpy|python|python_requires)"""
    r"""(?:\[[^\]]*\])?\s*(?P<pin>(?:=\s*["'](?=[\d^~<>=!]))?[=<>!~^\d][^"'#;]*)?\s*(?:["'#;,]|$)"""
)
_CLAUSE: Final = re.compile(r"(>=|>|!=|===?|=|~=|<=|<|\^|~)?\s*(\d+(?:\.\d+)*)")
#: The least versions that hybridnet takes, as pyproject.toml has them.
LEAST: Final = {"numpy": (1, 26), "python": (3, 11)}


def look_at_import(use: Use, place: Spot, project: Project, findings: Findings) -> None:
    """Says what there is to say of an import of a package, but for the names that it asks for."""
    path = use.paths[0]
    top = path.partition(".")[0]
    if top == "mxnet":
        findings.add(Group.NOTE, _IMPORTED, place)
    if top in OURS or not is_foreign(use, place, project):
        return
    for library, instead in _ON_THE_LIBRARY.items():
        if f"{path}.".startswith(f"{library}."):
            text = f"{library} calls MXNet's C library, which hybridnet has not; instead: {instead}"
            findings.add(Group.STOPS, text, place)
            return
    if top in _ON_MXNET:
        text = "is written for MXNet: `hybridnet run` gives it hybridnet; examine its folder, too"
        findings.add(Group.NOTE, text, place, top)
    if top in sys.stdlib_module_names or _is_here(top):
        return
    if top in _OF_PYTHON_2:
        findings.add(Group.STOPS, "is a module of Python 2: `2to3` renames it", place, top)
    elif top in _LEFT:
        instead = "pip install setuptools" if top == "distutils" else "copy or replace what it did"
        findings.add(Group.STOPS, f"{top} has left Python: {instead}", place)
    else:
        findings.add(Group.CHANGE, "not installed here", place, top)


def is_foreign(use: Use, place: Spot, project: Project) -> bool:
    """Whether an import is of a package, needed, and more than what installs the project."""
    top = use.paths[0].partition(".")[0]
    is_own = top in project.modules and top not in OURS
    return not (is_own or use.guarded or Path(place.file).name == "setup.py")


def _is_here(package: str) -> bool:
    try:
        return package in sys.modules or find_spec(package) is not None
    except (ImportError, ValueError):
        return True


def look_at_requirements(project: Project, findings: Findings) -> None:
    """Says what is to change in files that say what a project requires."""
    for path in project.files:
        if not _REQUIREMENTS.match(path.name):
            continue
        try:
            lines = project.read(path).decode("utf-8", "replace").splitlines()
        except Unreadable as error:
            findings.add(Group.NOTE, str(error), project.place(path), path.name)
            continue
        for number, line in enumerate(lines, 1):
            place = project.place(path, number)
            for name, pin in _requirements(line):
                if name.startswith("mxnet") and (re.search(r"\d", pin) or path.suffix in _LISTS):
                    text = "require hybridnet in its place"
                    findings.add(Group.CHANGE, text, place, f"{name}{pin}")
                elif name in LEAST and _excludes(pin, LEAST[name]):
                    least = ".".join(map(str, LEAST[name]))
                    text = f"{name}{pin} is too old: hybridnet needs {least} or newer"
                    findings.add(Group.CHANGE, text, place)


def _requirements(line: str) -> Iterator[tuple[str, str]]:
    for found in _REQUIREMENT.finditer(line.partition("#")[0]):
        name = found["name"].lower().replace("_requires", "").replace("_", "-")
        yield name, re.sub(r"""^=\s*["']|\s+""", "", found["pin"] or "")


def _excludes(pin: str, least: tuple[int, ...]) -> bool:
    """Whether a pin such as ``>=1.14,<1.20`` certainly leaves out a version and all newer ones."""
    for sign, text in _CLAUSE.findall(pin):
        version = tuple(map(int, text.split(".")))
        if sign == "<" and version <= least:
            return True
        if sign == "~=":  # 1.16.4 allows 1.16, and 1.16 allows 1
            version = version[:-1]
        elif sign in ("^", "~"):
            version = version[: 1 if sign == "^" else 2]
        elif sign not in ("=", "==", "===", "<="):
            continue
        if version < least[: len(version)]:
            return True
    return False
