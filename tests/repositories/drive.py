"""What the drivers share: equal parameters, losses as they go back, files for the other framework.

A driver is run by MXNet and by hybridnet alike, `run.py` says in which order::

    python DRIVER.py train FOLDER      # trains, and leaves files in FOLDER
    python DRIVER.py read FOLDER       # reads the files that the other one left there

Each prints a line of JSON: the losses, or what the files gave. A driver imports the repository's
own modules. What it changes are sizes, paths, data that would be downloaded, dropout (to 0) and
where random numbers come from: NumPy, which draws the same in both.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import traceback
from pathlib import Path

import mxnet as mx
import numpy as np

STEPS = 20


def begin(parameters, scale=None, gain=1):
    """Gives parameters values that are the same in both frameworks; what has one dimension stays.

    Args:
        parameters: of gluon, in an order that both frameworks agree on.
        scale: the values are uniform between minus and plus this; None: as Xavier says, times gain.
        gain: a little above 1 keeps what many layers pass on from vanishing.
    """
    drawn = np.random.RandomState(7)
    for each in parameters:
        if len(each.shape) > 1:
            bound = scale or gain * (3 / np.prod(each.shape[1:])) ** 0.5
            value = nudged(drawn.uniform(-bound, bound, each.shape).astype("float32"))
            each.set_data(mx.nd.array(value, dtype=each.dtype))


def nudged(value):
    """Moves numbers by as much of them as NUDGE says, to see how much MXNet differs from itself."""
    nudge = float(os.environ.get("NUDGE", 0))
    if not nudge:
        return value
    signs = np.random.RandomState(1).choice([-1, 1], value.shape)
    return (value * (1 + nudge * signs)).astype(value.dtype)


def clone(name):
    """Returns the folder of a repository that `run.py` has cloned."""
    return Path(os.environ["CLONES"]) / name


class Enough(Exception):
    """There have been as many steps as were asked for."""


@contextlib.contextmanager
def losses(steps=None):
    """Yields a list to which the mean of each array is added that `backward` is called on.

    Args:
        steps: a further call raises Enough.
    """
    seen = []
    backward = mx.nd.NDArray.backward

    def noted(self, *args, **kwargs):
        if len(seen) == steps:
            raise Enough
        seen.append(float(self.asnumpy().astype("float64").mean()))
        backward(self, *args, **kwargs)

    mx.nd.NDArray.backward = noted
    try:
        yield seen
    finally:
        mx.nd.NDArray.backward = backward


_DRAWN = np.random.RandomState()


def draw_alike(seed=7):
    """Has NumPy draw what initializers and `nd.random` give, in both frameworks."""
    _DRAWN.seed(seed)
    if mx.nd.random.normal.__module__ == __name__:
        return  # what others imported from there must stay what is there

    def normal(loc=0, scale=1, shape=(1,), dtype="float32", ctx=None, out=None, **others):
        value = _DRAWN.normal(loc, scale, shape if out is None else out.shape)
        return _given(value, dtype, ctx, out)

    def uniform(low=0, high=1, shape=(1,), dtype="float32", ctx=None, out=None, **others):
        value = _DRAWN.uniform(low, high, shape if out is None else out.shape)
        return _given(value, dtype, ctx, out)

    def weight(self, name, array):
        array[:] = nudged(_DRAWN.uniform(-0.1, 0.1, array.shape).astype("float32"))

    for module in (mx.nd, mx.random):
        module.random_normal = module.normal = normal
        module.random_uniform = module.uniform = uniform
    mx.nd.random.normal, mx.nd.random.uniform = normal, uniform

    def np_normal(loc=0, scale=1, size=None, dtype=None, ctx=None, out=None, device=None):
        return mx.np.array(_DRAWN.normal(loc, scale, size), dtype=dtype or "float32", ctx=ctx)

    def np_rand(*size):
        return mx.np.array(_DRAWN.uniform(size=size), dtype="float32")

    def np_shuffle(array):
        array[:] = mx.np.array(_DRAWN.permutation(array.asnumpy()), dtype=array.dtype)

    mx.np.random.normal, mx.np.random.rand, mx.np.random.shuffle = np_normal, np_rand, np_shuffle
    for kind in (mx.init.Normal, mx.init.Uniform, mx.init.Xavier, mx.init.Orthogonal):
        kind._init_weight = weight


def _given(value, dtype, ctx, out):
    if out is None:
        return mx.nd.array(value, dtype=dtype or "float32", ctx=ctx)
    out[:] = value
    return out


class Pictures(mx.gluon.data.Dataset):
    """Stands for MNIST and its like, which would be downloaded: (28, 28, 1), ten classes."""

    count, shape = 1280, (28, 28, 1)

    def __init__(self, root=None, train=True, transform=None):
        drawn = np.random.RandomState(1 if train else 2)
        self.labels = drawn.randint(0, 10, self.count if train else 128).astype("int32")
        kinds = np.random.RandomState(3).randint(0, 200, (10, *self.shape))
        noise = drawn.randint(0, 56, (len(self.labels), *self.shape))
        self.images = (kinds[self.labels] + noise).astype("uint8")
        self.change = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        array = mx.np.array if mx.util.is_np_array() else mx.nd.array
        image, label = array(self.images[index], dtype="uint8"), self.labels[index]
        return (image, label) if self.change is None else self.change(image, label)


def run_cells(cells, namespace, steps=STEPS):
    """Runs the code of a notebook; returns the first losses.

    A training loop that goes on for longer ends with its cell, and what comes after it runs.
    """
    with losses(steps) as seen:
        for code in cells:
            lines = [line for line in code.splitlines() if not line.lstrip().startswith(("%", "!"))]
            with contextlib.suppress(Enough):
                exec(compile("\n".join(lines), "cell", "exec"), namespace)
    return seen


def run_chapter(cells, namespace):
    """Runs a chapter's code from the same random numbers; returns the losses, or what ended it."""
    draw_alike(seed=3)
    np.random.seed(1)
    try:
        return run_cells(cells, namespace)
    except Exception as error:
        traceback.print_exc()
        return f"{type(error).__name__}: {error}"[:300]


def main(train, read=None):
    """Does what the command line says.

    Args:
        train: takes a folder; returns the losses, and arrays that the other framework must get
            from the files which were left there (or nothing).
        read: takes a folder with the other's files; returns the same arrays.
    """
    task, folder = sys.argv[1], Path(sys.argv[2]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    random.seed(0)
    np.random.seed(0)
    mx.random.seed(0)
    if task == "train":
        seen, arrays = train(folder)
        answer = {"losses": seen if isinstance(seen, dict) else {"": [float(x) for x in seen]}}
    else:
        arrays = read(folder)
        answer = {"losses": {}}
    if arrays:
        answer["arrays"] = {
            name: np.asarray(each, "float64").round(9).ravel()[:64].tolist()
            for name, each in arrays.items()
        }
    print(json.dumps(answer))
