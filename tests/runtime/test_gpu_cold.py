"""What is cold is computed by NumPy on GPUs, too, and stays in host memory until XLA reads it.

The GPU is a virtual one (`virtual_gpu`): what goes to it and comes back is copied and counted.
"""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
from helpers import heat, settle
from hypothesis import given
from hypothesis import strategies as st

import hybridnet as hn
from hybridnet import autograd, gluon, nd, sym
from hybridnet.base.host_array import HostArray
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.record import recorder
from hybridnet.runtime.tiers.prices import prices

LARGE = prices.stays // 4 + 1  # elements of float32


def held(x):
    """What an array is in: an array of JAX's on the card, or what is in host memory."""
    return recorder.wait(x.read())


def ten(n):
    a = nd.ones((n, 17))
    b = a * 2 + 1
    c = nd.relu(b - a)
    d = nd.softmax(c)
    e = nd.sum(d * c, axis=1)
    f = nd.exp(-e)
    g = nd.concat(a, b, dim=1)
    return nd.dot(g, g.T)[0, 0].asscalar(), f.mean().asscalar()


def test_new_shapes_compile_nothing_and_move_nothing(card):
    with hn.gpu(0):
        ten(3)
        before = cache.statistics().compilations
        card.count()
        for n in range(201, 221):
            dot, mean = ten(n)
            assert dot == 17 + 17 * 9
            assert mean == pytest.approx(np.exp(-2.0))
    assert cache.statistics().compilations == before
    assert card.is_still(), card.moved


def test_explain_says_where(card):
    a = nd.ones((2, 3), ctx=hn.gpu(0))
    with hn.runtime.explaining() as seen:
        (nd.relu(a) + 1).asnumpy()
    assert "2 operators on gpu(0): run one by one, 2 of them by NumPy, on the host" in str(seen)


def test_what_is_large_goes_to_the_card_at_once(card):
    card.count()
    x = nd.array(np.arange(LARGE), ctx=hn.gpu(0))
    assert type(held(x)) is not HostArray
    assert (card.moved.puts, card.moved.put_bytes) == (1, 4 * LARGE)
    assert type(held(nd.array(np.arange(LARGE - 1), ctx=hn.gpu(0)))) is HostArray
    before = cache.statistics().compilations
    y = x + 1
    assert type(held(y)) is not HostArray
    assert cache.statistics().compilations == before + 1
    assert card.moved.fetches == 0
    np.testing.assert_array_equal(y.asnumpy(), np.arange(LARGE, dtype=np.float32) + 1)
    assert card.moved.fetches == 1


def test_what_was_fetched_is_fetched_once(card):
    y = nd.array(np.arange(LARGE), ctx=hn.gpu(0)) * 2
    y.wait_to_read()
    card.count()
    for _ in range(3):
        assert y.asnumpy()[3] == 6
    y.as_in_context(hn.cpu(0))
    assert (card.moved.fetches, card.moved.puts) == (1, 0)


def test_a_small_result_of_the_card_is_fetched_for_what_numpy_computes_once(card):
    total = nd.array(np.ones(LARGE), ctx=hn.gpu(0)).sum()
    assert type(held(total)) is not HostArray
    card.count()
    assert (total + 1).asscalar() == LARGE + 1
    assert (total * 2).asscalar() == 2 * LARGE
    assert total.asscalar() == LARGE
    assert (card.moved.fetches, card.moved.puts) == (1, 0)


def test_what_was_put_need_not_be_fetched(card):
    x = nd.array([1, 2, 3], ctx=hn.gpu(0))
    x.to_jax()  # now it is on the card
    y = nd.array([1, 2, 3], ctx=hn.gpu(0))
    placed = recorder.ready_array(y.read())
    card.count()
    np.testing.assert_array_equal((y + 1).asnumpy(), [2, 3, 4])
    np.testing.assert_array_equal(y.asnumpy(), placed)
    assert card.is_still(), card.moved


def test_a_written_array_never_shows_its_old_copy(card):
    x = nd.array([1, 2, 3], ctx=hn.gpu(0))
    view = x[1:]
    recorder.ready_array(x.read())
    x.asnumpy()
    x[:] = 7
    assert x.asnumpy().tolist() == [7, 7, 7] and view.asnumpy().tolist() == [7, 7]
    view[:] = nd.array([8, 9], ctx=hn.gpu(0))
    assert x.asnumpy().tolist() == [7, 8, 9]
    x += 1
    x.wait_to_read()
    assert view.asnumpy().tolist() == [9, 10]


def test_memory_that_is_lent_is_on_the_card(card):
    x = nd.array([1, 2, 3], ctx=hn.gpu(0))
    assert type(held(x)) is HostArray
    x.to_dlpack_for_read()
    assert type(held(x)) is not HostArray
    y = x + 1
    x[:] = 0
    assert y.asnumpy().tolist() == [2, 3, 4] and x.asnumpy().tolist() == [0, 0, 0]


def test_what_jax_gets_is_on_the_card(card):
    x = nd.array([1, 2, 3], ctx=hn.gpu(0)) + 1
    (device,) = x.to_jax().devices()
    assert device.id == 1


def test_pickles_and_copies(card):
    x = nd.array([[1, 2], [3, 4]], ctx=hn.gpu(0)) * 2
    again = pickle.loads(pickle.dumps(x))
    assert again.context is hn.gpu(0)
    card.count()
    on_cpu = x.as_in_context(hn.cpu(0))
    back = on_cpu.as_in_context(hn.gpu(0))
    for one in (again, on_cpu, back):
        np.testing.assert_array_equal(one.asnumpy(), [[2, 4], [6, 8]])
    assert card.is_still(), card.moved
    on_cpu[:] = 0
    np.testing.assert_array_equal(x.asnumpy(), [[2, 4], [6, 8]])


def test_a_graph_that_gives_an_input_twice_copies_it(card):
    a = sym.var("a")
    for x in (nd.array([1, 2], ctx=hn.gpu(0)), nd.array(np.ones(LARGE), ctx=hn.gpu(0))):
        executor = sym.Group([sym.identity(a), sym.identity(a), a + 1]).bind(hn.gpu(0), {"a": x})
        first, second, _ = executor.forward()
        kept = x[:2].asnumpy().tolist()
        first[:] = 5
        assert second[:2].asnumpy().tolist() == kept and x[:2].asnumpy().tolist() == kept


def _trainer(ctx):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(16, activation="relu", in_units=8), gluon.nn.Dense(4, in_units=16))
    net.initialize(hn.init.Xavier(), ctx=ctx)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    return net, trainer


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_hot_loop_moves_nothing(card, hybridize):
    ctx = hn.gpu(0)
    net, trainer = _trainer(ctx)
    if hybridize:
        net.hybridize()
    rng = np.random.default_rng(0)
    x = nd.array(rng.normal(size=(6, 8)), ctx=ctx)
    y = nd.array(rng.normal(size=(6, 4)), ctx=ctx)
    l2 = gluon.loss.L2Loss()

    def step():
        with autograd.record():
            loss = l2(net(x), y)
        loss.backward()
        trainer.step(6)
        return loss

    heat(step, 10)  # the first runs put the weights there
    card.count()
    for _ in range(50):
        loss = step()
    nd.waitall()
    assert card.is_still(), card.moved
    card.count()
    mean = loss.mean().asscalar()
    assert (card.moved.puts, card.moved.fetches) == (0, 1)
    assert np.isfinite(mean)


def test_training_on_the_card_is_training_on_the_cpu(card):
    found = []
    for ctx in (hn.cpu(0), hn.gpu(0)):
        hn.random.seed(3)
        np.random.seed(3)
        net, trainer = _trainer(ctx)
        rng = np.random.default_rng(1)
        for param in net.collect_params().values():
            param.set_data(nd.array(rng.normal(size=param.shape), ctx=ctx))
        x = nd.array(rng.normal(size=(6, 8)), ctx=ctx)
        for _ in range(40):
            with autograd.record():
                loss = (net(x) ** 2).mean()
            loss.backward()
            trainer.step(1)
        settle()
        found.append([param.data().asnumpy() for param in net.collect_params().values()])
    for on_cpu, on_card in zip(*found, strict=True):
        np.testing.assert_allclose(on_card, on_cpu, rtol=2e-4, atol=1e-6)


def test_a_wait_for_the_card_counts(card, monkeypatch):
    """A running sum by NumPy would wait for the card at each step: its program is made."""
    from hybridnet.runtime.tiers.choice import Load, Purchase, Whose, decide
    from hybridnet.runtime.tiers.ledger import Account

    account = Account(1)
    account.by_steps.note(1e-6)
    account.by_numpy.note(1e-6)
    account.launches = 10
    load = Load("auto", share=1.0)
    assert decide(Whose.ALONE, account, prices, load).purchase is Purchase.NONE
    account.note_waited(1.1 * prices.compiling(1))
    assert account.due == 0
    assert decide(Whose.ALONE, account, prices, load).purchase is Purchase.COMPILE
    account.reads = account.launches  # all of them were waited for anyway
    assert decide(Whose.ALONE, account, prices, load).purchase is Purchase.NONE


def test_two_threads(card):
    x = nd.array(np.arange(6), ctx=hn.gpu(0))
    far = nd.array(np.arange(LARGE), ctx=hn.gpu(0))
    found = []

    def work():
        for n in range(20):
            found.append(float((x * n).sum().asscalar()))
            found.append(float((far[:3] + n).sum().asscalar()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(found) == sorted(4 * [v for n in range(20) for v in (15 * n, 3 + 3 * n)])


WRITES = st.lists(
    st.tuples(
        st.sampled_from(["fill", "row", "add", "xla", "view", "read", "jax", "copy", "scale"]),
        st.integers(0, 3),
        st.integers(0, 3),
        st.integers(-4, 4),
    ),
    min_size=1,
    max_size=14,
)


@given(WRITES)
def test_random_writes_agree_with_numpy(writes):
    """Arrays whose values are on both sides, and are written in place, against NumPy's."""
    from virtual_gpu import virtual_gpu

    with virtual_gpu() as card, hn.gpu(0):
        ours = [nd.array(np.arange(12).reshape(4, 3) + n) for n in range(4)]
        theirs = [np.arange(12, dtype=np.float32).reshape(4, 3) + n for n in range(4)]
        views = {}
        for kind, i, j, number in writes:
            if kind == "fill":
                ours[i][:] = number
                theirs[i][:] = number
            elif kind == "row":
                ours[i][j] = number
                theirs[i][j] = number
            elif kind == "add":
                ours[i] += ours[j]
                theirs[i] += theirs[j]
            elif kind == "scale":
                ours[i] = ours[j] * number
                theirs[i] = theirs[j] * number
                views.pop(i, None)
            elif kind == "xla":  # has it be on the card
                recorder.ready_array(ours[i].read())
            elif kind == "view":
                views[i] = ours[i][1:3], theirs[i][1:3]
            elif kind == "jax":
                ours[i].to_jax()
            elif kind == "copy":
                ours[i][:] = ours[j].as_in_context(hn.cpu(0)).as_in_context(hn.gpu(0))
                theirs[i][:] = theirs[j].copy()
            else:
                np.testing.assert_array_equal(ours[i].asnumpy(), theirs[i])
        for i, (own, other) in views.items():
            own += 1
            other += 1
            np.testing.assert_array_equal(own.asnumpy(), other, str(i))
        for own, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(own.asnumpy(), other)
        del card
