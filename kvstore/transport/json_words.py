"""Words of the protocol as JSON and back; what comes from outside is checked against their types.

A dataclass is an object of its fields, a `Peer` a list of two, a tuple a list. What is read is
refused unless every field is there and has the type that the class says, no field is there that it
does not have, numbers are whole and in the range that their type says (`Range`), texts are such as
can be written again, and nothing is nested deeper than 8.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.protocol.words import Range

T = TypeVar("T")

_DEPTH: Final = 8
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1


class WireError(KVStoreError):
    """Bytes that are no message of this protocol, or one that breaks its bounds."""


def write_word(word: Any) -> bytes:
    """Returns a dataclass of the protocol as JSON, without `payload` and `rows`."""
    return json.dumps(_plain(word), separators=(",", ":")).encode()


def read_word(kind: type[T], text: bytes | memoryview) -> T:
    """Reads what `write_word` wrote.

    Args:
        kind: the class it must be.
        text: JSON.

    Raises:
        WireError: it is not that.
    """
    data = bytes(text)
    check_depth(data)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise WireError(f"a {kind.__name__} requires JSON, got none: {error}") from None
    reader: _Reader = _reader(kind)  # type: ignore[arg-type]
    word: T = reader(found)
    return word


def check_depth(data: bytes) -> None:
    """Refuses JSON that is nested too deep, before anything is built of it."""
    if data.count(b"[") + data.count(b"{") <= _DEPTH:
        return
    depth, quoted, escaped = 0, False, False
    for byte in data:
        if quoted:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                quoted = False
        elif byte == 0x22:
            quoted = True
        elif byte in b"[{":
            depth += 1
            if depth > _DEPTH:
                raise WireError(f"JSON in a message may be nested {_DEPTH} deep, got more")
        elif byte in b"]}":
            depth -= 1


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(getattr(value, name)) for name in _split(type(value))[0]}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value


_Reader = Callable[[Any], Any]


@cache
def _reader(kind: Any) -> _Reader:
    """Returns what reads a JSON value as this type."""
    if kind in (int, str, bool, type(None)):
        return _plain_reader(kind)
    origin = get_origin(kind)
    if origin is Annotated:
        return _number_reader(get_args(kind)[1])
    if origin is Literal:
        return _literal_reader(get_args(kind))
    if origin in (Union, types.UnionType):
        return _union_reader([_reader(one) for one in get_args(kind)], str(kind))
    if origin is tuple:
        return _tuple_reader(get_args(kind))
    if is_dataclass(kind):
        return _dataclass_reader(kind)
    if isinstance(kind, type) and issubclass(kind, tuple):
        return _named_reader(kind)
    raise TypeError(f"no JSON is made of {kind}")


def _plain_reader(kind: type) -> _Reader:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise WireError(f"a message requires {kind.__name__} here, got {str(value)[:40]!r}")
        if isinstance(value, int) and not _SMALLEST <= value <= _LARGEST:
            raise WireError(f"a message's numbers have 64 bits, got {str(value)[:40]}")
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise WireError("a message's text holds half of a character") from None
        return value

    return read


def _number_reader(bounds: Range) -> _Reader:
    least, most = bounds.least, bounds.most

    def read(value: Any) -> Any:
        if type(value) is not int or not least <= value <= most:
            raise WireError(
                f"a message requires a number from {least} to {most} here, got {str(value)[:40]!r}"
            )
        return value

    return read


def _literal_reader(allowed: tuple[Any, ...]) -> _Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, str) or value not in allowed:
            raise WireError(f"a message requires one of {allowed} here, got {str(value)[:40]!r}")
        return value

    return read


def _union_reader(readers: list[_Reader], name: str) -> _Reader:
    def read(value: Any) -> Any:
        for one in readers:
            try:
                return one(value)
            except WireError:
                continue
        raise WireError(f"a message requires {name} here, got {str(value)[:40]!r}")

    return read


def _tuple_reader(args: tuple[Any, ...]) -> _Reader:
    many = len(args) == 2 and args[1] is Ellipsis
    readers = [_reader(one) for one in (args[:1] if many else args)]

    def read(value: Any) -> Any:
        if not isinstance(value, list) or not (many or len(value) == len(readers)):
            raise WireError(f"a message requires a list here, got {str(value)[:40]!r}")
        if many:
            return tuple(readers[0](one) for one in value)
        return tuple(reader(one) for reader, one in zip(readers, value, strict=True))

    return read


def _named_reader(kind: Any) -> _Reader:
    """A NamedTuple: a list of its fields."""
    hints = get_type_hints(kind, include_extras=True)
    inner = _tuple_reader(tuple(hints[name] for name in kind._fields))
    return lambda value: kind(*inner(value))


def _dataclass_reader(kind: Any) -> _Reader:
    hints = get_type_hints(kind, include_extras=True)
    names, apart = _split(kind)
    nothing = dict.fromkeys(apart)
    readers = {name: _reader(hints[name]) for name in names}

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping) or value.keys() != readers.keys():
            raise WireError(
                f"a {kind.__name__} requires {', '.join(readers) or 'no fields'}, got "
                f"{str(list(value) if isinstance(value, Mapping) else value)[:80]}"
            )
        made = {name: reader(value[name]) for name, reader in readers.items()}
        try:
            return kind(**made, **nothing)
        except TypeError as error:
            raise WireError(f"a {kind.__name__} cannot be made: {error}") from None

    return read


@cache
def _split(kind: Any) -> tuple[list[str], list[str]]:
    """Returns the fields that are in the JSON, and those that travel beside it: of type Any."""
    hints = get_type_hints(kind, include_extras=True)
    names = [one.name for one in fields(kind)]
    inside = [name for name in names if hints[name] is not Any]
    return inside, [name for name in names if hints[name] is Any]
