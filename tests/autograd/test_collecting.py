"""The garbage collector while a long pass back is recorded."""

import gc

import pytest

from hybridnet import autograd, nd
from hybridnet.runtime.segments.segment import Segment


@pytest.mark.parametrize("enabled", [True, False])
def test_a_long_pass_back_stops_the_collector_and_leaves_it_as_it_was(enabled, monkeypatch):
    seen = set()
    append_one = Segment.append_one

    def watched(*args):
        seen.add(gc.isenabled())
        return append_one(*args)

    x = nd.ones((2,))
    x.attach_grad()
    with autograd.record():
        y = x
        for _ in range(70):
            y = nd.tanh(y)
    monkeypatch.setattr(Segment, "append_one", watched)
    if not enabled:
        gc.disable()
    try:
        y.backward(nd.ones((2,)))
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
    assert False in seen
    expected, slope = 1.0, 1.0
    for _ in range(70):
        expected = nd.tanh(nd.array([expected])).asscalar()
        slope *= 1 - expected**2
    assert x.grad.asnumpy()[0] == pytest.approx(slope, rel=1e-4)
