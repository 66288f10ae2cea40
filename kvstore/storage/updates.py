"""The updates that a server makes: the interface for optimizers, and how a server finds them.

A server knows names and JSON, never objects: `configure("sgd", {"learning_rate": 0.1})` on a worker
makes the servers call ``find_updates("sgd")({"learning_rate": 0.1})``. The names here need no
JAX; hybridnet's optimizers are registered by a module that the servers import (`serve --import`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.messages import Key
from hybridnet.kvstore.storage.dtypes import Array


@dataclass(frozen=True, slots=True)
class PartOf:
    """The piece of a key that an array is.

    Attributes:
        key: the user's name of the key.
        shape: of the whole key.
        dtype: of its elements.
        start: the first element (of the flat array) or, in a row-sparse table, the first row.
        stop: the one behind the last.
        is_rows: whether the piece is rows of a row-sparse table.
        is_whole: whether it is all of the key, whatever its size (`KeySpec.is_whole`).
    """

    key: Key
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    start: int
    stop: int
    is_rows: bool = False
    is_whole: bool = False


class Updates(ABC):
    """An optimizer on a server: new values and new states from old ones and a gradient.

    What a killed server restarts from must be in its arrays: everything that an update depends on
    is its arguments, and an object has no state of its own that changes.
    """

    def states(self, part: PartOf) -> Sequence[tuple[tuple[int, ...], np.dtype[Any]]]:
        """Returns shape and dtype of each state array of a part; by default it needs none.

        Of a row-sparse table, the first axis of each state must be the rows of the part.
        """
        return ()

    def begin(self, part: PartOf, value: Array, states: Sequence[Array]) -> None:  # noqa: B027
        """Fills the states of a part that has just got them; they are zeros. By default, nothing.

        Args:
            part: which.
            value: its first value, flat (rows: two-dimensional); not to be written.
            states: to be filled; shapes as `states` said.
        """

    @abstractmethod
    def update(
        self,
        part: PartOf,
        number: int,
        gradient: Array,
        old: Sequence[Array],
        new: Sequence[Array],
        rows: Array | None = None,
    ) -> None:
        """Writes the values of the next round.

        Args:
            part: which.
            number: of this update of the part, from 1: MXNet's `index_update_count`.
            gradient: the sum over the workers, flat like the value; may be written.
            old: the value and the states before; not to be written.
            new: the value and the states to write: other memory than `old`, its content is old.
            rows: for a row-sparse table, int64 numbers of the rows (from `part.start`) that the
                gradient has; `old` and `new` then have these rows only.
        """


@final
class Assign(Updates):
    """MXNet's store without an updater: the value becomes the sum over the workers."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        _only(parameters, "assign")

    def update(
        self,
        part: PartOf,
        number: int,
        gradient: Array,
        old: Sequence[Array],
        new: Sequence[Array],
        rows: Array | None = None,
    ) -> None:
        """See `Updates.update`."""
        np.copyto(new[0], gradient)


@final
class Sum(Updates):
    """The value grows by the sum over the workers: MXNet's `Test` optimizer."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        _only(parameters, "sum", "rescale_grad")
        self._scale = float(parameters.get("rescale_grad", 1.0))

    def update(
        self,
        part: PartOf,
        number: int,
        gradient: Array,
        old: Sequence[Array],
        new: Sequence[Array],
        rows: Array | None = None,
    ) -> None:
        """See `Updates.update`."""
        if self._scale != 1.0:
            np.multiply(gradient, self._scale, out=gradient)
        np.add(old[0], gradient, out=new[0])


@final
class Sgd(Updates):
    """Gradient descent with momentum, in NumPy: for servers that shall not load JAX.

    Parameters: learning_rate, momentum, wd, rescale_grad; defaults as MXNet's SGD.
    """

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        _only(parameters, "numpy_sgd", "learning_rate", "momentum", "wd", "rescale_grad")
        self._rate = float(parameters.get("learning_rate", 0.01))
        self._momentum = float(parameters.get("momentum", 0.0))
        self._decay = float(parameters.get("wd", 0.0))
        self._scale = float(parameters.get("rescale_grad", 1.0))

    def states(self, part: PartOf) -> Sequence[tuple[tuple[int, ...], np.dtype[Any]]]:
        """The momentum, if there is any."""
        if not self._momentum:
            return ()
        rows = part.stop - part.start
        shape = (rows, *part.shape[1:]) if part.is_rows else (rows,)
        return ((shape, part.dtype),)

    def update(
        self,
        part: PartOf,
        number: int,
        gradient: Array,
        old: Sequence[Array],
        new: Sequence[Array],
        rows: Array | None = None,
    ) -> None:
        """See `Updates.update`."""
        step = new[1] if self._momentum else gradient
        np.multiply(gradient, self._scale, out=gradient)
        if self._decay:
            np.add(gradient, self._decay * old[0], out=gradient)
        np.multiply(gradient, -self._rate, out=gradient)
        if self._momentum:
            np.multiply(old[1], self._momentum, out=step)
            np.add(step, gradient, out=step)
        np.add(old[0], step, out=new[0])


def _only(parameters: Mapping[str, Any], name: str, *known: str) -> None:
    """Refuses parameters that the optimizer does not have."""
    unknown = sorted(parameters.keys() - set(known))
    if unknown:
        raise KVStoreError(
            f"the server's optimizer {name!r} requires parameters among "
            f"{', '.join(known) or 'none'}, got {', '.join(unknown)}"
        )


#: What makes the updates of an optimizer, from its JSON parameters.
Factory = Callable[[Mapping[str, Any]], Updates]
_factories: Final[dict[str, Factory]] = {}


def register_updates(name: str, factory: Factory) -> Factory:
    """Makes an optimizer known to the server in this process, by name.

    Raises:
        KVStoreError: the name is taken.
    """
    if name in _factories:
        raise KVStoreError(f"register_updates requires a new name, got {name!r}")
    _factories[name] = factory
    return factory


def find_updates(name: str) -> Factory:
    """Returns what makes the updates of this name.

    Raises:
        KVStoreError: nobody registered it; the message says what is known and what to do.
    """
    factory = _factories.get(name)
    if factory is None:
        raise KVStoreError(
            f"a server's optimizer must be one of {', '.join(sorted(_factories))}, got {name!r}; "
            "an optimizer of your own must be registered in a module that the servers import: "
            "name it in `hybridnet launch --import MODULE` or HYBRIDNET_DIST_IMPORT"
        )
    return factory


register_updates("assign", Assign)
register_updates("sum", Sum)
register_updates("numpy_sgd", Sgd)
