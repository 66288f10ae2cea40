"""`@hn.function`: traces a Python function once for each kind of arguments, and replays it."""

from __future__ import annotations

import functools
import inspect
import threading
import types
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

from hybridnet.base.context import current_context
from hybridnet.base.errors import ParameterError
from hybridnet.graph.node import Graph
from hybridnet.ndarray import _tape

from .concrete import ConcreteFunction
from .environment import environment_key
from .structure import Arguments

__all__ = ["CacheInfo", "Function"]

# Traces kept for one function; the least recently used is dropped.
_CAPACITY: Final = 256
# One thread traces at a time: two that trace functions that call each other would wait for ever if
# each function had a lock of its own. Re-entrant, since a function may call another one.
_tracing: Final = threading.RLock()


class CacheInfo(NamedTuple):
    """How often a function was traced, and how often a trace was used again."""

    hits: int
    traces: int
    size: int


@final
class Function:
    """A function over arrays that is traced into a graph; made by `hn.function`.

    Args:
        python_function: what to trace.
        name: for messages; default the function's.

    Raises:
        ParameterError: it cannot be called, or calling it does not run it (generators).
    """

    def __init__(self, python_function: Callable[..., Any], name: str | None = None) -> None:
        if not callable(python_function):
            raise ParameterError(
                f"hn.function: needs a callable, got {type(python_function).__name__}"
            )
        if _runs_later(python_function):
            raise ParameterError(
                "hn.function: needs a function that computes its result when it is called, got a "
                "generator or coroutine; let it return a list"
            )
        functools.update_wrapper(self, python_function, updated=())
        self.python_function = python_function
        found: str = getattr(python_function, "__name__", type(python_function).__name__)
        self.name = name or found
        self._traces: OrderedDict[Any, ConcreteFunction] = OrderedDict()
        # Traces that hold on to an object that is gone, and can never be used again.
        self._dead: deque[weakref.ref[ConcreteFunction]] = deque()
        self._lock = threading.Lock()
        self._hits = 0
        self._count = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function: traces it if these arguments are of a new kind."""
        arguments = Arguments(args, kwargs)
        return self.find(arguments, args, kwargs)(arguments)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method, binds ``self`` like any function."""
        return self if instance is None else types.MethodType(self, instance)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Returns the trace for arguments of this kind, made if need be, without running it."""
        return self.find(Arguments(args, kwargs), args, kwargs)

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """Returns the graph for arguments of this kind."""
        return self.get_concrete_function(*args, **kwargs).graph

    def cache_info(self) -> CacheInfo:
        """Returns how often the function was traced, and how often a trace was used again."""
        return CacheInfo(self._hits, self._count, len(self._traces))

    def find(
        self, arguments: Arguments, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> ConcreteFunction:
        """Returns the trace for arguments that are flattened already (inside hybridnet)."""
        identities = arguments.identities
        state = _tape.state
        key = (
            arguments.key,
            environment_key(self.python_function, args, kwargs, identities),
            state.recording,
            state.training,
            current_context(),
        )
        found = self._look_up(key)
        if found is not None:
            return found
        with _tracing:
            found = self._look_up(key)  # another thread may have made it meanwhile
            if found is not None:
                return found
            made = ConcreteFunction(self.python_function, arguments, self.name)
            gone = functools.partial(_forget, weakref.ref(self), weakref.ref(made))
            for one in identities:
                one.let_go(gone)
            with self._lock:
                self._count += 1
                self._traces.pop(key, None)
                self._traces[key] = made
                while len(self._traces) > _CAPACITY:
                    self._traces.popitem(last=False)
            return made

    def _look_up(self, key: Any) -> ConcreteFunction | None:
        with self._lock:
            self._bury()
            found = self._traces.get(key)
            if found is None or not found.fits():
                return None
            self._traces.move_to_end(key)
            self._hits += 1
            return found

    def _bury(self) -> None:
        """Drops the traces that can never be used again; the lock is held."""
        while self._dead:
            one = self._dead.popleft()()
            for key in [key for key, trace in self._traces.items() if trace is one]:
                del self._traces[key]

    def __reduce__(self) -> Any:
        # Copies and pickles begin without traces. A plain function goes by its name, as in Python.
        if isinstance(self.python_function, types.FunctionType):
            return self.__qualname__  # type: ignore[attr-defined]  # by functools.update_wrapper
        return Function, (self.python_function, self.name)

    def __repr__(self) -> str:
        return f"<hn.function {self.name}>"


def _forget(function: weakref.ref[Function], trace: weakref.ref[ConcreteFunction], _: Any) -> None:
    """Has a function drop a trace, an object in whose key is gone."""
    owner = function()
    if owner is None:
        return
    owner._dead.append(trace)
    # Objects go at any moment, also while this thread holds the lock; the next call drops it then.
    if owner._lock.acquire(blocking=False):
        try:
            owner._bury()
        finally:
            owner._lock.release()


def _runs_later(function: Any) -> bool:
    kinds = (
        inspect.isgeneratorfunction,
        inspect.iscoroutinefunction,
        inspect.isasyncgenfunction,
    )
    return any(is_kind(function) for is_kind in kinds)
