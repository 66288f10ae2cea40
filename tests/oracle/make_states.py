"""Records optimizer states as MXNet 1.9.1 writes them, and where training ends that goes on.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_states.py

It writes `mxnet_states.json` beside it: for each optimizer what `Updater.get_states` returned after
three steps, with and without the optimizer, the weights then, and those after two more steps;
pickles of an array, a symbol and others; and what a trainer of several layers saved.
"""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np

HERE = Path(__file__).resolve().parent
OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("sgd", {"momentum": 0.9}),
    ("sgd", {"momentum": 0.9, "multi_precision": True}),
    ("adam", {"multi_precision": True}),
    ("rmsprop", {"centered": True}),
    ("nadam", {}),
    ("dcasgd", {}),
    ("lars", {"momentum": 0.9}),
    ("lbsgd", {"momentum": 0.9, "batch_scale": 2}),
]


def run(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Trains a weight; returns the case."""
    dtype = "float16" if "multi_precision" in settings else "float32"
    random = np.random.RandomState(1)

    def draw() -> mx.nd.NDArray:
        return mx.nd.array(random.randn(2, 2).round(3), dtype=dtype)

    rates = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1)
    made = mx.optimizer.create(name, learning_rate=0.1, lr_scheduler=rates, **settings)
    updater, weight = mx.optimizer.get_updater(made), draw()
    for _ in range(3):
        updater(0, draw(), weight)
    states = updater.get_states(dump_optimizer=True)
    case = {
        "name": name,
        "dtype": dtype,
        "states": base64.b64encode(states).decode(),
        "without": base64.b64encode(updater.get_states()).decode(),
        "old": base64.b64encode(pickle.dumps(pickle.loads(states), 0)).decode(),
        "before": weight.asnumpy().tolist(),
        "grads": [],
    }
    for _ in range(2):
        grad = draw()
        case["grads"].append(grad.asnumpy().tolist())
        updater(0, grad, weight)
    return {**case, "after": weight.asnumpy().tolist()}


def trained() -> dict[str, object]:
    """Trains layers whose names change places as text; returns a trainer's states in between."""
    random = np.random.RandomState(3)
    layers = [mx.gluon.nn.Dense(2, in_units=2, prefix=f"dense{9 + i}_") for i in range(3)]
    params = mx.gluon.ParameterDict()
    for layer in layers:
        layer.initialize()
        layer.weight.set_data(mx.nd.array(random.randn(2, 2).round(3)))
        params.update(layer.collect_params())
    trainer = mx.gluon.Trainer(params, "adam", {"learning_rate": 0.1})

    def step() -> list[object]:
        x = mx.nd.array(random.randn(4, 2).round(3))
        case["batches"] = [*case["batches"], x.asnumpy().tolist()]
        with mx.autograd.record():
            for layer in layers:
                x = layer(x)
            loss = (x * x).sum()
        loss.backward()
        trainer.step(4)
        return [one.data().asnumpy().tolist() for at in layers for one in (at.weight, at.bias)]

    case: dict[str, Any] = {"batches": []}
    for _ in range(2):
        case["before"] = step()
    trainer.save_states("trainer.states")
    case["states"] = base64.b64encode(Path("trainer.states").read_bytes()).decode()
    case["after"] = step()
    return case


def pickles() -> dict[str, str]:
    """Returns pickles of single objects."""
    made = {
        "array": mx.nd.array([[1, 2], [3, 4]]),
        "rows": mx.nd.sparse.row_sparse_array(([[1.0, 2.0]], [1]), shape=(3, 2)),
        "symbol": mx.sym.relu(mx.sym.var("x"), name="act"),
        "optimizer": mx.optimizer.Adam(learning_rate=0.25, rescale_grad=0.5),
    }
    return {name: base64.b64encode(pickle.dumps(one)).decode() for name, one in made.items()}


if __name__ == "__main__":
    cases = [run(name, settings) for name, settings in OPTIMIZERS]
    whole = {"optimizers": cases, "pickles": pickles(), "trainer": trained()}
    (HERE / "mxnet_states.json").write_text(json.dumps(whole) + "\n")
