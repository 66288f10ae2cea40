"""Transforms of images: by themselves, composed, hybridized, with arrays of either kind."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import gluon, nd
from hybridnet.base.errors import ParameterError
from hybridnet.gluon.data.vision import transforms as T

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 5, 3)).astype(np.uint8)


def image() -> nd.NDArray:
    return nd.array(PIXELS, dtype="uint8")


def test_from_image_to_input() -> None:
    tensor = T.ToTensor()(image())
    wanted = PIXELS.transpose(2, 0, 1).astype(np.float32) / 255
    np.testing.assert_allclose(tensor.asnumpy(), wanted, rtol=1e-6)
    mean, std = np.array([0.1, 0.2, 0.3]), np.array([1, 2, 3])
    normal = T.Normalize((0.1, 0.2, 0.3), (1, 2, 3))(tensor).asnumpy()
    np.testing.assert_allclose(
        normal, (wanted - mean[:, None, None]) / std[:, None, None], rtol=1e-5, atol=1e-6
    )
    assert T.Cast("float16")(image()).dtype == np.float16


def test_cut_and_scaled() -> None:
    cut = T.CropResize(1, 2, 3, 4)(image())
    np.testing.assert_array_equal(cut.asnumpy(), PIXELS[2:6, 1:4])
    assert T.CropResize(1, 2, 3, 4, size=(7, 8), interpolation=1)(image()).shape == (8, 7, 3)
    assert T.Resize(10)(image()).shape == (10, 10, 3)
    assert T.Resize(10, keep_ratio=True)(image()).shape == (12, 10, 3)
    assert T.Resize((4, 3))(nd.stack(image(), image(), axis=0)).shape == (2, 3, 4, 3)


@pytest.mark.parametrize("flip", [T.RandomFlipLeftRight(), T.RandomFlipTopBottom()])
def test_mirrored_one_time_in_two(flip: Any) -> None:
    mirrored = PIXELS[:, ::-1] if isinstance(flip, T.RandomFlipLeftRight) else PIXELS[::-1]
    found = [flip(image()).asnumpy() for _ in range(40)]
    times = sum(np.array_equal(x, mirrored) for x in found)
    assert 5 <= times <= 35 and times + sum(np.array_equal(x, PIXELS) for x in found) == 40


COLORS = [
    T.RandomBrightness(0.5),
    T.RandomContrast(0.5),
    T.RandomSaturation(0.5),
    T.RandomHue(0.5),
    T.RandomColorJitter(0.5, 0.5, 0.5, 0.5),
    T.RandomLighting(0.1),
]


@pytest.mark.parametrize("change", COLORS, ids=lambda x: type(x).__name__)
def test_colors_change_by_chance(change: gluon.HybridBlock) -> None:
    floats = image().astype("float32")
    hn.random.seed(1)
    found = [change(floats).asnumpy() for _ in range(3)]
    assert not np.array_equal(found[0], found[1]) and found[0].shape == PIXELS.shape
    hn.random.seed(1)
    again = [change(floats).asnumpy() for _ in range(3)]
    np.testing.assert_array_equal(found, again)
    assert change(image().as_np_ndarray()).shape == PIXELS.shape


def test_brightness_stays_in_its_range() -> None:
    ones = nd.ones((2, 2, 3))
    factors = [T.RandomBrightness(0.25)(ones).asnumpy().mean() for _ in range(30)]
    assert 0.75 <= min(factors) < max(factors) <= 1.25


@pytest.mark.parametrize("kind", ["nd", "np"])
def test_gray_by_chance(kind: str) -> None:
    x = image() if kind == "nd" else image().as_np_ndarray()
    wanted = PIXELS.astype(np.float32) @ np.array([0.2989, 0.5870, 0.114], np.float32)
    gray = T.RandomGray(1)(x).asnumpy()
    np.testing.assert_allclose(gray, np.repeat(wanted[..., None], 3, -1), rtol=1e-5)
    np.testing.assert_array_equal(T.RandomGray(0)(x).asnumpy(), PIXELS)


def test_functions_are_composed_with_transforms() -> None:
    """As on MXNet 1.9.1, where any function may stand in the list."""
    changed = T.Compose([T.ToTensor(), lambda x: x * 2, T.Cast("float16")])
    assert changed(image()).dtype is np.float16
    assert T.Compose([T.ToTensor(), np.shape])(image()) == (3, 6, 5)
    assert T.RandomApply(lambda x: x[:2], p=1)(image()).shape == (2, 5, 3)
    twice = T.Compose([T.ToTensor(), lambda x: x * 2])
    samples = gluon.data.ArrayDataset([image()] * 2, [0, 1]).transform_first(twice)
    ((images, _),) = gluon.data.DataLoader(samples, 2)
    wanted = PIXELS.transpose(2, 0, 1).astype(np.float32) / 255 * 2
    np.testing.assert_allclose(images[1].asnumpy(), wanted, rtol=1e-6)


def test_composed() -> None:
    parts = [T.Resize(4), T.RandomFlipLeftRight(), T.ToTensor(), T.Normalize(0.5, 0.5)]
    chain = T.Compose(parts)
    assert len(parts) == 4  # MXNet adds None to the user's list
    assert chain(image()).shape == (3, 4, 4)
    assert [type(block) for block in chain] == [gluon.nn.HybridSequential]
    mixed = T.Compose([T.Cast(), T.RandomApply(T.Cast()), T.Cast(), T.ToTensor()])
    assert [type(block).__name__ for block in mixed] == ["Cast", "RandomApply", "HybridSequential"]
    assert T.HybridCompose(parts)(image()).shape == (3, 4, 4)
    with pytest.raises(ParameterError, match="HybridCompose: needs HybridBlocks, got RandomApply"):
        T.HybridCompose([T.RandomApply(T.Cast())])  # type: ignore[list-item]


def test_applied_by_chance() -> None:
    random.seed(2)
    some = T.RandomApply([T.Cast("int32"), T.Cast("float32")], p=0.5)
    kinds = [some(image()).dtype for _ in range(40)]
    assert 5 <= kinds.count(np.float32) <= 35 and kinds.count(np.uint8) > 0
    brighter = T.HybridRandomApply([T.RandomBrightness(0.5)], p=0.5)
    brighter.hybridize()
    same = [np.array_equal(brighter(image()).asnumpy(), PIXELS) for _ in range(40)]
    assert 5 <= sum(same) <= 35
    with pytest.raises(ParameterError, match="p must be between 0 and 1, got 2"):
        T.RandomApply(T.Cast(), p=2)
