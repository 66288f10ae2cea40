"""The functions of a namespace, one for each operator, made when they are first asked for.

There are hundreds, most programs need a few, and to write the documentation of one takes longer
than to run it. A user's operator comes to those of its prefix when it is registered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, final

from hybridnet.base.unsupported import missing

from .operator import Operator
from .registry import namespaces

__all__ = ["Functions"]


@final
class Functions:
    """The functions of a module, for its ``__getattr__`` and ``__dir__``.

    Args:
        namespace: as users write it, such as 'nd.linalg', for errors.
        module: the names that the module has (its `globals()`), where functions are put.
        operators: by the names that their functions have.
        make: makes a function of an operator and that name.
        prefix: what the names of users' operators begin with that get a function here (see
            `public_name` in the registry); None: none does.

    Attributes:
        title: the namespace, as given.
        operators: as given, and those that were added.
        prefix: as given.
    """

    def __init__(
        self,
        namespace: str,
        module: dict[str, Any],
        operators: Mapping[str, Operator],
        make: Callable[[Operator, str], Any],
        prefix: str | None = None,
    ) -> None:
        self.title = namespace
        self.prefix = prefix or ""
        self._module = module
        self.operators = dict(operators)
        self._make = make
        if prefix is not None:
            namespaces.append(self)

    def __iter__(self) -> Iterator[str]:
        return iter(self.operators)

    def attribute(self, name: str) -> Callable[..., Any]:
        """Returns the function of a name, which the module has from now on.

        Raises:
            AttributeError: there is none; see `missing`.
        """
        op = self.operators.get(name)
        if op is None:
            raise missing(self.title, name, self._module["__all__"])
        made: Callable[..., Any] = self._make(op, name)
        self._module[name] = made
        return made

    def has(self, name: str) -> bool:
        """Whether the module has a name: as it is, or when it is asked for."""
        if name in self._module or name in self.operators:
            return True
        try:  # modules that are loaded when they are first used
            self._module["__getattr__"](name)
        except AttributeError:
            return False
        return True

    def add(self, name: str, op: Operator) -> None:
        """Gives the module a function for an operator, by a name that it does not have."""
        self.operators[name] = op
        self._module["__all__"].append(name)

    def names(self) -> list[str]:
        """Returns what ``dir`` shows of the module."""
        return sorted({*self._module, *self.operators})
