"""`arg_scope`: keywords that functions get in a block without being given them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final, TypeVar

from ..graph.graph import get_default_graph

__all__ = ["add_arg_scope", "arg_scope", "has_arg_scope"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
#: Where a graph keeps the blocks that are open; each is the keywords of functions, by their names.
_OPEN: Final = "arg_scopes"


def _key(function: Any) -> str:
    return getattr(function, "_key_op", f"{function.__module__}.{function.__qualname__}")


def _opened() -> list[dict[str, dict[str, Any]]]:
    found: list[dict[str, dict[str, Any]]]
    found = get_default_graph().extras.setdefault(_OPEN, [{}])
    return found


def add_arg_scope(func: _Function) -> _Function:
    """Returns a function whose keywords `arg_scope` can give."""
    key = _key(func)

    @wraps(func)
    def called(*args: Any, **keywords: Any) -> Any:
        return func(*args, **{**_opened()[-1].get(key, {}), **keywords})

    called._key_op = key  # type: ignore[attr-defined]
    return called  # type: ignore[return-value]


def has_arg_scope(func: Any) -> bool:
    """Whether `arg_scope` can give keywords to a function."""
    return hasattr(func, "_key_op")


@contextmanager
def arg_scope(
    list_ops_or_scope: Iterable[Any] | Mapping[str, Any], **kwargs: Any
) -> Iterator[dict[str, dict[str, Any]]]:
    """A block in which functions have other defaults.

    Args:
        list_ops_or_scope: the functions; or what another block gave, to open it again.
        kwargs: the keywords that they get.

    Raises:
        ValueError: a function does not take part, or a block is opened again with keywords.
    """
    opened = _opened()
    if isinstance(list_ops_or_scope, Mapping):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling a dictionary, kwargs "
                             f"must be empty, got {sorted(kwargs)}")  # fmt: skip
        now = dict(list_ops_or_scope)
    else:
        now = dict(opened[-1])
        for one in list_ops_or_scope:
            if not has_arg_scope(one):
                raise ValueError(f"{_key(one)} is not decorated with @add_arg_scope")
            now[_key(one)] = {**now.get(_key(one), {}), **kwargs}
    opened.append(now)
    try:
        yield now
    finally:
        opened.pop()
