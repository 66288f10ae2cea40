"""Cases of the operators on images; see `case.py`.

Random changes are asked for with intervals of one point, so that nothing about them is random.
"""

from __future__ import annotations

from case import Cases, Input
from case import random as _x

CASES = Cases("image")
_case = CASES.add


def _image(*shape: int, dtype: str = "float32") -> Input:
    return _x(*shape, low=0, high=255.99, dtype=dtype)


for _shape in ((3, 4, 3), (2, 3, 4, 3), (1, 1, 1), (5, 2, 1), (1, 2, 3, 1), (2, 2, 5)):
    _case("_image_to_tensor", _image(*_shape), grads=())  # whose gradient fails in MXNet
    _case("_image_to_tensor", _image(*_shape, dtype="uint8"))
_case("_image_to_tensor", _image(2, 3, 3, dtype="int32"))

for _shape in ((3, 2, 4), (2, 3, 2, 1)):
    _case("_image_normalize", _x(*_shape), mean=(0.1, 0.2, 0.3), std=(0.5, 2.0, 3.0))
    _case("_image_normalize", _x(*_shape), mean=0.5, std=0.25)
    _case("_image_normalize", _x(*_shape), mean=(0.5,), std=(0.1, 0.2, 0.3))
    _case("_image_normalize", _x(*_shape, dtype="float64"), mean=(0.25, 2.0, -0.5), std=2.0)
for _shape in ((1, 2, 4), (3, 1, 2, 2)):
    _case("_image_normalize", _x(*_shape), mean=0.5, std=0.25)
    _case("_image_normalize", _x(*_shape), mean=(-0.5,), std=(4.0,))

for _shape in ((4, 5, 3), (2, 4, 5, 3), (4, 5, 1), (1, 4, 5, 1)):
    _case("_image_crop", _image(*_shape), x=0, y=0, width=5, height=4)
    _case("_image_crop", _image(*_shape), x=2, y=1, width=3, height=2)
    _case("_image_crop", _image(*_shape, dtype="uint8"), x=4, y=3, width=1, height=1)

for _op in ("_image_flip_left_right", "_image_flip_top_bottom"):
    # MXNet does not write the middle one of an odd number of rows or columns.
    for _shape in ((2, 4, 3), (4, 2, 1), (6, 2, 3), (2, 2, 1), (4, 6, 3)):
        _case(_op, _image(*_shape), grads=())
        _case(_op, _image(*_shape, dtype="uint8"))

for _size in ((6, 7), (2, 3), (5, 2), 4, (4, 4), (1, 1)):
    for _interp in (0, 1, 2, 3, 4):
        _case("_image_resize", _image(4, 5, 3), grads=(), size=_size, interp=_interp)
_case("_image_resize", _image(2, 4, 3, 1), grads=(), size=(5, 3))
for _shape in ((4, 7, 2), (7, 4, 2), (2, 5, 3, 1), (3, 3, 3)):
    _case("_image_resize", _image(*_shape), grads=(), size=2, keep_ratio=True)
    _case("_image_resize", _image(*_shape, dtype="uint8"), size=2, interp=0)

_SHAPES = ((3, 4, 3), (1, 1, 3), (4, 2, 1), (1, 5, 3), (2, 2, 3))
for _op in ("brightness", "contrast", "saturation", "hue"):
    for _shape in _SHAPES:
        if _op == "hue" and _shape[2] == 1:
            continue  # MXNet returns what was in memory
        # Of the gray value MXNet has the blue part only in its saturation.
        for _factor in (0.3, 1.0, 1.6) if _op != "saturation" or _shape[2] == 1 else (1.0,):
            _bounds = {"min_factor": _factor, "max_factor": _factor}
            _case(f"_image_random_{_op}", _image(*_shape), grads=(), **_bounds)
    if _op in (
        "brightness",
        "contrast",
    ):  # whole numbers are cut off, which turns errors of rounding into whole ones
        for _shape in _SHAPES[:3]:
            _bounds = {"min_factor": 1.25, "max_factor": 1.25}
            _case(f"_image_random_{_op}", _image(*_shape, dtype="uint8"), **_bounds)
for _shape in _SHAPES:
    for _alpha in ((0.1, 0.2, 0.3), (-0.5, 0.0, 1.0)):
        if _shape[2] == 3:  # of one channel MXNet returns what was in memory
            _case("_image_adjust_lighting", _image(*_shape), grads=(), alpha=_alpha)
    _case("_image_random_lighting", _image(*_shape[:2], 3), grads=(), alpha_std=0.0)
