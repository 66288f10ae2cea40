"""Branches and loops: in one program, and taken apart for the executor, against plain Python."""

from __future__ import annotations

import control_programs as cp
import graph_programs as gp
import numpy as np
import pytest
from helpers import thorough
from hypothesis import given, settings
from hypothesis import strategies as st
from partitioned_calls import TOYS, call_of, run
from simulated import Simulated, running_on, simulated

import hybridnet as hn
from hybridnet import nd
from hybridnet.base.tensor_type import tensor_type
from hybridnet.engine import ManualPool, NaiveEngine, ThreadedEngine
from hybridnet.runtime.devices.device import full_name

TYPE = tensor_type(gp.SHAPE, np.dtype(np.float64))


def inputs_of(symbol, x, y):
    """Returns those of the two arrays that a program reads, and their types."""
    arrays = [{"x": x, "y": y}[name] for name in symbol.list_inputs()]
    return arrays, tuple(tensor_type(one.shape, one.dtype) for one in arrays)


def cut_pairs(call):
    """Counts, by brute force, what goes to another device: (value or node, device)."""
    lowered, devices = call.lowered, call.lowered.devices
    wanted = [str(full_name(one)) for one in call.contexts]
    pairs = {
        (edge, device)
        for edge, device in zip(lowered.graph.outputs, wanted, strict=True)
        if devices[edge.node] != device
    }
    for node in lowered.graph.nodes:
        for what in (*node.inputs, *node.controls):
            source = what.node if isinstance(what, tuple) else what
            if devices[source] != devices[node]:
                pairs.add((what, devices[node]))
    return len(pairs)


# -- random programs -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["manual", "threads", "naive"])
@settings(max_examples=thorough(2000, 25))
@given(cp.blocks(), st.integers(0, 99))
def test_taken_apart_on_three_devices_a_program_does_what_python_does(kind, block, seed):
    x, y = np.random.default_rng(seed).normal(size=(2, *gp.SHAPE))
    engines = {
        "manual": lambda: ThreadedEngine(pool=ManualPool(seed=seed)),
        "threads": lambda: ThreadedEngine(workers={"compute": 3}),
        "naive": NaiveEngine,
    }
    with (
        simulated(*(Simulated(number) for number in range(3))) as toys,
        running_on(engines[kind]()),
    ):
        symbol = cp.symbol_of(block, TOYS)
        arrays, types = inputs_of(symbol, x, y)
        for lower in (False, True):
            call = call_of(symbol, toys[0].context, types, lower)
            assert len(call.transfers) == len(set(call.transfers)) == cut_pairs(call)
            got = run(call, arrays)
            for one, want in zip(got, cp.run_numpy(block, [x, y]), strict=True):
                np.testing.assert_allclose(one, want, rtol=1e-12, atol=1e-12)


@settings(max_examples=thorough(300, 8))
@given(cp.blocks(depth=2), st.integers(0, 99))
def test_as_one_program_a_program_does_what_python_does(block, seed):
    x, y = np.random.default_rng(seed).normal(size=(2, *gp.SHAPE))
    symbol = cp.symbol_of(block)
    arrays, types = inputs_of(symbol, x, y)
    call = call_of(symbol, hn.cpu(0), types)
    assert sum(len(plan.programs) for plan in call.plans) <= 1
    for one, want in zip(run(call, arrays), cp.run_numpy(block, [x, y]), strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-10, atol=1e-10)


def slopes(block, x, y, step=1e-6):
    """Returns the gradients of the sum of a block's results, by differences."""

    def total(x, y):
        return sum(one.sum() for one in cp.run_numpy(block, [x, y]))

    found = []
    for changed in (x, y):
        slope = np.zeros(gp.SHAPE)
        for place in np.ndindex(gp.SHAPE):
            was = changed[place]
            ends = []
            for moved in (was + step, was - step):
                changed[place] = moved
                ends.append(total(x, y))
            changed[place] = was
            slope[place] = (ends[0] - ends[1]) / (2 * step)
        found.append(slope)
    return dict(zip("xy", found, strict=True))


def bound(symbol, ctx):
    names = symbol.list_inputs()
    return symbol.simple_bind(
        ctx,
        type_dict=dict.fromkeys(names, "float64"),
        **dict.fromkeys(names, gp.SHAPE),
    )


@pytest.mark.parametrize("devices", [None, TOYS])
@settings(max_examples=thorough(100, 5))
@given(cp.blocks(depth=2), st.integers(0, 99))
def test_gradients_are_the_slopes(devices, block, seed):
    """On one device: programs; on three: taken apart, with loops counted and bounded on theirs."""
    x, y = np.random.default_rng(seed).normal(size=(2, *gp.SHAPE))
    with simulated(*(Simulated(number) for number in range(3))) as toys:
        symbol = cp.symbol_of(block, devices)
        if not symbol.list_inputs():
            return
        executor = bound(symbol, hn.cpu(0) if devices is None else toys[0].context)
        given_arrays = {"x": x, "y": y}
        fed = {name: given_arrays[name] for name in symbol.list_inputs()}
        outputs = executor.forward(is_train=True, **fed)
        executor.backward([nd.ones(gp.SHAPE, dtype="float64", ctx=one.context) for one in outputs])
        wanted = slopes(block, x, y)
        for name, grad in executor.grad_dict.items():
            np.testing.assert_allclose(grad.asnumpy(), wanted[name], rtol=1e-4, atol=1e-6)
