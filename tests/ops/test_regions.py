"""Pooled regions that MXNet's contributed operators have: position-sensitive and turned ones."""

from __future__ import annotations

import numpy as np
import pytest

from hybridnet import autograd, nd, sym
from hybridnet.base.errors import ShapeError


def _pooled(data, rois, scale, dim, size, group):
    """PSROIPooling pixel by pixel."""
    height, width = data.shape[2:]
    made = np.zeros((len(rois), dim, size, size))
    for r, (image, *corners) in enumerate(rois):
        left, top = (np.floor(x + 0.5) * scale for x in corners[:2])
        right, bottom = ((np.floor(x + 0.5) + 1) * scale for x in corners[2:])
        part = max(bottom - top, 0.1) / size, max(right - left, 0.1) / size
        for d, i, j in np.ndindex(dim, size, size):
            rows = (int(np.floor(i * part[0] + top)), int(np.ceil((i + 1) * part[0] + top)))
            columns = (int(np.floor(j * part[1] + left)), int(np.ceil((j + 1) * part[1] + left)))
            rows, columns = np.clip(rows, 0, height), np.clip(columns, 0, width)
            channel = (d * group + i * group // size) * group + j * group // size
            pixels = data[int(image), channel, slice(*rows), slice(*columns)]
            made[r, d, i, j] = pixels.mean() if pixels.size else 0
    return made


@pytest.mark.parametrize(("size", "group"), [(2, 2), (3, 3), (4, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_position_sensitive_pooling(size, group, dtype):
    draw = np.random.default_rng(size)
    data = draw.normal(size=(2, 2 * group**2, 9, 11)).astype(dtype)
    low = draw.uniform(0, 60, (5, 2))
    rois = np.concatenate([[[0], [1], [1], [0], [0]], low, low + draw.uniform(0, 90, (5, 2))], 1)
    rois[4, 1:] = [400, 400, 420, 420]  # of which no pixel is there
    attrs = {"spatial_scale": 0.11, "output_dim": 2, "pooled_size": size, "group_size": group}
    found = nd.contrib.PSROIPooling(
        nd.array(data, dtype=dtype), nd.array(rois, dtype=dtype), **attrs
    )
    expected = _pooled(data, rois.astype(dtype), 0.11, 2, size, group)
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_position_sensitive_pooling_has_a_gradient():
    x = nd.array(np.random.default_rng(0).normal(size=(1, 8, 5, 5)))
    rois = nd.array([[0, 0, 0, 4, 4]])
    x.attach_grad()
    with autograd.record():
        y = nd.contrib.PSROIPooling(x, rois, spatial_scale=1.0, output_dim=2, pooled_size=2)
    y.backward()
    # A part is spread over its pixels, each channel is one part's.
    np.testing.assert_allclose(x.grad.sum((2, 3)).asnumpy(), np.ones((1, 8)), rtol=1e-5)
    with pytest.raises(ShapeError, match="at least output_dim"):
        nd.contrib.PSROIPooling(x, rois, spatial_scale=1.0, output_dim=3, pooled_size=2)


def _sampled(image, y, x):
    """Bilinear interpolation; 0 a pixel or more outside."""
    height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)
    top, left = int(y), int(x)
    below, right = min(top + 1, height - 1), min(left + 1, width - 1)
    v, u = y - top, x - left
    upper = image[top, left] * (1 - u) + image[top, right] * u
    return upper * (1 - v) + (image[below, left] * (1 - u) + image[below, right] * u) * v


def _turned(data, rois, pooled, scale, ratio):
    made = np.zeros((len(rois), data.shape[1], *pooled))
    for r, (image, x, y, width, height, degrees) in enumerate(rois):
        width, height = max(width * scale, 1), max(height * scale, 1)
        sine, cosine = np.sin(np.radians(degrees)), np.cos(np.radians(degrees))
        count = [
            ratio if ratio > 0 else int(np.ceil(length / parts))
            for length, parts in zip((height, width), pooled, strict=True)
        ]
        for c, i, j in np.ndindex(data.shape[1], *pooled):
            total = 0.0
            for a, b in np.ndindex(*count):
                v = height * ((i + (a + 0.5) / count[0]) / pooled[0] - 0.5)
                u = width * ((j + (b + 0.5) / count[1]) / pooled[1] - 0.5)
                place = v * cosine - u * sine + y * scale, u * cosine + v * sine + x * scale
                total += _sampled(data[int(image), c], *place)
            made[r, c, i, j] = total / np.prod(count)
    return made


@pytest.mark.parametrize("ratio", [-1, 2])
def test_turned_regions(ratio):
    draw = np.random.default_rng(3)
    data = draw.normal(size=(2, 2, 7, 6))
    rois = np.array(
        [[0, 50, 40, 60, 30, 25], [1, 10, 90, 80, 50, 140], [1, 30, 30, 1, 1, 0]], "float64"
    )
    attrs = {"pooled_size": (3, 2), "spatial_scale": 0.07, "sampling_ratio": ratio}
    x = nd.array(data, dtype="float64")
    x.attach_grad()
    with autograd.record():
        y = nd.contrib.RROIAlign(x, nd.array(rois, dtype="float64"), **attrs)
    np.testing.assert_allclose(y.asnumpy(), _turned(data, rois, (3, 2), 0.07, ratio), atol=1e-9)
    head = draw.normal(size=y.shape)
    y.backward(nd.array(head, dtype="float64"))
    # It is linear: the gradient along a direction is what becomes of that.
    direction = draw.normal(size=data.shape)
    moved = _turned(direction, rois, (3, 2), 0.07, ratio)
    np.testing.assert_allclose((x.grad.asnumpy() * direction).sum(), (moved * head).sum())


def test_turned_regions_are_pixels_again_without_a_turn():
    data = nd.array(np.arange(16.0).reshape(1, 1, 4, 4))
    whole = sym.contrib.RROIAlign(
        sym.var("x"), sym.var("r"), pooled_size=2, spatial_scale=1.0, sampling_ratio=1
    )
    rois = nd.array([[0, 1, 1, 2, 2, 0]])  # corners of pixels in the middle of parts
    (made,) = whole.eval(x=data, r=rois)
    np.testing.assert_allclose(made.asnumpy()[0, 0], [[2.5, 3.5], [6.5, 7.5]])
    with pytest.raises(ShapeError, match=r"\(regions, 6\)"):
        nd.contrib.RROIAlign(data, nd.zeros((1, 5)), pooled_size=2, spatial_scale=1.0)


@pytest.mark.parametrize("half", [2e6, 1e30, np.inf])
def test_a_region_that_dwarfs_its_map_has_next_to_nothing_of_it(half):
    """Its average is the sum of the map over all that the region covers, which is nothing."""
    data = nd.ones((1, 1, 4, 4)) * 5
    straight = nd.array([[0, 2 - half, 2 - half, 2 + half, 2 + half]])
    turned = nd.array([[0, 2, 2, 2 * half, 2 * half, 30]])
    made = nd.contrib.ROIAlign(data, straight, pooled_size=(1, 1), spatial_scale=1.0)
    np.testing.assert_allclose(made.asnumpy(), np.zeros((1, 1, 1, 1)), atol=1e-9)
    made = nd.contrib.RROIAlign(data, turned, pooled_size=(1, 1), spatial_scale=1.0)
    np.testing.assert_allclose(made.asnumpy(), np.zeros((1, 1, 1, 1)), atol=1e-9)
