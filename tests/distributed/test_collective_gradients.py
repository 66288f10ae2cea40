"""Gradients of collective calls of real processes, eager and in graphs, against differences.

The loss is the sum of the losses of all processes; each is a sum of what a call gives, with weights
of its own, so that it matters who has the gradient of what.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gangs import await_end, start_gang

from hybridnet import autograd, distributed, nd

#: Calls by name: of the functions' names, with their arguments, as scripts write them.
CALLS = {
    **{f"all_reduce {op}": f"dist.all_reduce(x, '{op}')" for op in ("sum", "mean", "prod")},
    **{f"all_reduce {op}": f"dist.all_reduce(x, '{op}')" for op in ("min", "max")},
    **{f"reduce_scatter {op}": f"dist.reduce_scatter(x, '{op}')" for op in ("sum", "mean")},
    **{f"reduce_scatter {op}": f"dist.reduce_scatter(x, '{op}')" for op in ("prod", "max")},
    **{f"all_gather {axis}": f"dist.all_gather(x, {axis})" for axis in (0, 1)},
    **{f"broadcast {root}": f"dist.broadcast(x, {root})" for root in (0, 1)},
    "chained": "dist.all_reduce(dist.all_gather(x * x, 1) + dist.all_gather(x, 1), 'mean')",
}
_GRADIENTS = f"""
    import os
    import numpy as np
    import hybridnet as hn
    from hybridnet import autograd, distributed as dist, gluon, nd

    dist.initialize()
    me, size, made = dist.rank(), dist.size(), {{}}

    def given(shape=None, seed=0):
        drawn = np.random.RandomState(10 * seed + me).uniform(-2, 2, shape or (size * 2, 3))
        return nd.array(np.round(drawn * 4) / 4, dtype="float64")

    def weights(y):
        return given(y.shape, 5)

    def gradient(call):
        x = given()
        x.attach_grad()
        with autograd.record():
            y = call(x)
            loss = (y * weights(y)).sum()
        loss.backward()
        return x.grad

    def inside(call):
        # The backward pass is part of the traced function.
        @hn.function
        def whole(x, w):
            x = x.copy()
            x.attach_grad()
            with autograd.record():
                loss = (call(x) * w).sum()
            loss.backward()
            return x.grad

        return whole(given(), weights(call(given())))

    class Block(gluon.HybridBlock):
        def __init__(self, call):
            super().__init__()
            self.call = call

        def forward(self, x):
            return self.call(x)

    for name, text in {CALLS!r}.items():
        call = eval("lambda x: " + text)
        made["eager " + name] = gradient(call)
        made["traced " + name] = gradient(hn.function(call))
        made["inside " + name] = inside(call)
        block = Block(call)
        block.hybridize()
        made["hybridized " + name] = gradient(block)
"""
_ORDER = """
    # In a trace every call is made, once and in its place, whatever is read of it.
    calls = dist.gang.current()._agreement.calls

    @hn.function
    def several(x):
        first, second = dist.all_reduce(x), dist.all_reduce(x)
        dist.all_reduce(x + 1, "max")
        hn.print("between")
        third = dist.broadcast(x, 1)
        return second + third

    for step in range(3):
        nd.waitall()
        before = calls.count
        made["several"] = several(given()) + dist.all_reduce(given())
        made["several"].wait_to_read()
        assert calls.count == before + 5, calls.count - before
    texts = [calls.own(number).what for number in range(calls.count - 4, calls.count + 1)]
    kinds = [text.partition(" of ")[0] for text in texts]
    assert kinds == [
        "all_reduce(sum)", "all_reduce(sum)", "all_reduce(max)", "broadcast(root=1)",
        "all_reduce(sum)",
    ], kinds

    # In loops and branches, lists, gradients of gradients, and NumPy's arrays.
    @hn.function
    def looped(x):
        total = x
        for i in range(3):
            total, = dist.all_reduce([total], "mean")
        # (Python 3.11 keeps no source of what is given by -c, of which a loop could be made.)
        _, (_, total) = nd.contrib.while_loop(
            lambda i, total: i < 2,
            lambda i, total: ([], (i + 1, total + dist.all_reduce(x) * 0.5)),
            (nd.zeros((1,)), total),
            max_iterations=2,
        )
        return total

    made["loop"] = gradient(looped)
    made["loop value"] = looped(given())
    x = given()
    x.attach_grad()
    with autograd.record():
        y = (dist.all_reduce(x * x) * weights(x)).sum()
        (slope,) = autograd.grad(y, [x], create_graph=True)
        again = (slope * slope).sum()
    again.backward()
    made["second"] = x.grad
    x, whole = given(), nd.array([[1, 2]], dtype="int32")
    x.attach_grad()
    with autograd.record():
        pair = dist.all_reduce([x, whole])
        (pair[0] * pair[1].astype("float64").sum()).sum().backward()
    made["pair"] = x.grad
    with hn.util.np_shape(), hn.util.np_array():
        x = hn.np.array(1.5 + me)
        x.attach_grad()
        with autograd.record():
            y = dist.all_reduce(x, "max") * (2.0 + me)
        y.backward()
        made["scalar"] = x.grad.reshape(1).as_nd_ndarray()
    np.savez(os.environ["OUT"].format(me), **{key: x.asnumpy() for key, x in made.items()})
"""


def run_gang(script: str, size: int, folder: Path) -> list[dict[str, Any]]:
    """Returns what each rank has made."""
    out = str(folder / "{}.npz")
    for ended in await_end(start_gang(script, size, OUT=out)):
        assert ended.status == 0, ended.err
    return [dict(np.load(Path(out.format(rank)))) for rank in range(size)]


@pytest.fixture(scope="module", params=[2, 3])
def made(request, tmp_path_factory) -> list[dict[str, Any]]:
    """What each rank has made."""
    return run_gang(_GRADIENTS + _ORDER, request.param, tmp_path_factory.mktemp("gang"))


def given(size: int, shape: tuple[int, ...] | None = None, seed: int = 0) -> list[Any]:
    """Returns what the ranks have given."""
    drawn = [
        np.random.RandomState(10 * seed + rank).uniform(-2, 2, shape or (size * 2, 3))
        for rank in range(size)
    ]
    return [np.round(one * 4) / 4 for one in drawn]


_REDUCTIONS = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "min": np.min, "max": np.max}


def computed(name: str, xs: list[Any]) -> list[Any]:
    """Returns what a call gives to each rank, by NumPy."""
    call, _, how = name.partition(" ")
    if call == "broadcast":
        return [xs[int(how)]] * len(xs)
    if call == "all_gather":
        return [np.concatenate(xs, int(how))] * len(xs)
    if call == "chained":
        gathered = np.concatenate([x * x + x for x in xs], 1)
        return [gathered] * len(xs)
    whole = _REDUCTIONS[how](np.array(xs), 0)
    return [whole] * len(xs) if call == "all_reduce" else np.split(whole, len(xs))


def slopes(loss: Any, xs: list[Any], step: float = 1e-4) -> list[Any]:
    """Returns the gradient of a function of the arrays of all ranks, by differences."""
    found = [np.zeros_like(x) for x in xs]
    for rank, x in enumerate(xs):
        for place in np.ndindex(x.shape):
            ends = []
            for change in (step, -step):
                moved = [one.copy() for one in xs]
                moved[rank][place] += change
                ends.append(loss(moved))
            found[rank][place] = (ends[0] - ends[1]) / (2 * step)
    return found


def total_loss(name: str, xs: list[Any]) -> float:
    """Returns the sum of the losses of all ranks."""
    ys = computed(name, xs)
    ws = given(len(xs), ys[0].shape, 5)
    return sum(float((y * w).sum()) for y, w in zip(ys, ws, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["eager", "traced", "inside", "hybridized"])
@pytest.mark.parametrize("name", sorted(CALLS))
def test_gradients_are_those_of_the_losses_of_all(made, name, how):
    # (Of equal extremes the gradient is shared, which is what differences to both sides give.)
    wanted = slopes(partial(total_loss, name), given(len(made)))
    for mine, want in zip(made, wanted, strict=True):
        np.testing.assert_allclose(mine[f"{how} {name}"], want, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_in_a_trace_calls_are_made_in_order_and_once(made):
    xs = given(len(made))
    for mine in made:
        np.testing.assert_allclose(mine["several"], 2 * np.sum(xs, 0) + xs[1], rtol=1e-12)


@pytest.mark.slow
def test_loops_of_calls(made):
    xs, size = given(len(made)), len(made)
    ws = given(size, xs[0].shape, 5)
    for mine in made:
        np.testing.assert_allclose(mine["loop value"], np.mean(xs, 0) + np.sum(xs, 0), rtol=1e-12)
        want = np.mean(ws, 0) + np.sum(ws, 0)
        np.testing.assert_allclose(mine["loop"], want, rtol=1e-12)


@pytest.mark.slow
def test_gradients_of_gradients_lists_and_scalars(made):
    xs, size = given(len(made)), len(made)
    total = np.sum(given(size, xs[0].shape, 5), 0)
    for rank, mine in enumerate(made):
        np.testing.assert_allclose(mine["second"], 8 * total**2 * xs[rank], rtol=1e-12)
        np.testing.assert_allclose(mine["pair"], np.full(xs[0].shape, 3 * size**2))
        wanted = sum(2 + one for one in range(size)) if rank == size - 1 else 0
        np.testing.assert_allclose(mine["scalar"], wanted)


def test_in_a_process_on_its_own_gradients_pass():
    x = nd.array([[1.0, 2.0], [3.0, 4.0]])
    x.attach_grad()
    with autograd.record():
        y = distributed.all_reduce(x, "max") * distributed.all_gather(x, 1)
        y = distributed.reduce_scatter(y, "mean") + distributed.broadcast(x)
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * x.asnumpy() + 1)


_TRAIN = """
    import os
    import numpy as np
    import hybridnet as hn
    from hybridnet import autograd, distributed as dist, gluon, nd

    dist.initialize()
    me, size = dist.rank(), dist.size()

    def network():
        hn.random.seed(3)
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(8, activation="tanh", in_units=5), gluon.nn.Dense(1, in_units=8))
        net.initialize(hn.init.Xavier())
        net.cast("float64")
        return net

    def batch(step):
        draw = np.random.default_rng(step)
        x, y = draw.normal(size=(12, 5)), draw.normal(size=(12, 1))
        mine = slice(me * 12 // size, (me + 1) * 12 // size)
        return nd.array(x[mine], dtype="float64"), nd.array(y[mine], dtype="float64")

    # The whole step is one function: forward, backward, the mean of all gradients, the update.
    net = network()
    weights = [param.data() for param in net.collect_params().values()]

    @hn.function
    def step(x, y):
        with autograd.record():
            loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        grads = dist.all_reduce([weight.grad for weight in weights], "mean")
        for weight, grad in zip(weights, grads):
            weight -= 0.1 * grad
        return dist.all_reduce(loss, "mean")

    losses = [step(*batch(number)).asscalar() for number in range(6)]
    # And with the loss of all as the loss: the gradients are those of `size` such losses.
    net = network()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore=None)
    others = []
    for number in range(6):
        x, y = batch(number)
        with autograd.record():
            error = ((net(x) - y) ** 2).mean()
            loss = dist.all_reduce(error, "mean")
        loss.backward()
        for param in net.collect_params().values():
            param.grad()[:] = dist.all_reduce(param.grad())
        trainer.step(size)
        others.append(loss.asscalar())
    np.savez(os.environ["OUT"].format(me), one=losses, two=others)
"""


@pytest.mark.slow
def test_a_loop_written_by_hand_trains_as_one_process_on_the_whole_batch(tmp_path):
    wanted = run_gang(_TRAIN, 1, tmp_path)[0]
    np.testing.assert_allclose(wanted["two"], wanted["one"], rtol=1e-12)
    for size in (2, 3):
        for mine in run_gang(_TRAIN, size, tmp_path):
            np.testing.assert_allclose(mine["one"], wanted["one"], rtol=1e-12)
            np.testing.assert_allclose(mine["two"], wanted["one"], rtol=1e-12)
