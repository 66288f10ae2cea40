"""Arithmetic and comparisons of two arrays, of an array and a number, and of many arrays.

Every function comes in three forms under MXNet's names: for equal shapes (``elemwise_add``), with
broadcasting (``broadcast_add``), and with a number (``_plus_scalar``). Arrays of different dtypes,
which MXNet refuses, are combined in the dtype that `hybridnet.base.dtype.promote` gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.attrs import Platform, Scalar
from hybridnet.base.dtype import FLOAT64, is_float
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jax, jnp, lax

from ..core.backward import FLAT, vjp_gradient
from ..core.call import Backward
from ..core.families import (
    broadcast,
    convert,
    elemwise,
    operands_of_scalar_form,
    promoted,
    scalar_form,
)
from ..core.registry import operator
from ..core.rules import check_same_shape, promote_types, refuse_bool, scalar_dtype, unify


def _divide(a: Any, b: Any) -> Any:
    """Quotient; of integers without the fraction, towards zero, and 0 where the divisor is 0."""
    if is_float(np.dtype(a.dtype)):
        return a / b
    none = b == 0
    return jnp.where(none, 0, lax.div(*jnp.broadcast_arrays(a, jnp.where(none, 1, b))))


FLAT.update(("_mod", "broadcast_mod", "_mod_scalar", "_rmod_scalar"))


def _modulo(a: Any, b: Any) -> Any:
    """Remainder with the sign of the divisor; 0 where the divisor is 0, as in MXNet."""
    none = b == 0
    return jnp.where(none, 0, jnp.mod(a, jnp.where(none, 1, b)))


def _maximum(a: Any, b: Any) -> Any:
    # A selection, and not jnp.maximum, whose gradient is halved between equal elements.
    # The second condition lets a NaN on either side through.
    return jnp.where((a >= b) | (a != a), a, b)


def _minimum(a: Any, b: Any) -> Any:
    return jnp.where((a <= b) | (a != a), a, b)


def _in_float(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Computes integers in float64 and truncates the result."""

    def compute(a: Any, b: Any) -> Any:
        dtype = np.dtype(a.dtype)
        if is_float(dtype):
            return function(a, b)
        return convert(function(a.astype(FLOAT64), b.astype(FLOAT64)), dtype)

    return compute


_power = _in_float(lambda a, b: jnp.power(a, b))


def _hypot_with_slope(a: Any, b: Any) -> Any:
    """The hypotenuse; its gradient at the origin is NaN, as MXNet's: versions of JAX differ."""
    function = jax.custom_vjp(lambda a, b: jnp.hypot(a, b))

    def forward(a: Any, b: Any) -> Any:
        made = jnp.hypot(a, b)
        return made, (a, b, made)

    function.defvjp(forward, lambda kept, grad: tuple(grad * x / kept[2] for x in kept[:2]))
    return function(*jnp.broadcast_arrays(a, b))


_hypot = _in_float(_hypot_with_slope)
_arctan2 = _in_float(lambda a, b: jnp.arctan2(a, b))


def _swapped(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: function(b, a)


# Gradient rules. Those of arrays of two dtypes, and those that must sum over broadcast axes, are
# left to jax.vjp.


def _equal_dtypes(back: Backward) -> bool:
    lhs, rhs = (side.inferred_dtype for side in back.inputs)
    return lhs is not None and lhs == rhs


def add_gradient(back: Backward) -> Sequence[Any]:
    """The rule of a sum of two arrays of one shape."""
    return [back.grads[0], back.grads[0]] if _equal_dtypes(back) else vjp_gradient(back)


def subtract_gradient(back: Backward) -> Sequence[Any]:
    """The rule of a difference of two arrays of one shape."""
    return [back.grads[0], -back.grads[0]] if _equal_dtypes(back) else vjp_gradient(back)


def multiply_gradient(back: Backward) -> Sequence[Any]:
    """The rule of a product of two arrays of one shape."""
    if not _equal_dtypes(back):
        return vjp_gradient(back)
    grad, (lhs, rhs), (wants_lhs, wants_rhs) = back.grads[0], back.inputs, back.wanted
    return [grad * rhs if wants_lhs else None, grad * lhs if wants_rhs else None]


def _same_again(back: Backward) -> Sequence[Any]:
    """The gradient of scaling is the same scaling."""
    return back.apply(back.call, [back.grads[0]], back.scalars)


def _unchanged(back: Backward) -> Sequence[Any]:
    return [back.grads[0]]


# fmt: off
elemwise("elemwise_add", lambda a, b: a + b, "Sum of two arrays.",
         aliases=("_add", "_plus", "_Plus"), gradient=add_gradient)
elemwise("_grad_add", lambda a, b: a + b, "Sum of two gradients of one array.",
         gradient=add_gradient)
elemwise("elemwise_sub", lambda a, b: a - b, "Difference of two arrays.",
         aliases=("_sub", "_minus", "_Minus"), gradient=subtract_gradient)
elemwise("elemwise_mul", lambda a, b: a * b, "Product of two arrays, element by element.",
         aliases=("_mul", "_Mul"), gradient=multiply_gradient)
elemwise("elemwise_div", _divide, "Quotient of two arrays; of integers, without the fraction.",
         aliases=("_div", "_Div", "_scatter_elemwise_div"))
elemwise("_mod", _modulo, "Remainder, with the sign of the divisor; 0 where that is 0.",
         aliases=("_Mod",))
elemwise("_power", _power, "The first array to the power of the second.", aliases=("_Power",))
elemwise("_maximum", _maximum, "The larger of two elements; the gradient of a tie goes to lhs.",
         aliases=("_Maximum",))
elemwise("_minimum", _minimum, "The smaller of two elements; the gradient of a tie goes to lhs.",
         aliases=("_Minimum",))
elemwise("_hypot", _hypot, "Length of the hypotenuse: sqrt(lhs**2 + rhs**2).", aliases=("_Hypot",))

broadcast("broadcast_add", lambda a, b: a + b, "Sum of two arrays.", aliases=("broadcast_plus",),
          gradient=add_gradient)
broadcast("broadcast_sub", lambda a, b: a - b, "Difference of two arrays.",
          aliases=("broadcast_minus",), gradient=subtract_gradient)
broadcast("broadcast_mul", lambda a, b: a * b, "Product of two arrays, element by element.",
          gradient=multiply_gradient)
broadcast("broadcast_div", _divide, "Quotient of two arrays; of integers, without the fraction.")
broadcast("broadcast_mod", _modulo, "Remainder, with the sign of the divisor; 0 where that is 0.")
broadcast("broadcast_power", _power, "The first array to the power of the second.")
broadcast("broadcast_maximum", _maximum,
          "The larger of two elements; the gradient of a tie goes to lhs.")
broadcast("broadcast_minimum", _minimum,
          "The smaller of two elements; the gradient of a tie goes to lhs.")
broadcast("broadcast_hypot", _hypot, "Length of the hypotenuse: sqrt(lhs**2 + rhs**2).")
broadcast("_npi_arctan2", _arctan2, "Angle of the point (rhs, lhs), from -pi to pi.")

scalar_form("_plus_scalar", lambda x, s: x + s, "Array plus a number.",
            aliases=("_PlusScalar", "_scatter_plus_scalar"), gradient=_unchanged)
scalar_form("_minus_scalar", lambda x, s: x - s, "Array minus a number.",
            aliases=("_MinusScalar", "_scatter_minus_scalar"), gradient=_unchanged)
scalar_form("_rminus_scalar", lambda x, s: s - x, "Number minus an array.",
            aliases=("_RMinusScalar",), gradient=lambda back: [-back.grads[0]])
scalar_form("_mul_scalar", lambda x, s: x * s, "Array times a number.",
            aliases=("_MulScalar",), gradient=_same_again)
scalar_form("_div_scalar", _divide, "Array divided by a number; integers lose the fraction.",
            aliases=("_DivScalar",), gradient=_same_again)
scalar_form("_rdiv_scalar", _swapped(_divide), "Number divided by an array.",
            aliases=("_RDivScalar",))
scalar_form("_mod_scalar", _modulo, "Remainder of an array divided by a number.",
            aliases=("_ModScalar",), gradient=_unchanged)
scalar_form("_rmod_scalar", _swapped(_modulo), "Remainder of a number divided by an array.",
            aliases=("_RModScalar",))
scalar_form("_rpower_scalar", _swapped(_power), "Number to the power of an array.",
            aliases=("_RPowerScalar",))
scalar_form("_maximum_scalar", _maximum, "The larger of each element and a number.",
            aliases=("_MaximumScalar",))
scalar_form("_minimum_scalar", _minimum, "The smaller of each element and a number.",
            aliases=("_MinimumScalar",))
scalar_form("_hypot_scalar", _hypot, "sqrt(x**2 + scalar**2).", aliases=("_HypotScalar",))
scalar_form("_npi_arctan2_scalar", _arctan2, "Angle of the point (scalar, x), from -pi to pi.")
scalar_form("_npi_rarctan2_scalar", _swapped(_arctan2),
            "Angle of the point (x, scalar), from -pi to pi.")
# fmt: on


def _check_sum(*args: TensorType, **_: Any) -> None:
    check_same_shape("add_n", [f"args{i}" for i in range(len(args))], args)
    refuse_bool("add_n")(*args)


@operator(
    "add_n",
    aliases=("ElementWiseSum",),
    check=_check_sum,
    infer=lambda *args, **_: (tensor_type(args[0].shape, promote_types(args)),),
    complete=unify,
    cost=lambda *args, **_: float(sum(array.size for array in args)),
)
def _add_n(*args: Any, num_args: int = 0) -> Any:
    """Sum of any number of arrays of equal shape.

    Args:
        args: the arrays.
    """
    arrays = promoted(*args)
    total = arrays[0]
    for array in arrays[1:]:
        total = total + array
    return total


# Powers that cost far less than pow (on CPU x**2 takes a tenth of its time), by exponent.
_CHEAP_POWERS: Final[dict[float, Callable[[Any], Any]]] = {
    0.5: lambda x: jnp.sqrt(x),
    1.0: lambda x: x,
    2.0: lambda x: x * x,
    3.0: lambda x: x * x * x,
}


def _power_of_number(x: Any, exponent: Any, choose: bool) -> Any:
    """x to the power of a 0-d number, whose derivative is 0 where the number is 0.

    Args:
        x: a floating array.
        exponent: a number of the same dtype, known only when the program runs.
        choose: choose the computation then. Not on a GPU, which would have to wait for the host.
    """

    @jax.custom_jvp
    def power(x: Any) -> Any:
        if not choose:
            return jnp.power(x, exponent)
        *cheap, general = *_CHEAP_POWERS.values(), lambda x: jnp.power(x, exponent)
        matches = [exponent == known for known in _CHEAP_POWERS]
        index = jnp.argmax(jnp.stack([*matches, jnp.asarray(True)]))
        return lax.switch(index, [*cheap, general], x)

    @power.defjvp
    def power_jvp(primals: Any, tangents: Any) -> Any:
        (x,), (dx,) = primals, tangents
        # Not exponent * x**(exponent - 1), which is 0 * inf at x = exponent = 0.
        less = jnp.where(exponent == 0, 0, exponent - 1)
        return power(x), dx * exponent * _power_of_number(x, less, choose)

    return power(x)


def _power_scalar_type(data: TensorType, *, is_int: bool, **_: Any) -> tuple[TensorType]:
    return (tensor_type(data.shape, scalar_dtype(data.dtype, is_int)),)


@operator("_power_scalar", aliases=("_PowerScalar",), infer=_power_scalar_type)
def _power_scalar(
    data: Any, *, scalar: Scalar = 1.0, is_int: bool = True, platform: Platform
) -> Any:
    """Array to the power of a number."""
    x, number = operands_of_scalar_form(data, scalar, is_int)
    if not is_float(np.dtype(x.dtype)):
        return _power(x, number)
    return _power_of_number(x, number, platform == "cpu")


# Comparisons and logic. Results are 0 and 1 in the dtype of the operands, as in MXNet, so that
# ``(x > 0) * x`` needs no conversion. Of bool arrays the result is bool.

_TRUTH = "its result is a truth value"


def _compare(name: str, function: Callable[[Any, Any], Any], doc: str) -> None:
    """Registers the three forms of one comparison, under MXNet's older names too."""
    old, meaning = name.title(), f"1 where {doc}, otherwise 0."
    alias = f"_{old.replace('_', '')}Scalar"
    elemwise(f"_{name}", function, meaning, aliases=(f"_{old}",), booleans=True, no_gradient=_TRUTH)
    broadcast(f"broadcast_{name}", function, meaning, booleans=True, no_gradient=_TRUTH)
    scalar_form(
        f"_{name}_scalar", function, f"1 where {doc.replace('rhs', 'scalar')}, otherwise 0.",
        aliases=(alias,), no_gradient=_TRUTH,
    )  # fmt: skip


_compare("equal", lambda a, b: a == b, "lhs equals rhs")
_compare("not_equal", lambda a, b: a != b, "lhs differs from rhs")
_compare("greater", lambda a, b: a > b, "lhs is greater than rhs")
_compare("greater_equal", lambda a, b: a >= b, "lhs is at least rhs")
_compare("lesser", lambda a, b: a < b, "lhs is less than rhs")
_compare("lesser_equal", lambda a, b: a <= b, "lhs is at most rhs")
_compare("logical_and", lambda a, b: (a != 0) & (b != 0), "neither lhs nor rhs is zero")
_compare("logical_or", lambda a, b: (a != 0) | (b != 0), "lhs or rhs is not zero")
_compare("logical_xor", lambda a, b: (a != 0) ^ (b != 0), "just one of lhs and rhs is zero")
