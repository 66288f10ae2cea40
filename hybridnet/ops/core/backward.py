"""The gradient of last resort: `jax.vjp` of a lowering, as a call of its own.

Its forward part is dead code to XLA where the operator is linear, and is merged with the forward
operator itself where both end up in one program. It can be differentiated again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.dtype import FLOAT64, is_float
from hybridnet.base.errors import MXNetError
from hybridnet.base.lazy import jax
from hybridnet.base.tensor_type import tensor_type

from ..host.derivatives import vjp
from ..host.namespace import jnp
from .alternatives import differentiating
from .call import Arrays, Backward, Call, Types, only

_made: Final[weakref.WeakValueDictionary[Any, VjpCall]] = weakref.WeakValueDictionary()


class BackwardCall(Call):
    """The gradients of some inputs of a call.

    Attributes:
        of: the call.
        wanted: the inputs whose gradients it gives, by number.
        given: the outputs whose gradients it is given, by number.
    """

    __slots__ = ("given", "of", "wanted")

    def __init__(self, of: Call, wanted: tuple[int, ...], given: tuple[int, ...]) -> None:
        super().__init__(len(wanted), num_scalars=of.num_scalars)
        self.of = of
        self.wanted = wanted
        self.given = given

    @property
    def name(self) -> str:
        """As MXNet names gradients."""
        return f"_backward_{self.of.name}"

    def facts(self) -> Sequence[Any] | None:
        """The call that it is the gradient of, and which gradient."""
        of = self.of.fingerprint
        return None if of is None else (of, self.wanted, self.given)

    def infer(self, types: Types) -> Types:
        """A gradient has the type of what it is the gradient of."""
        return tuple(types[i] for i in self.wanted)

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Second and higher orders: by differentiating the lowering."""
        return vjp_gradient(back)


@final
class VjpCall(BackwardCall):
    """The vector-Jacobian product of another call.

    Its inputs are the inputs of that call and then the gradients of those of its outputs that have
    one; its outputs are the gradients of the wanted inputs. Made by `vjp_call`.
    """

    __slots__ = ()

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Differentiates the lowering at the inputs and applies it to the output gradients."""

        def forward(primals: Arrays) -> Arrays:
            return self.of.lower(platform, primals, scalars)

        with differentiating(self.of, self.wanted):
            return self._pulled_back(jax.vjp, forward, operands)

    def evaluate(self, operands: Arrays, scalars: Arrays) -> Arrays:
        """Differentiates the lowering on NumPy arrays."""
        return self._pulled_back(vjp, lambda primals: self.of.evaluate(primals, scalars), operands)

    def _pulled_back(
        self, vjp: Callable[..., Any], compute: Callable[[Arrays], Arrays], operands: Arrays
    ) -> Arrays:
        """Returns the gradients of the wanted inputs.

        Args:
            vjp: `jax.vjp`, or what is that of NumPy arrays.
            compute: the outputs, of all inputs.
            operands: the inputs, and the gradients of the outputs.
        """
        split = len(operands) - len(self.given)
        primals, cotangents = list(operands[:split]), operands[split:]

        def forward(*wanted: Any) -> tuple[Any, ...]:
            for index, value in zip(self.wanted, wanted, strict=True):
                primals[index] = value
            return tuple(compute(primals))

        outputs, pull_back = vjp(forward, *(primals[i] for i in self.wanted))
        by_output = dict(zip(self.given, cotangents, strict=True))
        grads = [_cotangent(output, by_output.get(i)) for i, output in enumerate(outputs)]
        return tuple(pull_back(tuple(grads)))

    def __repr__(self) -> str:
        return f"vjp({self.of!r})"


def _cotangent(output: Any, given: Any) -> Any:
    if not is_float(np.dtype(output.dtype)):
        return np.zeros(output.shape, jax.dtypes.float0)
    if given is None:
        return jnp.zeros(output.shape, output.dtype)
    return given if given.dtype == output.dtype else jnp.astype(given, output.dtype)


def vjp_call(of: Call, wanted: tuple[int, ...], given: tuple[int, ...]) -> VjpCall:
    """Returns the gradient of a call, as a call; equal ones are one object.

    Args:
        wanted: the inputs to differentiate with respect to, by number.
        given: the outputs whose gradients it will be given, by number.
    """
    made: VjpCall = only(_made, (of, wanted, given), VjpCall)
    return made


def vjp_gradient(back: Backward) -> list[Any]:
    """The default gradient rule: one `VjpCall` for all wanted inputs of floating dtype."""
    wanted = tuple(
        i
        for i, (want, x) in enumerate(zip(back.wanted, back.inputs, strict=True))
        if want and _floats(x)
    )
    given = back.given
    if not given:
        return [None] * len(back.inputs)
    if not wanted:
        return _of_whole_numbers(back)
    call = vjp_call(back.call, wanted, given)
    operands = [*back.inputs, *(back.grads[i] for i in given)]
    return back.placed(wanted, back.apply(call, operands, back.scalars))


#: Names of calls without a slope between whole numbers, as remainders are: their gradients with
#: respect to those are 0, as in MXNet.
FLAT: Final[set[str]] = set()
#: Makes the call that casts to a dtype, by its name; the row that has it says how.
CASTS: Final[list[Callable[[str], Call]]] = []


def _of_whole_numbers(back: Backward) -> list[Any]:
    """The default rule of calls on whole numbers, or truth values, alone.

    JAX has no gradients of such, and MXNet has, in their own dtypes. They are those of the same
    call on float64, where sums of gradients up to 2**53 are exact; where there is no such call,
    there are none.
    """
    none = [None] * len(back.inputs)
    wanted = tuple(i for i, want in enumerate(back.wanted) if want)
    types = [x.type for x in back.inputs]
    if not wanted or back.call.takes_state or any(kind is None for kind in types):
        return none
    if any(is_float(kind.dtype) for kind in types):  # they are masks or positions beside floats
        return none
    if back.call.name in FLAT:
        return back.placed(wanted, [back.inputs[i].zeros_like() for i in wanted])
    floats = [
        tensor_type(kind.shape, FLOAT64) if i in wanted else kind for i, kind in enumerate(types)
    ]
    try:
        outputs = back.call.infer(tuple(floats))
    except MXNetError:
        return none
    given = tuple(i for i in back.given if is_float(outputs[i].dtype))
    if not given:
        return none

    def cast(x: Any, dtype: np.dtype[Any]) -> Any:
        return back.apply(CASTS[0](dtype.name), [x])[0]

    inputs = [cast(x, FLOAT64) if i in wanted else x for i, x in enumerate(back.inputs)]
    operands = [*inputs, *(cast(back.grads[i], outputs[i].dtype) for i in given)]
    found = back.apply(vjp_call(back.call, wanted, given), operands, back.scalars)
    cast_back = [cast(grad, types[i].dtype) for i, grad in zip(wanted, found, strict=True)]
    return back.placed(wanted, cast_back)


def _floats(handle: Any) -> bool:
    dtype = handle.inferred_dtype
    return dtype is None or is_float(dtype)
