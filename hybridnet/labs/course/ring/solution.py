"""Lab 10: reduce-scatter, then all-gather; each turn every process sends one part and gets one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def all_reduce(
    rank: int,
    size: int,
    array: NDArray[Any],
    send: Callable[[NDArray[Any]], None],
    receive: Callable[[], NDArray[Any]],
) -> NDArray[Any]:
    """Returns the sum of the arrays of all processes of a ring."""
    total = array.copy()
    parts = np.array_split(total, size)  # views: what is written into a part is in `total`
    # Reduce-scatter: each part goes once round the ring and grows by each process's own.
    for turn in range(size - 1):
        got = _exchange(rank, parts[(rank - turn) % size], send, receive)
        parts[(rank - turn - 1) % size] += got
    # All-gather: the process that has the sum of a part hands it on, and it goes round unchanged.
    for turn in range(size - 1):
        got = _exchange(rank, parts[(rank + 1 - turn) % size], send, receive)
        parts[(rank - turn) % size][:] = got
    return total


def _exchange(
    rank: int,
    part: NDArray[Any],
    send: Callable[[NDArray[Any]], None],
    receive: Callable[[], NDArray[Any]],
) -> NDArray[Any]:
    """Sends a part and receives one; if all sent first, all might wait for each other."""
    if rank % 2:
        got = receive()
        send(part)
        return got
    send(part)
    return receive()
