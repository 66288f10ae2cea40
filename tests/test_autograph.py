"""Control flow of Python in traced functions: what comes out is what Python would compute."""

from __future__ import annotations

import numpy as np
import pytest
from autograph_programs import PROGRAMS, Host

import hybridnet as hn
from hybridnet import autograd, nd


def leaves(result):
    """The numbers of a result, flat."""
    parts = result if isinstance(result, (tuple, list)) else [result]
    hosts = [one.asnumpy() if isinstance(one, nd.NDArray) else np.asarray(one) for one in parts]
    return [one.astype(np.float64).reshape(-1) for one in hosts]


def differentiated(run, given):
    """Returns results and gradient of a function of an array."""
    x = nd.array(given, dtype="float32")
    x.attach_grad()
    with autograd.record():
        result = run(nd, x)
        parts = result if isinstance(result, tuple) else (result,)
        arrays = [one for one in parts if isinstance(one, nd.NDArray)]
        head = sum(one.sum() for one in arrays if np.dtype(one.dtype).kind == "f")
    head.backward()
    return leaves(result), x.grad.asnumpy()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.run.__name__)
def test_programs(program):
    """As NumPy computes it, as eager arrays do, and as the graph does."""
    traced = hn.function(program.run)
    for given in program.inputs:
        host = np.array(given, np.float32)
        plain = leaves(program.run(Host, host.copy()))
        eager = leaves(program.run(nd, nd.array(host)))
        got = leaves(traced(nd, nd.array(host)))
        for one, two, three in zip(plain, eager, got, strict=True):
            np.testing.assert_allclose(two, one, rtol=2e-4, atol=1e-5)
            np.testing.assert_allclose(three, two, rtol=1e-5, atol=1e-6)
    assert traced.cache_info().traces == len({np.shape(one) for one in program.inputs})
    if not program.differentiated:
        return
    for given in program.inputs[:2]:
        wanted, gradient = differentiated(program.run, given)
        got, found = differentiated(traced, given)
        for one, two in zip(wanted, got, strict=True):
            np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found, gradient, rtol=1e-4, atol=1e-5)
