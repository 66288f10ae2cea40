"""The training loop in mixed precision that `make_autocast.py` records, and the tests repeat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

NETWORKS = ["gpt2", "llama"]
RATE = 3e-3
_STEPS = 20


def texts() -> list[np.ndarray]:
    """Returns batches of (4, 17) tokens of 40, in which a next one can be guessed."""
    draw = np.random.RandomState(0)
    return [np.cumsum(draw.randint(0, 3, (4, 17)), axis=1) % 40 for _ in range(_STEPS)]


def losses(step: Callable[[np.ndarray], float], is_taken: Callable[[], bool]) -> list[float]:
    """Runs a loop; returns the losses of the steps.

    Args:
        step: trains with one batch, and returns its loss.
        is_taken: whether the last step changed the weights; else the batch comes again, since how
            often a loss is scaled too far at first is no matter of precision.
    """
    found = []
    for batch in texts():
        for _ in range(10):
            loss = step(batch)
            if is_taken():
                found.append(loss)
                break
    return found
