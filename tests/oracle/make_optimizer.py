"""Records what MXNet 1.9.1's optimizers, schedulers, initializers and metrics give.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_optimizer.py

It writes `optimizer.json` beside it: inputs, settings and answers, so that the tests need nothing
else. `NAG` is run without weight decay only: MXNet's in-place update reads the weight it has just
overwritten there, which no other form of it does.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np

HERE = Path(__file__).resolve().parent
SHAPES = ((2, 3), (4,))
STEPS = 10
COMMON = {"learning_rate": 0.1, "wd": 0.05, "rescale_grad": 0.5, "clip_gradient": 0.6}
NO_DECAY = {**COMMON, "wd": 0.0}
LARGE = {"batch_scale": 3, "warmup_epochs": 2, "updates_per_epoch": 4}
NAMES = {0: "fc_weight", 1: "fc_bias"}

# Name, settings, and what else is to be done: see `run_optimizer`.
OPTIMIZERS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("sgd", {}, {}),
    ("sgd", COMMON, {}),
    ("sgd", {**COMMON, "momentum": 0.9}, {}),
    ("sgd", {"clip_gradient": 0, "learning_rate": 0.1}, {}),
    ("sgd", {**COMMON, "momentum": 0.9, "param_idx2name": NAMES}, {}),
    (
        "sgd",
        {**COMMON, "param_idx2name": NAMES},
        {"lr_mult": {"fc_weight": 0.5}, "wd_mult": {"fc_bias": 2.0}},
    ),
    ("sgd", {"momentum": 0.5}, {"scheduler": ["FactorScheduler", {"step": 3, "factor": 0.5}]}),
    (
        "sgd",
        {"begin_num_update": 5},
        {"scheduler": ["MultiFactorScheduler", {"step": [7, 9], "factor": 0.1, "base_lr": 0.2}]},
    ),
    ("sgd", {**COMMON, "momentum": 0.9, "multi_precision": True}, {"dtype": "float16"}),
    ("nag", NO_DECAY, {}),
    ("nag", {**NO_DECAY, "momentum": 0.9}, {}),
    ("adam", {}, {}),
    ("adam", COMMON, {}),
    ("adam", {**COMMON, "beta1": 0.8, "beta2": 0.9, "epsilon": 0.01}, {}),
    ("adam", {}, {"scheduler": ["PolyScheduler", {"max_update": 8, "base_lr": 0.001}]}),
    ("adam", {**COMMON, "multi_precision": True}, {"dtype": "float16"}),
    ("adagrad", COMMON, {}),
    ("adagrad", {**COMMON, "eps": 0.1}, {}),
    ("adadelta", COMMON, {}),
    ("adadelta", {"rho": 0.5, "epsilon": 0.01}, {}),
    ("rmsprop", COMMON, {}),
    ("rmsprop", {**COMMON, "centered": True, "gamma1": 0.8}, {}),
    ("rmsprop", {**COMMON, "clip_weights": 0.7}, {}),
    ("ftrl", COMMON, {}),
    ("signum", COMMON, {}),
    ("signum", {**COMMON, "momentum": 0}, {}),
    ("signum", {**COMMON, "wd_lh": 0.1}, {}),
    ("test", {"rescale_grad": 0.5}, {}),
    ("adamax", {}, {}),
    ("adamax", COMMON, {}),
    ("nadam", {}, {}),
    ("nadam", {**COMMON, "beta2": 0.9, "schedule_decay": 0.1}, {}),
    ("ftml", {"learning_rate": 0.1}, {}),
    ("ftml", {**COMMON, "beta1": 0.5}, {}),
    ("dcasgd", COMMON, {}),
    ("dcasgd", {**COMMON, "lamda": 0.5}, {}),  # with momentum MXNet's fails
    ("lamb", {}, {}),
    ("lamb", {**COMMON, "bias_correction": False}, {}),
    ("lamb", {**COMMON, "lower_bound": 3.0, "upper_bound": 4.0}, {}),
    ("lars", COMMON, {}),
    ("lars", {**COMMON, "momentum": 0.9, "eta": 0.1, "eps": 0.01}, {}),
    ("lars", {**COMMON, "momentum": 0.9, "eta": 0.1, "param_idx2name": NAMES}, {}),
    (
        "lars",
        {"momentum": 0.9, "eta": 0.1, "learning_rate": 0.1, "momentum_correction": False},
        {"scheduler": ["FactorScheduler", {"step": 3, "factor": 0.5, "base_lr": 0.1}]},
    ),
    ("ccsgd", {**COMMON, "momentum": 0.9}, {}),
    ("groupadagrad", {**NO_DECAY, "eps": 0.1}, {"shapes": [[2, 3], [4, 1]]}),
    ("lbsgd", COMMON, {}),
    ("lbsgd", {**COMMON, "momentum": 0.9, **LARGE}, {}),
    ("lbsgd", {**COMMON, **LARGE, "warmup_strategy": "power2"}, {}),
    ("lbsgd", {**COMMON, **LARGE, "warmup_strategy": "sqrt", "begin_epoch": 1}, {}),
    ("lbsgd", {"momentum": 0.5, "batch_scale": 2, "warmup_strategy": "lars", "wd": 0.1}, {}),
    (
        "lbsgd",
        {**COMMON, "momentum": 0.9, **LARGE, "multi_precision": True},
        {"dtype": "float16"},
    ),
    (
        "lbsgd",
        {"momentum": 0.5, "batch_scale": 2, "warmup_epochs": 0},
        {"scheduler": ["FactorScheduler", {"step": 3, "factor": 0.5}]},
    ),
]

WARMUP = {"warmup_steps": 4, "warmup_begin_lr": 0.01}
SCHEDULERS: list[tuple[str, dict[str, Any]]] = [
    ("FactorScheduler", {"step": 3, "factor": 0.5, "base_lr": 0.1}),
    ("FactorScheduler", {"step": 2, "factor": 0.5, "stop_factor_lr": 0.03, "base_lr": 0.1}),
    ("FactorScheduler", {"step": 3, "factor": 0.5, "base_lr": 0.1, **WARMUP}),
    ("MultiFactorScheduler", {"step": [3, 7], "factor": 0.1, "base_lr": 1.0}),
    ("MultiFactorScheduler", {"step": [2, 7], "factor": 0.1, "base_lr": 1.0, **WARMUP}),
    (
        "MultiFactorScheduler",
        {"step": [5], "factor": 0.1, "base_lr": 1.0, **WARMUP, "warmup_mode": "constant"},
    ),
    ("PolyScheduler", {"max_update": 10, "base_lr": 0.1}),
    ("PolyScheduler", {"max_update": 10, "base_lr": 0.1, "pwr": 1, "final_lr": 0.02, **WARMUP}),
    ("CosineScheduler", {"max_update": 10, "base_lr": 0.1, "final_lr": 0.01}),
    ("CosineScheduler", {"max_update": 10, "base_lr": 0.1, **WARMUP}),
]

METRICS: list[tuple[str, dict[str, Any], str]] = [
    ("acc", {}, "classes"),
    ("acc", {"axis": 0}, "across"),
    ("top_k_acc", {"top_k": 2}, "classes"),
    ("top_k_acc", {"top_k": 3}, "classes"),
    ("ce", {}, "classes"),
    ("nll_loss", {"eps": 0.01}, "classes"),
    ("perplexity", {"ignore_label": None}, "classes"),
    ("perplexity", {"ignore_label": 1}, "classes"),
    ("f1", {}, "binary"),
    ("f1", {"average": "micro"}, "binary"),
    ("mcc", {}, "binary"),
    ("mcc", {"average": "micro"}, "binary"),
    ("mae", {}, "numbers"),
    ("mse", {}, "numbers"),
    ("rmse", {}, "numbers"),
    ("mse", {}, "table"),
    ("loss", {}, "table"),
    ("pearsonr", {}, "numbers"),
    ("pearsonr", {"average": "micro"}, "numbers"),
]

INITIALIZERS: list[tuple[str, dict[str, Any]]] = [
    ("zero", {}),
    ("one", {}),
    ("constant", {"value": 3}),
    ("uniform", {}),
    ("normal", {"sigma": 0.1}),
    ("xavier", {}),
    ("xavier", {"rnd_type": "gaussian", "factor_type": "in", "magnitude": 2}),
    ("msraprelu", {}),
    ("orthogonal", {}),
    ("bilinear", {}),
    ("lstmbias", {"forget_bias": 2.0}),
]
SUFFIXES = ("weight", "bias", "gamma", "beta", "min", "max")


def rounded(array: Any) -> Any:
    """Returns numbers as nested lists with the 9 digits that float32 has at most."""
    flat = [float(f"{one:.9g}") for one in np.asarray(array, np.float64).ravel()]
    return np.array(flat, object).reshape(np.shape(array)).tolist()


def optimizer_inputs() -> dict[str, Any]:
    """Returns the weights and gradients that all optimizers are given."""
    random = np.random.RandomState(0)
    weights = [random.normal(size=shape).astype(np.float32) for shape in SHAPES]
    grads = [
        [random.normal(size=shape).astype(np.float32) for shape in SHAPES] for _ in range(STEPS)
    ]
    return {
        "weights": [rounded(one) for one in weights],
        "grads": [[rounded(one) for one in step] for step in grads],
    }


def run_optimizer(
    name: str, settings: dict[str, Any], extra: dict[str, Any], inputs: dict[str, Any]
) -> dict[str, Any]:
    """Takes the steps; returns the case with the weights after them."""
    keywords = dict(settings)
    if "scheduler" in extra:
        kind, arguments = extra["scheduler"]
        keywords["lr_scheduler"] = getattr(mx.lr_scheduler, kind)(**arguments)
    optimizer = mx.optimizer.create(name, **keywords)
    if "lr_mult" in extra:
        optimizer.set_lr_mult(extra["lr_mult"])
        optimizer.set_wd_mult(extra["wd_mult"])
    updater = mx.optimizer.get_updater(optimizer)
    dtype = extra.get("dtype", "float32")
    shapes = extra.get("shapes", SHAPES)
    weights = [
        mx.nd.array(one, dtype=dtype).reshape(shape)
        for one, shape in zip(inputs["weights"], shapes, strict=True)
    ]
    for step in inputs["grads"]:
        for index, grad in enumerate(step):
            updater(index, mx.nd.array(grad, dtype=dtype).reshape(shapes[index]), weights[index])
    return {
        "name": name,
        "settings": settings,
        **extra,
        "num_update": optimizer.num_update,
        "result": [rounded(one.asnumpy()) for one in weights],
    }


def run_scheduler(kind: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the rates for 0 to 12 updates."""
    scheduler = getattr(mx.lr_scheduler, kind)(**arguments)
    rates = [float(scheduler(n)) for n in range(13)]
    return {"kind": kind, "arguments": arguments, "rates": rates}


def metric_inputs() -> dict[str, Any]:
    """Returns two batches, of different sizes, of labels and predictions of each kind."""
    random = np.random.RandomState(7)

    def scores(batch: int, classes: int) -> np.ndarray:
        raw = np.exp(random.normal(size=(batch, classes)))
        return (raw / raw.sum(1, keepdims=True)).astype(np.float32)

    made: dict[str, list[Any]] = {kind: [] for kind in ("classes", "across", "binary")}
    made |= {"numbers": [], "table": []}
    for batch in (8, 5):
        made["classes"].append((random.randint(0, 4, batch), scores(batch, 4)))
        made["across"].append((random.randint(0, batch, 4), scores(batch, 4)))
        made["binary"].append((random.randint(0, 2, batch), scores(batch, 2)))
        made["numbers"].append((random.normal(size=batch), random.normal(size=batch)))
        made["table"].append((random.normal(size=(batch, 2)), random.normal(size=(batch, 2))))
    return {
        kind: [[rounded(np.float32(one)) for one in pair] for pair in batches]
        for kind, batches in made.items()
    }


def run_metric(
    name: str, settings: dict[str, Any], kind: str, inputs: dict[str, Any]
) -> dict[str, Any]:
    """Returns the value of each batch alone, that of both, and the global value.

    MXNet's micro-averaged correlation heeds no `reset_local`, so only that of both is taken.
    """
    metric = mx.metric.create(name, **settings)
    values = []
    for labels, preds in inputs[kind]:
        metric.reset_local()
        metric.update([mx.nd.array(labels)], [mx.nd.array(preds)])
        values.append(float(metric.get()[1]))
    whole = name == "pearsonr" and settings.get("average") == "micro"
    again = mx.metric.create(name, **settings)
    for labels, preds in inputs[kind]:
        again.update([mx.nd.array(labels)], [mx.nd.array(preds)])
    return {
        "name": name,
        "settings": settings,
        "kind": kind,
        "shown": metric.get()[0],
        "each": None if whole else values,
        "both": float(again.get()[1]),
        "global": None if whole else float(metric.get_global()[1]),
    }


def initializers() -> dict[str, Any]:
    """Returns JSON forms, what `Constant` makes of names, and the two fixed patterns."""
    by_name = {}
    for suffix in SUFFIXES:
        array = mx.nd.ones((2, 2)) * -5
        mx.init.Constant(9)(mx.init.InitDesc(f"x_{suffix}"), array)
        by_name[f"x_{suffix}"] = float(array[0, 0].asscalar())
    bilinear = mx.nd.zeros((2, 1, 4, 4))
    mx.init.Bilinear()(mx.init.InitDesc("up_weight"), bilinear)
    odd = mx.nd.zeros((1, 1, 3, 3))
    mx.init.Bilinear()(mx.init.InitDesc("up_weight"), odd)
    bias = mx.nd.ones((8,))
    own = {"__init__": mx.init.LSTMBias(2.0).dumps()}
    mx.init.Zero()(mx.init.InitDesc("lstm_bias", own), bias)
    return {
        "dumps": [
            [name, settings, mx.initializer.create(name, **settings).dumps()]
            for name, settings in INITIALIZERS
        ],
        "by_name": by_name,
        "bilinear": [rounded(one.asnumpy()) for one in (bilinear, odd)],
        "lstm_bias": rounded(bias.asnumpy()),
    }


def main() -> None:
    inputs = optimizer_inputs()
    batches = metric_inputs()
    answer = {
        "mxnet": mx.__version__,
        "inputs": inputs,
        "optimizers": [run_optimizer(*case, inputs) for case in OPTIMIZERS],
        "schedulers": [run_scheduler(*case) for case in SCHEDULERS],
        "batches": batches,
        "metrics": [run_metric(*case, batches) for case in METRICS],
        "initializers": initializers(),
    }
    (HERE / "optimizer.json").write_text(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
