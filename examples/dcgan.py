"""Digits out of noise: a generator and a discriminator that try to outwit each other (DCGAN).

    python examples/dcgan.py --epochs 20 --out digits.png

The generator makes images of 32 x 32 from random vectors by transposed convolutions, the
discriminator says which images are real (Radford, Metz and Chintala 2015). The picture shows what
the generator makes of the same vectors after each epoch.
"""

from __future__ import annotations

import argparse

import numpy as np

import hybridnet as mx
from hybridnet import autograd, gluon, nd
from hybridnet.gluon import nn
from hybridnet.io.mnist import load_mnist


def generator(width: int) -> nn.HybridSequential:
    """Vectors (n, length, 1, 1) to images (n, 1, 32, 32) between -1 and 1."""
    net = nn.HybridSequential(prefix="generator_")
    with net.name_scope():
        net.add(nn.Conv2DTranspose(4 * width, 4, use_bias=False))  # 4 x 4
        for channels in (2 * width, width):
            net.add(nn.BatchNorm(), nn.Activation("relu"))
            net.add(nn.Conv2DTranspose(channels, 4, strides=2, padding=1, use_bias=False))
        net.add(nn.BatchNorm(), nn.Activation("relu"))
        net.add(nn.Conv2DTranspose(1, 4, strides=2, padding=1, activation="tanh"))  # 32 x 32
    return net


def discriminator(width: int) -> nn.HybridSequential:
    """Images to one number each: the larger, the more it takes the image for real."""
    net = nn.HybridSequential(prefix="discriminator_")
    with net.name_scope():
        net.add(nn.Conv2D(width, 4, strides=2, padding=1), nn.LeakyReLU(0.2))
        for channels in (2 * width, 4 * width):
            net.add(nn.Conv2D(channels, 4, strides=2, padding=1, use_bias=False))
            net.add(nn.BatchNorm(), nn.LeakyReLU(0.2))
        net.add(nn.Conv2D(1, 4), nn.Flatten())
    return net


def draw(rows: list[np.ndarray], path: str) -> None:
    """Writes the images of each epoch as a row of one picture."""
    from matplotlib import pyplot

    pictures = [np.hstack(list(row[:, 0])) for row in rows]
    pyplot.imsave(path, np.vstack(pictures), cmap="gray")


def main() -> None:
    """Reads the options, trains, and prints how it goes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--width", type=int, default=16, help="channels next to the image")
    parser.add_argument("--noise", type=int, default=32, help="length of the random vectors")
    parser.add_argument("--rate", type=float, default=0.0005)
    parser.add_argument("--out", metavar="FILE.png")
    options = parser.parse_args()

    mx.random.seed(0)
    images = load_mnist()[0][: options.images].reshape(-1, 1, 28, 28)
    real = np.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2))).astype("float32") / 127.5 - 1
    loader = gluon.data.DataLoader(
        gluon.data.ArrayDataset(real), options.batch, shuffle=True, last_batch="discard"
    )
    makes, judges = generator(options.width), discriminator(options.width)
    trainers = []
    for net in (makes, judges):
        net.initialize(mx.init.Normal(0.02))
        net.hybridize()
        settings = {"learning_rate": options.rate, "beta1": 0.5}
        trainers.append(gluon.Trainer(net.collect_params(), "adam", settings))
    train_makes, train_judges = trainers
    loss_of = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    yes, no = nd.ones((options.batch, 1)), nd.zeros((options.batch, 1))

    def noise(count: int) -> nd.NDArray:
        return nd.random.normal(shape=(count, options.noise, 1, 1))

    same, rows = noise(10), []
    for epoch in range(options.epochs):
        losses = []
        for x in loader:
            false = makes(noise(options.batch))
            with autograd.record():
                judged = loss_of(judges(x), yes) + loss_of(judges(false.detach()), no)
            judged.backward()
            train_judges.step(options.batch)
            with autograd.record():
                made = loss_of(judges(makes(noise(options.batch))), yes)
            made.backward()
            train_makes.step(options.batch)
            losses.append((judged.mean(), made.mean()))
        rows.append(makes(same).asnumpy())
        judge, maker = (
            np.mean([float(one.asscalar()) for one in column])
            for column in zip(*losses, strict=True)
        )
        print(f"epoch {epoch}: discriminator {judge:.3f}, generator {maker:.3f}")
    if options.out:
        draw(rows, options.out)
        print(f"drawn in {options.out}")


if __name__ == "__main__":
    main()
