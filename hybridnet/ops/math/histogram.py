"""Histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from hybridnet.base.attrs import Floats, Range
from hybridnet.base.dtype import INT64
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.families import convert
from ..core.registry import operator
from ..core.rules import refuse_bool


def _takes(*, bin_cnt: int | None, **_: Any) -> Sequence[str]:
    return ("data", "bins") if bin_cnt is None else ("data",)


def _check(
    data: TensorType, *bins: TensorType, bin_cnt: int | None, range: tuple[float, ...]
) -> None:
    refuse_bool("_histogram")(data)
    if bins and (len(bins[0].shape) != 1 or bins[0].shape[0] < 2):
        raise ShapeError(f"_histogram: bins must be the edges, (bins + 1,), got bins {bins[0]}")
    if not bins and (len(range) != 2 or not range[0] < range[1]):
        raise ParameterError(
            f"_histogram: range must be two numbers, the smaller first, with bin_cnt, got {range}"
        )


def _types(
    data: TensorType, *bins: TensorType, bin_cnt: int | None, **_: Any
) -> Sequence[TensorType]:
    edges = bins[0].shape[0] if bins else 1 + (bin_cnt or 0)
    dtype = bins[0].dtype if bins else data.dtype
    return (tensor_type((edges - 1,), INT64), tensor_type((edges,), dtype))


@operator(
    "_histogram",
    outputs=2,
    takes=_takes,
    check=_check,
    infer=_types,
    no_gradient="its result is counts",
    output_names=("output0", "output1"),
)
def histogram(
    data: Any,
    bins: Any = None,
    *,
    bin_cnt: Annotated[int, Range(1)] | None = None,
    range: Floats = (),
) -> Any:
    """Counts the elements in each bin. The last bin holds its right edge too.

    Args:
        bins: (bins + 1,), the edges in ascending order; not given with `bin_cnt`.
        bin_cnt: how many bins of equal width there are.
        range: the left edge of the first of them and the right edge of the last.

    Returns:
        The counts, int64 of shape (bins,), and the edges, (bins + 1,).
    """
    if bin_cnt is None:
        edges = bins
    else:
        edges = convert(jnp.linspace(range[0], range[1], bin_cnt + 1), data.dtype)
    counts, _ = jnp.histogram(data.reshape(-1), bins=edges)
    return counts.astype(INT64), edges
