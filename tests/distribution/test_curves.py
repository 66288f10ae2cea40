"""Two workers and two servers train as one process does, bit for bit, on real digits."""

import importlib

import pytest
from helpers import thorough
from places import ROOT

pytest.importorskip("zmq")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lenet", "machine"])
def test_the_curve_is_that_of_one_process(monkeypatch, name):
    """With arrays in several parts, on both servers; it goes down where it is long enough."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    curves = importlib.import_module("curves")
    monkeypatch.setenv("HYBRIDNET_DIST_PART_BYTES", "16384")
    monkeypatch.setenv("MXNET_KVSTORE_BIGARRAY_BOUND", "1000")
    steps = thorough(200, 3)
    found = curves.compare(name, steps, 2, 2)
    assert found["equal"]
    assert len(found["curve"]) == steps
    if steps > 100:
        assert sum(found["curve"][-20:]) < 0.6 * sum(found["curve"][:20])
