"""Names of Python's and NumPy's that have gone, and those that ``hybridnet run`` gives back."""

from __future__ import annotations

import builtins
import sys
import warnings
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

from hybridnet.compat.mxnet import RESTORED

from .findings import Findings, Group, Spot

#: Modules of Python's whose names are looked up, those that were in Python 2 among them. What a
#: module has on some systems only, such as os.startfile, is not missed in it.
_PYTHONS: Final = frozenset({
    "collections", "fractions", "inspect", "itertools", "math", "string", "time", "types",
})  # fmt: skip
#: Names that other modules and Python itself had, and that have gone.
_GONE: Final = frozenset({
    "builtins.basestring", "builtins.execfile", "builtins.long", "builtins.raw_input",
    "builtins.reduce", "builtins.unichr", "builtins.unicode", "builtins.xrange",
    "os.errno", "os.getcwdu", "sys.maxint", "sys.setdefaultencoding",
})  # fmt: skip
_GIVEN_BACK: Final = (
    "`hybridnet run` gives it back; for good, use what NumPy's and Python's notes say"
)


def look_at_other(path: str, place: Spot, findings: Findings) -> None:
    """Says what there is to say of a name of another package than MXNet.

    Args:
        path: such as ``numpy.product``.
        place: where it is used.
        findings: where it goes.
    """
    top, _, name = path.partition(".")
    if path in _GONE:
        if not hasattr(sys.modules.get(top, builtins), name):
            findings.add(Group.STOPS, f"{path} went with Python 2", place)
        return
    if not name or (top != "numpy" and top not in _PYTHONS):
        return
    if any(path == one or path.startswith(f"{one}.") for one in RESTORED):
        findings.add(Group.CHANGE, _GIVEN_BACK, place, path)
    elif error := _lacks(path):
        findings.add(Group.STOPS, f"{path}: {error}", place)


def _lacks(path: str) -> str:
    """Says that a module of Python's or NumPy's lacks a name; empty: it has it, or may have it.

    Only modules that are loaded are asked: a file of the project may have the name of another.
    """
    top, *rest = path.split(".")
    value: Any = sys.modules.get(top)
    seen = top
    for part in rest:
        if not isinstance(value, ModuleType):
            return ""
        seen = f"{seen}.{part}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = getattr(value, part)
        except AttributeError as error:
            return "" if _has_module(seen) else " ".join(str(error).split()).partition(". ")[0]
    return ""


def _has_module(path: str) -> bool:
    try:
        return find_spec(path) is not None
    except (ImportError, ValueError):
        return False
