"""All that writes files, at addresses: run as a program, each is done twice, the second time large.

Between the two it says the writer's name and waits for a line, and behind them how it ended.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import hybridnet as mx
from hybridnet import gluon, nd, sym
from hybridnet.base import upload
from hybridnet.base.files import atomic_write
from hybridnet.compat import tf1 as tf

SMALL, LARGE = 10, 6 << 20  # numbers of 4 bytes
#: With this much of a file brought, more is to come.
MIDDLE = 12 << 20

numbers = np.random.default_rng(0).standard_normal(LARGE).astype(np.float32)


def save_arrays(where: str, count: int) -> None:
    nd.save(f"{where}/x.params", {"w": nd.array(numbers[:count])})


def save_parameters(where: str, count: int) -> None:
    net = gluon.nn.Dense(1, in_units=count, use_bias=False)
    net.initialize()
    net.save_parameters(f"{where}/net.params")


def export_symbol(where: str, count: int) -> None:
    """A large graph is hard to make: one of a variable with a long note."""
    sym.var("x", attr={"__note__": "n" * 3 * count}).save(f"{where}/x.json")


def save_states(where: str, count: int) -> None:
    param = gluon.Parameter("w", shape=(count,))
    param.initialize()
    trainer = gluon.Trainer([param], "sgd", {"momentum": 0.9})
    with mx.autograd.record():
        loss = param.data().sum()
    loss.backward()
    trainer.step(1)
    trainer.save_states(f"{where}/x.states")


def write_records(where: str, count: int) -> None:
    with mx.recordio.MXIndexedRecordIO(f"{where}/a.idx", f"{where}/a.rec", "w") as file:
        for key, row in enumerate(np.array_split(numbers[:count], 10)):
            file.write_idx(key, row.tobytes())


def write_records_and_close(where: str, count: int) -> None:
    file = mx.recordio.MXRecordIO(f"{where}/b.rec", "w")
    for row in np.array_split(numbers[:count], 10):
        file.write(row.tobytes())
    file.close()


def save_checkpoint(where: str, count: int) -> None:
    """Not among the others, since Ctrl-C ends only the waiting for it."""
    saver = mx.checkpoint.Saver({"w": nd.array(numbers[:count])})
    saver.save(f"{where}/model", 0)
    nd.waitall()


def save_model(where: str, count: int) -> None:
    symbol = sym.FullyConnected(sym.var("data"), num_hidden=1, name="fc")
    weight = nd.array(numbers[:count].reshape(1, count))
    mx.model.save_checkpoint(f"{where}/run", 1, symbol, {"fc_weight": weight}, {})


def dump_profile(where: str, count: int) -> None:
    mx.profiler.set_config(filename=f"{where}/profile.json", profile_all=True)
    mx.profiler.set_state("run")
    mx.profiler.Marker(mx.profiler.Domain("d"), "m" * 3 * count).mark()
    mx.profiler.set_state("stop")
    mx.profiler.dump()


def write_text(where: str, count: int) -> None:
    with tf.gfile.GFile(f"{where}/x.txt", "w") as file:
        for _ in range(10):
            file.write("t" * (count // 3))


def export_program(where: str, count: int) -> None:
    net = gluon.nn.Dense(1, in_units=count, use_bias=False)
    net.initialize()
    net.hybridize()
    mx.export(net, f"{where}/x.hnx", nd.zeros((1, count)))


def write_file(where: str, count: int) -> None:
    with atomic_write(f"{where}/x.bin") as file:
        for _ in range(10):
            file.write(numbers[: count // 10])


WRITERS: dict[str, Callable[[str, int], Any]] = {
    one.__name__: one
    for one in (
        save_arrays,
        save_parameters,
        export_symbol,
        save_states,
        write_records,
        write_records_and_close,
        save_model,
        dump_profile,
        write_text,
        export_program,
        write_file,
    )
}


def main() -> None:
    """Does each writer that is named."""
    upload._PART_BYTES = 5 << 20  # as small as may be, so that there are several
    for name in sys.argv[2:]:
        where = f"{sys.argv[1]}/{name}"
        writer = WRITERS.get(name, save_checkpoint)
        writer(where, SMALL)
        print(name, flush=True)
        sys.stdin.readline()
        try:
            writer(where, LARGE)
            ended = "written"
        except KeyboardInterrupt:
            ended = "interrupted"
        except Exception as error:
            ended = f"failed: {error!r}"
        nd.waitall()  # the engine saves checkpoints, and goes on
        print(ended, flush=True)  # behind the exception, which keeps writers


if __name__ == "__main__":
    main()
