"""Python functions with control flow, over NumPy arrays as well as NDArrays.

Each is given a module of functions (`Host` for NumPy, `nd`), and arrays that take every branch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["PROGRAMS", "Host", "Program"]


class Host:
    """What the programs use of `nd`, on NumPy arrays."""

    tanh, exp, sqrt, maximum = np.tanh, np.exp, np.sqrt, np.maximum

    @staticmethod
    def stack(*arrays):
        return np.stack(arrays)

    @staticmethod
    def zeros(shape):
        return np.zeros(shape, np.float32)


class Program(NamedTuple):
    """A function, the arrays it is run on, and whether it is differentiated."""

    run: Callable[..., Any]
    inputs: list[Any]
    differentiated: bool


PROGRAMS: list[Program] = []

UP, DOWN, MIXED = [1.0, 2.0, 3.0, 4.0], [-1.0, -2.0, -3.0, -4.0], [0.5, -2.0, 3.0, -1.0]
ALL = (UP, DOWN, MIXED)


def program(*inputs, grad=True):
    """Adds a function to the table."""

    def add(run):
        PROGRAMS.append(Program(run, list(inputs or ALL), grad))
        return run

    return add


# -- if --------------------------------------------------------------------------------------


@program()
def two_branches(m, x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = -x
    return y


@program(UP, DOWN, MIXED, [0.0] * 4)
def elif_chain(m, x):
    s = x.sum()
    if s > 5:
        y = x * 3
    elif s > 0:
        y = x * x
    elif s < -5:
        y = x + 1
    else:
        y = x - 1
    return y


@program()
def nested_ifs(m, x):
    y = x + 1
    if x[0] > 0:
        if x[1] > 0:
            y = y * 2
        else:
            if x[2] > 0:
                y = y * 3
            y = y + 1
    return y


@program()
def number_or_array(m, x):
    y = 0
    if x.sum() > 0:
        y = x * 2
    return y + x


@program()
def numbers(m, x):
    scale = 2
    if x[0] > 0:
        scale = 2.5
    shift = 1 if x[1] > 0 else -1
    return x * scale + shift


@program()
def condition_of_python(m, x):
    if len(x) > 3 and x.shape[0] == 4:
        y = x * 2
    else:
        y = x[10]
    return y


@program()
def early_returns(m, x):
    if x.sum() > 5:
        return x * 2
    if x[0] > 0:
        return x * 3
    y = x + 1
    if x[3] > 0:
        return y
    return y * y


@program()
def returns_in_both(m, x):
    if x[0] > 0:
        if x[1] > 0:
            return x, 1.0
        return x * 2, 2.0
    else:  # noqa: RET505  # as users write it
        return x * 3, 3.0


@program()
def tuples(m, x):
    a, b = x, x * 2
    if x.sum() > 0:
        a, b = b, a
    pair = (a, [b, a + b])
    if x[0] > 0:
        pair = (pair[1][1], [pair[0], pair[0]])
    return pair[0] + pair[1][0] * 2


@program(grad=False)
def dict_items(m, x):
    d = {"a": x, "b": 1}
    if x[0] > 0:
        d["a"] = x * 2
        d["b"] = 5
    return d["a"] * d["b"]


@program(grad=False)
def list_items(m, x):
    xs = [x, x + 1, x + 2]
    if x[0] > 0:
        xs[1] = xs[1] * 10
    else:
        xs[0], xs[2] = xs[2], xs[0]
    return xs[0] + 2 * xs[1] - xs[2]


class Cell:
    def __init__(self, value):
        self.value = value
        self.turns = 0

    def step(self, x):
        if x.sum() > 0:
            self.value = self.value + x
        self.turns += 1
        return self.value


@program()
def attributes(m, x):
    cell = Cell(x)
    if x[0] > 0:
        cell.value = x * 2
    cell.step(x)
    cell.step(-x)
    return cell.value * cell.turns


@program()
def not_used_later(m, x):
    if x[0] > 0:
        t = x * 2
        y = t + 1
    else:
        y = x
    return y


@program()
def conditional_expression(m, x):
    y = x * 2 if x[0] > 0 else (x * 3 if x[2] > 0 else x)
    return y + (1 if x[1] > 0 else 0)


@program(grad=False)
def changed_in_place(m, x):
    y = x
    if x[0] > 0:
        y += 1
    else:
        y[1:3] = 7
    return y * 1, x * 1


@program(grad=False)
def part_in_place(m, x):
    row = x[1:3]
    if x[0] > 0:
        row *= 10
        x[0] = -5
    if x[1] > 5:
        x[3] += x[1]
    return x + 0


@program()
def append_in_both(m, x):
    ys = [x]
    if x[0] > 0:
        ys.append(x * 2)
    else:
        ys.append(-x)
    return ys[0] + ys[1]


# -- and, or, not ----------------------------------------------------------------------------


@program()
def conjunctions(m, x):
    if x[0] > 0 and x[1] > 0 and x[2] > 0:
        y = x * 2
    else:
        y = x
    return y


@program()
def disjunctions(m, x):
    if x[1] > 0 or (x[2] > 0 and not x[3] > 0):
        return x * 2
    return x * 3


@program()
def negation(m, x):
    return x * 2 if not x[1] > 0 else -x


@program()
def mixed_with_python(m, x, flag=None):
    if flag is not None and flag.sum() > 0:
        return x
    if flag is None or x[0] > 100:
        x = x + 1
    if (flag is None and x[0] > 1) or len(x) > 10:
        x = x * 2
    return x


@program()
def chained(m, x):
    y = x
    if 0 < x[0] < 2:
        y = y * 2
    if -2 <= x[1] <= x[2] < 10:
        y = y * 3
    return y


@program()
def chained_calls(m, x):
    calls = []

    def last():
        calls.append(1)
        return x[3]

    y = x * 2 if x[1] < last() < 10 else x
    return y * len(calls)


@program()
def values_of_or(m, x):
    y = x[0] * 0 or x[1] * 3
    z = x[0] and x[2]
    return y + z


# -- while -----------------------------------------------------------------------------------


@program(UP, [9.0] * 4)
def newton(m, x):
    y = x
    while ((y * y - x) * (y * y - x)).sum() > 1e-6:
        y = (y + x / y) / 2
    return y


@program([2.0, 1.0], [100.0, 1.0], [0.1, 0.1])
def counting(m, x):
    turns = 0
    while x.sum() < 50:
        x = x * 2
        turns += 1
    return x, turns


@program([2.5, 1.5], [0.0, 5.0])
def nested_whiles(m, x):
    total = x * 0
    i = 0
    while i < x[0]:
        j = 0
        while j < x[1]:
            total = total + x * (i + j)
            j += 1
        i += 1
    return total


@program([1.5, 2.0], [-3.0, 1.0], [50.0, 1.0])
def while_break(m, x):
    i = 0
    while i < 40 * x[1]:
        x = x + 1
        i += 1
        if x[0] > 20:
            break
    return x * i


@program([1.0, 2.0], [-1.0, 1.0])
def while_continue(m, x):
    i = 0
    s = x * 0
    while s.sum() < 60 and i < 50:
        i += 1
        if i % 3 == 0:
            continue
        s = s + i
    return s * x


@program([1.0, 2.0], [30.0, 2.0])
def return_inside_while(m, x):
    i = 0
    while x.sum() < 50:
        x = x + i
        i += 1
        if x[0] > 20:
            return x * 2, i
    return x, i


@program([1.1, 2.0], [1.0, 60.0], [9.0, 1.0])
def while_else(m, x):
    while x[0] < 8:
        x = x * 2
        if x[1] > 50:
            break
    else:
        x = x + 100
    return x


@program([1.0, 2.0], [5.0, 3.0])
def while_true(m, x):
    turns = 0
    while True:
        x = x * 1.5
        turns += 1
        if x.sum() > 20:
            break
    return x * turns


@program([6.5], [7.0], [1.0])
def collatz(m, x):
    n = int(x[0])
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return x + steps


@program([10.0], [1.0], grad=False)
def fibonacci(m, x):
    a, b = 0, 1
    i = 0
    while i < x[0]:
        a, b = b, a + b
        i += 1
    return x * 0 + a


@program([1.0, 2.0], [3.0, 4.0])
def number_becomes_array(m, x):
    total = 0
    while True:
        total = total + x
        if total.sum() > 20:
            return total


@program([1.0, 2.0], [3.0, -1.0], grad=False)
def while_in_place(m, x):
    while x[0] < 10:
        x += 2
        x[1] -= 1
    return x * 1


@program([1.0, 2.0])
def short_while_of_python(m, x):
    i = 0
    while i < 5:
        x = x + i
        i += 1
    return x * i


@program([1.0, 2.0])
def long_while_of_python(m, x):
    i = 0
    s = x * 0
    while i < 100:
        s = s * 0.9 + x * i
        i += 1
    return s


# -- for -------------------------------------------------------------------------------------


@program()
def short_range(m, x):
    s = 0
    for i in range(4):
        s = s + x[i] * i
    return s


@program()
def long_range(m, x):
    s = 0.0
    for i in range(70):
        s = s * 0.5 + x * i
    return s, i


@program()
def long_range_down(m, x):
    s = x
    for i in range(200, 1, -3):
        s = m.tanh(s * i / 100)
    return s


@program([3.5, 1.0], [0.0, 1.0], [7.0, 2.0])
def range_of_array(m, x):
    s = x
    for i in range(int(x[0])):
        s = s * 1.1 + i
    for j in range(1, int(x[0]), 2):
        s = s + j
    return s


@program()
def rows(m, x):
    s = 0
    for row in x:
        if row > 0:
            s = s + row * row
        else:
            s = s - row
    return s


@program(np.linspace(-1, 1, 80).reshape(40, 2), np.linspace(-1, 3, 120).reshape(60, 2))
def long_rows(m, x):
    h = x[0] * 0
    for row in x:
        h = m.tanh(h * 0.5 + row)
    return h, row


@program(np.linspace(-1, 1, 50))
def long_enumerate(m, x):
    s = x[0] * 0
    for i, row in enumerate(x):
        s = s + row * (i % 3)
    return s


@program(np.linspace(-1, 1, 90).reshape(45, 2))
def long_zip(m, x):
    s = x[0] * 0
    for a, b, k in zip(x, x * x, range(45), strict=True):
        s = s + a * b - k
    return s


@program()
def lists_and_dicts(m, x):
    s = 0
    for weight, one in zip([1, 2, 3], [x, x * x, -x], strict=True):
        s = s + weight * one
    for key, one in {"a": x, "b": x + 1}.items():
        s = s + one * (2 if key == "a" else 3)
    return s


@program()
def for_break(m, x):
    s = x * 0
    for i in range(6):
        if s.sum() > 12 or i == 5:
            break
        s = s + x
    return s * i


@program(grad=False)
def long_for_break(m, x):
    s = x * 0
    for i in range(100):  # noqa: B007  # read later
        s = s + x
        if s[0] > 20:
            break
    return s, i


@program()
def long_for_continue(m, x):
    s = x * 0
    for i in range(40):
        if i % 2 == 0:
            continue
        if s[0] > 30:
            continue
        s = s + x
    return s


@program(np.linspace(-1, 2, 50), np.linspace(-2, -1, 40))
def return_inside_for(m, x):
    for i in range(len(x)):
        if x[i] > 0.5:
            return x[i] * i
    return x[0]


@program()
def for_else(m, x):
    y = x
    for i in range(4):
        if x[i] < -1.5:
            y = x * i
            break
    else:
        y = x * 100
        i = -1
    return y + i


@program()
def append(m, x):
    ys = []
    for i in range(5):
        ys.append(x * i)
    return m.stack(*ys)


@program()
def long_append(m, x):
    ys, ks = [x], []
    h = x
    for i in range(34):
        h = h * 0.9
        ys.append(h + i)
        ks.append(i)
    return m.stack(*ys), ks[3] * x, ks[-1]


@program(UP, grad=False)
def long_nested(m, x):
    s = x * 0
    for i in range(34):
        for j in range(33):
            s = s * 0.99 + x * ((i + j) % 2)
    return s


@program()
def pop(m, x):
    stack = [x, x * 2]
    for i in range(4):
        stack.append(stack.pop() + i)
    return stack.pop() * len(stack)


@program(np.linspace(-1, 1, 40))
def rows_by_number(m, x):
    s = x[0:1] * 0
    for i in range(1, 40):
        s = s + x[i] * x[i - 1]
    return s


@program(np.linspace(-1, 1, 40), grad=False)
def assigned_by_number(m, x):
    y = m.zeros((40, 2))
    for i in range(40):
        y[i] = x[i] * 2
        y[i][1] += i
    return y + 0


# -- functions -------------------------------------------------------------------------------


def helper(x):
    if x.sum() > 0:
        return x * 2
    return x * 3


@program()
def comprehension(m, x):
    return sum([helper(row) for row in x])


def pieces(x):
    for i in range(3):
        yield x * i


@program()
def generator(m, x):
    s = x
    for one in pieces(x):
        s = s + (one if one.sum() > 0 else 1)
    return s


def power(x, n):
    if n == 0:
        return x * 0 + 1
    half = power(x, n // 2)
    if n % 2 == 0:
        return half * half
    return half * half * x


@program()
def recursion(m, x):
    return power(x, 5)


@program()
def nonlocal_variable(m, x):
    total = x

    def add(one):
        nonlocal total
        if one.sum() > 0:
            total = total + one

    add(x)
    add(-x)
    add(x * x)
    return total


@program()
def nonlocal_in_loops(m, x):
    total, turns = x * 0, 0

    def add(one):
        nonlocal total, turns
        total = total + one
        turns += 1

    for i in range(36):
        add(x * i)
    while total.sum() < 0:
        add(-total + 1)
    return total, turns


@program()
def lambdas(m, x):
    pick = lambda one, other: one if one.sum() > other.sum() else other  # noqa: E731
    return pick(x, -x) + functools.reduce(pick, [x * 2, x * 3, -x])


@program()
def partial_and_map(m, x):
    def scaled(factor, one):
        return one * factor if one[0] > 0 else one

    return sum(map(functools.partial(scaled, 3), [x, -x, x * 2]))


@program()
def built_in_functions(m, x):
    best = max(x[0], x[1], x[2]) - min([x[1], x[3]])
    if any(row > 2 for row in x):
        best = best + 10
    if all([x[0] > 0, x[1] > 0]):
        best = best + 100
    return best + abs(x) + sum(x) + float(len(x)) + (1 if bool(x[0] > 0) else 0)


@program([1.0, 2.0])
def tuple_state(m, x):
    state = (x, [x * 0])
    for _ in range(60):
        h, (c,) = state
        c = c * 0.5 + h
        state = (m.tanh(c), [c])
    return state[0] + state[1][0]


@program(UP)
def assertion(m, x):
    assert x.sum() > 0, f"not {x.shape}"
    assert len(x) == 4
    return x * 2


@program()
def try_and_with(m, x):
    y = x
    try:
        if x[0] > 0:
            y = y * 2
        y = y + [1][len(x)]
    except IndexError:
        y = y + 1
    finally:
        y = y * 2
    return y


@program()
def objects_in_loops(m, x):
    cell = Cell(x * 0)
    for _ in range(50):
        cell.step(x)
    return cell.value


# -- ways to write it ------------------------------------------------------------------------


@program(UP, grad=False)
def assignment_expressions(m, x):
    if (s := x.sum()) > 1 and s < 50:
        x = x * s
    while (n := len(x)) < 2 or (x * n).sum() < 100:
        x = x * n
    return x


@program([1.5, 2.0], grad=False)
def assignment_in_while(m, x):
    while (s := x.sum()) < 20:
        x = x + s * 0.5
    return x * s


class Base:
    __factor = 3

    def run(self, x):
        return x * self.__factor if x.sum() > 0 else x


class Derived(Base):
    def __init__(self, shift):
        super().__init__()
        self.shift = shift if shift > 0 else 1

    def run(self, x):
        y = super().run(x)
        if y[0] > 2:
            y = y + self.shift
        return y


@program(UP, DOWN, grad=False)
def inheritance(m, x):
    return Derived(-2).run(x)


@program(UP, DOWN, grad=False)
def arguments(m, x):
    def chosen(*several, scale=1, **others):
        return several[0] * scale if several[0].sum() > 0 else several[-1] * others["z"]

    options = {"z": 3, "scale": 2}
    return chosen(*(x, x * 2), **options)


@program(UP, DOWN, grad=False)
def several_targets(m, x):
    a = b = x * 2
    if x[0] > 0:
        a = b = x
    (c, [d, *e]) = a, [b, 1, 2]
    return c + d * len(e)


@program(UP, DOWN, grad=False)
def return_in_try(m, x):
    try:
        if x[0] > 0:
            return x * 2
    finally:
        y = 1
    return x * 3 + y


@program(UP, DOWN, grad=False)
def deleted(m, x):
    y = x * 2
    if x[0] > 0:
        z = y + 1
        y = z
        del z
    return y


@program([1.0, 2.0], grad=False)
def view_changed_in_loop(m, x):
    y = x * 1
    v = y[1:]
    for _ in range(40):
        v += 1
        if v[0] > 10:
            v[:] = 0
    return y + 0, v + 0
