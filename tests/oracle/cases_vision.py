"""Cases of operators that resize and sample images, and of interleaved attention; see `case.py`."""

from __future__ import annotations

from case import Cases
from case import given as _v
from case import random as _x

CASES = Cases("vision")
_case = CASES.add

_adaptive = "_contrib_AdaptiveAvgPooling2D"
_case(_adaptive, _x(1, 2, 3, 4))
for _size in ((1, 1), (2,), (3, 4), (2, 3), (5, 5), (1, 4), (7, 2)):
    _case(_adaptive, _x(2, 1, 5, 4), output_size=_size)
_case(_adaptive, _x(1, 1, 1, 1), output_size=(2, 3))
_case(_adaptive, _x(1, 3, 1, 6), output_size=4)
_case(_adaptive, _x(1, 1, 4, 5, dtype="float64"), output_size=3)

_resize = "_contrib_BilinearResize2D"
for _corners in (True, False):
    for _height, _width in ((6, 7), (2, 3), (1, 1), (4, 5), (3, 9)):
        _case(_resize, _x(1, 2, 4, 5), height=_height, width=_width, align_corners=_corners)
_case(_resize, _x(2, 1, 1, 3), height=2, width=5)
_case(_resize, _x(2, 1, 3, 1), height=2, width=5, align_corners=False)
_case(_resize, _x(1, 1, 4, 5), scale_height=2.0, scale_width=1.5)
_case(_resize, _x(1, 1, 4, 5), scale_height=0.5, scale_width=0.7, align_corners=False)
_case(_resize, _x(1, 1, 4, 5), scale_height=1.5, scale_width=1.5, mode="odd_scale")
for _mode in ("to_even_down", "to_even_up", "to_odd_down", "to_odd_up"):
    _case(_resize, _x(1, 1, 4, 5), mode=_mode)
_case(_resize, _x(1, 1, 4, 5), _x(2, 3, 6, 3), mode="like", grads=[0])
_case(_resize, _x(1, 1, 3, 4, dtype="float64"), height=5, width=5)

_case("UpSampling", _x(1, 2, 2, 3), scale=2, sample_type="nearest")
_case("UpSampling", _x(2, 1, 1, 1), scale=3, sample_type="nearest")
_case("UpSampling", _x(1, 1, 3, 2), scale=1, sample_type="nearest")
_case("UpSampling", _x(1, 2, 4, 4), _x(1, 1, 2, 2), scale=1, sample_type="nearest")
_case("UpSampling", _x(1, 2, 2, 4), _x(1, 3, 1, 2), scale=2, sample_type="nearest")
_case("UpSampling", _x(1, 2, 4, 2), _x(1, 2, 2, 1), _x(1, 2, 8, 4), scale=2,
      sample_type="nearest", multi_input_mode="sum")  # fmt: skip
_case("UpSampling", _x(1, 1, 2, 2, dtype="float64"), scale=2, sample_type="nearest")
for _scale, _kernel in ((1, 1), (2, 4), (3, 5), (4, 8)):
    _case("UpSampling", _x(1, 2, 2, 3), _x(2, 1, _kernel, _kernel), scale=_scale, num_filter=2,
          sample_type="bilinear")  # fmt: skip

for _target in ((3, 4), (2, 2), (5, 3)):
    _case("GridGenerator", _x(2, 6), transform_type="affine", target_shape=_target)
_case("GridGenerator", _x(1, 6, low=-3, high=3), transform_type="affine", target_shape=(2, 5))
_case("GridGenerator", _v([1, 0, 0, 0, 1, 0]), transform_type="affine", target_shape=(3, 3))
for _shape in ((1, 2, 3, 4), (2, 2, 2, 2), (1, 2, 5, 3), (3, 2, 2, 4)):
    _case("GridGenerator", _x(*_shape, low=-2, high=2), transform_type="warp")
_case("GridGenerator", _v([[[0, 1], [2, 3]], [[1, -1], [0, 0]]]), transform_type="warp")

for _low, _high in ((-0.9, 0.9), (-1.6, 1.6), (-3, 3), (1.2, 4)):
    _case("BilinearSampler", _x(2, 2, 4, 5), _x(2, 2, 3, 3, low=_low, high=_high))
_case("BilinearSampler", _x(1, 1, 2, 2), _x(1, 2, 1, 4))
_case("BilinearSampler", _x(1, 3, 1, 4), _x(1, 2, 2, 2))
_case("BilinearSampler", _x(1, 1, 5, 1), _x(1, 2, 2, 2))
_case("BilinearSampler", _x(1, 1, 3, 3), _v([[[-1, 0, 1]], [[-1, 0, 1]]]), grads=[0])
_case("BilinearSampler", _x(1, 2, 3, 4, dtype="float64"), _x(1, 2, 2, 2, dtype="float64"))
_case("BilinearSampler", _x(3, 1, 4, 4), _x(3, 2, 4, 4, low=-1.1, high=1.1))

_affine = {"transform_type": "affine", "sampler_type": "bilinear"}
for _target in ((3, 4), (2, 2), (6, 5), (4, 4)):
    _case("SpatialTransformer", _x(2, 2, 4, 5), _x(2, 6), target_shape=_target, **_affine)
for _scale in (0.53, 0.91, 1.31):
    _map = _v([_scale, 0.1, 0.2, -0.1, _scale, -0.3])
    _case("SpatialTransformer", _x(1, 3, 5, 4), _map, target_shape=(4, 3), **_affine)
_case("SpatialTransformer", _x(1, 1, 2, 2), _x(1, 6), target_shape=(2, 3), **_affine)
_case("SpatialTransformer", _x(1, 1, 3, 6), _x(1, 6, low=-2, high=2), target_shape=(3, 3),
      **_affine)  # fmt: skip
_case("SpatialTransformer", _x(3, 1, 3, 3), _x(3, 6), target_shape=(2, 2), **_affine)

for _length, _batch, _heads, _size in ((3, 2, 2, 2), (1, 1, 1, 4), (4, 1, 3, 1), (2, 3, 1, 3)):
    for _keys in (_length, _length + 1, 1):
        _features, _rows = _heads * _size, _batch * _heads
        _case("_contrib_interleaved_matmul_encdec_qk", _x(_length, _batch, _features),
              _x(_keys, _batch, 2 * _features), heads=_heads)  # fmt: skip
        _case("_contrib_interleaved_matmul_encdec_valatt", _x(_keys, _batch, 2 * _features),
              _x(_rows, _length, _keys), heads=_heads)  # fmt: skip
        _all = _x(_keys, _batch, 3 * _features)
        _case("_contrib_interleaved_matmul_selfatt_qk", _all, heads=_heads)
        _case("_contrib_interleaved_matmul_selfatt_valatt", _all, _x(_rows, _keys, _keys),
              heads=_heads)  # fmt: skip
for _shape in ((3,), (2, 4), (1, 1), (2, 1, 5), (2, 3, 2, 2), (7, 1)):
    _case("_contrib_div_sqrt_dim", _x(*_shape))
for _dtype in ("float64", "float16"):
    _case("_contrib_div_sqrt_dim", _x(2, 3, dtype=_dtype))
    _case("_contrib_div_sqrt_dim", _x(5, dtype=_dtype))

_deformed = "_contrib_DeformableConvolution"
for _kernel, _stride, _dilate, _pad, _size in (
    ((3, 3), (1, 1), (1, 1), (1, 1), (4, 5)),
    ((2, 2), (2, 1), (1, 1), (0, 1), (2, 6)),
    ((1, 1), (1, 1), (1, 1), (0, 0), (4, 5)),
    ((2, 3), (1, 2), (2, 1), (1, 1), (4, 3)),
    ((3, 2), (2, 2), (1, 1), (0, 0), (1, 2)),
):
    _taps = _kernel[0] * _kernel[1]
    _attrs = {"kernel": _kernel, "stride": _stride, "dilate": _dilate, "pad": _pad}
    for _low, _group in ((-0.5, 1), (-2, 2)):
        _offset = _x(2, 2 * _taps * _group, *_size, low=_low, high=-_low)
        _weight = _x(4, 4 // _group, *_kernel)
        _groups = {"num_group": _group, "num_deformable_group": _group, "num_filter": 4}
        _case(_deformed, _x(2, 4, 4, 5), _offset, _weight, _x(4), **_attrs, **_groups)

for _options in (
    {},
    {"max_displacement": 2, "pad_size": 2},
    {"kernel_size": 3, "pad_size": 2},
    {"stride1": 2, "pad_size": 1},
    {"max_displacement": 2, "stride2": 2, "pad_size": 2},
    {"max_displacement": 3, "stride2": 2, "pad_size": 3, "kernel_size": 3, "stride1": 2},
    {"max_displacement": 0},
):
    for _multiply in (True, False):
        _case("Correlation", _x(2, 2, 4, 5), _x(2, 2, 4, 5), is_multiply=_multiply, **_options)
