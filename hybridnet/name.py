"""The names that nodes of symbols get when the user gives none: ``fullyconnected0``."""

from __future__ import annotations

from hybridnet.base.scopes import ScopedType, ScopeStack

__all__ = ["NameManager", "Prefix"]

_managers: ScopeStack[NameManager] = ScopeStack(lambda: NameManager())


class NameManager(metaclass=ScopedType):
    """Numbers the nodes of each kind, in the ``with`` block of this manager.

    Subclasses may override `get`. `NameManager.current` is the manager in force in this thread;
    setting it replaces that.
    """

    _stack = _managers

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}

    def get(self, name: str | None, hint: str) -> str:
        """Returns the name of a new node.

        Args:
            name: the user's; where there is none, a new one is made.
            hint: what such a name begins with: the operator's name in lower case.
        """
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> NameManager:
        _managers.enter(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _managers.leave()


class Prefix(NameManager):
    """A manager that puts a prefix before every name, the user's own included.

    Args:
        prefix: what names begin with.
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """Returns the prefix and what `NameManager.get` gives."""
        return self._prefix + super().get(name, hint)
