"""The recorder and the program cache: what is launched when, what is kept, what is given away."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import jax
import numpy as np
import pytest
from deciding import never_whole
from helpers import heat, in_thread, naive, settle
from hypothesis import given
from hypothesis import strategies as st

from hybridnet import autograd, cpu, nd
from hybridnet.base.errors import MXNetError, OpError, ShapeError
from hybridnet.base.host_array import HostArray
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.call import Backward, Call, Types
from hybridnet.ops.core.registry import get
from hybridnet.runtime.programs import cache as programs
from hybridnet.runtime.programs.cache import ProgramCache, cache
from hybridnet.runtime.programs.making import Maker
from hybridnet.runtime.record import launch as launch_module
from hybridnet.runtime.record import recorder, storage
from hybridnet.runtime.record.host_task import push_task
from hybridnet.runtime.segments.code import Code
from hybridnet.runtime.segments.period import period_of
from hybridnet.runtime.segments.segment import Segment

pytestmark = pytest.mark.optimized

# Shapes that no other test uses, so that the arrays of one test can be counted.
SIZES = iter(range(7001, 9000))


class Act(Call):
    """An operation that does something when it is lowered: fails, or counts."""

    def __init__(self, action: Callable[[], None], name: str = "act") -> None:
        self.action = action
        self.num_outputs = self.num_visible = 1
        self.num_scalars = 0
        self.takes_state = False
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def infer(self, types: Types) -> Types:
        return types[:1]

    def lower(self, platform: str, operands: Sequence[Any], scalars: Sequence[Any]) -> Any:
        self.action()
        return [operands[0] + 1]

    def gradient(self, back: Backward) -> Sequence[Any]:
        return [back.grads[0]]

    def __call__(self, x: nd.NDArray) -> nd.NDArray:
        return nd.NDArray.apply_call(self, [x])[0]


def failing(error: BaseException | None = None, name: str = "act") -> Act:
    def fail() -> None:
        raise error or ZeroDivisionError("no such thing")

    return Act(fail, name)


def is_pending(x: nd.NDArray) -> bool:
    value = x.read()
    return value.array is None and value.error is None


def count_arrays(size: int) -> int:
    """How many arrays of shape (size,) there are: JAX's, and NumPy's that are none of these."""
    gc.collect()
    hosts = [one for one in gc.get_objects() if type(one) is HostArray and one.placed is None]
    return sum(one.shape == (size,) for one in [*jax.live_arrays(), *hosts])


def address(x: nd.NDArray) -> int:
    """Where an array's memory is; unlike an export, asking does not protect it."""
    place: int = recorder.wait(x.read()).unsafe_buffer_pointer()
    return place


def launches() -> int:
    found = cache.statistics()
    return found.hot + found.cold


def host_task(
    value: np.ndarray[Any, Any], gate: threading.Event | None = None, fail: str = ""
) -> nd.NDArray:
    """An array that a task of the engine makes, once the gate is open."""
    device = jax.devices()[0]

    def make() -> list[Any]:
        if gate is not None:
            assert gate.wait(60)
        if fail:
            raise OSError(fail)
        return [jax.device_put(value, device)]

    example = nd.array(value)
    (made,) = push_task(make, [], (example.type,), name="reader")
    return nd.NDArray.from_value(made, cpu(0))


# Segments


def test_nothing_runs_before_a_value_is_needed():
    x = nd.ones((3,))
    settle()
    before = launches()
    y = x + 1
    z = y * 2
    assert is_pending(y)
    assert launches() == before
    np.testing.assert_array_equal(z.asnumpy(), [4, 4, 4])
    assert not is_pending(y)  # its neighbor in the segment was computed along with it


@pytest.mark.parametrize(
    "need",
    [
        lambda x: x.wait_to_read(),
        lambda x: x.asnumpy(),
        lambda x: repr(x),
        lambda x: nd.waitall(),
        lambda x: np.from_dlpack(x),
        lambda x: x.to_jax(),
        lambda x: bool(x.sum() > 0),
        lambda x: x.as_in_context(cpu(1)),
        lambda x: in_thread(x.asnumpy),
        lambda x: in_thread(nd.waitall),
        lambda x: recorder.mark(),
    ],
)
def test_what_launches(need):
    x = nd.ones((3,)) + 1
    assert is_pending(x)
    need(x)
    assert not is_pending(x)


def test_waitall_waits_for_the_devices():
    x = nd.ones((600, 600))
    made = []
    for _ in range(6):
        x = nd.dot(x, x) * 1e-3
        made.append(x)
        recorder.mark()
    other = nd.dot(nd.ones((500, 500), ctx=cpu(1)), nd.ones((500, 500), ctx=cpu(1)))
    recorder.mark()
    there = other.as_in_context(cpu(0))
    for _ in range(100):
        (nd.ones((2,)) + 1).read()
        recorder.mark()
    nd.waitall()
    assert all(one.read().array.is_ready() for one in [*made, other, there])


@pytest.fixture
def limit_segments(monkeypatch):
    """Sets the load at which this thread's segments are launched."""

    def limit(load: int) -> None:
        recorder.flush()
        monkeypatch.setattr(recorder.thread, "limit", load)

    yield limit
    recorder.flush()


def test_a_long_segment_is_launched(limit_segments):
    limit_segments(10)
    x = nd.zeros((3,))
    before = launches()
    for _ in range(25):
        x = x + 1
    assert launches() - before >= 2
    assert (x.asnumpy() == 25).all()


def test_a_segment_that_holds_much_memory_is_launched(limit_segments):
    limit_segments(20)
    x = nd.zeros((1 << 20,))  # 4 MiB
    nd.waitall()
    made = []
    for _ in range(20):
        x = x + 1
        made.append(x)
    assert sum(is_pending(one) for one in made) < 8
    for number, one in enumerate(made):
        assert one.asnumpy()[0] == number + 1


def test_a_loop_without_marks_is_cut_after_whole_turns(limit_segments):
    """After the first cut every stretch has one structure, wherever the loop began."""
    b = nd.ones((next(SIZES),))
    limit_segments(32)
    codes = []
    find = programs.cache.next

    def noting(code):
        codes.append(code)
        return find(code)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(programs.cache, "next", noting)
        w = b * 3
        for turn in range(100):
            w = w * 0.5
            w += b
            w -= turn
        wholes = [code for code in codes if len(code.instructions) > 1]
        # The first stretch begins with what stands before the loop.
        assert len(set(wholes[1:-1])) == 1
        assert len(wholes[1].instructions) % 3 == 0
    expected = 3.0
    for turn in range(100):
        expected = expected * 0.5 + 1 - turn
    np.testing.assert_allclose(w.asnumpy(), expected, rtol=1e-6)


_PICK = st.tuples(st.sampled_from(["broadcast_add", "broadcast_mul"]), st.integers(0, 3))


@given(st.lists(_PICK, max_size=20), st.lists(_PICK, min_size=1, max_size=9), st.integers(0, 60))
def test_the_period_of_a_stream(lead, body, length):
    """Against trying every length, on a loop after something else, cut anywhere."""
    stream = (lead + body * 60)[: len(lead) + length]
    # Operands: an earlier result, so many results ago, or the same input each time.
    made = [
        (get(name).bind({})[0], (place - back if back else ~0, ~0))
        for place, (name, back) in enumerate(stream, 3)
    ]
    begin = [(get("sin").bind({})[0], (~number,)) for number in range(3)]
    tokens = [("sin", "new")] * 3 + stream
    tail = tokens[len(tokens) // 2 :]
    fits = [p for p in range(1, len(tail) // 2 + 1) if tail[p:] == tail[: len(tail) - p]]
    assert period_of([*begin, *made]) == (fits[0] if fits else 0)


def test_a_producer_is_held_back():
    """XLA takes no more than 32 programs of a device at a time: dispatching one more waits."""
    x = nd.full((700, 700), 1e-3)
    made, most = [], 0
    for _ in range(80):
        made.append(nd.dot(x, x))
        recorder.mark()
        most = max(most, sum(not one.read().array.is_ready() for one in made))
    assert most <= 40
    assert all(np.allclose(one.asnumpy(), 7e-4) for one in made)


def test_dropped_temporaries_never_exist():
    size = next(SIZES)
    x = nd.array(np.arange(size))
    dead = []

    def run():
        y = x + 1
        z = y * 2
        dead.append(weakref.ref(y.read()))
        del y
        return z

    for _ in range(3):
        z = run()
        np.testing.assert_array_equal(z.asnumpy(), (np.arange(size) + 1) * 2)
        assert count_arrays(size) == 2
        assert dead.pop()() is None
        settle()
        del z
    z = heat(run)
    assert count_arrays(size) == 2
    # And the compiled program has one output.
    (code,) = [
        code
        for code in [one.code for one in cache.programs()]
        if code.input_types == (x.type,) and len(code.instructions) == 2
    ]
    assert len(code.outputs) == 1
    del z


def test_what_nobody_refers_to_is_not_computed():
    x = nd.ones((3,))
    settle()
    before = launches()
    failing()(x)
    x * 2
    nd.waitall()
    assert launches() == before


def test_values_are_overwritten_by_assignment():
    size = next(SIZES)
    x = nd.zeros((size,))
    for number in range(5):
        x[:] = number
    y = x + 1
    assert (y.asnumpy() == 5).all()
    assert count_arrays(size) == 2


# Cold and hot


def assert_hot(function: Callable[[], Any]) -> Any:
    before = cache.statistics()
    result = function()
    nd.waitall()
    after = cache.statistics()
    assert after.cold == before.cold
    assert after.hot > before.hot
    return result


def test_cold_and_hot_give_the_same():
    x, w = nd.array(np.linspace(-1, 1, 12).reshape(3, 4)), nd.array(np.ones((4, 2)) * 0.3)
    w.attach_grad()

    def run():
        with autograd.record():
            h = nd.dot(x, w).tanh() + x[:, 1:2]
            loss = (h * h).sum() / 3
        loss.backward()
        part = w.grad[1:3]
        part *= 2
        return [one.asnumpy() for one in (loss, h, w.grad, part)]

    first = run()
    hot = heat(run)
    assert_hot(run)
    before = cache.statistics().compilations
    w[:] = w * 1
    for a, b, c in zip(first, hot, run(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
        np.testing.assert_allclose(a, c, rtol=1e-6)
    assert cache.statistics().compilations <= before + 2  # the assignment's own


def test_numbers_are_inputs_of_a_program():
    w = nd.ones((5,))

    def step(rate):
        w[:] = w - rate * w
        w.wait_to_read()

    for rate in (0.5, 0.25, 0.125):
        step(rate)
        settle()
    before = cache.statistics().compilations
    for rate in (0.1, 1e-9, 3, 1e30, -2.5):
        step(rate)
    assert cache.statistics().compilations == before


def test_a_number_reaches_float64_arrays_whole():
    x = nd.array([1.0], dtype="float64")
    for _ in range(3):
        y = x * 0.1 + 1e-17
        assert y.asnumpy()[0] == 1.0 * 0.1 + 1e-17
        settle()


def test_numbers_that_come_again_are_told_apart():
    """Each of them twice in a row, and among more than are remembered."""
    x = nd.array([1.0, -2.0], dtype="float64")
    for number in (0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, True, *range(300), 0.0, -0.0, 299):
        for _ in range(2):
            given = x.asnumpy() * number
            found = (x * number).asnumpy()
            np.testing.assert_array_equal(found, given)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(given))


def code_of(size: int, count: int) -> Code:
    """The structure of adding 1 to an array of some size, some times over."""
    segment = Segment(cpu(0))
    x = nd.zeros((size,))
    x.wait_to_read()
    value = x.read()
    for _ in range(count):
        (value,) = segment.append(Act(lambda: None), (value,), (), (x.type,))
    segment.live = [value]
    return segment.code()


@pytest.mark.slow
def test_the_cache_is_bounded_in_programs_and_in_instructions():
    bounded = ProgramCache(capacity=3, instructions=100)
    for size in range(1, 9):
        (result,) = bounded.run(code_of(size, 1), [jax.numpy.zeros(size)], [])
        np.testing.assert_array_equal(result, np.ones(size))
        assert bounded.statistics().size <= 3
    bounded = ProgramCache(capacity=100, instructions=10)
    for count in range(2, 9):
        (result,) = bounded.run(code_of(3, count), [jax.numpy.zeros(3)], [])
        np.testing.assert_array_equal(result, np.full(3, count))
        assert sum(len(one.code.instructions) for one in bounded.programs()) <= 10
    bounded.clear()
    assert bounded.statistics().size == 0


def test_a_structure_that_does_not_compile_runs_step_by_step(monkeypatch):
    compile_one = Maker._compile

    def compile_alone(self, program):
        if len(program.code.instructions) > 1:
            raise ValueError("too long")
        return compile_one(self, program)

    monkeypatch.setattr(Maker, "_compile", compile_alone)
    x = nd.ones((11,))
    for _ in range(4):
        y = (x * 2 + 1) * 3
        np.testing.assert_array_equal(y.asnumpy(), np.full(11, 9))
        settle()  # the failed compilation is nobody's error


# Donation


@pytest.mark.compiled
def test_an_update_in_place_reuses_the_memory():
    w, g = nd.zeros((5000,)), nd.ones((5000,))

    def step():
        w.__isub__(0.5 * g)

    heat(step)
    place = address(w)
    for _ in range(5):
        step()
        assert address(w) == place
    assert (w.asnumpy() == -0.5 * 10).all()


@pytest.mark.compiled
def test_an_update_of_a_part_reuses_the_memory():
    w = nd.zeros((50, 100))

    def step():
        w[3] += 1
        w[:, 2] = 5

    heat(step)
    place = address(w)
    step()
    assert address(w) == place
    assert w.asnumpy()[3, 5] == 6


def test_asnumpy_does_not_stop_reuse_nor_change():
    w = nd.zeros((5000,))
    seen = []

    def step():
        w.__iadd__(1)
        seen.append(w.asnumpy())

    heat(step)
    step()
    for number, one in enumerate(seen):
        assert (one == number + 1).all()


def hold_in_array(w):
    held = nd.zeros(w.shape)
    held[:] = w
    return held.asnumpy


def hold_on_tape(w):
    x = nd.ones(w.shape)
    x.attach_grad()
    with autograd.record():
        y = x * w

    def read():
        y.backward(retain_graph=True)
        return x.grad.asnumpy()

    return read


def hold_in_another_segment(w):
    entered, leave = threading.Event(), threading.Event()
    result = []

    def other():
        y = w * 1
        entered.set()
        assert leave.wait(60)
        result.append(y.asnumpy())

    thread = threading.Thread(target=other)
    thread.start()
    assert entered.wait(60)

    def read():
        leave.set()
        thread.join()
        return result[0]

    return read


def hold_as_export(w):
    host = np.from_dlpack(w)
    return lambda: host


def hold_as_jax_array(w):
    array = w.to_jax()
    return lambda: np.asarray(array)


def hold_for_another_context(w):
    copied = w.as_in_context(cpu(1))
    return copied.asnumpy


def hold_in_recording(w):
    # Pending in the very segment that overwrites it.
    y = w * 1
    return y.asnumpy


def hold_for_a_host_task(w):
    gate = threading.Event()
    late = host_task(np.ones(w.shape, np.float32), gate)
    y = w * late

    def read():
        gate.set()
        return y.asnumpy()

    return read


def hold_for_iteration(w):
    rows = list(w.reshape((5, -1)))
    joined = nd.concat(*rows, dim=0)
    return joined.asnumpy


HOLDS = [
    hold_in_array,
    hold_on_tape,
    hold_in_another_segment,
    hold_as_export,
    hold_as_jax_array,
    hold_for_another_context,
    hold_in_recording,
    hold_for_a_host_task,
    hold_for_iteration,
]


@pytest.mark.compiled
@pytest.mark.parametrize("hold", HOLDS)
def test_memory_that_somebody_holds_is_not_reused(hold):
    w = nd.zeros((5000,))

    def step():
        w.__iadd__(1)
        w.__imul__(2)

    heat(step)
    assert_hot(step)
    expected = w.asnumpy()
    read = hold(w)
    for _ in range(3):
        step()
        recorder.mark()
    np.testing.assert_array_equal(read(), expected)
    for _ in range(3):
        expected = (expected + 1) * 2
    np.testing.assert_array_equal(w.asnumpy(), expected)


# Of a mebibyte: what is smaller is not worth being taken over by what does not read it.
LARGE = (5 << 16,)


def counting():
    """Two arrays, and a step that adds one to the first and overwrites the second with twice it."""
    count = nd.zeros(LARGE)
    written = nd.zeros(LARGE)

    def step():
        count.__iadd__(1)
        written[:] = count * 2

    return count, written, step


@pytest.mark.compiled
def test_what_is_overwritten_unread_gives_its_memory():
    count, written, step = counting()
    heat(step)
    place = address(written)
    for _ in range(5):
        step()
        assert address(written) == place
    assert (written.asnumpy() == 2 * count.asnumpy()).all()


@pytest.mark.compiled
def test_what_is_overwritten_often_gives_its_memory():
    count, written, _ = counting()

    def step():
        count.__iadd__(1)
        written[:] = 0
        written[:] = count + 1
        written[:] = count * 2

    heat(step)
    place = address(written)
    step()
    assert address(written) == place
    assert (written.asnumpy() == 2 * count.asnumpy()).all()


@pytest.mark.compiled
@pytest.mark.parametrize("hold", HOLDS)
def test_memory_overwritten_unread_that_somebody_holds_is_not_reused(hold):
    count, written, step = counting()
    heat(step)
    assert_hot(step)
    expected = written.asnumpy()
    read = hold(written)
    for _ in range(3):
        step()
        recorder.mark()
    np.testing.assert_array_equal(read(), expected)
    np.testing.assert_array_equal(written.asnumpy(), 2 * count.asnumpy())


def test_an_array_that_is_overwritten_is_dropped_where_nothing_runs():
    """A failure keeps nothing of what was overwritten."""
    written = nd.zeros(LARGE)
    written.wait_to_read()
    old = weakref.ref(written.read().array)
    written[:] = failing()(nd.ones(LARGE))
    with pytest.raises(OpError):
        written.wait_to_read()
    gc.collect()
    assert old() is None


def test_two_arrays_with_one_value_are_updated_apart():
    a = nd.zeros((5000,))
    b = nd.zeros((5000,))

    def step():
        b[:] = a
        a.__iadd__(1)
        b.__isub__(1)

    for number in range(6):
        step()
        settle()
        assert (a.asnumpy() == number + 1).all()
        assert (b.asnumpy() == number - 1).all()


def test_the_same_array_twice_in_one_operator():
    x = nd.full((5000,), 3)

    def step():
        x.__imul__(x)
        x[:] = x / 3

    heat(step)
    assert (x.asnumpy() == 3).all()


# Errors


def test_an_error_is_kept_and_raised_at_each_wait():
    x = nd.ones((3,))
    y = failing(name="boom")(x)
    with pytest.raises(OpError, match=r"boom on cpu\(0\) failed: no such thing") as caught:
        y.asnumpy()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    for wait in (y.wait_to_read, y.asnumpy, y.asscalar if y.size == 1 else y.tolist):
        with pytest.raises(OpError, match="boom"):
            wait()
    np.testing.assert_array_equal((x + 1).asnumpy(), [2, 2, 2])


def test_a_failure_takes_only_what_depends_on_it():
    x = nd.ones((3,))
    before = x * 2
    bad = failing(name="boom")(before)
    worse = bad + x
    after = before + 1
    np.testing.assert_array_equal(after.asnumpy(), [3, 3, 3])
    np.testing.assert_array_equal(before.asnumpy(), [2, 2, 2])
    for one in (bad, worse, worse * 2):
        with pytest.raises(OpError, match="boom"):
            one.asnumpy()
    # An array that was overwritten is well again.
    worse[:] = 4
    np.testing.assert_array_equal((worse + after).asnumpy(), [7, 7, 7])


def test_waitall_raises_what_nobody_has_seen_once():
    y = failing(name="boom")(nd.ones((3,)))
    with pytest.raises(OpError, match="boom"):
        nd.waitall()
    nd.waitall()
    with pytest.raises(OpError, match="boom"):
        y.asnumpy()
    nd.waitall()


def test_who_was_told_of_one_error_is_not_told_of_older_ones_by_waitall():
    kept, dropped = (failing(name=name)(nd.ones((3,))) for name in ("kept", "dropped"))
    held = failing(name="held")(nd.ones((3,)))
    del dropped
    with pytest.raises(OpError, match="kept"):
        kept.asnumpy()
    nd.waitall()
    with pytest.raises(OpError, match="held"):
        held.asnumpy()
    later = failing(name="later")(nd.ones((3,)))
    with pytest.raises(OpError, match="later"):
        nd.waitall()
    assert later.shape == (3,)


def test_an_error_crosses_segments_threads_and_contexts():
    y = failing(name="boom")(nd.ones((3,)))
    recorder.mark()
    z = y + 1
    with pytest.raises(OpError, match="boom"):
        in_thread(lambda: (z * 2).asnumpy())
    with pytest.raises(OpError, match="boom"):
        y.as_in_context(cpu(1))
    fine = nd.ones((3,)) + 1
    mixed = z + fine
    np.testing.assert_array_equal(fine.asnumpy(), [2, 2, 2])
    with pytest.raises(OpError, match="boom"):
        mixed.asnumpy()


def test_the_error_of_a_host_task_arrives_with_its_name():
    y = host_task(np.zeros(3, np.float32), fail="disk on fire") * 2
    fine = nd.ones((3,)) * 2
    with pytest.raises(OpError, match="reader failed: disk on fire"):
        y.asnumpy()
    np.testing.assert_array_equal(fine.asnumpy(), [2, 2, 2])


def test_a_bad_shape_raises_at_the_line_and_leaves_the_segment_well():
    x = nd.ones((3,))
    y = x + 1
    with pytest.raises(ShapeError):
        y + nd.ones((4,))
    np.testing.assert_array_equal((y * 2).asnumpy(), [4, 4, 4])


def test_an_interrupt_while_launching_loses_nothing():
    """What was recorded is launched by whoever needs it next; weights are updated in place."""
    interrupts = [KeyboardInterrupt()]

    def act() -> None:
        if interrupts:
            raise interrupts.pop()

    w = nd.ones((3,))
    w += Act(act, "slow")(w * 2)
    with pytest.raises(KeyboardInterrupt):
        w.asnumpy()
    np.testing.assert_array_equal(w.asnumpy(), [4, 4, 4])
    np.testing.assert_array_equal((nd.ones((3,)) + 1).asnumpy(), [2, 2, 2])
    nd.waitall()


def test_an_interrupt_after_the_dispatch_loses_nothing(monkeypatch):
    """XLA has taken over the old memory by then: what it gave is put in its place."""

    def step():
        w[:] = w * 2 + 1

    w = nd.zeros((4,))
    for _ in range(4):
        step()
        settle()
    dispatch = launch_module._dispatch

    def interrupted(segment):
        monkeypatch.setattr(launch_module, "_dispatch", dispatch)
        dispatch(segment)
        raise KeyboardInterrupt

    step()
    monkeypatch.setattr(launch_module, "_dispatch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        nd.waitall()
    np.testing.assert_array_equal(w.asnumpy(), [31, 31, 31, 31])


def test_an_interrupt_while_recording():
    """A KeyboardInterrupt between any two lines of an append leaves the segment as it was."""
    x, y = nd.ones((3,)), nd.full((3,), 5)
    nd.waitall()
    before = x + y

    class Interrupting(tuple):
        def __iter__(self):
            yield x.type
            raise KeyboardInterrupt

    z = nd.full((3,), 7)
    z.wait_to_read()
    call, scalars = get("_plus_scalar").bind({"scalar": 2.0})
    with pytest.raises(KeyboardInterrupt):
        recorder.record(cpu(0), call, (z.read(),), scalars, Interrupting())
    after = (before + 1) * y + z
    np.testing.assert_array_equal(before.asnumpy(), [6, 6, 6])
    np.testing.assert_array_equal(after.asnumpy(), [42, 42, 42])


def test_finalizers_may_record():
    """The garbage collector runs them in the middle of recording, and of launching."""
    count, total = 0, nd.zeros((2,))

    class Counted:
        def __init__(self):
            self.cycle = self

        def __del__(self):
            nonlocal count, total
            count += 1
            total = total + 1
            if count % 3 == 0:
                total += 0

    threshold = gc.get_threshold()
    gc.set_threshold(20)
    try:
        x = nd.zeros((2,))
        for number in range(1500):
            Counted()
            x = x + 1
            x += 1
            if number % 50 == 0:
                x.wait_to_read()
    finally:
        gc.set_threshold(*threshold)
    while count < 1500:  # while another thread collects, this does nothing
        gc.collect()
    assert (x.asnumpy() == 3000).all()
    assert (total.asnumpy() == 1500).all()


@pytest.mark.parametrize("synchronous", [False, True])
def test_a_collection_launches_nothing(synchronous):
    """It may have interrupted JAX, or a launch that the thread of what it reads waits for."""
    settle()  # while another thread collects, gc.collect() does nothing
    mine = nd.ones((2,)) + 1
    theirs = in_thread(lambda: nd.ones((2,)) * 3)
    made = []

    class Summed:
        def __init__(self):
            self.cycle = self

        def __del__(self):
            made.append((made[-1] if made else mine) + theirs)
            made[-1] += mine

    def collected():
        Summed()
        gc.collect()
        return made[-1]

    with naive() if synchronous else nullcontext():
        pending = [is_pending(one) for one in (mine, theirs)]  # the switch launches everything
        first = collected()
        later = mine * 2
        assert [is_pending(one) for one in (mine, theirs)] == pending
        assert is_pending(first)
        between = first * later
        second = collected()
        assert is_pending(second)
        assert (second * between).asnumpy().tolist() == [12 * 28] * 2
    assert [one.asnumpy().tolist() for one in made] == [[7, 7], [12, 12]]


def test_errors_do_not_keep_what_the_waiter_held():
    y = failing()(nd.ones((3,)))

    class Held:
        pass

    def wait():
        held = Held()
        refs.append(weakref.ref(held))
        with pytest.raises(OpError):
            y.asnumpy()

    refs: list[Any] = []
    for _ in range(4):
        wait()
    gc.collect()
    # The first wait is part of the error's story: it ran the program.
    assert [ref() for ref in refs[1:]] == [None] * 3


# Host tasks


def test_what_waits_for_a_host_task_does_not_hold_up_the_user():
    gate = threading.Event()
    late = host_task(np.arange(3, dtype=np.float32), gate)
    y = (late + 1) * 2
    recorder.mark()
    z = y + late
    recorder.mark()
    assert is_pending(z)
    assert (nd.ones((2,)) + 1).asnumpy()[0] == 2
    gate.set()
    np.testing.assert_array_equal(z.asnumpy(), (np.arange(3) + 1) * 2 + np.arange(3))


def test_values_that_wait_for_tasks_may_be_dropped():
    gate = threading.Event()
    late = host_task(np.zeros(3, np.float32), gate)
    y = late + 1
    recorder.mark()
    dead = weakref.ref(y.read())
    del y, late
    gate.set()
    settle()
    gc.collect()
    assert dead() is None


# Threads


def test_threads_use_each_others_pending_arrays():
    """Two threads build on what the other has recorded and not launched."""
    barrier = threading.Barrier(2, timeout=60)
    boxes = [nd.zeros((4,)), nd.zeros((4,))]
    problems: list[BaseException] = []

    def run(me: int) -> None:
        try:
            for _ in range(20):
                mine = boxes[me] + 1
                barrier.wait()
                boxes[me] = mine
                barrier.wait()
                other = boxes[1 - me]
                joined = other * 1 + mine - mine
                barrier.wait()
                boxes[me] = joined
                barrier.wait()
        except BaseException as error:
            problems.append(error)
            barrier.abort()

    threads = [threading.Thread(target=run, args=(me,)) for me in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not problems
    for box in boxes:
        np.testing.assert_array_equal(box.asnumpy(), np.full(4, 20))


def test_in_place_updates_of_many_threads_all_count():
    total = nd.zeros((8, 3))
    rounds = 25

    def work(me: int) -> None:
        row = total[me]
        for number in range(rounds):
            row += 1
            total[7] += 1
            nd.broadcast_add(total[6], nd.ones((1,)), out=total[6])
            total[5, :] = me
            if number % 10 == 0:
                row.asnumpy()

    threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    result = total.asnumpy()
    np.testing.assert_array_equal(result[:4], np.full((4, 3), rounds))
    np.testing.assert_array_equal(result[6:], np.full((2, 3), 4 * rounds))
    assert result[5].min() == result[5].max() <= 3


def test_equal_types_and_calls_are_one_object_between_threads():
    row = get("Reshape")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for trial in range(20):
            barrier = threading.Barrier(3, timeout=60)
            found: list[list[Any]] = []

            def make(trial=trial, barrier=barrier, found=found) -> None:
                barrier.wait()
                types = [tensor_type((trial, 77001, k), np.dtype("int8")) for k in range(30)]
                calls = [row.bind({"shape": (trial, 77001, k)})[0] for k in range(30)]
                found.append([*types, *calls])

            threads = [threading.Thread(target=make) for _ in range(3)]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
            for same in zip(*found, strict=True):
                assert len({id(one) for one in same}) == 1
    finally:
        sys.setswitchinterval(interval)


def test_threads_draw_different_random_numbers():
    def draw() -> list[float]:
        return [float(nd.random.uniform()) for _ in range(10)]

    results: list[list[float]] = []
    threads = [threading.Thread(target=lambda: results.append(draw())) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    drawn = [number for one in results for number in one]
    assert len(set(drawn)) == 30


def test_what_a_thread_has_recorded_outlives_it():
    y = in_thread(lambda: nd.ones((3,)) + 1)
    assert is_pending(y)
    np.testing.assert_array_equal((y * 2).asnumpy(), [4, 4, 4])


def test_recording_is_each_threads_own():
    with autograd.record():
        assert not in_thread(autograd.is_recording)
        assert autograd.is_recording()


# Naive


def test_naive_runs_at_once_and_raises_at_the_line():
    with naive():
        x = nd.ones((3,))
        y = x + 1
        assert not is_pending(y)
        with pytest.raises(OpError, match="boom"):
            failing(name="boom")(x)
        y += 1
        y[1:] = 0
        np.testing.assert_array_equal(y.asnumpy(), [3, 0, 0])


# Memory


def test_memory_stays_flat():
    size = next(SIZES)
    x, w = nd.ones((size,)), nd.zeros((size,))
    w.attach_grad()

    def step():
        with autograd.record():
            loss = ((x * w - 1) ** 2).mean()
        loss.backward()
        w.__isub__(0.1 * w.grad)
        if step.count % 7 == 0:
            loss.asnumpy()
        step.count += 1

    step.count = 0
    for _ in range(30):
        step()
    settle()
    gc.collect()
    arrays, objects = count_arrays(size), len(gc.get_objects())
    programs = cache.statistics().size
    for _ in range(210):
        step()
    settle()
    gc.collect()
    assert count_arrays(size) == arrays
    assert cache.statistics().size == programs
    assert len(gc.get_objects()) - objects < 100


def test_a_kept_loss_does_not_keep_its_network():
    size = next(SIZES)
    w = nd.ones((size,))
    w.attach_grad()
    losses = []
    for _ in range(5):
        with autograd.record():
            h = w * 2
            losses.append((h * h).sum())
        losses[-1].backward()
        del h
    nd.waitall()
    assert count_arrays(size) == 2  # w and its gradient
    nodes = sum(type(one).__name__ == "TapeNode" for one in gc.get_objects())
    assert nodes <= 6


def test_very_long_recordings_and_tapes(monkeypatch):
    # Step by step throughout: XLA would take minutes to compile thousands of operators at once.
    monkeypatch.setattr(cache, "decide", never_whole)
    x = nd.ones((2,))
    x.attach_grad()
    with autograd.record():
        y = x
        for _ in range(3000):
            y = y + 1
    y.backward()
    assert y.asnumpy()[0] == 3001
    assert x.grad.asnumpy()[0] == 1
    with autograd.record():
        z = x
        for _ in range(30000):
            z = z + 1
    del z, y  # thirty thousand links of one chain go at once


def test_a_traced_value_that_escaped_is_refused():
    from hybridnet.runtime.record.trace import Trace

    x = nd.ones((3,))
    with Trace():
        inside = x + 1
    for use in (inside.asnumpy, lambda: inside + 1, lambda: inside.copyto(cpu(1))):
        with pytest.raises(MXNetError, match="belongs to a traced function"):
            use()


@pytest.mark.parametrize(
    "change",
    [
        lambda x, y: y.__iadd__(x),
        lambda x, y: nd.broadcast_add(x, y, out=y),
        lambda x, y: y.__setitem__(slice(1, 3), x[1:3]),
        lambda x, y: nd.sgd_update(y, x, lr=0.1),
        lambda x, y: y.assign(x),
    ],
)
def test_no_other_thread_is_waited_for_while_an_array_is_changed(monkeypatch, change):
    x, y = nd.ones((4,)), nd.zeros((4,))
    nd.waitall()
    x += 1  # pending in this thread's segment
    holders: list[bool] = []
    launch = recorder.launch

    def noted(segment):
        holders.append(storage.in_place._is_owned())
        launch(segment)

    monkeypatch.setattr(recorder, "launch", noted)
    monkeypatch.setattr(recorder, "several", False)
    monkeypatch.setattr(recorder, "_threads", set())
    nd.zeros((1,)).wait_to_read()  # this thread is the first one that records
    x += 1
    holders.clear()

    def work():
        (nd.ones((2,)) + 1).wait_to_read()
        change(x, y)

    in_thread(work)
    assert holders
    assert not any(holders)


def test_only_what_a_segment_reads_is_known_as_what_it_overwrites():
    """An array that is freed gives its id to the next, which would be given another's memory."""
    kept, dropped = nd.ones((16,)), nd.zeros((16,))
    settle()
    old = kept.storage.value.array
    kept[:] = kept - 1
    kept[:] = kept * 2
    dropped[:] = kept + 1
    dropped[:] = dropped + 1
    assert kept.storage.value.over == id(old)
    assert dropped.storage.value.over == 0
    np.testing.assert_array_equal(dropped.asnumpy(), np.full(16, 2, "float32"))
