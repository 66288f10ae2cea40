"""Memory of GPUs: what does not fit is an error that says so, and nothing else is lost.

The card is a virtual one, which says of its memory what a test has it say.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import heat, settle

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base import config
from hybridnet.base.errors import OutOfMemoryError
from hybridnet.runtime.platform import jax_devices
from hybridnet.runtime.programs import dispatch
from hybridnet.runtime.tiers.prices import prices

GIB = 1 << 30
ROWS = prices.stays // 4 // 1024 + 1  # of 1024 numbers: more than what stays in host memory
SIZE = 4 * 1024 * ROWS


def says(card, left):
    card.stats = {"bytes_limit": 80 * GIB, "bytes_in_use": 80 * GIB - left}


@pytest.fixture
def hot(card):
    """A loop whose launch makes a small and a large array, by one program; and its input."""
    x = nd.array(np.arange(ROWS), ctx=hn.gpu(0))
    y = nd.ones((1, 1024), ctx=hn.gpu(0))

    def step():
        small = x * 2 + 1
        large = (small.reshape((-1, 1)) * y) + 1
        return small, large

    def run():
        small, large = step()
        large.wait_to_read()
        return small, large

    heat(run, 20)
    return step


def test_only_what_lacks_memory_fails(card, hot):
    says(card, SIZE // 2)
    small, large = hot()
    with pytest.raises(OutOfMemoryError) as told:
        large.wait_to_read()
    np.testing.assert_array_equal(small.asnumpy(), np.arange(ROWS) * 2 + 1)
    text = str(told.value)
    assert f"float32[{ROWS},1024] at" in text and "test_gpu_memory.py" in text
    assert (
        f"room:    {SIZE / 2 / 2**20:.2f} MiB left of 81,920 MiB, by the memory of gpu(0)" in text
    )
    assert "alive:" in text
    with pytest.raises(OutOfMemoryError):
        large.asnumpy()
    says(card, 10 * GIB)
    small, large = hot()
    assert large[3, 5].asscalar() == 8


def test_a_dispatch_that_finds_no_memory(card, hot, monkeypatch):
    start, failed = dispatch.start, []

    def lacking(compiled, arguments, made):
        if len(failed) < 2:
            failed.append(len(arguments))
            raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 17 bytes")
        start(compiled, arguments, made)

    monkeypatch.setattr(dispatch, "start", lacking)
    small, large = hot()
    large.wait_to_read()
    assert large[3, 5].asscalar() == 8  # step by step there was room
    assert small[2].asscalar() == 5 and len(failed) == 2


def test_what_a_failed_dispatch_has_taken_is_named(card, monkeypatch):
    x = nd.array(np.ones((ROWS, 1024)), ctx=hn.gpu(0))

    def step():
        x[:] = nd.sqrt(x * 2 + 1)
        x.wait_to_read()

    heat(step, 20)
    assert x[0, 0].asscalar() > 1

    def lacking(compiled, arguments, made):
        arguments[0].delete()
        raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 17 bytes")

    monkeypatch.setattr(dispatch, "start", lacking)
    with pytest.raises(OutOfMemoryError, match=r"is lost, as XLA had taken its memory: float32\["):
        step()


def test_weights_are_as_they_were_after_a_step_that_lacked_memory(card):
    ctx = hn.gpu(0)
    net = gluon.nn.Dense(64, in_units=1024)
    net.initialize(hn.init.Xavier(), ctx=ctx)
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x = nd.array(np.ones((ROWS * 16, 1024)), ctx=ctx)

    def step():
        with autograd.record():
            loss = (net(x) ** 2).mean()
        loss.backward()
        trainer.step(1)
        return loss

    heat(step)
    settle()
    before = [param.data().asnumpy() for param in net.collect_params().values()]
    says(card, 1 << 20)
    with pytest.raises(OutOfMemoryError):
        step().wait_to_read()
    after = [param.data().asnumpy() for param in net.collect_params().values()]
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)
    says(card, 10 * GIB)
    assert np.isfinite(step().asscalar())


def test_an_array_that_does_not_fit_is_not_put(card):
    says(card, SIZE - 1)
    with pytest.raises(OutOfMemoryError, match=r"nd\.array of shape .* on gpu\(0\): needs"):
        nd.array(np.ones((ROWS, 1024)), ctx=hn.gpu(0))
    says(card, SIZE)
    assert nd.array(np.ones((ROWS, 1024)), ctx=hn.gpu(0)).shape == (ROWS, 1024)


def test_jax_finds_no_memory_for_an_array(card, monkeypatch):
    def lacking(ctx, array):
        raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 17 bytes")

    monkeypatch.setattr(jax_devices, "_put", lacking)
    with pytest.raises(OutOfMemoryError, match=r"on gpu\(0\): needs"):
        nd.array(np.ones((ROWS, 1024)), ctx=hn.gpu(0))


def test_what_is_said_of_its_memory(card):
    says(card, 3 * GIB)
    card.stats["peak_bytes_in_use"] = 79 * GIB
    assert hn.context.gpu_memory_info(0) == (3 * GIB, 80 * GIB)
    kept = nd.array(np.ones((ROWS, 1024)), ctx=hn.gpu(0))
    found = hn.runtime.memory()
    assert found.accelerators["gpu(0)"] == (77 * GIB, 79 * GIB, 80 * GIB)
    assert found.arrays["gpu(0)"] >= SIZE
    assert "in use on gpu(0)" in str(found)
    hn.gpu(0).empty_cache()
    assert kept.asnumpy().all()


def test_memory_is_taken_as_it_is_needed(monkeypatch):
    name = "XLA_PYTHON_CLIENT_PREALLOCATE"
    monkeypatch.delenv(name, raising=False)
    assert jax_devices._taking_memory() == {name: "false"}
    monkeypatch.setenv("HYBRIDNET_GPU_PREALLOCATE", "1")
    assert config.gpu_preallocate() and jax_devices._taking_memory() == {}
    monkeypatch.delenv("HYBRIDNET_GPU_PREALLOCATE")
    monkeypatch.setenv(name, "true")
    assert jax_devices._taking_memory() == {}
