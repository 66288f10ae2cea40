"""Collective calls of two real processes, against NumPy; and of a process on its own."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gangs import await_end, start_gang

import hybridnet as hn
from hybridnet import distributed, kv, nd
from hybridnet.base.errors import DTypeError, MXNetError, ParameterError, ShapeError

_CALLS = """
    import os
    import numpy as np
    import hybridnet as hn
    from hybridnet import autograd, distributed as dist, gluon, kv, nd

    dist.initialize()
    me, made = dist.rank(), {}
    assert (dist.size(), dist.local_rank(), dist.is_initialized()) == (2, me, True)

    def given(shape, dtype, seed=0):
        drawn = np.random.RandomState(10 * seed + me).uniform(-4, 4, shape)
        return nd.array(drawn > 0 if dtype == "bool" else drawn, dtype=dtype)

    for dtype in ("float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8", "int8"):
        for op in ("sum", "prod", "min", "max"):
            made[f"{op} {dtype}"] = dist.all_reduce(given((2, 3), dtype), op).astype("float64")
    made["mean"] = dist.all_reduce(given((2, 3), "float32"), "mean")
    for op in ("min", "max"):
        made[f"{op} bool"] = dist.all_reduce(given((2, 3), "bool"), op).astype("float64")
    pair = dist.all_reduce([given((4,), "float32"), given((2, 2), "int32", 1)])
    made["first of two"], made["second of two"] = pair
    for root in range(2):
        odd = nd.array([[-0.0, float("nan")], [float("inf"), me]])
        made[f"broadcast {root}"] = dist.broadcast(odd, root)
    for op in ("sum", "mean", "max"):
        made[f"scatter {op}"] = dist.reduce_scatter(given((4, 3), "float32"), op)
    for axis in (0, 1, -1):
        made[f"gather {axis}"] = dist.all_gather(given((2, 3), "float32"), axis)
    # What is changed afterwards is not what is sent, and results are as any other arrays.
    x = nd.array([1.0 + me])
    total = dist.all_reduce(x)
    x[:] = 100
    total += 1
    made["changed"] = total * 2
    with hn.util.np_shape(), hn.util.np_array():
        one = dist.all_reduce(hn.np.array(1.5 + me))
        assert one.shape == () and type(one) is hn.np.ndarray
        made["no axes"] = one.reshape(1).as_nd_ndarray()
    assert dist.all_reduce(nd.zeros((3,), ctx=hn.cpu(1))).context == hn.cpu(1)
    dist.barrier()

    # Horovod's store, and training by it: the same weights everywhere, of all batches.
    store = kv.create("horovod")
    assert (store.type, store.rank, store.num_workers, store.local_rank) == ("horovod", me, 2, me)
    assert not store.is_capable("optimizer")
    out = nd.zeros((2,))
    store.broadcast("w", nd.array([1.0, 2.0]) + me, out)
    made["store broadcast"] = out.copy()
    there = [nd.array([1.0 + me], ctx=hn.cpu(i)) for i in range(2)]
    store.pushpull(3, there)
    made["store devices"] = there[1].copyto(hn.cpu())
    store.pushpull([0, 1], [x, nd.ones((2,))], out=[[nd.zeros((1,))], out])
    made["store out"] = out

    net = gluon.nn.Dense(1, in_units=3)
    net.initialize(hn.init.Constant(0.5 + me))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore="horovod")
    for step in range(3):
        batch = given((4, 3), "float32", step)
        with autograd.record():
            loss = (net(batch) ** 2).mean()
        loss.backward()
        trainer.step(2)
    made["weight"], made["bias"] = net.weight.data(), net.bias.data()

    # A forked child is no process of the gang.
    child = os.fork()
    if child == 0:
        os._exit(7 if dist.is_initialized() else 0)
    assert os.waitpid(child, 0)[1] == 0
    dist.barrier()
    np.savez(os.environ["OUT"].format(me), **{key: x.asnumpy() for key, x in made.items()})
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each rank has made."""
    out = str(tmp_path_factory.mktemp("gang") / "{}.npz")
    for ended in await_end(start_gang(_CALLS, 2, OUT=out)):
        assert ended.status == 0, ended.err
    return [dict(np.load(Path(out.format(rank)))) for rank in range(2)]


def given(shape: tuple[int, ...], dtype: str, seed: int = 0) -> list[Any]:
    """Returns what the ranks have given."""
    drawn = [np.random.RandomState(10 * seed + rank).uniform(-4, 4, shape) for rank in range(2)]
    if dtype == "bool":
        return [one > 0 for one in drawn]
    return [nd.array(one, dtype=dtype).astype("float64").asnumpy() for one in drawn]


_REDUCTIONS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}


@pytest.mark.slow
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8", "int8"]
)
@pytest.mark.parametrize("op", sorted(_REDUCTIONS))
def test_all_reduce(made, dtype, op):
    want = _REDUCTIONS[op](*given((2, 3), dtype))
    if dtype in ("uint8", "int8"):
        want = want.astype(np.int64).astype(dtype)
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-6)
    for mine in made:
        np.testing.assert_allclose(mine[f"{op} {dtype}"], want, rtol=tolerance, atol=tolerance)


def test_all_reduce_of_others(made):
    for mine in made:
        np.testing.assert_allclose(mine["mean"], np.mean(given((2, 3), "float32"), 0), rtol=1e-6)
        np.testing.assert_array_equal(mine["min bool"], np.all(given((2, 3), "bool"), 0))
        np.testing.assert_array_equal(mine["max bool"], np.any(given((2, 3), "bool"), 0))
        np.testing.assert_allclose(mine["first of two"], sum(given((4,), "float32")), rtol=1e-6)
        np.testing.assert_array_equal(mine["second of two"], sum(given((2, 2), "int32", 1)))
        assert mine["second of two"].dtype == np.int32
        assert mine["changed"] == [8] and mine["no axes"] == [4]


def test_broadcast_keeps_every_bit(made):
    for root in range(2):
        want = np.array([[-0.0, np.nan], [np.inf, root]], np.float32)
        for mine in made:
            assert mine[f"broadcast {root}"].tobytes() == want.tobytes()


def test_reduce_scatter(made):
    parts = given((4, 3), "float32")
    whole = {"sum": np.sum(parts, 0), "mean": np.mean(parts, 0), "max": np.max(parts, 0)}
    for op, want in whole.items():
        for rank, mine in enumerate(made):
            rows = want[2 * rank : 2 * rank + 2]
            np.testing.assert_allclose(mine[f"scatter {op}"], rows, rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_all_gather(made, axis):
    for mine in made:
        want = np.concatenate(given((2, 3), "float32"), axis)
        np.testing.assert_array_equal(mine[f"gather {axis}"], want)


def test_horovods_store(made):
    for mine in made:
        assert mine["store broadcast"].tolist() == [1, 2]
        assert mine["store devices"] == [6]
        assert mine["store out"].tolist() == [2, 2]


def test_training_on_two_processes_is_that_on_all_of_the_data(made):
    net = hn.gluon.nn.Dense(1, in_units=3)
    net.initialize(hn.init.Constant(0.5))
    trainer = hn.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for step in range(3):
        first, second = (nd.array(one) for one in given((4, 3), "float32", step))
        if step == 0:  # its gradient was of what this rank began with, as in MXNet
            other = hn.gluon.nn.Dense(1, in_units=3)
            other.initialize(hn.init.Constant(1.5))
        with hn.autograd.record():
            loss = (net(first) ** 2).mean()
            theirs = (net if step else other)(second)
            loss = loss + (theirs**2).mean()
        loss.backward()
        if step == 0:
            for mine, its in zip(
                net.collect_params().values(), other.collect_params().values(), strict=True
            ):
                mine.grad()[:] += its.grad()
        trainer.step(2)
    for mine in made:
        np.testing.assert_allclose(mine["weight"], net.weight.data().asnumpy(), rtol=1e-5)
        np.testing.assert_allclose(mine["bias"], net.bias.data().asnumpy(), rtol=1e-5)
    assert made[0]["weight"].tobytes() == made[1]["weight"].tobytes()


# -- a process on its own --------------------------------------------------------------------


def test_a_process_on_its_own_is_a_gang_of_one():
    assert not distributed.is_initialized()
    assert (distributed.rank(), distributed.size(), distributed.local_rank()) == (0, 1, 0)
    x = nd.array([[1.0, 2.0], [3.0, 4.0]])
    for found in (
        distributed.all_reduce(x, "prod"),
        distributed.broadcast(x),
        distributed.reduce_scatter(x, "mean"),
        distributed.all_gather(x, axis=-1),
        distributed.all_reduce([x])[0],
    ):
        found += 0  # it is another array
        assert found is not x and found.asnumpy().tolist() == [[1, 2], [3, 4]]
    distributed.barrier()
    distributed.shutdown()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: distributed.all_reduce(x, "avg"), ParameterError, "op must be one of sum, mean"),
        (lambda x: distributed.all_reduce(3.0), ParameterError, "needs dense arrays, got float"),
        (lambda x: distributed.all_reduce([]), ParameterError, "at least one array"),
        (
            lambda x: distributed.all_reduce([x, nd.ones((2,), ctx=hn.cpu(1))]),
            ParameterError,
            r"must be on one device, got cpu\(0\) and cpu\(1\)",
        ),
        (
            lambda x: distributed.all_reduce(x.astype("int32"), "mean"),
            DTypeError,
            "needs numbers with fractions, got int32",
        ),
        (lambda x: distributed.all_reduce(x > 0), None, ""),
        (
            lambda x: distributed.all_reduce(x.astype("bool")),
            DTypeError,
            "booleans can be reduced by min and max",
        ),
        (
            lambda x: distributed.all_reduce(x.as_in_context(hn.Mesh({"data": 1}))),
            ParameterError,
            r"needs arrays on a device, got one on Mesh\(data=1\)",
        ),
        (lambda x: distributed.broadcast(x, 1), ParameterError, "a rank from 0 to 0, got 1"),
        (lambda x: distributed.all_gather(x, 2), ShapeError, "the array's, which has 2, got 2"),
        (
            lambda x: distributed.all_reduce(x.tostype("row_sparse")),
            ParameterError,
            "got one of storage 'row_sparse'",
        ),
    ],
)
def test_what_cannot_be_called_is_refused_at_once(call, error, message):
    x = nd.ones((2, 3))
    if error is None:
        call(x)
        return
    with pytest.raises(error, match=message):
        call(x)


def test_a_gang_begins_before_anything_is_computed(monkeypatch):
    nd.ones((2,)).to_jax()
    with pytest.raises(MXNetError, match="before anything is computed"):
        distributed.initialize("127.0.0.1:1", 2, 0)
    assert not distributed.is_initialized()


def test_a_store_of_horovods_on_its_own():
    store = kv.create("horovod")
    x = nd.array([1.0, 2.0])
    store.pushpull(0, [x, nd.ones((2,), ctx=hn.cpu(1))])
    assert x.asnumpy().tolist() == [2, 3]
    with pytest.raises(ParameterError, match="2 keys need as many values"):
        store.pushpull([0, 1], [x])


@pytest.mark.slow
def test_a_rank_reads_programs_of_others_from_disk(tmp_path):
    script = """
        import hybridnet as hn
        from hybridnet import distributed as dist, nd
        from hybridnet.runtime.programs.cache import cache
        dist.initialize()
        x = nd.ones((40, 40)) * (1 + dist.rank())
        for _ in range(3):
            y = nd.dot(x, nd.tanh(x) + x)
            y.wait_to_read()
        print(round(float(y.asnumpy()[7, 9]), 2), cache.statistics().loaded > 0)
    """
    environ = {"HYBRIDNET_CACHE_DIR": str(tmp_path), "HYBRIDNET_HOST": "off"}
    environ["HYBRIDNET_DETERMINISTIC"] = "1"
    # XLA numbers devices over all processes; which of the two wrote a program is chance.
    for _ in range(2):
        ended = await_end(start_gang(script, 2, **environ))
        assert [one.status for one in ended] == [0, 0], [one.err for one in ended]
    results = [round(40 * x * (math.tanh(x) + x), 2) for x in (1, 2)]
    assert {one.out.strip() for one in ended} == {f"{y} True" for y in results}
