"""The operators on images: what is random about them, errors, and what MXNet is no measure for."""

import numpy as np
import pytest

import hybridnet as mx
from hybridnet.base.errors import DTypeError, ParameterError, ShapeError

_X = np.random.default_rng(0).uniform(0, 255, (5, 4, 3)).astype(np.float32)
_GRAY = (_X @ np.array([0.299, 0.587, 0.114], np.float32))[..., None]


def _image(values=_X, **kwargs):
    return mx.nd.array(values, **kwargs)


def test_saturation_mixes_pixels_with_their_gray_values():
    drawn = mx.nd.image.random_saturation(_image(), min_factor=0.3, max_factor=0.3)
    np.testing.assert_allclose(drawn.asnumpy(), 0.3 * _X + 0.7 * _GRAY, rtol=1e-5)


def test_factors_are_drawn_from_the_interval():
    mx.random.seed(1)
    factors = []
    for _ in range(20):
        changed = mx.nd.image.random_brightness(_image(), min_factor=0.5, max_factor=1.5)
        ratio = changed.asnumpy() / _X
        np.testing.assert_allclose(ratio, ratio.flat[0], rtol=1e-5)
        factors.append(ratio.flat[0])
    assert 0.5 <= min(factors) < 0.8 and 1.2 < max(factors) < 1.5


@pytest.mark.parametrize("name,axis", [("left_right", 1), ("top_bottom", 0)])
def test_random_flips_flip_about_half_the_time(name, axis):
    mx.random.seed(2)
    flip = getattr(mx.nd.image, f"random_flip_{name}")
    count = 0
    for _ in range(40):
        flipped = flip(_image()).asnumpy()
        changed = not np.array_equal(flipped, _X)
        np.testing.assert_array_equal(flipped, np.flip(_X, axis) if changed else _X)
        count += changed
    assert 10 < count < 30


def test_color_jitter_of_one_kind_is_that_change():
    mx.random.seed(3)
    off = {"brightness": 0, "contrast": 0, "saturation": 0, "hue": 0}
    np.testing.assert_array_equal(mx.nd.image.random_color_jitter(_image(), **off).asnumpy(), _X)
    changed = mx.nd.image.random_color_jitter(_image(), **{**off, "contrast": 0.5}).asnumpy()
    factor = (changed[0, 0, 0] - changed[0, 0, 1]) / (_X[0, 0, 0] - _X[0, 0, 1])
    assert 0.5 <= factor <= 1.5
    np.testing.assert_allclose(changed, factor * _X + (1 - factor) * _GRAY.mean(), rtol=1e-3)


def test_whole_numbers_stay_between_0_and_255():
    dark = np.zeros((2, 2, 3)) + [3, 100, 250]
    for dtype in ("uint8", "int32"):
        image = _image(dark, dtype=dtype)
        bright = mx.nd.image.random_brightness(image, min_factor=2, max_factor=2)
        assert bright.dtype == image.dtype
        assert bright.asnumpy()[0, 0].tolist() == [6, 200, 255]
    lit = mx.nd.image.adjust_lighting(_image(dark, dtype="uint8"), alpha=(1, 0, 0)).asnumpy()
    assert lit[0, 0].tolist() == [0, int(100 - 55.46 * 0.5808), int(250 - 55.46 * 0.5836)]


def test_one_channel_has_no_color_to_change():
    gray = _image(_X[..., :1])
    for changed in (
        mx.nd.image.adjust_lighting(gray, alpha=(1, 2, 3)),
        mx.nd.image.random_lighting(gray, alpha_std=1),
        mx.nd.image.random_hue(gray, min_factor=0.3, max_factor=0.3),
        mx.nd.image.random_saturation(gray, min_factor=0.3, max_factor=0.3),
    ):
        np.testing.assert_array_equal(changed.asnumpy(), _X[..., :1])


def test_resizing_whole_numbers_rounds():
    image = _image(np.array([[[0], [3]]]), dtype="uint8")
    assert mx.nd.image.resize(image, size=(1, 1)).asnumpy().tolist() == [[[2]]]


def test_symbols_have_the_namespace_too():
    symbol = mx.sym.image.normalize(mx.sym.image.to_tensor(mx.sym.var("x")), mean=0.5, std=0.5)
    expected = (_X.transpose(2, 0, 1) / 255 - 0.5) / 0.5
    np.testing.assert_allclose(symbol.eval(x=_image())[0].asnumpy(), expected, atol=1e-6)


@pytest.mark.parametrize(
    "call,error,message",
    [
        (lambda i: i.to_tensor(_image(_X[0])), ShapeError, r"_image_to_tensor: data must be \(hei"),
        (lambda i: i.normalize(_image(_X)), ShapeError, "1 or 3 channels, got data float32"),
        (
            lambda i: i.normalize(_image(_X.T), mean=(1, 2)),
            ParameterError,
            r"mean must be one number, or one for each of the 3 channels .* got \(1.0, 2.0\)",
        ),
        (
            lambda i: i.crop(_image(), x=2, y=0, width=3, height=1),
            ParameterError,
            r"x \+ width must be at most 4",
        ),
        (lambda i: i.crop(_image(), x=-1, y=0, width=3, height=1), ParameterError, "x must be an"),
        (lambda i: i.resize(_image()), ParameterError, r"size must be \(width, height\)"),
        (lambda i: i.resize(_image(), size=3, interp=9), ParameterError, "from 0 to 4"),
        (
            lambda i: i.random_hue(_image(), min_factor=0.5, max_factor=0.1),
            ParameterError,
            "max_factor must be at least min_factor=0.5, got 0.1",
        ),
        (
            lambda i: i.random_contrast(_image(_X[..., :2]), min_factor=0.5, max_factor=1),
            ShapeError,
            "must have 1 or 3 channels",
        ),
        (lambda i: i.adjust_lighting(_image(), alpha=(1, 2)), ParameterError, "must be 3 numbers"),
        (lambda i: i.flip_left_right(_image(_X[None])), ShapeError, "flip_left_right: data must"),
        (lambda i: i.to_tensor(_image(_X > 1, dtype="bool")), DTypeError, "inputs must be numeric"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call(mx.nd.image)
