"""Python's built-in functions on arrays and on numbers that are known when the function runs."""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import recorder

from .conditions import and_, if_exp, is_staged, or_, truth
from .lines import user_line
from .number import Number, is_number, to_number


@final
class StagedRange:
    """A range whose ends are known only when the function runs."""

    def __init__(self, start: int | Number, stop: int | Number, step: int | Number) -> None:
        if is_number(step) and step == 0:
            raise ValueError("range() arg 3 must not be zero")
        self.start, self.stop, self.step = start, stop, step

    def __iter__(self) -> Iterator[Any]:
        raise ParameterError(
            f"{user_line()}: a range whose ends are arrays can only be what a `for` statement of "
            "a traced function goes over"
        )


@final
class Together:
    """The result of `zip` or `enumerate`, of things whose lengths are known.

    Attributes:
        parts: what it goes over together.
    """

    def __init__(self, parts: Sequence[object]) -> None:
        self.parts = parts
        self._iterator: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return zip(*self.parts, strict=False)

    def __next__(self) -> Any:
        self._iterator = self._iterator or iter(self)
        return next(self._iterator)


def _range(*args: Any) -> Any:
    if not any(isinstance(arg, NDArray) for arg in args):
        return range(*args)
    whole = [_int(arg) if isinstance(arg, NDArray) else operator.index(arg) for arg in args]
    if len(whole) == 1:
        return StagedRange(0, whole[0], 1)
    return StagedRange(whole[0], whole[1], whole[2] if len(whole) > 2 else 1)


def _scalar(value: NDArray, dtype: str) -> Number:
    if value.type.size != 1:
        raise ParameterError(
            f"{user_line()}: only an array of one element is a number, got {value.type!r}"
        )
    return to_number(value, dtype)


def _int(value: Any = 0, *args: Any, **kwargs: Any) -> Any:
    return _scalar(value, "int64") if is_staged(value) else int(value, *args, **kwargs)


def _float(value: Any = 0.0) -> Any:
    return _scalar(value, "float64") if is_staged(value) else float(value)


def _bool(value: object = False) -> Any:
    return truth(value) if is_staged(value) else bool(value)


def _enumerate(iterable: Any, start: Any = 0) -> Any:
    if isinstance(iterable, (NDArray, range, Together)) and recorder.current_trace() is not None:
        count = _length(iterable)
        return Together([range(start, start + count), iterable])
    return enumerate(iterable, start)


def _zip(*iterables: object, strict: bool = False) -> Any:
    sized = all(isinstance(part, (NDArray, range, Together)) for part in iterables)
    if not iterables or not sized or recorder.current_trace() is None:
        return zip(*iterables, strict=strict)
    if strict and len(set(map(_length, iterables))) > 1:
        raise ValueError("zip() arguments must have the same length")
    return Together(iterables)


def _length(value: Any) -> int:
    return min(map(_length, value.parts)) if isinstance(value, Together) else len(value)


def _sum(iterable: Any, /, start: Any = 0) -> Any:
    # More rows than loops are unrolled for become one operation.
    if is_staged(iterable) and len(iterable) > 32:
        total = iterable.sum(axis=0)
        return total if is_number(start) and start == 0 else start + total
    return sum(iterable, start)


def _extreme(name: str, *args: Any, **kwargs: object) -> Any:
    python = getattr(builtins, name)
    given = list(args[0]) if len(args) == 1 else list(args)
    is_plain = kwargs.get("key") is not None or "default" in kwargs
    if is_plain or not any(map(is_staged, given)):
        return python(given, **kwargs) if len(args) == 1 else python(*args, **kwargs)

    def better(best: Any, other: Any) -> Any:
        is_better = other < best if name == "min" else other > best
        return if_exp(is_better, lambda: other, lambda: best)

    return functools.reduce(better, given)


def _any_or_all(join: Callable[..., object], start: bool, iterable: Any) -> Any:
    def step(found: object, value: object) -> Any:
        return join(lambda: found, lambda: _bool(value))

    return functools.reduce(step, iterable, start)


#: What is called in the place of a built-in function, by its identity.
OVERLOADS: Final[dict[int, Callable[..., Any]]] = {
    id(range): _range,
    id(int): _int,
    id(float): _float,
    id(bool): _bool,
    id(enumerate): _enumerate,
    id(zip): _zip,
    id(sum): _sum,
    id(min): functools.partial(_extreme, "min"),
    id(max): functools.partial(_extreme, "max"),
    id(any): functools.partial(_any_or_all, or_, False),
    id(all): functools.partial(_any_or_all, and_, True),
}

#: Those that read arrays, which a function without control flow may call too.
READERS: Final = frozenset(map(id, (int, float, bool, sum, min, max, any, all, range)))

_UPDATE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "Add": operator.iadd,
    "Sub": operator.isub,
    "Mult": operator.imul,
    "Div": operator.itruediv,
    "Mod": operator.imod,
    "Pow": operator.ipow,
    "FloorDiv": operator.ifloordiv,
    "MatMult": operator.imatmul,
    "BitAnd": operator.iand,
    "BitOr": operator.ior,
    "BitXor": operator.ixor,
    "LShift": operator.ilshift,
    "RShift": operator.irshift,
}


@final
class Picked(NDArray):
    """A part of an array, found by a number that is known only when the function runs.

    With a number of Python's it would be a view. It is a copy, so it cannot be changed in place.
    """

    __slots__ = ()
    kind_of_results = NDArray

    def _refuse(self, *args: object) -> Any:
        raise ParameterError(
            f"{user_line()}: x[i], with a number i that is known only when the traced function "
            "runs, is a copy, and changing it would not change x; write x[i] = ... or x[i] += ..."
        )

    __setitem__ = __iadd__ = __isub__ = __imul__ = __itruediv__ = __imod__ = __ipow__ = _refuse


def get_item(owner: Any, key: Any) -> Any:
    """``owner[key]``."""
    if not isinstance(owner, NDArray) or not _has_number(key):
        return owner[key]
    return _part(owner, key).as_kind(Picked if type(owner) is NDArray else type(owner))


def _part(owner: NDArray, key: object) -> NDArray:
    found: NDArray = owner[_plain_key(owner, key)]
    return found.as_kind(NDArray) if isinstance(found, Picked) else found


def _plain_key(owner: NDArray, key: object) -> Any:
    """Returns an index with arrays of the class of what is indexed in the place of numbers."""
    items = key if isinstance(key, tuple) else (key,)
    plain = [item.as_kind(type(owner)) if isinstance(item, Number) else item for item in items]
    return tuple(plain) if isinstance(key, tuple) else plain[0]


def set_item(owner: object, keys: tuple[object, ...], value: object) -> None:
    """``owner[key][key] = value``, of which the last key is written."""
    _assign(_parts(owner, keys[:-1]), keys, value)


def _parts(owner: Any, keys: Sequence[Any]) -> list[object]:
    """Returns what is reached by more and more keys; with numbers of the graph by copies."""
    parts = [owner]
    for key in keys:
        last = parts[-1]
        staged = isinstance(last, NDArray) and _has_number(key)
        parts.append(_part(last, key) if staged else last[key])
    return parts


def update_item(owner: object, keys: tuple[object, ...], how: str, value: object) -> None:
    """``owner[key][key] += value``, and the other operators of this kind."""
    parts = _parts(owner, keys)
    _assign(parts[:-1], keys, _UPDATE[how](parts[-1], value))


def _assign(parts: list[Any], keys: tuple[Any, ...], value: Any) -> None:
    """Writes an item of the last part, and parts that are copies to what they are parts of."""
    last, key = parts[-1], keys[-1]
    if isinstance(last, NDArray):
        value = value.as_python() if isinstance(value, Number) else value
        key = _plain_key(last, key)
    last[key] = value
    for number in range(len(parts) - 1, 0, -1):
        if not _has_number(keys[number - 1]) or not isinstance(parts[number - 1], NDArray):
            return
        owner = parts[number - 1]
        owner[_plain_key(owner, keys[number - 1])] = parts[number]


def _has_number(key: object) -> bool:
    items = key if isinstance(key, tuple) else (key,)
    return any(isinstance(item, NDArray) and not item.shape for item in items)


def as_number(array: NDArray) -> Number:
    """Returns what ``x.asscalar()`` gives, as it is known when the function runs."""
    if array.type.size != 1:
        raise MXNetError(f"asscalar: the array must have one element, got {array.type!r}")
    kind = np.dtype(array.type.dtype).kind
    return to_number(array, {"b": "bool", "i": "int64", "u": "int64"}.get(kind, "float64"))
