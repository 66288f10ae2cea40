"""Runs random eager programs: on our arrays, in every way they can be run, and on NumPy's.

The programs come from `eager_maker`. NumPy computes in float64, where it is defined: its own views
show what a write through a view must change; where MXNet copies and NumPy does not (a part that is
no single run of memory), the reference copies. Gradients are checked against central differences.
What is random is drawn once, synchronously, and NumPy is given the draws.
"""

from __future__ import annotations

import gc
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from eager_maker import Program, Step

import hybridnet as hn
from hybridnet import autograd, cpu, nd
from hybridnet.base.errors import OpError
from hybridnet.ops.core.call import Backward, Call, Types
from hybridnet.runtime.platform import jax_devices
from hybridnet.runtime.record import recorder

__all__ = [
    "Env",
    "Outcome",
    "apply_ours",
    "compare",
    "compare_exactly",
    "run_ours",
    "run_reference",
    "run_steps",
]

worker = ThreadPoolExecutor(1)


class Env(dict[str, Any]):
    """The arrays of a run by name; one that another thread makes is waited for when it is read.

    Attributes:
        turn: of the loop or the section.
        draws: the random numbers by name and turn.
        errors: what was raised, and at which line.
        finalized: what the finalizers of garbage have computed.
        repeats: whether all turns of a section compute with the same numbers.
    """

    def __init__(
        self, draws: dict[tuple[str, int], Any] | None = None, *, repeats: bool = False
    ) -> None:
        super().__init__()
        self.turn = 0
        self.repeats = repeats
        self.draws = {} if draws is None else draws
        self.errors: list[str] = []
        self.finalized = _Finalized()

    def fork(self, turn: int) -> Env:
        """A copy for a turn of a section."""
        made = Env(self.draws, repeats=self.repeats)
        made.update(self)
        made.turn = 0 if self.repeats else turn
        made.errors = self.errors
        return made

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if isinstance(found, Future):
            found = self[name] = found.result()
        return found


class Outcome:
    """What a run gave: arrays, errors, and the random numbers it drew."""

    def __init__(self, arrays: list[Any], env: Env) -> None:
        self.arrays = arrays
        self.errors = env.errors
        self.draws = env.draws


class _Finalized:
    """What finalizers compute with: as any other code, in place or not."""

    def __init__(self) -> None:
        self.made = self.count = 0
        self.total: Any = None
        self.sum: Any = None

    def make_garbage(self, count: int) -> None:
        if self.total is None:
            self.total, self.sum = nd.zeros((2,)), nd.zeros((2,))
        for _ in range(count):
            self.made += 1
            _Cycle(self)

    def finish(self) -> list[Any]:
        while self.count < self.made:  # while another thread collects, this does nothing
            gc.collect()
        return [] if self.total is None else [self.total.asnumpy(), self.sum.asnumpy()]


class _Cycle:
    def __init__(self, owner: _Finalized) -> None:
        self.owner = owner
        self.cycle = self

    def __del__(self) -> None:
        owner = self.owner
        owner.total = owner.total + 1
        owner.sum += 1
        owner.count += 1


class _Failing(Call):
    """An operation that cannot be computed, which nobody can know before it is tried."""

    num_outputs = num_visible = 1
    num_scalars = 0
    takes_state = False
    name = "failing"

    def infer(self, types: Types) -> Types:
        return types[:1]

    def lower(self, platform: str, operands: Any, scalars: Any) -> Any:
        raise ZeroDivisionError("no such thing")

    def gradient(self, back: Backward) -> Any:
        return [back.grads[0]]


_failing = _Failing()


def _recorded(x: nd.NDArray) -> nd.NDArray:
    x = x.astype("float32").copy()
    x.attach_grad()
    with autograd.record():
        return x * x


def _write_recorded(x: nd.NDArray) -> None:
    x = x.astype("float32").copy()
    x.attach_grad()
    with autograd.record():
        y = x * 2
        y += 1


def _twice(x: nd.NDArray) -> None:
    y = _recorded(x)
    y.backward()
    y.backward()


_WRONG = (5, 7)
# The mistakes by name, each on a line of its own.
_MISTAKES: dict[str, Callable[[nd.NDArray], Any]] = {
    "add": lambda x: nd.elemwise_add(x, nd.ones(_WRONG)),
    "reshape": lambda x: x.reshape(_WRONG),
    "axis": lambda x: x.sum(axis=5),
    "index": lambda x: x[99],
    "dot": lambda x: nd.dot(x, nd.ones(_WRONG)),
    "concat": lambda x: nd.concat(x, nd.ones((5, 7, 2)), dim=0),
    "assign": lambda x: x.__setitem__(slice(None), nd.ones(_WRONG)),
    "iadd": lambda x: x.__iadd__(nd.ones((4, 2, 3))),
    "dtype": lambda x: x.astype("nope"),
    "keyword": lambda x: nd.sum(x, nonsense=1),
    "not_recorded": lambda x: x.detach().backward(),
    "used_up": _twice,
    "recorded_write": _write_recorded,
    "head_shape": lambda x: _recorded(x).backward(nd.ones(_WRONG)),
    "item": lambda x: nd.concat(x, x, dim=0).asscalar(),
}


def _constant(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(seed)
    if dtype == "int32":
        return generator.integers(-3, 4, shape)
    return generator.uniform(-3, 3, shape).astype("float32").astype("float64")


def _number(number: Any, turn: int) -> Any:
    """The number that a step takes in this turn."""
    if isinstance(number, int):
        return (number + turn) % 4 if turn else number
    return number + 0.125 * (turn % 4)


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "r-": lambda a, b: b - a,
    "%": lambda a, b: a % b,
}
_NUMPY_UNARY: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh,
    "sin": np.sin,
    "negative": np.negative,
    "square": np.square,
    "abs": np.abs,
    "relu": lambda x: np.maximum(x, 0),
}


def apply_ours(step: Step, env: Env) -> Any:
    """The result of a step that makes an array."""
    kind, out, *rest = step
    if kind == "unary":
        return getattr(nd, rest[0])(env[rest[1]])
    if kind == "scalar":
        return _BINARY[rest[0]](env[rest[1]], _number(rest[2], env.turn))
    if kind == "binary":
        function = nd.maximum if rest[0] == "max" else _BINARY[rest[0]]
        return function(env[rest[1]], env[rest[2]])
    if kind == "reduce":
        return getattr(env[rest[1]], rest[0])(axis=rest[2])
    if kind == "cast":
        return env[rest[0]].astype(rest[1])
    if kind == "part":
        return env[rest[0]][rest[1]]
    if kind == "reshape":
        return env[rest[0]].reshape(rest[1])
    if kind == "take":
        return env[rest[0]][rest[1]]
    if kind == "travel":
        x = env[rest[0]]
        return x.as_in_context(cpu(1)).as_in_context(x.context)
    if kind == "random":
        drawn = getattr(nd.random, rest[0])(shape=rest[1]).clip(-6, 6)
        if recorder.is_naive():
            env.draws[out, env.turn] = drawn.asnumpy()
        return drawn
    if kind == "offload":
        return worker.submit(_in_worker, env[rest[0]] * 1)
    shape, dtype, seed = rest
    return nd.array(_constant(shape, dtype, seed + env.turn), dtype=dtype)


def _in_worker(x: nd.NDArray) -> nd.NDArray:
    y = nd.tanh(x)
    y += x
    return y


def _apply_numpy(step: Step, env: Env) -> Any:
    kind, _, *rest = step
    if kind == "unary":
        return _NUMPY_UNARY[rest[0]](env[rest[1]])
    if kind == "scalar":
        return _BINARY[rest[0]](env[rest[1]], _number(rest[2], env.turn))
    if kind == "binary":
        function = np.maximum if rest[0] == "max" else _BINARY[rest[0]]
        return function(env[rest[1]], env[rest[2]])
    if kind == "reduce":
        return np.atleast_1d(getattr(env[rest[1]], rest[0])(axis=rest[2]))
    if kind == "cast":
        return env[rest[0]].astype("float64")
    if kind == "part":
        base, key = env[rest[0]], rest[1]
        # With the Ellipsis even one element is an array, and a view.
        part = base[(*key, ...) if isinstance(key, tuple) else (key, ...)]
        part = part.reshape(part.shape or (1,))
        return part if part.flags.c_contiguous else part.copy()
    if kind == "reshape":
        return env[rest[0]].reshape(rest[1])
    if kind == "take":
        return env[rest[0]][rest[1]]
    if kind == "travel":
        return env[rest[0]].copy()
    if kind == "random":
        return env.draws[step[1], env.turn].astype("float64")
    if kind == "offload":
        return np.tanh(env[rest[0]]) + env[rest[0]]
    shape, dtype, seed = rest
    return _constant(shape, dtype, seed + env.turn)


def _change(env: Env, name: str, function: str, value: Any) -> None:
    array = env[name]
    other = env[value] if isinstance(value, str) else value
    if function == "+":
        array += other
    elif function == "-":
        array -= other
    else:
        array *= other


def _put(env: Env, name: str, key: Any, value: Any) -> None:
    source = env[value] if isinstance(value, str) else value
    if isinstance(env[name], np.ndarray):
        source = np.array(source)  # NumPy may write before it has read where the two overlap
        if not isinstance(key, list):
            # With the Ellipsis one element takes a value of shape (1,).
            key = (*key, ...) if isinstance(key, tuple) else (key, ...)
    env[name][key] = source


def run_steps(
    steps: list[Step],
    env: Env,
    seen: list[Any],
    apply: Callable[[Step, Env], Any],
    others: Callable[[Step, Env, list[Any]], Any],
) -> None:
    """Runs steps.

    Args:
        steps: of a program.
        env: the arrays, which they change.
        seen: gets what they read.
        apply: makes the array of a step.
        others: does what else is done in two ways.
    """
    for step in steps:
        kind = step[0]
        if kind == "drop":
            del env[step[1]]
        elif kind == "put":
            _put(env, *step[1:])
        elif kind == "change":
            _change(env, *step[1:])
        elif kind == "loop":
            for env.turn in range(step[1]):
                run_steps(step[2], env, seen, apply, others)
            env.turn = 0
        elif kind == "sometimes":
            if env.turn % step[1] == 0:
                run_steps([step[2]], env, seen, apply, others)
        elif kind in _OTHERS:
            others(step, env, seen)
        else:
            env[step[1]] = apply(step, env)


# What is done in two ways, beside making arrays.
_OTHERS = {
    "train", "read", "mark", "wait", "bad", "poison", "antidote", "elsewhere", "cycles"
}  # fmt: skip


@contextmanager
def before_jax() -> Iterator[None]:
    """A block in which new arrays are as they are before JAX has begun: NumPy's."""
    is_host = jax_devices._is_host
    jax_devices._is_host = lambda ctx: ctx.device_type == "cpu" and not ctx.device_id
    try:
        yield
    finally:
        jax_devices._is_host = is_host


def run_ours(program: Program) -> Outcome:
    """Runs a program on our arrays; returns what it read, and all arrays at its end."""
    env = Env()
    seen: list[Any] = []
    hn.random.seed(7)
    threshold = gc.get_threshold()
    collects = any(step[0] == "cycles" for step in program.steps)
    if collects:
        gc.set_threshold(25, 1000, 1000)
    try:
        run_steps(program.steps, env, seen, apply_ours, _others_ours)
        seen += env.finalized.finish()
    finally:
        gc.set_threshold(*threshold)
    seen = [one.result() if isinstance(one, Future) else one for one in seen]
    seen += [env[name].asnumpy() for name in program.arrays]
    if any(step[0] == "poison" for step in program.steps):
        _wait_all()
    return Outcome(seen, env)


def _wait_all() -> None:
    try:
        nd.waitall()
    except OpError as error:  # of something poisoned that nobody has looked at
        assert isinstance(error.__cause__, ZeroDivisionError), error


def _others_ours(step: Step, env: Env, seen: list[Any]) -> None:
    kind = step[0]
    if kind == "read":
        seen.append(env[step[1]].asnumpy())
    elif kind == "mark":
        {"mark": recorder.mark, "flush_all": recorder.flush_all, "waitall": _wait_all}[step[1]]()
    elif kind == "wait":
        env[step[1]].wait_to_read()
    elif kind == "bad":
        _make_mistake(step, env)
    elif kind == "poison":
        try:
            x = env[step[2]]
            y = nd.NDArray.apply_call(_failing, [x])[0]
            env[step[1]] = y * 2 + x
        except OpError as error:
            env[step[1]] = error
    elif kind == "antidote":
        _look_at(env[step[1]], env)
    elif kind == "elsewhere":
        seen.append(worker.submit((env[step[1]] * 1).asnumpy))
    elif kind == "cycles":
        env.finalized.make_garbage(step[1])
    else:
        _train(step, env, seen)


def _make_mistake(step: Step, env: Env) -> None:
    try:
        _MISTAKES[step[1]](env[step[2]])
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        line = [frame.lineno for frame in frames if frame.filename == __file__][-1]
        env.errors.append(f"{type(error).__name__} at line {line}: {error}")
    else:
        raise AssertionError(f"{step}: nothing was raised")


def _look_at(poisoned: Any, env: Env) -> None:
    try:
        if isinstance(poisoned, OpError):  # it was raised at once
            raise type(poisoned)(*poisoned.args) from poisoned.__cause__
        poisoned.asnumpy()
    except OpError as error:
        env.errors.append(f"{error} because of {error.__cause__!r}")
    else:
        raise AssertionError("an error was lost")


def _train(step: Step, env: Env, seen: list[Any]) -> None:
    """Runs a recorded section in each turn, and its gradient."""
    _, leaf, body, head, grad, req, times, how = step
    x = env[leaf]
    x.attach_grad(req)
    found = x.grad
    for turn in range(times):
        scratch = env.fork(turn)
        with autograd.record():
            run_steps(body, scratch, seen if turn == 0 else [], apply_ours, _others_ours)
            top = scratch[head]
            if how == "heads":
                autograd.backward([top, nd.tanh(x)], [None, nd.full(x.shape, 0.5, dtype=x.dtype)])
            elif how == "retain":
                top.backward(retain_graph=True)
                top.backward()
            elif how == "grad":
                found = autograd.grad(top, [x])[0]
            elif how == "double":
                slope = autograd.grad(top, [x], create_graph=True, retain_graph=True)[0]
                (slope * slope + slope * x).sum().backward()
            else:
                top.backward()
    # What shares a part of a tape that is used up cannot be differentiated later.
    env.update({name: scratch[name].detach() for name in scratch.keys() - env.keys()})
    env[grad] = found.tanh()


def run_reference(program: Program, draws: dict[tuple[str, int], Any]) -> Outcome:
    """Runs a program on NumPy's arrays in float64.

    Args:
        program: the program.
        draws: the random numbers that the synchronous run has drawn.
    """
    env = Env(draws, repeats=program.repeats)
    seen: list[Any] = []
    with np.errstate(divide="ignore"):  # 7 is 0 in some turns, and remainders by it are 0
        run_steps(program.steps, env, seen, _apply_numpy, _others_numpy)
    if env.finalized.made:
        seen += [np.full(2, float(env.finalized.made))] * 2
    return Outcome(seen + [np.array(env[name]) for name in program.arrays], env)


def _others_numpy(step: Step, env: Env, seen: list[Any]) -> None:
    kind = step[0]
    if kind in ("read", "elsewhere"):
        seen.append(np.array(env[step[1]]))
    elif kind == "cycles":
        env.finalized.made += step[1]
    elif kind == "train":
        _train_numpy(step, env, seen)


def _train_numpy(step: Step, env: Env, seen: list[Any]) -> None:
    _, leaf, body, head, grad, req, times, how = step
    summed = np.zeros(env[leaf].shape)
    for turn in range(times):
        scratch = env.fork(turn)
        run_steps(body, scratch, seen if turn == 0 else [], _apply_numpy, _others_numpy)

        def total(value: np.ndarray[Any, Any], turn: int = turn) -> float:
            inner = env.fork(turn)
            inner[leaf] = value
            run_steps(body, inner, [], _apply_numpy, _others_numpy)
            more = 0.5 * np.tanh(value).sum() if how == "heads" else 0.0
            return float(inner[head].sum() + more)

        def penalty(value: np.ndarray[Any, Any], total: Callable[..., float] = total) -> float:
            slope = _central_difference(total, value)
            return float((slope * slope + slope * value).sum())

        if how == "double":
            found = _central_difference(penalty, env[leaf], 1e-3)
        else:
            found = _central_difference(total, env[leaf])
        if how == "retain" and req == "add":
            found *= 2
        summed = summed + found if req == "add" and how != "grad" else found
    env.update({name: scratch[name] for name in scratch.keys() - env.keys()})
    env[grad] = np.tanh(summed)


def _central_difference(
    function: Callable[[np.ndarray[Any, Any]], float], at: np.ndarray[Any, Any], step: float = 1e-5
) -> np.ndarray[Any, Any]:
    grad = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        for sign in (1, -1):
            moved = at.copy()
            moved[index] += sign * step
            grad[index] += sign * function(moved) / (2 * step)
    return grad


def compare(got: Outcome, wanted: Outcome, program: Program) -> None:
    """Raises AssertionError, with the program, where results differ by more than rounding."""
    assert len(got.arrays) == len(wanted.arrays), program
    for number, (ours, reference) in enumerate(zip(got.arrays, wanted.arrays, strict=True)):
        where = f"result {number} of\n{program}"
        assert ours.shape == reference.shape, where
        if ours.dtype.kind == "i":
            np.testing.assert_array_equal(ours, reference, err_msg=where)
        else:
            scale = 1 + float(np.abs(reference).max(initial=0))
            np.testing.assert_allclose(ours, reference, rtol=0, atol=2e-3 * scale, err_msg=where)


def compare_exactly(got: Outcome, wanted: Outcome, program: Program) -> None:
    """Raises AssertionError, with the program, where two runs of the same operators differ."""
    assert got.errors == wanted.errors, program
    assert len(got.arrays) == len(wanted.arrays), program
    for number, (one, other) in enumerate(zip(got.arrays, wanted.arrays, strict=True)):
        where = f"result {number} of\n{program}"
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other, err_msg=where)
