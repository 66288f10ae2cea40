"""Convolutions by Winograd's method, held against JAX's own in float64."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import run_script, thorough
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from onednn_checks import (
    assert_same,
    chosen,
    close,
    layouts,
    losses_of,
    lowering,
    plainly,
    random,
    shaped,
)
from traced import hurried_jit

import hybridnet as hn
from hybridnet.gluon import nn
from hybridnet.native import onednn
from hybridnet.ops.core.alternatives import OperandType, Site, alternatives_of
from hybridnet.ops.core.registry import get
from hybridnet.ops.nn.conv import onednn as onednn_convolution
from hybridnet.ops.nn.conv import winograd
from hybridnet.runtime.programs import cache as programs
from hybridnet.runtime.specialize.splitting import split

pytestmark = pytest.mark.usefixtures("with_onednn")

NAME, PACKED = winograd.NAME, winograd.PACKED


def arrays_for(case: dict[str, Any], seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """Returns data, weights and a bias."""
    last, channels, filters = case["last"], case["channels"], case["filters"]
    data = random(*shaped(case["batch"], channels, case["sizes"], last), seed=seed)
    weight = random(*shaped(filters, channels, (3, 3), last), seed=seed + 1)
    return [data, weight, random(filters, seed=seed + 2)]


def params_of(case: dict[str, Any]) -> dict[str, Any]:
    layout = "NHWC" if case["last"] else None
    params = {"kernel": (3, 3), "stride": (1, 1), "dilate": (), "num_group": 1}
    return params | {"pad": case["pad"], "layout": layout}


def by_winograd(case: dict[str, Any]) -> Callable[..., Any]:
    return lambda *arrays: lowering("Convolution", NAME)(*arrays, **params_of(case))


def by_jax(case: dict[str, Any]) -> Callable[..., Any]:
    layout, kernels = layouts(2, case["last"])

    def reference(data: Any, weight: Any, bias: Any) -> Any:
        pad = [(one, one) for one in case["pad"]]
        names = (layout, kernels, layout)
        y = lax.conv_general_dilated(data, weight, (1, 1), pad, dimension_numbers=names)
        return y + bias.reshape([-1 if one == "C" else 1 for one in layout])

    return reference


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    pad = draw(st.tuples(st.integers(0, 4), st.integers(0, 4)))
    return {
        "batch": draw(st.integers(1, 3)),
        "sizes": [max(1, 3 - 2 * one) + draw(st.integers(0, 9)) for one in pad],
        "channels": 16 * draw(st.integers(1, 4)),
        "filters": 16 * draw(st.integers(1, 4)),
        "pad": pad,
        "last": draw(st.booleans()),
    }


@pytest.mark.slow
@settings(max_examples=thorough(1000, 15))
@given(cases(), st.integers(0, 99))
def test_convolutions_and_their_gradients(case: dict[str, Any], seed: int) -> None:
    assert_same(by_winograd(case), by_jax(case), arrays_for(case, seed))


@pytest.mark.slow
@pytest.mark.parametrize(
    "batch, sizes, channels, filters",
    [
        (1, (131, 130), 16, 16),  # three blocks, the last of which is not full
        (3, (81, 57), 64, 32),
        (1, (93, 87), 48, 80),
        (2, (9, 14), 192, 128),
        (1, (4, 4), 256, 16),
    ],
)
def test_many_blocks_and_widths(
    batch: int, sizes: tuple[int, int], channels: int, filters: int
) -> None:
    case = {"batch": batch, "sizes": sizes, "channels": channels, "filters": filters}
    case |= {"pad": (1, 1), "last": False}
    assert_same(by_winograd(case), by_jax(case), arrays_for(case))


@pytest.mark.slow
@pytest.mark.compiled
def test_its_products_have_kernels(tmp_path: Path, compiler: str) -> None:
    """For orders of weights without a kernel oneDNN has a plain loop, 1,000 times slower."""
    script = """
        from hybridnet import autograd, nd

        for filters in (64, 96, 112):  # in blocks of 64, 32 and 16
            x, w = nd.ones((4, 64, 32, 32)), nd.ones((filters, 64, 3, 3))
            x.attach_grad()
            w.attach_grad()
            with autograd.record():
                y = nd.Convolution(
                    x, w, kernel=(3, 3), pad=(1, 1), num_filter=filters, no_bias=True
                )
            y.backward()
            w.grad.wait_to_read()
            x.grad.wait_to_read()
        """
    environ = {"HYBRIDNET_CACHE_DIR": str(tmp_path), "CXX": compiler, "HYBRIDNET_HOST": "off"}
    said = run_script(script, **environ, HYBRIDNET_ONEDNN="1", ONEDNN_VERBOSE="1")
    products = [line.split(",")[4] for line in said.splitlines() if ",exec,cpu,matmul," in line]
    assert len(products) >= 9  # forward, and both gradients
    assert not [name for name in products if name.startswith("ref")]


@settings(max_examples=thorough(500, 10))
@given(cases(), st.integers(0, 99), st.booleans(), st.booleans())
def test_with_weights_that_stay_the_same(
    case: dict[str, Any], seed: int, with_addend: bool, relu: bool
) -> None:
    case["last"] = True
    arrays = arrays_for(case, seed)
    packed = lowering("Convolution", PACKED)
    found = hurried_jit(lambda *arrays: packed(*arrays, **params_of(case)))(*arrays)
    wanted = by_jax(case)(*(one.astype(np.float64) for one in arrays))
    close(found, wanted)
    addend = random(*found.shape, seed=seed + 3) if with_addend else None
    fused = lowering("_fused_convolution", PACKED)
    params = params_of(case) | {"relu": relu}
    found = hurried_jit(lambda *arrays: fused(*arrays, **params))(*arrays, addend)
    wanted = wanted + (0 if addend is None else addend)
    close(found, np.maximum(wanted, 0) if relu else wanted)


def test_nan_stays_through_relu() -> None:
    case = {"batch": 1, "sizes": (6, 6), "channels": 16, "filters": 16, "pad": (1, 1), "last": True}
    arrays = arrays_for(case)
    arrays[0][0, 2, 2, 3] = np.nan
    params = params_of(case) | {"relu": True}
    made = hurried_jit(lambda *a: lowering("_fused_convolution", PACKED)(*a, **params))(*arrays)
    seen = np.isnan(np.asarray(by_jax(case)(*arrays)))
    assert seen.any()
    assert np.isnan(np.asarray(made)[seen]).all()


def test_gradients_of_gradients() -> None:
    case = {"batch": 2, "sizes": (5, 6), "channels": 16, "filters": 32, "pad": (1, 0), "last": True}
    arrays = [one / 4 for one in arrays_for(case)]

    def energy(function: Any) -> Any:
        def loss(*arrays: Any) -> Any:
            return jnp.sum(jnp.tanh(function(*arrays) / 4))

        def first(*arrays: Any) -> Any:
            return sum(jnp.sum(one**2) for one in jax.grad(loss, (0, 1, 2))(*arrays))

        return jax.grad(first, argnums=(0, 1, 2))

    with jax.enable_x64(True):
        found = hurried_jit(energy(by_winograd(case)))(*arrays)
        wide = [one.astype(np.float64) for one in arrays]
        reference = hurried_jit(energy(by_jax(case)))(*wide)
    for one, other in zip(found, reference, strict=True):
        close(one, other, 2e-5)


# Where it is chosen -------------------------------------------------------------------------------


def call_of(data: tuple[int, ...], filters: int, **attrs: Any) -> tuple[Any, list[Any]]:
    attrs = {"kernel": (3, 3), "pad": (1, 1), "layout": "NHWC", "no_bias": True} | attrs
    call, _ = get("Convolution").bind({**attrs, "num_filter": filters})
    channels = data[-1] // attrs.get("num_group", 1)
    return call, [random(*data), random(filters, *attrs["kernel"], channels) / 3]


@pytest.mark.parametrize(
    "data, filters, changing, constant",
    [
        ((8, 16, 16, 64), 64, NAME, PACKED),
        ((1, 14, 14, 256), 256, onednn_convolution.NAME, PACKED),  # many weights, used little
        ((1, 28, 28, 16), 16, onednn_convolution.NAME, onednn_convolution.PACKED),  # few
    ],
)
def test_it_is_chosen_where_it_saves(
    data: tuple[int, ...], filters: int, changing: str, constant: str
) -> None:
    call, arrays = call_of(data, filters)
    for is_constant, name in ((False, changing), (True, constant)):
        made, found = chosen(call, arrays, is_constant)
        assert found == name
        close(made, plainly(call, arrays))


@pytest.mark.slow
@pytest.mark.parametrize(
    "data, attrs",
    [
        ((8, 16, 16, 64), {"stride": (2, 1)}),
        ((8, 16, 16, 64), {"dilate": (1, 2)}),
        ((8, 16, 16, 64), {"num_group": 2}),
        ((8, 16, 16, 64), {"kernel": (3, 1)}),
        ((8, 16, 16, 64), {"kernel": (5, 5)}),
        ((8, 16, 16, 60), {}),
        ((8, 256, 64), {"kernel": (3,), "pad": (1,), "layout": "NWC"}),
        ((2, 8, 8, 8, 64), {"kernel": (3, 3, 3), "pad": (1, 1, 1), "layout": "NDHWC"}),
        ((0, 16, 16, 64), {}),
    ],
)
def test_other_convolutions_are_not_its_own(data: tuple[int, ...], attrs: dict[str, Any]) -> None:
    alternatives = alternatives_of("Convolution")
    assert alternatives is not None
    call, arrays = call_of(data, 64, **attrs)
    operands = tuple(OperandType(one.shape, one.dtype) for one in arrays)
    sites = [Site("cpu", call, operands, constant_weights=constant) for constant in (False, True)]
    names = {one.name for site in sites for one in alternatives.applying(site)}
    assert not names & {NAME, PACKED}


def test_other_dtypes_are_not_its_own() -> None:
    call, arrays = call_of((8, 16, 16, 64), 64)
    for dtype in (np.float64, np.float16):
        _, name = chosen(call, [one.astype(dtype) for one in arrays])
        assert name not in (NAME, PACKED)


def test_what_it_makes_of_weights_counts_as_these() -> None:
    """It is four times as large, and kept all the same, within what may be kept at all."""
    call, arrays = call_of((1, 8, 8, 32), 32)

    def function(data: Any, weight: Any) -> Any:
        return lowering("Convolution", PACKED)(data, weight, **call.attrs)

    jaxpr = jax.make_jaxpr(function)(*arrays)
    found = split(jaxpr, [1], limit=36 * 32 * 32 * 4)
    assert found is not None
    assert found.nbytes == 36 * 32 * 32 * 4 > arrays[1].nbytes
    assert split(jaxpr, [1], limit=found.nbytes - 1) is None


# Networks -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_training_goes_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYBRIDNET_HOST", "off")
    x, labels = random(8, 3, 16, 16), np.arange(8) % 10

    def losses() -> list[float]:
        programs.cache.clear()
        hn.random.seed(3)
        net = nn.HybridSequential()
        net.add(
            nn.Conv2D(64, 3, padding=1, in_channels=3, activation="relu"),
            nn.Conv2D(64, 3, padding=1, in_channels=64, activation="tanh"),
            nn.GlobalAvgPool2D(),
            nn.Dense(10, in_units=64),
        )
        net.initialize(hn.init.Xavier())
        return losses_of(net, x, labels, 0.3)

    seen: list[Any] = []
    compute = onednn.compute
    with monkeypatch.context() as patch:
        patch.setattr(
            onednn, "compute", lambda spec, *rest: seen.append(spec) or compute(spec, *rest)
        )
        found = losses()
    assert {one[1] for one in seen if one[8]} == {0, 1, 2}, "forward and both gradients"
    monkeypatch.setenv("HYBRIDNET_ONEDNN", "0")
    np.testing.assert_allclose(found, losses(), rtol=1e-4)
    assert found[-1] < found[0]
