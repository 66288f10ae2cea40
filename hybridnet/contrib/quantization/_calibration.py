"""The ranges of what layers compute, measured on examples."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError
from hybridnet.io import DataBatch
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Group, Symbol

#: Counts, the ends of the bins, least and greatest number, and the end of the range around 0.
Histogram = tuple[NumpyArray, NumpyArray, float, float, float]

_BINS: Final = 8001
# What zeros of a distribution become, so that it can be compared with another.
_EPSILON: Final = np.float32(0.0001)


class Collector(Protocol):
    """A collector: it is shown the outputs that have to be measured."""

    def collect(self, name: str, arr: NDArray) -> None:
        """Is called with each of them for each batch."""


@final
class RangeCollector:
    """Keeps the least and the greatest number of each output.

    Attributes:
        min_max_dict: these, by the names of outputs.
    """

    def __init__(self, include_layer: Collection[str]) -> None:
        self.min_max_dict: dict[str, tuple[float, float]] = {}
        self._include = include_layer

    def collect(self, name: str, arr: NDArray) -> None:
        """Widens the range of an output."""
        if name not in self._include:
            return
        values = arr.asnumpy()
        low, high = float(values.min()), float(values.max())
        before = self.min_max_dict.get(name, (low, high))
        self.min_max_dict[name] = min(before[0], low), max(before[1], high)


@final
class HistogramCollector:
    """Keeps a histogram of each output, around 0.

    Attributes:
        hist_dict: the histograms, by the names of outputs.
    """

    def __init__(self, include_layer: Collection[str], num_bins: int = _BINS) -> None:
        self.hist_dict: dict[str, Histogram] = {}
        self._include = include_layer
        self._bins = num_bins

    def collect(self, name: str, arr: NDArray) -> None:
        """Counts the numbers of an output."""
        if name not in self._include:
            return
        values = arr.asnumpy()
        low, high = float(values.min()), float(values.max())
        end = max(abs(low), abs(high))
        before = self.hist_dict.get(name)
        if before is not None:
            self.hist_dict[name] = combine_histogram(before, values, low, high, end)
        else:
            counts, edges = np.histogram(values, bins=self._bins, range=(-end, end))
            self.hist_dict[name] = counts, edges, low, high, end


def combine_histogram(
    old_hist: Histogram, arr: NumpyArray, new_min: float, new_max: float, new_th: float
) -> Histogram:
    """Returns a histogram with the numbers of one more array; it grows by whole bins.

    Args:
        old_hist: the histogram.
        arr: the array.
        new_min: its least number.
        new_max: its greatest.
        new_th: the larger of their magnitudes.
    """
    counts, edges, low, high, end = old_hist
    if new_th <= end:
        more, _ = np.histogram(arr, bins=len(counts), range=(-end, end))
        return counts + more, edges, min(low, new_min), max(high, new_max), end
    step = 2 * end / len(counts)
    added = int((new_th - end) // step + 1)
    end += added * step
    more, edges = np.histogram(arr, bins=len(counts) + 2 * added, range=(-end, end))
    more[added : len(more) - added] += counts
    return more, edges, min(low, new_min), max(high, new_max), end


def entropy_range(histogram: Histogram, dtype: str) -> tuple[float, float]:
    """Returns the range by which 8 bits tell most of what a histogram shows.

    Args:
        histogram: of an output.
        dtype: 'int8', 'uint8' or 'auto'.
    """
    counts, edges, low, *_ = histogram
    positive = low >= 0 and dtype in ("auto", "uint8")
    # A range that begins at 0 has its steps on one side: as many as 511 on both.
    threshold, _ = entropy_threshold(counts, edges, 511 if positive else 255)
    return 0.0 if positive else -threshold, threshold


def entropy_threshold(
    counts: NumpyArray, edges: NumpyArray, num_quantized_bins: int = 255
) -> tuple[float, float]:
    """Returns where to cut a histogram off, and what that loses.

    For each place the numbers beyond it are counted at its end, and the result is compared with
    what as many steps as 8 bits have leave of it, by the Kullback-Leibler divergence; the place of
    the least one is taken.

    Args:
        counts: of an odd number of bins around 0, at least `num_quantized_bins`.
        edges: their ends.
        num_quantized_bins: the steps.
    """
    if len(counts) % 2 == 0 or len(counts) < num_quantized_bins:
        raise ParameterError(
            f"entropy_threshold: requires an odd number of bins, at least {num_quantized_bins}, "
            f"got {len(counts)}"
        )
    middle = len(counts) // 2
    least, place = np.float32(np.inf), middle
    for half in range(num_quantized_bins // 2, middle + 1):
        first, stop = middle - half, middle + half + 1
        inner = counts[first:stop].astype(np.float32)
        inner[0] = 0
        cut = inner.copy()
        cut[0] = counts[: first + 1].sum()
        cut[-1] += counts[stop:].sum()
        lost = _divergence(_smooth(cut), _smooth(_coarse(inner, cut != 0, num_quantized_bins)))
        if lost < least:
            least, place = lost, half
    return float(edges[middle + place + 1]), float(least)


def _coarse(counts: NumpyArray, shown: Any, steps: int) -> NumpyArray:
    """Returns what is left of counts in few steps: each is spread over its bins that have any."""
    width = len(counts) // steps
    starts = np.arange(steps) * width  # the last step takes what is left over, too
    sums = np.add.reduceat(counts, starts)
    filled = np.add.reduceat((counts != 0).astype(np.float32), starts)
    means = np.divide(sums, filled, out=np.zeros_like(sums), where=filled > 0)
    widths = np.diff([*starts, len(counts)])
    return np.where(shown, np.repeat(means, widths), np.float32(0))


def _smooth(counts: NumpyArray) -> NumpyArray | None:
    """Returns counts without zeros, of the same sum; None where there are too many zeros."""
    empty = counts == 0
    filled = counts.size - empty.sum()
    less = _EPSILON * empty.sum() / max(filled, 1)
    if not filled or less >= 1:
        return None
    return counts + np.where(empty, _EPSILON, -less).astype(np.float32)


def _divergence(p: NumpyArray | None, q: NumpyArray | None) -> np.floating[Any]:
    if p is None or q is None:
        return np.float32(np.inf)
    p, q = p / p.sum(), q / q.sum()
    made: np.floating = (p * np.log(p / q)).sum()
    return made


def batches(data: Any, limit: int | None) -> Iterator[list[NDArray]]:
    """Returns the arrays of each batch of an iterator or a `DataLoader`.

    Args:
        data: where they come from; an iterator is reset first.
        limit: after how many examples to stop; None for all.
    """
    if hasattr(data, "reset"):
        data.reset()
    seen = 0
    for batch in data:
        if isinstance(batch, DataBatch):
            arrays = list(batch.data)
        else:
            arrays = list(batch) if isinstance(batch, (list, tuple)) else [batch]
        yield arrays
        seen += arrays[0].shape[0]
        if limit is not None and seen >= limit:
            return


def collect(
    sym: Symbol,
    outputs: Collection[str],
    values: Mapping[str, NDArray],
    data_names: Sequence[str],
    data: Any,
    collector: Collector,
    *,
    ctx: Context,
    limit: int | None,
) -> int:
    """Shows a collector what a symbol of floats computes; returns how many examples there were.

    Args:
        sym: the symbol.
        outputs: the names of the outputs, inner ones too, that it is shown.
        values: of parameters and states.
        data_names: the variables that batches are for.
        data: where these come from.
        collector: what is shown.
        ctx: where to compute.
        limit: after how many examples to stop; None for all.
    """
    inner = sym.get_internals()
    wanted = [name for name in inner.list_outputs() if name in outputs]
    part = Group([inner[name] for name in wanted])
    needed = part.list_inputs()
    bound: Any = None
    seen = 0
    for arrays in batches(data, limit):
        given = {n: x for n, x in zip(data_names, arrays, strict=False) if n in needed}
        if bound is None:
            shapes: dict[str, Any] = {n: x.shape for n, x in given.items()}
            bound = part.simple_bind(ctx, "null", **shapes)
            bound.copy_params_from(
                {n: values[n] for n in part.list_arguments() if n in values},
                {n: values[n] for n in part.list_auxiliary_states()},
            )
        for name, made in zip(wanted, bound.forward(is_train=False, **given), strict=True):
            collector.collect(name, made)
        seen += arrays[0].shape[0]
    return seen
