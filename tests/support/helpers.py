"""Small functions that several test files share."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import jax
import numpy as np
import pytest
from traced import Traced, quick, types_of

from hybridnet import engine, nd
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.call import Backward, Call
from hybridnet.ops.core.handle import Operand
from hybridnet.ops.core.registry import get
from hybridnet.ops.random.state import initial_state
from hybridnet.runtime.record import at_once, recorder, waiting

T = TypeVar("T")


def thorough(nightly: T, usual: T) -> T:
    """How many random examples a test tries, or which: as many as there is time for.

    Args:
        nightly: where HYBRIDNET_TEST_NIGHTLY is set, as a run of hours does; it needs
            ``pytest --timeout 0`` as well.
        usual: anywhere else.
    """
    return nightly if os.environ.get("HYBRIDNET_TEST_NIGHTLY") else usual


def run_call(
    call: Call, arrays: Sequence[Any], scalars: Sequence[float], platform: str = "cpu"
) -> list[np.ndarray[Any, Any]]:
    """Infers, compiles and runs one call; its outputs must have the inferred types."""
    arrays = [np.asarray(one) for one in arrays]
    inferred = call.infer(tuple(tensor_type(one.shape, one.dtype) for one in arrays))
    numbers = [np.float64(one) for one in scalars]
    with jax.enable_x64(True):
        run = jax.jit(lambda a, s: tuple(call.lower(platform, a, s)), compiler_options=quick())
        outputs = run(arrays, numbers)
    outputs = [np.asarray(one) for one in outputs]
    assert [(one.shape, one.dtype) for one in outputs] == [
        (one.shape, one.dtype) for one in inferred
    ]
    return outputs


def run_op(
    name: str, *arrays: Any, train: bool | None = None, seed: int = 0, **attrs: Any
) -> list[np.ndarray[Any, Any]]:
    """Runs an operator; returns all its outputs, hidden ones and a new random state too."""
    call, scalars = get(name).bind(attrs, train)
    inputs = [*arrays, initial_state(seed)] if call.takes_state else list(arrays)
    return run_call(call, inputs, scalars)


class Value(Operand):
    """An operand that computes at once: enough to run gradient rules without an ndarray."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)

    @classmethod
    def apply_call(cls, call: Call, inputs: Sequence[Any], scalars: tuple[Any, ...]) -> list[Any]:
        return [cls(one) for one in run_call(call, [one.array for one in inputs], scalars)]

    @classmethod
    def apply_operator(
        cls, op: Any, inputs: Sequence[Any], attrs: Any, *, name: Any = None, out: Any = None
    ) -> Any:
        call, scalars = op.bind(attrs)
        outputs = cls.apply_call(call, inputs, scalars)
        return outputs[0] if call.num_visible == 1 else outputs[: call.num_visible]

    @property
    def inferred_dtype(self) -> np.dtype[Any]:
        return self.array.dtype


def run_gradient(
    name: str,
    *arrays: Any,
    heads: Sequence[Any | None],
    train: bool | None = None,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
    **attrs: Any,
) -> list[np.ndarray[Any, Any] | None]:
    """Runs an operator's gradient rule; `heads` are the gradients of its first outputs.

    Its parameters are `attrs`, or `params` where one has the name of another argument.
    """
    call, scalars = get(name).bind(attrs if params is None else params, train)
    inputs = [Value(one) for one in arrays]
    if call.takes_state:
        inputs.append(Value(initial_state(seed)))
    if call.no_gradient:
        return [None] * len(inputs)
    outputs = Value.apply_call(call, inputs, scalars)
    grads = [None if one is None else Value(one) for one in heads]
    grads += [None] * (len(outputs) - len(grads))
    back = Backward(call, inputs, outputs, grads, scalars, [True] * len(inputs))
    return [None if one is None else one.array for one in call.gradient(back)]


def numeric_gradient(
    function: Callable[..., Any], arrays: Sequence[Any], which: int, step: float = 1e-6
) -> np.ndarray[Any, Any]:
    """Central differences of a scalar function of float64 arrays, along each element of one."""
    arrays = [np.array(one, copy=True) for one in arrays]
    target = arrays[which]
    grad = np.zeros_like(target)
    for index in np.ndindex(target.shape):
        kept = target[index]
        target[index] = kept + step
        above = float(function(*arrays))
        target[index] = kept - step
        below = float(function(*arrays))
        target[index] = kept
        grad[index] = (above - below) / (2 * step)
    return grad


def assert_gradient(
    name: str,
    *arrays: Any,
    train: bool | None = None,
    outputs: int = 1,
    skip: Sequence[int] = (),
    rtol: float = 1e-5,
    atol: float = 1e-7,
    **attrs: Any,
) -> None:
    """Compares an operator's gradient with a numeric one, for random gradients of its outputs.

    Args:
        name: the operator.
        arrays: its inputs, float64 where a gradient is wanted.
        train: whether it runs in a training pass.
        outputs: how many outputs, from the first, the numeric loss is made of.
        skip: inputs not to compare.
        rtol: relative tolerance.
        atol: absolute tolerance.
        attrs: its parameters.
    """
    call, scalars = get(name).bind(attrs, train)
    state = [initial_state(0)] if call.takes_state else []
    inputs = [np.asarray(one) for one in (*arrays, *state)]
    generator = np.random.default_rng(0)
    made = call.infer(types_of(inputs))[:outputs]
    heads = [generator.normal(size=one.shape) for one in made]
    numbers = [np.float64(one) for one in scalars]
    compared = [
        index
        for index, one in enumerate(inputs[: len(arrays)])
        if index not in skip and one.dtype == np.float64
    ]

    def loss(values: Sequence[Any]) -> Any:
        results = call.lower("cpu", list(values), numbers)[:outputs]
        return sum((one * head).sum() for one, head in zip(results, heads, strict=True))

    # One program for all: compiling takes most of the time that this takes.
    @partial(jax.jit, compiler_options=quick())
    def gradients(values: Sequence[Any], moved: Sequence[Any]) -> Any:
        operands = [Traced(one) for one in values]
        results = Traced.apply_call(call, operands, scalars)
        grads: list[Any] = [Traced(one) for one in heads]
        grads += [None] * (len(results) - len(grads))
        back = Backward(call, operands, results, grads, scalars, [True] * len(operands))
        found = [None if one is None else one.array for one in call.gradient(back)]
        return [found[index] for index in compared], jax.lax.map(loss, moved)

    step = 1e-6
    moved, counts = _moved(inputs, compared, step)
    with jax.enable_x64(True):
        grads, losses = gradients(inputs, moved)
    above, below = np.asarray(losses).reshape(2, -1)
    slopes, start = (above - below) / (2 * step), 0
    for index, got, count in zip(compared, grads, counts, strict=True):
        wanted = slopes[start : start + count].reshape(inputs[index].shape)
        start += count
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)


def _moved(
    arrays: Sequence[np.ndarray[Any, Any]], which: Sequence[int], step: float
) -> tuple[list[np.ndarray[Any, Any]], list[int]]:
    """Copies arrays, each time with another element of some of them moved, up and then down.

    Returns:
        The arrays, stacked, and how many elements each of `which` has.
    """
    counts = [arrays[index].size for index in which]
    total = sum(counts)
    stacks = [np.repeat(one[np.newaxis], 2 * total, axis=0) for one in arrays]
    start = 0
    for index, count in zip(which, counts, strict=True):
        rows = np.arange(start, start + count)
        flat = stacks[index].reshape(2 * total, count)
        flat[rows, np.arange(count)] += step
        flat[total + rows, np.arange(count)] -= step
        start += count
    return stacks, counts


def settle() -> None:
    """Waits for everything, compilations in the background included."""
    nd.waitall()
    engine.wait_for_all()


def heat(function: Callable[[], Any], rounds: int = 5) -> Any:
    """Runs a function until every segment it records runs as one compiled program.

    By the fourth run all are compiled, and take over where a pair of launches begins.

    Returns:
        What its last run returned.
    """
    for _ in range(rounds):
        result = function()
        settle()
    return result


@contextmanager
def computing_at_once(*, anew: bool = False) -> Iterator[None]:
    """A block in which this thread records nothing that NumPy can compute as it is called.

    Args:
        anew: whether each operator counts as one that has not run before for such arrays.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("note_read", "note_launched"):  # what would end it
            patch.setattr(waiting, name, lambda *_: None)
        if anew:
            patch.setattr(at_once, "_met", _Forgetting())
        at_once.thread.seconds, at_once.thread.is_new = 1e9, anew
        yield
    vars(at_once.thread).clear()


class _Forgetting(set[Any]):
    """A set in which nothing is."""

    def __contains__(self, _: object) -> bool:
        return False


@contextmanager
def naive() -> Iterator[None]:
    """A scope in which operators run at once and one by one: nothing large is compiled."""
    was = recorder.set_naive(True)
    try:
        yield
    finally:
        recorder.set_naive(was)


def in_thread(function: Callable[[], Any]) -> Any:
    """Runs a function in a thread of its own; returns its result or raises its error."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def is_in(thread: int, function: Any) -> bool:
    """Whether a thread, given by its ident, is in a function just now."""
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_code is not function.__code__:
        frame = frame.f_back
    return frame is not None


def run_script(script: str, *, timeout: float = 120, **environ: str) -> str:
    """Runs Python code in a process of its own, which must end well and without noise.

    Args:
        script: the code; it is dedented.
        timeout: seconds.
        environ: environment variables to set.

    Returns:
        What it printed.
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environ},
        check=False,
    )
    assert not done.stderr, done.stderr
    assert done.returncode == 0, f"ended with {done.returncode}"
    return done.stdout
