"""Host tasks: work of the engine's threads on arrays, in order with recorded operators."""

from __future__ import annotations

import contextlib
import threading

import jax
import numpy as np
import pytest
from helpers import run_script

import hybridnet as hn
from hybridnet import engine, nd
from hybridnet.base.dtype import FLOAT32, INT32
from hybridnet.base.errors import MXNetError, OpError, ShapeError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.runtime.record import recorder
from hybridnet.runtime.record.failures import was_told
from hybridnet.runtime.record.host_task import push_task

FOUR = tensor_type((4,), FLOAT32)


@pytest.fixture(autouse=True)
def reported():
    """Failures that a test did not ask for are not those of the next one."""
    yield
    with contextlib.suppress(OpError):
        nd.waitall()


def array_of(value):
    return nd.NDArray.from_value(value, hn.cpu(0))


def doubled(array):
    return [jax.device_put(np.asarray(array) * 2)]


def test_a_task_reads_what_is_recorded_and_is_read_by_what_follows():
    x = nd.ones((4,)) + 1
    (value,) = push_task(doubled, [x.read()], (FOUR,))
    y = array_of(value) + 1
    (again,) = push_task(doubled, [y.read()], (FOUR,))
    np.testing.assert_array_equal((array_of(again) * y).asnumpy(), [50.0] * 4)


def test_pushing_does_not_wait():
    """The task cannot finish before the test lets it, and everything is pushed before that."""
    go = threading.Event()

    def task(array):
        assert go.wait(60)
        return doubled(array)

    x = nd.ones((4,))
    (value,) = push_task(task, [x.read()], (FOUR,))
    y = array_of(value) + 1
    recorder.flush()  # the launch waits for the task, this thread does not
    z = y * 2
    assert value.array is None
    go.set()
    np.testing.assert_array_equal(z.asnumpy(), [6.0] * 4)


def test_tasks_that_share_nothing_run_at_the_same_time():
    both = threading.Barrier(2)

    def task(array):
        both.wait(60)
        return doubled(array)

    made = [push_task(task, [nd.ones((4,)).read()], (FOUR,), lane=lane) for lane in ("copy", "io")]
    for (value,) in made:
        np.testing.assert_array_equal(array_of(value).asnumpy(), [2.0] * 4)


def test_a_value_that_is_overwritten_later_is_read_as_it_was():
    go = threading.Event()

    def task(array):
        assert go.wait(60)
        return doubled(array)

    x = nd.ones((4,))
    (value,) = push_task(task, [x.read()], (FOUR,))
    x[:] = 100
    x += 1
    recorder.flush()
    go.set()
    np.testing.assert_array_equal(array_of(value).asnumpy(), [2.0] * 4)
    np.testing.assert_array_equal(x.asnumpy(), [101.0] * 4)


def test_several_results_of_several_types():
    def task(x, y):
        return [jax.device_put(np.asarray(x)[:2]), jax.device_put(np.asarray(y).astype(np.int32))]

    reads = [nd.arange(4).read(), nd.ones((3,)).read()]
    types = (tensor_type((2,), FLOAT32), tensor_type((3,), INT32))
    first, second = push_task(task, reads, types, name="cut")
    assert array_of(first).shape == (2,)
    np.testing.assert_array_equal(array_of(first).asnumpy(), [0.0, 1.0])
    np.testing.assert_array_equal(array_of(second).asnumpy(), [1, 1, 1])


def test_a_task_without_reads():
    (value,) = push_task(lambda: [jax.device_put(np.ones(4, np.float32))], [], (FOUR,))
    np.testing.assert_array_equal(array_of(value).asnumpy(), [1.0] * 4)


def fail(*_):
    raise ValueError("the disk is full")


def test_an_error_is_raised_where_the_result_is_read():
    (value,) = push_task(fail, [nd.ones((4,)).read()], (FOUR,), name="save")
    y = array_of(value) + 1
    for one in (array_of(value), y, y):
        with pytest.raises(OpError, match="save failed: the disk is full") as caught:
            one.asnumpy()
        assert isinstance(caught.value.__cause__, ValueError)
        assert f"test_host_task.py:{fail.__code__.co_firstlineno + 1}" in str(caught.value)


def test_an_error_of_ours_says_where_the_task_raised_it():
    def misfit(*_):
        return nd.ones((2, 3)) + nd.ones((4,))

    (value,) = push_task(misfit, [], (FOUR,), name="save")
    line = rf"got lhs .*; raised at .*test_host_task.py:{misfit.__code__.co_firstlineno + 1}$"
    for _ in range(2):
        with pytest.raises(ShapeError, match=line):
            array_of(value).asnumpy()


def test_what_does_not_depend_on_a_failed_task_is_computed():
    (value,) = push_task(fail, [], (FOUR,), name="save")
    bad = array_of(value)
    x = nd.ones((4,))
    lost, kept = bad + x, x * 3
    np.testing.assert_array_equal(kept.asnumpy(), [3.0] * 4)
    with pytest.raises(OpError, match="save failed"):
        lost.asnumpy()


def test_a_task_that_reads_what_failed_fails_alike():
    (value,) = push_task(fail, [], (FOUR,), name="save")
    (after,) = push_task(doubled, [value], (FOUR,), name="after")
    with pytest.raises(OpError, match="save failed: the disk is full"):
        array_of(after).asnumpy()


def test_an_array_is_well_again_once_it_is_overwritten():
    (value,) = push_task(fail, [], (FOUR,))
    x = array_of(value)
    x[:] = 3
    np.testing.assert_array_equal(x.asnumpy(), [3.0] * 4)


def test_a_wrong_number_of_results_is_an_error_of_the_task():
    (value,) = push_task(list, [], (FOUR,), name="none")
    with pytest.raises(OpError, match="none failed"):
        array_of(value).asnumpy()


def test_waitall_waits_for_tasks_and_reports_their_errors():
    done = []
    push_task(lambda: done.append(1) or [jax.device_put(np.ones(4))], [], (FOUR,))
    nd.waitall()
    assert done == [1]
    push_task(fail, [], (FOUR,), name="save")
    with pytest.raises(OpError, match="save failed"):
        nd.waitall()
    nd.waitall()


def lost_and_held():
    """Returns what failed, what depends on it, and a function: before that no such thing runs."""
    go = threading.Event()

    def late(array):
        assert go.wait(60)
        return doubled(array)

    (value,) = push_task(fail, [], (FOUR,), name="save")
    (held,) = push_task(late, [nd.ones((4,)).read()], (FOUR,), name="late")
    return array_of(value), array_of(held) + array_of(value), go.set


@pytest.mark.parametrize("waiting", ["recorded", "launched", "task"])
def test_an_error_is_not_raised_again_for_what_depends_on_it(waiting):
    failed, lost, go = lost_and_held()
    if waiting == "launched":
        recorder.flush()
    if waiting == "task":
        lost = array_of(push_task(doubled, [lost.read()], (FOUR,), name="after")[0])
    with pytest.raises(OpError, match="save failed"):
        failed.asnumpy()
    go()
    nd.waitall()
    assert was_told(lost.read())
    with pytest.raises(OpError, match="save failed"):
        lost.asnumpy()
    nd.waitall()


def test_an_error_that_only_tasks_have_seen_is_raised():
    (value,) = push_task(fail, [], (FOUR,), name="save")
    (after,) = push_task(doubled, [value], (FOUR,), name="after")
    engine.wait_for_var(after.var)
    assert not was_told(after)
    with pytest.raises(OpError, match="save failed"):
        nd.waitall()
    assert was_told(after)
    assert was_told(value)
    nd.waitall()


def test_no_task_in_a_trace():
    @hn.function
    def f(x):
        push_task(doubled, [x.read()], (FOUR,), name="double")

    with pytest.raises(MXNetError, match="double cannot be part of a traced function"):
        f(nd.ones((4,)))
    assert recorder.current_trace() is None


def test_a_task_and_a_traced_function_in_turn():
    w = nd.zeros((4,))

    @hn.function
    def bump(x):
        w[:] = w + x

    for _ in range(3):
        (value,) = push_task(doubled, [w.read()], (FOUR,))
        bump(array_of(value) + 1)
    np.testing.assert_array_equal(w.asnumpy(), [13.0] * 4)


def test_operators_whose_values_are_looked_at_load_no_jax():
    run_script(
        """
        import sys
        from hybridnet import nd
        x = nd.eye(3) * 4
        assert nd.linalg.potrf(x).asnumpy()[0, 0] == 2
        assert nd.gather_nd(x, nd.array([[1], [1]])).asscalar() == 4
        assert "jax" not in sys.modules
        """
    )
