"""Drawing by rejection: what does not fit is drawn again, until all of it fits.

All elements are tried together. Of many, few are left after the first try: these are put side by
side, so that a further try does not go over all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.attrs import Shape
from hybridnet.ops.host.namespace import at, jnp, lax

from .state import children

__all__ = ["drawn_until_it_fits"]

#: Draws once: (key, shape, *parameters) -> values, and whether each fits.
Proposal = Callable[..., tuple[Any, Any]]

# Elements from which on those that are left are put side by side, and which share of all that may
# be at a time.
_MANY_ELEMENTS: Final = 1 << 14
_SHARE: Final = 8


def drawn_until_it_fits(
    key: Any, shape: Shape, propose: Proposal, parameters: Sequence[Any], start: Any, done: Any
) -> Any:
    """Returns values that fit, but for elements that are done from the start.

    Args:
        key: a random key.
        shape: of the result.
        propose: draws values, and says which fit.
        parameters: what it depends on; arrays that broadcast to `shape`.
        start: of `shape`: what the elements are that are done.
        done: of `shape`: which are.
    """
    if math.prod(shape) <= _MANY_ELEMENTS:
        return _again(key, shape, propose, parameters, start, done)
    first, key = children(key, 2)

    def try_all(start: Any, done: Any) -> Any:
        found, fits = propose(first, shape, *parameters)
        return jnp.where(done, start, found), done | fits

    many = jnp.sum(~done) > math.prod(shape) // _SHARE
    values, done = lax.cond(many, try_all, lambda *as_they_are: as_they_are, start, done)
    made = _rest(key, propose, shape, parameters, values.reshape(-1), done.reshape(-1))
    return made.reshape(shape)


def _again(
    key: Any, shape: Shape, propose: Proposal, parameters: Sequence[Any], start: Any, done: Any
) -> Any:
    def attempt(state: Any) -> Any:
        key, values, done = state
        key, last = children(key, 2)
        found, fits = propose(last, shape, *parameters)
        return key, jnp.where(done, values, found), done | fits

    _, values, _ = lax.while_loop(lambda state: ~state[2].all(), attempt, (key, start, done))
    return values


def _rest(
    key: Any, propose: Proposal, shape: Shape, parameters: Sequence[Any], values: Any, done: Any
) -> Any:
    """Draws what is left, a part at a time: places that a part has too many are one behind all."""
    count = math.prod(shape)
    room = count // _SHARE
    flat = [
        x if x.size == 1 else jnp.broadcast_to(x, shape).reshape(-1)
        for x in map(jnp.asarray, parameters)
    ]

    def draw(state: Any) -> Any:
        key, values, done = state
        key, last = children(key, 2)
        (places,) = jnp.nonzero(~done, size=room, fill_value=count)
        inside = jnp.minimum(places, count - 1)
        chosen = [x.reshape(()) if x.size == 1 else jnp.take(x, inside) for x in flat]
        start = jnp.zeros((room,), values.dtype)
        found = _again(last, (room,), propose, chosen, start, places == count)
        return key, at(values)[places].set(found), at(done)[places].set(True)

    behind = jnp.concatenate([values, values[:1]]), jnp.concatenate([done, np.ones(1, np.bool_)])
    _, values, _ = lax.while_loop(lambda state: ~state[2].all(), draw, (key, *behind))
    return values[:count]
