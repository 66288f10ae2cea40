"""Finalizers that read arrays, wherever the garbage collector runs them."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers import in_thread

from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import MXNetError
from hybridnet.ndarray import _in_place
from hybridnet.ops.core import OpCall
from hybridnet.ops.host import NoHostForm
from hybridnet.runtime.record import launch as launching
from hybridnet.runtime.record.apart import InterruptedLaunchError

COUNT = 300

between_instructions = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="the collector may run in the middle of JAX's C++ code"
)


@pytest.fixture
def often() -> Iterator[None]:
    """The collector runs after every few objects that are made."""
    threshold = gc.get_threshold()
    gc.set_threshold(20)
    yield
    gc.set_threshold(*threshold)


class Reading:
    """Garbage that reads what it has, and says whether that is what NumPy makes of it."""

    found: list[bool]

    def __init__(self, found: list[Any], array: nd.NDArray, wanted: Any) -> None:
        self.cycle = self
        self.found, self.array, self.wanted = found, array, wanted

    def __del__(self) -> None:
        try:
            self.found.append(np.allclose(self.array.asnumpy(), self.wanted, rtol=1e-5))
        except BaseException as error:
            self.found.append(error)


def finish(found: list[Any], count: int) -> None:
    while len(found) < count:  # while another thread collects, this does nothing
        gc.collect()
    assert found == [True] * count


@pytest.mark.slow
@between_instructions
@pytest.mark.parametrize("host", ["auto", "only", "off"])
def test_they_may_read_in_a_training_loop(
    host: str, often: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYBRIDNET_HOST", host)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(4, activation="tanh", in_units=3), gluon.nn.Dense(1, in_units=4))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    found: list[Any] = []
    for number in range(COUNT):
        mine = nd.full((1, 2), number)
        product = nd.dot(mine, mine.T) + number
        wanted = 2 * number * number + number
        Reading(found, nd.concat(product, -product, dim=1), [[wanted, -wanted]])
        with autograd.record():
            loss = (net(nd.ones((2, 3))) ** 2).mean()
        loss.backward()
        trainer.step(1)
        if number % 10 == 0:
            loss.wait_to_read()
    finish(found, COUNT)


@pytest.mark.slow
@between_instructions
@pytest.mark.compiled
def test_they_may_read_while_jax_traces_and_compiles(often: None) -> None:
    found: list[Any] = []
    for number in range(20):
        for part in range(5):
            Reading(found, nd.full((3,), number) * part, [number * part] * 3)
        nd.softmax(nd.tanh(nd.ones((2, number + 1))) * 3).wait_to_read()  # a program of its own
    finish(found, 100)


@between_instructions
def test_what_is_read_is_computed_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays pending where it was recorded, and is the same when that is launched."""
    monkeypatch.setattr(launching, "_is_inside", lambda: True)
    mine = nd.array([1.0, 2.0]) + 1
    random = nd.random.uniform(shape=(3,))
    theirs = in_thread(lambda: mine * 3)
    network = gluon.nn.Dense(2, in_units=2)
    network.initialize()
    network.hybridize()
    made = network(theirs.reshape((1, 2))) + mine
    found: list[Any] = []

    class Read:
        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            found.extend(x.asnumpy() for x in (made, random, theirs[1:], made + 1))
            found.append(made.read().segment)

    Read()
    while not found:
        gc.collect()
    segment = found.pop()
    assert segment is not None and segment is made.read().segment
    for one, other in zip(found, (made, random, theirs[1:], made + 1), strict=True):
        np.testing.assert_array_equal(one, other.asnumpy())


def test_what_numpy_cannot_compute_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """And computed as ever where nothing is interrupted."""

    def without(*_: object) -> None:
        raise NoHostForm("tanh")

    array = nd.tanh(nd.ones((2,)))
    errors: list[Any] = []

    class Read:
        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            try:
                array.asnumpy()
            except MXNetError as error:
                errors.append(error)

    Read()
    with monkeypatch.context() as within:
        within.setattr(launching, "_is_inside", lambda: True)
        within.setattr(OpCall, "evaluate", without)
        while not errors:
            gc.collect()
    assert isinstance(errors[0], InterruptedLaunchError)
    np.testing.assert_allclose(array.asnumpy(), np.tanh([1.0, 1.0]), rtol=1e-6)


def test_a_change_in_place_waits_for_no_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finalizer in that launch may change something in place, too, and wait for the change."""
    total = in_thread(lambda: nd.zeros((2,)) + 0)
    array = nd.ones((2,))
    mine = array * 3
    begun = threading.Event()
    launch, check = launching._launch, _in_place.check_result

    def with_finalizer(segment: Any) -> None:
        if not begun.is_set():
            begun.set()
            nonlocal total
            total += 1
        launch(segment)

    def while_another_launches(*given: Any) -> None:
        if not begun.is_set():
            reader.start()
            assert begun.wait(60)
        check(*given)

    reader = threading.Thread(target=mine.wait_to_read)
    monkeypatch.setattr(launching, "_launch", with_finalizer)
    monkeypatch.setattr(_in_place, "check_result", while_another_launches)
    array += mine
    reader.join(60)
    assert array.asnumpy().tolist() == [4, 4] and total.asnumpy().tolist() == [1, 1]
