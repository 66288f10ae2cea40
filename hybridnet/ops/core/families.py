"""Makers of operator families: a function of numbers becomes an operator in one to three lines.

    unary("sin", lambda x: jnp.sin(x), "Sine of each element, in radians.")
    broadcast("broadcast_add", lambda a, b: a + b, "Sum, with broadcasting.")

JAX appears only inside the functions, which run when a program is built.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.attrs import Scalar, annotation_of
from hybridnet.base.dtype import BOOL, FLOAT64, INT64, is_float
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from .backward import vjp_gradient
from .call import Backward
from .registry import operator
from .rules import (
    broadcast_shape,
    check_same_shape,
    promote_types,
    refuse_bool,
    refuse_bools,
    same_type,
    scalar_dtype,
    unify,
)

#: Why rounding, comparing and the like have no gradient.
STEP = "it is piecewise constant, so its derivative is zero wherever there is one"

#: Names of the operators made here: each element of the result depends, of an array of the same
#: shape, on the element at the same place and no other.
ELEMENTWISE: Final[set[str]] = set()

# How far a number of float64 may be from a whole one, relatively, that is taken for it.
_ROUNDING: Final = 2.0**-48

Gradient = Callable[[Backward], Sequence[Any]]
_SIDES = ("lhs", "rhs")
# By whether there may be any number of an input.
_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def convert(data: Any, dtype: np.dtype[Any]) -> Any:
    """Converts an array as C does: floats are truncated, and integers wrap around.

    XLA alone would clamp: -1.0 as uint8 would be 0, and not 255.
    """
    if (
        is_float(np.dtype(data.dtype))
        and not is_float(dtype)
        and dtype != BOOL
        and dtype.itemsize < 4
    ):
        data = jnp.astype(data, np.int32)
    return jnp.astype(data, dtype)


def promoted(*arrays: Any) -> list[Any]:
    """Converts arrays to the dtype that they are combined in."""
    if len(arrays) == 2 and arrays[0].dtype == arrays[1].dtype:
        return list(arrays)
    dtype = promote_types(arrays)
    return [_in_dtype(array, dtype) for array in arrays]


def _in_dtype(array: Any, dtype: np.dtype[Any]) -> Any:
    """Converts an array that has another dtype; `astype` of NumPy copies all."""
    return array if array.dtype == dtype else array.astype(dtype)


def _without_rounding(y: Any) -> Any:
    """Makes float64 numbers whole that are whole but for rounding.

    They are truncated next, and XLA's log2 of 8 is just below 3.
    """
    whole = jnp.round(y)
    return jnp.where(jnp.abs(y - whole) <= _ROUNDING * jnp.abs(whole), whole, y)


def unary(
    name: str,
    function: Callable[[Any], Any],
    doc: str,
    *,
    aliases: Sequence[str] = (),
    integers: bool = False,
    booleans: bool = False,
    gradient: Gradient | None = None,
    no_gradient: str = "",
    own_gradient: Callable[..., bool] | None = None,
    output_names: Sequence[str] = ("output",),
) -> None:
    """Registers a function of each element; the result has the shape and dtype of the input.

    Args:
        name: MXNet's name.
        function: computes it, of a floating array (and of integers where `integers`).
        doc: the documentation.
        aliases: other names.
        integers: whether `function` keeps integers as they are; otherwise they are computed in
            float64 and truncated, as in MXNet.
        booleans: whether bool arrays are accepted; of two arrays, whether both may be bool.
        gradient: the rule; default `jax.vjp`.
        no_gradient: why there is none.
        own_gradient: see `operator`.
        output_names: the name of the output in saved symbols.
    """

    def lowering(data: Any) -> Any:
        if integers or is_float(data.dtype):
            return function(data)
        return convert(_without_rounding(function(data.astype(FLOAT64))), np.dtype(data.dtype))

    ELEMENTWISE.add(name)
    operator(
        name,
        aliases=aliases,
        infer=same_type,
        check=None if booleans else refuse_bool(name),
        gradient=gradient,
        no_gradient=no_gradient,
        own_gradient=own_gradient,
        output_names=output_names,
        doc=doc,
    )(lowering)


def elemwise(
    name: str,
    function: Callable[[Any, Any], Any],
    doc: str,
    *,
    aliases: Sequence[str] = (),
    booleans: bool = False,
    gradient: Gradient | None = None,
    no_gradient: str = "",
) -> None:
    """Registers a function of two arrays of equal shape, computed in their promoted dtype.

    Arguments are those of `unary`; `function` may return bool, which becomes 0 and 1.
    """
    numeric = refuse_bools(name)

    def lowering(lhs: Any, rhs: Any) -> Any:
        if lhs.dtype != rhs.dtype:
            lhs, rhs = promoted(lhs, rhs)
        made = function(lhs, rhs)
        return made if made.dtype == lhs.dtype else made.astype(lhs.dtype)

    def check(*types: TensorType, **_: Any) -> None:
        check_same_shape(name, _SIDES, types)
        if not booleans:
            numeric(*types)

    def infer(*types: TensorType, **_: Any) -> tuple[TensorType]:
        return (tensor_type(types[0].shape, promote_types(types)),)

    ELEMENTWISE.add(name)
    operator(
        name,
        aliases=aliases,
        infer=infer,
        check=check,
        complete=unify,
        gradient=gradient,
        no_gradient=no_gradient,
        doc=f"{doc}\n\nThe arrays must have equal shapes.",
    )(lowering)


def broadcast(
    name: str,
    function: Callable[[Any, Any], Any],
    doc: str,
    *,
    aliases: Sequence[str] = (),
    booleans: bool = False,
    no_gradient: str = "",
    gradient: Gradient | None = None,
) -> None:
    """Registers a function of two arrays that broadcast, computed in their promoted dtype.

    Arguments are those of `unary`; `function` may return bool, which becomes 0 and 1; `gradient`
    holds for arrays of one shape and dtype.
    """

    def without_broadcasting(back: Backward) -> Sequence[Any]:
        lhs, rhs = (value.type for value in back.inputs)
        if gradient is None or lhs is None or lhs is not rhs:
            return vjp_gradient(back)
        return gradient(back)

    def lowering(lhs: Any, rhs: Any) -> Any:
        if lhs.dtype != rhs.dtype:
            lhs, rhs = promoted(lhs, rhs)
        made = function(lhs, rhs)
        return made if made.dtype == lhs.dtype else made.astype(lhs.dtype)

    def infer(*types: TensorType, **_: Any) -> tuple[TensorType]:
        return (tensor_type(broadcast_shape(name, _SIDES, types), promote_types(types)),)

    ELEMENTWISE.add(name)
    operator(
        name,
        aliases=aliases,
        infer=infer,
        check=None if booleans else refuse_bools(name),
        gradient=None if gradient is None else without_broadcasting,
        no_gradient=no_gradient,
        doc=f"{doc}\n\nThe shapes broadcast as in NumPy.",
    )(lowering)


def operands_of_scalar_form(data: Any, scalar: Any, is_int: bool) -> tuple[Any, Any]:
    """Converts an array and a number to the dtype of their result."""
    dtype = scalar_dtype(np.dtype(data.dtype), is_int)
    # By way of int64, so that -5 beside uint8 wraps to 251 as in C.
    number = scalar if is_float(dtype) else jnp.asarray(scalar).astype(INT64)
    return _in_dtype(data, dtype), number.astype(dtype)


def scalar_form(
    name: str,
    function: Callable[[Any, Any], Any],
    doc: str,
    *,
    aliases: Sequence[str] = (),
    gradient: Gradient | None = None,
    no_gradient: str = "",
) -> None:
    """Registers a function of an array and a number, which stays an input of the program.

    Arguments are those of `unary`; `function` gets the array and the number as 0-d array, both in
    the result's dtype (see `scalar_dtype`).
    """

    def lowering(data: Any, *, scalar: Scalar = 1.0, is_int: bool = True) -> Any:
        x, number = operands_of_scalar_form(data, scalar, is_int)
        return _in_dtype(function(x, number), x.dtype)

    def infer(data: TensorType, *, is_int: bool, **_: Any) -> tuple[TensorType]:
        return (tensor_type(data.shape, scalar_dtype(data.dtype, is_int)),)

    ELEMENTWISE.add(name)
    operator(
        name, aliases=aliases, infer=infer, gradient=gradient, no_gradient=no_gradient, doc=doc
    )(lowering)


def signed(
    lowering: Callable[..., Any], positional: Sequence[str], keywords: Mapping[str, tuple[Any, Any]]
) -> Callable[..., Any]:
    """Gives a lowering with ``*args, **kwargs`` the signature that the registry reads.

    Args:
        positional: names of its inputs; ``*data`` for any number of them.
        keywords: name -> annotation and default of its parameters.
    """
    arguments = [
        inspect.Parameter(name.removeprefix("*"), _KINDS[name.startswith("*")])
        for name in positional
    ]
    arguments += [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
        )
        for name, (annotation, default) in keywords.items()
    ]
    lowering.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]
    return lowering


def keywords_of(lowering: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Returns name -> annotation and default of a lowering's parameters, for `signed`."""
    return {
        param.name: (annotation_of(param, lowering), param.default)
        for param in inspect.signature(lowering).parameters.values()
        if param.kind is param.KEYWORD_ONLY
    }
