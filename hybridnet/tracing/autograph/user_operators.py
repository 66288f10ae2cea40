"""The operators that functions call which a converter of the user's has made."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

from hybridnet.base.errors import ParameterError

from .branches import choice
from .calls import converted_call
from .conditions import is_staged
from .lines import user_line
from .state import Undefined


@final
class Operators:
    """The operators for control flow, for a converter that is given to `hn.function`."""

    @staticmethod
    def cond(
        condition: Any,
        then: Callable[[], tuple[Any, ...]],
        other: Callable[[], tuple[Any, ...]],
        names: Sequence[str],
    ) -> tuple[Any, ...]:
        """Runs one of two branches, or makes both of them part of the graph.

        Where Python knows the condition, the one that it says is called, and no other. An array
        that is traced has no value: then both are called, once each, and become graphs in one node
        of the trace, which runs one of them each time the trace runs.

        Args:
            condition: any Python value, or an array of one element.
            then, other: the branches: functions without parameters, each of which returns a tuple
                of the values that the variables have at its end.
            names: of the variables, for messages.

        Returns:
            The values of the variables after the choice. One that has no value after one of the
            branches of a graph is undefined; using it raises an error with its name.

        Raises:
            ParameterError: a branch does not return a tuple with a value for each name.
            ShapeError, DTypeError, ParameterError: the branches of a graph give a variable
                different shapes or types.
        """
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise ParameterError(f"cond: names must be names of variables, got {names!r}")
        names = tuple(names)

        def checked(what: str, branch: Callable[[], tuple[Any, ...]]) -> Callable[[], Any]:
            def run() -> tuple[Any, ...]:
                values = branch()
                if not isinstance(values, tuple) or len(values) != len(names):
                    raise ParameterError(
                        f"cond: {what} must return a tuple with a value for each of {names}, got "
                        f"{_described(values)}"
                    )
                return values

            return run

        branches = checked("then", then), checked("other", other)
        if not is_staged(condition):
            chosen: tuple[Any, ...] = branches[0 if condition else 1]()
            return chosen
        return tuple(choice(condition, branches, names, (then, other), user_line()))

    @staticmethod
    def undefined(name: str) -> Any:
        """Returns what a variable is before it has a value: using it is an error with its name."""
        return Undefined(name)

    @staticmethod
    def call(function: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls a function; if it is one of the user's, it is converted first, as its caller is."""
        return converted_call(function, args, kwargs)


#: From a function of the user's, and what its `if`s are to call, to one that does the same.
Converter: TypeAlias = Callable[[types.FunctionType, Operators], Callable[..., Any]]


def _described(values: object) -> str:
    if isinstance(values, tuple):
        return f"a tuple of {len(values)}"
    return f"a {type(values).__name__}"
