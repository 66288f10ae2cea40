"""Training and predicting with modules, of MXNet or of hybridnet: each case returns its numbers."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

#: Rows, inputs and classes of the data.
ROWS, INPUTS, CLASSES = 22, 5, 3


def _data() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(3)
    x = random.uniform(-1, 1, (ROWS, INPUTS)).astype(np.float32)
    return x, (np.abs(x).argmax(axis=1) % CLASSES).astype(np.float32)


def _iterator(mx: Any, batch_size: int = 5) -> Any:
    x, y = _data()
    return mx.io.NDArrayIter(mx.nd.array(x), mx.nd.array(y), batch_size)


def _network(mx: Any) -> Any:
    h = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc1")
    h = mx.sym.BatchNorm(h, fix_gamma=False, name="bn")
    h = mx.sym.Activation(h, act_type="tanh", name="act")
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(h, num_hidden=CLASSES, name="fc2"), name="softmax"
    )


def _weights(mx: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    random = np.random.RandomState(5)
    shapes = {
        "fc1_weight": (6, INPUTS),
        "fc1_bias": (6,),
        "bn_gamma": (6,),
        "bn_beta": (6,),
        "fc2_weight": (CLASSES, 6),
        "fc2_bias": (CLASSES,),
    }
    args = {
        name: mx.nd.array(random.uniform(0.1, 1, shape).astype(np.float32))
        for name, shape in shapes.items()
    }
    return args, {"bn_moving_mean": mx.nd.zeros((6,)), "bn_moving_var": mx.nd.ones((6,))}


def _numbers(arrays: Any) -> Any:
    if isinstance(arrays, dict):
        return {name: _numbers(value) for name, value in sorted(arrays.items())}
    return np.asarray(arrays.asnumpy(), np.float64).round(7).tolist()


def _fitted(mx: Any, contexts: Any, **options: Any) -> dict[str, Any]:
    """Trains for two passes; returns what comes out of it."""
    module = mx.mod.Module(_network(mx), context=contexts, logger=logging.getLogger("quiet"))
    args, states = _weights(mx)
    seen: list[Any] = []
    module.fit(
        _iterator(mx),
        eval_data=_iterator(mx, 4),
        eval_metric=["acc", "ce"],
        arg_params=args,
        aux_params=states,
        num_epoch=2,
        batch_end_callback=lambda p: seen.append([p.epoch, p.nbatch]),
        eval_end_callback=lambda p: seen.append(["end", p.nbatch]),
        **options,
    )
    args, states = module.get_params()
    scored = module.score(_iterator(mx, 4), ["acc", "ce"])
    return {
        "seen": seen,
        "args": _numbers(args),
        "states": _numbers(states),
        "predicted": _numbers(module.predict(_iterator(mx))),
        "score": [[name, float(value)] for name, value in scored],
        "shapes": [[name, list(shape)] for name, shape in module.output_shapes],
    }


def fit_on_one(mx: Any) -> Any:
    """One device."""
    return _fitted(mx, mx.cpu(), optimizer_params={"learning_rate": 0.3, "momentum": 0.9})


def fit_on_two(mx: Any) -> Any:
    """Two devices with unequal parts of each batch, updated by the store."""
    return _fitted(mx, [mx.cpu(0), mx.cpu(1)], optimizer_params={"learning_rate": 0.3})


def fit_apart(mx: Any) -> Any:
    """Two devices that update their own copies, each alone."""
    # No optimizer that divides by gradients: that of fc1_bias is nothing but rounding.
    settings = {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}
    both = [mx.cpu(0), mx.cpu(1)]
    return _fitted(mx, both, optimizer="sgd", optimizer_params=settings, kvstore=None)


def add_gradients(mx: Any) -> Any:
    """Gradients that are added, of inputs, too, and a fixed parameter."""
    module = mx.mod.Module(_network(mx), context=mx.cpu(), fixed_param_names=["fc1_weight"])
    batch = next(iter(_iterator(mx)))
    module.bind(
        [("data", (5, INPUTS))], [("softmax_label", (5,))], inputs_need_grad=True, grad_req="add"
    )
    module.init_params(arg_params=_weights(mx)[0], aux_params=_weights(mx)[1])
    for _ in range(2):
        module.forward_backward(batch)
    (grad,) = module.get_input_grads()
    executor = module._exec_group.execs[0]
    found = {name: value for name, value in executor.grad_dict.items() if value is not None}
    return {"grads": _numbers(found), "of data": _numbers(grad)}


def a_sequence(mx: Any) -> Any:
    """Two modules one after the other."""
    data = mx.sym.Variable("data")
    first = mx.sym.Activation(
        mx.sym.FullyConnected(data, num_hidden=6, name="fc1"), act_type="tanh", name="act"
    )
    second = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(data, num_hidden=CLASSES, name="fc2"), name="softmax"
    )
    chain = mx.mod.SequentialModule(logger=logging.getLogger("quiet"))
    chain.add(mx.mod.Module(first, label_names=None))
    chain.add(mx.mod.Module(second), take_labels=True, auto_wiring=True)
    args = {name: value for name, value in _weights(mx)[0].items() if name.startswith("fc")}
    iterator = _iterator(mx)
    chain.bind(iterator.provide_data, iterator.provide_label)
    chain.init_params(arg_params=args, aux_params={}, allow_missing=True, allow_extra=True)
    chain.init_optimizer(optimizer_params={"learning_rate": 0.5})
    metric = mx.metric.create("acc")
    for batch in iterator:
        chain.forward_backward(batch)
        chain.update()
        chain.update_metric(metric, batch.label)
    return {"args": _numbers(chain.get_params()[0]), "metric": list(metric.get())}


def buckets(mx: Any) -> Any:
    """Sentences of two lengths."""

    def make(length: int) -> Any:
        data = mx.sym.Variable("data")
        embedded = mx.sym.Embedding(data, input_dim=7, output_dim=4, name="embed")
        pooled = mx.sym.mean(embedded, axis=1)
        out = mx.sym.FullyConnected(pooled, num_hidden=CLASSES)
        return mx.sym.SoftmaxOutput(out, name="softmax"), ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(make, default_bucket_key=6, context=mx.cpu())
    random = np.random.RandomState(1)
    module.bind([("data", (4, 6))], [("softmax_label", (4,))])
    shapes = {"embed_weight": (7, 4), "fullyconnected0_weight": (CLASSES, 4)}
    args = {k: mx.nd.array(random.uniform(-1, 1, shape)) for k, shape in shapes.items()}
    args["fullyconnected0_bias"] = mx.nd.zeros((CLASSES,))
    module.init_params(arg_params=args, aux_params={})
    module.init_optimizer(optimizer_params={"learning_rate": 0.5, "momentum": 0.5})
    outputs = []
    for length in (6, 3, 6, 3):
        batch = mx.io.DataBatch(
            [mx.nd.array(random.randint(0, 7, (4, length)))],
            [mx.nd.array(random.randint(0, CLASSES, (4,)))],
            bucket_key=length,
            provide_data=[("data", (4, length))],
            provide_label=[("softmax_label", (4,))],
        )
        module.forward_backward(batch)
        outputs.append(_numbers(module.get_outputs()[0]))
        module.update()
    return {"args": _numbers(module.get_params()[0]), "outputs": outputs}


def an_old_estimator(mx: Any) -> Any:
    """`FeedForward`, whose states of batch normalization begin as its arguments say."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        args, states = _weights(mx)
        model = mx.model.FeedForward(
            _network(mx), num_epoch=2, learning_rate=0.3, arg_params=args, aux_params=states
        )
    iterator = _iterator(mx)
    model.fit(iterator, logger=logging.getLogger("quiet"))
    outputs, data, label = model.predict(iterator, return_data=True)
    return {
        "args": _numbers(model.arg_params),
        "outputs": np.asarray(outputs, np.float64).round(7).tolist(),
        "rows": [len(data), len(label)],
        "score": float(model.score(iterator)),
    }


#: Name -> the case.
CASES: dict[str, Callable[[Any], Any]] = {
    case.__name__: case
    for case in (
        fit_on_one,
        fit_on_two,
        fit_apart,
        add_gradients,
        a_sequence,
        buckets,
        an_old_estimator,
    )
}
