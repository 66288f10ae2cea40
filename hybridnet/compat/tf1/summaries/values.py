"""Values of a run as messages for TensorBoard: numbers, histograms, images, and several as one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base import cv2
from hybridnet.events import Image, Summary, Value, histogram_of
from hybridnet.graph import NO_OP

from .. import dtypes
from ..graph import Operation, Tensor, TensorShape, apply_call, convert_to_tensor, name_scope
from ..graph.graph import GraphKeys, get_default_graph
from ..images.decoding import image_file
from ..session.session import register_session_run_conversion_functions

__all__ = ["histogram", "image", "merge", "merge_all", "scalar"]

#: What a pixel becomes that is not finite: red, and white where there is one channel.
_BAD: Final = (255, 0, 0, 255)
#: Images whose numbers are no larger are taken for 0.
_NOTHING: Final = 1e-6


@final
class SummaryTensor:
    """The result of a summary function, which a session fetches as a Summary message.

    Attributes:
        op: an Operation of the same name, which computes nothing.
        name: the name, like ``'loss:0'``.
        graph: the graph that it is in.
        parts: the tensors whose values the message holds.
        dtype: string.
        shape: ().
    """

    def __init__(
        self, op: Operation, parts: Sequence[Tensor], values: Callable[[list[Any]], list[Value]]
    ) -> None:
        self.op = op
        self.name, self.graph = f"{op.name}:0", op.graph
        self.parts = tuple(parts)
        self.values = values
        self.dtype = dtypes.string
        self.shape = TensorShape([])

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Computes the message in a session; default the one that is the default."""
        return self.graph.session_for(session, "evaluate tensor").run(self, feed_dict)

    def _as_graph_element(self) -> Operation:
        return self.op

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape=() dtype=string>"


register_session_run_conversion_functions(
    SummaryTensor,
    lambda one: (one.parts, lambda found: Summary(one.values(found)).SerializeToString()),
)


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
        lambda tag, value: [Value(tag, histo=histogram_of(value))],
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
            pixels = _as_pixels(one)
            where = f"{tag}/image" if max_outputs == 1 else f"{tag}/image/{number}"
            height, width, channels = pixels.shape
            data = image_file(".png", pixels, [cv2.IMWRITE_PNG_COMPRESSION, 3])
            made.append(Value(where, image=Image(height, width, channels, data)))
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
    """
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


def _number(tag: str, value: Any) -> list[Value]:
    return [Value(tag, float(np.asarray(value).reshape(())))]


# Images: pixels from numbers, and PNG files of them -----------------------------------------------


def _as_pixels(image: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns an image in whole numbers from 0 to 255.

    Numbers that are not negative are scaled so that the largest is 255; where some are negative, 0
    becomes 128, and the largest size 127 more or less.

    Args:
        image: (height, width, channels), floats or uint8; the latter are pixels already.
    """
    if image.dtype == np.uint8:
        return image
    values = image.astype(np.float32)
    good = np.isfinite(values).all(axis=-1)
    seen = values[good]
    low, high = (float(np.min(seen)), float(np.max(seen))) if seen.size else (0.0, 0.0)
    largest, most, offset = (max(-low, high), 127, 128) if low < 0 else (high, 255, 0)
    scale = np.float32(0 if largest < _NOTHING else most / largest)
    pixels = np.empty(values.shape, np.uint8)
    pixels[good] = (seen * scale + np.float32(offset)).astype(np.uint8)
    pixels[~good] = _BAD[: image.shape[-1]]
    return pixels
