"""Random small Python programs: what a traced function computes is what Python computes eagerly.

They assign arrays and numbers, change arrays in place, and nest `if`, `while`, `for`, `break`,
`continue` and `return`. They are written to files, since conversion reads the source.
"""

from __future__ import annotations

import importlib.util
import random

import jax
import numpy as np
import pytest
from helpers import thorough

import hybridnet as hn
from hybridnet import nd

ARRAYS, NUMBERS = ("a", "b", "c"), ("n", "k")
START = """\
from hybridnet import nd


def run(x, y):
    a, b, c = x * 1, y * 1, x + y
    n, k = 1, 2.5
"""


@pytest.fixture(autouse=True, scope="module")
def few_optimizations():
    """Programs that run once or twice need not be compiled well."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


class Maker:
    """Makes the text of one program."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines = []
        self.loops = 0

    def program(self):
        self.block(1, 5, False)
        self.lines.append("    return a, b, c, x * 1, n, k")
        return START + "\n".join(self.lines) + "\n"

    def write(self, depth, text):
        self.lines.append("    " * depth + text)

    def array(self):
        rng = self.rng
        one, other = (rng.choice([*ARRAYS, "x", "y"]) for _ in range(2))
        number = rng.choice([*NUMBERS, "0.5", "2"])
        return rng.choice(
            [
                f"nd.tanh({one} + {other})",
                f"{one} * 0.5 - {other} * 0.25",
                f"nd.tanh({one} * {number})",
                f"{one} * 0.5 if {self.condition()} else {other} * 0.75",
                f"helper({one}, {other})",
                f"max({one}[0], {other}[1]) + {one} * 0.1",
            ]
        )

    def number(self):
        rng = self.rng
        one = rng.choice(NUMBERS)
        return rng.choice(
            [
                f"({one} + 1) % 7",
                f"{one} * 0.5",
                "(n + k) % 5",
                f"{one} if {self.condition()} else 3",
                f"int({rng.choice(ARRAYS)}[0] * 10) % 4",
                f"-{one} // 2",
            ]
        )

    def condition(self):
        rng = self.rng
        one, other = rng.choice(ARRAYS), rng.choice(ARRAYS)
        simple = [
            f"{one}.sum() > {rng.choice(['0', '0.3', '-0.5'])}",
            f"{one}[0] > {other}[1]",
            f"{rng.choice(NUMBERS)} > {rng.choice(['1', '2.5'])}",
            f"-0.5 < {one}[2] < {other}[0] + 1",
            f"n % 2 == {rng.randint(0, 1)}",
        ]
        found = rng.choice(simple)
        if rng.random() < 0.3:
            found = f"({found} {rng.choice(['and', 'or'])} {rng.choice(simple)})"
        return f"not {found}" if rng.random() < 0.15 else found

    def block(self, depth, count, in_loop):
        for _ in range(self.rng.randint(1, count)):
            self.statement(depth, in_loop)

    def statement(self, depth, in_loop):
        rng = self.rng
        kinds = ["array", "array", "number", "in place", "item"]
        if depth < 4:
            kinds += ["if", "if", "while", "for"]
        if in_loop:
            kinds += ["break", "continue"]
        kind = rng.choice(kinds)
        if kind == "array":
            self.write(depth, f"{rng.choice(ARRAYS)} = {self.array()}")
        elif kind == "number":
            self.write(depth, f"{rng.choice(NUMBERS)} = {self.number()}")
        elif kind == "in place":
            target = rng.choice([*ARRAYS, "x"])
            self.write(depth, f"{target} {rng.choice(['+=', '*='])} {rng.choice(['0.5', 'y'])}")
        elif kind == "item":
            target = rng.choice([*ARRAYS, "x"])
            how = rng.choice(["=", "+="])
            self.write(depth, f"{target}[{rng.choice(['0', '1:3', 'int(abs(n)) % 3'])}] {how} 0.25")
        elif kind == "if":
            self.write(depth, f"if {self.condition()}:")
            self.block(depth + 1, 3, in_loop)
            if rng.random() < 0.5:
                self.write(depth, "else:")
                self.block(depth + 1, 3, in_loop)
            if depth == 1 and rng.random() < 0.3:
                self.write(depth, f"if {self.condition()}:")
                self.write(depth + 1, "return a, b, c, x * 1, n, k")
        elif kind in ("while", "for"):
            self.loop(depth, kind)
        else:
            self.write(depth, f"if {self.condition()}:")
            self.write(depth + 1, kind)

    def loop(self, depth, kind):
        rng = self.rng
        self.loops += 1
        counter = f"i{self.loops}"
        if kind == "while":
            self.write(depth, f"{counter} = 0")
            limit = rng.choice(["3", "int(abs(k)) + 1"])
            self.write(depth, f"while {counter} < {limit} and {self.condition()}:")
            self.write(depth + 1, f"{counter} += 1")
        else:
            over = rng.choice(["range(3)", "range(36)", "range(int(abs(n)) % 4)"])
            self.write(depth, f"for {counter} in {over if depth < 3 else 'range(2)'}:")
            if rng.random() < 0.5:
                self.write(depth + 1, f"{rng.choice(ARRAYS)} *= 0.9")
                self.write(depth + 1, f"n = (n + {counter}) % 5")
        self.block(depth + 1, 3, True)


HELPER = """

def helper(one, other):
    if one.sum() > other.sum():
        return one * 0.5
    return nd.tanh(other)
"""


def load(text, folder, seed):
    path = folder / f"program_{seed}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(f"program_{seed}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.run


def check(seed, folder):
    text = Maker(seed).program() + HELPER
    run = load(text, folder, seed)
    traced = hn.function(run)
    for number in range(2):
        # (Loops that halve numbers come below the least float32, which compiled programs take for
        # 0, and NumPy does not; float64's is far away.)
        given = np.random.default_rng([seed, number]).uniform(-1, 1, (2, 3))
        wanted = run(*(nd.array(one, dtype="float64") for one in given))
        got = traced(*(nd.array(one, dtype="float64") for one in given))
        for one, two in zip(wanted, got, strict=True):
            one, two = (x.asnumpy() if isinstance(x, nd.NDArray) else x for x in (one, two))
            np.testing.assert_allclose(two, one, rtol=2e-4, atol=2e-5, err_msg=text)


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed, tmp_path):
    check(seed, tmp_path)


@pytest.mark.slow
def test_more_random_programs(tmp_path):
    for seed in range(100, 100 + thorough(1000, 10)):
        check(seed, tmp_path)
