"""Findings about names: whether one is here, what takes its place, how it differs.

Names are looked up in the packages themselves. Of the project's modules none is imported.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from difflib import get_close_matches
from types import ModuleType
from typing import Any, Final, final

import hybridnet
from hybridnet.base.unsupported import NotSupportedError
from hybridnet.compat_report import Row, is_attribute, read_checklist
from hybridnet.graph import HIDDEN
from hybridnet.ops.core import Operator

from .differences import Differences
from .findings import Findings, Group, Spot
from .other_names import look_at_other
from .uses import Use

#: The packages that hybridnet stands for.
OURS: Final = ("mxnet", "hybridnet")
#: How near a name must be to be suggested, from 0 to 1.
_NEAR: Final = 0.8
#: What operators take beside their parameters: attributes of nodes, and how many arrays there are.
_ANY_OPERATORS: Final = HIDDEN | {"attr", "num_args"}
_GPU: Final = (
    "GPUs are those that JAX finds, which `hybridnet info` lists; arrays on one that is not there "
    "are refused, as in MXNet"
)


class Absent(Exception):
    """A name that is not there.

    Args:
        path: of the first part that is not there.
        said: what may be meant.
    """

    def __init__(self, path: str, said: str) -> None:
        super().__init__(said)
        self.path = path


class Refused(Absent):
    """A name that hybridnet knows and does not have; it says what takes its place."""


def find(path: str) -> Any:
    """Returns what a path such as ``mxnet.nd.array`` is; of what only objects know, the object.

    Raises:
        Absent: it is not there.
    """
    parts = path.split(".")
    try:
        value: Any = importlib.import_module(parts[0])
        for number, part in enumerate(parts[1:], 2):
            here = ".".join(parts[:number])
            if inspect.isclass(value):
                if not hasattr(value, part) and not is_attribute(value, part):
                    raise Absent(here, "hybridnet's class has no such attribute")
                return None
            if not _is_namespace(value) or part.startswith("__"):
                return value
            value = _member(value, part, here)
    except ImportError as error:
        raise Refused(path, _one_line(error)) from error
    return value


def _is_namespace(value: Any) -> bool:
    """Whether a value is a module, or an object that stands for one, as `mx.np.random` does."""
    place: str = type(value).__module__
    return isinstance(value, ModuleType) or (
        place.startswith(("hybridnet.numpy.", "hybridnet.symbol.")) and not callable(value)
    )


def _member(owner: Any, name: str, path: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that will go some day
            return getattr(owner, name)
    except AttributeError as error:
        if isinstance(error, NotSupportedError):
            said = _one_line(error)
            raise Refused(path, said.partition(" of MXNet is ")[2] or said) from error
    try:
        return importlib.import_module(path)
    except ImportError as error:
        near = get_close_matches(name, dir(owner), 1, _NEAR)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise Absent(path, f"hybridnet has none{hint}") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


@final
class Names:
    """Looks at the uses of names.

    Args:
        findings: where what is found goes.
    """

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        checklist = read_checklist()
        #: Short names of modules, such as nd, and the modules.
        self._modules = {
            row.name: row.signature.rpartition(".")[2]
            for row in checklist
            if row.signature.startswith("module alias: ")
        }
        self._checklist = {self._full(row.name): row for row in checklist}
        self._differences = Differences(self._full)

    def _full(self, name: str) -> str:
        """Returns a name below `mxnet`, or a part of it, with its module's long name."""
        top, dot, rest = name.partition(".")
        return self._modules.get(top, top) + dot + rest

    def look_at(self, use: Use, place: Spot) -> None:
        """Says what there is to say of a use."""
        ours = [path.partition(".")[0] in OURS for path in use.paths]
        if all(ours):
            self._ours(use, place)
        elif len(ours) == 1 and not use.guarded and not use.maybe:
            look_at_other(use.paths[0], place, self.findings)

    def _ours(self, use: Use, place: Spot) -> None:
        said: list[str] = []
        for path in use.paths:
            try:
                value = find(path)
            except Absent as error:
                more = "" if isinstance(error, Refused) else self._nor_theirs(error.path)
                said.append(f"{_short(error.path)}: {error}{more}")
                continue
            self._present(path, value, use, place)
            return
        if use.maybe:
            return
        if use.guarded:
            self.findings.add(Group.NOTE, f"{said[0]}; the code can do without it", place)
        else:
            self.findings.add(Group.STOPS, said[0], place)

    def _row(self, path: str) -> Row | None:
        full = self._full(path.partition(".")[2])
        # Of symbols the list has only what is not as that of arrays.
        of_arrays = full.replace("symbol.", "ndarray.", 1)
        return self._checklist.get(full, self._checklist.get(of_arrays))

    def _nor_theirs(self, path: str) -> str:
        if self._row(path) is not None or not path.startswith("mxnet."):
            return ""
        return " (it is not in the list of MXNet 1.9.1's names either)"

    def _present(self, path: str, value: Any, use: Use, place: Spot) -> None:
        row = self._row(path)
        full = self._full(path.partition(".")[2])
        if path.startswith("mxnet."):
            for text in self._differences.of(full, row):
                self.findings.add(Group.DIFFERS, text, place, _short(path))
        if value is hybridnet.gpu or value is hybridnet.num_gpus:
            self.findings.add(Group.NOTE, _GPU, place, _short(path))
        refused = [name for name in use.keywords if _refuses(value, name)]
        if refused and not use.guarded and len(use.paths) == 1:
            known = row is not None and all(name in row.parameters for name in refused)
            nor = "" if known or row is None else " (nor does MXNet 1.9.1)"
            text = f"{_short(path)} takes no {' or '.join(refused)} by name{nor}"
            self.findings.add(Group.STOPS, text, place)


def _refuses(value: Any, name: str) -> bool:
    """Whether a function or class certainly takes no argument of a name."""
    if not callable(value) or name.startswith("__"):
        return False  # attributes of a symbol's node
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return False
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return False
    op = getattr(value, "operator", None)
    if isinstance(op, Operator) and (name in _ANY_OPERATORS or not op.params):
        return False  # what has no parameters passes over what it is given
    return name not in parameters


def _short(path: str) -> str:
    return path.replace("mxnet.", "mx.", 1)
