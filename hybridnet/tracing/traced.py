"""`@hn.function`: traces a Python function once for each kind of arguments, and replays it."""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from typing import Any, Final, Generic, ParamSpec, Self, TypeVar, final, overload

from hybridnet import tape
from hybridnet.base.context import Context, current_context
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.locks import free_in_children, if_free
from hybridnet.engine import RLock
from hybridnet.graph import Graph
from hybridnet.runtime.recording import recorder
from hybridnet.runtime.watching import without_collecting

from .admission import NEW_KIND, Admissions
from .autograph import Converter, converted
from .call_arguments import ArgumentReader, CallArguments
from .concrete import ConcreteFunction
from .environment import FirstCall, environment_key
from .relaxed import Relaxed
from .retracing import CacheInfo, Watch

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")

# Traces kept for one function; the least recently used is dropped.
_CAPACITY: Final = 256
# One thread traces at a time: two that trace functions that call each other would wait for ever if
# each function had a lock of its own. Re-entrant, since a function may call another one.
_tracing: Final = free_in_children(RLock())

_MAKES_STATE: Final = (
    "{name}: it makes arrays that it keeps, which a trace cannot do; call it once before asking "
    "for its trace"
)


class MakesState(MXNetError):
    """A function made arrays while it was traced that it wants to find at its next call."""


@final
class Function(Generic[_Args, _Result]):
    """A function over arrays that is traced into a graph; made by `hn.function`.

    Args:
        name: for messages; default the function's.
        input_signature, autograph, reduce_retracing, static_argnames, device, convert: see
            `hn.function`.

    Raises:
        ParameterError: it cannot be called, or calling it does not run it (generators); or another
            argument does not fit it.
    """

    def __init__(
        self,
        python_function: Callable[_Args, _Result],
        name: str | None = None,
        *,
        input_signature: Any = None,
        autograph: bool = True,
        reduce_retracing: bool = False,
        static_argnames: str | Sequence[str] = (),
        device: str | Context | None = None,
        convert: Converter | None = None,
    ) -> None:
        if not callable(python_function):
            raise ParameterError(
                f"hn.function: needs a callable, got {type(python_function).__name__}"
            )
        if _runs_later(python_function):
            raise ParameterError(
                "hn.function: needs a function that computes its result when it is called, got a "
                "generator or coroutine; let it return a list"
            )
        if convert is not None and not (autograph and callable(convert)):
            raise ParameterError(
                "hn.function: convert must be a function, and autograph not be off, got "
                f"convert={convert!r}, autograph={autograph!r}"
            )
        functools.update_wrapper(self, python_function, updated=())
        self.python_function = python_function
        found: str = getattr(python_function, "__name__", type(python_function).__name__)
        self.name = name or found
        self.autograph = autograph
        self._convert = convert
        self._options = {
            "input_signature": input_signature,
            "autograph": autograph,
            "reduce_retracing": reduce_retracing,
            "static_argnames": static_argnames,
            "device": device,
            "convert": convert,
        }
        self._device = None if device is None else context_of(device)
        #: Reads the arguments of a call.
        self.read = ArgumentReader(
            self.name, python_function, input_signature, static_argnames, self._device
        )
        self._traces: OrderedDict[Hashable, ConcreteFunction] = OrderedDict()
        # Traces that hold on to an object that is gone, and can never be used again.
        self._dead: deque[weakref.ref[ConcreteFunction]] = deque()
        self._lock = free_in_children(RLock())
        #: Calls that are like earlier ones, whose traces they run.
        self.admissions = Admissions(python_function)
        # Traces that were looked up, and that were made.
        self._found = 0
        self._count = 0
        self._watch = Watch(self.name, python_function)
        self._relaxed = Relaxed(self) if reduce_retracing else None

    def __call__(self, *args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        """Runs the function: traces it if these arguments are of a new kind."""
        if not kwargs:
            result = self.admissions.run(args)
            if result is not NEW_KIND:
                return result  # type: ignore[no-any-return]
        given = self.read(args, kwargs)
        run = self.run if self._relaxed is None else self._relaxed
        return run(given)  # type: ignore[no-any-return]

    def run(self, given: CallArguments) -> Any:
        """Runs the function on arguments that are read already (inside hybridnet)."""
        try:
            concrete = self.find(given)
        except MakesState:
            with self._device or nullcontext():
                return self.python_function(*given.args, **given.kwargs)
        result = concrete.run(given.arguments.arrays)
        if given.moved:
            _move_back(concrete, given)
        elif not given.kwargs:
            self.admissions.learn(concrete, given)
        return result

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., _Result]: ...

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """As a method, binds ``self`` like any function."""
        return self if instance is None else types.MethodType(self, instance)

    def get_concrete_function(self, *args: object, **kwargs: object) -> ConcreteFunction:
        """Returns the trace for arguments of this kind, made if need be, without running it.

        Args:
            args, kwargs: arguments, or a `TensorSpec` for an array. None at all mean those of the
                input signature.

        Raises:
            ShapeError: a spec leaves a size open.
        """
        return self.find(self.read.of_specs(args, kwargs))

    def graph(self, *args: object, **kwargs: object) -> Graph:
        """Returns the graph for arguments of this kind."""
        return self.get_concrete_function(*args, **kwargs).graph

    def pretty_printed_signature(self) -> str:
        """Returns what its traces take and give, in words, one in a line."""
        with self._lock:
            traces = list(self._traces.values())
        lines = [trace.pretty_printed_signature() for trace in traces]
        return "\n".join(lines) or f"{self.name}: not traced yet"

    def cache_info(self) -> CacheInfo:
        """Returns how often the function was traced, and how often a trace was used again."""
        return CacheInfo(self._hits, self._count, len(self._traces))

    @property
    def _hits(self) -> int:
        return self._found + self.admissions.hits

    def find(self, given: CallArguments, *, expected: bool = False) -> ConcreteFunction:
        """Returns the trace for arguments that are read already (inside hybridnet).

        Args:
            expected: whether a new trace is no surprise.
        """
        key = self._key(given)
        found = self._look_up(key)
        if found is not None:
            return found
        with _tracing, without_collecting():
            found = self._look_up(key)  # another thread may have made it meanwhile
            if found is not None:
                return found
            _, environment, *modes = key
            # A function that calls itself is traced for each depth.
            if not expected and recorder.current_trace() is None:
                self._watch.note(given, environment, modes, self._hits + self._count)
            with self._device or nullcontext():
                function = self.python_function
                if self.autograph:
                    function = converted(function, self._convert)
                first = FirstCall(self.python_function, given)
                made = ConcreteFunction(function, given, self.name, self.read)
                if first.takes_back():
                    raise MakesState(_MAKES_STATE.format(name=self.name))
            gone = functools.partial(_forget, weakref.ref(self), weakref.ref(made))
            for identity in given.arguments.identities:
                identity.let_go(gone)
            with self._lock:
                self._count += 1
                self._traces.pop(key, None)
                self._traces[key] = made
                if len(self._traces) > _CAPACITY:
                    self._traces.popitem(last=False)
            return made

    def find_if_there(self, given: CallArguments) -> ConcreteFunction | None:
        """Returns the trace for arguments that are read already, if there is one."""
        return self._look_up(self._key(given))

    def _key(self, given: CallArguments) -> tuple[Any, ...]:
        """Returns what a trace depends on."""
        state = tape.state
        identities = given.arguments.identities
        return (
            given.arguments.key,
            environment_key(self.python_function, given.args, given.kwargs, identities),
            state.recording,
            state.training,
            self._device or current_context(),
        )

    def _look_up(self, key: tuple[Hashable, ...]) -> ConcreteFunction | None:
        with self._lock:
            self._bury()
            found = self._traces.get(key)
            if found is None or not found.fits():
                return None
            self._traces.move_to_end(key)
            self._found += 1
            return found

    def _bury(self) -> None:
        """Drops the traces that can never be used again; the lock is held."""
        while self._dead:
            dead = self._dead.popleft()()
            self.admissions.forget(dead)
            for key in [key for key, trace in self._traces.items() if trace is dead]:
                del self._traces[key]

    def __reduce__(self) -> Any:
        # Copies and pickles begin without traces. A plain function goes by its name, as in Python.
        if isinstance(self.python_function, types.FunctionType):
            return self.__qualname__  # type: ignore[attr-defined]  # by functools.update_wrapper
        return functools.partial(Function, **self._options), (self.python_function, self.name)

    def __repr__(self) -> str:
        return f"<hn.function {self.name}>"


def context_of(device: str | Context) -> Context:
    """Returns a device as users name it: a context, or text such as ``"gpu(0)"`` or ``"cpu:1"``.

    Raises:
        ParameterError: it names no device.
    """
    if isinstance(device, Context):
        return device
    text = device.strip().lower().removeprefix("/").removeprefix("device:")
    kind, _, number = text.rstrip(")").replace("(", ":").partition(":")
    if not kind.isidentifier() or not (number or "0").isdigit():
        raise ParameterError(
            f"hn.function: device must be a context or a name such as 'gpu(0)' or 'cpu:1', got "
            f"{device!r}"
        )
    return Context(kind, int(number or 0))


def _move_back(concrete: ConcreteFunction, given: CallArguments) -> None:
    """Copies what a function overwrote of arrays from another device to these."""
    arrays = given.arguments.arrays
    written = {id(arrays[number]) for number in concrete.written}
    for original, copy in given.moved:
        if id(copy) in written:
            original.assign(copy)


def _forget(
    function: weakref.ref[Function[..., Any]], trace: weakref.ref[ConcreteFunction], _: object
) -> None:
    """Makes a function drop a trace in whose key an object is gone."""
    owner = function()
    if owner is None:
        return
    owner._dead.append(trace)
    # Objects go at any moment, also while this thread holds the lock; the next call drops it then.
    if_free(owner._lock, owner._bury)


def _runs_later(function: object) -> bool:
    return (
        inspect.isgeneratorfunction(function)
        or inspect.iscoroutinefunction(function)
        or inspect.isasyncgenfunction(function)
    )
