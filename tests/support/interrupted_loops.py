"""Small training loops in every front end, and exceptions in the midst of their steps."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.interrupts import leaves_with

#: A step, and the arrays that it changes.
Loop = tuple[Callable[[], Any], list[nd.NDArray]]


def function_in_place() -> Loop:
    """A traced function that adds ones to an array."""
    total, one = nd.zeros((8,)), nd.ones((8,))

    @hn.function
    def step(x):
        total[:] = total + x
        return total.sum()

    return (lambda: step(one)), [total]


def eager_in_place() -> Loop:
    """The same, and a part of the array, without a function."""
    total, one = nd.zeros((8,)), nd.ones((8,))

    def step():
        total[:] += one
        total[2:4] += 1
        return (total * 2).sum().asscalar()

    return step, [total]


def executor() -> Loop:
    """A bound symbol, trained."""
    x, weight = hn.sym.var("x"), hn.sym.var("weight")
    product = hn.sym.FullyConnected(x, weight, num_hidden=4, no_bias=True)
    values = {"x": nd.ones((2, 8)), "weight": nd.ones((4, 8))}
    gradient, heads = nd.zeros((4, 8)), nd.ones((2, 4))
    bound = product.bind(hn.cpu(), values, args_grad={"weight": gradient})

    def step():
        bound.forward(is_train=True)
        bound.backward([heads])
        values["weight"][:] -= 0.001 * gradient

    return step, [values["weight"], gradient]


def _gluon(hybridized: bool) -> Loop:
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Dense(16, activation="relu", in_units=8),
        gluon.nn.BatchNorm(in_channels=16),
        gluon.nn.Dense(4, in_units=16),
    )
    net.initialize()
    if hybridized:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.001})
    loss = gluon.loss.L2Loss()
    x, y = nd.random.normal(shape=(4, 8)), nd.random.normal(shape=(4, 4))

    def step():
        with autograd.record():
            found = loss(net(x), y)
        found.backward()
        trainer.step(4)
        return found

    return step, [parameter.data() for parameter in net.collect_params().values()]


def eager() -> Loop:
    """A Gluon network, trained eagerly."""
    return _gluon(False)


def hybridized() -> Loop:
    """The network hybridized."""
    return _gluon(True)


def traced_step() -> Loop:
    """The whole step a traced function."""
    step, weights = _gluon(False)
    step()
    return hn.function(step), weights


LOOPS = [function_in_place, eager_in_place, executor, eager, hybridized, traced_step]


def can_raise(frame: FrameType) -> bool:
    """Whether an exception raised here is one that may come.

    Python raises nothing as a `with` ends, before it calls `__exit__`. And what a tracer raises as
    a loop goes on to its next round, in the same line, passes by every `try` and `with` around it:
    of 3.12 and 3.13 the frame is at the jump or where that leads to. (What a signal's handler
    raises does not; `strikes` has such handlers run.) A `try` inside another is one instruction
    that neither of them holds, and a signal's handler never runs there.
    """
    step = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    goes_on = step.startswith("JUMP_BACKWARD") or frame.f_lasti in _loops(frame.f_code)
    return not (leaves_with(frame) or goes_on or step == "NOP")


@lru_cache(maxsize=1024)
def _loops(code: CodeType) -> frozenset[int]:
    """Where jumps back lead to."""
    steps = dis.get_instructions(code)
    return frozenset(one.argval for one in steps if one.opname.startswith("JUMP_BACKWARD"))


class Struck(Exception):
    """Out of nothing, as that of a signal handler."""


def lines_of(
    step: Callable[[], Any],
    strike: Callable[[FrameType], None],
    at: int,
    within: tuple[str, ...] = ("hybridnet.",),
) -> int:
    """Makes a step in which something happens before a line of the library.

    Args:
        step: the step.
        strike: what happens, given the frame.
        at: before the how manieth line, from 1; 0: before none.
        within: how the names of the modules begin whose lines count.

    Returns:
        How many lines were executed.
    """
    count = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if event == "line" and can_raise(frame):
            count += 1
            if count == at:
                strike(frame)
        return line

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        return line if frame.f_globals.get("__name__", "").startswith(within) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        step()
        _ = 0  # a line, for what was put off
    finally:
        sys.settrace(before)
    return count
