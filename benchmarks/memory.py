"""Memory that networks need: planned, allocated by XLA, and with recomputation ("mirror").

The first table needs shapes only, nothing is run: for batches of 128 images, GB of what is computed
on the way, in prediction and in training, by each strategy of `Symbol.estimate_memory`. ``--xla``
compiles the programs too and adds what XLA allocates for them, which takes minutes.

``--residual 1000`` trains a residual net of so many dense layers with and without recomputation,
each in a process of its own: peak of resident memory in a step over that between steps, and what is
planned and allocated in all. Then both are timed by turns in one process.

    python benchmarks/memory.py [--xla] [--batch 128] [name ...]
    python benchmarks/memory.py --residual 1000 [--width 32] [--batch 1024]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

_SWITCH: Final = "MXNET_BACKWARD_DO_MIRROR"
_GIVEN: Final = ("data", "softmax_label")
_STRATEGIES: Final = ("naive", "inplace", "co-share", "both")
# Turns of the residual net that are timed, and steps in each.
_TURNS: Final = 7
_STEPS: Final = 3
# Of its first weights: small, so that values do not grow with the layers.
_SCALE: Final = 0.03


@contextmanager
def mirrored(switch: bool) -> Iterator[None]:
    """Has what is differentiated inside computed again, or not."""
    before = os.environ.get(_SWITCH, "0")
    os.environ[_SWITCH] = str(int(switch))
    try:
        yield
    finally:
        os.environ[_SWITCH] = before


def requests(net: Any) -> dict[str, str]:
    return {name: "null" if name in _GIVEN else "write" for name in net.list_arguments()}


def internal(net: Any, is_train: bool, strategy: str, shape: tuple[int, ...]) -> float:
    """GB of what is computed on the way."""
    found = net.estimate_memory(is_train, strategy, grad_req=requests(net), data=shape)
    return float(found.internal / 1e9)


def row(net: Any, is_train: bool, shape: tuple[int, ...], xla: bool) -> dict[str, float]:
    """The columns of one network in prediction or training."""
    columns = {strategy: internal(net, is_train, strategy, shape) for strategy in _STRATEGIES}
    columns["naive/both"] = columns["naive"] / columns["both"]
    if xla:
        columns["XLA"] = internal(net, is_train, "xla", shape)
    if is_train:
        with mirrored(True):
            columns["mirror"] = internal(net, is_train, "both", shape)
            if xla:
                columns["XLA mirror"] = internal(net, is_train, "xla", shape)
    return columns


def show(rows: Mapping[tuple[str, str], Mapping[str, float]]) -> None:
    titles = list(dict.fromkeys(title for row in rows.values() for title in row))
    print(f"{'network':25}{'pass':11}" + "".join(f"{title:>11}" for title in titles))
    for (name, what), columns in rows.items():
        cells = (f"{columns[title]:11.2f}" if title in columns else f"{'':11}" for title in titles)
        print(f"{name:25}{what:11}" + "".join(cells))


# A residual net, trained --------------------------------------------------------------------------


def trainer(layers: int, width: int, batch: int) -> tuple[Any, Any]:
    """Makes the net and its arrays; returns its executor, and what takes so many steps."""
    import networks
    from works.runner import waited

    import hybridnet as hn

    net = networks.residual(layers, width)
    executor = net.simple_bind(hn.cpu(), requests(net), data=(batch, width))
    random = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        scale = 1 if name == "data" else _SCALE / np.sqrt(width)
        array[:] = scale * random.standard_normal(array.shape, dtype=np.float32)
    learned = [
        (weight, grad)
        for weight, grad in zip(executor.arg_arrays, executor.grad_arrays, strict=True)
        if grad is not None
    ]

    def step() -> None:
        executor.forward(is_train=True)
        executor.backward()
        for weight, grad in learned:
            hn.nd.sgd_update(weight, grad, lr=0.01, out=weight)

    return executor, waited(step, hn.nd.waitall)


def warm_up(executor: Any, turn: Any) -> None:
    from works.runner import hybrid

    hybrid(turn, lambda: executor.outputs[0].asnumpy()).warm_up()


def memory(layers: int, width: int, batch: int) -> dict[str, float]:
    """Memory that training takes in this process, by the environment's switch."""
    import networks
    from works.memory import resident, resident_idle

    executor, turn = trainer(layers, width, batch)
    warm_up(executor, turn)
    gc.collect()
    idle = resident_idle()
    peak = resident(turn)
    net = networks.residual(layers, width)
    shapes = {"grad_req": requests(net), "data": (batch, width)}
    return {
        "peak MB": (peak - idle) / 1e6,
        "planned MB": net.estimate_memory(True, "both", **shapes).total / 1e6,
        "XLA MB": net.estimate_memory(True, "xla", **shapes).total / 1e6,
    }


def times(layers: int, width: int, batch: int) -> dict[bool, float]:
    """Milliseconds of a step without and with recomputation, measured by turns."""
    turns: dict[bool, Any] = {}
    for switch in (False, True):
        with mirrored(switch):
            executor, turns[switch] = trainer(layers, width, batch)
            warm_up(executor, turns[switch])
    measured: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(_TURNS):
        for switch, turn in turns.items():
            with mirrored(switch):
                measured[switch].append(1e3 * turn(_STEPS) / _STEPS)
    return {switch: float(np.median(found)) for switch, found in measured.items()}


def compare(layers: int, width: int, batch: int, arguments: list[str]) -> None:
    """Trains the net both ways, and prints the ratios."""
    found = []
    for switch in "01":
        made = subprocess.run(
            [sys.executable, __file__, *arguments, "--here"],
            env={**os.environ, _SWITCH: switch},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found.append(json.loads(made.stdout))
    taken = times(layers, width, batch)
    for facts, milliseconds in zip(found, taken.values(), strict=True):
        facts["ms a step"] = milliseconds
    print(f"{'':14}{'keeps all':>12}{'mirror':>12}{'ratio':>9}")
    for name, plain in found[0].items():
        print(f"{name:14}{plain:12.2f}{found[1][name]:12.2f}{found[1][name] / plain:9.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="*", help="only networks whose name starts like this")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--xla", action="store_true", help="compile, and show XLA's numbers")
    parser.add_argument("--residual", type=int, metavar="LAYERS")
    parser.add_argument("--width", type=int, default=32, help="of the residual net")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.residual:
        sizes = options.residual, options.width, options.batch or 1024
        if options.here:
            print(json.dumps(memory(*sizes)))
        else:
            compare(*sizes, sys.argv[1:])
        return
    import networks

    chosen = [name for name in networks.NETWORKS if name.startswith(tuple(options.name or ("",)))]
    shape = (options.batch or 128, *networks.IMAGE)
    rows = {}
    for name in chosen:
        net = networks.NETWORKS[name]()
        for is_train in (False, True):
            rows[name, "train" if is_train else "predict"] = row(net, is_train, shape, options.xla)
    show(rows)


if __name__ == "__main__":
    main()
