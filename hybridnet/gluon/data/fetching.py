"""Making one batch, wherever that is: in this thread, in another one, or in another process."""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing.context import TimeoutError as ProcessTimeout
from typing import Any

from hybridnet import engine
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError
from hybridnet.ndarray import NDArray

from .dataset import samples_at
from .samples import Batchify, Samples, failed_sample

__all__ = ["LoaderTimeout", "as_in_context", "fetch", "timed_out"]


class LoaderTimeout(MXNetError, ProcessTimeout):
    """A batch was not made within a `DataLoader`'s timeout."""


def timed_out(seconds: float, what: str) -> LoaderTimeout:
    """Returns the error.

    Args:
        seconds: the timeout.
        what: the workers were to do it.
    """
    return LoaderTimeout(
        f"DataLoader: requires a batch within timeout={seconds} seconds, and its {what} made none; "
        "give it more seconds, or find out why dataset[i] takes so long"
    )


def fetch(dataset: Samples, positions: Sequence[int], batchify: Batchify) -> Any:
    """Returns the batch of the samples at these positions.

    Errors pass with a note that says which sample they are about.
    """
    try:
        samples = samples_at(dataset, positions)
    except Exception as error:
        number = failed_sample(error)
        if number is not None:
            where = _raised_at(error)
            error.add_note(
                f"DataLoader: raised by sample {positions[number]} of the dataset{where}"
            )
        raise
    try:
        return batchify(samples)
    except Exception as error:
        first = ", ".join(map(str, positions[:8]))
        more = ", ..." if len(positions) > 8 else ""
        where = _raised_at(error)
        error.add_note(f"DataLoader: raised by batchify_fn{where}, with samples {first}{more}")
        raise


def _raised_at(error: Exception) -> str:
    """Returns the user's line for a note: the traceback of an error in a worker ends there."""
    place = engine.resolve_origin(engine.raised_origin(error))
    return f" at {place[0]}:{place[1]}" if place else ""


def as_in_context(data: Any, ctx: Context) -> Any:
    """Copies the arrays in (nested) lists to a context; tuples become lists, as in MXNet."""
    if isinstance(data, NDArray):
        return data.as_in_context(ctx)
    if isinstance(data, (list, tuple)):
        return [as_in_context(one, ctx) for one in data]
    return data
