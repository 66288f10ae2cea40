"""A character GPT on many devices: one loop, and four ways to lay the network over them.

    python examples/gpt_parallel.py --way data                       # on 8 virtual devices
    python examples/gpt_parallel.py --way both --devices 8
    HYBRIDNET_NUM_CPU_DEVICES=4 hybridnet launch -n 2 -s 0 python examples/gpt_parallel.py

    one      no mesh: a single device, to compare with
    data     each device has all parameters, and a part of the batch
    sharded  each device has a part of the parameters, gradients and optimizer's states, too
    tensor   several devices compute each layer together: a part of the heads, and of the units
    both     tensor, and what tensor leaves whole or in large parts is divided further

The losses are the same in all ways, but for rounding.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from gpt import PAGES, Characters, read

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.gluon import nn
from hybridnet.parallel import COLUMNS, ROWS, split

#: Queries, keys and values by heads, which are rows of their weights; then the layer that adds the
#: heads up. So it is in the feed-forward part, with its hidden units.
PLAN = {
    r"attention\.(query|key|value)\.(weight|bias)": COLUMNS,
    r"attention\.proj\.weight": ROWS,
    r"feed\.up\.(weight|bias)": COLUMNS,
    r"feed\.down\.weight": ROWS,
}


class Layer(gluon.HybridBlock):
    """Causal attention and a feed-forward part, each after a norm, each added to what comes in."""

    def __init__(self, units: int, heads: int) -> None:
        super().__init__()
        with self.name_scope():
            self.attention_norm = nn.LayerNorm(in_channels=units)
            self.attention = nn.MultiHeadAttention(units, heads, causal=True, in_units=units)
            self.feed_norm = nn.LayerNorm(in_channels=units)
            self.feed = nn.PositionwiseFFN(4 * units, units, "gelu_tanh")

    def forward(self, x: nd.NDArray) -> nd.NDArray:
        """Returns (batch, length, units) of the same."""
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed(self.feed_norm(x))


class GPT(gluon.HybridBlock):
    """A decoder; it knows nothing of devices."""

    def __init__(self, vocab: int, units: int, layers: int, heads: int, length: int) -> None:
        super().__init__()
        with self.name_scope():
            self.tokens = nn.Embedding(vocab, units)
            self.positions = nn.LearnedPositions(length, units)
            self.layers = nn.HybridSequential()
            for _ in range(layers):
                self.layers.add(Layer(units, heads))
            self.norm = nn.LayerNorm(in_channels=units)
            self.output = nn.Dense(vocab, flatten=False, in_units=units)

    def forward(self, tokens: nd.NDArray) -> nd.NDArray:
        """Returns the scores of the character after each, (batch, length, vocab)."""
        return self.output(self.norm(self.layers(self.positions(self.tokens(tokens)))))


def mesh_of(way: str, devices: int) -> hn.Mesh:
    """Returns the mesh of a way, over all processes: those of a batch first."""
    model = 1 if way in ("data", "sharded") else max(1, devices // 2)
    axes = {"data": devices // model, "model": model}
    return hn.Mesh(axes, processes=hn.distributed.size())


def lay(net: GPT, way: str, mesh: hn.Mesh) -> None:
    """Says how the network lies on a mesh: all that differs between the ways."""
    if way == "data":
        hn.parallel.data(net, mesh)
    if way in ("tensor", "both"):
        hn.parallel.tensor(net, mesh, PLAN)
    if way in ("sharded", "both"):
        hn.parallel.fully_sharded(net, mesh)


def batches(data: np.ndarray, batch: int, length: int, where: Any) -> Iterator[list[nd.NDArray]]:
    """Yields pieces of the text and the characters that follow each, for ever.

    All processes draw the same beginnings, and each reads the pieces that its devices are to have.
    """
    draw = np.random.default_rng(0)
    rank, size = hn.distributed.rank(), hn.distributed.size()
    here = slice(rank * batch // size, (rank + 1) * batch // size)
    while True:
        begin = draw.integers(0, len(data) - length, batch)[here]
        pieces = np.stack([data[one : one + length + 1] for one in begin])
        both = pieces[:, :-1], pieces[:, 1:]
        if isinstance(where, hn.Mesh):
            yield [hn.parallel.join(one, where, {"data": split(0)}, "int32") for one in both]
        else:
            yield [nd.array(one, where, "int32") for one in both]


def held(net: GPT, trainer: gluon.Trainer) -> tuple[int, int]:
    """Returns how many bytes of parameters, gradients and states there are, and a device's."""
    whole = here = 0
    states = trainer._updaters[0].states
    for number, param in enumerate(net.collect_params().values()):
        for array in (param.data(), param.grad(), *states[number]):
            jax_array = array.to_jax()
            whole += jax_array.nbytes
            here += jax_array.addressable_shards[0].data.nbytes
    return whole, here


def main() -> None:
    """Reads the options, and trains."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ways = "one", "data", "sharded", "tensor", "both"
    parser.add_argument("--way", choices=ways, default="data")
    parser.add_argument("--devices", type=int, default=8, help="of all processes together")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--units", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--length", type=int, default=32, help="characters that are seen at once")
    parser.add_argument("--batch", type=int, default=16, help="pieces of text, of all processes")
    parser.add_argument("--rate", type=float, default=3e-3, help="the learning rate")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--losses", help="a file for the losses, by numpy.save")
    args = parser.parse_args()

    hn.distributed.initialize()  # a gang of one where nothing launched this
    where = hn.cpu() if args.way == "one" else mesh_of(args.way, args.devices)
    first = hn.distributed.rank() == 0

    hn.random.seed(0)  # so that all processes begin with the same parameters
    written = read(sorted(PAGES.glob("*.md")))
    characters = Characters(written)
    data = np.array(characters.encode(written), np.int32)
    net = GPT(len(characters.all), args.units, args.layers, args.heads, args.length)
    net.initialize(hn.init.Normal(0.02))
    net.cast(args.dtype)
    net.hybridize()
    if isinstance(where, hn.Mesh):
        lay(net, args.way, where)
    loss_of = gluon.loss.SoftmaxCELoss()
    trainer = gluon.Trainer(net.collect_params(), "adamw", {"learning_rate": args.rate, "wd": 0.1})
    weights = list(net.collect_params().values())

    losses = []
    for x, y in batches(data, args.batch, args.length, where):
        with autograd.record():
            loss = loss_of(net(x), y).mean()
        loss.backward()
        gluon.utils.clip_global_norm([one.grad() for one in weights], 1.0, check_isfinite=False)
        trainer.step(1)
        losses.append(float(loss.asscalar()))
        if first and (len(losses) % 10 == 0 or len(losses) == 1):
            print(f"step {len(losses):4}  loss {losses[-1]:.6f}", flush=True)
        if len(losses) >= args.steps:
            break
    whole, here = held(net, trainer)
    if first:
        print(f"on {where}, {args.way}: {whole / 1e6:.2f} MB of parameters, gradients and states")
        print(f"of which each device holds {here / 1e6:.2f} MB, {here / whole:.3f} of all")
        if args.losses:
            np.save(args.losses, losses)


if __name__ == "__main__":
    main()
