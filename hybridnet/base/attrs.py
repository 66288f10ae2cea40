"""Operator parameters: typed, with ranges and defaults, read from Python values or MXNet's strings.

The parameters of an operator are the keyword-only arguments of its lowering, and their annotations
are these types::

    def pooling(data, *, kernel: Shape = (), pool_type: Literal["max", "avg"] = "max",
                p_value: Annotated[int, Range(1)] = 2): ...

Saved symbols and scripts give parameters as text (``kernel="(2, 2)"``), so every type reads both.
"""

from __future__ import annotations

import ast
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias, Union

import numpy as np

from .context import Context
from .dtype import as_dtype, name_of
from .errors import DTypeError, ParameterError
from .signatures import signature_of

__all__ = [
    "REQUIRED",
    "Axis",
    "Count",
    "DType",
    "Floats",
    "HostScalar",
    "Index",
    "Number",
    "Param",
    "Platform",
    "RandomState",
    "Range",
    "Scalar",
    "Scalars",
    "Shape",
    "Train",
    "annotation_of",
    "declaration_of",
    "parse_params",
]


@dataclass(frozen=True, slots=True)
class Range:
    """The values a number may take: ``minimum <= value <= maximum``."""

    minimum: float = -np.inf
    maximum: float = np.inf

    def __str__(self) -> str:
        if self.maximum == np.inf:
            return f">= {self.minimum}"
        if self.minimum == -np.inf:
            return f"<= {self.maximum}"
        return f"from {self.minimum} to {self.maximum}"


@dataclass(frozen=True, slots=True)
class Count:
    """The number of numbers that a parameter has: the value of another one."""

    param: str


@dataclass(frozen=True, slots=True)
class _Mark:
    """A meaning that an annotation carries beside its type."""

    name: str


#: A number that is an input of the compiled program, so that changing it recompiles nothing.
Scalar = Annotated[float, _Mark("scalar")]
#: Several of them; a `Count` beside it says which parameter holds how many.
Scalars = Annotated[tuple[float, ...], _Mark("scalar"), _Mark("scalars")]
#: A `Scalar` that is a whole number (a position), given to the lowering as int64.
Index = Annotated[int, _Mark("scalar"), _Mark("index")]
#: Filled in by whoever calls the operator: True inside a training pass.
Train = Annotated[bool, _Mark("train")]
#: Filled in when the operator is lowered: 'cpu', 'gpu' or 'tpu'; 'host' for NumPy arrays.
Platform = Annotated[str, _Mark("platform")]
#: An input that is the state of the context's random generator; the new state is the last output.
RandomState = Annotated[Any, _Mark("random_state")]
#: A tuple of whole numbers; a single one stands for itself.
Shape = tuple[int, ...]
#: One axis, several, or all (None).
Axis = Annotated[Any, _Mark("axis")]
#: A tuple of numbers.
Floats = tuple[float, ...]
#: An element type, by name.
DType = Annotated[Any, _Mark("dtype")]

REQUIRED: Final[Any] = inspect.Parameter.empty


class HostScalar:
    """A number that a traced function asks Python for at each call (a scheduled learning rate).

    Stands in a trace where an eager program has the number itself.

    Args:
        source: what is run once per call of the traced function; returns a sequence of floats.
        index: which of them this is.
    """

    __slots__ = ("index", "source")

    def __init__(self, source: Callable[[], Sequence[float]], index: int) -> None:
        self.source = source
        self.index = index


#: A number that a call takes beside its inputs; in a trace, one that Python is asked for.
Number: TypeAlias = "float | HostScalar"


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of an operator."""

    name: str
    #: What it must be, in words, for messages and documentation.
    kind: str
    #: Turns a Python value or a string into the canonical value, or raises ValueError/TypeError.
    read: Callable[[Any], Any]
    #: The canonical default, or REQUIRED.
    default: Any
    #: True for a `Scalar`: a program's input, not part of its structure.
    dynamic: bool
    #: True for an `Index`: a dynamic parameter that is a whole number.
    index: bool = False
    #: For `Scalars`, the parameter that says how many numbers there are.
    count: str = ""

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED


def _read_int(value: object) -> int:
    if isinstance(value, str):
        value = value.strip()
        # MXNet writes a long as '3L' under Python 2.
        return int(value[:-1] if value[-1:] in "lL" and value[:-1] else value)
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        if value != int(value):
            raise ValueError(value)
        return int(value)
    if hasattr(value, "__index__"):
        return int(value.__index__())
    raise TypeError(value)


def _read_float(value: Any) -> float:
    if isinstance(value, (str, int, float, np.number, np.bool_)):
        return float(value)
    if getattr(value, "shape", None) == ():
        return float(value)
    raise TypeError(value)


def _read_bool(value: object) -> bool:
    if isinstance(value, str):
        lowered = value.strip().lower()
        if lowered in ("true", "1"):
            return True
        if lowered in ("false", "0"):
            return False
        raise ValueError(value)
    if isinstance(value, (bool, np.bool_)) or value in (0, 1):
        return bool(value)
    raise TypeError(value)


def _read_str(value: object) -> str:
    if isinstance(value, Context):  # as MXNet's functions write it down
        return str(value)
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _literal(value: object) -> Any:
    """Reads the text of a tuple or number; MXNet also writes '[1,2]' and '(1, None)'."""
    if isinstance(value, str):
        return ast.literal_eval(value.replace("L", "").strip() or "()")
    return value


def _read_all(value: Any, read: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Reads each of several values, or a single one."""
    several = isinstance(value, (list, tuple, np.ndarray))
    return tuple(map(read, value)) if several else (read(value),)


def _read_shape(value: object) -> tuple[int, ...]:
    value = _literal(value)
    return () if value is None else _read_all(value, _read_int)


def _read_optional_shape(value: object) -> tuple[int | None, ...]:
    return _read_all(_literal(value), lambda item: None if item is None else _read_int(item))


def _read_floats(value: object) -> tuple[float, ...]:
    return _read_all(_literal(value), _read_float)


def _read_scalars(value: object) -> tuple[Any, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(item if type(item) is HostScalar else _read_float(item) for item in value)
    return _read_floats(value)


def _read_axis(value: object) -> int | tuple[int, ...] | None:
    value = _literal(value)
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return tuple(_read_int(item) for item in value)
    return _read_int(value)


def _read_dtype(value: Any) -> str:
    return name_of(value)


def _choice(choices: tuple[object, ...]) -> Callable[[object], Any]:
    by_text = {str(choice): choice for choice in choices}

    def read(value: object) -> Any:
        try:
            return by_text[str(value)]
        except KeyError:
            raise ValueError(value) from None

    return read


def _optional(read: Callable[[Any], Any]) -> Callable[[object], Any]:
    def read_optional(value: object) -> Any:
        if value is None or (isinstance(value, str) and value.strip() == "None"):
            return None
        return read(value)

    return read_optional


def _ranged(read: Callable[[Any], Any], limits: Range) -> Callable[[object], Any]:
    def read_ranged(value: object) -> Any:
        number = read(value)
        if not limits.minimum <= number <= limits.maximum:
            raise ValueError(value)
        return number

    return read_ranged


_PLAIN: Final[dict[Any, tuple[str, Callable[[Any], Any]]]] = {
    int: ("an integer", _read_int),
    float: ("a number", _read_float),
    bool: ("a boolean", _read_bool),
    str: ("a string", _read_str),
    tuple[int, ...]: ("a tuple of integers", _read_shape),
    tuple[float, ...]: ("a tuple of numbers", _read_floats),
    tuple[int | None, ...]: ("a tuple of integers or None", _read_optional_shape),
}
_MARKED: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "axis": ("an axis, a tuple of axes, or None", _read_axis),
    "dtype": ("an element type", _read_dtype),
    "scalars": ("a tuple of numbers", _read_scalars),
}


def _reader(annotation: object) -> tuple[str, Callable[[Any], Any]]:
    """Returns the words for, and the reader of, values of an annotated type."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        base, *marks = typing.get_args(annotation)
        for mark in marks:
            if isinstance(mark, Range):
                words, read = _reader(base)
                return f"{words} {mark}", _ranged(read, mark)
            if isinstance(mark, _Mark) and mark.name in _MARKED:
                return _MARKED[mark.name]
        return _reader(base)
    if origin is Literal:
        choices = typing.get_args(annotation)
        return "one of " + ", ".join(repr(choice) for choice in choices), _choice(choices)
    if origin in (Union, types.UnionType):
        (base,) = (kind for kind in typing.get_args(annotation) if kind is not type(None))
        words, read = _reader(base)
        return f"{words} or None", _optional(read)
    return _PLAIN[annotation]


class Declaration(NamedTuple):
    """The declaration of an operator's inputs and parameters, by the arguments of its lowering.

    Attributes:
        inputs: names of the positional ones.
        required: how many of them have no default.
        variadic: whether the last of them takes any number.
        params: the operator's parameters: of the keyword-only ones those that users give.
        given: names of the other ones by their marks: 'train', 'platform' and 'random_state'.
    """

    inputs: tuple[str, ...]
    required: int
    variadic: bool
    params: tuple[Param, ...]
    given: Mapping[str, str]


def declaration_of(lowering: Callable[..., object]) -> Declaration:
    """Returns what the arguments of a lowering declare."""
    inputs, required, variadic, params = [], 0, False, []
    given: dict[str, str] = {}
    for argument in signature_of(lowering).parameters.values():
        if argument.kind is argument.VAR_POSITIONAL:
            inputs, required, variadic = [argument.name], 1, True
        elif argument.kind is not argument.KEYWORD_ONLY:
            inputs.append(argument.name)
            required += argument.default is argument.empty
        else:
            name, default = argument.name, argument.default
            marks, words, read, counts = _annotated(annotation_of(argument, lowering))
            for mark in _GIVEN.intersection(marks):
                given[mark] = name
            if _GIVEN.isdisjoint(marks):
                default = default if default is REQUIRED else read(default)
                dynamic, index = "scalar" in marks, "index" in marks
                params.append(Param(name, words, read, default, dynamic, index, *counts))
    return Declaration(tuple(inputs), required, variadic, tuple(params), given)


_GIVEN: Final = frozenset({"train", "platform", "random_state"})


def annotation_of(argument: inspect.Parameter, lowering: Callable[..., object]) -> Any:
    """Returns the annotation of a lowering's argument, evaluated where it is a string.

    `typing.get_type_hints` takes ten times as long, and there are thousands as the library loads.
    """
    annotation = argument.annotation
    if not isinstance(annotation, str):
        return annotation
    names = getattr(inspect.unwrap(lowering), "__globals__", None)
    if names is None:
        return typing.get_type_hints(lowering, include_extras=True)[argument.name]
    return eval(_compiled(annotation), names)


@cache
def _compiled(annotation: str) -> types.CodeType:
    return compile(annotation, "<annotation>", "eval")


_Marks = tuple[frozenset[str], str, Callable[[Any], Any], tuple[str, ...]]


@cache
def _annotated(annotation: object) -> _Marks:
    """Returns the marks of an annotation, the words for and the reader of values, and `Count`."""
    found = getattr(annotation, "__metadata__", ())
    marks = frozenset([mark.name for mark in found if isinstance(mark, _Mark)])
    counts = tuple([mark.param for mark in found if isinstance(mark, Count)])
    words, read = _reader(annotation) if _GIVEN.isdisjoint(marks) else ("", as_dtype)
    return marks, words, read, counts


def parse_params(
    owner: str, params: Mapping[str, Param], given: Mapping[str, object]
) -> dict[str, object]:
    """Reads the parameters of one call, in declared order with defaults filled in.

    Args:
        owner: the operator's name, for messages.
        params: its parameters by name.
        given: values as Python objects or as MXNet's strings.

    Raises:
        ParameterError: one is unknown, missing, of the wrong type or out of range.
    """
    for name in given:
        if name not in params:
            known = ", ".join(params) or "none"
            raise ParameterError(f"{owner}: unknown parameter {name!r}; it takes {known}")
    values = {}
    for name, param in params.items():
        if name in given:
            value = given[name]
            try:
                values[name] = param.read(value)
            except (ValueError, TypeError, SyntaxError, OverflowError, DTypeError) as error:
                raise ParameterError(
                    f"{owner}: parameter {name} must be {param.kind}, got {value!r}"
                ) from error
        elif param.default is REQUIRED:
            raise ParameterError(f"{owner}: parameter {name} ({param.kind}) is required")
        else:
            values[name] = param.default
    return values
