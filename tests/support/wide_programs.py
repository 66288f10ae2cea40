"""Random eager programs over the whole library, as lines of Python, and what each line gives.

A program is made by running it, so that its lines fit the shapes and dtypes that are there; the
runs that follow repeat the lines in another way and are compared with the first, line by line:
dtypes, shapes, errors, NaN and infinities are the same, and numbers but for rounding.

Numbers are multiples of a quarter, and NaN and infinities. While operators are exact on them, their
results go into further lines, and must be equal to the last bit; other results are compared within
the dtype's tolerance, and go into smooth functions alone. So no rounding is ever at a threshold.

As a script: ``python tests/support/wide_programs.py --count 1000 --seed 0``.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

# Read at the first use of JAX.
os.environ.setdefault("HYBRIDNET_NUM_CPU_DEVICES", "2")
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "2")
os.environ.setdefault("HYBRIDNET_CACHE_DIR", "off")

import numpy
from eager_programs import step_by_step
from eager_runs import before_jax
from helpers import computing_at_once, naive
from op_samples import SAMPLES
from wide_lines import EXACT, SMOOTH, WRITES, fill

import hybridnet as hn
from hybridnet import autograd, nd
from hybridnet.gluon import nn
from hybridnet.ops.core.registry import get

__all__ = ["WAYS", "Program", "check", "make_program"]

Array = numpy.ndarray[Any, Any]
DTYPES: Final = [
    "float32", "float32", "float32", "float64", "float16", "bfloat16", "int32", "int64", "int8",
    "uint8", "bool",
]  # fmt: skip
SHAPES: Final = [
    *[(2, 3)] * 6, (3,), (3,), (1,), (2, 1, 3), (3, 2), (2, 3, 4), (0, 3), (2, 0), (6,)
]  # fmt: skip
#: Of arrays that NumPy's forms take in blocks.
_LARGE: Final = [(3, 17000), (30, 2500), (70000,)]
#: Elements of the arrays that lines are chosen for: others times others would fill the memory.
_FEW: Final = 1000
_LARGEST: Final = 64.0  # numbers beyond it are written over before they are used again
_TOLERANCE: Final = {"float64": 1e-6, "float32": 2e-4, "float16": 2e-2, "bfloat16": 1e-1}


class _Net(nn.HybridBlock):
    """A block for batches of any length and width."""

    def __init__(self) -> None:
        super().__init__(prefix="net_")
        self.inner = nn.Dense(3, flatten=False, in_units=3, prefix="net_inner_")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = self.inner(F.concat(x, F.tanh(x), dim=0))
        return F.broadcast_sub(y, F.mean(y, axis=0, keepdims=True))


def _net() -> _Net:
    net = _Net()
    net.initialize(hn.init.Uniform(0.5))
    net.hybridize()
    return net


def _array(shape: tuple[int, ...], dtype: str, seed: int, special: bool) -> nd.NDArray:
    """Halves between -3 and 3, some NaN, infinities and zeros of both signs among them."""
    draw = numpy.random.default_rng(seed)
    made = draw.integers(-6, 7, shape) / 2.0
    if special and made.size:
        made.reshape(-1)[draw.integers(0, made.size)] = draw.choice(
            [numpy.nan, numpy.inf, -numpy.inf, -0.0]
        )
    if dtype in ("float32", "float64", "float16", "bfloat16"):
        return nd.array(made, dtype=dtype)
    return nd.array(abs(made) if dtype == "uint8" else numpy.trunc(made), dtype=dtype)


def _sampled(name: str, number: int, dtype: str, train: bool) -> list[nd.NDArray]:
    """Calls an operator of the registry with its sample, and gives the gradients as well."""
    one = SAMPLES[name][number % len(SAMPLES[name])]
    arrays = [nd.array(x, dtype=dtype if x.dtype.kind == "f" else x.dtype) for x in one.inputs]
    if not train:
        return _all(nd.NDArray.apply_operator(get(name), arrays, one.attrs))
    for x in arrays:
        if x.dtype == dtype:
            x.attach_grad()
    with autograd.record():
        made = _all(nd.NDArray.apply_operator(get(name), arrays, one.attrs))
        heads = made[: one.outputs]
    autograd.backward(heads)
    return [*made, *[x.grad for x in arrays if x.grad is not None]]


def _all(made: Any) -> list[nd.NDArray]:
    return list(made) if isinstance(made, (list, tuple)) else [made]


@dataclass
class Program:
    """Lines, and what the first run gave.

    Attributes:
        lines: of Python.
        exact: for each name, whether it holds the same bits in all ways.
        wanted: what the first run gave.
    """

    lines: list[str] = field(default_factory=list)
    exact: dict[str, bool] = field(default_factory=dict)
    wanted: Outcome | None = None

    def __str__(self) -> str:
        return "\n".join(self.lines)


@dataclass
class Outcome:
    """What a run gave.

    Attributes:
        arrays: those at its end, by name.
        errors: what lines raised, by number.
        late: what was raised where an array was read, by name.
    """

    arrays: dict[str, Array]
    errors: dict[int, str]
    late: dict[str, str]


class Run:
    """A run of a program, line by line."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {
            "hn": hn, "nd": nd, "np": hn.np, "numpy": numpy, "autograd": autograd, "inf": numpy.inf,
            "nan": numpy.nan, "array": _array, "sampled": _sampled, "make_net": _net,
        }  # fmt: skip
        self.errors: dict[int, str] = {}
        self._count = 0
        hn.random.seed(5)

    def forget(self) -> None:
        """The last line, which failed, was never there."""
        self._count -= 1
        del self.errors[self._count]

    def line(self, text: str) -> bool:
        """Runs a line; whether it raised nothing."""
        number = self._count
        self._count += 1
        try:
            exec(compile(text, "<program>", "exec"), self.names)
        except Exception as error:
            self.errors[number] = f"{type(error).__name__}: {error}"
            return False
        return True

    def arrays(self) -> dict[str, Any]:
        """The arrays there are, lists of them taken apart."""
        found = {}
        for name, value in self.names.items():
            for i, one in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(one, nd.NDArray):
                    found[f"{name}[{i}]" if isinstance(value, list) else name] = one
        return found

    def outcome(self) -> Outcome:
        """Reads everything."""
        made, late = {}, {}
        for name, array in self.arrays().items():
            try:
                made[name] = array.asnumpy()
            except hn.MXNetError as error:  # what is asked of values, not of shapes
                late[name] = f"{type(error).__name__}: {error}"
        return Outcome(made, self.errors, late)


class _Maker:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.run = Run()
        self.program = Program()
        self.count = 0
        self.recorded: list[str] | None = None

    def emit(self, text: str) -> bool:
        """Runs a line; one that fails is kept now and then alone: errors are the same, too."""
        done = self.run.line(text)
        drawn = re.search("random|sample|Dropout|net", text)  # it may have failed after drawing
        if done or drawn or self.rng.random() < 0.2:
            self.program.lines.append(text)
        else:
            self.run.forget()
        return done

    def name(self) -> str:
        self.count += 1
        return f"a{self.count}"

    def pick(self, *, exact: bool = True) -> str:
        names = [name for name, array in self.run.arrays().items() if array.size <= _FEW]
        if self.recorded is not None and self.rng.random() < 0.7:
            names = [name for name in names if name in self.recorded] or names
        names = [name for name in names if self.program.exact[name] or not exact]
        if not names:
            self.constant()
            return f"a{self.count}"
        return self.rng.choice(names)

    def made(self, name: str, *, exact: bool) -> None:
        """Notes what a line has made; it is exact where its numbers say so, too."""
        for found, array in self.run.arrays().items():
            if found == name or found.startswith(f"{name}["):
                self.program.exact[found] = exact and _is_plain(array.asnumpy())
                if self.recorded is not None:
                    self.recorded.append(found)

    def constant(self) -> None:
        shape, dtype = self.rng.choice(SHAPES), self.rng.choice(DTYPES)
        name = self.name()
        special = self.rng.random() < 0.3
        self.emit(f"{name} = array({shape}, {dtype!r}, {self.rng.randrange(10**6)}, {special})")
        self.made(name, exact=True)

    def operator(self) -> None:
        for _ in range(4):
            name = self.name()  # one that fails when it is read is to be there to be read
            smooth = self.rng.random() < 0.4
            call = fill(self.rng, self.rng.choice(SMOOTH if smooth else EXACT), self, not smooth)
            if self.emit(f"{name} = {call}"):
                break
        self.made(name, exact=not smooth)

    def large(self) -> None:
        """A function of each element, or of rows, of an array of more than a block."""
        name = self.name()
        dtype, seed = self.rng.choice(DTYPES), self.rng.randrange(10**6)
        given = f"array({self.rng.choice(_LARGE)}, {dtype!r}, {seed}, {seed % 2 == 0})"
        smooth = self.rng.random() < 0.6
        calls = [call for call in (SMOOTH if smooth else EXACT) if call.endswith("({})")]
        self.emit(f"{name} = {self.rng.choice(calls).replace('{}', given)}")
        self.made(name, exact=not smooth)

    def write(self) -> None:
        name = self.pick()
        self.emit(fill(self.rng, self.rng.choice(WRITES), self, True, name))
        for one, array in self.run.arrays().items():
            if self.program.exact[one] and not _is_plain(array.asnumpy()):
                self.emit(f"{one}[:] = 1")

    def sample(self) -> None:
        name = self.name()
        operator = self.rng.choice(_NAMES)
        dtype = self.rng.choice(["float32", "float32", "float64", "float16"])
        train = self.rng.random() < 0.4 and self.recorded is None
        self.emit(f"{name} = sampled({operator!r}, {self.rng.randrange(9)}, {dtype!r}, {train})")
        self.made(name, exact=False)

    def branch(self) -> None:
        """Control flow by a value that is read."""
        a, b, name = self.pick(), self.pick(), self.name()
        self.emit(f"{name} = {a} * 2 if {b}.size and {b}.min().asscalar() < 0 else nd.abs({a})")
        self.made(name, exact=True)

    def read(self) -> None:
        self.emit(
            self.rng.choice(["{}.asnumpy()", "{}.wait_to_read()", "nd.waitall()"]).format(
                self.pick()
            )
        )

    def net(self) -> None:
        """A hybridized block, called with batches of several lengths."""
        if "net" not in self.run.names:
            self.emit("net = make_net()")
        name = self.name()
        fitting = [
            k
            for k, x in self.run.arrays().items()
            if x.shape[-1:] == (3,) and x.dtype == "float32" and x.ndim == 2
        ]
        given = self.rng.choice(fitting) if fitting else f"nd.ones(({self.rng.randint(1, 5)}, 3))"
        self.emit(f"{name} = net({given})")
        self.made(name, exact=False)

    def drop(self) -> None:
        names = [name for name in self.run.arrays() if "[" not in name]
        if len(names) > 5 and self.recorded is None:
            name = self.rng.choice(names)
            self.emit(f"del {name}")
            self.program.exact.pop(name)

    def train(self) -> None:
        """A recorded section, and gradients of one or two heads."""
        if self.recorded is not None:
            return
        leaves = []
        for _ in range(self.rng.randint(1, 3)):
            name = self.name()
            shape, dtype = self.rng.choice(SHAPES), self.rng.choice(DTYPES[:6])
            self.emit(f"{name} = array({shape}, {dtype!r}, {self.rng.randrange(10**6)}, False)")
            self.emit(f"{name}.attach_grad({self.rng.choice(['write', 'add', 'write'])!r})")
            self.made(name, exact=True)
            leaves.append(name)
        for _ in range(self.rng.choice([1, 1, 2])):
            self.recorded = list(leaves)
            self.emit("scope = autograd.record(); scope.__enter__()")
            for _ in range(self.rng.randint(1, 6)):
                self.rng.choice(
                    [
                        _Maker.operator,
                        _Maker.operator,
                        _Maker.operator,
                        _Maker.net,
                        _Maker.read,
                        _Maker.branch,
                    ]
                )(self)
            self.emit("scope.__exit__(None, None, None)")
            made = [name for name in self.recorded if name in self.run.arrays()]
            heads = self.rng.sample(made, min(len(made), self.rng.randint(1, 3)))
            self.recorded = None
            self.emit(f"autograd.backward([{', '.join(heads)}])")
        for leaf in leaves:
            name = self.name()
            self.emit(f"{name} = {leaf}.grad.copy()")
            self.made(name, exact=False)
            self.emit(f"{leaf}.grad[:] = 0")


_NAMES: Final = [name for name in SAMPLES if not name.startswith("_contrib_dgl")]
_STEPS: Final = [
    *[_Maker.operator] * 8, *[_Maker.write] * 4, *[_Maker.sample] * 2, *[_Maker.drop] * 2,
    *[_Maker.constant] * 2, _Maker.branch, _Maker.large, _Maker.read, _Maker.net, _Maker.train,
]  # fmt: skip


def _is_plain(array: Array) -> bool:
    """Whether all numbers are small multiples of a quarter, or special ones."""
    if array.dtype.kind in "iub":
        return not array.size or abs(array.astype(float)).max() <= _LARGEST
    wide = array.astype(float)
    wide = wide[numpy.isfinite(wide)]
    return not wide.size or bool(
        abs(wide).max() <= _LARGEST and (wide * 4 == numpy.rint(wide * 4)).all()
    )


def make_program(seed: int, length: int = 15) -> Program:
    """Makes the program of a seed, running it synchronously on NumPy arrays alone.

    Args:
        seed: any number; the same gives the same program.
        length: how many steps, some of several lines.
    """
    with _host("only"), naive(), quiet():
        maker = _Maker(seed)
        for _ in range(3):
            maker.constant()
        for _ in range(length):
            maker.rng.choice(_STEPS)(maker)
        maker.program.wanted = maker.run.outcome()
    return maker.program


@contextmanager
def quiet() -> Iterator[None]:
    """A scope without warnings, of NumPy's above all: special numbers are meant."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _host(tier: str) -> Iterator[None]:
    was = os.environ.get("HYBRIDNET_HOST")
    os.environ["HYBRIDNET_HOST"] = tier
    try:
        yield
    finally:
        os.environ.pop("HYBRIDNET_HOST")
        if was is not None:
            os.environ["HYBRIDNET_HOST"] = was


#: The ways by name, each as scopes.
WAYS: Final = {
    "only": lambda: [_host("only")],
    "auto": lambda: [_host("auto")],
    "again": lambda: [_host("auto")],
    "before JAX": lambda: [_host("auto"), before_jax()],
    "naive": lambda: [_host("auto"), naive()],
    "at once": lambda: [_host("auto"), computing_at_once()],
    "at once, anew": lambda: [_host("only"), computing_at_once(anew=True)],
    "XLA": lambda: [_host("off"), step_by_step()],
}


def check(program: Program, way: str) -> None:
    """Runs a program in one of `WAYS` and compares.

    Raises:
        AssertionError: it gives something else than the first run.
    """
    with ExitStack() as stack:
        for scope in (*WAYS[way](), quiet()):
            stack.enter_context(scope)
        run = Run()
        for text in program.lines:
            run.line(text)
        got = run.outcome()
    wanted = program.wanted
    assert wanted is not None
    for number in sorted({*got.errors, *wanted.errors}):
        text = program.lines[number]
        ours, theirs = got.errors.get(number), wanted.errors.get(number)
        ours = ours or got.late.get(text.split(" = ")[0])
        assert ours == theirs, f"{way}: {text}\n{ours}\nwanted {theirs}\nin\n{program}"
    assert got.arrays.keys() == wanted.arrays.keys(), f"{way}: other names in\n{program}"
    for name, array in got.arrays.items():
        found = _difference(array, wanted.arrays[name], exact=program.exact[name])
        assert not found, f"{way}: {name}: {found}\nin\n{program}"


def _difference(got: Array, wanted: Array, *, exact: bool) -> str:
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"{got.dtype}{got.shape}, wanted {wanted.dtype}{wanted.shape}"
    one, other = got.astype(float), wanted.astype(float)
    tolerance = 0.0 if exact else _TOLERANCE.get(got.dtype.name, 0.0)
    scale = 1 + float(abs(other[numpy.isfinite(other)]).max(initial=0))
    if numpy.allclose(one, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
        return ""
    return f"\n{got}\nwanted\n{wanted}"


def main() -> int:
    """Runs many programs; returns how many of them failed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--seed", type=int, default=0, help="of the first program")
    options.add_argument("--xla", type=int, default=8, help="one of so many is compiled")
    given = options.parse_args()
    failed = 0
    for seed in range(given.seed, given.seed + given.count):
        try:
            program = make_program(seed)
            for way in WAYS:
                if way != "XLA" or seed % given.xla == 0:
                    check(program, way)
        except AssertionError as error:
            failed += 1
            print(f"seed {seed}: {error}\n", flush=True)
        except Exception as error:
            failed += 1
            print(f"seed {seed}: {type(error).__name__}: {error}\n", flush=True)
        if (seed + 1) % 50 == 0:
            print(f"{seed + 1 - given.seed} programs, {failed} failed", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
