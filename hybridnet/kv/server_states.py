"""An optimizer's states on servers, as those of an `Updater` here: one kind of file for both.

Servers have a weight in parts, each with states of its own. A worker knows the shapes of these, as
it can ask the optimizer as the servers do; so only bytes travel. Joined, they are what
`Updater.states` has of the weight, and a file that was written with servers is read without them,
and the other way around.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import cpu
from hybridnet.base.errors import ParameterError
from hybridnet.kvstore.storage.updates import PartOf
from hybridnet.ndarray import array
from hybridnet.optimizer import Optimizer, get_updater

from .server_updates import OptimizerUpdates, flat_states


@final
@dataclass(frozen=True, slots=True)
class KeyStates:
    """The state of an optimizer for one weight.

    Attributes:
        state: as `create_state_multi_precision` makes it.
        updates: how many updates it has had, without those that `begin_num_update` counts.
        running: the numbers of `Optimizer.running`, NaN for None; empty where there are none.
    """

    state: Any
    updates: int
    running: tuple[float, ...] = ()


def join_states(
    updates: OptimizerUpdates, parts: Sequence[PartOf], found: Sequence[tuple[int, NumpyArray]]
) -> KeyStates:
    """Returns the states of a weight.

    Args:
        updates: the optimizer as servers have it.
        parts: of the weight.
        found: of each part how many updates it has had, and the bytes of its value and states.
    """
    shape = parts[0].shape
    pieces = [_cut(data, part, updates) for part, (_, data) in zip(parts, found, strict=True)]
    most = max(range(len(found)), key=lambda one: found[one][0])
    running: tuple[float, ...] = ()
    if updates.running:
        running = tuple(pieces[most][-1].tolist())
        pieces = [one[:-1] for one in pieces]
    joined = []
    for same in zip(*(one[1:] for one in pieces), strict=True):
        whole = sum(one.size for one in same) == math.prod(shape)
        joined.append(np.concatenate(same).reshape(shape) if whole else same[most])
    arrays = [array(one, cpu(), one.dtype) for one in joined]
    entire = replace(parts[0], start=0, stop=shape[0] if parts[0].is_rows else math.prod(shape))
    state = updates.filled(replace(entire, is_whole=True), arrays)
    return KeyStates(state, found[most][0], running)


def split_states(
    updates: OptimizerUpdates,
    parts: Sequence[PartOf],
    found: Sequence[NumpyArray],
    given: KeyStates,
) -> list[NumpyArray]:
    """Returns the bytes that servers are to have of a weight: its value as it is, and these states.

    Args:
        updates: the optimizer as servers have it.
        parts: of the weight.
        found: the bytes of the value and states of each part now.
        given: the states.

    Raises:
        ParameterError: they are not states of this optimizer and weight.
    """
    flat = [one.asnumpy() for one in flat_states(given.state)]
    made = []
    for part, data in zip(parts, found, strict=True):
        value, *old = _cut(data, part, updates)
        numbers = [np.array(given.running, np.float64)] if updates.running else []
        try:
            new = [_piece(one, part, o) for one, o in zip(flat, old, strict=not numbers)]
            if [one.size for one in (*new, *numbers)] != [one.size for one in old]:
                raise ValueError
        except ValueError:
            raise ParameterError(
                f"optimizer states: key {part.key!r} of shape {part.shape} needs states of shapes "
                f"{[one.shape for one in old]} in its part from {part.start} to {part.stop}, got "
                f"arrays of shapes {[one.shape for one in flat]}; are they of another optimizer?"
            ) from None
        made.append(np.concatenate([_bytes(one) for one in (value, *new, *numbers)]))
    return made


def write_states(
    optimizer: Optimizer, keys: Mapping[Any, KeyStates], dump_optimizer: bool
) -> bytes:
    """Returns what `Updater.get_states` would of an optimizer that has done these updates here."""
    made = copy.copy(optimizer)
    begin = made.begin_num_update
    counts = {key: begin + one.updates for key, one in keys.items() if one.updates}
    made._all_index_update_counts = {0: counts}
    made.num_update = max((begin, *counts.values()))
    latest = max(keys.values(), key=lambda one: one.updates, default=None)
    if latest is not None and made.running:
        known = [None if np.isnan(one) else one for one in latest.running]
        vars(made).update(zip(made.running, known, strict=True))
    updater = get_updater(made)
    updater.states = {key: one.state for key, one in keys.items()}
    return updater.get_states(dump_optimizer)


def read_states(optimizer: Optimizer, data: bytes) -> tuple[Optimizer, dict[Any, KeyStates]]:
    """Reads what `Updater.get_states` returned.

    Args:
        optimizer: counts from then on as the one did whose states they are.
        data: what is read.

    Returns:
        The optimizer that was put in, else the one given; and the states by key.

    Raises:
        FormatError: the bytes are damaged, or a pickle.
    """
    updater = get_updater(optimizer)
    updater.set_states(data)
    made = updater.optimizer
    counts: dict[Any, int] = {}
    for device in made._all_index_update_counts.values():
        for key, count in device.items():
            counts[key] = max(count, counts.get(key, 0))
    numbers = [getattr(made, name) for name in made.running]
    running = tuple(np.nan if one is None else float(one) for one in numbers)
    begin = made.begin_num_update
    return made, {
        key: KeyStates(state, max(0, counts.get(key, begin) - begin), running)
        for key, state in updater.states.items()
    }


def _cut(data: NumpyArray, part: PartOf, updates: OptimizerUpdates) -> list[NumpyArray]:
    """Returns the arrays of a part, the value first, from their bytes."""
    count = part.stop - part.start
    row = part.shape[1:] if part.is_rows else ()
    layout = [((count, *row), part.dtype), *updates.states(part)]
    sizes = [math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in layout]
    made, at = [], 0
    for (shape, dtype), size in zip(layout, sizes, strict=True):
        made.append(data[at : at + size].view(dtype).reshape(shape))
        at += size
    return made


def _piece(whole: NumpyArray, part: PartOf, old: NumpyArray) -> NumpyArray:
    """Returns what a part has of a state of the whole weight."""
    if part.is_whole or whole.size != math.prod(part.shape):
        return whole.astype(old.dtype, copy=False)
    rows = whole.reshape(part.shape if part.is_rows else -1)
    return rows[part.start : part.stop].astype(old.dtype, copy=False)


def _bytes(one: NumpyArray) -> NumpyArray:
    return np.ascontiguousarray(one).reshape(-1).view(np.uint8)
