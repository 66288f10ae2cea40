"""Why a function is traced again: what was different from the last time, in words."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

from hybridnet import engine
from hybridnet.ndarray import NDArray

from .call_arguments import CallArguments
from .environment import environment_names
from .signature import parameters_of, positional_names
from .structure import Identity, flatten, requirement

# Traces in a row that differ in the same thing: fewer are a few sizes, or a warm-up.
_MANY_TRACES: Final = 5
# Calls for each of these traces: a function that uses them more often has merely many kinds.
_SELDOM: Final = 3
_LENGTH: Final = 60

_WARNING: Final = (
    "{name}: was traced {count} times in a row because of {what}: was {old}, is now {new}. Each "
    "trace is a compilation. {advice}"
)
_SIZES: Final = (
    "Pad arrays to a few sizes (reduce_retracing=True, or buckets=hn.Buckets(...)), or let all "
    "batches have one size"
)
_NUMBERS: Final = (
    "Give a number that changes as an array, hn.nd.array([n]): a Python number is a constant of "
    "its trace"
)
_OBJECTS: Final = (
    "Other objects are told apart by identity: make it once, outside the loop, or name it in "
    "static_argnames to have it compared by its value"
)
_ARRAYS: Final = "Change an array in place, x[:] = y, instead of making a new one for each call"
_MODES: Final = (
    "whether autograd records",
    "whether operators behave as in training",
    "the current context",
)
#: What `described` says of a device.
_CONTEXT: Final = re.compile(r" on \w+\(\d+\)")
_REPLACED: Final = "an array or object that was replaced by one that looks the same"


class CacheInfo(NamedTuple):
    """The number of times that a function was traced, and that a trace was used again.

    Attributes:
        hits: calls that used a trace again.
        traces: how many were made.
        size: how many there are now.
    """

    hits: int
    traces: int
    size: int


class RetracingWarning(UserWarning):
    """A function is traced anew at nearly every call."""


def described(value: object) -> str:
    """Returns what of an argument counts, in words."""
    if isinstance(value, NDArray):
        kind = "" if type(value) is NDArray else "np "
        req = requirement(value)
        wants = f", grad_req {req!r}" if req and req != "recorded" else req and ", recorded"
        return f"{kind}{value.type} on {value.context}{wants or ''}"
    text = repr(value)
    return text if len(text) <= _LENGTH else text[: _LENGTH - 3] + "..."


def _leaf_names(name: str, value: Any) -> Iterator[str]:
    """Yields the names of the leaves of one argument, in order."""
    if type(value) in (list, tuple) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        for number, part in enumerate(value):
            yield from _leaf_names(f"{name}[{number}]", part)
    elif isinstance(value, dict) and flatten(value)[1] is not None:
        for key, part in value.items():
            yield from _leaf_names(f"{name}[{key!r}]", part)
    else:
        yield name


def argument_names(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> list[str]:
    """Returns the names of the leaves of arguments: ``x``, ``batch['label']``, ``args[2]``."""
    parameters = parameters_of(function)
    positional = positional_names(parameters)
    rests = (
        parameter.name for parameter in parameters if parameter.kind is parameter.VAR_POSITIONAL
    )
    rest = next(rests, "args")
    found: list[str] = []
    for number, value in enumerate(args):
        extra = number - len(positional)
        found += _leaf_names(positional[number] if extra < 0 else f"{rest}[{extra}]", value)
    for key, value in kwargs.items():
        found += _leaf_names(key, value)
    return found


@final
class Watch:
    """Looks at the traces of one function, and warns when there are ever new ones."""

    def __init__(self, name: str, function: Callable[..., object]) -> None:
        self._name = name
        self._function = function
        self._last: dict[str, tuple[object, str]] | None = None
        self._changed: frozenset[str] = frozenset()
        self._count = 0
        self._since = 0
        self._told: set[frozenset[str]] = set()

    def note(
        self,
        given: CallArguments,
        environment: Sequence[object],
        modes: Sequence[object],
        calls: int,
    ) -> None:
        """Notes a trace that is made; warns if the last ones differed in the same thing.

        Args:
            environment: what `environment_key` returned.
            modes: whether autograd records, whether it is in a training pass, and the context.
            calls: how often the function has been called.
        """
        facts = self._facts(given, environment, modes)
        last, self._last = self._last, facts
        if last is None or _differ_in_context(last, facts):
            return  # a loop over devices has one trace for each of them
        changed = frozenset(
            name
            for name in {**last, **facts}
            if name not in last or name not in facts or last[name][0] != facts[name][0]
        ) or frozenset([_REPLACED])
        if changed != self._changed:
            self._changed, self._count, self._since = changed, 1, calls
        self._count += 1
        seldom = calls - self._since < _SELDOM * self._count
        if self._count < _MANY_TRACES or not seldom or changed in self._told:
            return
        self._told.add(changed)
        self._warn(changed, last, facts)

    def _facts(
        self,
        given: CallArguments,
        environment: Sequence[object],
        modes: Sequence[object],
    ) -> dict[str, tuple[object, str]]:
        """Returns what a trace depends on, by name: to compare, and in words."""
        facts: dict[str, tuple[object, str]] = {}
        names = argument_names(self._function, given.args, given.kwargs)
        for name, leaf in zip(names, given.arguments.leaves, strict=False):
            text = described(leaf)
            facts[f"argument {name!r}"] = ((text, id(leaf)) if " at 0x" in text else text, text)
        names = environment_names(self._function, given.args, given.kwargs)
        for name, key in zip(names, environment, strict=False):
            facts[f"the outside name {name!r}"] = _of_key(key)
        facts.update((name, (mode, str(mode))) for name, mode in zip(_MODES, modes, strict=True))
        return facts

    def _warn(
        self,
        changed: frozenset[str],
        last: Mapping[str, tuple[object, str]],
        facts: Mapping[str, tuple[object, str]],
    ) -> None:
        absent = (None, "not there")
        first = min(changed)
        old, new = last.get(first, absent)[1], facts.get(first, absent)[1]
        rest = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
        text = _WARNING.format(
            name=self._name,
            count=self._count,
            what=first + rest,
            old=old,
            new=new,
            advice=_advice(first, old, new),
        )
        place = engine.resolve_origin(engine.caller_origin(1))
        file, line = place or ("<unknown>", 0)
        warnings.warn_explicit(text, RetracingWarning, file, line)


def _differ_in_context(
    last: Mapping[str, tuple[object, str]], facts: Mapping[str, tuple[object, str]]
) -> bool:
    """Whether two traces differ in the contexts of their arrays, and in nothing else."""

    def without(known: Mapping[str, tuple[object, str]]) -> dict[str, object]:
        return {
            name: _CONTEXT.sub("", fact) if isinstance(fact, str) else fact
            for name, (fact, _) in known.items()
            if name != _MODES[-1]
        }

    return last != facts and without(last) == without(facts)


def _advice(what: str, old: str, new: str) -> str:
    """Returns what a user can do about an argument that changes from call to call.

    Args:
        what: the argument.
        old: how it was described in the message before.
        new: how it is described now.
    """
    if " on " in new and "[" in new:
        return _SIZES
    try:
        float(new)
    except ValueError:
        return _ARRAYS if "array" in what or "NDArray" in new else _OBJECTS
    return _NUMBERS


def _of_key(key: Any) -> tuple[object, str]:
    """Returns what an element of `environment_key` is: to compare, and in words."""
    if isinstance(key, Identity):
        held = key.get()
        text = type(held).__name__ if held is None or isinstance(held, NDArray) else described(held)
        return (id(held), text)
    value = key[1] if isinstance(key, tuple) and len(key) == 2 else key
    # A float is known by its text.
    text = value if isinstance(value, str) and key[0] is not str else repr(value)
    return (key, text[:_LENGTH])
