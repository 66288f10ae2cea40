"""The variables of the default graph, and what sets them to their initial values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.control import group
from ..graph.graph import GraphKeys, get_default_graph
from ..graph.tensor import Operation

__all__ = [
    "all_variables",
    "global_variables",
    "global_variables_initializer",
    "initialize_all_variables",
    "initialize_variables",
    "local_variables",
    "local_variables_initializer",
    "model_variables",
    "moving_average_variables",
    "trainable_variables",
    "variables_initializer",
]


def global_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that are kept in checkpoints; those in a scope only, if given."""
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


all_variables = global_variables


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


initialize_variables = variables_initializer


def global_variables_initializer() -> Operation:
    """Returns an Operation that sets all global variables to their initial values."""
    return variables_initializer(global_variables())


initialize_all_variables = global_variables_initializer


def local_variables_initializer() -> Operation:
    """Returns an Operation that sets all local variables to their initial values."""
    return variables_initializer(local_variables(), name="init")
