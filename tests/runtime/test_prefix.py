"""Structures that begin as another one does run its program, and give what NumPy gives."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridnet import autograd, cpu, engine, nd
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.registry import get
from hybridnet.runtime.programs.cache import ProgramCache, cache
from hybridnet.runtime.programs.prefix import find_prefix, is_prefix
from hybridnet.runtime.programs.program import Program
from hybridnet.runtime.programs.steps import Failed
from hybridnet.runtime.segments.code import Code
from hybridnet.runtime.tiers.prices import prices

TYPE = tensor_type((3,), np.dtype("float32"))
ONE = {"tanh": np.tanh, "negative": np.negative, "square": np.square}
TWO = {"elemwise_add": np.add, "elemwise_mul": np.multiply}
NUMBER = {"_plus_scalar": np.add, "_mul_scalar": np.multiply}


def code_of(steps: list[Any], inputs: int, outputs: Any, donated: Any = ()) -> Code:
    """Returns the structure of steps: the name of an operator, and its operands."""
    calls = []
    for name, *operands in steps:
        attrs = {"scalar": 0.0} if name in NUMBER else {}
        calls.append((get(name).bind(attrs)[0], tuple(operands)))
    return Code(cpu(0), tuple(calls), (TYPE,) * inputs, tuple(outputs), tuple(donated))


def by_numpy(steps: list[Any], inputs: list[Any], numbers: list[float]) -> list[Any]:
    results: list[Any] = []
    given = iter(numbers)
    for name, *operands in steps:
        arrays = [results[i] if i >= 0 else inputs[~i] for i in operands]
        if name in NUMBER:
            results.append(NUMBER[name](arrays[0], np.float32(next(given))))
        else:
            results.append((ONE | TWO)[name](*arrays))
    return results


def arrays(count: int) -> list[np.ndarray[Any, Any]]:
    draw = np.random.default_rng(0)
    return [draw.uniform(0.1, 0.9, 3).astype("float32") for _ in range(count)]


def structure(code: Code) -> Program:
    """Returns a structure that nobody has compiled."""
    return Program(code, ProgramCache()._maker)


def compiled(cache: ProgramCache, code: Code, inputs: list[Any], numbers: list[float]) -> Program:
    """Returns the program of a structure, compiled."""
    with cache.compiling_soon():
        for _ in range(3):
            cache.run(code, [jax.numpy.asarray(x) for x in inputs], numbers)
            engine.wait_for_all()
    program = cache.next(code)
    assert program.compiled is not None
    return program


@st.composite
def longer(draw: st.DrawFn) -> Any:
    """Draws steps, how many of them are a prefix, how many inputs it has, and its outputs."""
    before, after = draw(st.integers(2, 9)), draw(st.integers(1, 2))
    inputs = draw(st.integers(1, 3))
    fewer = draw(st.integers(1, inputs))
    steps: list[Any] = []
    for number in range(before + after):
        known = fewer if number < before else inputs
        operand = st.integers(-known, number - 1)
        name = draw(st.sampled_from([*ONE, *TWO, *NUMBER]))
        steps.append((name, *(draw(operand) for _ in range(2 if name in TWO else 1))))
    outputs = draw(st.lists(st.integers(0, before - 1), unique=True, min_size=1))
    wanted = draw(st.lists(st.integers(0, before + after - 1), unique=True, min_size=1))
    return steps, before, inputs, fewer, outputs, wanted


@pytest.mark.slow
@given(longer())
def test_random_ones_give_what_numpy_gives(drawn):
    steps, before, inputs, fewer, outputs, wanted = drawn
    short, long = code_of(steps[:before], fewer, outputs), code_of(steps, inputs, wanted)
    given = arrays(inputs)
    numbers = [0.25 * (i + 1) for i in range(sum(step[0] in NUMBER for step in steps))]
    own = sum(step[0] in NUMBER for step in steps[:before])
    cache = ProgramCache()
    program = compiled(cache, short, given[:fewer], numbers[:own])
    found = find_prefix(structure(long), [program], cache.part)
    needed = {i for step in steps[before:] for i in step[1:]} | {*wanted}
    there = all(i < 0 or i >= before or i in outputs for i in needed)
    assert (found is not None) == (there and len(steps) - before <= prices.usual * before)
    if found is not None:
        expected = by_numpy(steps, given, numbers)
        got = found.run([jax.numpy.asarray(x) for x in given], numbers)
        for number, one in zip(wanted, got, strict=True):
            np.testing.assert_allclose(one, expected[number], rtol=1e-5)


CHAIN = [("tanh", -1), ("elemwise_mul", 0, -2), ("square", 1), ("negative", 2)]


def test_it_is_no_prefix_on_other_inputs_or_with_more_given_away():
    longer = structure(code_of([*CHAIN, ("tanh", 3)], 2, [3, 4], [1]))
    assert is_prefix(structure(code_of(CHAIN, 2, [3], [1])), longer)
    assert not is_prefix(structure(code_of(CHAIN, 2, [3], [0])), longer)
    assert not is_prefix(structure(code_of(CHAIN[:3], 2, [2])), longer)  # too much follows
    assert not is_prefix(longer, longer)
    other = code_of(CHAIN, 2, [3])._replace(input_types=(TYPE, tensor_type((3,), np.dtype("f2"))))
    assert not is_prefix(structure(other), longer)


def test_what_the_prefix_has_given_away_is_not_read_after_it():
    cache = ProgramCache()
    short = code_of(CHAIN, 2, [3], [1])
    program = Program(short, cache._maker)
    program.compiled = object()
    for read, there in (-2, False), (-1, True), (3, True):
        longer = code_of([*CHAIN, ("tanh", read)], 2, [4], [1])
        assert (find_prefix(structure(longer), [program], cache.part) is not None) == there


def test_an_error_after_the_prefix_is_that_of_its_result(monkeypatch):
    cache = ProgramCache()
    given = arrays(2)
    program = compiled(cache, code_of(CHAIN, 2, [2, 3]), given, [])
    found = find_prefix(structure(code_of([*CHAIN, ("tanh", 2)], 2, [4, 3])), [program], cache.part)
    (part,) = found.rest.programs

    def fails(*_: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr(Program, "on_host", fails)
    monkeypatch.setattr(part, "host", None)
    failed, there = found.run([jax.numpy.asarray(x) for x in given], [])
    assert type(failed) is Failed and failed.result == 4
    np.testing.assert_allclose(there, by_numpy(CHAIN, given, [])[3], rtol=1e-5)


def test_a_loop_that_reads_its_loss_now_and_then_compiles_its_step_once(monkeypatch):
    monkeypatch.delenv("HYBRIDNET_HOST", raising=False)
    draw = np.random.default_rng(0)
    weights, x = (nd.array(draw.uniform(0.1, 0.9, (500, 500))) for _ in range(2))
    expected, values = weights.asnumpy(), x.asnumpy()
    weights.attach_grad()
    read, wanted = [], []
    for number in range(60):
        with autograd.record():
            loss = nd.square(nd.tanh(weights * x) * 2 + 1)
        loss.backward()
        weights -= 0.1 * weights.grad
        if number % 3 == 2:
            read.append(loss.mean().asscalar())
        nd.waitall()
        engine.wait_for_all()
        inner = np.tanh(expected * values)
        wanted.append(np.square(2 * inner + 1).mean())
        expected = expected - 0.1 * (2 * (2 * inner + 1) * 2 * (1 - inner**2) * values)
    np.testing.assert_allclose(read, wanted[2::3], rtol=1e-4)
    np.testing.assert_allclose(weights.asnumpy(), expected, rtol=1e-4)
    ends = [one for one in cache.programs() if one.code.instructions[-1][0].name == "mean"]
    assert any(one.prefix is not None for one in ends)
    assert any("program that it begins with" in one.state.why for one in ends)
    assert all(one.compiled is None for one in ends if len(one.code.instructions) > 1)


@pytest.mark.parametrize("dropped", ["program", "step"])
def test_a_prefix_that_the_cache_has_dropped_is_used_no_more(dropped):
    cache = ProgramCache()
    given = arrays(2)
    program = compiled(cache, code_of(CHAIN, 2, [3]), given, [])
    found = find_prefix(structure(code_of([*CHAIN, ("tanh", 3)], 2, [4])), [program], cache.part)
    assert found.is_kept
    (program if dropped == "program" else found.rest.programs[0]).forget()
    assert not found.is_kept
