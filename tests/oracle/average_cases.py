"""When BatchNorm's running averages move, in MXNet or hybridnet: each case returns its numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Of this data the batch's mean is 3 and 4, so that a first move makes 0.3 and 0.4 of zeros.
_DATA = np.arange(8, dtype=np.float32).reshape(4, 2)


class _World:
    """A layer of gluon, hybridized or not, and the data."""

    def __init__(self, mx: Any, is_hybrid: bool, contrib: bool = False) -> None:
        self.mx = mx
        self.x = mx.nd.array(_DATA)
        layer = mx.gluon.nn.BatchNorm(in_channels=2)
        if contrib:
            layer = mx.gluon.contrib.nn.SyncBatchNorm(in_channels=2, num_devices=1)
        self.layer = layer
        layer.initialize()
        if is_hybrid:
            layer.hybridize()

    def numbers(self) -> list[list[float]]:
        averages = self.layer.running_mean, self.layer.running_var
        return [np.float64(one.data().asnumpy()).round(5).tolist() for one in averages]

    def without_gradients(self) -> None:
        for param in self.layer.collect_params().values():
            param.grad_req = "null"


def _record_alone(world: _World) -> None:
    with world.mx.autograd.record():
        world.layer(world.x)


def _train_mode_alone(world: _World) -> None:
    with world.mx.autograd.train_mode():
        world.layer(world.x)


def _backward(world: _World) -> None:
    with world.mx.autograd.record():
        y = world.layer(world.x)
    y.backward()


def _outside_training(world: _World) -> None:
    with world.mx.autograd.record(train_mode=False):
        y = world.layer(world.x)
    y.backward(train_mode=False)


def _the_second_of_two(world: _World) -> None:
    with world.mx.autograd.record():
        world.layer(world.x)
        y = world.layer(2 * world.x)
    y.backward()


def _both_of_two(world: _World) -> None:
    with world.mx.autograd.record():
        y = world.layer(world.x) + world.layer(2 * world.x)
    y.backward()


def _twice(world: _World) -> None:
    with world.mx.autograd.record():
        y = world.layer(world.x)
    y.backward(retain_graph=True)
    y.backward()


def _grad(world: _World) -> None:
    with world.mx.autograd.record():
        y = world.layer(world.x)
    world.mx.autograd.grad(y, [world.layer.gamma.data()])


def _set_in_between(world: _World) -> None:
    with world.mx.autograd.record():
        y = world.layer(world.x)
    world.layer.running_mean.data()[:] = 5
    y.backward()


def _the_input_has_a_gradient(world: _World) -> None:
    world.without_gradients()
    world.x.attach_grad()
    _backward(world)


def _no_gradient_below(world: _World) -> None:
    world.without_gradients()
    scale = world.mx.nd.ones((2,))
    scale.attach_grad()
    with world.mx.autograd.record():
        y = world.layer(world.x) * scale
    y.backward()


def _the_loss_of_another(world: _World) -> None:
    other = world.mx.gluon.nn.BatchNorm(in_channels=2)
    other.initialize()
    with world.mx.autograd.record():
        world.layer(world.x)
        y = other(world.x)
    y.backward()


_LAYER = (
    _record_alone,
    _train_mode_alone,
    _backward,
    _outside_training,
    _the_second_of_two,
    _both_of_two,
    _twice,
    _grad,
    _set_in_between,
    _the_input_has_a_gradient,
    _no_gradient_below,
    _the_loss_of_another,
)


def _layer(case: Callable[[_World], None], *options: bool) -> Callable[[Any], Any]:
    def run(mx: Any) -> Any:
        world = _World(mx, *options)
        case(world)
        return world.numbers()

    return run


def _executor(grad_req: Any, passes: str, **options: Any) -> Callable[[Any], Any]:
    """A case of an executor, by its passes: t and p forward, in training or not; b backward."""

    def run(mx: Any) -> Any:
        symbol = mx.sym.BatchNorm(mx.sym.var("x"), fix_gamma=False, name="bn", **options)
        top = mx.sym.broadcast_mul(symbol, mx.sym.var("scale", shape=(1, 2)))
        executor = top.simple_bind(mx.cpu(), grad_req=grad_req, x=(4, 2))
        executor.copy_params_from(
            {name: mx.nd.ones(array.shape) for name, array in executor.arg_dict.items()},
            {name: mx.nd.zeros((2,)) for name in executor.aux_dict},
        )
        executor.arg_dict["x"][:] = _DATA
        for each in passes:
            if each == "b":
                executor.backward(mx.nd.ones((4, 2)))
            else:
                executor.forward(is_train=each == "t")
        mx.nd.waitall()  # MXNet's executors let who reads the states be first
        arrays = [executor.aux_dict[f"bn_moving_{name}"] for name in ("mean", "var")]
        return [np.float64(array.asnumpy()).round(5).tolist() for array in arrays]

    return run


def _module(has_backward: bool) -> Callable[[Any], Any]:
    def run(mx: Any) -> Any:
        symbol = mx.sym.BatchNorm(mx.sym.var("data"), fix_gamma=False, name="bn")
        module = mx.mod.Module(symbol, label_names=None)
        module.bind([("data", (4, 2))])
        module.init_params()
        batch = mx.io.DataBatch([mx.nd.array(_DATA)], None)
        for _ in range(2):
            module.forward(batch, is_train=True)
            if has_backward:
                module.backward([mx.nd.ones((4, 2))])
        mx.nd.waitall()
        module.forward(batch, is_train=False)  # which shows the averages
        return np.float64(module.get_outputs()[0].asnumpy()).round(5).tolist()

    return run


def _loop(mx: Any) -> Any:
    """Each turn of a loop has a backward pass of its own."""
    mean, var, gamma, beta = (mx.nd.full((2,), number) for number in (0, 1, 1, 0))
    gamma.attach_grad()

    def body(x: Any, states: Any) -> Any:
        return mx.nd.BatchNorm(x, gamma, beta, mean, var, fix_gamma=False), states

    with mx.autograd.record():
        outputs, _ = mx.nd.contrib.foreach(body, mx.nd.array([_DATA, 2 * _DATA]), [])
    outputs.backward()
    return [np.float64(one.asnumpy()).round(5).tolist() for one in (mean, var)]


_SOME = {"x": "null", "bn_gamma": "null", "bn_beta": "null", "scale": "write"}

#: Name -> the case.
CASES: dict[str, Callable[[Any], Any]] = {
    **{f"eager{case.__name__}": _layer(case, False) for case in _LAYER},
    **{f"hybridized{case.__name__}": _layer(case, True) for case in _LAYER},
    **{f"sync{case.__name__}": _layer(case, False, True) for case in _LAYER},
    **{f"executor_{each}": _executor("write", each) for each in ("t", "tb", "tbb", "pt", "ttb")},
    "executor_add": _executor("add", "tb"),
    "executor_null": _executor("null", "t"),
    "executor_null_below": _executor(_SOME, "tb"),
    "executor_global": _executor("write", "tb", use_global_stats=True),
    "executor_momentum": _executor("write", "tb", momentum=0.5),
    "module_forward": _module(False),
    "module": _module(True),
    "loop": _loop,
}
