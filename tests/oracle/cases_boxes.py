"""Cases of operators on boxes and of single-shot detection; see `case.py`."""

from __future__ import annotations

from case import Cases, Input
from case import given as _v
from case import random as _x

CASES = Cases("boxes")
_case = CASES.add


def _rows(count: int, width: int = 6, seed: int = 0) -> list[list[float]]:
    """Boxes (class, score, corners) that overlap now and then; scores are distinct."""
    state, rows = 12345 + seed, []
    for index in range(count):
        numbers = []
        for _ in range(width):
            state = (1103515245 * state + 12345) % 2**31
            numbers.append((state >> 8) % 1000 / 1000)
        x, y, w, h = numbers[2:6]
        score = ((index * 7 + seed) % count + 1) / (count + 1)
        box = [x, y, x + 0.1 + w, y + 0.1 + h]
        rows.append([float(int(numbers[0] * 3)), score, *box, *numbers[6:]])
    return rows


def _boxes(count: int, seed: int = 0) -> Input:
    return _v(*[row[2:6] for row in _rows(count, seed=seed)])


for _format in ("corner", "center"):
    _case("_contrib_box_iou", _boxes(4), _boxes(3, 1), format=_format)
    _case("_contrib_box_iou", _boxes(1), _boxes(5, 1), format=_format)
    _case("_contrib_box_iou", _x(2, 2, 4, low=0), _x(3, 4, low=0), format=_format)
    _case("_contrib_box_iou", _x(1, 4, low=0), _x(1, 2, 3, 4, low=0), format=_format)
_case("_contrib_box_iou", _v([0, 0, 1, 1]), _v([0, 0, 1, 1], [2, 2, 3, 3], [0, 0, 0, 0]))
_case("_contrib_box_iou", _x(2, 4, low=0, dtype="float64"), _x(1, 4, low=0, dtype="float64"))
_case("_contrib_box_iou", _v([1, 1, 0, 0]), _v([0, 0, 1, 1], [1, 1, 0, 0]))

_nms = "_contrib_box_nms"
_case(_nms, _v(*_rows(12)))
_case(_nms, _v(*_rows(12)), overlap_thresh=0.2)
_case(_nms, _v(*_rows(12)), overlap_thresh=0.2, id_index=0)
_case(_nms, _v(*_rows(12)), overlap_thresh=0.2, id_index=0, force_suppress=True)
_case(_nms, _v(*_rows(12)), overlap_thresh=0.2, id_index=0, background_id=0)
_case(_nms, _v(*_rows(12)), overlap_thresh=0.3, valid_thresh=0.4)
_case(_nms, _v(*_rows(12)), overlap_thresh=0.3, topk=5)
_case(_nms, _v(*_rows(12)), overlap_thresh=0.3, topk=50, valid_thresh=0.9)
_case(_nms, _v(*_rows(12)), overlap_thresh=0.2, out_format="center", grads=[])
_case(_nms, _v(*_rows(12)), overlap_thresh=0.2, in_format="center", grads=[])
_case(_nms, _v(*_rows(12)), overlap_thresh=0.2, in_format="center", out_format="center")
_case(_nms, _v(_rows(7), _rows(7, seed=3), _rows(7, seed=5)), overlap_thresh=0.25)
_case(_nms, _v([_rows(4)], [_rows(4, seed=2)]), overlap_thresh=0.25, id_index=0)
_case(_nms, _v(*_rows(6, 9)), overlap_thresh=0.25)
_case(_nms, _v(*_rows(1)))
_case(_nms, _v(*_rows(9)), valid_thresh=2)
_case(_nms, _v(*[row[1:6] for row in _rows(9)]), score_index=0, coord_start=1, overlap_thresh=0.1)
_case(_nms, _v(*_rows(6), dtype="float64"), overlap_thresh=0.3)

_matching = "_contrib_bipartite_matching"
for _shape in ((3, 4), (4, 3), (1, 5), (5, 1), (2, 3, 3), (2, 2, 4, 2), (1, 1)):
    _case(_matching, _x(*_shape, low=0), threshold=0.1, grads=[])
    _case(_matching, _x(*_shape, low=0), threshold=0.8, is_ascend=True, grads=[])
for _topk in (1, 2, 10):
    _case(_matching, _x(5, 4, low=0), threshold=0.05, topk=_topk, grads=[])
    _case(_matching, _x(5, 4, low=0), threshold=0.9, topk=_topk, is_ascend=True, grads=[])
_case(_matching, _x(4, 4, low=0, dtype="float64"), threshold=0.5, grads=[])

for _count, _refs in ((4, 3), (1, 1), (6, 2)):
    for _seed in (0, 1):
        _case("_contrib_box_encode",
              _x(2, _count, low=-1.49, high=1.99).__class__(
                  values=tuple(tuple((i + j + _seed) % 3 - 1 for i in range(_count))
                               for j in range(2))),
              _v(*[[(i * 2 + j) % _refs for i in range(_count)] for j in range(2)]),
              _v(_rows_boxes := [row[2:6] for row in _rows(_count)], _rows_boxes),
              _v(*[[row[2:6] for row in _rows(_refs, seed=s + 7)] for s in range(2)]),
              _v(0.1, -0.1, 0.0, 0.2), _v(0.1, 0.1, 0.2, 0.2), grads=[])  # fmt: skip
for _format in ("corner", "center"):
    for _count, _batch in ((4, 2), (1, 1), (5, 3)):
        _anchors = _v([row[2:6] for row in _rows(_count)])
        _case("_contrib_box_decode", _x(_batch, _count, 4), _anchors, format=_format, grads=[])
        _case("_contrib_box_decode", _x(_batch, _count, 4), _anchors, format=_format, std0=0.1,
              std1=0.2, std2=0.3, std3=0.4, clip=0.1, grads=[])  # fmt: skip

_prior = "_contrib_MultiBoxPrior"
_case(_prior, _x(1, 2, 2, 3), grads=[])
_case(_prior, _x(2, 1, 3, 2), sizes=(0.3, 0.6), ratios=(1, 2, 0.5), grads=[])
_case(_prior, _x(1, 1, 2, 2), sizes=(0.9,), ratios=(2, 0.5), clip=True, grads=[])
_case(_prior, _x(1, 1, 1, 1), sizes=(0.2, 0.4, 0.5), grads=[])
_case(_prior, _x(1, 1, 2, 3), steps=(0.1, 0.2), grads=[])
_case(_prior, _x(1, 1, 2, 3), offsets=(0.1, 0.9), grads=[])
_case(_prior, _x(1, 1, 3, 1), sizes=(1.5,), ratios=(3,), clip=True, grads=[])
_case(_prior, _x(1, 1, 1, 4), ratios=(0.5, 1, 2, 3), grads=[])
_case(_prior, _x(3, 5, 2, 2), sizes=(0.4, 0.1), steps=(0.5, 0.25), offsets=(0, 0), grads=[])
_case(_prior, _x(1, 1, 5, 4), sizes=(0.3,), steps=(0.3, 0.2), grads=[])

_anchors = _v([row[2:6] for row in _rows(9)])
_labels = _v(
    [row[:1] + row[2:6] for row in _rows(3, seed=4)],
    [[1.0, 0.1, 0.1, 0.5, 0.6], [-1] * 5, [-1] * 5],
    [[-1] * 5] * 3,
)
_target = "_contrib_MultiBoxTarget"
for _mining in (-1.0, 1.0, 3.0):
    for _overlap in (0.5, 0.2, -1.0):
        _case(_target, _anchors, _labels, _x(3, 4, 9), overlap_threshold=_overlap,
              negative_mining_ratio=_mining, grads=[])  # fmt: skip
_case(_target, _anchors, _labels, _x(3, 4, 9), negative_mining_ratio=0.5,
      ignore_label=7, grads=[])  # fmt: skip
_case(_target, _anchors, _labels, _x(3, 4, 9), negative_mining_ratio=1,
      negative_mining_thresh=0.3, ignore_label=-2, grads=[])  # fmt: skip
_case(_target, _anchors, _labels, _x(3, 2, 9), variances=(0.2, 0.3, 0.4, 0.5), grads=[])
_case(_target, _anchors, _v([[0, 0.2, 0.1, 0.7, 0.9, 5, 6]]), _x(1, 3, 9), grads=[])
_case(_target, _v([[0, 0, 1, 1.0]]), _v([[2, 0, 0, 0.5, 0.5], [1, 0, 0, 1, 1]]), _x(1, 3, 1),
      grads=[])  # fmt: skip

_detection = "_contrib_MultiBoxDetection"
_predictions = (_x(2, 4, 9, low=0), _x(2, 36), _anchors)
_case(_detection, *_predictions, grads=[])
for _options in (
    {"nms_threshold": 0.2},
    {"nms_threshold": 0.2, "force_suppress": True},
    {"threshold": 0.8},
    {"clip": False},
    {"nms_topk": 3},
    {"nms_topk": 3, "nms_threshold": -1},
    {"variances": (0.2, 0.3, 0.1, 0.1), "nms_threshold": 0.3},
    {"threshold": 2},
    {"nms_threshold": 0.1, "nms_topk": 100, "clip": False},
):
    _case(_detection, *_predictions, grads=[], **_options)
_case(_detection, _x(1, 2, 1, low=0), _x(1, 4), _v([[0, 0, 1, 1]]), grads=[])

# Regions: rounded and not, turned around, outside, of parts without pixels, scaled.
_regions = _v(
    [0, 0, 0, 3, 3], [1, 1.2, 0.7, 4.9, 3.1], [0, 2.5, 1.5, 2.5, 1.5], [1, 3, 3, 1, 2],
    [0, -3, -2, 9, 8], [1, 6, 6, 8, 8],
)  # fmt: skip
for _pooled in ((2, 2), (1, 1), (7, 5)):
    _case("ROIPooling", _x(2, 3, 5, 6), _regions, pooled_size=_pooled, spatial_scale=1.0)
    for _scale in (0.5, 0.3):
        _case("ROIPooling", _x(2, 1, 5, 6), _regions, pooled_size=_pooled, spatial_scale=_scale)
_case("ROIPooling", _x(2, 1, 1, 4), _regions, pooled_size=(2, 2), spatial_scale=1.0)

_align = "_contrib_ROIAlign"
# MXNet stops the process at a region without area where `aligned` is set.
_regions = _v([0, 0, 0, 3, 3], [1, 1.2, 0.7, 4.9, 3.1], [0, 2.5, 1.5, 2.6, 1.7], [0, -3, -2, 9, 8])
for _pooled in ((2, 2), (3, 1)):
    for _options in (
        {},
        {"sample_ratio": 2},
        {"sample_ratio": 1, "aligned": True},
        {"spatial_scale": 0.6, "aligned": True},
    ):
        _case(_align, _x(2, 3, 5, 6), _regions, pooled_size=_pooled,
              **{"spatial_scale": 1.0, **_options})  # fmt: skip
_case(_align, _x(2, 8, 4, 4), _regions, pooled_size=(2, 2), spatial_scale=1.0,
      position_sensitive=True)  # fmt: skip
_case(_align, _x(2, 6, 4, 4), _regions, pooled_size=(2, 3), spatial_scale=0.7, sample_ratio=2,
      position_sensitive=True)  # fmt: skip
_case(_align, _x(2, 1, 1, 1), _regions, pooled_size=(2, 2), spatial_scale=1.0)

_few = {"scales": (2, 4), "ratios": (0.5, 1, 2), "feature_stride": 8, "rpn_min_size": 4}
for _op, _batch in (("_contrib_Proposal", 1), ("_contrib_MultiProposal", 2)):
    for _options in (
        {},
        {"rpn_pre_nms_top_n": 20, "rpn_post_nms_top_n": 5},
        {"threshold": 0.3, "output_score": True},
        {"rpn_min_size": 20},
        {"scales": (1,), "ratios": (1, 3, 0.4, 2, 0.7, 1.5), "threshold": 0.5},
        {"iou_loss": True, "output_score": True},
    ):
        for _scale in (1.0, 1.6):
            _info = _v(*[[40, 36, _scale]] * _batch)
            _case(_op, _x(_batch, 12, 5, 6, low=0), _x(_batch, 24, 5, 6, low=-0.5, high=0.5),
                  _info, grads=[],
                  **{**_few, "rpn_post_nms_top_n": 12, **_options})  # fmt: skip
