"""What tests of lowerings by oneDNN share; without oneDNN or a compiler they are skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import settle
from traced import hurried_jit

import hybridnet as hn
from hybridnet import autograd, nd
from hybridnet.native import onednn
from hybridnet.ops.core.alternatives import alternatives_of, constant_weights, picking

with pytest.MonkeyPatch.context() as _patch:
    _patch.setenv("HYBRIDNET_ONEDNN", "1")
    if onednn.name() is None:
        pytest.skip("oneDNN is not installed", allow_module_level=True)
if not os.environ.get("CXX") and not any(map(shutil.which, ("c++", "g++", "clang++"))):
    pytest.skip("there is no C++ compiler to build the calls of oneDNN", allow_module_level=True)

#: The greatest difference, as a share of the greatest magnitude.
TOLERANCE = 1e-5


def random(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def close(found: Any, wanted: Any, tolerance: float = TOLERANCE) -> None:
    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    assert found.shape == wanted.shape
    largest = np.abs(wanted).max(initial=1e-6)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * largest)


def lowering(operator: str, name: str) -> Callable[..., Any]:
    alternatives = alternatives_of(operator)
    assert alternatives is not None
    return alternatives.by_name[name].lowering


def assert_same(found: Any, reference: Any, arrays: Sequence[Any]) -> None:
    """Compares values and gradients by all arrays; the reference computes in float64."""

    def run(function: Any, arrays: Sequence[Any]) -> list[Any]:
        y, pull = jax.vjp(function, *arrays)
        # The same for both, and of sums that are not small against what is summed.
        head = (1.5 + np.cos(np.arange(y.size, dtype=np.float32))).reshape(y.shape).astype(y.dtype)
        return [y, *pull(jnp.asarray(head))]

    def both(arrays: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return run(found, arrays), run(reference, [one.astype("float64") for one in arrays])

    with jax.enable_x64(True):
        for one, other in zip(*hurried_jit(both)(arrays), strict=True):
            assert one.dtype == np.float32
            close(one, other)


def chosen(call: Any, arrays: Sequence[Any], constant: bool = False) -> tuple[Any, str]:
    """Runs a call as its program would; returns its first output and the lowering's name."""
    seen: dict[Any, str] = {}

    def run(*arrays: Any) -> Any:
        with picking({}, seen):
            if not constant:
                return call.lower("cpu", arrays, ())[0]
            with constant_weights():
                return call.lower("cpu", arrays, ())[0]

    with jax.enable_x64(True):
        made = hurried_jit(run)(*arrays)
    (name,) = seen.values()
    return made, name


def plainly(call: Any, arrays: Sequence[Any]) -> Any:
    """Runs a call's own lowering in float64; of alternatives, none is asked."""
    with jax.enable_x64(True), pytest.MonkeyPatch.context() as patch:
        patch.setenv("HYBRIDNET_TUNE", "off")
        wide = [np.asarray(one, np.float64) for one in arrays]
        return hurried_jit(lambda *arrays: call.lower("cpu", arrays, ())[0])(*wide)


def layouts(axes: int, last: bool) -> tuple[str, str]:
    """Returns the layout of data and of weights."""
    names = "DHW"[-axes:]
    return (f"N{names}C", f"O{names}I") if last else (f"NC{names}", f"OI{names}")


def shaped(outer: int, channels: int, spatial: Sequence[int], last: bool) -> tuple[int, ...]:
    return (outer, *spatial, channels) if last else (outer, channels, *spatial)


def losses_of(net: Any, x: Any, labels: Any, rate: float) -> list[float]:
    """Trains a network for six steps; returns the loss of each."""
    net.hybridize()
    trainer = hn.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate})
    entropy = hn.gluon.loss.SoftmaxCrossEntropyLoss()
    found = []
    for _ in range(6):
        with autograd.record():
            loss = entropy(net(nd.array(x)), nd.array(labels)).mean()
        loss.backward()
        trainer.step(1)
        found.append(float(loss.asscalar()))
        settle()  # a program takes over as soon as it can
    return found
