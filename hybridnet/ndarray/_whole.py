"""The functions of `nd` that read an array's numbers, or what their output held before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hybridnet.ops.core import registry

from .ndarray import NDArray

__all__ = ["all_finite", "histogram", "multi_all_finite", "onehot_encode", "split_v2"]


def _finite(
    name: str,
    arrays: Sequence[NDArray],
    attrs: Mapping[str, object],
    init: bool,
    out: NDArray | None,
) -> NDArray:
    finite: NDArray = NDArray.apply_operator(registry.get(name), arrays, attrs)
    if out is None:
        return finite
    out[:] = finite if init else finite * out
    return out


def all_finite(data: NDArray, init_output: bool = True, out: NDArray | None = None) -> NDArray:
    """Returns 1 where no element is infinite or NaN, else 0, as float32 of shape (1,).

    Args:
        data: a floating array.
        init_output: whether what `out` holds does not count; otherwise a 0 there stays.
        out: an array to fill instead.
    """
    return _finite("all_finite", (data,), {}, init_output, out)


def multi_all_finite(
    *data: NDArray, num_arrays: int = 1, init_output: bool = True, out: NDArray | None = None
) -> NDArray:
    """Returns 1 where no element of any array is infinite or NaN, else 0: float32 of shape (1,).

    Args:
        data: floating arrays.
        num_arrays: how many there are.
        init_output: whether what `out` holds does not count; otherwise a 0 there stays.
        out: an array to fill instead.
    """
    attrs = {"num_arrays": num_arrays}
    return _finite("multi_all_finite", data, attrs, init_output, out)


def histogram(
    a: NDArray, bins: int | NDArray = 10, range: tuple[float, float] | None = None
) -> list[NDArray]:
    """Counts the elements in bins; the last bin holds its right edge too.

    Args:
        a: any shape.
        bins: how many bins of equal width, or their edges, (bins + 1,), in ascending order.
        range: the left edge of the first bin and the right edge of the last. Without it they are
            the least and the greatest element, for which this waits for the array.

    Returns:
        The counts, int64 (float32 where the range is found out, as in MXNet), and the edges.
    """
    op = registry.get("_histogram")
    if isinstance(bins, NDArray):
        return list(NDArray.apply_operator(op, (a, bins), {}))
    if range is not None:
        return list(NDArray.apply_operator(op, (a,), {"bin_cnt": bins, "range": range}))
    low, high = float(a.min().asscalar()), float(a.max().asscalar())
    if low == high:
        low, high = low - 0.5, high + 0.5
    floats = a.astype("float32", copy=False)
    counts, edges = NDArray.apply_operator(op, (floats,), {"bin_cnt": bins, "range": (low, high)})
    return [counts.astype("float32"), edges]


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Writes rows that are 1 at one place and 0 elsewhere.

    Args:
        indices: (rows,), the place of the 1 in each row.
        out: (rows, columns), overwritten and returned.
    """
    out[:] = indices.one_hot(depth=out.shape[1])
    return out


def split_v2(
    ary: NDArray,
    indices_or_sections: int | Sequence[int],
    axis: int = 0,
    squeeze_axis: bool = False,
) -> list[NDArray]:
    """Splits along an axis.

    Args:
        ary: what to split.
        indices_or_sections: into how many equal parts, or the positions to split at.
        axis: which axis.
        squeeze_axis: drop it, where the parts have size 1 on it.
    """
    parts: list[NDArray] = ary.split_v2(indices_or_sections, axis, squeeze_axis)
    return parts
