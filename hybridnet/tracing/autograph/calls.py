"""Calls in converted code: the user's functions are converted too, libraries are left alone."""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import types
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from hybridnet.base.interrupts import is_from_signal
from hybridnet.ndarray import NDArray
from hybridnet.ndarray import control_flow as nd_control_flow
from hybridnet.runtime.recording import recorder

from ..code_names import inner_codes
from ..environment import paths_of
from . import builtins as overloads
from .appended import stacked
from .compiled import has_source
from .conversion import convert
from .converters import in_force
from .library import user_function
from .number import Number, in_array

#: Where converted code finds its operators, by the names that the conversion gives them. `convert`
#: puts them here: one of them is a call that converts what it calls, and needs them all.
OPERATORS: Final = types.SimpleNamespace()
_UNCONVERTED: Final = (
    "hn.function: {name} ({file}:{line}) is traced as it is, without conversion of its control "
    "flow, because {why}. Its `if`s and loops run in Python while tracing, so that their "
    "conditions cannot be arrays; {how}"
)
#: Functions of libraries that call functions they are given.
_CALLERS: Final = frozenset(
    map(
        id,
        (
            *(map, filter, functools.reduce),
            *(nd_control_flow.foreach, nd_control_flow.while_loop, nd_control_flow.cond),
        ),
    )
)
#: Methods of arrays that give numbers.
_READS: Final = frozenset({"asscalar", "item"})
_JUMPS: Final = frozenset({*dis.hasjrel, *dis.hasjabs})
_known: Final[WeakKeyDictionary[types.CodeType, bool]] = WeakKeyDictionary()
_warned: Final[WeakKeyDictionary[types.CodeType, bool]] = WeakKeyDictionary()


def _jumps(code: types.CodeType) -> bool:
    """Whether a code, or what is defined in it, has anything to convert."""
    found = _known.get(code)
    if found is None:
        found = any(step.opcode in _JUMPS for step in dis.get_instructions(code))
        found = found or any(map(_jumps, inner_codes(code)))
        _known[code] = found
    return found


def _needs_conversion(function: types.FunctionType, args: Sequence[object]) -> bool:
    """Whether a function has control flow, or may call a reader of arrays, or the user's code."""
    if _jumps(function.__code__):
        return True
    steps = dis.get_instructions(function.__code__)
    calls = any(step.opname.startswith(("CALL", "PRECALL")) for step in steps)
    return calls and _may_call_user(function, args)


def _may_call_user(function: types.FunctionType, args: Sequence[object]) -> bool:
    """Whether a name in a function leads to something that is called otherwise when converted."""
    code = function.__code__
    names = dict(zip(code.co_varnames, args, strict=False))
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            continue
    for is_global, name, path in paths_of(code):
        if any(step in _READS for step in path):
            return True
        if is_global and name not in function.__globals__:
            if id(getattr(builtins, name, None)) in overloads.READERS:
                return True
            continue
        value = function.__globals__.get(name) if is_global else names.get(name)
        for step in (None, *path):
            if isinstance(step, str):
                own = getattr(value, "__dict__", {})
                value = getattr(type(value), step, None) or own.get(step)
            elif step is not None:
                break
            if user_function(value) is not None:
                return True
            if isinstance(value, (list, tuple, dict)):
                inside = value.values() if isinstance(value, dict) else value
                if any(user_function(item) is not None for item in inside):
                    return True
    return False


def _converted_function(
    function: types.FunctionType, args: Sequence[object], kwargs: Mapping[str, object]
) -> types.FunctionType:
    """Returns a user's function with its control flow converted; itself where that cannot be."""
    asked = in_force()
    try:
        if asked is None:
            return convert(function, args, kwargs, OPERATORS)
        made: types.FunctionType = asked(function)  # or something like one: see `Asked`
        return made
    except Exception as error:
        if is_from_signal(error) or not (asked is None or isinstance(error, NotImplementedError)):
            raise
        if _jumps(function.__code__):
            _warn(function, error, has_source(function))
        return function


def _warn(function: types.FunctionType, error: Exception, has_source: bool) -> None:
    code = function.__code__
    if code in _warned:
        return
    _warned[code] = True
    why, how = (
        "its source is not there (code typed in or run by exec)",
        ("write it in a file, or in a notebook, or use nd.contrib.cond, foreach and while_loop"),
    )
    if has_source:
        why = str(error).split("\n")[0] or type(error).__name__
        how = "write it otherwise, or say hn.function(autograph=False) if that is what is meant"
    warnings.warn_explicit(
        _UNCONVERTED.format(
            name=function.__qualname__,
            file=code.co_filename,
            line=code.co_firstlineno,
            why=why,
            how=how,
        ),
        UserWarning,
        code.co_filename,
        code.co_firstlineno,
    )


def _call_converted(
    function: types.FunctionType, args: Sequence[object], kwargs: Mapping[str, object]
) -> Any:
    """Calls a function of the user's, converted if need be."""
    plain = hasattr(function, "is_converted") or inspect.isgeneratorfunction(function)
    if not plain and _needs_conversion(function, args):
        function = _converted_function(function, args, kwargs)
    return function(*args, **kwargs)


def converted_call(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, scope: object = None
) -> Any:
    """Calls something from converted code, in a scope that is not needed here."""
    kwargs = kwargs or {}
    if recorder.current_trace() is None:
        return f(*args, **kwargs)
    overload = overloads.OVERLOADS.get(id(f))
    if overload is not None:
        return overload(*args, **kwargs)
    while isinstance(f, functools.partial):
        f, args, kwargs = f.func, (*f.args, *args), {**f.keywords, **kwargs}
    owner = getattr(f, "__self__", None)
    if isinstance(owner, NDArray):
        if getattr(f, "__name__", "") in _READS and not args:
            return overloads.as_number(owner)
        return f(*args, **kwargs)
    if id(f) in _CALLERS:
        return f(*map(_callable, args), **{key: _callable(value) for key, value in kwargs.items()})
    function = user_function(f)
    if function is None:
        if getattr(f, "__name__", "") == "stack":
            found = stacked(args, kwargs)
            if found is not None:
                return found
        return f(*_plain(f, args), **kwargs)
    if isinstance(f, type):
        return _constructed(f, function, args, kwargs)
    if isinstance(f, types.MethodType):
        args = (f.__self__, *args)
    elif not isinstance(f, types.FunctionType):
        args = (f, *args)
    return _call_converted(function, args, kwargs)


def _constructed(kind: type, init: Any, args: Any, kwargs: Any) -> Any:
    """Makes an object whose constructor is the user's."""
    new: Any = kind.__new__
    if type(kind) is not type or new is not object.__new__:
        return kind(*args, **kwargs)
    made: Any = new(kind)
    _call_converted(init, (made, *args), kwargs)
    return made


def _callable(value: Any) -> Any:
    """Returns a function of the user's that a library will call, so that it is converted."""
    if user_function(value) is None or isinstance(value, type):
        return value

    @functools.wraps(value, updated=())
    def call(*args: object, **kwargs: object) -> Any:
        return converted_call(value, args, kwargs)

    return call


def _plain(f: object, args: tuple[object, ...]) -> tuple[Any, ...]:
    """Gives operators on arrays their numbers in the dtype of the arrays.

    They take Python numbers so; of arrays they require one dtype.
    """
    if not any(isinstance(arg, Number) for arg in args):
        return args
    if getattr(f, "__name__", "") not in _ON_PAIRS:
        return args
    first = next((x for x in args if isinstance(x, NDArray) and not isinstance(x, Number)), None)
    if first is None:
        return args
    return tuple(in_array(arg, first) if isinstance(arg, Number) else arg for arg in args)


_ON_PAIRS: Final = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "broadcast_", "elemwise_")
    for name in (
        *("add", "sub", "subtract", "mul", "multiply", "div", "divide", "mod", "modulo"),
        *("power", "maximum", "minimum", "equal", "not_equal", "greater", "greater_equal"),
        *("lesser", "lesser_equal", "hypot", "arctan2", "logical_and", "logical_or", "where"),
    )
)
