"""Sample calls of the operators of `nd.contrib` and of computer vision; see `op_samples`."""

from __future__ import annotations

from typing import Final

import numpy as np
from op_sample import Sample, random, sample

__all__ = ["NOT_THE_DERIVATIVE", "SAMPLES"]

_X: Final = random(2, 3, low=-1.37, high=1.21)
_CUBE: Final = random(2, 3, 4)
_IMAGE: Final = random(2, 2, 4, 5)
_BOXES: Final = np.array(
    [[0.0, 0.9, 0, 0, 1, 1], [0, 0.6, 0, 0.1, 1, 1.2], [1, 0.7, 2, 2, 3, 4], [1, 0.2, 2, 2, 3, 3.3]]
)
_CORNERS: Final = _BOXES[:, 2:]
_FIT: Final = random(2, 3, 4, low=0.1, high=0.9)
_FEW: Final = {"rpn_post_nms_top_n": 4, "scales": (2,), "feature_stride": 8, "rpn_min_size": 2}
_DEFORMED: Final = {"kernel": (2, 2), "stride": (2, 1), "pad": (1, 0), "num_filter": 2}
_REGIONS: Final = np.array([[0, 0.2, 0.4, 3.1, 2.9], [1, 1.2, 0.1, 4.7, 3.3], [7, 0, 0, 1, 1]])
_TURNED: Final = np.array(
    [[0, 2.1, 1.8, 3.1, 2.4, 31], [1, 2.6, 2.2, 2.4, 1.3, 155], [7, 0, 0, 1, 1, 0]]
)
_RANGE: Final = (np.array([-1.5], "float32"), np.array([1.25], "float32"))
_WIDE: Final = (np.array([-3.0], "float32"), np.array([5.0], "float32"))
_WHOLE: Final = np.array([[-127, 3, 50, 100], [0, 127, -8, 77]], "int8")
_WHOLE_WEIGHT: Final = np.array([[1, -2, 3, 127], [-127, 0, 9, 44], [5, 5, -5, 1]], "int8")
_WHOLE_BIAS: Final = np.array([127, -3, 40], "int8")
_WHOLE_IMAGE: Final = (np.arange(36).reshape(1, 4, 3, 3) * 7 - 120).astype("int8")
_WHOLE_FILTERS: Final = (np.arange(48).reshape(3, 4, 2, 2) * 5 - 110).astype("int8")
# Queries, keys and values, with two heads of queries for one of the others.
_ATTENTION: Final = (random(2, 3, 2, 4), random(2, 4, 1, 4, seed=1), random(2, 4, 1, 3, seed=2))
_DETECTED: Final = (random(1, 3, 4, low=0.1, high=0.9), random(1, 16), _CORNERS[None] / 4)

SAMPLES: Final[dict[str, list[Sample]]] = {
    "_contrib_boolean_mask": [
        sample(_CUBE, np.array([1, 0, 1]), axis=1, size=2),
        sample(_X, np.array([0.0, 3.0]), skip=[1], size=2),
    ],
    "_contrib_SparseEmbedding": [
        sample(np.array([[0.0, 2.0], [2.0, 7.0]]), _CUBE[0], skip=[0], input_dim=3, output_dim=4)
    ],
    "_contrib_index_array": [sample(_CUBE), sample(_CUBE, axes=(2, -2))],
    "_contrib_arange_like": [sample(_CUBE, step=0.5), sample(_CUBE, axis=-1, repeat=2)],
    "_contrib_getnnz": [sample(_CUBE), sample(_CUBE, axis=1)],
    "_contrib_index_copy": [sample(_CUBE, np.array([1]), _CUBE[:1] * 2)],
    "_contrib_allclose": [sample(_X, _X + 1e-9)],
    "_contrib_quadratic": [sample(_X, a=0.5, b=-2, c=3)],
    "_contrib_gradientmultiplier": [sample(_X, scalar=-0.5)],
    # In float32, which is not compared with numeric gradients: theirs is that of the identity.
    "_contrib_round_ste": [sample(_X.astype("float32"))],
    "_contrib_sign_ste": [sample(_X.astype("float32"))],
    "_contrib_AdaptiveAvgPooling2D": [sample(_IMAGE), sample(_IMAGE, output_size=(3, 2))],
    "_contrib_BilinearResize2D": [
        sample(_IMAGE, height=3, width=7),
        sample(_IMAGE, height=6, width=2, align_corners=False),
        sample(_IMAGE, _IMAGE[:, :, :3], skip=[1], mode="like"),
    ],
    "UpSampling": [
        sample(_IMAGE, random(2, 1, 8, 10), scale=2, sample_type="nearest"),
        sample(_IMAGE, _IMAGE * 2, scale=3, sample_type="nearest", multi_input_mode="sum"),
        sample(_IMAGE, random(2, 1, 4, 4), scale=2, sample_type="bilinear", num_filter=2),
    ],
    "GridGenerator": [
        sample(_X.reshape(1, 6), transform_type="affine", target_shape=(2, 3)),
        sample(_IMAGE, transform_type="warp"),
    ],
    "BilinearSampler": [sample(_IMAGE, random(2, 2, 3, 2, low=-1.271, high=1.183))],
    "SpatialTransformer": [
        sample(
            _IMAGE,
            random(2, 6, low=-0.61, high=0.73),
            target_shape=(2, 3),
            transform_type="affine",
            sampler_type="bilinear",
        )
    ],
    "_contrib_interleaved_matmul_selfatt_qk": [sample(random(3, 2, 12), heads=2)],
    "_contrib_interleaved_matmul_selfatt_valatt": [
        sample(random(3, 2, 12), random(4, 3, 3, seed=1), heads=2)
    ],
    "_contrib_interleaved_matmul_encdec_qk": [
        sample(random(3, 2, 4), random(2, 2, 8, seed=1), heads=2)
    ],
    "_contrib_interleaved_matmul_encdec_valatt": [
        sample(random(2, 2, 8), random(4, 3, 2, seed=1), heads=2)
    ],
    "_contrib_div_sqrt_dim": [sample(_CUBE)],
    "_contrib_dot_product_attention": [
        sample(*_ATTENTION),
        sample(*_ATTENTION, causal=True, window=2, scale=0.7),
        sample(
            *_ATTENTION,
            random(2, 1, 3, 4, seed=3) > -0.5,
            random(1, 2, 3, 1, seed=4),
            np.array([4.0, 2.0]),
            np.array([0.0, 1.0]),
            skip=(3, 5, 6),
            causal=True,
            **{f"use_{name}": True for name in ("mask", "bias", "lengths", "starts")},
        ),
        Sample(_ATTENTION, {"dropout": 0.4}, train=True),
        Sample(_ATTENTION, {"dropout": 0.4}, train=False),
    ],
    "_contrib_rotary_embedding": [
        sample(
            random(2, 3, 2, 6), np.arange(3.0), np.array([1.0, 0.1]), skip=(1, 2), interleaved=pairs
        )
        for pairs in (False, True)
    ],
    "_contrib_cache_write": [
        sample(random(2, 4, 3), random(2, 2, 3, seed=1), np.array([0.0, 2.0]), skip=(2,))
    ],
    "_contrib_DeformableConvolution": [
        sample(
            _IMAGE,
            random(2, 16, 3, 4, low=-0.83, high=0.71),
            random(2, 1, 2, 2, seed=1),
            random(2, seed=2),
            num_group=2,
            num_deformable_group=2,
            **_DEFORMED,
        )
    ],
    "_contrib_ModulatedDeformableConvolution": [
        sample(
            _IMAGE,
            random(2, 8, 3, 4, low=-0.83, high=0.71),
            random(2, 4, 3, 4, low=0.1, high=0.9, seed=1),
            random(2, 2, 2, 2, seed=2),
            no_bias=True,
            **_DEFORMED,
        )
    ],
    "_contrib_fft": [sample(_X), sample(_IMAGE)],
    "_contrib_ifft": [sample(random(2, 6)), sample(random(1, 2, 1, 4))],
    "_contrib_count_sketch": [
        sample(_X, np.array([[1.0, 0, 1]]), np.array([[1.0, -1, -1]]), skip=[1], out_dim=3)
    ],
    "_contrib_Proposal": [
        sample(
            random(1, 6, 3, 4, low=0.1, high=0.9),
            random(1, 12, 3, 4),
            np.array([[20.0, 30, 1]]),
            **_FEW,
        )
    ],
    "_contrib_MultiProposal": [
        sample(
            random(2, 6, 3, 4, low=0.1, high=0.9),
            random(2, 12, 3, 4),
            np.array([[20.0, 30, 1]] * 2),
            output_score=True,
            **_FEW,
        )
    ],
    "Correlation": [
        sample(_IMAGE, random(2, 2, 4, 5, seed=1), pad_size=1, kernel_size=3, stride1=2),
        sample(_IMAGE, random(2, 2, 4, 5, low=1.5, high=2.5, seed=1), is_multiply=False),
    ],
    "ROIPooling": [sample(_IMAGE, _REGIONS, skip=[1], pooled_size=(2, 3), spatial_scale=0.9)],
    "_contrib_PSROIPooling": [
        sample(
            random(2, 8, 4, 5),
            _REGIONS,
            skip=[1],
            spatial_scale=0.9,
            output_dim=2,
            pooled_size=2,
        ),
        sample(
            random(2, 4, 4, 5),
            _REGIONS,
            skip=[1],
            spatial_scale=1.0,
            output_dim=1,
            pooled_size=3,
            group_size=2,
        ),
    ],
    "_contrib_RROIAlign": [
        sample(_IMAGE, _TURNED, skip=[1], pooled_size=(2, 3), spatial_scale=0.9),
        sample(_IMAGE, _TURNED, skip=[1], pooled_size=2, spatial_scale=1.0, sampling_ratio=2),
    ],
    "_contrib_quantize": [
        sample(_X.astype("float32"), *_RANGE),
        sample(_X.astype("float32"), *_RANGE, out_type="int8"),
    ],
    "_contrib_dequantize": [
        sample(np.array([[0, 3, 255]], "uint8"), *_RANGE),
        sample(np.array([[-127, 3, 127]], "int8"), *_RANGE),
    ],
    "_contrib_quantize_v2": [
        sample(_X.astype("float32")),
        sample(_X.astype("float32"), out_type="uint8"),
        sample(_X.astype("float32"), out_type="auto", min_calib_range=0.0, max_calib_range=2.0),
    ],
    "_contrib_requantize": [
        sample(np.array([[-(2**30), 5, 2**31 - 1]], "int32"), *_RANGE),
        sample(
            np.array([[-(2**30), 5, 2**31 - 1]], "int32"),
            *_RANGE,
            out_type="uint8",
            min_calib_range=0.0,
            max_calib_range=0.5,
        ),
    ],
    "_contrib_quantized_fully_connected": [
        sample(_WHOLE, _WHOLE_WEIGHT, _WHOLE_BIAS, *_RANGE * 3, num_hidden=3),
        sample(_WHOLE.view("uint8"), _WHOLE_WEIGHT, *_RANGE * 2, num_hidden=3, no_bias=True),
    ],
    "_contrib_quantized_conv": [
        sample(_WHOLE_IMAGE, _WHOLE_FILTERS, _WHOLE_BIAS, *_RANGE * 3, kernel=(2, 2), num_filter=3),
        sample(
            _WHOLE_IMAGE.view("uint8"),
            _WHOLE_FILTERS,
            *_RANGE * 2,
            kernel=(2, 2),
            pad=(1, 1),
            num_filter=3,
            no_bias=True,
        ),
    ],
    "_contrib_quantized_pooling": [
        sample(_WHOLE_IMAGE, *_RANGE, kernel=(2, 2), pool_type="avg"),
        sample(_WHOLE_IMAGE.view("uint8"), *_RANGE, global_pool=True),
    ],
    "_contrib_quantized_flatten": [sample(_WHOLE_IMAGE, *_RANGE)],
    "_contrib_quantized_act": [
        sample(_WHOLE, *_RANGE),
        sample(_WHOLE.view("uint8"), *_RANGE),
    ],
    "_contrib_quantized_concat": [
        sample(_WHOLE, _WHOLE_WEIGHT, *_RANGE, *_WIDE, num_args=2, dim=0),
        sample(_WHOLE.view("uint8"), _WHOLE.view("uint8"), *_RANGE, *_WIDE),
    ],
    "_contrib_quantized_elemwise_add": [
        sample(_WHOLE, _WHOLE[::-1], *_RANGE, *_WIDE),
        sample(_WHOLE, _WHOLE.view("uint8"), *_RANGE, *_WIDE),
    ],
    "_contrib_ROIAlign": [
        sample(_IMAGE, _REGIONS, skip=[1], pooled_size=(2, 1), spatial_scale=0.9, sample_ratio=2),
        sample(_IMAGE, _REGIONS, skip=[1], pooled_size=(2, 2), spatial_scale=1.1, aligned=True),
        sample(
            random(2, 4, 4, 5),
            _REGIONS,
            skip=[1],
            pooled_size=(2, 1),
            spatial_scale=1.1,
            position_sensitive=True,
        ),
    ],
    "CTCLoss": [
        sample(random(4, 2, 3), np.array([[1.0, 2.0], [1.0, 0.0]]), skip=[1]),
        sample(
            random(4, 2, 3),
            np.array([[1, 1], [0, -1]]),
            np.array([4, 3]),
            np.array([2, 1]),
            use_data_lengths=True,
            use_label_lengths=True,
            blank_label="last",
        ),
        sample(
            random(4, 2, 3), np.array([[1, 2], [1, 1]]), np.array([2, 1]), use_label_lengths=True
        ),
    ],
    "_contrib_box_iou": [sample(_CORNERS, _CORNERS[1:] + 0.3), sample(_FIT, _FIT, format="center")],
    "_contrib_box_nms": [
        sample(_BOXES),
        # In float32, which is not compared with numeric gradients: moving a class means nothing.
        sample(_BOXES.astype("float32"), id_index=0, topk=3, in_format="center"),
        sample(np.stack([_BOXES, _BOXES + 0.01]), out_format="center"),
    ],
    "_contrib_bipartite_matching": [sample(_FIT, threshold=0.2, is_ascend=True)],
    "_contrib_box_encode": [
        sample(
            np.array([[1.0, 0, 1, -1]]),
            np.array([[0, 1, 1, 0]]),
            _CORNERS[None],
            _CORNERS[None, :2] + 0.2,
            np.zeros(4),
            np.ones(4),
        )
    ],
    "_contrib_box_decode": [sample(random(2, 4, 4), _CORNERS[None], clip=0.3, format="corner")],
    "_contrib_MultiBoxPrior": [sample(_IMAGE, sizes=(0.4, 0.2), ratios=(1, 2))],
    "_contrib_MultiBoxTarget": [
        sample(_CORNERS[None], _BOXES[None, :2, [0, 2, 3, 4, 5]], random(1, 3, 4)),
        sample(
            _CORNERS[None],
            _BOXES[None, :2, [0, 2, 3, 4, 5]],
            random(1, 3, 4),
            negative_mining_ratio=1,
        ),
    ],
    "_contrib_MultiBoxDetection": [sample(*_DETECTED), sample(*_DETECTED, nms_topk=2)],
}

NOT_THE_DERIVATIVE: Final[dict[str, str]] = {
    "_contrib_gradientmultiplier": "the derivative times a number",
}
