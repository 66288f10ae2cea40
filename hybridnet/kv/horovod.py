"""`Horovod`: a store without memory, which adds up arrays of all processes of a gang.

It has the name and the methods of the store by which MXNet uses Horovod (Sergeev and Del Balso,
"Horovod: fast and easy distributed deep learning in TensorFlow", 2018); the work is done by the
collective calls of `hybridnet.distributed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from hybridnet import distributed
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray

from .base import KVStoreBase

__all__ = ["Horovod"]


@final
@KVStoreBase.register
class Horovod(KVStoreBase):
    """Adds up arrays of all processes of the gang; ``kv.create("horovod")`` makes one.

    It makes this process part of the gang that its environment names, if it is in none yet. Every
    process makes the same calls in the same order. Parameters are updated by each process for
    itself, which gives the same in all.

    Raises:
        ParameterError, MXNetError: as `hybridnet.distributed.initialize`.
    """

    def __init__(self) -> None:
        distributed.initialize()

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Writes the value that rank 0 has for a key into every array of `out`.

        Args:
            key: one, or a list of keys with as many values and outs; the store keeps none.
            value: an array, or a list of which the first counts.
            out: an array, or one per device.
            priority: of the call.
        """
        for _, values, targets in _triples("broadcast", key, value, out):
            sent = distributed.broadcast(values[0], priority=priority)
            _write(sent, targets)

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Adds up a key's arrays, of this process and all others.

        Args:
            key: one, or a list of keys with as many values and outs, which are one call.
            value: an array, or one per device.
            out: where the sum is written; by default into the arrays of `value`.
            priority: of the call.
        """
        triples = _triples("pushpull", key, value, value if out is None else out)
        # What has the same place is one call: one program for all parameters.
        totals = [_added(values) for _, values, _ in triples]
        groups: dict[Any, list[int]] = {}
        for number, total in enumerate(totals):
            groups.setdefault(total.context.computes_on, []).append(number)
        for numbers in groups.values():
            summed = distributed.all_reduce([totals[i] for i in numbers], priority=priority)
            for number, total in zip(numbers, summed, strict=True):
                _write(total, triples[number][2])

    def is_capable(self, capability: str) -> bool:
        """Whether it can update values ('optimizer'): no, each process does.

        Raises:
            ParameterError: there is no such capability.
        """
        if capability.lower() != self.OPTIMIZER:
            raise ParameterError(f"is_capable: must be {self.OPTIMIZER!r}, got {capability!r}")
        return False

    @property
    def type(self) -> str:
        """The name that it is made by."""
        return "horovod"

    @property
    def rank(self) -> int:
        """The number of this process in the gang."""
        return distributed.rank()

    @property
    def local_rank(self) -> int:
        """The number of this process among those of its host."""
        return distributed.local_rank()

    @property
    def num_workers(self) -> int:
        """The number of processes in the gang."""
        return distributed.size()

    def barrier(self) -> None:
        """Waits until all processes are here."""
        distributed.barrier()


def _triples(
    caller: str, key: Any, value: Any, out: Any
) -> list[tuple[Any, list[NDArray], list[NDArray]]]:
    """Returns each key with its arrays and those to write into."""
    if not isinstance(key, (list, tuple)):
        return [(key, _as_list(value), _as_list(out))]
    for what, given in (("values", value), ("outs", out)):
        if not isinstance(given, (list, tuple)) or len(given) != len(key):
            got = len(given) if isinstance(given, (list, tuple)) else type(given).__name__
            raise ParameterError(f"{caller}: {len(key)} keys need as many {what}, got {got}")
    return [
        (name, _as_list(values), _as_list(targets))
        for name, values, targets in zip(key, value, out, strict=True)
    ]


def _as_list(arrays: Any) -> list[NDArray]:
    return list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]


def _added(values: Sequence[NDArray]) -> NDArray:
    first, *rest = [one.tostype("default") for one in values]
    total = first.detach()
    for one in rest:
        total = total + one.detach().as_in_context(first.context)
    return total


def _write(source: NDArray, targets: Sequence[NDArray]) -> None:
    for target in targets:
        target.assign(source)
