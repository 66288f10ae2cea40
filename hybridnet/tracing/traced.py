"""`@hn.function`: traces a Python function once for each kind of arguments, and replays it."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, NamedTuple, final

from hybridnet.base.errors import ParameterError
from hybridnet.graph.node import Graph
from hybridnet.ndarray import _tape

from .concrete import ConcreteFunction
from .structure import Arguments, environment_key

__all__ = ["CacheInfo", "Function", "function"]

# Traces kept for one function; the least recently used is dropped.
_CAPACITY: Final = 256


class CacheInfo(NamedTuple):
    """How often a function was traced, and how often a trace was used again."""

    hits: int
    traces: int
    size: int


@final
class Function:
    """A function over arrays that is traced into a graph; made by `function`."""

    def __init__(self, python_function: Callable[..., Any], name: str | None = None) -> None:
        if not callable(python_function):
            raise ParameterError(
                f"hn.function: needs a callable, got {type(python_function).__name__}"
            )
        functools.update_wrapper(self, python_function)
        self.python_function = python_function
        found: str = getattr(python_function, "__name__", type(python_function).__name__)
        self.name = name or found
        self._traces: OrderedDict[Any, ConcreteFunction] = OrderedDict()
        self._lock = threading.RLock()
        self._hits = 0
        self._count = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function: traces it if these arguments are of a new kind."""
        arguments = Arguments(args, kwargs)
        return self._find(arguments)(arguments)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method, binds ``self`` like any function."""
        return self if instance is None else functools.partial(self, instance)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Returns the trace for arguments of this kind, made if need be, without running it."""
        return self._find(Arguments(args, kwargs))

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """Returns the graph for arguments of this kind."""
        return self.get_concrete_function(*args, **kwargs).call.graph

    def cache_info(self) -> CacheInfo:
        """Returns how often the function was traced, and how often a trace was used again."""
        return CacheInfo(self._hits, self._count, len(self._traces))

    def _find(self, arguments: Arguments) -> ConcreteFunction:
        key = (arguments.key, environment_key(self.python_function), _tape.state.training)
        with self._lock:
            found = self._traces.get(key)
            if found is not None:
                self._traces.move_to_end(key)
                self._hits += 1
                return found
            made = ConcreteFunction(self.python_function, arguments, self.name)
            self._count += 1
            self._traces[key] = made
            while len(self._traces) > _CAPACITY:
                self._traces.popitem(last=False)
            return made

    def __repr__(self) -> str:
        return f"<hn.function {self.name}>"


def function(fn: Callable[..., Any] | None = None, *, name: str | None = None) -> Any:
    """Makes a function over arrays run as one compiled graph. Use as a decorator.

    The Python code runs once for each new kind of arguments (shapes, dtypes, contexts, Python
    values, and the arrays and numbers it finds in its closure and globals); the operations it made
    are kept and replayed. Arrays it reads from outside are read at each call; arrays it changes in
    place are changed for the caller; random numbers go on; gradients flow through it. Control flow
    may depend on Python values, not on array values: reading one inside raises an error.

    Args:
        fn: the function; arguments and results may be nested lists, tuples and dicts of NDArrays
            (NumPy arrays are converted) and plain Python values.
        name: for messages and traces; default the function's.

    Returns:
        A `Function`.
    """
    if fn is None:
        return functools.partial(function, name=name)
    return Function(fn, name)
