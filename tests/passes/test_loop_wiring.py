"""Another's wiring of loops: a right one gives what ours gives, and a wrong one is refused before
the graph runs."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import nd, passes, sym
from hybridnet.base.errors import GraphError


def right(loop, variables, constants):
    """Each variable, and then each constant, to its end where that can be."""
    entered = [loop.enter(one) for one in variables]
    known = [loop.enter(one, constant=True) for one in reversed(constants)][::-1]
    merged = [loop.merge(one) for one in entered]
    holds = loop.condition(tuple(merged), tuple(known))
    inside = [loop.switch(one, holds)[1] for one in known]
    parted = [loop.switch(one, holds) for one in merged]
    left = [loop.exit(after) for after, _ in parted]
    made = loop.body([one for _, one in parted], inside)
    for value, merge in reversed(list(zip(made, merged, strict=True))):
        loop.next_iteration(value, merge)
    return left


def growing():
    """While a < n: a, b = a * m, b + a; over two devices."""
    a, b, m, n = map(sym.var, "abmn")

    def body(a, b):
        with hn.device("/device:cpu:1"):
            return a * m, b + a

    return sym.Group(sym.while_loop(lambda a, b: a < n, body, [a, b], 4, 6, name="growing"))


def ran(symbol=None):
    executor = (growing() if symbol is None else symbol).simple_bind(
        hn.cpu(0), a=(1,), b=(1,), m=(1,), n=(1,)
    )
    for name, number in zip("abmn", (1, 0, 2, 10), strict=True):
        executor.arg_dict[name][:] = number
    found = [one.asscalar() for one in executor.forward(is_train=True)]
    executor.backward([nd.ones((1,)), nd.ones((1,))])
    return found + [executor.grad_dict[name].asscalar() for name in "abmn"]


def test_another_wiring_gives_what_ours_gives():
    wired = []

    def noting(loop, variables, constants):
        wired.append((len(variables), len(constants)))
        return right(loop, variables, constants)

    wanted = ran()
    with passes.wire_loop.replaced_by(noting):
        found = ran()
    np.testing.assert_array_equal(found, wanted)
    assert found[:2] == [16, 15]
    assert len(wired) == 2  # the loop, and its gradient
    assert wired[0][0] >= 3  # a, b, and a count of the turns


def test_foreach_is_wired_by_it_too():
    wired = []

    def noting(loop, variables, constants):
        wired.append([str(one) for one in variables])
        return right(loop, variables, constants)

    def step(row, state):
        with hn.device("/device:cpu:1"):
            return row * 2, [state[0] + row]

    rows, sums = sym.contrib.foreach(step, sym.var("x"), [sym.var("s")])
    with passes.wire_loop.replaced_by(noting):
        executor = sym.Group([rows, *sums]).simple_bind(hn.cpu(0), x=(3, 1), s=(1,))
        given = nd.array([[1.0], [2.0], [4.0]])
        found = executor.forward(x=given, s=nd.zeros((1,)))
    assert found[0].asnumpy().ravel().tolist() == [2, 4, 8]
    assert found[1].asscalar() == 7
    assert wired[0][0] == "variable 0 before the loop"


class Spoiled:
    """Hands calls on to a loop, but for one that is spoiled."""

    def __init__(self, loop, **spoiled):
        self.loop, self.spoiled = loop, spoiled

    def __getattr__(self, name):
        return self.spoiled.get(name) or getattr(self.loop, name)


def spoiled(**how):
    """Returns a wiring in which some methods do something else, of the loop and arguments."""

    def wire(loop, variables, constants):
        made = {
            name: lambda *given, act=act, **more: act(loop, *given, **more)
            for name, act in how.items()
        }
        return right(Spoiled(loop, **made), variables, constants)

    return wire


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        (lambda loop, v, c: None, r"the results: needs a list of \d variables, got None"),
        (
            lambda loop, v, c: v,
            r"the results: needs what exit gave for variable 0, got variable 0 bef",
        ),
        (
            lambda loop, v, c: right(loop, v, c)[::-1],
            r"in the place of variable 0 there is what exit",
        ),
        (spoiled(next_iteration=lambda loop, *given: None), "Merge of variable 0 has no next_iter"),
        (spoiled(enter=lambda loop, one, constant=False: loop.enter(one)), "with constant=True"),
        (
            spoiled(enter=lambda loop, one, constant=False: loop.enter(one, constant=True)),
            "variable 0 changes, and must not enter with constant=True",
        ),
        (spoiled(merge=lambda loop, one: one), "condition: needs what merge gave for variable 0"),
        (
            spoiled(condition=lambda loop, v, c: loop.condition(v[::-1], c)),
            "condition: in the place of variable 0 there is what merge gave for variable",
        ),
        (
            spoiled(switch=lambda loop, one, holds: loop.switch(one, holds)[::-1]),
            "exit: needs what switch gave for variable 0 where the condition does not hold, got",
        ),
        (
            spoiled(body=lambda loop, v, c: loop.body(v, [])),
            r"body: needs a list of \d constants, got 0",
        ),
        (
            spoiled(body=lambda loop, v, c: loop.body(v, c)[::-1]),
            "next_iteration: what body gave for variable 0 goes into what merge gave for variable",
        ),
        (
            spoiled(switch=lambda loop, one, holds: loop.switch(one, 3)),
            "needs the condition, got 3",
        ),
        (
            spoiled(exit=lambda loop, one: (loop.exit(one), loop.exit(one))[0]),
            "exit: was given what switch gave for variable 0 .* before",
        ),
    ],
)
def test_a_wrong_wiring_is_refused_before_the_graph_runs(wire, said):
    with (
        passes.wire_loop.replaced_by(wire),
        pytest.raises(GraphError, match=f"the wiring of the loop growing.*: .*{said}"),
    ):
        ran()


def test_a_value_of_another_loop_is_refused():
    kept = []

    def keeping(loop, variables, constants):
        kept.extend(variables)
        return right(loop, [kept[0], *variables[1:]], constants)

    with passes.wire_loop.replaced_by(keeping), pytest.raises(GraphError, match="of another loop"):
        ran()


def test_loops_on_one_device_are_not_wired():
    def never(loop, variables, constants):
        raise AssertionError

    with passes.wire_loop.replaced_by(never):
        last = sym.while_loop(lambda v: v < 3, lambda v: v + 1, [sym.var("x")])[0]
        assert last.eval(x=nd.zeros((1,)))[0].asscalar() == 3
