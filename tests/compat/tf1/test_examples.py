"""MNIST as TensorFlow's tutorials read it, from files that are written here."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest

import hybridnet.compat.tf1 as tf
from hybridnet.compat.tf1.examples.tutorials.mnist import input_data


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(0)
    for part, count in (("train", 30), ("t10k", 7)):
        images = random.integers(0, 256, (count, 4, 3), np.uint8)
        labels = np.arange(count, dtype=np.uint8) % 10
        for name, array in (("images-idx3", images), ("labels-idx1", labels)):
            head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
            path = tmp_path / f"{part}-{name}-ubyte.gz"
            path.write_bytes(gzip.compress(head + array.tobytes()))
            np.save(tmp_path / f"{part}-{name}.npy", array)
    return tmp_path


def _of(folder, name):
    return np.load(folder / f"{name}.npy")


def test_images_are_rows_from_0_to_1_and_the_first_are_kept_apart(folder):
    found = input_data.read_data_sets(str(folder), validation_size=10)
    assert [one.num_examples for one in found] == [20, 10, 7]
    wanted = _of(folder, "train-images-idx3").reshape(30, 12) / 255
    np.testing.assert_allclose(found.validation.images, wanted[:10], rtol=1e-6)
    np.testing.assert_allclose(found.train.images, wanted[10:], rtol=1e-6)
    np.testing.assert_array_equal(found.test.labels, _of(folder, "t10k-labels-idx1"))
    assert found.train.images.dtype == np.float32


def test_one_hot_labels_and_images_as_they_are(folder):
    found = input_data.read_data_sets(
        str(folder), one_hot=True, dtype=tf.uint8, reshape=False, validation_size=0
    )
    np.testing.assert_array_equal(found.train.images[..., 0], _of(folder, "train-images-idx3"))
    np.testing.assert_array_equal(found.train.labels.argmax(1), _of(folder, "train-labels-idx1"))
    assert found.train.labels.shape == (30, 10)
    assert found.train.labels.sum() == 30


def test_an_epoch_has_each_image_once_and_a_batch_goes_over_its_end(folder):
    train = input_data.read_data_sets(str(folder), validation_size=0, seed=3).train
    pixels = [train.next_batch(12)[0] for _ in range(5)]
    assert train.epochs_completed == 1
    together = np.concatenate(pixels)
    wanted = np.sort(_of(folder, "train-images-idx3").reshape(30, 12) / np.float32(255), 0)
    for epoch in (together[:30], together[30:]):
        np.testing.assert_allclose(np.sort(epoch, 0), wanted, rtol=1e-6)
    assert (together[:30] != together[30:]).any()


def test_without_shuffling_batches_are_in_order(folder):
    train = input_data.read_data_sets(str(folder), validation_size=0).train
    found = np.concatenate([train.next_batch(20, shuffle=False)[1] for _ in range(3)])
    np.testing.assert_array_equal(found, np.tile(_of(folder, "train-labels-idx1"), 2))


def test_fake_data_is_ones():
    found = input_data.read_data_sets("", fake_data=True, one_hot=True)
    images, labels = found.train.next_batch(3)
    assert images == [[1] * 784] * 3
    assert labels == [[1] + [0] * 9] * 3


def test_more_is_kept_apart_than_there_is(folder):
    with pytest.raises(ValueError, match="between 0 and 30"):
        input_data.read_data_sets(str(folder), validation_size=31)


def test_the_dtype_must_be_one_of_two(folder):
    with pytest.raises(TypeError, match="expected uint8 or float32"):
        input_data.read_data_sets(str(folder), dtype=tf.int32, validation_size=0)
