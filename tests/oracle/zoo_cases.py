"""The networks of the model zoo, with numbers in them: for `make_zoo.py`, and for the tests.

Nothing here imports MXNet or hybridnet; functions are given ``mx``, which is one or the other.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np

#: Networks, with the height and width of a picture.
NETWORKS: dict[str, int] = {
    **{f"resnet{n}_v{v}": 64 for v in (1, 2) for n in (18, 34, 50, 101, 152)},
    **{f"vgg{n}{bn}": 32 for n in (11, 13, 16, 19) for bn in ("", "_bn")},
    "alexnet": 64,
    **{f"densenet{n}": 224 for n in (121, 161, 169, 201)},
    "squeezenet1.0": 224,
    "squeezenet1.1": 224,
    "inceptionv3": 299,
    **{f"mobilenet{width}": 64 for width in ("1.0", "0.75", "0.5", "0.25")},
    **{f"mobilenetv2_{width}": 64 for width in ("1.0", "0.75", "0.5", "0.25")},
}
#: Those that take less than a second.
SMALL = ("resnet18_v1", "resnet18_v2", "alexnet", "mobilenet0.25", "mobilenetv2_0.25")


def made(mx: Any, name: str, **kwargs: Any) -> Any:
    """Returns a network, with names as in a fresh start."""
    with mx.name.NameManager():
        return mx.gluon.model_zoo.vision.get_model(name, **kwargs)


def names(net: Any) -> str:
    """Returns a hash of the names of all parameters, and of their places."""
    mine = hasattr(net, "structural_params")
    places = net.structural_params() if mine else net._collect_params_with_prefix()
    text = "\n".join([*net.collect_params().keys(), *(f"{p} {places[p].name}" for p in places)])
    return hashlib.sha1(text.encode()).hexdigest()


def shapes(net: Any) -> str:
    """Returns a hash of the shapes of all parameters."""
    text = "\n".join(str(tuple(param.shape)) for param in net.collect_params().values())
    return hashlib.sha1(text.encode()).hexdigest()


def run(mx: Any, name: str) -> dict[str, Any]:
    """Runs a network with numbers that keep its activations within bounds.

    Returns:
        The hashes, and some of the outputs.
    """
    net = made(mx, name)
    found: dict[str, Any] = {"names": names(net)}
    net.initialize(mx.init.Zero())
    size = NETWORKS[name]
    drawn = np.random.RandomState(0).uniform(-1, 1, (1, 3, size, size))
    x = mx.nd.array(drawn.astype(np.float32))
    net(x)  # finds the shapes
    found["shapes"] = shapes(net)
    for seed, param in enumerate(net.collect_params().values()):
        param.set_data(mx.nd.array(_numbers(seed, param.name, param.shape)))
    net.hybridize()
    out = net(x).asnumpy().reshape(-1).astype(np.float64)
    found["outputs"] = [float(f"{one:.7g}") for one in (*out[:4], out.mean(), np.abs(out).max())]
    return found


def _numbers(seed: int, name: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    bound, middle = 0.2, 0.0
    if name.endswith(("gamma", "running_var")):
        middle = 1.0
    elif len(shape) > 1:
        bound = math.sqrt(6 / math.prod(shape[1:]))
    drawn = np.random.RandomState(seed).uniform(middle - bound, middle + bound, shape)
    return drawn.astype(np.float32)
