"""Images in classes: a network of the model zoo, trained on digits or on a record file of yours.

    python examples/image_classification.py                                  # bundled digits
    python examples/image_classification.py --network resnet18_v1 --data train.rec --classes 100

After each epoch it prints the loss, the share of test images that it gets right, and images/s.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import hybridnet as mx
from hybridnet import autograd, gluon, nd
from hybridnet.io.mnist import load_mnist

SIZE = 32


def digits(batch: int, count: int) -> tuple[Any, Any]:
    """The bundled digits as images of three colors, 32 x 32; for training and testing."""
    images, labels, test_images, test_labels = load_mnist()

    def loader(pictures: np.ndarray, classes: np.ndarray, shuffle: bool) -> gluon.data.DataLoader:
        wide = np.pad(pictures.reshape(-1, 1, 28, 28), ((0, 0), (0, 0), (2, 2), (2, 2)))
        colored = np.repeat(wide, 3, axis=1).astype("float32") / 255
        dataset = gluon.data.ArrayDataset(colored, classes.astype("float32"))
        return gluon.data.DataLoader(dataset, batch, shuffle=shuffle, last_batch="discard")

    train = loader(images[:count], labels[:count], shuffle=True)
    return train, loader(test_images[:count], test_labels[:count], shuffle=False)


class Records:
    """A record file, decoded, cropped and mirrored by threads (see docs/data.md)."""

    def __init__(self, path: str, batch: int) -> None:
        self.images = mx.io.ImageRecordIter(
            path_imgrec=path,
            batch_size=batch,
            data_shape=(3, SIZE, SIZE),
            shuffle=True,
            rand_crop=True,
            rand_mirror=True,
            scale=1 / 255,
        )

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        self.images.reset()
        for batch in self.images:
            yield batch.data[0], batch.label[0]


def accuracy(net: gluon.HybridBlock, test: Any) -> float:
    """The share of images that a network gets right."""
    metric = mx.metric.Accuracy()
    for x, y in test:
        metric.update(y, net(x))
    return float(metric.get()[1])


def main() -> None:
    """Reads the options, trains, and prints how it goes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", default="mobilenet0_25", help="a name of the model zoo")
    parser.add_argument("--data", metavar="FILE.rec", help="images; default the bundled digits")
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--images", type=int, default=2000, help="of the digits")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--rate", type=float, default=0.002)
    options = parser.parse_args()

    mx.random.seed(0)
    net = getattr(gluon.model_zoo.vision, options.network)(classes=options.classes)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    if options.data:
        train: Any = Records(options.data, options.batch)
        test = train
    else:
        train, test = digits(options.batch, options.images)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": options.rate})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    for epoch in range(options.epochs):
        begun, images, losses = time.perf_counter(), 0, []
        for x, y in train:
            with autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            trainer.step(options.batch)
            losses.append(loss.mean())
            images += options.batch
        mean = nd.concat(*losses, dim=0).mean().asscalar()
        speed = images / (time.perf_counter() - begun)
        right = accuracy(net, test)
        print(f"epoch {epoch}: loss {mean:.3f}, accuracy {right:.3f}, {speed:.0f} images/s")


if __name__ == "__main__":
    main()
