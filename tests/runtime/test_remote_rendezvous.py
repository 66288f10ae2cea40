"""Graphs that run on several tasks, over a network that loses, doubles and reorders messages."""

from __future__ import annotations

import dataclasses
from typing import Any

import control_programs as cp
import graph_programs as gp
import numpy as np
import pytest
from helpers import thorough
from hypothesis import given, settings
from hypothesis import strategies as st
from lossy_network import Network, Tasks
from partitioned_calls import TOYS, call_of, values_of
from simulated import Simulated, running_on, simulated

import hybridnet as hn
from hybridnet import sym
from hybridnet.base.errors import DTypeError, FormatError, OpError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.engine import ManualPool, ThreadedEngine
from hybridnet.runtime.executor.remote_rendezvous import StepExchange
from hybridnet.runtime.executor.rendezvous import Key, Sent
from hybridnet.runtime.executor.task_messages import (
    Cancel,
    Have,
    Made,
    TaskTransport,
    Tensors,
    TravellingTensor,
)

FLOAT = np.dtype(np.float64)
HERE, THERE = (f"/job:worker/replica:0/task:{number}" for number in range(2))


def results_of(runs, count):
    """Returns each output, which one of the runs has."""
    for run in runs:
        assert run.error is None, run.error
    return [
        np.asarray(next(run.outputs[i] for run in runs if run.outputs[i] is not None))
        for i in range(count)
    ]


@settings(max_examples=thorough(5000, 40))
@given(cp.blocks(), st.integers(0, 9999))
def test_on_three_tasks_a_program_does_what_python_does(block, seed):
    x, y = np.random.default_rng(seed).normal(size=(2, *gp.SHAPE))
    pool = ManualPool(seed=seed)
    with (
        simulated(*(Simulated(number) for number in range(3))) as toys,
        running_on(ThreadedEngine(pool=pool)),
    ):
        symbol = cp.symbol_of(block, TOYS)
        arrays = [{"x": x, "y": y}[name] for name in symbol.list_inputs()]
        types = tuple(tensor_type(one.shape, one.dtype) for one in arrays)
        call = call_of(symbol, toys[0].context, types, lower=True)
        want = cp.run_numpy(block, [x, y])
        tasks = Tasks(Network(seed), pool)
        for _ in range(2):  # with what is late of the first step
            runs = tasks.run(call, [value.array for value in values_of(arrays)])
            for one, wanted in zip(results_of(runs, len(want)), want, strict=True):
                np.testing.assert_allclose(one, wanted, rtol=1e-12, atol=1e-12)
            tasks.end()


def test_a_failure_on_one_task_ends_the_step_on_all():
    def fail(name: str) -> None:
        if name == "sin":
            raise ValueError("meant")

    pool = ManualPool(seed=0)
    with (
        simulated(*(Simulated(number) for number in range(3))) as toys,
        running_on(ThreadedEngine(pool=pool)),
    ):
        toys[1].before = fail
        x = sym.var("x")
        with hn.device(TOYS[1]):
            y = sym.sin(x)
        with hn.device(TOYS[2]):
            y = sym.exp(y)
        call = call_of(y + x, toys[0].context, (tensor_type((2,), FLOAT),))
        for seed in range(20):
            tasks = Tasks(Network(seed), pool)
            runs = tasks.run(call, [value.array for value in values_of([np.ones(2)])])
            messages = [str(run.error) for run in runs if run.error is not None]
            assert len(messages) >= 2 and all("meant" in one for one in messages)


def test_what_is_made_together_goes_together_and_unasked():
    pool = ManualPool(seed=0)
    with (
        simulated(*(Simulated(number) for number in range(3))) as toys,
        running_on(ThreadedEngine(pool=pool)),
    ):
        x = sym.var("x")
        with hn.device(TOYS[1]):
            ones = [sym.sin(x), sym.cos(x), sym.exp(x)]
        with hn.device(TOYS[0]):
            total = ones[0] + ones[1] + ones[2] + sym.abs(ones[0])
        call = call_of(total, toys[0].context, (tensor_type((2,), FLOAT),))
        network = Network(0, loss=0, doubles=0)
        tasks = Tasks(network, pool)
        runs = tasks.run(call, [value.array for value in values_of([np.ones(2)])])
        assert len(call.transfers) == 4 and network.count == 2  # x there, and three results back
        np.testing.assert_allclose(results_of(runs, 1)[0], 2 * np.sin(1) + np.cos(1) + np.e)
        for exchange in tasks.exchanges:
            exchange.resend()  # each says what it has
        while network.deliver():
            pass
        assert [one.pending for one in tasks.rendezvous] == [(0, 0)] * 3
        tasks.end()


# -- by hand ---------------------------------------------------------------------------------


class Noted(TaskTransport):
    """A transport that notes what is sent."""

    task = HERE

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.forgotten: list[Any] = []

    def send(self, task: str, message: Any) -> None:
        self.sent.append((task, message))

    def forget(self, task: str, message: Any) -> None:
        self.forgotten.append((task, message))

    def listen(self, hear: Any) -> None:
        self.hear = hear


OWNERS = {"a": HERE, "b": THERE, "c": HERE}
OUT, IN, WITHIN = Key("a", "b", "x:0"), Key("b", "a", "y:0"), Key("a", "c", "z:0")


class Ready:
    """What a device has made."""

    def __init__(self, *values: float) -> None:
        self._array = np.array(values)
        self.shape = self._array.shape

    def is_ready(self) -> bool:
        return True

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._array


def begun():
    noted = Noted()
    exchange = StepExchange(noted)
    return noted, exchange, exchange.begin(7, OWNERS)


def test_what_stays_on_a_task_is_handed_over_as_it_is():
    noted, _, rendezvous = begun()
    value = object()
    rendezvous.send(WITHIN, value)
    assert rendezvous.receive(WITHIN).value is value and not noted.sent


def test_what_is_for_another_task_is_sent_at_once_and_kept_until_it_has_come():
    noted, _, rendezvous = begun()
    rendezvous.send(OUT, Ready(1, 2))
    ((to, message),) = noted.sent
    ((key, dead, tensor),) = message.made
    assert (to, message.number, key, dead) == (THERE, 0, OUT, False)
    assert tensor.array().tolist() == [1, 2]
    noted.hear(THERE, Have(7, 0, (), True))  # it was lost
    assert noted.sent[1] == noted.sent[0] and rendezvous.pending == (1, 0)
    noted.hear(THERE, Have(7, 1, (), False))
    noted.hear(THERE, Have(7, 0, (), True))  # late
    assert len(noted.sent) == 2 and rendezvous.pending == (0, 0)
    assert noted.forgotten == noted.sent[:1]


@pytest.mark.parametrize("end", ["end", "abort"])
def test_what_was_sent_is_forgotten_with_its_step(end):
    noted, exchange, rendezvous = begun()
    rendezvous.send(OUT, Ready(1, 2))
    if end == "end":
        exchange.end(7)
    else:
        rendezvous.abort(OpError("no memory"))
    assert noted.forgotten == noted.sent[:1]
    rendezvous.send(OUT._replace(tensor="late"), Ready(1))
    assert len(noted.sent) == (1 if end == "end" else 2)  # the abort is told


def test_what_is_sent_together_is_one_message_to_each_task():
    noted, _, rendezvous = begun()
    other = OUT._replace(tensor="z:0")
    rendezvous.send_all([Sent(OUT, None, True), Sent(WITHIN, 5), Sent(other, Ready(3))])
    ((to, message),) = noted.sent
    assert to == THERE and message.made[0] == Made(OUT, True, None)
    assert [one.key for one in message.made] == [OUT, other]
    assert rendezvous.receive(WITHIN).value == 5


def brought(number, key, value):
    made = Made(key, False, TravellingTensor.of(np.array([value])))
    return Tensors(7, number, (made,))


def test_a_message_counts_once_and_is_said_to_have_come():
    noted, exchange, rendezvous = begun()
    found: list[Any] = []
    rendezvous.receive_async(IN, found.append)
    exchange.resend()
    assert noted.sent == [(THERE, Have(7, 0, (), True))]
    for _ in range(2):
        noted.hear(THERE, brought(2, IN, 3.0))
    assert [one.value.tolist() for one in found] == [[3.0]]
    exchange.resend()
    assert noted.sent[1:] == [(THERE, Have(7, 0, (2,), True))]
    noted.hear(THERE, brought(0, IN._replace(iteration=1), 4.0))
    exchange.resend()
    assert noted.sent[2:] == [(THERE, Have(7, 1, (2,), True))]


def test_who_hears_nothing_asks_less_and_less_often():
    noted, exchange, _ = begun()
    for _ in range(7):
        exchange.resend()
    assert len(noted.sent) == 3  # at once, after two, after four


def test_much_that_comes_is_said_to_have_come():
    noted, _, _ = begun()
    for number in range(64):
        noted.hear(THERE, brought(number, IN._replace(iteration=number), 1.0))
    assert noted.sent == [(THERE, Have(7, 64, (), False))]


def test_an_abort_is_told_and_told_again():
    noted, _, rendezvous = begun()
    found: list[Any] = []
    rendezvous.receive_async(IN, found.append)
    rendezvous.abort(OpError("no memory"))
    assert noted.sent == [(THERE, Cancel(7, "no memory"))]
    assert "no memory" in str(found[0].error)
    noted.hear(THERE, brought(0, IN, 1.0))
    assert noted.sent[1:] == [(THERE, Cancel(7, "no memory"))]
    with pytest.raises(OpError, match="y:0 from b to a will not come"):
        rendezvous.receive(IN)


def test_what_comes_before_a_step_begins_is_kept_and_after_it_forgotten():
    noted = Noted()
    exchange = StepExchange(noted)
    noted.hear(THERE, Cancel(7, "too early"))
    noted.hear(THERE, dataclasses.replace(brought(0, IN, 5.0), step=8))
    with pytest.raises(OpError, match="task:1 ended the step: too early"):
        exchange.begin(7, OWNERS).receive(WITHIN)
    exchange.end(7)
    noted.hear(THERE, brought(0, IN, 1.0))
    assert not noted.sent
    assert exchange.begin(8, OWNERS).receive(IN).value.tolist() == [5.0]


def test_too_much_that_comes_early_is_dropped_and_asked_for():
    noted = Noted()
    exchange = StepExchange(noted)
    large = Made(IN, False, TravellingTensor.of(np.zeros(1 << 27, np.uint8)))
    for step in (7, 8, 9):
        noted.hear(THERE, Tensors(step, 0, (large,)))
    assert exchange.begin(9, OWNERS).receive(IN).value.size == 1 << 27
    assert exchange.begin(7, OWNERS).pending == (0, 0)
    exchange.resend()
    assert (THERE, Have(7, 0, (), True)) in noted.sent


def test_a_task_takes_no_tensor_that_is_not_for_it():
    noted, _, rendezvous = begun()
    noted.hear("/job:other/task:0", brought(0, IN, 1.0))
    assert not noted.sent
    noted.hear(THERE, brought(0, WITHIN, 1.0))
    assert isinstance(noted.sent[0][1], Cancel)
    with pytest.raises(OpError, match="task:1 does not send z:0 from a to c"):
        rendezvous.receive(WITHIN)


@pytest.mark.parametrize(
    "array",
    [np.float32(1.5), np.zeros((0, 3)), np.arange(6).reshape(2, 3).T, np.array([True])],
    ids=["no axes", "empty", "turned", "booleans"],
)
def test_tensors_travel_as_they_are(array):
    found = TravellingTensor.of(array).array()
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found, array)


def test_bfloat16_travels_too():
    array = np.array([1.5, -2], hn.base.dtype.BFLOAT16)
    np.testing.assert_array_equal(TravellingTensor.of(array).array(), array)


@pytest.mark.parametrize(
    "tensor",
    [
        TravellingTensor(0, (2,), b"1234"),
        TravellingTensor(0, (-1, -1), b"1234"),
        TravellingTensor(99, (1,), b"1234"),
    ],
)
def test_tensors_that_are_none_are_refused(tensor):
    with pytest.raises(FormatError):
        tensor.array()
    noted, _, rendezvous = begun()
    found: list[Any] = []
    rendezvous.receive_async(IN, found.append)
    noted.hear(THERE, Tensors(7, 0, (Made(IN, False, tensor),)))
    assert "sent a tensor" in str(found[0].error)


def test_what_has_no_dtype_of_ours_cannot_travel():
    with pytest.raises(DTypeError, match="complex64 cannot go to another task"):
        TravellingTensor.of(np.zeros(2, np.complex64))
