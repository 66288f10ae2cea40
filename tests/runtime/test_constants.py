"""Weights that stay the same: programs of two parts give what the whole gives, whatever happens."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers import settle, thorough
from hypothesis import given, settings
from hypothesis import strategies as st
from traced import hurried_jit

import hybridnet as hn
from hybridnet import autograd, nd
from hybridnet.base.lazy import jax, jnp, lax
from hybridnet.gluon import nn
from hybridnet.ops.core.alternatives import constant_weights, picking
from hybridnet.ops.core.registry import get
from hybridnet.runtime.programs import cache as programs
from hybridnet.runtime.programs import making
from hybridnet.runtime.specialize import improve, specializing, splitting
from hybridnet.runtime.specialize.constants import Specialized, Version, memory
from hybridnet.runtime.specialize.improve import Watch
from hybridnet.runtime.specialize.splitting import split
from hybridnet.runtime.tiers.choice import Decision, Purchase
from hybridnet.runtime.tiers.ledger import Account
from hybridnet.runtime.tuning.timing import Comparison

_WEIGHT = (64, 64, 3, 3)  # 147 KB


@pytest.fixture(autouse=True)
def winning(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is made for constant inputs is used at once, however fast it is."""

    def at_once(work: Callable[[], None], name: str, **_: Any) -> None:
        work()

    def win(*_: Any) -> Any:
        return Comparison(1.0, 0.5, 0.5, 0.0)

    monkeypatch.setattr(making, "later", at_once)
    monkeypatch.setattr(improve, "later", at_once)
    monkeypatch.setattr(improve, "decide_constants", lambda *_: Decision(Purchase.CONSTANTS))
    monkeypatch.setattr(specializing, "compare", win)
    programs.cache.clear()
    yield
    programs.cache.clear()
    gc.collect()
    memory.clear()


def random(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def close(a: Any, b: Any, tolerance: float = 1e-6) -> None:
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    assert a.shape == b.shape
    assert np.max(np.abs(a - b), initial=0) <= tolerance * np.max(np.abs(b), initial=1)


def specialized() -> list[Specialized]:
    found = [one.compiled for one in programs.cache.programs()]
    return [one for one in found if isinstance(one, Specialized)]


def turned(x: Any, w: Any) -> Any:
    """A function whose weight is turned at each call: (rows, 64), (128, 64) -> (rows, 128)."""
    return nd.dot(nd.relu(x), nd.transpose(w, axes=(1, 0)) * 2)


def expected(x: Any, w: Any) -> Any:
    return np.maximum(x, 0) @ (w.T * 2)


# Splitting ----------------------------------------------------------------------------------------


def _jaxpr(function: Callable[..., Any], *arrays: Any) -> Any:
    return jax.make_jaxpr(function)(*arrays)


def _check(function: Callable[..., Any], arrays: list[Any], constant: list[int]) -> Any:
    """Splits, and compares the two parts with the whole; returns the split."""
    found = split(_jaxpr(function, *arrays), constant)
    assert found is not None
    kept = hurried_jit(found.prologue)(*(arrays[i] for i in found.reads))
    given = [arrays[i] for i in found.takes]
    made = hurried_jit(found.main)(*given, *kept)
    for one, other in zip(made, jax.tree.leaves(hurried_jit(function)(*arrays)), strict=True):
        close(one, other)
    return found


def test_what_follows_from_constant_inputs_is_the_prologue() -> None:
    def function(x: Any, w: Any, var: Any, unused: Any) -> Any:
        return (x @ w.T) * lax.rsqrt(var + 1e-3)

    found = _check(function, [random(2, 8), random(16, 8), random(16) ** 2, random(3)], [1, 2, 3])
    assert found.reads == (1, 2), "what nothing is made of is not read"
    assert found.takes == (0,)
    assert found.nbytes == 4 * (16 * 8 + 16)


def test_calls_within_are_laid_open() -> None:
    relu = jax.nn.relu  # a custom_jvp in a jit

    def function(x: Any, w: Any) -> Any:
        return jax.jit(lambda a, b: jnp.tanh(a) @ jnp.transpose(relu(b)))(x, w)

    found = _check(function, [random(2, 8), random(16, 8)], [1])
    assert found.takes == (0,)


def test_loops_and_products_stay_where_they_are() -> None:
    def function(x: Any, w: Any) -> Any:
        def body(state: Any, row: Any) -> Any:
            return jnp.tanh(state + row @ jnp.transpose(w)), state.sum()

        state, sums = lax.scan(body, jnp.zeros(8), x)
        return state, sums, x @ x.T @ jnp.sin(x)

    assert split(_jaxpr(function, random(4, 8), random(8, 8)), []) is None
    found = split(_jaxpr(function, random(4, 8), random(8, 8)), [0, 1])
    assert found is not None
    primitives = {one.primitive.name for one in found._early}
    assert primitives == {"sin", "transpose"}, "all is constant, and yet the work is done"


def test_views_broadcasts_and_outputs_are_not_kept() -> None:
    def views(x: Any, w: Any) -> Any:
        return x + jnp.broadcast_to(w.reshape(1, 4, 1), (3, 4, 5))[:, ::2], w.reshape(2, 2)

    assert split(_jaxpr(views, random(1), random(4)), [1]) is None

    def only_output(x: Any, w: Any) -> Any:
        return x, w * 2

    assert split(_jaxpr(only_output, random(1), random(4)), [1]) is None


def test_random_numbers_and_effects_are_not_moved() -> None:
    def draws(x: Any, key: Any) -> Any:
        return x * jax.random.normal(key, x.shape)

    found = split(_jaxpr(draws, random(64), jax.random.PRNGKey(0)), [1])
    assert found is None or not any("bits" in one.primitive.name for one in found._early)

    def prints(x: Any, w: Any) -> Any:
        jax.debug.callback(lambda _: None, w)
        return x * jnp.sin(w)

    found = _check(prints, [random(4), random(4)], [1])
    assert [one.primitive.name for one in found._early] == ["sin"]


def test_what_is_kept_stays_within_its_limit() -> None:
    def function(x: Any, w: Any, v: Any) -> Any:
        return x @ jnp.concatenate([jnp.sin(w)] * 4) + jnp.cos(v)

    arrays = [random(4, 32), random(8, 8), random(8)]
    found = _check(function, arrays, [1, 2])
    assert found.nbytes == 4 * (64 + 8), "the sine is kept, and repeated at each call"
    assert split(_jaxpr(function, *arrays), [1, 2], limit=0) is None


def test_operations_of_products_are_counted_as_xla_counts_them() -> None:
    image, filters = random(2, 6, 9, 9), random(8, 3, 3, 3)
    cases: list[tuple[Callable[..., Any], list[Any]]] = [
        (lambda a, b: a @ b, [random(5, 7), random(7, 11)]),
        (lambda a, b: jnp.einsum("bij,bkj->bik", a, b), [random(3, 5, 7), random(3, 11, 7)]),
        (lambda a, b: lax.conv(a, b, (1, 1), "VALID"), [image, random(8, 6, 3, 3)]),
        (
            lambda a, b: lax.conv_general_dilated(a, b, (2, 2), "VALID", feature_group_count=2),
            [image, filters],
        ),
    ]
    for function, arrays in cases:
        program = splitting._Program(_jaxpr(function, *arrays))
        ours = sum(
            program._operations(one, one.outputs)
            for one in program.equations
            if one.primitive.name in ("dot_general", "conv_general_dilated")
        )
        theirs = jax.jit(function).lower(*arrays).compile().cost_analysis()["flops"]
        assert ours == pytest.approx(theirs, rel=0.05)


def test_the_share_of_what_stays_the_same_is_foreseen() -> None:
    def step(x: Any, w: Any) -> Any:
        hidden = jnp.tanh(x @ w)
        return w - 1e-3 * (x.T @ hidden)  # of the batch alone: its transpose

    def infer(x: Any, w: Any) -> Any:
        return x @ (jnp.sin(w) + 1)

    training = split(_jaxpr(step, random(64, 512), random(512, 512)), [0])
    assert training is not None and training.share < 0.05
    inference = split(_jaxpr(infer, random(4, 512), random(512, 512)), [1])
    assert inference is not None and inference.share > 0.5


# Watching -----------------------------------------------------------------------------------------


def test_inputs_that_stay_the_same_are_found() -> None:
    def look(watch: Watch, *inputs: Any) -> tuple[int, ...]:
        return watch.look(watch.next, inputs, [3])

    large = [jnp.zeros((128, 128)) for _ in range(3)]
    watch = Watch()
    assert watch.next == 8
    assert look(watch, large[0], large[1], jnp.zeros(2), large[2]) == ()
    assert watch.next == 16
    assert look(watch, large[0], jnp.zeros(2), jnp.zeros(2), large[2]) == ()
    assert watch.next == 21
    assert look(watch, large[0], large[1], jnp.zeros(2), large[2]) == (0,), "3 is donated"
    watch = Watch()
    nexts = []
    while watch.next < 10**6:
        nexts.append(watch.next)
        assert look(watch, jnp.zeros((128, 128))) == ()
    assert nexts == [8, 16, 64, 72, 512, 520, 4096, 4104]
    small = jnp.zeros(8)
    watch = Watch()
    assert look(watch, small) == look(watch, small) == ()


def test_it_is_put_off_until_it_is_worth_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    due: list[int] = []

    def decide(account: Account, *_: Any) -> Decision:
        assert account.by_program.runs or account.by_steps.runs  # how long it takes is known
        due.append(account.runs)
        bought = Purchase.CONSTANTS if account.runs >= 30 else Purchase.NONE
        return Decision(bought, due=2 * account.runs)

    monkeypatch.setattr(improve, "decide_constants", decide)
    function = hn.function(lambda x, w: turned(x, w))
    weight = nd.array(random(512, 64))
    for i in range(80):
        function(nd.array(random(4, 64, seed=i)), weight).wait_to_read()
        assert bool(specialized()) == (due[-1:] >= [30])
    assert len(due) == 2


@pytest.mark.parametrize("batches", range(2, 12))
def test_batches_that_come_in_turn_are_not_taken_for_weights(batches: int) -> None:
    weight, data = jnp.zeros((128, 128)), [jnp.zeros((128, 128)) for _ in range(batches)]
    watch = Watch()
    found: list[int] = []
    for launch in range(10_000):
        if launch >= watch.next:
            found += watch.look(launch, (weight, data[launch % batches]), [])
    assert found == [0]


# Running ------------------------------------------------------------------------------------------


def run_until_specialized(call: Callable[[], Any], launches: int = 40) -> Specialized:
    for _ in range(launches):
        call().wait_to_read()
        if specialized():
            break
    (found,) = specialized()
    return found


@pytest.fixture
def function() -> Any:
    return hn.function(lambda x, w: turned(x, w))


def test_a_function_called_with_the_same_weight_is_specialized(function: Any) -> None:
    x, w = random(4, 64), random(512, 64)
    weight = nd.array(w)
    data = [nd.array(x + i) for i in range(40)]
    turn = iter(data)
    found = run_until_specialized(lambda: function(next(turn), weight))
    assert found.versions == 1
    assert 0 < memory.nbytes() <= w.nbytes
    for i in (0, 3):
        close(function(data[i], weight).asnumpy(), expected(x + i, w))


def test_data_that_stayed_the_same_at_first_do_not_count_for_ever(function: Any) -> None:
    x, w = random(300, 64), random(512, 64)
    data, weight = nd.array(x), nd.array(w)
    first = run_until_specialized(lambda: function(data, weight))
    for i in range(20):
        close(function(nd.array(x + i), weight).asnumpy(), expected(x + i, w))
    (second,) = specialized()
    assert second is not first
    assert second.versions == 1
    close(function(nd.array(x + 1), weight).asnumpy(), expected(x + 1, w))


def test_a_changed_weight_counts_at_once(function: Any) -> None:
    x, w = random(4, 64), random(512, 64)
    data, weight = nd.array(x), nd.array(w)
    xs = iter([nd.array(x) for _ in range(60)])
    found = run_until_specialized(lambda: function(next(xs), weight))
    weight[:] = weight * 3  # in place: a new version
    close(function(data, weight).asnumpy(), expected(x, 3 * w))
    assert found.versions == 0, "the old one is gone, and what was made of it"
    assert memory.nbytes() == 0
    for _ in range(20):
        close(function(next(xs), weight).asnumpy(), expected(x, 3 * w))
    (found,) = specialized()
    assert found.versions == 1, "made anew for the new version"
    weight[5] = 0
    w = 3 * w
    w[5] = 0
    close(function(data, weight).asnumpy(), expected(x, w))


def test_weights_die_and_are_donated_as_if_nobody_looked(function: Any) -> None:
    weights = [nd.array(random(512, 64))]
    xs = iter([nd.array(random(4, 64)) for _ in range(60)])
    found = run_until_specialized(lambda: function(next(xs), *weights))
    kept = weakref.ref(next(iter(found._versions.values())).kept[0])
    array = weakref.ref(weights[0].read().array)
    assert kept() is not None
    settle()
    programs_before = programs.cache.statistics().size
    weights.clear()
    gc.collect()
    assert array() is None
    assert kept() is None
    assert found.versions == 0
    assert programs.cache.statistics().size == programs_before


def test_programs_that_are_dropped_give_back_what_they_keep(function: Any) -> None:
    weight = nd.array(random(512, 64))
    xs = iter([nd.array(random(4, 64)) for _ in range(60)])
    run_until_specialized(lambda: function(next(xs), weight))
    assert memory.nbytes()
    programs.cache.clear()
    gc.collect()
    hn.nd.ones(1).wait_to_read()  # the thread remembers its last program
    hn.nd.ones(2).wait_to_read()
    gc.collect()
    assert not specialized()


def test_several_versions_at_a_time(function: Any) -> None:
    x = random(4, 64)
    arrays = [random(512, 64, seed=i) for i in range(2)]
    weights = [nd.array(one) for one in arrays]
    xs = iter([nd.array(x) for _ in range(200)])
    run_until_specialized(lambda: function(next(xs), weights[0]))
    for _ in range(12):
        for w, weight in zip(arrays, weights, strict=True):
            for _ in range(6):
                close(function(next(xs), weight).asnumpy(), expected(x, w))
    (found,) = specialized()
    assert found.versions == 2


def test_no_room_no_constants(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYBRIDNET_CONSTANTS_SIZE", "100K")
    weight = nd.array(random(512, 64))
    for _ in range(20):
        function(nd.array(random(4, 64)), weight).wait_to_read()
    assert not specialized()
    assert memory.nbytes() == 0


def test_what_is_not_used_makes_room() -> None:
    versions: dict[int, Any] = {}
    for i in range(3):
        versions[i] = Version((jnp.zeros(1 << 20),))
        versions[i].drop = partial(versions.pop, i)
        memory.add(versions[i])
    limit = 4 * (3 << 20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HYBRIDNET_CONSTANTS_SIZE", str(limit))
        assert not memory.has_room(4 << 20), "all may still be used"
        versions[0].uses += 1
        assert memory.has_room(4 << 20), "two of them were not"
    assert len(versions) == 1


def test_two_threads_and_one_that_changes_the_weight(function: Any) -> None:
    x = random(4, 64)
    base = random(512, 64)
    weight = nd.array(base)
    xs = [nd.array(x) for _ in range(40)]
    turn = iter(xs)
    run_until_specialized(lambda: function(next(turn), weight))
    right = {scale: expected(x, base * scale) for scale in (1, 2, 4, 8)}
    wrong: list[Any] = []

    def infer() -> None:
        data = nd.array(x)
        for _ in range(150):
            got = function(data, weight).asnumpy()
            if not any(np.allclose(got, one, rtol=1e-5, atol=1e-4) for one in right.values()):
                wrong.append(got)

    threads = [threading.Thread(target=infer) for _ in range(2)]
    for one in threads:
        one.start()
    for _ in range(3):
        for _ in range(20):
            function(xs[0], weight).wait_to_read()
        weight *= 2
    for one in threads:
        one.join()
    assert not wrong
    close(function(xs[0], weight).asnumpy(), right[8])


# Networks -----------------------------------------------------------------------------------------


def network() -> Any:
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(64, 3, padding=1, use_bias=False, in_channels=64),
        nn.BatchNorm(in_channels=64),
        nn.Activation("relu"),
        nn.Conv2D(64, 3, 2, 1, groups=64, in_channels=64),
        nn.MaxPool2D(2, 2, ceil_mode=True),
        nn.Conv2D(96, 1, in_channels=64),
        nn.GlobalAvgPool2D(),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Dense(10, in_units=96),
    )
    net.initialize(hn.init.Normal(0.2))
    for name, one in net.collect_params().items():
        if name.endswith(("running_mean", "running_var", "gamma")):
            one.set_data(nd.array(np.abs(random(64)) + 0.5))
    return net


def reference(net: Any, x: Any) -> Any:
    """The network operator by operator, not hybridized: no program of it has constants."""
    net.hybridize(False)
    made = net(nd.array(x)).asnumpy()
    net.hybridize()
    return made


def specialized_network(net: Any, x: Any, count: int = 40) -> None:
    for _ in range(count):
        net(nd.array(x)).wait_to_read()
        if specialized():
            return
    raise AssertionError("it was not specialized")


def test_a_network_is_the_same_with_its_weights_specialized() -> None:
    net, x = network(), random(2, 64, 13, 13)
    right = reference(net, x)
    net.hybridize()
    specialized_network(net, x)
    for _ in range(3):
        close(net(nd.array(x)).asnumpy(), right, 2e-5)
    (found,) = specialized()
    assert found.versions == 1


def test_training_goes_on_with_specialized_programs_about() -> None:
    net, x = network(), random(2, 64, 13, 13)
    net.hybridize()
    specialized_network(net, x)
    trainer = hn.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    other = network()
    other.hybridize(False)
    for mine, its in zip(
        net.collect_params().values(), other.collect_params().values(), strict=True
    ):
        its.set_data(mine.data())
    other_trainer = hn.gluon.Trainer(other.collect_params(), "sgd", {"learning_rate": 0.1})
    for step in range(2):
        for one, by in ((net, trainer), (other, other_trainer)):
            hn.random.seed(step)  # both drop the same
            with autograd.record():
                loss = (one(nd.array(x)) ** 2).mean()
            loss.backward()
            by.step(1)
        close(net(nd.array(x)).asnumpy(), other(nd.array(x)).asnumpy(), 1e-4)
    for one in net.collect_params().values():
        one.set_data(one.data() * 0.5)
    for one in other.collect_params().values():
        one.set_data(one.data() * 0.5)
    close(net(nd.array(x)).asnumpy(), other(nd.array(x)).asnumpy(), 1e-4)


@pytest.mark.slow
def test_a_training_step_is_not_compiled_again_for_a_batch_that_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As benchmarks have it. That too little follows from the batch is known without compiling."""
    found, asked = [], specializing.specialize

    def specialize(*given: Any) -> Any:
        found.append(asked(*given))
        return found[-1]

    def fail(*_: Any, **__: Any) -> Any:
        raise AssertionError("it was compiled")

    monkeypatch.setattr(specializing, "specialize", specialize)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(64, 3, in_channels=16), nn.Conv2D(64, 3, in_channels=64), nn.Dense(4))
    net.initialize()
    x, y = nd.array(random(16, 16, 12, 12)), nd.array(random(16, 4))
    trainer = hn.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-3})
    loss = hn.gluon.loss.L2Loss()

    @hn.function
    def step() -> Any:
        with autograd.record():
            lost = loss(net(x), y)
        lost.backward()
        trainer.step(16)
        return lost

    for number in range(30):
        step().wait_to_read()
        settle()
        if number == 2:
            monkeypatch.setattr(specializing, "compile_lowered", fail)
    assert found and not any(found) and not specialized()


def test_profilers_and_explanations_tell_of_the_program_that_was_asked_for() -> None:
    net, x = network(), random(2, 64, 13, 13)
    net.hybridize()
    specialized_network(net, x)
    with hn.runtime.explaining() as explanation:
        net(nd.array(x)).wait_to_read()
    text = str(explanation)
    assert "hot, one dispatch" in text
    assert net.name in text


def test_what_turns_out_slower_or_different_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Comparison(1.0, 1.0, 1.0, 0.0)
    monkeypatch.setattr(specializing, "compare", lambda *_: slow)
    weight = nd.array(random(512, 64))
    function = hn.function(turned)
    for _ in range(20):
        function(nd.array(random(4, 64)), weight).wait_to_read()
    assert not specialized()
    monkeypatch.setattr(specializing, "_agree", lambda *_: False)
    programs.cache.clear()
    for _ in range(20):
        function(nd.array(random(4, 64)), weight).wait_to_read()
    assert not specialized()


def test_an_eager_loop_is_specialized_too() -> None:
    x, w = random(4, 64), random(512, 64)
    weight = nd.array(w)
    for i in range(60):
        data = nd.array(x + i)
        data.wait_to_read()
        close(turned(data, weight).asnumpy(), expected(x + i, w))
    assert specialized()


def test_a_bound_symbol_is_specialized_too() -> None:
    x, w = random(4, 64), random(512, 64)
    out = hn.sym.dot(
        hn.sym.relu(hn.sym.var("x")), hn.sym.transpose(hn.sym.var("w"), axes=(1, 0)) * 2
    )
    executor = out.bind(hn.cpu(), {"x": nd.array(x), "w": nd.array(w)}, grad_req="null")
    for i in range(40):
        (made,) = executor.forward(is_train=False, x=nd.array(x + i))
        close(made.asnumpy(), expected(x + i, w))
    assert specialized()


# Lowerings ----------------------------------------------------------------------------------------


def _both(name: str, chosen: str, inputs: list[Any], **attrs: Any) -> tuple[Any, Any]:
    """Returns what an operator's own lowering makes, and the one chosen for constant weights."""
    call, _ = get(name).bind(attrs)
    seen: dict[Any, str] = {}

    def both(*operands: Any) -> tuple[Any, Any]:
        plain = call.lower("cpu", operands, ())[0]
        with constant_weights(), picking({}, seen):
            return plain, call.lower("cpu", operands, ())[0]

    made = hurried_jit(both)(*inputs)
    assert list(seen.values()) == [chosen]
    return made


@settings(deadline=None, max_examples=thorough(60, 6))
@given(st.data())
def test_constant_convolutions_are_those_of_the_plain_lowering(data: st.DataObject) -> None:
    axes = data.draw(st.integers(1, 3))
    small = st.integers(1, 3)
    kernel, stride, dilate = (
        tuple(data.draw(small) for _ in range(axes)) for _ in ("kernel", "stride", "dilate")
    )
    pad = tuple(data.draw(st.integers(0, 2)) for _ in range(axes))
    spatial = [d * (k - 1) + 1 + data.draw(small) for k, d in zip(kernel, dilate, strict=True)]
    channel, filters = data.draw(small), data.draw(st.integers(1, 4))
    group = data.draw(st.sampled_from([1, channel]))
    filters = channel if group > 1 else filters
    x = random(data.draw(small), *spatial, channel)
    w = random(filters, *kernel, channel // group)
    biases = [] if data.draw(st.booleans()) else [random(filters)]
    plain, other = _both(
        "Convolution",
        "channels_last",
        [x, w, *biases],
        kernel=kernel,
        stride=stride,
        dilate=dilate,
        pad=pad,
        num_filter=filters,
        num_group=group,
        no_bias=not biases,
        layout=("NWC", "NHWC", "NDHWC")[axes - 1],
    )
    close(other, plain, 1e-5)


@settings(deadline=None, max_examples=thorough(60, 6))
@given(st.data())
def test_constant_poolings_are_those_of_the_plain_lowering(data: st.DataObject) -> None:
    small = st.integers(1, 3)
    kernel = (data.draw(small), data.draw(small))
    pool_type = data.draw(st.sampled_from(["max", "avg", "sum"]))
    whole = data.draw(st.booleans())
    plain, other = _both(
        "Pooling",
        "turned" if pool_type == "max" and not whole else "channels_last",
        [random(2, 5, 6, data.draw(small))],
        kernel=kernel,
        stride=(data.draw(small), data.draw(small)),
        pad=tuple(data.draw(st.integers(0, size - 1)) for size in kernel),
        pool_type=pool_type,
        pooling_convention=data.draw(st.sampled_from(["valid", "full", "same"])),
        global_pool=whole,
        count_include_pad=data.draw(st.booleans()),
        layout="NHWC",
    )
    close(other, plain, 1e-5)


@pytest.mark.parametrize("name, value", [("TUNE", "off"), ("CONSTANTS_SIZE", "0")])
def test_it_can_be_turned_off(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"HYBRIDNET_{name}", value)
    weight = nd.array(random(512, 64))
    function = hn.function(turned)
    for _ in range(20):
        function(nd.array(random(4, 64)), weight).wait_to_read()
    assert not specialized()
