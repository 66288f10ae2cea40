"""Values of a run as messages for TensorBoard: numbers, histograms, images, and several as one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, final

import numpy as np

from hybridnet.ops.state.variables import NO_OP

from .. import dtypes
from ..graph.building import apply_call
from ..graph.control import name_scope
from ..graph.graph import Graph, GraphKeys, get_default_graph
from ..graph.shapes import TensorShape
from ..graph.tensor import Operation, Tensor
from ..graph.values import convert_to_tensor
from ..session.session import register_session_run_conversion_functions
from .events import Histogram, Image, Summary, Value
from .pictures import as_pixels, as_png

__all__ = ["histogram", "image", "merge", "merge_all", "scalar"]

#: Where the buckets of histograms end, on the side above 0: from, to, and how they grow.
_FIRST, _LAST, _GROWTH = 1e-12, 1e20, 1.1


@final
class SummaryTensor:
    """What a session fetches as a Summary message.

    Attributes:
        op: an Operation of its name, that runs nothing.
        parts: the tensors whose values are in it.
        dtype: string.
        shape: ().
    """

    def __init__(
        self,
        op: Operation,
        parts: Sequence[Tensor],
        values: Callable[[list[Any]], list[Value]],
    ) -> None:
        self.op = op
        self.parts = tuple(parts)
        self.values = values
        self.dtype = dtypes.string
        self.shape = TensorShape([])

    @property
    def name(self) -> str:
        """The name: ``'loss:0'``."""
        return f"{self.op.name}:0"

    @property
    def graph(self) -> Graph:
        """The graph it is in."""
        return self.op.graph

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Computes the message in a session; default the one that is the default."""
        return self.graph.session_for(session, "evaluate tensor").run(self, feed_dict)

    def _as_graph_element(self) -> Operation:
        return self.op

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape=() dtype=string>"


def _fetched(summary: SummaryTensor) -> tuple[Sequence[Tensor], Callable[[list[Any]], bytes]]:
    return summary.parts, lambda found: Summary(summary.values(found)).SerializeToString()


register_session_run_conversion_functions(SummaryTensor, _fetched)


def scalar(
    name: str, tensor: Any, collections: Sequence[str] | None = None, family: str | None = None
) -> SummaryTensor:
    """Returns what can be fetched as a message with a number.

    Args:
        name: of it, before which the scopes in force come.
        tensor: one number.
        collections: which it is added to; default the summaries, for `merge_all`.
        family: what its name begins with, twice, to be shown together.
    """
    return _summary("ScalarSummary", name, tensor, collections, family, _number)


def histogram(
    name: str, values: Any, collections: Sequence[str] | None = None, family: str | None = None
) -> SummaryTensor:
    """Returns what can be fetched as a message with a histogram; see `scalar`."""
    return _summary(
        "HistogramSummary", name, values, collections, family,
        lambda tag, value: [_counted(tag, value)],
    )  # fmt: skip


def image(
    name: str,
    tensor: Any,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> SummaryTensor:
    """Returns what can be fetched as a message with images; see `scalar`.

    Args:
        name: of it.
        tensor: (batch, height, width, channels), 1, 3 or 4 channels. uint8 are pixels; floats are
            scaled, each image for itself.
        max_outputs: how many images of a batch.
        collections: as for `scalar`.
        family: likewise.

    Raises:
        ValueError: the tensor has other dimensions.
    """
    shape = convert_to_tensor(tensor).shape
    if shape.ndims not in (None, 4) or (shape.ndims and shape.as_list()[3] not in (None, 1, 3, 4)):
        raise ValueError(
            f"summary.image: needs (batch, height, width, 1, 3 or 4 channels), got {shape}"
        )

    def shown(tag: str, batch: Any) -> list[Value]:
        made = []
        for number, one in enumerate(batch[:max_outputs]):
            pixels = as_pixels(one)
            where = f"{tag}/image" if max_outputs == 1 else f"{tag}/image/{number}"
            height, width, channels = pixels.shape
            made.append(Value(where, image=Image(height, width, channels, as_png(pixels))))
        return made

    return _summary("ImageSummary", name, tensor, collections, family, shown)


def _summary(
    kind: str,
    name: str,
    given: Any,
    collections: Sequence[str] | None,
    family: str | None,
    values: Callable[[str, Any], list[Value]],
) -> SummaryTensor:
    clean = re.sub(r"[^-/\w.]", "_", name).lstrip("/")  # as for scopes: 'W:0' is 'W_0'
    with name_scope(clean if family is None else f"{family}/{clean}", values=[given]) as scope:
        tensor = convert_to_tensor(given)
        op: Operation = apply_call(kind, NO_OP, (), name=scope)
    tag = op.name if family is None else f"{family}/{op.name}"
    made = SummaryTensor(op, [tensor], lambda found: values(tag, found[0]))
    graph = get_default_graph()
    graph.add_to_collections([GraphKeys.SUMMARIES] if collections is None else collections, made)
    return made


def merge(
    inputs: Sequence[SummaryTensor],
    collections: Sequence[str] | None = None,
    name: str | None = None,
) -> SummaryTensor:
    """Returns what can be fetched as one message with the values of several.

    Args:
        inputs: what `scalar`, `histogram`, `image` and `merge` returned.
        collections: which it is added to; default none.
        name: of the scope.

    Raises:
        TypeError: something else is among them.
    """
    listed = list(inputs)
    for one in listed:
        if not isinstance(one, SummaryTensor):
            raise TypeError(f"summary.merge: needs what tf.summary makes, got {one!r}")
    with name_scope(name, "Merge"):
        op: Operation = apply_call("MergeSummary", NO_OP, (), name="MergeSummary")
    parts = [tensor for one in listed for tensor in one.parts]

    def values(found: list[Any]) -> list[Value]:
        rest = iter(found)
        return [value for one in listed for value in one.values([next(rest) for _ in one.parts])]

    made = SummaryTensor(op, parts, values)
    get_default_graph().add_to_collections(collections or [], made)
    return made


def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> SummaryTensor | None:
    """Returns what can be fetched as one message with all summaries; None if there are none.

    Args:
        key: the collection that they are in.
        scope: what their names must begin with.
        name: of the scope.
    """
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


def _number(tag: str, value: Any) -> list[Value]:
    return [Value(tag, float(np.asarray(value).reshape(())))]


def _counted(tag: str, value: Any) -> Value:
    flat = np.asarray(value, np.float64).reshape(-1)
    limits = _limits()
    if not flat.size:
        return Value(
            tag, histo=Histogram(limits[-1], limits[0], bucket_limit=[limits[-1]], bucket=[0])
        )
    places = np.minimum(np.searchsorted(limits, flat, side="right"), len(limits) - 1)
    counts = np.bincount(places, minlength=len(limits))
    ends: list[float] = []
    numbers: list[float] = []
    for limit, count in zip(limits, counts, strict=True):
        if numbers and not count and not numbers[-1]:
            ends[-1] = float(limit)  # empty buckets beside one another are one
        else:
            ends.append(float(limit))
            numbers.append(float(count))
    return Value(
        tag,
        histo=Histogram(
            float(flat.min()),
            float(flat.max()),
            float(flat.size),
            float(flat.sum()),
            float((flat * flat).sum()),
            ends,
            numbers,
        ),
    )


@cache
def _limits() -> np.ndarray[Any, Any]:
    """Returns where the buckets of a histogram end."""
    above = []
    limit = _FIRST
    while limit < _LAST:
        above.append(limit)
        limit *= _GROWTH
    above.append(np.finfo(np.float64).max)
    return np.array([*(-one for one in above[::-1]), 0.0, *above])
