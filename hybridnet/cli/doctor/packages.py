"""The packages that a project imports: which are here, and which need MXNet itself."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from .findings import Findings, Group, Spot
from .names import OURS
from .project import Project
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
        text = "written for MXNet: `hybridnet run` gives it hybridnet; examine its folder, too"
        findings.add(Group.NOTE, text, place, top)
    if top in sys.stdlib_module_names or _is_here(top):
        return
    if top in _OF_PYTHON_2:
        findings.add(Group.STOPS, "of Python 2: `2to3` renames it", place, top)
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
