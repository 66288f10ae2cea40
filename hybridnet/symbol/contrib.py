"""`sym.contrib`: the operators that MXNet keeps apart, ``_contrib_*`` in the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybridnet.ops.core import Functions as _Functions
from hybridnet.ops.core.registry import public_operators as _public_operators
from hybridnet.ops.random import log_uniform_candidates

from . import _internal
from .control_flow import cond, foreach, while_loop
from .create import full as _full
from .functions import symbol_function as _function
from .random import uniform as _uniform
from .symbol import Symbol

if TYPE_CHECKING:
    from ._contrib_operators import *  # noqa: F403

_functions = _Functions(
    "sym.contrib", globals(), _public_operators("_contrib_"), _function, "_contrib_"
)

__all__ = [
    "adamw_update",
    "cond",
    "foreach",
    "mp_adamw_update",
    "rand_zipfian",
    "while_loop",
    *_functions,
]


def rand_zipfian(
    true_classes: Symbol, num_sampled: int, range_max: int
) -> tuple[Symbol, Symbol, Symbol]:
    """Draws classes for a sampled softmax; see ``nd.contrib.rand_zipfian``."""
    return log_uniform_candidates(_uniform, true_classes, num_sampled, range_max)


def adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    rescale_grad: Symbol | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0,
    clip_gradient: float = -1,
    out: Symbol | None = None,
    name: str | None = None,
    **kwargs: object,
) -> Any:
    """A step of AdamW; see ``nd.contrib.adamw_update``. `out` has no meaning for symbols."""
    numbers = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    limits = {"wd": wd, "clip_gradient": clip_gradient}
    return _internal._adamw_update(
        weight, grad, mean, var, _scale(rescale_grad), **numbers, **limits, name=name, **kwargs
    )


def mp_adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    weight32: Symbol,
    rescale_grad: Symbol | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0,
    clip_gradient: float = -1,
    out: Symbol | None = None,
    name: str | None = None,
    **kwargs: object,
) -> Any:
    """A step of AdamW in mixed precision; see ``nd.contrib.mp_adamw_update``."""
    arrays = (weight, grad, mean, var, weight32, _scale(rescale_grad))
    numbers = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    limits = {"wd": wd, "clip_gradient": clip_gradient}
    return _internal._mp_adamw_update(*arrays, **numbers, **limits, name=name, **kwargs)


def _scale(rescale_grad: Symbol | float) -> Symbol:
    """Returns a factor of the gradients as a symbol."""
    return rescale_grad if isinstance(rescale_grad, Symbol) else _full((1,), rescale_grad)


def __dir__() -> list[str]:
    return _functions.names()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return _functions.attribute(name)
