"""Translations of what detectors do with boxes."""

from __future__ import annotations

import numpy as np

from .place import Place
from .table import translates

#: Boxes of different classes are moved so far apart that they do not overlap.
_APART = 1e4


@translates("_contrib_box_decode")
def _box_decode(place: Place) -> str:
    data, anchors = place.operands()
    centers = anchors if place.attrs["format"] == "center" else _centers(place, anchors)
    deviations = [place.attrs[f"std{i}"] for i in range(4)]
    scaled = place.add("Mul", data, place.constant(deviations, place.results[0].dtype))
    stretch = place.cut(scaled, 2, 2, 4)
    if place.attrs["clip"] > 0:
        stretch = place.add("Min", stretch, place.number(place.attrs["clip"]))
    sizes = place.cut(centers, 2, 2, 4)
    moved = place.add("Mul", place.cut(scaled, 2, 0, 2), sizes)
    middle = place.add("Add", moved, place.cut(centers, 2, 0, 2))
    half = place.add("Div", place.add("Mul", place.add("Exp", stretch), sizes), place.number(2))
    ends = [place.add(op, middle, half) for op in ("Sub", "Add")]
    return place.add("Concat", *ends, axis=2)


def _centers(place: Place, corners: str) -> str:
    """Returns boxes as centers and sizes."""
    low, high = place.cut(corners, 2, 0, 2), place.cut(corners, 2, 2, 4)
    middle = place.add("Div", place.add("Add", low, high), place.number(2))
    return place.add("Concat", middle, place.add("Sub", high, low), axis=2)


@translates("_contrib_box_nms")
def _box_nms(place: Place) -> str:
    """The boxes in the order of their scores, without those that a better one overlaps.

    ONNX gives the places of what stays; all else is made -1, and goes to the end.
    """
    attrs, rank = place.attrs, place.rank()
    if attrs["in_format"] != attrs["out_format"]:
        place.fail("in_format and out_format must be equal", "convert the boxes yourself")
    sizes = place.fixed(place.sizes[0][-2:], "the number of boxes")
    data = place.inputs[0] if rank == 3 else place.reshape(place.inputs[0], [-1, *sizes])
    count = sizes[0] if attrs["topk"] <= 0 else min(attrs["topk"], sizes[0])
    scores = _scores(place, data)
    _, order = place.add_several("TopK", 2, scores, place.ints(count), axis=1)
    rows = _rows(place, data, order, sizes[1])
    kept = _kept(place, rows, count)
    # What stays keeps its order, at the front.
    places = place.add("Where", kept, _numbers(place, count), _numbers(place, count, count))
    _, front = place.add_several("TopK", 2, places, place.ints(count), axis=1, largest=0)
    lost = place.unsqueeze(place.add("Not", kept), 2)
    marked = place.add("Where", lost, place.number(-1), rows)
    found = _rows(place, marked, front, sizes[1])
    if count < sizes[0]:
        pads = place.ints(0, 0, 0, 0, sizes[0] - count, 0)
        found = place.add("Pad", found, pads, place.number(-1), mode="constant")
    if rank == 3:
        return found
    return place.add("Reshape", found, place.shape_vector(place.inputs[0], place.sizes[0]))


def _column(place: Place, rows: str, index: int) -> str:
    return place.squeeze(place.cut(rows, 2, index, index + 1), 2)


def _numbers(place: Place, count: int, start: int = 0) -> str:
    return place.constant(np.arange(start, start + count)[None], np.int64)


def _rows(place: Place, data: str, order: str, width: int) -> str:
    """Puts the rows of each example in an order, (batch, count)."""
    wide = place.add("Tile", place.unsqueeze(order, 2), place.ints(1, 1, width))
    return place.add("GatherElements", data, wide, axis=1)


def _scores(place: Place, data: str) -> str:
    """Returns (batch, count) of scores, the least there is for boxes that do not count."""
    attrs = place.attrs
    scores = _column(place, data, attrs["score_index"])
    counts = place.add("Greater", scores, place.number(attrs["valid_thresh"]))
    if attrs["id_index"] >= 0 and attrs["background_id"] >= 0:
        background = place.number(attrs["background_id"])
        is_object = place.add("Equal", _column(place, data, attrs["id_index"]), background)
        counts = place.add("And", counts, place.add("Not", is_object))
    least = place.number(float(np.finfo(place.results[0].dtype).min))
    return place.add("Where", counts, scores, least)


def _kept(place: Place, rows: str, count: int) -> str:
    """Returns (batch, count), which boxes stay."""
    attrs = place.attrs
    start = attrs["coord_start"]
    boxes = place.cast(place.cut(rows, 2, start, start + 4), place.results[0].dtype, np.float32)
    if attrs["id_index"] >= 0 and not attrs["force_suppress"]:
        ids = place.cut(rows, 2, attrs["id_index"], attrs["id_index"] + 1)
        ids = place.cast(ids, place.results[0].dtype, np.float32)
        moved = place.add("Mul", ids, place.number(_APART, np.float32))
        moves_corner = [1, 1, 1, 1] if attrs["in_format"] == "corner" else [1, 1, 0, 0]
        boxes = place.add("Add", boxes, place.add("Mul", moved, place.constant(moves_corner, "f")))
    scores = place.cast(_scores(place, rows), place.results[0].dtype, np.float32)
    # Of equal scores the first one stays, whichever way ONNX goes through them.
    steps = place.constant(-np.arange(count)[None], np.float32)
    valid = place.add("Greater", scores, place.number(float(np.finfo(np.float16).min), np.float32))
    ranked = place.add("Where", valid, steps, place.number(-2 * count, np.float32))
    chosen = place.add(
        "NonMaxSuppression",
        boxes,
        place.unsqueeze(ranked, 1),
        place.ints(count),
        place.constant([attrs["overlap_thresh"]], np.float32),
        place.constant([-1.5 * count], np.float32),
        center_point_box=int(attrs["in_format"] == "center"),
    )
    pairs = place.add("Gather", chosen, place.ints(0, 2), axis=1)
    none = place.add("ConstantOfShape", place.add("Shape", scores))
    ones = place.add("Expand", place.number(1, np.float32), place.add("Shape", pairs, end=1))
    return place.cast(place.add("ScatterND", none, pairs, ones), np.float32, bool)
