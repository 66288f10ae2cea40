"""``tf.contrib.framework``: `arg_scope`, and older names of the steps and lists of variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final, TypeVar

from ..graph import GraphKeys, Tensor, get_collection, get_default_graph
from ..operations.sparse.tensor import IndexedSlices, SparseTensor
from ..training.rates import create_global_step, get_global_step, get_or_create_global_step
from ..variables.scope import VariableScope
from ..variables.variable import Variable

__all__ = [
    "add_arg_scope", "arg_scope", "create_global_step", "get_global_step", "get_model_variables",
    "get_or_create_global_step", "get_trainable_variables", "get_variables",
    "get_variables_to_restore", "has_arg_scope", "is_tensor",
]  # fmt: skip

_Function = TypeVar("_Function", bound=Callable[..., Any])
#: Where a graph keeps the blocks that are open; each is the keywords of functions, by their names.
_OPEN: Final = "arg_scopes"


def is_tensor(x: Any) -> bool:
    """Whether something is a tensor, a variable, or a sparse tensor."""
    return isinstance(x, (Tensor, Variable, SparseTensor, IndexedSlices))


def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """Returns variables of a collection.

    Args:
        scope: what their names begin with, or a `VariableScope`; None: any.
        suffix: what their names end with; None: anything.
        collection: the collection.
    """
    begins = scope.name if isinstance(scope, VariableScope) else scope
    if suffix is not None:
        begins = f"{begins or ''}.*{suffix if ':' in suffix else suffix + ':'}"
    return get_collection(collection, begins)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Returns those of `get_variables` that optimizers change."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Returns those of `get_variables` that are in MODEL_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list[Any]:
    """Returns the variables of some scopes, without those of others.

    Args:
        include: a list of scopes; None: all variables.
        exclude: a list of scopes whose variables are left out.
    """
    scopes = [None] if include is None else include
    found = [one for scope in scopes for one in get_variables(scope)]
    left = {one for scope in exclude or () for one in get_variables(scope)}
    return [one for one in dict.fromkeys(found) if one not in left]


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
