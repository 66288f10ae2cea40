"""`make_template`: a function whose variables are shared between its calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from ..graph.control import name_scope
from .scope import VariableScope, variable_scope

__all__ = ["make_template"]


@final
class _Template:
    """A function with variables of its own.

    Args:
        name: what the scope of the variables is called.
        function: what is called.
        unique: whether that is its name exactly, and not the first of that kind that is free.
        keywords: given to each call.

    Attributes:
        variable_scope: the scope of the variables, once it has been called.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], unique: bool, keywords: dict[str, Any]
    ) -> None:
        self._name = name
        self._function = function
        self._unique = unique
        self._keywords = keywords
        self.variable_scope: VariableScope | None = None
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Calls the function; the first call makes the variables, the others share them."""
        given = {**self._keywords, **keywords}
        found = self.variable_scope or (self._name if self._unique else None)
        reuse = None if self.variable_scope is None else True
        block = variable_scope(found, self._name, reuse=reuse, auxiliary_name_scope=False)
        with name_scope(self._name), block as scope:
            made = self._function(*args, **given)
        self.variable_scope = self.variable_scope or scope
        return made


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Returns a function that shares its variables between its calls.

    Args:
        name_: what the scope of the variables is called; made unique.
        func_: what is called; it gets its variables by `tf.get_variable`.
        create_scope_now_: without meaning here: the first call opens the scope.
        unique_name_: the name of the scope as it is.
        custom_getter_: without meaning here; must be None.
        kwargs: given to each call.
    """
    if custom_getter_ is not None:
        raise ValueError("make_template: custom_getter_ must be None; give it to variable_scope")
    return _Template(unique_name_ or name_, func_, unique_name_ is not None, kwargs)
