"""Operators of detection and of image sampling as users call them: sizes, graphs, refusals."""

import re

import numpy as np
import pytest
from places import ORACLE

import hybridnet as mx
from hybridnet.base.errors import DTypeError, MXNetError, ParameterError, ShapeError

_IMAGE = np.zeros((1, 2, 4, 5), "float32")
_BOXES = np.zeros((3, 6), "float32")
_ROIS = np.zeros((2, 5), "float32")
_ANCHORS = np.zeros((1, 3, 4), "float32")
_ZOOM = {"transform_type": "affine", "sampler_type": "bilinear", "target_shape": (2, 2)}
_DEFORM_ALL = {"kernel": (2, 2), "num_filter": 1}
_DEFORM = {**_DEFORM_ALL, "no_bias": True}

#: Calls that are refused: name, inputs, parameters, what the error says.
_REFUSED = [
    ("contrib.AdaptiveAvgPooling2D", [_IMAGE[0]], {}, "data must have shape (batch, channels"),
    ("contrib.AdaptiveAvgPooling2D", [_IMAGE], {"output_size": (0, 2)}, "numbers from 1, got (0"),
    ("contrib.BilinearResize2D", [_IMAGE], {"height": 0}, "must be at least 1, got (0, 1)"),
    ("contrib.BilinearResize2D", [_IMAGE], {"mode": "like"}, "takes the inputs data, like"),
    ("contrib.BilinearResize2D", [_IMAGE], {"scale_height": 2.0}, "must be given together"),
    ("contrib.BilinearResize2D", [_IMAGE], {"mode": "twice"}, "mode must be one of 'like'"),
    ("UpSampling", [_IMAGE], {"scale": 0, "sample_type": "nearest"}, "scale must be an integer"),
    ("UpSampling", [_IMAGE], {"scale": 2}, "sample_type ("),
    ("UpSampling", [_IMAGE], {"scale": 2, "sample_type": "bilinear"}, "takes the inputs data, w"),
    ("UpSampling", [_IMAGE, _IMAGE[..., 1:]], {"scale": 2, "sample_type": "nearest"}, "one mult"),
    ("GridGenerator", [_IMAGE], {"transform_type": "affine"}, "must have shape (batch, 6)"),
    ("GridGenerator", [_IMAGE[:, :1]], {"transform_type": "warp"}, "(batch, 2, height, width)"),
    ("GridGenerator", [_BOXES], {"transform_type": "affine"}, "target_shape must be (height"),
    ("BilinearSampler", [_IMAGE, _IMAGE[:, :1]], {}, "grid must have shape (batch, 2"),
    ("BilinearSampler", [_IMAGE, _IMAGE.astype("float64")], {}, "must have one dtype"),
    ("SpatialTransformer", [_IMAGE, _BOXES], _ZOOM, "must have one batch size"),
    ("ROIPooling", [_IMAGE, _BOXES], {"pooled_size": 2, "spatial_scale": 1}, "(regions, 5)"),
    ("ROIPooling", [_IMAGE, _ROIS], {"pooled_size": 0, "spatial_scale": 1}, "each at least 1"),
    ("ROIPooling", [_IMAGE, _ROIS], {"pooled_size": 2}, "spatial_scale (a number) is required"),
    ("contrib.ROIAlign", [_IMAGE.astype("int32"), _ROIS], {"pooled_size": 2, "spatial_scale": 1},
     "data must be floating point"),
    ("contrib.box_iou", [_BOXES, _BOXES], {}, "must have shape (..., 4)"),
    ("contrib.box_nms", [_BOXES[0]], {}, "data must have shape (..., boxes, numbers)"),
    ("contrib.box_nms", [_BOXES], {"coord_start": 3}, "coordinates from 3 to 6"),
    ("contrib.bipartite_matching", [_BOXES[0]], {"threshold": 1}, "(..., rows, columns)"),
    ("contrib.bipartite_matching", [_BOXES], {}, "threshold (a number) is required"),
    ("contrib.box_decode", [_ANCHORS, _ANCHORS[:, :2]], {}, "requires data (batch, n, 4)"),
    ("contrib.box_encode", [_BOXES] * 6, {}, "requires samples and matches (batch, n)"),
    ("contrib.MultiBoxPrior", [_BOXES], {}, "data must have shape (batch, channels"),
    ("contrib.MultiBoxPrior", [_IMAGE], {"sizes": (0.2, 0)}, "sizes must be numbers above 0"),
    ("contrib.MultiBoxPrior", [_IMAGE], {"steps": (1, 2, 3)}, "steps must be 2 numbers"),
    ("contrib.MultiBoxTarget", [_ANCHORS, _BOXES, _BOXES], {}, "requires anchor (1, n, 4)"),
    ("contrib.MultiBoxDetection", [_ANCHORS, _BOXES, _ANCHORS], {}, "requires cls_prob (batch"),
    ("contrib.Proposal", [_IMAGE, _IMAGE, _BOXES], {}, "requires cls_prob (batch, 24"),
    ("Correlation", [_IMAGE, _IMAGE[:, :1]], {}, "must have equal shapes"),
    ("Correlation", [_IMAGE, _IMAGE], {"kernel_size": 2}, "kernel_size must be odd"),
    ("Correlation", [_IMAGE, _IMAGE], {"max_displacement": 2}, "padded images must be larger"),
    ("contrib.DeformableConvolution", [_IMAGE, _IMAGE, _IMAGE], _DEFORM, "offset must have shape"),
    ("contrib.DeformableConvolution", [_IMAGE] * 3, _DEFORM_ALL, "require the inputs data, off"),
    ("contrib.interleaved_matmul_selfatt_qk", [_BOXES], {"heads": 2}, "(length, batch, features)"),
    ("contrib.interleaved_matmul_selfatt_qk", [_ANCHORS], {"heads": 3}, "heads=3 must divide"),
    ("contrib.interleaved_matmul_encdec_qk", [_ANCHORS, _ANCHORS], {"heads": 2}, "keys_values mu"),
    ("contrib.interleaved_matmul_encdec_valatt", [_ANCHORS, _ANCHORS], {"heads": 2}, "(6, any, 1)"),
    ("contrib.index_copy", [_BOXES, np.array([1]), _BOXES], {}, "requires index_vector with 1 dim"),
    ("contrib.index_copy", [_BOXES, _BOXES[:, 0], np.ones((3, 6), "int32")], {}, "of one dtype"),
    ("contrib.index_array", [_BOXES], {"axes": (2,)}, "axis must be from -2 to 1"),
    ("contrib.arange_like", [_BOXES], {"repeat": 0}, "repeat must be an integer >= 1"),
    ("contrib.allclose", [_BOXES, _ROIS], {}, "a and b must have equal shapes"),
    ("contrib.fft", [_BOXES[0]], {}, "must have 2 or 4 dimensions"),
    ("contrib.count_sketch", [_BOXES] * 3, {"out_dim": 2}, "requires data (n, d), h (1, d)"),
]  # fmt: skip


@pytest.mark.parametrize("name,inputs,params,message", _REFUSED)
def test_unfit_calls_are_refused_by_name(name, inputs, params, message):
    owner = mx.nd.contrib if name.startswith("contrib.") else mx.nd
    function = getattr(owner, name.removeprefix("contrib."))
    with pytest.raises((ShapeError, DTypeError, ParameterError), match=re.escape(message)) as error:
        function(*(mx.nd.array(one, dtype=one.dtype) for one in inputs), **params)
    assert name.removeprefix("contrib.") in str(error.value)
    with pytest.raises(MXNetError):
        function(**params)


def test_no_boxes_regions_or_labels_are_no_error():
    assert mx.nd.contrib.box_nms(mx.nd.empty((2, 0, 6))).shape == (2, 0, 6)
    assert mx.nd.contrib.box_nms(mx.nd.empty((0, 3, 6))).asnumpy().shape == (0, 3, 6)
    assert mx.nd.contrib.box_iou(mx.nd.empty((0, 4)), mx.nd.zeros((3, 4))).shape == (0, 3)
    rows, _ = mx.nd.contrib.bipartite_matching(mx.nd.empty((3, 0)), threshold=0.5)
    assert rows.asnumpy().tolist() == [-1, -1, -1]
    image, rois = mx.nd.array(_IMAGE), mx.nd.empty((0, 5))
    for pool in (mx.nd.ROIPooling, mx.nd.contrib.ROIAlign):
        assert pool(image, rois, pooled_size=(2, 3), spatial_scale=1).shape == (0, 2, 2, 3)
    anchors, scores = mx.nd.array(_ANCHORS), mx.nd.zeros((2, 4, 3))
    moves, _, classes = mx.nd.contrib.MultiBoxTarget(anchors, mx.nd.empty((2, 0, 5)), scores)
    assert not moves.asnumpy().any()
    assert (classes.asnumpy() == -1).all()


def _nms(boxes, scores, threshold):
    """The boxes that are kept, one by one."""
    kept = []
    for index in np.argsort(-scores, kind="stable"):
        low = np.maximum(boxes[index, :2], boxes[kept, :2])
        high = np.minimum(boxes[index, 2:], boxes[kept, 2:])
        both = np.maximum(high - low, 0).prod(1)
        area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
        if not (both > threshold * (area[index] + area[kept] - both)).any():
            kept.append(index)
    return kept


def test_suppression_keeps_what_one_by_one_keeps_eagerly_and_in_graphs():
    generator = np.random.default_rng(0)
    corners = generator.uniform(0, 1, (2, 300, 2))
    boxes = np.concatenate([corners, corners + generator.uniform(0.05, 0.3, (2, 300, 2))], 2)
    scores = generator.permutation(600).reshape(2, 300) / 600 + 0.001
    data = np.concatenate([scores[..., None], boxes], 2).astype("float32")
    options = {"coord_start": 1, "score_index": 0, "overlap_thresh": 0.4}
    symbol = mx.sym.contrib.box_nms(mx.sym.var("x"), **options)
    traced = mx.function(lambda x: mx.nd.contrib.box_nms(x, **options))
    x = mx.nd.array(data)
    for found in (mx.nd.contrib.box_nms(x, **options), symbol.eval(x=x)[0], traced(x)):
        for image in range(2):
            kept = _nms(data[image, :, 1:], data[image, :, 0], 0.4)
            assert 50 < len(kept) < 250
            np.testing.assert_array_equal(found.asnumpy()[image, : len(kept)], data[image, kept])
            assert (found.asnumpy()[image, len(kept) :] == -1).all()


def test_upsampling_makes_the_weight_of_its_transposed_convolution():
    up = mx.sym.UpSampling(
        mx.sym.var("x"), scale=2, num_filter=2, sample_type="bilinear", num_args=1, name="up"
    )
    assert up.list_arguments() == ["x", "up_weight"]
    shapes, outputs, _ = up.infer_shape(x=(1, 2, 3, 4))
    assert (shapes[1], outputs[0]) == ((2, 1, 4, 4), (1, 2, 6, 8))
    again = mx.sym.load_json(up.tojson())
    assert again.infer_shape(x=(1, 2, 3, 4))[1] == outputs
    nearest = mx.sym.UpSampling(
        mx.sym.var("x"), scale=2, sample_type="nearest", num_args=2, name="up"
    )
    assert nearest.list_arguments() == ["x", "up_arg1"]


def test_networks_of_detection_that_mxnet_saved_are_read():
    file = ORACLE / "files" / "detection-symbol.json"
    symbol = mx.sym.load(str(file))
    inputs = {"x": (1, 2, 4, 4), "boxes": (5, 6), "scores": (6, 2, 4), "label": (2, 3)}
    shapes, outputs, _ = symbol.infer_shape(**inputs, lengths=(2,), offset=(1, 18, 4, 4))
    named = dict(zip(symbol.list_arguments(), shapes, strict=True))
    assert named["up_weight"] == (2, 1, 4, 4)
    assert named["deformed_weight"] == (2, 2, 3, 3)
    assert outputs == [
        (1, 2, 8, 8), (1, 4, 8, 8), (1, 48, 4), (5, 6), (2,), (1, 2, 3, 5), (1, 2, 2, 2),
        (1, 2, 4, 4),
    ]  # fmt: skip


@pytest.mark.parametrize("force", [False, True])
def test_boxes_of_the_background_are_dropped_first(force):
    """Those of class -1 unless it is said which: they are not kept, and suppress nothing."""
    boxes = [[0, 0.9, 0, 0, 2, 2], [-1, 0.95, 0, 0, 2, 2]]
    boxes += [[-1, 0.6, 5, 5, 6, 6], [2, 0.5, 5, 5, 6, 6.1]]
    given = mx.nd.array(boxes)
    options = {"overlap_thresh": 0.5, "id_index": 0, "force_suppress": force}
    symbol = mx.sym.contrib.box_nms(mx.sym.var("x"), **options)
    for found in (mx.nd.contrib.box_nms(given, **options), symbol.eval(x=given)[0]):
        kept = found.asnumpy()
        np.testing.assert_allclose(kept[kept[:, 1] >= 0][:, :2], [[0, 0.9], [2, 0.5]])
    given[:, 0] += 1
    found = mx.nd.contrib.box_nms(given, background_id=3, **options).asnumpy()
    right = [[0, 0.95]] if force else [[0, 0.95], [1, 0.9]]
    np.testing.assert_allclose(found[found[:, 1] >= 0][:, :2], [*right, [0, 0.6]])


def test_offsets_at_the_last_row_and_column_have_no_slope_beyond_them():
    """A deformable convolution's samples past the last pixel's center are that pixel."""
    data = mx.nd.array(np.array([[[[0, 1, 4], [9, 16, 25], [36, 49, 64]]]], "float32"))
    offset = mx.nd.zeros((1, 2, 3, 3))
    offset.attach_grad()
    with mx.autograd.record():
        made = mx.nd.contrib.DeformableConvolution(
            data, offset, mx.nd.ones((1, 1, 1, 1)), kernel=(1, 1), num_filter=1, no_bias=True
        )
    made.backward()
    np.testing.assert_allclose(made.asnumpy(), data.asnumpy())
    down = [[9, 15, 21], [27, 33, 39], [0, 0, 0]]
    right = [[1, 3, 0], [7, 9, 0], [13, 15, 0]]
    np.testing.assert_allclose(offset.grad.asnumpy()[0], [down, right])
