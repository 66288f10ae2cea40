"""Runs a network that is a file of MXNet's, forward and backward, in one of three frameworks.

    python benchmarks/works/paper.py FRAMEWORK FILE BATCH

hybridnet and MXNet bind the file as it is, PyTorch walks over its nodes. For each line "forward"
or "training" that is read, the network runs once and the seconds are printed; "answer" prints the
outputs' sum of squares for prediction, which all must agree on. Weights are the same for all.
"""

from __future__ import annotations

import ast
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

IMAGE = (3, 224, 224)
LABEL = "softmax_label"

#: What a framework does: predicts, and returns the outputs; computes all gradients.
Side = tuple[Callable[[], Any], Callable[[], None]]


def values(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Values of an input: the same for all frameworks."""
    seed = np.frombuffer(name.encode().ljust(8), np.uint8).sum() + len(name)
    random = np.random.default_rng(int(seed))
    if name.endswith(("gamma", "var")):
        return np.ones(shape, "float32")
    if name.endswith(("beta", "mean", "bias", LABEL)):
        return np.zeros(shape, "float32")
    fan = np.prod(shape[1:])
    scale = 1.0 if name == "data" else np.sqrt(2.0 / fan)
    return (scale * random.standard_normal(shape)).astype("float32")


def bound(framework: Any, path: str, batch: int) -> Side:
    """The network as an executor of hybridnet or MXNet, which have the same functions."""
    net = framework.sym.load(path)
    executor = net.simple_bind(
        framework.cpu(),
        {name: "null" if name in ("data", LABEL) else "write" for name in net.list_arguments()},
        data=(batch, *IMAGE),
    )
    for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
        array[:] = framework.nd.array(values(name, array.shape))

    def predict() -> Any:
        return executor.forward(is_train=False)[0].asnumpy()

    def train() -> None:
        executor.forward(is_train=True)
        executor.backward()
        framework.nd.waitall()

    return predict, train


def walked(path: str, batch: int) -> Side:
    """The network in PyTorch."""
    import torch

    with open(path, encoding="utf-8") as file:
        graph = json.load(file)
    nodes = graph["nodes"]
    shapes = _shapes(path, batch)
    given = {
        node["name"]: torch.from_numpy(values(node["name"], shapes[node["name"]]))
        for node in nodes
        if node["op"] == "null"
    }
    learned = [
        tensor.requires_grad_()
        for name, tensor in given.items()
        if name not in ("data", LABEL) and not name.endswith(("mean", "var"))
    ]

    def run(train: bool) -> Any:
        results: list[Any] = []
        for node in nodes:
            if node["op"] == "null":
                results.append(given[node["name"]])
                continue
            attrs = {key: _literal(value) for key, value in node.get("attrs", {}).items()}
            inputs = [results[number] for number, *_ in node["inputs"]]
            results.append(_OPERATORS[node["op"]](torch.nn.functional, inputs, attrs, train))
        return results[graph["heads"][0][0]]

    def predict() -> Any:
        with torch.inference_mode():
            return torch.softmax(run(False), 1).numpy()

    def train() -> None:
        logits = run(True)
        labels = torch.zeros(batch, dtype=torch.long)
        loss = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
        for tensor in learned:
            tensor.grad = None
        loss.backward()

    return predict, train


def _shapes(path: str, batch: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the inputs; MXNet's files do not hold them, so hybridnet tells."""
    from hybridnet import sym

    net = sym.load(path)
    arguments, _, states = net.infer_shape(data=(batch, *IMAGE))
    names = [*net.list_arguments(), *net.list_auxiliary_states()]
    return dict(zip(names, [*arguments, *states], strict=True))


def _literal(value: str) -> Any:
    try:
        return ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return value


def _pooled(f: Any, inputs: Any, attrs: Any, train: bool) -> Any:
    (x,) = inputs
    if attrs.get("global_pool"):
        return x.mean((2, 3), keepdim=True)
    window = attrs["kernel"], attrs.get("stride", 1), attrs.get("pad", 0)
    full = attrs.get("pooling_convention") == "full"
    if attrs.get("pool_type", "max") == "max":
        return f.max_pool2d(x, *window, ceil_mode=full)
    return f.avg_pool2d(x, *window, ceil_mode=full)


def _convolved(f: Any, inputs: Any, attrs: Any, train: bool) -> Any:
    return f.conv2d(*inputs, stride=attrs.get("stride", 1), padding=attrs.get("pad", 0))


def _normalized(f: Any, inputs: Any, attrs: Any, train: bool) -> Any:
    x, gamma, beta, mean, var = inputs
    return f.batch_norm(x, mean, var, gamma, beta, train, eps=attrs.get("eps", 1e-3))


#: What files leave out where it is usual.
_LRN = {"alpha": 1e-4, "beta": 0.75, "knorm": 2.0}


def _responded(f: Any, inputs: Any, attrs: Any, train: bool) -> Any:
    numbers = [attrs.get(key, usual) for key, usual in _LRN.items()]
    return f.local_response_norm(*inputs, attrs["nsize"], *numbers)


def _concatenated(f: Any, inputs: Any, attrs: Any, train: bool) -> Any:
    import torch

    return torch.cat(inputs, attrs.get("dim", 1))


_OPERATORS: dict[str, Callable[..., Any]] = {
    "Activation": lambda f, inputs, attrs, train: f.relu(*inputs),
    "BatchNorm": _normalized,
    "Concat": _concatenated,
    "Convolution": _convolved,
    "Dropout": lambda f, inputs, attrs, train: f.dropout(*inputs, attrs.get("p", 0.5), train),
    "Flatten": lambda f, inputs, attrs, train: inputs[0].flatten(1),
    "FullyConnected": lambda f, inputs, attrs, train: f.linear(inputs[0].flatten(1), *inputs[1:]),
    "LRN": _responded,
    "Pooling": _pooled,
    # The loss is of its input; see `walked`.
    "SoftmaxOutput": lambda f, inputs, attrs, train: inputs[0],
    "elemwise_add": lambda f, inputs, attrs, train: inputs[0] + inputs[1],
}


def side(framework: str, path: str, batch: int) -> Side:
    """Makes a network in a framework.

    Args:
        framework: 'hybridnet', 'mxnet' or 'torch'.
        path: the network's file.
        batch: images.
    """
    if framework == "torch":
        return walked(path, batch)
    if framework == "mxnet":
        import mxnet

        return bound(mxnet, path, batch)
    import hybridnet

    return bound(hybridnet, path, batch)


def main() -> None:
    framework, path, batch = sys.argv[1:]
    predict, train = side(framework, path, int(batch))
    for line in sys.stdin:
        begun = time.perf_counter()
        if line.strip() == "answer":
            print(float(np.square(predict()).sum()), flush=True)
            continue
        {"forward": predict, "training": train}[line.strip()]()
        print(time.perf_counter() - begun, flush=True)


if __name__ == "__main__":
    main()
