"""`hn.util`: NumPy mode and its scopes, and settings of the process.

hn.npx.set_np()                 # gluon's parameters and batches are np arrays from here on

with hn.util.np_array(): ...    # the same for a while
@hn.util.use_np                 # or in a function, or in all methods of a class
class Net(gluon.HybridBlock): ...
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Literal, TypeVar

from .base.errors import ParameterError
from .base.numpy_mode import mode
from .base.unsupported import NotSupportedError
from .context import gpu_memory_info as get_gpu_memory
from .context import num_gpus as get_gpu_count

__all__ = [
    "UFUNC_OPTIONS",
    "check_ufunc_options",
    "get_gpu_count",
    "get_gpu_memory",
    "getenv",
    "is_np_array",
    "is_np_shape",
    "np_array",
    "np_shape",
    "np_ufunc_legal_option",
    "reset_np",
    "set_module",
    "set_np",
    "set_np_shape",
    "setenv",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "wrap_np_binary_func",
    "wrap_np_unary_func",
]

_Wrapped = TypeVar("_Wrapped", bound=Callable[..., Any])


class _Scope:
    """Sets a part of the mode for a while; may be entered several times."""

    def __init__(self, part: Literal["array", "shape"], active: bool) -> None:
        self._part = part
        self._active = active
        self._were: list[bool] = []

    def __enter__(self) -> _Scope:
        self._were.append(getattr(mode, self._part))
        setattr(mode, self._part, self._active)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        setattr(mode, self._part, self._were.pop())


class _NumpyShapeScope(_Scope):
    """The scope that `np_shape` returns, under MXNet's name."""

    def __init__(self, is_np_shape: bool) -> None:
        super().__init__("shape", is_np_shape)
        self._is_np_shape = is_np_shape


class _ArrayScopeType(type):
    """The class of `_NumpyArrayScope`, whose `_current` is the thread's mode, and can be set."""

    @property
    def _current(cls) -> _NumpyArrayScope:
        return _NumpyArrayScope(mode.array)

    @_current.setter
    def _current(cls, scope: _NumpyArrayScope) -> None:
        mode.array = scope._is_np_array


class _NumpyArrayScope(_Scope, metaclass=_ArrayScopeType):
    """The scope that `np_array` returns, under MXNet's name."""

    def __init__(self, is_np_array: bool) -> None:
        super().__init__("array", is_np_array)
        self._is_np_array = is_np_array


def np_shape(active: bool = True) -> _Scope:
    """Returns a scope in which shapes are read as NumPy reads them, or are not."""
    return _NumpyShapeScope(bool(active))


def np_array(active: bool = True) -> _Scope:
    """Returns a scope in which arrays are made with NumPy's semantics, or are not."""
    return _NumpyArrayScope(bool(active))


def is_np_shape() -> bool:
    """Returns whether shapes are read as NumPy reads them."""
    return mode.shape


def is_np_array() -> bool:
    """Returns whether arrays are made with NumPy's semantics."""
    return mode.array


def set_np_shape(active: bool | int) -> bool:
    """Sets whether shapes are read as NumPy reads them; returns what was set before.

    Args:
        active: True (1) for this thread, 2 for those started later too, False (0) for none.
    """
    was = mode.shape
    if active in (0, 2):
        mode.set_everywhere(bool(active))
    else:
        mode.shape = True
    return was


def set_np(shape: bool = True, array: bool = True) -> None:
    """Turns NumPy mode on, for this thread and those started later.

    Args:
        shape: read shapes as NumPy does.
        array: make arrays with NumPy's semantics.

    Raises:
        ParameterError: `array` without `shape`.
    """
    if array and not shape:
        raise ParameterError("set_np: array=True needs shape=True: np arrays have NumPy's shapes")
    mode.set_everywhere(bool(shape), bool(array))


def reset_np() -> None:
    """Turns NumPy mode off."""
    set_np(shape=False, array=False)


def _wrap(func: Any, scopes: Callable[[], list[_Scope]]) -> Any:
    """Returns a function that runs in scopes; of a class, the same for all its methods."""
    if inspect.isclass(func):
        for name in dir(func):
            method = inspect.getattr_static(func, name)
            if isinstance(method, (staticmethod, classmethod)):
                setattr(func, name, type(method)(_wrap(method.__func__, scopes)))
            elif isinstance(method, property):
                parts = (method.fget, method.fset, method.fdel)
                setattr(func, name, property(*(part and _wrap(part, scopes) for part in parts)))
            elif inspect.isfunction(method):
                setattr(func, name, _wrap(method, scopes))
        return func
    if not callable(func):
        raise TypeError(f"needs a function or a class, got {type(func).__name__}")

    @functools.wraps(func)
    def inside(*args: Any, **kwargs: Any) -> Any:
        entered = [scope.__enter__() for scope in scopes()]
        try:
            return func(*args, **kwargs)
        finally:
            for scope in reversed(entered):
                scope.__exit__(None, None, None)

    return inside


def use_np_shape(func: _Wrapped) -> _Wrapped:
    """Decorates a function, or a class's methods, to run within `np_shape`."""
    wrapped: _Wrapped = _wrap(func, lambda: [np_shape()])
    return wrapped


def use_np_array(func: _Wrapped) -> _Wrapped:
    """Decorates a function, or a class's methods, to run within `np_array`."""
    wrapped: _Wrapped = _wrap(func, lambda: [np_array()])
    return wrapped


def use_np(func: _Wrapped) -> _Wrapped:
    """Decorates a function, or a class's methods, to run in NumPy mode."""
    wrapped: _Wrapped = _wrap(func, lambda: [np_shape(), np_array()])
    return wrapped


#: The keywords of NumPy's ufuncs, and the values by which they change nothing.
UFUNC_OPTIONS: Final = {
    "where": True,
    "casting": "same_kind",
    "order": "K",
    "dtype": None,
    "subok": True,
}
_NUMBERS: Final = ("int8", "uint8", "int32", "int64", "float16", "float32", "float64")
_LEGAL: Final[dict[str, Callable[[Any], bool]]] = {
    "where": lambda value: True,
    "casting": lambda value: value in ("no", "equiv", "safe", "same_kind", "unsafe"),
    "order": lambda value: isinstance(value, str),
    "dtype": lambda value: getattr(value, "__name__", value) in _NUMBERS,
    "subok": lambda value: isinstance(value, bool),
}


def np_ufunc_legal_option(key: str, value: Any) -> bool:
    """Returns whether a value is one that a keyword of NumPy's ufuncs can have."""
    return key in _LEGAL and bool(_LEGAL[key](value))


def check_ufunc_options(function: str, options: Mapping[str, Any]) -> None:
    """Raises an error for keywords of NumPy's ufuncs that would change something.

    Args:
        function: whose they are, for messages.
        options: the keywords.

    Raises:
        NotSupportedError: NumPy knows the value, and hybridnet has nothing for it.
        TypeError: NumPy does not know it.
    """
    for key, value in options.items():
        if key in UFUNC_OPTIONS and (value is UFUNC_OPTIONS[key] or value == UFUNC_OPTIONS[key]):
            continue
        if np_ufunc_legal_option(key, value):
            raise NotSupportedError(f"{function}: {key}={value!r} is not supported; leave it out")
        raise TypeError(f"{function}: {key}={value!r} is not understood")


def _without_options(func: _Wrapped, count: int) -> _Wrapped:
    @functools.wraps(func)
    def wrapped(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if len(args) > count:
            out, args = args[count], args[:count]
        check_ufunc_options(func.__name__, kwargs)
        return func(*args, out=out)

    return wrapped  # type: ignore[return-value]


def wrap_np_unary_func(func: _Wrapped) -> _Wrapped:
    """Decorates ``func(x, out=None)`` to accept keywords of ufuncs where they change nothing."""
    return _without_options(func, 1)


def wrap_np_binary_func(func: _Wrapped) -> _Wrapped:
    """Decorates ``func(x1, x2, out=None)`` likewise."""
    return _without_options(func, 2)


def set_module(module: str | None) -> Callable[[_Wrapped], _Wrapped]:
    """Returns a decorator that sets the module which a function or class says it is from."""

    def decorate(func: _Wrapped) -> _Wrapped:
        if module is not None:
            func.__module__ = module
        return func

    return decorate


def getenv(name: str) -> str | None:
    """Returns an environment variable; None if it is not set."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Sets an environment variable, for libraries that read it later; None takes it away."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
