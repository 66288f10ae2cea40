"""Reading and comparing signatures: MXNet's as the checklist writes them, and ours."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from hybridnet.base.attrs import REQUIRED

# "<numpy.float32>", "<zeros>": defaults that are no expressions.
_ANGLE: Final = re.compile(r"<([^<>]*)>")
_OP_PARAMETER: Final = re.compile(
    r"(?P<name>\w+): (?P<kind>\{[^}]*\}|[^;{]*?)"
    r"(?P<rest>, (?:required|optional, default=(?P<default>'[^']*'|\[[^\]]*\]|[^;]*)))?(?:; |$)"
)
# Equality of defaults that MXNet keeps as float32: 0.899999976 is 0.9.
_CLOSE: Final = 1e-6


@final
@dataclass(frozen=True)
class Parameter:
    """A parameter: its name and its default (`REQUIRED` when it has none)."""

    name: str
    default: Any = REQUIRED

    def __str__(self) -> str:
        return self.name if self.default is REQUIRED else f"{self.name}={self.default!r}"


def of_operator(text: str, count: str = "") -> tuple[list[Parameter], list[Parameter]]:
    """Reads an op row: "(data: NDArray-or-Symbol; axis: int, optional, default='1')".

    Args:
        text: the row's signature.
        count: the parameter that MXNet fills in itself, which is left out.

    Returns:
        The arrays it takes, and its parameters.
    """
    inputs, parameters = [], []
    for found in _OP_PARAMETER.finditer(text.strip().removeprefix("(").removesuffix(")")):
        name, kind = found["name"], found["kind"]
        if kind.startswith(("NDArray", "Symbol")):
            inputs.append(Parameter(name))
        elif name != count:
            default = found["default"]
            parameters.append(
                Parameter(name, REQUIRED if default is None else _typed(kind, default))
            )
    return inputs, parameters


def _typed(kind: str, text: str) -> Any:
    """Reads a default of an op row as a value of its type."""
    text = text.strip("'") if len(text) > 1 else text
    if text == "None":
        return None
    if kind.startswith("boolean"):
        return text not in ("0", "False")
    if kind.startswith("{") or kind == "string":
        return text
    if text.startswith("["):
        return tuple(ast.literal_eval(text))
    return ast.literal_eval(text)


def of_python(text: str) -> list[Parameter] | None:
    """Reads a row in Python's spelling: "(start, stop=None, dtype=<numpy.float32>, **kwargs)".

    ``*args`` and ``**kwargs`` are left out. None: the row says no signature.
    """
    found = re.match(r"\(.*\)", text)
    if not found or text.startswith("(numpy builtin"):
        return None
    inside = _closed(found[0])
    source = f"def function{_ANGLE.sub(_quoted, inside)}: pass"
    try:
        (function,) = ast.parse(source).body
    except SyntaxError:
        return None
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    names = [*arguments.posonlyargs, *arguments.args]
    required = [None] * (len(names) - len(arguments.defaults))
    defaults = [*required, *arguments.defaults, *arguments.kw_defaults]
    names += arguments.kwonlyargs
    return [
        Parameter(name.arg, REQUIRED if default is None else _value(default))
        for name, default in zip(names, defaults, strict=True)
    ]


def _closed(text: str) -> str:
    """Returns the text up to the bracket that closes the first one."""
    depth = 0
    for index, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return text[: index + 1]
    return text


def _quoted(found: re.Match[str]) -> str:
    return repr(found[1].removeprefix("class ").strip("'"))


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)


def ours(value: Any, method: bool) -> list[Parameter] | None:
    """Returns the parameters of a callable of ours; None where it takes anything.

    Args:
        method: whether it is found on a class, so that its first argument is ``self``.
    """
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return []
    arguments = list(signature.parameters.values())
    if method and arguments and arguments[0].name == "self":
        arguments = arguments[1:]
    rest = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = [Parameter(x.name, x.default) for x in arguments if x.kind not in rest]
    return None if arguments and not named else named


def compare(theirs: Sequence[Parameter], own: Sequence[Parameter]) -> str:
    """Says in words how our parameters differ from MXNet's; empty: every call of MXNet's holds.

    So ours may have more, if those have defaults, and defaults where MXNet requires a value.
    """
    by_name = {param.name: param for param in own}
    names = [param.name for param in theirs]
    missing = [name for name in names if name not in by_name]
    if missing:
        return f"has no {', '.join(missing)}"
    order = [name for name in by_name if name in names]
    if order != names:
        return f"order is {', '.join(order)}, must be {', '.join(names)}"
    for param in theirs:
        if not _same(param.default, by_name[param.name].default):
            return f"{by_name[param.name]}, must be {param}"
    more = [param.name for param in own if param.name not in names and param.default is REQUIRED]
    return f"also requires {', '.join(more)}" if more else ""


def _same(theirs: Any, own: Any) -> bool:
    if theirs is REQUIRED:
        return True
    if own is REQUIRED:
        return False
    if isinstance(theirs, str) and theirs.endswith(" object"):
        return True  # the row says only what kind of object it is
    theirs, own = _plain(theirs), _plain(own)
    if theirs == own:
        return True
    if isinstance(theirs, (int, float)) and isinstance(own, (int, float)):
        return abs(theirs - own) <= _CLOSE * max(abs(theirs), abs(own))
    if isinstance(theirs, tuple) and isinstance(own, tuple) and len(theirs) == len(own):
        return all(_same(*pair) for pair in zip(theirs, own, strict=True))
    return False


def _plain(value: Any) -> Any:
    """Returns a default in the form that is compared: types by name, objects as text."""
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, str):
        return None if value == "_Null" else value.removeprefix("numpy.")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(value) or None  # an empty shape is how operators say that there is none
    if isinstance(value, Mapping):
        return dict(value) or None
    return getattr(value, "__name__", str(value))
