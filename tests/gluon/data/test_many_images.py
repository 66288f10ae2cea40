"""Transforms of a loader's small images, which are changed in one go: as one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import gluon, nd
from hybridnet.gluon.data.vision import transforms as T

PIXELS = np.random.default_rng(0).integers(0, 256, (22, 6, 5, 3), np.uint8)
NETWORK = (PIXELS.transpose(0, 3, 1, 2) / 255 - 0.5) / 0.25
INPUTS = [T.ToTensor(), T.Normalize(0.5, 0.25)]
IMAGES = nd.array(PIXELS, dtype="uint8")


def loaded(images: Any, transform: Any, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Returns what a loader makes of images, and their numbers."""
    dataset = gluon.data.ArrayDataset(images, np.arange(len(images))).transform_first(transform)
    batches = [*gluon.data.DataLoader(dataset, 8, **options)]
    data, labels = zip(*batches, strict=True)
    return tuple(np.concatenate([part.asnumpy() for part in x]) for x in (data, labels))  # type: ignore[return-value]


class Scaled(gluon.Block):
    """A user's, which takes images one by one."""

    def forward(self, x: Any) -> Any:
        assert x.ndim == 3
        return (x - 0.5) / 0.25


class Refused(gluon.Block):
    def forward(self, x: Any) -> Any:
        raise ValueError("no")


CHAINS = [
    T.Compose(INPUTS),
    T.HybridCompose(INPUTS),
    T.Compose([T.Compose(INPUTS)]),
    T.Compose([T.ToTensor(), Scaled()]),
]


@pytest.mark.parametrize("chain", CHAINS, ids=["compose", "hybrid", "nested", "mixed"])
@pytest.mark.parametrize(
    "options", [{}, {"shuffle": True}, {"num_workers": 1, "thread_pool": True}]
)
def test_images_of_an_array(chain: Any, options: dict[str, Any]) -> None:
    data, labels = loaded(IMAGES, chain, **options)
    assert data.dtype == np.float32 and sorted(labels) == [*range(22)]
    np.testing.assert_allclose(data, NETWORK[labels], rtol=1e-5, atol=1e-5)


def test_images_that_are_arrays_of_their_own() -> None:
    data, labels = loaded([nd.array(x, dtype="uint8") for x in PIXELS], T.Compose(INPUTS))
    np.testing.assert_allclose(data, NETWORK[labels], rtol=1e-5, atol=1e-5)


def test_images_in_several_groups() -> None:
    """Those of a batch are more than are changed in one go."""
    large = np.random.default_rng(1).integers(0, 256, (9, 160, 170, 3), np.uint8)
    data, _ = loaded(nd.array(large, dtype="uint8"), T.ToTensor())
    np.testing.assert_allclose(data, large.transpose(0, 3, 1, 2) / 255, rtol=1e-5)


def test_samples_without_labels_of_different_sizes() -> None:
    images = [nd.array(x[: 3 + n % 2], dtype="uint8") for n, x in enumerate(PIXELS)]
    dataset = gluon.data.SimpleDataset(images).transform(T.Compose(INPUTS))
    (batch, *_) = gluon.data.DataLoader(dataset, 4, batchify_fn=gluon.data.batchify.AsList())
    for n, made in enumerate(batch):
        wanted = NETWORK[n][:, : 3 + n % 2]
        np.testing.assert_allclose(made.asnumpy(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("flip", "axis"), [(T.RandomFlipLeftRight(), 2), (T.RandomFlipTopBottom(), 1)]
)
def test_each_image_is_mirrored_or_not(flip: Any, axis: int) -> None:
    hn.random.seed(3)
    data, _ = loaded(IMAGES, T.Compose([flip, T.Cast("uint8")]))
    mirrored = [np.array_equal(x, y) for x, y in zip(data, np.flip(PIXELS, axis), strict=True)]
    same = [np.array_equal(x, y) for x, y in zip(data, PIXELS, strict=True)]
    assert all(a != b for a, b in zip(mirrored, same, strict=True))
    assert 4 <= sum(same) <= 18


COLORS = [
    T.RandomBrightness(0.5),
    T.RandomContrast(0.5),
    T.RandomSaturation(0.5),
    T.RandomHue(0.5),
    T.RandomLighting(0.5),
]


@pytest.mark.parametrize("change", COLORS, ids=lambda x: type(x).__name__)
def test_each_image_gets_colors_of_its_own(change: Any) -> None:
    """Sixteen times the same image give sixteen results, alike to those of single images."""
    same = nd.array(np.repeat(PIXELS[:1], 16, 0).astype(np.float32))
    hn.random.seed(5)
    together = loaded(same, change)[0]
    alone = np.stack([change(same[0]).asnumpy() for _ in range(300)])
    assert len(np.unique(together.reshape(16, -1), axis=0)) == 16
    low, high = alone.min(0), alone.max(0)
    room = 0.2 * (high - low) + 1e-3
    assert np.all(together >= low - room) and np.all(together <= high + room)


def test_factors_are_of_single_images() -> None:
    factors = loaded(nd.ones((20, 2, 2, 3)), T.RandomBrightness(0.25))[0]
    assert np.ptp(factors, axis=(1, 2, 3)).max() == 0
    assert 0.75 <= factors.min() < factors.max() <= 1.25


class Doubled(T.ToTensor):
    """A user's own, which does something else."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return super().hybrid_forward(F, x) * 2


def test_users_transforms_are_called() -> None:
    data, _ = loaded(IMAGES, T.Compose([Doubled(), T.Normalize(0.5, 0.25)]))
    wanted = (PIXELS.transpose(0, 3, 1, 2) * (2 / 255) - 0.5) / 0.25
    np.testing.assert_allclose(data, wanted, rtol=1e-5, atol=1e-5)
    seen: list[tuple[int, ...]] = []
    watched = T.Compose(INPUTS)
    watched.register_forward_hook(lambda block, args, out: seen.append(out.shape))
    loaded(IMAGES, watched)
    assert seen == [(3, 6, 5)] * 22


def test_an_error_says_of_which_sample() -> None:
    images = [*IMAGES]
    images[13] = nd.zeros((6, 5, 2), dtype="uint8")
    with pytest.raises(hn.MXNetError, match="1 or 3 channels") as caught:
        loaded(images, T.Compose(INPUTS))
    assert "raised by sample 13 " in caught.value.__notes__[0]
    with pytest.raises(hn.MXNetError, match="data must be") as caught:
        loaded(nd.zeros((9, 6, 5, 2)), T.Compose(INPUTS))
    assert "raised by sample 0 " in caught.value.__notes__[0]

    with pytest.raises(ValueError, match="no") as other:
        loaded(IMAGES, T.Compose([*INPUTS, Refused()]))
    assert "raised by sample 0 " in other.value.__notes__[0]


def test_batches_are_copies() -> None:
    images = nd.array(PIXELS, dtype="uint8")
    for (batch,) in zip(gluon.data.DataLoader(images, 8), strict=True):
        batch[:] = 0
    np.testing.assert_array_equal(images.asnumpy(), PIXELS)


@pytest.mark.parametrize("order", [[3, 4, 5], [5, 3, 3, 0], [1]])
def test_rows_are_stacked(order: list[int]) -> None:
    many = nd.array(PIXELS, dtype="uint8")
    parts = [many[i] for i in order] + [many[1:7][i] for i in order]
    wanted = [*PIXELS[order], *PIXELS[1:7][order]]
    stack = gluon.data.batchify.Stack()
    np.testing.assert_array_equal(stack(parts).asnumpy(), wanted)
    other = [nd.array(x, dtype="uint8") for x in PIXELS[:2]]
    np.testing.assert_array_equal(stack(parts + other).asnumpy(), [*wanted, *PIXELS[:2]])
    pieces = [many.reshape((-1,))[k : k + 7] for k in (0, 7, 3, 14)]
    flat = PIXELS.reshape(-1)
    wanted = [flat[k : k + 7] for k in (0, 7, 3, 14)]
    np.testing.assert_array_equal(stack(pieces).asnumpy(), wanted)


def test_in_numpy_mode() -> None:
    with hn.util.np_array(True), hn.util.np_shape(True):
        images = hn.np.array(PIXELS, dtype="uint8")
        dataset = gluon.data.ArrayDataset(images, np.arange(22)).transform_first(T.Compose(INPUTS))
        data, _ = next(iter(gluon.data.DataLoader(dataset, 22)))
        assert type(data) is hn.np.ndarray
        np.testing.assert_allclose(data.asnumpy(), NETWORK, rtol=1e-5, atol=1e-5)
