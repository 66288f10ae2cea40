"""`hn.random`: seeding, and the random functions of `nd`."""

from __future__ import annotations

from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray.random import (
    exponential,
    gamma,
    generalized_negative_binomial,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    randint,
    randn,
    shuffle,
    uniform,
)
from hybridnet.runtime.recording import generator

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "seed",
    "shuffle",
    "uniform",
]


def seed(seed_state: int, ctx: str | Context = "all") -> None:
    """Restarts the random generators, so that the same numbers follow again.

    Args:
        seed_state: any whole number.
        ctx: one context, or 'all'.
    """
    if not isinstance(seed_state, int):
        raise ParameterError(f"random.seed: needs an integer, got {seed_state!r}")
    if ctx != "all" and not isinstance(ctx, Context):
        raise ParameterError(f"random.seed: ctx must be 'all' or a Context, got {ctx!r}")
    generator.seed(seed_state, None if isinstance(ctx, str) else ctx)
