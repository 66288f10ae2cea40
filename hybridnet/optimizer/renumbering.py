"""States of MXNet, whose trainers number their parameters in another order.

Since 1.6 MXNet takes a dict of parameters in the order of their names as text, where dense10 comes
before dense9. Before, it took it as it was: mostly in the order in which layers were made. The
files do not say which, but states have the shapes of their parameters.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from hybridnet.ndarray import NDArray

from ._states import is_mxnets
from .optimizer import Optimizer
from .updater import Updater

__all__ = ["renumbered"]


def renumbered(
    states: bytes,
    optimizer: Optimizer,
    shapes: Sequence[tuple[int, ...] | None],
    orders: Sequence[Sequence[int]],
) -> bytes:
    """Returns states by the numbers that parameters have in a trainer.

    Args:
        states: what a trainer saved, here or in MXNet.
        optimizer: the trainer's.
        shapes: of its parameters.
        orders: the numbers of its parameters here, in the orders in which MXNet may have numbered
            them. The first in which shapes fit counts; the first of all where none does.

    Raises:
        FormatError: the bytes are damaged.
    """
    if not is_mxnets(states) or all(list(order) == sorted(order) for order in orders):
        return states
    read = Updater(copy.copy(optimizer))
    read.set_states(states)
    fitting = (order for order in orders if _fit(read.states, [shapes[one] for one in order]))
    new: dict[Any, int] = dict(enumerate(next(fitting, orders[0])))
    read.states = {new.get(key, key): state for key, state in read.states.items()}
    counts = read.optimizer._all_index_update_counts
    for device, found in counts.items():
        counts[device] = {new.get(key, key): count for key, count in found.items()}
    return read.get_states(dump_optimizer=True)


def _fit(states: dict[Any, Any], shapes: Sequence[tuple[int, ...] | None]) -> bool:
    """Whether each state has an array of the shape of the parameter with its number."""
    return all(
        key in range(len(shapes)) and _has_shape(state, shapes[key])
        for key, state in states.items()
    )


def _has_shape(state: Any, shape: tuple[int, ...] | None) -> bool:
    found = [one.shape for one in _arrays(state)]
    return not found or shape in found


def _arrays(state: Any) -> Iterator[NDArray]:
    if isinstance(state, NDArray):
        yield state
    elif isinstance(state, (list, tuple)):
        for one in state:
            yield from _arrays(one)
