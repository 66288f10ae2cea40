"""The functions of a namespace, one for each operator, made when they are first asked for.

There are hundreds, most programs need a few, and to write the documentation of one takes longer
than to run it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, final

from hybridnet.base.unsupported import missing

from .operator import Operator

__all__ = ["Functions"]


@final
class Functions:
    """The functions of a module, for its ``__getattr__`` and ``__dir__``.

    Args:
        namespace: as users write it, such as 'nd.linalg', for errors.
        module: the names that the module has (its `globals()`), where functions are put.
        operators: by the names that their functions have.
        make: makes a function of an operator and that name.
    """

    def __init__(
        self,
        namespace: str,
        module: dict[str, Any],
        operators: Mapping[str, Operator],
        make: Callable[[Operator, str], Any],
    ) -> None:
        self._namespace = namespace
        self._module = module
        self._operators = operators
        self._make = make

    def __iter__(self) -> Iterator[str]:
        return iter(self._operators)

    def attribute(self, name: str) -> Callable[..., Any]:
        """Returns the function of a name, which the module has from now on.

        Raises:
            AttributeError: there is none; see `missing`.
        """
        op = self._operators.get(name)
        if op is None:
            raise missing(self._namespace, name, self._module["__all__"])
        made: Callable[..., Any] = self._make(op, name)
        self._module[name] = made
        return made

    def names(self) -> list[str]:
        """Returns what ``dir`` shows of the module."""
        return sorted({*self._module, *self._operators})
