"""hybridnet's optimizers on parameter servers; the servers import this module (see `serve`).

A worker sends an optimizer as its name and numbers (`optimizer_to_json`). A server makes one like
it, and runs it on its parts by the operators' host forms: on the same bits a server that was
started again computes the same bits, which a program that is compiled only when it is hot does not
promise.

What an update depends on is in its arguments and in the part's state arrays, which survive the
process: the number of the update stands for the optimizer's counts and its scheduler's position,
numbers that an optimizer changes as it goes (`Optimizer.running`) are a state array of their own,
and random numbers are drawn from (part, number).
"""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet import random
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import cpu
from hybridnet.kvstore import KVStoreError
from hybridnet.kvstore.storage.updates import PartOf, Updates, register_updates
from hybridnet.ndarray import NDArray, array
from hybridnet.ndarray.copies import adopt
from hybridnet.optimizer import Optimizer, optimizer_from_json
from hybridnet.runtime.contexts import has_begun

from .names import index_of

#: What workers configure their servers with, and the optimizer's name after it.
PREFIX: Final = "hybridnet."
_NUMBER: Final = np.dtype(np.float64)


@final
class OptimizerUpdates(Updates):
    """One of hybridnet's optimizers, or a user's own.

    Args:
        parameters: what `optimizer_to_json` returned.
    """

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        # As it was sent. Updates are made by copies of it, since they change it.
        self._sent = optimizer_from_json(parameters)
        self._forms: dict[PartOf, Any] = {}  # worked out once

    @property
    def running(self) -> tuple[str, ...]:
        """The numbers of `Optimizer.running`, which the last state array has."""
        return self._sent.running

    def filled(self, part: PartOf, arrays: Sequence[NDArray]) -> Any:
        """Returns the state of a part, as the optimizer makes it, with these arrays."""
        weight = array(np.zeros(_shape(part), part.dtype), cpu(), part.dtype)
        return _filled(self._form_of(part, weight), iter(arrays))

    def states(self, part: PartOf) -> Sequence[tuple[tuple[int, ...], np.dtype[Any]]]:
        """See `Updates.states`."""
        weight = array(np.zeros(_shape(part), part.dtype), cpu(), part.dtype)
        found = [
            (one.shape, np.dtype(one.inferred_dtype))
            for one in flat_states(self._new_state(part, weight))
        ]
        if self._sent.running:
            if part.is_rows:
                name = type(self._sent).__name__
                raise KVStoreError(
                    f"{name}: it changes numbers of its own as it goes, which rows cannot have "
                    f"each; key {part.key!r} must be dense, or the optimizer another one"
                )
            found.append(((len(self._sent.running),), _NUMBER))
        return found

    def begin(self, part: PartOf, value: NumpyArray, states: Sequence[NumpyArray]) -> None:
        """See `Updates.begin`."""
        weight = array(value.reshape(_shape(part)), cpu(), part.dtype)
        made = flat_states(self._new_state(part, weight))
        for target, source in zip(states, made, strict=False):
            np.copyto(target, source.asnumpy())
        if self._sent.running:
            states[-1][:] = _numbers(self._sent)

    def update(
        self,
        part: PartOf,
        number: int,
        gradient: NumpyArray,
        old: Sequence[NumpyArray],
        new: Sequence[NumpyArray],
        rows: NumpyArray | None = None,
    ) -> None:
        """See `Updates.update`. Rows are updated as if they were all there is: lazily."""
        optimizer = self._at(part, number)
        running = optimizer.running
        if running:
            known = [None if np.isnan(one) else float(one) for one in old[-1]]
            vars(optimizer).update(zip(running, known, strict=True))
        shape = _shape(part) if rows is None else (len(rows), *part.shape[1:])
        count = len(old) - bool(running)
        weight, *arrays = (_readable(one) for one in (old[0].reshape(shape), *old[1:count]))
        grad = _taken_over(gradient.reshape(shape))
        state = _filled(self._form_of(part, weight), iter(arrays))
        optimizer.update_multi_precision(index_of(part.key), weight, grad, state)
        made = (weight, *flat_states(state))
        for target, one in zip(new[:count], made, strict=True):
            np.copyto(target, one.host_view().reshape(target.shape))
        if running:
            new[-1][:] = _numbers(optimizer)

    def _form_of(self, part: PartOf, weight: NDArray) -> Any:
        """Returns the make of a part's state, with `...` in the place of each array."""
        form = self._forms.get(part)
        if form is None:
            form = self._forms[part] = _form(self._new_state(part, weight))
        return form

    def _new_state(self, part: PartOf, weight: NDArray) -> Any:
        """Returns the state that the optimizer makes for a weight before its first update."""
        made = copy.copy(self._sent)
        # The other one would warn here, where nobody looks, of float16 without multi_precision.
        make = made.create_state_multi_precision if made.multi_precision else made.create_state
        return make(index_of(part.key), weight)

    def _at(self, part: PartOf, number: int) -> Optimizer:
        """Returns the optimizer as it is before an update of a part."""
        made = copy.copy(self._sent)
        made.lr_scheduler = copy.copy(self._sent.lr_scheduler)
        before = made.begin_num_update + number - 1
        made._all_index_update_counts = {0: {index_of(part.key): before}}
        made.num_update = before
        if made.draws:
            random.seed(_seed(part, number))
        return made


def _numbers(optimizer: Optimizer) -> list[float]:
    """Returns the numbers that an optimizer changes as it goes; NaN stands for None."""
    found = [getattr(optimizer, name) for name in optimizer.running]
    return [np.nan if one is None else float(one) for one in found]


def _shape(part: PartOf) -> tuple[int, ...]:
    """Returns the shape of a part: its key's, flat, or some of a table's rows."""
    if part.is_whole:
        return part.shape
    count = part.stop - part.start
    return (count, *part.shape[1:]) if part.is_rows else (count,)


def flat_states(state: Any) -> Iterator[NDArray]:
    """Yields the arrays of what `create_state` makes, which are in tuples or alone."""
    if isinstance(state, NDArray):
        yield state
    elif isinstance(state, (tuple, list)):
        for one in state:
            yield from flat_states(one)
    elif state is not None:
        raise KVStoreError(
            "the state of an optimizer on a parameter server must be made of arrays, None and "
            f"tuples, got {type(state).__name__}"
        )


def _form(state: Any) -> Any:
    """Returns the make of a state, with `...` in the place of each array."""
    if isinstance(state, NDArray):
        return ...
    if isinstance(state, (tuple, list)):
        return type(state)([_form(one) for one in state])
    return state


def _filled(form: Any, arrays: Iterator[NDArray]) -> Any:
    """Returns a state of this make with these arrays."""
    if form is ...:
        return next(arrays)
    if isinstance(form, (tuple, list)):
        return type(form)([_filled(one, arrays) for one in form])
    return form


def _readable(host: NumpyArray) -> NDArray:
    """Returns an array with values that are still needed as they are.

    NumPy's operators make new arrays and leave these alone; programs of XLA's may overwrite what
    they are given, and get copies.
    """
    return _taken_over(host.copy() if has_begun() else host)


def _taken_over(host: NumpyArray) -> NDArray:
    """Returns an array that has this memory, where the device can have it."""
    return NDArray.from_value(adopt(host.view(), cpu()), cpu())


def _seed(part: PartOf, number: int) -> int:
    """Returns where random numbers of an update begin, the same in every process."""
    text = f"{part.key!r} {part.start} {number}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little")


if os.environ.get("DMLC_ROLE", "") == "server":
    # No program is compiled where bits are to be the same after a restart.
    os.environ.setdefault("HYBRIDNET_HOST", "only")

# Servers import the modules of users first.
for _name in Optimizer.opt_registry:
    register_updates(PREFIX + _name, OptimizerUpdates)
