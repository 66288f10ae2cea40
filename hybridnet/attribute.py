"""`AttrScope`: attributes for all that is recorded into a graph in a ``with`` block."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import ClassVar

from hybridnet.base.errors import ParameterError
from hybridnet.base.locks import free_in_children
from hybridnet.base.scopes import ScopedType, ScopeStack
from hybridnet.engine import RLock

__all__ = ["AttrScope", "subgraph_name"]

_scopes: ScopeStack[AttrScope] = ScopeStack(lambda: AttrScope())


class AttrScope(metaclass=ScopedType):
    """Gives its attributes to every symbol made inside: ``with AttrScope(ctx_group="dev1"): ...``.

    What a function records while it is traced gets those about recomputation, ``force_mirroring``
    and ``mirror_stage``. Inner scopes add to outer ones and win over them. `AttrScope.current` is
    the scope in force in this thread; setting it replaces that.

    Args:
        attributes: the attributes, all strings; apart from MXNet's own (``ctx_group``,
            ``lr_mult``, ``wd_mult``, ...) names begin and end with two underscores.

    Raises:
        ParameterError: a value is not a string.
    """

    _stack = _scopes
    #: How many subgraphs (of loops and choices) there are of each name.
    _subgraph_names: ClassVar[defaultdict[str, int]] = defaultdict(int)

    def __init__(self, **attributes: str) -> None:
        for name, value in attributes.items():
            if not isinstance(value, str):
                raise ParameterError(
                    f"AttrScope: attributes must be strings, got {name}={value!r}; "
                    f"write {name}={str(value)!r}"
                )
        self._attr = attributes

    def get(self, attr: Mapping[str, str] | None) -> dict[str, str]:
        """Returns this scope's attributes with the given ones added, which win."""
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> AttrScope:
        _scopes.enter(AttrScope(**_scopes.innermost.get(self._attr)))
        return self

    def __exit__(self, *exc: object) -> None:
        _scopes.leave()


_naming = free_in_children(RLock())


def subgraph_name(name: str) -> str:
    """Returns a name of its own for a subgraph: ``foreach0``, ``foreach1``, ..."""
    with _naming:
        number = AttrScope._subgraph_names[name]
        AttrScope._subgraph_names[name] += 1
    return f"{name}{number}"
