"""``tf.contrib.framework``: older names of the counter of steps and of lists of variables."""

from __future__ import annotations

from typing import Any

from ..graph.control import get_collection
from ..graph.graph import GraphKeys
from ..graph.tensor import Tensor
from ..operations.sparse.tensor import IndexedSlices, SparseTensor
from ..training.rates import create_global_step as create_global_step
from ..training.rates import get_global_step as get_global_step
from ..training.rates import get_or_create_global_step as get_or_create_global_step
from ..variables.scope import VariableScope
from ..variables.variable import Variable
from .scoped import add_arg_scope as add_arg_scope
from .scoped import arg_scope as arg_scope
from .scoped import has_arg_scope as has_arg_scope

__all__ = [
    "add_arg_scope", "arg_scope", "create_global_step", "get_global_step", "get_model_variables",
    "get_or_create_global_step", "get_trainable_variables", "get_variables",
    "get_variables_to_restore", "has_arg_scope", "is_tensor",
]  # fmt: skip


def is_tensor(x: Any) -> bool:
    """Whether something is a tensor, a variable, or a sparse tensor."""
    return isinstance(x, (Tensor, Variable, SparseTensor, IndexedSlices))


def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """Returns variables of a collection.

    Args:
        scope: what their names begin with, or a `VariableScope`; None: any.
        suffix: what their names end with; None: anything.
        collection: the collection.
    """
    begins = scope.name if isinstance(scope, VariableScope) else scope
    if suffix is not None:
        begins = f"{begins or ''}.*{suffix if ':' in suffix else suffix + ':'}"
    return get_collection(collection, begins)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Returns those of `get_variables` that optimizers change."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Returns those of `get_variables` that are in MODEL_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list[Any]:
    """Returns the variables of some scopes, without those of others.

    Args:
        include: a list of scopes; None: all variables.
        exclude: a list of scopes whose variables are left out.
    """
    found = get_variables() if include is None else [
        one for scope in include for one in get_variables(scope)
    ]  # fmt: skip
    left = {one for scope in exclude or () for one in get_variables(scope)}
    return [one for one in dict.fromkeys(found) if one not in left]
