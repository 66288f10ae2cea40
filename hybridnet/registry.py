"""Names for the classes that a configuration can ask for: optimizers, initializers, metrics.

A family of classes is known by its base class. `get_register_func` makes the decorator that adds
to it, and `get_create_func` the function that makes an instance from a name, or from the JSON text
that symbols and saved configurations hold.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

from hybridnet.base.errors import ParameterError

__all__ = ["get_alias_func", "get_create_func", "get_register_func", "get_registry"]

_Class = TypeVar("_Class", bound=type[Any])
_Member = TypeVar("_Member")


class Register(Protocol):
    """A decorator that adds a class to a family, and gives it back as it is."""

    def __call__(self, klass: _Class, name: str | None = None) -> _Class:
        """Registers a class under `name`, by default its own in lower case."""


class Alias(Protocol):
    """Makes decorators that add a class to a family under further names."""

    def __call__(self, *aliases: str) -> Callable[[_Class], _Class]:
        """Returns the decorator for these names."""


_FAMILIES: Final[dict[type, dict[str, type]]] = {}


def get_registry(base_class: type) -> dict[str, type]:
    """Returns the classes registered under a base class, by lower-case name (a copy)."""
    return dict(_FAMILIES.get(base_class, {}))


def get_register_func(base_class: type, nickname: str) -> Register:
    """Returns the decorator that registers subclasses of `base_class`.

    Args:
        base_class: what every registered class derives from.
        nickname: what its members are called in messages, such as 'optimizer'.
    """
    family = _FAMILIES.setdefault(base_class, {})

    def register(klass: _Class, name: str | None = None) -> _Class:
        """Registers a class under `name`, by default its own in lower case; returns the class."""
        if not (isinstance(klass, type) and issubclass(klass, base_class)):
            raise ParameterError(
                f"{nickname}.register: needs a subclass of {base_class.__name__}, got {klass!r}"
            )
        key = (name or klass.__name__).lower()
        known = family.get(key)
        # Running a notebook's cell again defines its class again, which goes without a word.
        if known is not None and _origin(known) != _origin(klass):
            warnings.warn(
                f"{nickname}.register: {'.'.join(_origin(klass))} takes the name {key!r} from "
                f"{'.'.join(_origin(known))}",
                stacklevel=2,
            )
        family[key] = klass
        return klass

    return register


def get_alias_func(base_class: type, nickname: str) -> Alias:
    """Returns the decorator factory that registers a class under further names."""
    register = get_register_func(base_class, nickname)

    def alias(*aliases: str) -> Callable[[_Class], _Class]:
        """Registers a class under each of these names too."""

        def apply(klass: _Class) -> _Class:
            for name in aliases:
                register(klass, name)
            return klass

        return apply

    return alias


def get_create_func(base_class: type[_Member], nickname: str) -> Callable[..., _Member]:
    """Returns the function that makes an instance of a registered class."""
    family = _FAMILIES.setdefault(base_class, {})

    def create(*args: Any, **kwargs: Any) -> Any:
        """Makes an instance by name.

        The first argument, which may also be given by keyword, is a registered name in any case,
        an instance (returned as it is), or JSON: ``'["xavier", {"magnitude": 2}]'``, or an object
        (or a dict) with the name under the family's nickname. The rest goes to the class.
        """
        if args:
            wanted, args = args[0], args[1:]
        elif nickname in kwargs:
            wanted = kwargs.pop(nickname)
        else:
            raise ParameterError(f"{nickname}.create: a name is required, got none")
        if isinstance(wanted, base_class):
            if args or kwargs:
                raise ParameterError(
                    f"{nickname}.create: an instance takes no further arguments, got "
                    f"{(*args, *kwargs)}"
                )
            return wanted
        if isinstance(wanted, dict) and nickname in wanted:
            kwargs = {**wanted, **kwargs}
            wanted = kwargs.pop(nickname)
        if isinstance(wanted, str) and wanted[:1] in ("[", "{"):
            wanted, kwargs = _from_json(wanted, nickname, kwargs)
        if not isinstance(wanted, str) or wanted.lower() not in family:
            raise ParameterError(
                f"{nickname}.create: the name must be registered (one of "
                f"{', '.join(sorted(family))}), got {wanted!r}"
            )
        return family[wanted.lower()](*args, **kwargs)

    return create


def _origin(klass: type) -> tuple[str, str]:
    return klass.__module__, klass.__qualname__


def _from_json(text: str, nickname: str, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Returns the name and the keyword arguments that a JSON configuration holds."""
    name: Any = None
    keywords: Any = None
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, list) and len(parsed) == 2:
        name, keywords = parsed
    elif isinstance(parsed, dict):
        keywords = dict(parsed)
        name = keywords.pop(nickname, None)
    if not isinstance(name, str) or not isinstance(keywords, dict):
        raise ParameterError(
            f"{nickname}.create: JSON must be '[\"name\", {{...}}]' or an object with the key "
            f"{nickname!r}, got {text!r}"
        )
    return name, {**keywords, **given}
