"""A worker that trains a small network, as people write it; what it has at its end is printed.

    hybridnet launch -n 2 -s 2 python trained.py 40 '{"rates": true}'

It draws nothing but by the number of the step, so that a step that is done again is the same one.
Shapes are found at the first batch, batches are not all of one size, and what `options` names comes
on top: "rates": the learning rate is another every few steps; "adam"; "compressed": 2 bits; "rows":
a table of rows beside the network; "named": the trainer makes the store; "several": a second
network with another optimizer and a store of its own, made before the first one's and trained after
it; "dies": [step, rank, ...]: these workers are killed as they begin that step, the first time, or
("halfway") between the two networks.
"""

import hashlib
import json
import os
import signal
import sys

import numpy as np

import hybridnet as hn
from hybridnet import autograd, gluon, nd

BATCH, TABLE = 24, 1000


def say(*words):
    """Prints a line as one piece, since several processes write."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main(steps, options):
    """Trains, and prints a checksum of all weights."""
    hn.random.seed(1)
    store = hn.kv.create(options.get("store", "dist_sync"))
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Dense(24, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dense(300),
        gluon.nn.Dense(10),
    )  # fmt: skip
    net.initialize(hn.init.Xavier())
    compression = {"type": "2bit", "threshold": 0.01} if options.get("compressed") else None
    kind, numbers = "sgd", {"learning_rate": 0.1, "momentum": 0.9}
    if options.get("adam"):
        kind, numbers = "adam", {"learning_rate": 0.01}
    second = _Second(options) if options.get("several") else None
    given = options.get("store", "dist_sync") if options.get("named") else store
    trainer = gluon.Trainer(
        net.collect_params(), kind, numbers, kvstore=given, compression_params=compression
    )
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    table = _Table(store) if options.get("rows") else None
    rng = np.random.RandomState(0)
    data = rng.rand(256, 32).astype("float32")
    label = (data @ rng.rand(32, 10)).argmax(1).astype("float32")
    for step in range(store.resumes, steps):
        at, *ranks = options.get("dies", [-1])
        dies = step == at and store.rank in ranks and os.environ["DMLC_NUM_ATTEMPT"] == "0"
        if dies and not options.get("halfway"):
            os.kill(os.getpid(), signal.SIGKILL)
        size = BATCH if step % 7 else BATCH // 2
        chosen = np.random.RandomState(1000 + step).choice(256, size)
        mine = chosen[store.rank :: store.num_workers]
        if options.get("rates"):
            trainer.set_learning_rate(numbers["learning_rate"] * 0.9 ** (step // 5))
        with autograd.record():
            loss = loss_of(net(nd.array(data[mine])), nd.array(label[mine]))
        loss.backward()
        trainer.step(size)
        if dies:
            nd.waitall()
            os.kill(os.getpid(), signal.SIGKILL)
        if second is not None:
            second.step(step, nd.array(data[mine]), size)
        if table is not None:
            table.step(step)
        nd.waitall()
        if store.rank == 0:
            say("step", step)
    weights = [one.data().asnumpy() for name, one in net.collect_params().items()
               if "running" not in name]  # fmt: skip
    if second is not None:
        weights += [one.data().asnumpy() for one in second.net.collect_params().values()]
    if table is not None:
        weights.append(table.value())
    say("weights", store.rank, hashlib.md5(b"".join(one.tobytes() for one in weights)).hexdigest())


class _Second:
    """A network that learns to give back what it is given, by Adam."""

    RATE = 0.02

    def __init__(self, options):
        self._changes = options.get("rates")
        self.net = gluon.nn.HybridSequential()
        self.net.add(gluon.nn.Dense(16, activation="tanh"), gluon.nn.Dense(32))
        self.net.initialize(hn.init.Xavier())
        self._trainer = gluon.Trainer(
            self.net.collect_params(), "adam", {"learning_rate": self.RATE}, kvstore="dist_sync"
        )

    def step(self, step, x, size):
        """Trains a batch; the rate is another in other steps than that of the first network."""
        if self._changes:
            self._trainer.set_learning_rate(self.RATE * 0.8 ** (step // 3))
        with autograd.record():
            loss = ((self.net(x) - x) ** 2).sum()
        loss.backward()
        self._trainer.step(size)


class _Table:
    """Rows that are pulled to the row numbers, each step some of them."""

    ROWS, WIDTH = 40, 3

    def __init__(self, store):
        self._store = store
        shape = (self.ROWS, self.WIDTH)
        self._made = False
        self._zeros = nd.sparse.zeros("row_sparse", shape)

    def _pull(self, rows):
        out = nd.sparse.zeros("row_sparse", (self.ROWS, self.WIDTH))
        self._store.row_sparse_pull(TABLE, out=out, row_ids=nd.array(rows, dtype="int64"))
        return out.asnumpy()[rows]

    def step(self, step):
        """Pushes what the rows that were pulled lack."""
        if not self._made:
            self._store.init(TABLE, self._zeros)
            self._made = True
        rows = np.arange(step % 3, self.ROWS, 3)
        lack = (self._pull(rows) - rows[:, None]).astype("float32")
        shape = (self.ROWS, self.WIDTH)
        self._store.push(TABLE, nd.sparse.row_sparse_array((lack, rows), shape=shape))

    def value(self):
        """All rows."""
        return self._pull(np.arange(self.ROWS))


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]))
