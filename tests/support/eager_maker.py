"""Makes random eager programs from a seed.

A program is a list of steps over named arrays; `eager_programs` runs it. Numbers stay small, and
functions with a kink stay out of recorded sections, so that float32 and float64 agree. There are
four shapes and few operators, so that most programs find their operators compiled.

Sections and loops are run several times over, with other numbers and constants in each turn.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["BAD", "Program", "Step", "make_program"]

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
#: Mistakes of a user; `eager_programs` makes them.
BAD = [
    "add", "reshape", "axis", "index", "dot", "concat", "assign", "iadd", "dtype", "keyword",
    "not_recorded", "used_up", "recorded_write", "head_shape", "item",
]  # fmt: skip


@dataclass
class Program:
    """Steps, and what is known of each named array while they are made.

    Attributes:
        steps: what to do, in order.
        arrays: name -> (shape, dtype, storage number).
        bounds: the largest number that a storage may hold.
        repeats: whether all turns of a recorded section compute with the same numbers.
    """

    steps: list[Step] = field(default_factory=list)
    arrays: dict[str, tuple[tuple[int, ...], str, int]] = field(default_factory=dict)
    bounds: dict[int, float] = field(default_factory=dict)
    repeats: bool = False

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))


def _promote(a: str, b: str) -> str:
    order = ["int32", "float32", "float64"]
    return max(a, b, key=order.index)


class _Maker:
    """Makes one program."""

    def __init__(self, seed: int, draws: bool) -> None:
        self.rng = random.Random(seed)
        self.draws = draws
        self.dtypes = self.rng.choice(_DTYPES)
        self.program = Program()
        self.count = 0
        # Inside a recorded section: names it made; nothing is changed in place there.
        self.section: list[str] | None = None
        self.poisoned: list[str] = []

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
        self.emit("mark", self.rng.choice(["mark", "flush_all", "waitall"]))

    def wait(self) -> None:
        self.emit("wait", self.pick())

    def random(self) -> None:
        if not self.draws:
            return
        shape = self.rng.choice(_SHAPES)
        out = self.new(shape, "float32", 6)
        self.emit("random", out, self.rng.choice(["uniform", "normal"]), shape)

    def bad(self) -> None:
        self.emit("bad", self.rng.choice(BAD), self.pick())

    def poison(self) -> None:
        """Something that cannot be computed, and later a look at it."""
        name = self.pick()
        out = f"p{self.count}"
        self.count += 1
        self.emit("poison", out, name)
        self.poisoned.append(out)

    def antidote(self) -> None:
        if self.poisoned:
            self.emit("antidote", self.rng.choice(self.poisoned))

    def elsewhere(self) -> None:
        """Another thread reads a result while this one goes on."""
        self.emit("elsewhere", self.pick())

    def offload(self) -> None:
        """Another thread computes with a result, and gives back one that it has not launched."""
        name = self.pick("float32", "float64")
        if name is not None:
            shape, dtype, _ = self.program.arrays[name]
            self.emit("offload", self.new(shape, dtype, self.bound(name) + 2), name)

    def cycles(self) -> None:
        """Garbage whose finalizers compute, whenever the collector runs them."""
        self.emit("cycles", self.rng.randint(1, 20))

    def loop(self) -> None:
        """A raw loop: a variable that each turn changes, and temporaries."""
        start = self.pick("float32", "float64")
        if start is None or self.section is not None:
            return
        shape, dtype, _ = self.program.arrays[start]
        var = self.new(shape, dtype, 3)
        self.emit("unary", var, "tanh", start)
        before = len(self.program.steps)
        self.section = [var]
        for _ in range(self.rng.randint(1, 4)):
            self.rng.choice(_LOOPED)(self)
        last = self.pick("float32", "float64")
        assert last is not None
        total = self.new((1,), self.program.arrays[last][1], 6)
        self.emit("reduce", total, "mean", last, None)
        small = self.new((1,), dtype, 1)
        self.emit("unary", small, "tanh", total)
        if _promote(dtype, self.program.arrays[last][1]) != dtype:
            self.emit("cast", small, small, dtype)
        # Contracting, so that rounding does not grow from turn to turn.
        self.emit("scalar", small, "*", small, 0.125)
        if self.rng.random() < 0.5:
            self.emit("change", var, "*", 0.5)
            self.emit("change", var, "+", small)
        else:
            self.emit("scalar", var, "*", var, 0.5)
            self.emit("binary", var, "+", var, small)
        if self.rng.random() < 0.2:
            self.emit("sometimes", self.rng.randint(2, 9), ("read", var))
        body = self.program.steps[before:]
        del self.program.steps[before:]
        for name in self.section[1:]:
            del self.program.arrays[name]
            body.append(("drop", name))
        if self.rng.random() < 0.5:  # most loops drop a temporary when the next turn makes it anew
            body = [step for step in body if step[0] != "drop"]
        self.section = None
        self.emit("loop", self.rng.choice([3, 8, 20, 40]), body)

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
        req, times = self.rng.choice([("write", 1), ("write", 3), ("add", 2), ("add", 3)])
        how = self.rng.choice(["plain", "plain", "heads", "retain", "grad", "double"])
        grad = self.new(shape, dtype, 1)
        self.emit("train", leaf, body, head, grad, req, times, how)
        if self.bound(leaf) < _WIDE - 1:
            self.program.bounds[storage] = self.bound(leaf) + 1
            self.emit("change", leaf, "-", grad)


_LOOPED: list[Callable[[_Maker], None]] = [
    _Maker.unary, _Maker.scalar, _Maker.binary, _Maker.part, _Maker.reduce, _Maker.constant,
]  # fmt: skip
_RECORDED: list[Callable[[_Maker], None]] = [
    _Maker.unary, _Maker.scalar, _Maker.binary, _Maker.binary, _Maker.reduce, _Maker.cast,
    _Maker.part, _Maker.reshape, _Maker.take, _Maker.travel, _Maker.read, _Maker.constant,
    _Maker.random,
]  # fmt: skip
_STEPS: list[Callable[[_Maker], None]] = [
    *_RECORDED, _Maker.part, _Maker.reshape, _Maker.put, _Maker.put, _Maker.change, _Maker.change,
    _Maker.put_rows, _Maker.drop, _Maker.drop, _Maker.train, _Maker.mark, _Maker.wait, _Maker.bad,
    _Maker.poison, _Maker.antidote, _Maker.elsewhere, _Maker.offload, _Maker.cycles, _Maker.loop,
]  # fmt: skip


def make_program(seed: int, length: int = 30, *, draws: bool = True) -> Program:
    """Makes the program of a seed; the same seed gives the same program.

    Args:
        seed: any number.
        length: how many steps of a kind, some of them of many parts.
        draws: whether it may draw random numbers.
    """
    maker = _Maker(seed, draws)
    for _ in range(3):
        maker.constant()
    for _ in range(length):
        maker.rng.choice(_STEPS)(maker)
    return maker.program
