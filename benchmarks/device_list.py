"""MXNet's loop over a list of devices: the calls of Python's in each part of a step.

    python benchmarks/device_list.py

LeNet, a batch split over 1 to 8 virtual devices of the processor, SGD with momentum, as MXNet's
scripts do it: `split_and_load`, a network called on each part, `backward` of each loss,
`Trainer.step`. Counted are the calls of Python functions by the thread of the loop, once all is
compiled, which a mesh in place of the list makes once. A process for each number of devices.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from types import FrameType
from typing import Final

import numpy as np

#: How many devices; the last one is a mesh.
DEVICES: Final = (1, 2, 4, 8, -8)
BATCH: Final = 64
#: Steps before those that are counted, and these.
BEFORE, STEPS = 80, 4


def count(devices: int) -> Counter[str]:
    """Returns the calls of a step by its parts."""
    import hybridnet as mx
    from hybridnet import autograd, gluon
    from hybridnet.gluon import nn

    ctx = [mx.cpu(i) for i in range(devices)] if devices > 0 else [mx.Mesh({"data": -devices})]
    net = nn.HybridSequential()
    for channels in (20, 50):
        net.add(nn.Conv2D(channels, 5, activation="relu"), nn.MaxPool2D(2, 2))
    net.add(nn.Dense(500, activation="relu"), nn.Dense(10))
    net.initialize(mx.init.Xavier(), ctx=ctx)
    net.hybridize()
    settings = {"learning_rate": 0.01, "momentum": 0.9}
    trainer = gluon.Trainer(net.collect_params(), "sgd", settings)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    draw = np.random.default_rng(0)
    data, label = draw.random((BATCH, 1, 28, 28), np.float32), draw.integers(0, 10, BATCH)
    calls: Counter[str] = Counter()
    part = ""

    def note(frame: FrameType, event: str, argument: object) -> None:
        calls[part] += event == "call"

    for step in range(BEFORE + STEPS):
        if step == BEFORE:
            mx.nd.waitall()
            sys.setprofile(note)
        part = "split_and_load"
        xs = gluon.utils.split_and_load(data, ctx)
        ys = gluon.utils.split_and_load(label, ctx)
        part = "forward"
        with autograd.record():
            losses = [loss_of(net(x), y) for x, y in zip(xs, ys, strict=True)]
        part = "backward"
        for one in losses:
            one.backward()
        part = "Trainer.step"
        trainer.step(BATCH)
        part = ""
    sys.setprofile(None)
    mx.nd.waitall()
    return Counter({name: number // STEPS for name, number in calls.items() if name})


def main() -> None:
    """Prints a row for each number of devices."""
    if len(sys.argv) > 1:
        found = count(int(sys.argv[1]))
        print("".join(f"{name} {number:6,}   " for name, number in found.items()))
        return
    env = {
        **os.environ,
        "HYBRIDNET_NUM_CPU_DEVICES": "8",
        "HYBRIDNET_DETERMINISTIC": "1",  # programs are compiled before they run
        "HYBRIDNET_HOST": "off",
    }
    for devices in DEVICES:
        print(
            f"{devices} devices   " if devices > 0 else f"mesh of {-devices} ", end="", flush=True
        )
        subprocess.run([sys.executable, __file__, str(devices)], env=env, check=True)


if __name__ == "__main__":
    main()
