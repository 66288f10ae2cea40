"""LeNet's shapes, initial weights and batches, as plain NumPy: the common ground of both sides.

`make_lenet.py` runs them under MXNet 1.9.1, our tests through hybridnet. `numpy.random.RandomState`
gives the same stream in every NumPy, so both start from the same weights to the last bit.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

BATCH_SIZE = 64
STEPS = 20
# Small enough that rounding differences stay rounding differences for 20 steps: max pooling makes
# the loss a kinked function of the weights, and at a higher rate an ulp can grow to 1e-4 by then.
LEARNING_RATE = 0.02
MOMENTUM = 0.9
WEIGHT_DECAY = 1e-4  # on every parameter, biases too, as gluon.Trainer does

#: name -> shape, in the order in which the initial weights are drawn.
SHAPES = {
    "conv1_weight": (20, 1, 5, 5),
    "conv1_bias": (20,),
    "conv2_weight": (50, 20, 5, 5),
    "conv2_bias": (50,),
    "fc1_weight": (500, 800),
    "fc1_bias": (500,),
    "fc2_weight": (10, 500),
    "fc2_bias": (10,),
}


def initial_weights() -> dict[str, np.ndarray]:
    """Returns float32 arrays: Xavier uniform (average of fans, magnitude 3), biases zero."""
    random = np.random.RandomState(42)
    weights = {}
    for name, shape in SHAPES.items():
        if len(shape) == 1:
            weights[name] = np.zeros(shape, np.float32)
            continue
        receptive = int(np.prod(shape[2:]))
        bound = np.sqrt(3.0 / ((shape[0] + shape[1]) * receptive / 2.0))
        weights[name] = random.uniform(-bound, bound, shape).astype(np.float32)
    return weights


def digits(folder: Path, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Reads one split of the bundled digits.

    Args:
        folder: holds MNIST's four files, gzipped.
        split: ``"train"`` or ``"t10k"``.

    Returns:
        Images (n, 1, 28, 28) float32 in [0, 1], and labels (n,) float32, in file order.
    """
    with gzip.open(folder / f"{split}-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(folder / f"{split}-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return images.astype(np.float32) / np.float32(255), labels.astype(np.float32)


def batch(images: np.ndarray, labels: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the images and labels of one step: whole batches in file order, epoch after epoch."""
    start = step % (len(images) // BATCH_SIZE) * BATCH_SIZE
    return images[start : start + BATCH_SIZE], labels[start : start + BATCH_SIZE]
