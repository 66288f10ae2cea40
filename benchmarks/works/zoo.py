"""Networks of gluon's model zoo, run: hybridnet and MXNet by the same lines, from the same weights.

PyTorch's own zoo is a package of its own and not among the peers; ``nets.py`` has networks of this
kind written for all of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np

from works.nets_gluon import mxnet_package
from works.runner import Array, Runner, each, hybrid, plain

#: Networks by work: their names in the zoo, and how many pixels their images have on a side.
NETWORKS = {
    "zoo-resnet50_v2": ("resnet50_v2", 224),
    "zoo-densenet121": ("densenet121", 224),
    "zoo-inceptionv3": ("inceptionv3", 299),
    "zoo-mobilenetv2": ("mobilenetv2_1.0", 224),
    "zoo-squeezenet": ("squeezenet1.1", 224),
}
#: Launches after which hybridnet has noticed which inputs of a program stay the same.
_LAUNCHES = 24


def value_of(name: str, shape: tuple[int, ...]) -> Array:
    """Returns the first value of a parameter, which is the same in each process.

    Args:
        name: without its network's prefix; its end tells what it is.
        shape: of the parameter.
    """
    if name.endswith(("gamma", "running_var")):
        return np.ones(shape, np.float32)
    if name.endswith(("beta", "running_mean")):
        return np.zeros(shape, np.float32)
    random = np.random.default_rng(zlib.crc32(name.encode()))
    inputs = int(np.prod(shape[1:]))
    scale = 0.1 if name.endswith("bias") else (2 / inputs) ** 0.5  # He et al. 2015
    return (scale * random.standard_normal(shape)).astype(np.float32)


def set_values(mx: Any, block: Any) -> None:
    """Gives all parameters of a block their first values."""
    for name, param in block.collect_params().items():
        param.set_data(mx.nd.array(value_of(name.removeprefix(block.prefix), param.shape)))


def _runner(
    mx: Any, work: str, backend: str | None
) -> tuple[Callable[[], Any], Callable[[], Array]]:
    name, pixels = NETWORKS[work]
    block = mx.gluon.model_zoo.vision.get_model(name)
    block.initialize()
    random = np.random.default_rng(0)
    images = [
        mx.nd.array(random.standard_normal((1, 3, pixels, pixels), dtype=np.float32))
        for _ in range(4)
    ]
    block(images[0])  # so that deferred shapes are known
    set_values(mx, block)
    block.hybridize(static_alloc=True, static_shape=True)
    if backend is not None:
        block.optimize_for(images[0], backend=backend, static_alloc=True, static_shape=True)
    given = cycle(images)
    return lambda: block(next(given)).asnumpy(), lambda: block(images[0]).asnumpy()


def ours(work: str) -> Runner:
    import hybridnet as hn

    run, read = _runner(hn, work, None)
    return hybrid(each(run), read, least=_LAUNCHES)


def mxnet(work: str) -> Runner:
    run, read = _runner(mxnet_package(), work, None)
    return plain(each(run), read)


def mxnet_optimized(work: str) -> Runner:
    run, read = _runner(mxnet_package(), work, "MKLDNN")
    return plain(each(run), read)


def contestants(work: str) -> dict[str, Callable[[], Runner]]:
    """Returns who runs a network."""
    ways = {"hybridnet": ours, "mxnet hybridized": mxnet, "mxnet optimized": mxnet_optimized}
    return {name: partial(way, work) for name, way in ways.items()}
