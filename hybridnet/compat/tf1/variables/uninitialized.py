"""`report_uninitialized_variables`: which variables a session has not set yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ..session.session import register_session_run_conversion_functions
from .lists import global_variables, local_variables
from .variable import is_variable_initialized

__all__ = ["report_uninitialized_variables"]


@final
class _Names:
    """What a session fetches as the names of those variables that it has not set."""

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
