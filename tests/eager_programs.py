"""Random eager programs: made from a seed, run on our arrays and on NumPy's in float64.

A program is a list of steps over named arrays. NumPy's own views show what a write through a view
must change; where MXNet copies and NumPy does not (a part that is no single run of memory), the
reference copies. Gradients are checked against central differences. Numbers stay small, and
functions with a kink stay out of recorded sections, so that float32 and float64 agree. There are
four shapes and few operators, so that most programs find their operators compiled.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hybridnet import autograd, cpu, nd
from hybridnet.runtime import recorder

__all__ = ["Program", "compare", "make_program", "run_ours", "run_reference"]

Step = tuple[Any, ...]
_SHAPES = [(2, 3), (6,), (3,), (1,)]
_SMOOTH = ["tanh", "square"]
_KINKED = [*_SMOOTH, "relu"]
# The dtypes in one program.
_DTYPES = [["float32"], ["float32"], ["float32", "int32"], ["float32", "float64"]]
# Keys whose parts have one of the shapes, by the shape of the array; some views, some not.
_KEYS: dict[tuple[int, ...], list[Any]] = {
    (2, 3): [0, -1, (1, 2), (0, -3), np.s_[:], np.s_[::-1], np.s_[:, ::-1], (slice(None),) * 2],
    (6,): [3, -6, np.s_[:3], np.s_[3:], np.s_[2:5], np.s_[::2], np.s_[::-2], np.s_[::-1]],
    (3,): [0, -1, np.s_[2:], np.s_[:], np.s_[::-1]],
    (1,): [0, np.s_[::-1]],
}
_WIDE = 60.0  # numbers beyond it are squeezed before they are used again


@dataclass
class Program:
    """Steps, and what is known of each named array while they are made.

    Attributes:
        steps: what to do, in order.
        arrays: name -> (shape, dtype, storage number).
        bounds: the largest number that a storage may hold.
    """

    steps: list[Step] = field(default_factory=list)
    arrays: dict[str, tuple[tuple[int, ...], str, int]] = field(default_factory=dict)
    bounds: dict[int, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))


def _promote(a: str, b: str) -> str:
    order = ["int32", "float32", "float64"]
    return max(a, b, key=order.index)


class _Maker:
    """Makes one program."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.dtypes = self.rng.choice(_DTYPES)
        self.program = Program()
        self.count = 0
        # Inside a recorded section: names it made; nothing is changed in place there.
        self.section: list[str] | None = None

    def new(self, shape: tuple[int, ...], dtype: str, bound: float, storage: int = -1) -> str:
        name = f"a{self.count}"
        self.count += 1
        if storage < 0:
            storage = self.count
            self.program.bounds[storage] = bound
        self.program.arrays[name] = (shape, dtype, storage)
        if self.section is not None:
            self.section.append(name)
        return name

    def pick(self, *dtypes: str) -> str | None:
        names = [n for n, (_, t, _) in self.program.arrays.items() if not dtypes or t in dtypes]
        if self.section and self.rng.random() < 0.7:
            made = [name for name in self.section if name in names]
            names = made or names
        return self.rng.choice(names) if names else None

    def bound(self, name: str) -> float:
        return self.program.bounds[self.program.arrays[name][2]]

    def emit(self, *step: Any) -> None:
        self.program.steps.append(step)

    def derived(
        self, name: str, shape: tuple[int, ...], dtype: str, bound: float, *step: Any
    ) -> str:
        """Emits a step that makes an array, and one that squeezes it if it may be large."""
        out = self.new(shape, dtype, bound)
        self.emit(step[0], out, *step[1:])
        if bound > _WIDE:
            if dtype == "int32":
                small = self.new(shape, dtype, 6)
                self.emit("scalar", small, "%", out, 7)
            else:
                small = self.new(shape, dtype, 1)
                self.emit("unary", small, "tanh", out)
            return small
        return out

    # One method for each kind of step.

    def constant(self) -> None:
        shape = self.rng.choice(_SHAPES)
        dtype = self.rng.choice(self.dtypes)
        out = self.new(shape, dtype, 3)
        self.emit("constant", out, shape, dtype, self.rng.randrange(10**6))

    def unary(self) -> None:
        name = self.pick("float32", "float64")
        if name is not None:
            function = self.rng.choice(_SMOOTH if self.section is not None else _KINKED)
            shape, dtype, _ = self.program.arrays[name]
            bound = self.bound(name) ** 2 if function == "square" else self.bound(name)
            self.derived(name, shape, dtype, bound, "unary", function, name)

    def scalar(self) -> None:
        name = self.pick()
        assert name is not None
        shape, dtype, _ = self.program.arrays[name]
        function = self.rng.choice(["+", "-", "*", "r-"])
        number = (
            self.rng.choice([0.5, -1.25, 2.0, 3.0]) if dtype != "int32" else self.rng.randint(-3, 3)
        )
        self.derived(name, shape, dtype, self.bound(name) * 3 + 3, "scalar", function, name, number)

    def binary(self) -> None:
        a, b = self.pick(), self.pick()
        assert a is not None and b is not None
        try:
            shape = np.broadcast_shapes(self.program.arrays[a][0], self.program.arrays[b][0])
        except ValueError:
            return
        dtype = _promote(self.program.arrays[a][1], self.program.arrays[b][1])
        functions = ["+", "-", "*"] if self.section is not None else ["+", "-", "*", "max"]
        function = self.rng.choice(functions)
        x, y = self.bound(a), self.bound(b)
        self.derived(a, shape, dtype, x * y if function == "*" else x + y, "binary", function, a, b)

    def reduce(self) -> None:
        name = self.pick("float32", "float64")
        if name is None:
            return
        shape, dtype, _ = self.program.arrays[name]
        axis = self.rng.choice([None, 0])
        kept = () if axis is None else shape[1:]
        function = self.rng.choice(["sum", "mean"])
        bound = self.bound(name) * (6 if function == "sum" else 1)
        self.derived(name, kept or (1,), dtype, bound, "reduce", function, name, axis)

    def cast(self) -> None:
        name = self.pick()
        assert name is not None
        shape, _, _ = self.program.arrays[name]
        wanted = self.rng.choice([one for one in self.dtypes if one != "int32"])
        self.derived(name, shape, wanted, self.bound(name), "cast", name, wanted)

    def key(self, shape: tuple[int, ...]) -> Any:
        return self.rng.choice(_KEYS[shape])

    def part(self) -> None:
        name = self.pick()
        assert name is not None
        shape, dtype, storage = self.program.arrays[name]
        key = self.key(shape)
        if isinstance(key, slice) and key == slice(None):
            key = (key,)  # ``x[:]`` is x itself: a variable by two names, which NumPy has not
        host = np.zeros(shape)[key]
        view = np.asarray(host).flags.c_contiguous
        out = self.new(np.shape(host) or (1,), dtype, self.bound(name), storage if view else -1)
        self.emit("part", out, name, key)

    def reshape(self) -> None:
        name = self.pick()
        assert name is not None
        shape, dtype, storage = self.program.arrays[name]
        size = int(np.prod(shape))
        wanted = self.rng.choice([one for one in _SHAPES if np.prod(one) == size])
        self.emit("reshape", self.new(wanted, dtype, 0, storage), name, wanted)

    def take(self) -> None:
        name = self.pick()
        assert name is not None
        shape, dtype, _ = self.program.arrays[name]
        index = [self.rng.randrange(-shape[0], shape[0]) for _ in range(shape[0])]
        out = self.new((len(index), *shape[1:]), dtype, self.bound(name))
        self.emit("take", out, name, index)

    def travel(self) -> None:
        name = self.pick()
        assert name is not None
        shape, dtype, _ = self.program.arrays[name]
        self.emit("travel", self.new(shape, dtype, self.bound(name)), name)

    def read(self) -> None:
        self.emit("read", self.pick())

    def mark(self) -> None:
        self.emit("mark")

    def drop(self) -> None:
        if len(self.program.arrays) > 4:
            name = self.rng.choice(list(self.program.arrays))
            del self.program.arrays[name]
            self.emit("drop", name)

    def source(self, dtype: str, shape: tuple[int, ...]) -> tuple[Any, float]:
        """A number, or an array that broadcasts to a shape and whose dtype fits."""
        names = [
            name
            for name, (dims, kind, _) in self.program.arrays.items()
            if (kind == "int32" or dtype != "int32")
            and len(dims) <= len(shape)
            and all(a in (1, b) for a, b in zip(dims[::-1], shape[::-1], strict=False))
        ]
        if names and self.rng.random() < 0.7:
            name = self.rng.choice(names)
            return name, self.bound(name)
        number = self.rng.randint(-3, 3)
        return number, 3

    def put(self) -> None:
        name = self.pick()
        assert name is not None
        shape, dtype, storage = self.program.arrays[name]
        key = self.key(shape)
        value, bound = self.source(dtype, np.shape(np.zeros(shape)[key]) or (1,))
        self.program.bounds[storage] = max(self.bound(name), bound)
        self.emit("put", name, key, value)

    def put_rows(self) -> None:
        name = self.pick()
        assert name is not None
        shape, _, storage = self.program.arrays[name]
        rows = self.rng.sample(range(shape[0]), min(2, shape[0]))
        number = self.rng.randint(-3, 3)
        self.program.bounds[storage] = max(self.bound(name), 3)
        self.emit("put", name, rows, number)

    def change(self) -> None:
        name = self.pick()
        assert name is not None
        shape, dtype, storage = self.program.arrays[name]
        value, bound = self.source(dtype, shape)
        function = self.rng.choice(["+", "-", "*"])
        if isinstance(value, str) and _promote(dtype, self.program.arrays[value][1]) != dtype:
            return
        wide = self.bound(name) * bound if function == "*" else self.bound(name) + bound
        if wide <= _WIDE:
            self.program.bounds[storage] = max(self.bound(name), wide)
            self.emit("change", name, function, value)

    def train(self) -> None:
        """A recorded section, its gradient, and an update of the variable."""
        leaf = self.pick("float32", "float64")
        if leaf is None or self.section is not None:
            return
        shape, dtype, storage = self.program.arrays[leaf]
        before = len(self.program.steps)
        self.section = [leaf]
        for _ in range(self.rng.randint(2, 7)):
            self.rng.choice(_RECORDED)(self)
        # The head depends on the variable, whatever else it depends on.
        mean = self.new((1,), dtype, self.bound(leaf))
        self.emit("reduce", mean, "mean", leaf, None)
        part = self.pick("float32", "float64")
        assert part is not None
        wide, kind, _ = self.program.arrays[part]
        head = self.new(wide, _promote(kind, dtype), self.bound(part) * self.bound(leaf))
        self.emit("binary", head, "*", part, mean)
        body = self.program.steps[before:]
        del self.program.steps[before:]
        made = self.section
        self.section = None
        for name in made[1:]:
            # A part of what is in the section shares a storage that steps outside know nothing of.
            if name != head and self.rng.random() < 0.5:
                del self.program.arrays[name]
                body.append(("drop", name))
        req, times = self.rng.choice([("write", 1), ("write", 2), ("add", 2)])
        grad = self.new(shape, dtype, 1)
        self.emit("train", leaf, body, head, grad, req, times)
        if self.bound(leaf) < _WIDE - 1:
            self.program.bounds[storage] = self.bound(leaf) + 1
            self.emit("change", leaf, "-", grad)


_RECORDED: list[Callable[[_Maker], None]] = [
    _Maker.unary, _Maker.scalar, _Maker.binary, _Maker.binary, _Maker.reduce, _Maker.cast,
    _Maker.part, _Maker.reshape, _Maker.take, _Maker.travel, _Maker.read,
]  # fmt: skip
_STEPS: list[Callable[[_Maker], None]] = [
    *_RECORDED, _Maker.part, _Maker.reshape, _Maker.put, _Maker.put, _Maker.change, _Maker.change,
    _Maker.put_rows, _Maker.drop, _Maker.drop, _Maker.train, _Maker.constant, _Maker.mark,
]  # fmt: skip


def make_program(seed: int, length: int = 30) -> Program:
    """Makes the program of a seed; the same seed gives the same program."""
    maker = _Maker(seed)
    for _ in range(3):
        maker.constant()
    for _ in range(length):
        maker.rng.choice(_STEPS)(maker)
    return maker.program


# Running


def _constant(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(seed)
    if dtype == "int32":
        return generator.integers(-3, 4, shape)
    return generator.uniform(-3, 3, shape).astype("float32").astype("float64")


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


def _apply_ours(step: Step, env: dict[str, Any]) -> Any:
    """The result of a step that makes an array."""
    kind, _, *rest = step
    if kind == "unary":
        return getattr(nd, rest[0])(env[rest[1]])
    if kind == "scalar":
        return _BINARY[rest[0]](env[rest[1]], rest[2])
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
        return env[rest[0]].as_in_context(cpu(1)).as_in_context(cpu(0))
    shape, dtype, seed = rest
    return nd.array(_constant(shape, dtype, seed), dtype=dtype)


def _apply_numpy(step: Step, env: dict[str, Any]) -> Any:
    kind, _, *rest = step
    if kind == "unary":
        return _NUMPY_UNARY[rest[0]](env[rest[1]])
    if kind == "scalar":
        return _BINARY[rest[0]](env[rest[1]], rest[2])
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
    return _constant(*rest)


def _change(env: dict[str, Any], name: str, function: str, value: Any) -> None:
    array = env[name]
    other = env[value] if isinstance(value, str) else value
    if function == "+":
        array += other
    elif function == "-":
        array -= other
    else:
        array *= other


def _put(env: dict[str, Any], name: str, key: Any, value: Any) -> None:
    source = env[value] if isinstance(value, str) else value
    if isinstance(env[name], np.ndarray):
        source = np.array(source)  # NumPy may write before it has read where the two overlap
        if not isinstance(key, list):
            # With the Ellipsis one element takes a value of shape (1,).
            key = (*key, ...) if isinstance(key, tuple) else (key, ...)
    env[name][key] = source


def _run(
    steps: list[Step],
    env: dict[str, Any],
    seen: list[Any],
    apply: Callable[[Step, dict[str, Any]], Any],
    train: Callable[..., Any],
) -> None:
    for step in steps:
        kind = step[0]
        if kind == "read":
            seen.append(
                np.array(
                    env[step[1]].asnumpy() if hasattr(env[step[1]], "asnumpy") else env[step[1]]
                )
            )
        elif kind == "drop":
            del env[step[1]]
        elif kind == "put":
            _put(env, *step[1:])
        elif kind == "change":
            _change(env, *step[1:])
        elif kind == "mark":
            recorder.mark()
        elif kind == "train":
            train(step, env, seen)
        else:
            env[step[1]] = apply(step, env)


def run_ours(program: Program) -> list[np.ndarray[Any, Any]]:
    """Runs a program on our arrays; returns what it read, and all arrays at its end."""
    env: dict[str, Any] = {}
    seen: list[Any] = []

    def train(step: Step, env: dict[str, Any], seen: list[Any]) -> None:
        _, leaf, body, head, grad, req, times = step
        env[leaf].attach_grad(req)
        for round_ in range(times):
            scratch = dict(env)
            with autograd.record():
                _run(body, scratch, seen if round_ == 0 else [], _apply_ours, train)
            scratch[head].backward()
        # What shares a part of a tape that is used up cannot be differentiated later.
        kept = {name: scratch[name].detach() for name in scratch.keys() - env.keys()}
        env.update(kept)
        env[grad] = env[leaf].grad.tanh()

    _run(program.steps, env, seen, _apply_ours, train)
    return seen + [env[name].asnumpy() for name in program.arrays]


def run_reference(program: Program) -> list[np.ndarray[Any, Any]]:
    """Runs a program on NumPy's arrays in float64."""
    env: dict[str, Any] = {}
    seen: list[Any] = []

    def train(step: Step, env: dict[str, Any], seen: list[Any]) -> None:
        _, leaf, body, head, grad, req, times = step
        _run(body, scratch := dict(env), seen, _apply_numpy, train)

        def total(value: np.ndarray[Any, Any]) -> float:
            inner = {**env, leaf: value}
            _run(body, inner, [], _apply_numpy, train)
            return float(inner[head].sum())

        found = _central_difference(total, env[leaf])
        env.update(scratch)
        env[grad] = np.tanh(found * (times if req == "add" else 1))

    _run(program.steps, env, seen, _apply_numpy, train)
    return seen + [np.array(env[name]) for name in program.arrays]


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


def compare(got: list[Any], wanted: list[Any], program: Program) -> None:
    """Raises AssertionError, with the program, where results differ."""
    assert len(got) == len(wanted)
    for number, (ours, reference) in enumerate(zip(got, wanted, strict=True)):
        where = f"result {number} of\n{program}"
        assert ours.shape == reference.shape, where
        if ours.dtype.kind == "i":
            np.testing.assert_array_equal(ours, reference, err_msg=where)
        else:
            scale = 1 + float(np.abs(reference).max(initial=0))
            np.testing.assert_allclose(ours, reference, rtol=0, atol=2e-3 * scale, err_msg=where)
