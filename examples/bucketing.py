"""Sentences of any length: each goes into a bucket, and each bucket has an unrolled network.

    python examples/bucketing.py

`BucketingModule` makes a graph for each length, and all of them share their weights. The network
reads numbers one by one and tells after each one the sum of all so far, modulo a small number.
"""

from __future__ import annotations

import argparse
import random

import numpy as np

import hybridnet as mx
from hybridnet import sym

IGNORED = -1


def sentences(count: int, modulus: int, longest: int) -> tuple[list[list[int]], list[list[int]]]:
    """Numbers, and the sums so far."""
    draw = random.Random(0)
    rows = [
        [draw.randrange(modulus) for _ in range(draw.randint(2, longest))] for _ in range(count)
    ]
    return rows, [(np.cumsum(row) % modulus).tolist() for row in rows]


def batches(
    rows: list[list[int]], sums: list[list[int]], buckets: list[int], batch: int
) -> list[mx.io.DataBatch]:
    """Sorts sentences into the least bucket that they fit in, padded; what is left over is lost."""
    sorted_rows: dict[int, list[tuple[list[int], list[int]]]] = {size: [] for size in buckets}
    for row, answer in zip(rows, sums, strict=True):
        size = min(one for one in buckets if one >= len(row))
        more = size - len(row)
        sorted_rows[size].append((row + [0] * more, answer + [IGNORED] * more))
    made = []
    for size, pairs in sorted_rows.items():
        for begin in range(0, len(pairs) - batch + 1, batch):
            x, y = zip(*pairs[begin : begin + batch], strict=True)
            made.append(
                mx.io.DataBatch(
                    [mx.nd.array(x)],
                    [mx.nd.array(y)],
                    bucket_key=size,
                    provide_data=[mx.io.DataDesc("data", (batch, size))],
                    provide_label=[mx.io.DataDesc("label", (batch, size))],
                )
            )
    random.Random(1).shuffle(made)
    return made


def main() -> None:
    """Reads the options, trains, and prints how it goes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--modulus", type=int, default=3)
    parser.add_argument("--buckets", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--hidden", type=int, default=48)
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--rate", type=float, default=0.01)
    options = parser.parse_args()

    mx.random.seed(0)
    cell = mx.rnn.LSTMCell(options.hidden, prefix="lstm_")

    def network(length: int) -> tuple[sym.Symbol, tuple[str, ...], tuple[str, ...]]:
        """The network for a length; its weights have the same names for all of them."""
        cell.reset()
        words = sym.Embedding(
            sym.var("data"), input_dim=options.modulus, output_dim=16, name="words"
        )
        outputs, _ = cell.unroll(length, inputs=words, merge_outputs=True)
        scores = sym.FullyConnected(
            sym.reshape(outputs, shape=(-1, options.hidden)),
            num_hidden=options.modulus,
            name="scores",
        )
        label = sym.reshape(sym.var("label"), shape=(-1,))
        out = sym.SoftmaxOutput(
            scores,
            label,
            use_ignore=True,
            ignore_label=IGNORED,
            normalization="valid",
            name="softmax",
        )
        return out, ("data",), ("label",)

    longest = max(options.buckets)
    rows, sums = sentences(options.sentences, options.modulus, longest)
    train = batches(rows, sums, sorted(options.buckets), options.batch)
    module = mx.mod.BucketingModule(network, default_bucket_key=longest)
    module.bind(
        [mx.io.DataDesc("data", (options.batch, longest))],
        [mx.io.DataDesc("label", (options.batch, longest))],
    )
    module.init_params(mx.init.Xavier())
    module.init_optimizer(
        optimizer="adam", optimizer_params={"learning_rate": options.rate, "rescale_grad": 1.0}
    )
    metric = mx.metric.Perplexity(ignore_label=IGNORED)
    for epoch in range(options.epochs):
        metric.reset()
        for batch in train:
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
        print(f"epoch {epoch}: perplexity {metric.get()[1]:.3f}")


if __name__ == "__main__":
    main()
