"""The gradient of last resort: `jax.vjp` of a lowering, as a call of its own.

Its forward part is dead code to XLA where the operator is linear, and is merged with the forward
operator itself where both end up in one program. It can be differentiated again.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.dtype import is_float
from hybridnet.base.lazy import jax, jnp

from .alternatives import differentiating
from .call import MAKING, Backward, Call, Types

__all__ = ["VjpCall", "vjp_call", "vjp_gradient"]

_made: Final[weakref.WeakValueDictionary[Any, VjpCall]] = weakref.WeakValueDictionary()


@final
class VjpCall(Call):
    """The vector-Jacobian product of another call.

    Its inputs are the inputs of that call and then the gradients of those of its outputs that have
    one; its outputs are the gradients of the wanted inputs. Made by `vjp_call`.
    """

    __slots__ = ("given", "of", "wanted")

    def __init__(self, of: Call, wanted: tuple[int, ...], given: tuple[int, ...]) -> None:
        self.of = of
        self.wanted = wanted
        self.given = given
        self.num_outputs = self.num_visible = len(wanted)
        self.num_scalars = of.num_scalars
        self.takes_state = False

    @property
    def name(self) -> str:
        """As MXNet names gradients."""
        return f"_backward_{self.of.name}"

    def facts(self) -> Sequence[Any] | None:
        """What it is the gradient of, and which."""
        of = self.of.fingerprint
        return None if of is None else (of, self.wanted, self.given)

    def infer(self, types: Types) -> Types:
        """A gradient has the type of what it is the gradient of."""
        return tuple(types[i] for i in self.wanted)

    def lower(
        self, platform: str, operands: Sequence[Any], scalars: Sequence[Any]
    ) -> Sequence[Any]:
        """Differentiates the lowering at the inputs and applies it to the output gradients."""
        split = len(operands) - len(self.given)
        primals, cotangents = list(operands[:split]), operands[split:]

        def forward(*wanted: Any) -> tuple[Any, ...]:
            for index, value in zip(self.wanted, wanted, strict=True):
                primals[index] = value
            return tuple(self.of.lower(platform, primals, scalars))

        with differentiating(self.of, self.wanted):
            outputs, pull_back = jax.vjp(forward, *(primals[i] for i in self.wanted))
        by_output = dict(zip(self.given, cotangents, strict=True))
        return tuple(
            pull_back(
                tuple(
                    _cotangent(output, by_output.get(index)) for index, output in enumerate(outputs)
                )
            )
        )

    def gradient(self, back: Backward) -> Sequence[Any]:
        """The same again: second and higher orders."""
        return vjp_gradient(back)

    def __repr__(self) -> str:
        return f"vjp({self.of!r})"


def _cotangent(output: Any, given: Any) -> Any:
    if not jnp.issubdtype(output.dtype, np.inexact):
        return np.zeros(output.shape, jax.dtypes.float0)
    if given is None:
        return jnp.zeros(output.shape, output.dtype)
    return given.astype(output.dtype)


def vjp_call(of: Call, wanted: tuple[int, ...], given: tuple[int, ...]) -> VjpCall:
    """Returns the gradient of a call, as a call; equal ones are one object.

    Args:
        of: what is differentiated.
        wanted: the inputs to differentiate with respect to, by number.
        given: the outputs whose gradients it will be given, by number.
    """
    key = (of, wanted, given)
    call = _made.get(key)
    if call is None:
        with MAKING:
            call = _made.get(key)
            if call is None:
                call = _made[key] = VjpCall(*key)
    return call


def vjp_gradient(back: Backward) -> list[Any]:
    """The default gradient rule: one `VjpCall` for all wanted inputs of floating dtype."""
    wanted = tuple(
        i
        for i, (want, x) in enumerate(zip(back.wanted, back.inputs, strict=True))
        if want and _floats(x)
    )
    given = tuple(i for i, grad in enumerate(back.grads) if grad is not None)
    grads: list[Any] = [None] * len(back.inputs)
    if not wanted or not given:
        return grads
    call = vjp_call(back.call, wanted, given)
    operands = [*back.inputs, *(back.grads[i] for i in given)]
    for index, grad in zip(wanted, back.apply(call, operands, back.scalars), strict=True):
        grads[index] = grad
    return grads


def _floats(handle: Any) -> bool:
    dtype = handle.inferred_dtype
    return dtype is None or is_float(dtype)
