"""The functions of a namespace, one for each operator, made when they are first asked for.

There are hundreds, most programs need a few, and to write the documentation of one takes longer
than to run it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, final

from .operator import Operator

__all__ = ["Functions"]


@final
class Functions:
    """The functions of a module, for its ``__getattr__`` and ``__dir__``.

    Args:
        module: the names that the module has (its `globals()`), where functions are put.
        operators: by the names that their functions have.
        make: makes a function of an operator and that name.
    """

    def __init__(
        self,
        module: dict[str, Any],
        operators: Mapping[str, Operator],
        make: Callable[[Operator, str], Any],
    ) -> None:
        self._module = module
        self._operators = operators
        self._make = make

    def __iter__(self) -> Iterator[str]:
        return iter(self._operators)

    def find(self, name: str) -> Callable[..., Any] | None:
        """Returns the function of a name, which the module has from now on; None: there is none."""
        op = self._operators.get(name)
        if op is None:
            return None
        made: Callable[..., Any] = self._make(op, name)
        self._module[name] = made
        return made

    def names(self) -> list[str]:
        """Returns what ``dir`` shows of the module."""
        return sorted({*self._module, *self._operators})
