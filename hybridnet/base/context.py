"""Contexts: where an array lives, ``cpu(0)`` or ``gpu(1)``, and the thread's default one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar, Final

from .allocator import release_memory
from .errors import ParameterError

__all__ = [
    "Context",
    "cpu",
    "cpu_pinned",
    "current",
    "current_context",
    "gpu",
    "places",
    "read_context",
    "set_default_context",
]


# Codes of device types that users bring begin here, clear of MXNet's own.
_FIRST_NEW_CODE: Final = 64
_ACCELERATORS: Final = frozenset({"gpu", "tpu"})


class _Current(threading.local):
    """The stack of contexts entered by this thread, and what holds outside them.

    Attributes:
        stack: the contexts.
        places: what says where nodes of symbols run: these contexts, and the names of the scopes
            of `device` between them (None takes back what is outside).
        default: the context outside all scopes.
        now: what `current_context` returns. Hot code reads it here.
    """

    def __init__(self) -> None:
        self.stack: list[Context] = []
        self.places: list[Any] = []
        self.default = self.now = _DEFAULT

    @property
    def value(self) -> Context:
        """The thread's current context, by the name that MXNet's ``Context._default_ctx`` has."""
        return current_context()

    @value.setter
    def value(self, ctx: Context) -> None:
        set_default_context(ctx)


class _ContextType(type):
    """The class of `Context`, for what belongs to no one context."""

    @property
    def default_ctx(cls) -> Context:
        """The thread's current context; setting it is `set_default_context`, as in old programs."""
        return current_context()

    @default_ctx.setter
    def default_ctx(cls, ctx: Context) -> None:
        set_default_context(ctx)


class Context(metaclass=_ContextType):
    """A device, by type and number. Equal contexts are one object.

    Use it as an argument (``ctx=mx.gpu(0)``) or as a scope (``with mx.cpu(1): ...``) that sets the
    default for arrays made inside it, and where nodes of symbols made inside it run.

    Args:
        device_type: 'cpu', 'gpu', 'tpu', 'cpu_pinned' or 'cpu_shared' (the last two are names of
            the memory of 'cpu'; JAX pins what it needs by itself), or another Context.
        device_id: the device's number, from 0. There is a CPU for every number.

    Attributes:
        computes_on: where what is computed from arrays of this context is: of 'cpu_pinned' and
            'cpu_shared' the CPU of that number, of others the context itself.
        is_accelerator: whether its arrays are in the memory of an accelerator that JAX knows, to
            and from which they are copied.
    """

    __slots__ = ("__weakref__", "computes_on", "device_id", "device_type", "is_accelerator")

    devtype2str: ClassVar[dict[int, str]] = {
        1: "cpu",
        2: "gpu",
        3: "cpu_pinned",
        5: "cpu_shared",
        6: "tpu",
    }
    devstr2type: ClassVar[dict[str, int]] = {name: code for code, name in devtype2str.items()}
    _made: ClassVar[dict[tuple[str, int], Context]] = {}
    _default_ctx: ClassVar[_Current]

    device_type: str
    device_id: int
    computes_on: Context
    is_accelerator: bool

    def __new__(cls, device_type: str | Context, device_id: int = 0) -> Context:
        """Returns the one object for this type and number."""
        if isinstance(device_type, Context):
            return device_type
        found = cls._made.get((device_type, device_id))
        if found is not None:
            return found
        if device_type not in cls.devstr2type:
            known = ", ".join(cls.devstr2type)
            raise ParameterError(
                f"Context: device_type must be one of {known}, got {device_type!r}"
            )
        if not isinstance(device_id, int) or device_id < 0:
            raise ParameterError(f"Context: device_id must be an integer >= 0, got {device_id!r}")
        made = super().__new__(cls)
        object.__setattr__(made, "device_type", device_type)
        object.__setattr__(made, "device_id", device_id)
        host = device_type in ("cpu_pinned", "cpu_shared")
        object.__setattr__(made, "computes_on", Context("cpu", device_id) if host else made)
        object.__setattr__(made, "is_accelerator", device_type in _ACCELERATORS)
        return cls._made.setdefault((device_type, device_id), made)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Context is immutable; make another instead of setting {name}")

    def __reduce__(self) -> tuple[Callable[[str, int], Context], tuple[str, int]]:
        # By a function: under `hybridnet run` the class has MXNet's name, which not all who read
        # the pickle know.
        return (_made_again, (self.device_type, self.device_id))

    @classmethod
    def add_type(cls, device_type: str) -> None:
        """Makes a new device type known, for devices that users bring; see `hn.runtime.Device`.

        Raises:
            ParameterError: the name is not a word in lower case.
        """
        if not (device_type.isidentifier() and device_type == device_type.lower()):
            raise ParameterError(
                f"Context: a device type must be a word in lower case, got {device_type!r}"
            )
        if device_type not in cls.devstr2type:
            code = max(_FIRST_NEW_CODE, max(cls.devtype2str) + 1)
            cls.devtype2str[code] = device_type
            cls.devstr2type[device_type] = code

    @property
    def device_typeid(self) -> int:
        """MXNet's code of the device type, as its files hold it."""
        return self.devstr2type[self.device_type]

    def empty_cache(self) -> None:
        """Gives host memory that is free, but kept for the next step, back to the system.

        See HYBRIDNET_KEEP_MEMORY. The memory of GPUs and TPUs is JAX's, which keeps what it has
        taken for the arrays to come, and uses all of it before it takes more.
        """
        if self.device_type.startswith("cpu"):
            release_memory()

    def __enter__(self) -> Context:
        current.stack.append(self)
        current.places.append(self)
        current.now = self
        return self

    def __exit__(self, *exc: object) -> None:
        stack = current.stack
        stack.pop()
        current.places.pop()
        current.now = stack[-1] if stack else current.default

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"


_DEFAULT: Final = Context("cpu", 0)
#: What holds in the calling thread.
current: Final = _Current()
Context._default_ctx = current  # for programs that set its `value`, as MXNet's tests do


def _made_again(device_type: str, device_id: int) -> Context:
    return Context(device_type, device_id)


def current_context() -> Context:
    """Returns the context that arrays are made on when none is named.

    Outside scopes that is ``cpu(0)``, or what `set_default_context` was given.
    """
    return current.now


def read_context(text: str | Context) -> Context:
    """Returns the context that is written 'cpu(0)', or 'cpu'; a context itself.

    Raises:
        ParameterError: it is none.
    """
    if isinstance(text, Context):
        return text
    kind, bracket, rest = text.strip().partition("(")
    number = rest.removesuffix(")") if bracket else "0"
    if not number.isdecimal():
        raise ParameterError(f"a context must be written as 'cpu(0)', got {text!r}")
    return Context(kind, int(number))


def places() -> list[Any]:
    """Returns the thread's stack of what says where nodes of symbols run; see `_Current`."""
    return current.places


def set_default_context(ctx: Context) -> None:
    """Sets what `current_context` is in this thread outside all scopes."""
    current.default = Context(ctx)
    if not current.stack:
        current.now = current.default


def cpu(device_id: int = 0) -> Context:
    """Returns a CPU context.

    Args:
        device_id: any number from 0 on: parts of the processors can stand for several devices; see
            HYBRIDNET_NUM_CPU_DEVICES.

    Examples:
        >>> nd.ones((2,), ctx=hn.cpu(1)).context
        cpu(1)
    """
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """Returns a context of host memory; kept for MXNet's programs.

    An array there is one of `cpu` under another name: the two mix, and what is computed from it is
    on `cpu`.
    """
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """Returns a GPU context. To make one costs nothing; `num_gpus` says how many there are.

    Args:
        device_id: which of them, from 0 on. Arrays on one that is not there raise an `MXNetError`.
    """
    return Context("gpu", device_id)
