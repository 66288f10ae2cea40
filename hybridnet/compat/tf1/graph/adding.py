"""Adding Operations with one output: what functions with TensorFlow's names are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hybridnet.graph import EdgeHandle
from hybridnet.ops.core import registry

from ..dtypes import DType
from .arguments import as_shape, dims_of
from .building import apply_call, fused, op
from .by_value import ByValue
from .control import name_scope
from .infer import Kind
from .operators import cast_to, handle, is_zero, ones_where, turned
from .tensor import Operation, Tensor
from .values import constant, convert_to_tensor, identity, require_same

#: What most modules of functions need, of this module and of others: one line brings it.
__all__ = [
    "EdgeHandle", "Operation", "Tensor", "apply_shaped", "cast_to", "constant",
    "convert_to_tensor", "described", "fused", "handle", "identity", "in_scope", "is_zero",
    "name_scope", "of_shape", "ones_where", "op", "require_same", "turned",
]  # fmt: skip


def apply_shaped(
    kind: str,
    operator: str,
    inputs: Sequence[Tensor],
    given: dict[str, Any],
    params: dict[str, Any] | None = None,
    *,
    dtype: DType,
    dims: Any,
    name: str | None = None,
) -> Tensor:
    """As `op`, where some of the parameters may be tensors that hold whole numbers.

    Args:
        kind, operator, inputs, name: as for `op`.
        given: parameters that are tensors, or tuples of numbers as `as_shape` gives them.
        params: the others.
        dtype: of the output.
        dims: its sizes as far as they are known, where a parameter is a tensor.
    """
    late = {key: one for key, one in given.items() if isinstance(one, Tensor)}
    known = {key: one for key, one in given.items() if key not in late} | (params or {})
    if not late:
        return op(kind, operator, inputs, name=name, **known)
    call = ByValue(registry.get(operator), len(inputs), known, tuple(late))
    kinds = [Kind(dtype.base_dtype.numpy, None if dims is None else tuple(dims))]
    made: Tensor = apply_call(kind, call, (*inputs, *late.values()), name=name, kinds=kinds)
    return made


def of_shape(
    kind: str,
    operator: str,
    inputs: Sequence[Tensor],
    shape: Any,
    dtype: DType,
    params: dict[str, Any] | None = None,
    *,
    name: str | None = None,
    by: str = "shape",
) -> Tensor:
    """Adds an Operation whose output has a shape that may be a tensor; as `apply_shaped`, but for:

    Args:
        shape: of the output, as users give it.
        by: the operator's parameter for it.
    """
    given, dims = {by: as_shape(shape)}, dims_of(shape)
    return apply_shaped(kind, operator, inputs, given, params, dtype=dtype, dims=dims, name=name)


def in_scope(
    kind: str,
    function: Callable[..., EdgeHandle],
    inputs: Sequence[Tensor],
    *,
    scope: str,
    last: str,
    name: str | None = None,
) -> Tensor:
    """Adds an Operation for what is several in TensorFlow, by the name of the last of these.

    Args:
        kind: the type of the last one.
        function, inputs: as for `compose`.
        scope: the default name of the scope that they are in.
        last: the name of the last one in it.
        name: the user's name for the scope.
    """
    with name_scope(name, scope, inputs):
        return fused(kind, function, inputs, name=last)


def described(function: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    """Gives one of several functions that are made alike its name and its docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function
