"""The verdict on one row of the checklist."""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import dataclass
from typing import Any, Final, final

import hybridnet
from hybridnet.ops.core.registry import REGISTRY

from .differences import reason
from .evidence import answered, is_testable, is_tested
from .rows import Row
from .signatures import Parameter, compare, of_operator, of_python, ours

_MISSING: Final = object()


@final
@dataclass(frozen=True)
class Verdict:
    """The findings about a row.

    Attributes:
        row: the row.
        present: whether the name exists.
        difference: how the signature differs, in words; empty: it is equal.
        reason: why it differs, where that is on purpose.
        tested: whether answers of MXNet are compared with; None: there is nothing to compare, or
            nobody can know here.
    """

    row: Row
    present: bool
    difference: str = ""
    reason: str = ""
    tested: bool | None = None

    @property
    def equal(self) -> bool:
        """Whether the signature is MXNet's, or differs for a listed reason."""
        return self.present and (not self.difference or bool(self.reason))

    @property
    def complete(self) -> bool:
        """Whether it is present, and tested where that can be."""
        return self.present and self.tested is not False


def find(name: str) -> Any:
    """Returns the object of a name in hybridnet, or a mark that it is missing."""
    value: Any = hybridnet
    path = value.__name__
    for part in name.split("."):
        path = f"{path}.{part}"
        try:
            value = getattr(value, part)
        except AttributeError:
            if inspect.isclass(value) and is_attribute(value, part):
                return None
            try:
                value = importlib.import_module(path)
            except ImportError:
                return _MISSING
    return value


def is_attribute(kind: type, name: str) -> bool:
    """Whether instances of a class get this attribute: declared, or set by ``__init__``."""
    return any(
        name in getattr(base, "__annotations__", {})
        or name in getattr(getattr(vars(base).get("__init__"), "__code__", None), "co_names", ())
        for base in kind.__mro__
    )


def judge(row: Row) -> Verdict:
    """Looks a row up and compares it with what is found."""
    value = find(row.name)
    present = value is not _MISSING
    tested = is_tested(row) if is_testable(row) and answered() is not None else None
    difference = _difference(row, value) if present else ""
    why = reason(row.name) if difference else ""
    return Verdict(row, present, difference, why, tested and present if tested else tested)


def _difference(row: Row, value: Any) -> str:
    if row.kind == "property":
        return ""
    if row.kind == "constant":
        found = re.match(r"(?:float|int|str|bool) = (.*)", row.signature)
        return "" if not found or repr(value) == found[1] else f"{value!r}, must be {found[1]}"
    if not callable(value):
        return f"is no {row.kind}"
    if row.signature.startswith("alias of ") or row.forwards or row.raises:
        return ""
    if "*args" in row.parameters or re.search(r"\.__\w+__$", row.name):
        return ""  # takes anything; or is called by Python itself, by position
    if row.kind == "op":
        return _of_operator(row, value)
    theirs = of_python(row.parameters)
    own = ours(value, method=row.kind == "method")
    if theirs is None or own is None:
        return ""
    return compare(theirs, own)


def _of_operator(row: Row, value: Any) -> str:
    count = re.search(r"variadic count=(\w+)", row.signature)
    inputs, parameters = of_operator(row.parameters, count[1] if count else "")
    own = ours(value, method=False)
    if own is None:
        return ""
    operator = REGISTRY.get(row.operator)
    if "NDArray-or-Symbol[]" in row.parameters:  # any number of arrays, by position
        own = [param for param in own if operator is None or param.name not in operator.inputs]
        inputs = []
    names = {param.name for param in inputs}
    # Whether an array may be left out, MXNet's own table does not say.
    arrays = [Parameter(param.name) if param.name in names else param for param in own]
    return compare([*inputs, *parameters], arrays)
