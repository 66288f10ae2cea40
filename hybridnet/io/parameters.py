"""Parameters of iterators as MXNet takes them: by name, of any type that can be read as theirs.

MXNet turns every argument into text and reads that, and does not mind what it does not know. So
1, "1" and True are all true, and a script's misspelt argument has never been noticed.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from hybridnet.base.errors import ParameterError

__all__ = ["read_parameters", "signature_of"]

Kind = TypeVar("Kind")

_TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


def read_parameters(kind: type[Kind], given: Mapping[str, object], what: str) -> Kind:
    """Returns a dataclass of parameters with the values that are given for its fields.

    Args:
        kind: the dataclass; its fields are of the types bool, int, float, str, their unions with
            None, and tuples of int or float.
        given: values by name; other names are left alone.
        what: who asks, for messages.

    Raises:
        ParameterError: a value is missing, or cannot be read.
    """
    values = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if field.name not in given:
            if field.default is dataclasses.MISSING:
                raise ParameterError(f"{what}: needs the argument {field.name}")
            continue
        value = given[field.name]
        try:
            values[field.name] = _read(str(field.type), value)
        except (TypeError, ValueError, SyntaxError) as error:
            raise ParameterError(
                f"{what}: {field.name} must be of the type {field.type}, got {value!r}"
            ) from error
    return kind(**values)


def _read(kind: str, value: Any) -> Any:
    if kind.endswith(" | None"):
        return None if value is None or value == "None" else _read(kind[:-7], value)
    if kind == "bool":
        return _TRUTH[str(value).lower()] if str(value).lower() in _TRUTH else _refuse()
    if kind == "int":
        number = float(value)
        return int(number) if number == int(number) else _refuse()
    if kind == "float":
        return float(value)
    if kind.startswith("tuple"):
        found = ast.literal_eval(value) if isinstance(value, str) else value
        items = tuple(found) if isinstance(found, Sequence) else (found,)
        return tuple(_read("int" if "int" in kind else "float", one) for one in items)
    return str(value)


def _refuse() -> Any:
    raise ValueError


def signature_of(*kinds: type) -> inspect.Signature:
    """Returns the signature of a function that takes the fields of dataclasses by name."""
    made = []
    for kind in kinds:
        for field in dataclasses.fields(kind):
            default = field.default
            made.append(
                inspect.Parameter(
                    field.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if default is dataclasses.MISSING else default,
                    annotation=field.type,
                )
            )
    made.append(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(made)
