"""The variables of the default graph: what sets them, and which of them are not set yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ..graph import GraphKeys, Operation, get_default_graph, group
from ..session.session import register_session_run_conversion_functions
from .variable import is_variable_initialized

__all__ = [
    "all_variables", "global_variables", "global_variables_initializer", "initialize_all_variables",
    "initialize_variables", "local_variables", "local_variables_initializer", "model_variables",
    "moving_average_variables", "report_uninitialized_variables", "trainable_variables",
    "variables_initializer",
]  # fmt: skip


def global_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that are kept in checkpoints; those in a scope only, if given."""
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables of this process only."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that are in the collection of that name."""
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that optimizers change."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables of which moving averages are kept."""
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Sequence[Any], name: str = "init") -> Operation:
    """Returns an Operation that sets variables to their initial values."""
    return group(*(one.initializer for one in var_list), name=name)


def global_variables_initializer() -> Operation:
    """Returns an Operation that sets all global variables to their initial values."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """Returns an Operation that sets all local variables to their initial values."""
    return variables_initializer(local_variables(), name="init")


# Older names.
all_variables = global_variables
initialize_variables = variables_initializer
initialize_all_variables = global_variables_initializer


@final
class _Names:
    """A fetch of the names of those variables that a session has not initialized."""

    def __init__(self, variables: Sequence[Any], name: str) -> None:
        self.name = name
        self.variables = tuple(variables)
        self.held = [is_variable_initialized(one) for one in variables]

    def names(self, held: Sequence[bool]) -> np.ndarray[Any, Any]:
        """Returns the names, as bytes."""
        pairs = zip(self.variables, held, strict=True)
        return np.array([one.op.name.encode() for one, there in pairs if not there], object)


def report_uninitialized_variables(
    var_list: Sequence[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Any:
    """Returns what can be fetched as the names of the variables that a session has not set yet.

    Args:
        var_list: of which; default all global and local ones.
        name: without meaning here.
    """
    listed = [*global_variables(), *local_variables()] if var_list is None else var_list
    return _Names(list(listed), name)


register_session_run_conversion_functions(_Names, lambda found: (found.held, found.names))
