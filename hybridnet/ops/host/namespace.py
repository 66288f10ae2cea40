"""The array functions that lowerings are written with: JAX's, or NumPy's of the same meaning.

A lowering says what an operator computes. While a program is built, ``jnp``, ``lax`` and ``jax`` of
this module are JAX's own modules, imported at their first use. Inside `on_host`, in the thread that
is there, they are NumPy's functions (`hybridnet.ops.host.functions`), so the same lowering runs on
NumPy arrays: at once, with nothing traced or compiled. That is the operator's host form.
"""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np

from hybridnet.base import lazy
from hybridnet.base.array_types import NumpyArray

from .table import FUNCTIONS

__all__ = [
    "NoHostForm",
    "added_at",
    "at",
    "by_jax",
    "by_numpy",
    "changeable",
    "elementwise",
    "has_host_form",
    "jax",
    "jnp",
    "lax",
    "on_host",
    "on_host_in",
    "plus",
    "times",
]

_Result = TypeVar("_Result")
_Function = TypeVar("_Function", bound=Callable[..., Any])
Functions = Mapping[str, Callable[..., Any]]


class NoHostForm(Exception):
    """A lowering asks for what cannot be had on NumPy arrays."""


class _Mode(threading.local):
    """The state of this thread's lowerings: whose functions they call, and spare memory."""

    #: Functions of NumPy arrays by their names in JAX; None: JAX's own.
    functions: Functions | None = None
    #: An array that nobody needs after what runs now, and whose memory nobody else has.
    spare: NumpyArray | None = None


_mode: Final = _Mode()
# Modules within modules, and what is no function; all of it means the same to NumPy.
_INNER: Final = frozenset(
    {"dtypes", "fft", "lax.linalg", "linalg", "nn", "ops", "random", "scipy", "scipy.special"}
)
# fmt: off
_CONSTANTS: Final = frozenset({
    "bool_", "e", "float16", "float32", "float64", "floating", "inexact", "inf", "int16", "int32",
    "int64", "int8", "integer", "nan", "newaxis", "pi", "uint16", "uint32", "uint64", "uint8",
})
# fmt: on
# Functions that JAX knows by identity where they are arguments (`lax.reduce_window`).
_ARGUMENTS: Final = frozenset({"lax.add", "lax.max"})


class _Namespace:
    """One of JAX's modules, or what stands for it on the host.

    Args:
        module: returns JAX's.
        prefix: what the names of its functions begin with in `Functions`.
    """

    def __init__(self, module: Callable[[], Any], prefix: str = "") -> None:
        self._module = module
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        path = self._prefix + name
        made: Any
        if path in _INNER:
            made = _Namespace(lambda: getattr(self._module(), name), f"{path}.")
        elif name in _CONSTANTS:
            made = getattr(np, name)
        elif name[0].isupper():  # a class, or an enumeration's
            return getattr(self._module(), name)
        elif path in _ARGUMENTS:
            functions = _mode.functions
            return getattr(self._module(), name) if functions is None else functions[path]
        else:
            made = _chosen(self._module, name, path)
        self.__dict__[name] = made  # so that it is an ordinary attribute from now on
        return made


def _chosen(module: Callable[[], Any], name: str, path: str) -> Callable[..., Any]:
    """Returns a function that is JAX's, or inside `on_host` that of NumPy arrays."""

    def function(*args: Any, **kwargs: Any) -> Any:
        functions = _mode.functions
        if functions is None:
            return getattr(module(), name)(*args, **kwargs)
        found = functions.get(path)
        if found is None:
            raise NoHostForm(path)
        return found(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    return function


def at(array: Any) -> Any:
    """Returns what makes copies of an array with some elements changed, as ``array.at`` of JAX."""
    functions = _mode.functions
    return array.at if functions is None else functions["at"](array)


def has_host_form(path: str) -> Callable[[_Function], _Function]:
    """Decorator of a function that NumPy arrays have another form of: fewer passes over them.

    XLA joins what is written in small steps, and differentiates it; NumPy takes each for itself.

    Args:
        path: the name of that form among the functions of NumPy arrays.
    """

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def chosen(*args: Any, **kwargs: Any) -> Any:
            functions = _mode.functions
            return (function if functions is None else functions[path])(*args, **kwargs)

        return cast("_Function", chosen)

    return decorate


@has_host_form("plus")
def plus(x: Any, y: Any) -> Any:
    """``x + y``, of the shape of x, which nobody needs any more: NumPy's memory of it is reused."""
    return x + y


@has_host_form("times")
def times(x: Any, y: Any) -> Any:
    """``x * y``, likewise."""
    return x * y


@has_host_form("added_at")
def added_at(whole: Any, part: Any, starts: Sequence[Any]) -> Any:
    """An array with a part added to it; nobody needs the array any more, as with `plus`.

    Args:
        whole: the array.
        part: what is added, of as many dimensions.
        starts: where it begins along each axis.
    """
    if whole.shape == part.shape:
        return whole + part
    starts = [jnp.asarray(start, np.int32) for start in starts]  # of one dtype, as XLA wants it
    held = lax.dynamic_slice(whole, starts, part.shape)
    return lax.dynamic_update_slice(whole, held + part, starts)


def elementwise(function: _Function) -> _Function:
    """Decorator of a function that computes each element by itself, of arrays of one shape.

    Or of arrays of one length, along which it computes each part by itself. NumPy takes these in
    blocks that fit into the processor's cache, all steps after each other.
    """

    @functools.wraps(function)
    def chosen(*args: Any, **kwargs: Any) -> Any:
        functions = _mode.functions
        if functions is None:
            return function(*args, **kwargs)
        return functions["in_blocks"](function, *args, **kwargs)

    return cast("_Function", chosen)


def on_host(functions: Functions | None, compute: Callable[..., _Result], *args: Any) -> _Result:
    """Computes something with functions of NumPy arrays in the place of JAX's.

    Args:
        functions: by name; None: JAX's own, as outside.
        compute: what is to be computed, of `args`.

    Raises:
        NoHostForm: one is needed that is not there.
    """
    before = _mode.functions
    try:
        _mode.functions = functions
        return compute(*args)
    finally:
        _mode.functions = before


class _Quiet(threading.local):
    """The ways into this thread's contexts in which NumPy gives no warnings, as XLA gives none.

    To switch them off each time, with `numpy.errstate`, takes twice as long as a small operator.
    """

    def __init__(self) -> None:
        self.free: list[Callable[..., Any]] = []


_quiet: Final = _Quiet()


def _quietly(compute: Callable[..., _Result], *args: Any) -> _Result:
    with np.errstate(all="ignore"):
        return compute(*args)


def _quiet_context() -> Callable[..., Any]:
    """Returns what calls a function in a new context."""
    context, before = contextvars.Context(), np.geterr()
    context.run(np.seterr, all="ignore")
    if np.geterr() == before:
        return context.run
    np.seterr(**before)  # NumPy before 2.0 has one setting for all contexts of a thread
    return _quietly


def by_numpy(compute: Callable[..., _Result], *args: Any) -> _Result:
    """Computes something with functions of NumPy arrays in the place of JAX's, without warnings.

    Raises:
        NoHostForm: one is needed that is not there.
    """
    free = _quiet.free
    run = free.pop() if free else _quiet_context()  # none: a handler of signals computes, too
    before = _mode.functions
    try:
        _mode.functions = FUNCTIONS
        made: _Result = run(compute, *args)
        return made
    finally:
        _mode.functions = before
        free.append(run)


def on_host_in(
    spare: NumpyArray,
    functions: Functions,
    compute: Callable[..., _Result],
    *args: Any,
) -> _Result:
    """As `on_host`, of something that gives an array with a part of it changed; see `changeable`.

    Args:
        spare: that array, which has its own memory. Nobody needs it any more.
        functions, compute, args: as for `on_host`.
    """
    try:
        _mode.spare = spare
        return on_host(functions, compute, *args)
    finally:
        _mode.spare = None


def changeable(array: NumpyArray) -> NumpyArray:
    """Returns an array to be changed: a copy, but of the spare one it is that, or a part of it."""
    spare = _mode.spare
    if spare is not None and (array is spare or array.base is spare):
        return array
    return array.copy()


def by_jax(compute: Callable[..., _Result], *args: Any) -> _Result:
    """Computes something with JAX's functions, even inside `on_host`.

    A finalizer may run there, and compile.
    """
    return compute(*args) if _mode.functions is None else on_host(None, compute, *args)


if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    from jax import lax
else:
    jax = _Namespace(lambda: lazy.jax)
    jnp = _Namespace(lambda: lazy.jnp)
    lax = _Namespace(lambda: lazy.lax, "lax.")
