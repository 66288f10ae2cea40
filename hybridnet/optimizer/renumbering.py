"""States of MXNet up to 1.5, whose trainers numbered their parameters in another order.

Since 1.6 a dict of parameters is taken by their names, as here. Before, it was taken as it was:
mostly in the order in which layers were made. The files do not say which, but states have the
shapes of their parameters.
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
    numbers: Sequence[int],
) -> bytes:
    """Returns states by the numbers that parameters have in a trainer.

    Args:
        states: what a trainer saved, here or in MXNet.
        optimizer: the trainer's.
        shapes: of its parameters.
        numbers: their numbers, in the order that MXNet up to 1.5 gave them.

    Raises:
        FormatError: the bytes are damaged.
    """
    if not is_mxnets(states) or list(numbers) == sorted(numbers):
        return states
    read = Updater(copy.copy(optimizer))
    read.set_states(states)
    older = [shapes[number] for number in numbers]
    if _fit(read.states, shapes) or not _fit(read.states, older):
        return states
    new: dict[Any, int] = dict(enumerate(numbers))
    read.states = {new[key]: state for key, state in read.states.items()}
    counts = read.optimizer._all_index_update_counts
    for device, found in counts.items():
        counts[device] = {new[key]: count for key, count in found.items()}
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
