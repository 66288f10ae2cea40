"""A linear model of a million features, of which each example has a few: sparse arrays.

    python examples/sparse_linear.py
    python examples/sparse_linear.py --libsvm train.libsvm --features 1000000

Data are compressed rows (CSR). The gradient of the weights has only the rows of the features that
the batch has (row_sparse), and the optimizer touches no others.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import hybridnet as mx
from hybridnet import autograd, nd


def invented(path: Path, rows: int, features: int, each: int) -> None:
    """Writes examples in LibSVM's format; the class is the sign of a sum of hidden weights."""
    draw = np.random.default_rng(0)
    common = draw.choice(features, 200, replace=False)  # words that texts share
    hidden = dict(zip(common.tolist(), draw.normal(size=200).tolist(), strict=True))
    with path.open("w", encoding="utf-8") as file:
        for _ in range(rows):
            own = sorted(draw.choice(common, each, replace=False).tolist())
            label = int(sum(hidden[one] for one in own) > 0)
            file.write(f"{label} " + " ".join(f"{one}:1" for one in own) + "\n")


def main() -> None:
    """Reads the options, trains, and prints how it goes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--libsvm", type=Path, help="the examples; default invented ones")
    parser.add_argument("--features", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=2000, help="of invented examples")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--rate", type=float, default=0.05)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        path = options.libsvm or Path(folder) / "train.libsvm"
        if not options.libsvm:
            invented(path, options.rows, options.features, 10)
        data = mx.io.LibSVMIter(
            data_libsvm=str(path), data_shape=(options.features,), batch_size=options.batch
        )
        weight, bias = nd.zeros((options.features, 1)), nd.zeros((1,))
        weight.attach_grad(stype="row_sparse")
        bias.attach_grad()
        updater = mx.optimizer.get_updater(
            mx.optimizer.Adam(learning_rate=options.rate, rescale_grad=1 / options.batch)
        )
        loss_of = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
        for epoch in range(options.epochs):
            data.reset()
            losses, right, seen, touched = [], 0, 0, 0
            for batch in data:
                x, y = batch.data[0], batch.label[0].reshape((-1, 1))
                with autograd.record():
                    score = nd.sparse.dot(x, weight) + bias
                    loss = loss_of(score, y)
                loss.backward()
                touched = weight.grad.indices.size
                updater(0, weight.grad, weight)
                updater(1, bias.grad, bias)
                losses.append(float(loss.mean().asscalar()))
                right += int(((score > 0) == y).sum().asscalar())
                seen += len(y)
            print(
                f"epoch {epoch}: loss {np.mean(losses):.3f}, accuracy {right / seen:.3f}, "
                f"{touched} of {options.features} weights in the last gradient"
            )


if __name__ == "__main__":
    main()
