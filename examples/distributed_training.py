"""One network, several workers: each has its share of the digits, servers add gradients up.

    hybridnet launch -n 2 -s 1 python examples/distributed_training.py
    python examples/distributed_training.py --kvstore local       # the same in one process

A worker that is killed is started again and goes on where it was (docs/distribution.md).
"""

from __future__ import annotations

import argparse

import numpy as np

import hybridnet as mx
from hybridnet import autograd, gluon, nd
from hybridnet.gluon import nn
from hybridnet.io.mnist import load_mnist


def main() -> None:
    """Reads the options, trains, and prints how it goes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvstore", default="dist_sync")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=50, help="images of a worker in a step")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rate", type=float, default=0.1)
    options = parser.parse_args()

    store = mx.kv.create(options.kvstore)
    mx.random.seed(0)
    images, labels, test_images, test_labels = load_mnist()

    def pixels(pictures: np.ndarray) -> np.ndarray:
        return pictures.reshape(-1, 784).astype("float32") / 255

    mine = slice(store.rank, options.images, store.num_workers)
    x, y = pixels(images)[mine], labels[mine].astype("float32")
    net = nn.HybridSequential()
    net.add(nn.Dense(64, activation="relu", in_units=784), nn.Dense(10, in_units=64))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    settings = {"learning_rate": options.rate, "momentum": 0.9}
    trainer = gluon.Trainer(net.collect_params(), "sgd", settings, kvstore=store)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    for step in range(store.resumes, options.steps):
        rows = np.arange(step * options.batch, (step + 1) * options.batch) % len(x)
        with autograd.record():
            loss = loss_of(net(nd.array(x[rows])), nd.array(y[rows]))
        loss.backward()
        trainer.step(options.batch * store.num_workers)
        if step % 20 == 19:
            print(f"worker {store.rank}, step {step}: loss {loss.mean().asscalar():.3f}")
    metric = mx.metric.Accuracy()
    metric.update(nd.array(test_labels), net(nd.array(pixels(test_images))))
    if store.rank == 0:
        print(f"accuracy {metric.get()[1]:.3f}")


if __name__ == "__main__":
    main()
