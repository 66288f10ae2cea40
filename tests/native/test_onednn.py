"""Lowerings by oneDNN, and how that is found, compiled and loaded.

Convolutions are held against JAX's own, in float64; deconvolutions, products and fused convolutions
against the operators' plain lowerings, which have tests against loops and MXNet.
"""

from __future__ import annotations

import gc
import logging
import os
import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import run_op, run_script, thorough
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
from hybridnet import autograd, nd
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.gluon import nn
from hybridnet.native import onednn
from hybridnet.ops.core.alternatives import (
    PLAIN,
    OperandType,
    Site,
    alternatives_of,
    constant_weights,
    picking,
)
from hybridnet.ops.core.registry import get
from hybridnet.ops.nn.conv import onednn as onednn_convolution
from hybridnet.runtime.programs import cache as programs
from hybridnet.runtime.programs import making
from hybridnet.runtime.programs.compiling import executable_from, sites_of
from hybridnet.runtime.programs.executable import innermost
from hybridnet.runtime.programs.program_rules import may_call_onednn
from hybridnet.runtime.segments.code import Code
from hybridnet.runtime.specialize import improve, specializing
from hybridnet.runtime.specialize.constants import Specialized, memory
from hybridnet.runtime.tiers.choice import Decision, Purchase
from hybridnet.runtime.tuning import again
from hybridnet.runtime.tuning.timing import Comparison

NAME, PACKED = onednn_convolution.NAME, onednn_convolution.PACKED
pytestmark = pytest.mark.usefixtures("with_onednn")


# Convolution --------------------------------------------------------------------------------------


@st.composite
def windows(draw: Any) -> dict[str, Any]:
    """What convolutions are made of; there are as many axes as `kernel` has."""
    axes = draw(st.integers(1, 3))
    along = [
        {
            "kernel": draw(st.integers(1, 3)),
            "stride": draw(st.integers(1, 3)),
            "dilate": draw(st.integers(1, 3)),
            "pad": draw(st.integers(0, 3)),
        }
        for _ in range(axes)
    ]
    least = [one["dilate"] * (one["kernel"] - 1) + 1 - 2 * one["pad"] for one in along]
    groups = draw(st.sampled_from([1, 1, 2, 3, 16]))
    return {
        "sizes": [max(one, 1) + draw(st.integers(0, 5)) for one in least],
        "batch": draw(st.integers(1, 3)),
        "channels": groups * draw(st.sampled_from([1, 2, 3, 8] if groups < 16 else [1])),
        "filters": groups * draw(st.sampled_from([1, 2, 5, 16] if groups < 16 else [1])),
        "groups": groups,
        "bias": draw(st.booleans()),
        "last": draw(st.booleans()),
        "attrs": {name: tuple(one[name] for one in along) for name in along[0]},
    }


def arrays_for(case: dict[str, Any], seed: int = 0) -> list[np.ndarray[Any, Any]]:
    kernel, last = case["attrs"]["kernel"], case["last"]
    data = random(*shaped(case["batch"], case["channels"], case["sizes"], last), seed=seed)
    inner = case["channels"] // case["groups"]
    weight = random(*shaped(case["filters"], inner, kernel, last), seed=seed + 1)
    return [data, weight, *([random(case["filters"], seed=seed + 2)] if case["bias"] else [])]


def by_jax(case: dict[str, Any]) -> Callable[..., Any]:
    """Returns the function that JAX's own convolution is."""
    attrs = case["attrs"]
    layout, kernels = layouts(len(attrs["kernel"]), case["last"])

    def reference(data: Any, weight: Any, bias: Any = None) -> Any:
        y = lax.conv_general_dilated(
            data,
            weight,
            attrs["stride"],
            [(one, one) for one in attrs["pad"]],
            rhs_dilation=attrs["dilate"],
            dimension_numbers=(layout, kernels, layout),
            feature_group_count=case["groups"],
        )
        if bias is None:
            return y
        return y + bias.reshape([-1 if one == "C" else 1 for one in layout])

    return reference


@pytest.mark.slow
@settings(max_examples=thorough(2000, 20))
@given(windows(), st.integers(0, 99))
def test_convolutions_and_their_gradients(case: dict[str, Any], seed: int) -> None:
    layout = layouts(len(case["attrs"]["kernel"]), case["last"])[0] if case["last"] else None

    def found(*arrays: Any) -> Any:
        params = {**case["attrs"], "num_group": case["groups"], "layout": layout}
        return lowering("Convolution", NAME)(*arrays, **params)

    assert_same(found, by_jax(case), arrays_for(case, seed))


@pytest.mark.slow
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("channels", "filters", "kernel", "stride", "pad", "size"),
    [
        (1, 20, (5, 5), (1, 1), (0, 0), (9, 8)),  # in two vectors
        (2, 70, (1, 13), (1, 2), (0, 3), (4, 15)),  # more taps and filters than registers
        (3, 3, (3, 2), (3, 4), (5, 6), (1, 1)),  # windows of zeros alone, too
    ],
)
def test_gradients_of_few_channels(
    channels: int,
    filters: int,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    pad: tuple[int, int],
    size: tuple[int, int],
    last: bool,
) -> None:
    attrs = {"kernel": kernel, "stride": stride, "pad": pad, "dilate": (1, 1)}
    case = {"attrs": attrs, "groups": 1, "last": last, "channels": channels, "filters": filters}
    case.update(sizes=size, batch=35, bias=True)

    def found(*arrays: Any) -> Any:
        params = {**attrs, "num_group": 1, "layout": "NHWC" if last else None}
        return lowering("Convolution", NAME)(*arrays, **params)

    assert_same(found, by_jax(case), arrays_for(case))


def test_parameters_that_are_left_out() -> None:
    data, weight = random(2, 3, 7, 6), random(4, 3, 3, 2)
    call, _ = get("Convolution").bind({"kernel": (3, 2), "num_filter": 4, "no_bias": True})
    made, name = chosen(call, [data, weight])
    assert name == NAME
    close(made, lax.conv_general_dilated(data, weight, (1, 1), [(0, 0)] * 2))


def test_windows_that_see_nothing_but_zeros() -> None:
    """Padding is longer than the windows."""
    attrs = {"kernel": (2,), "stride": (2,), "dilate": (1,), "pad": (5,)}
    case = {"sizes": [3], "batch": 2, "channels": 2, "filters": 3, "groups": 1}
    case |= {"bias": True, "last": True, "attrs": attrs}

    def found(*arrays: Any) -> Any:
        return lowering("Convolution", NAME)(*arrays, **attrs, num_group=1, layout="NWC")

    assert_same(found, by_jax(case), arrays_for(case))


def test_sequences_of_convolutions_are_vectorized_one_by_one() -> None:
    data, weight = random(3, 2, 6, 5, 4), random(8, 4, 3, 3)

    def convolve(x: Any, w: Any) -> Any:
        attrs = {"kernel": (3, 3), "stride": (), "dilate": (), "pad": (), "num_group": 1}
        call = lowering("Convolution", NAME)
        return call(jnp.moveaxis(x, -1, 1), w, **attrs, layout=None)

    made = hurried_jit(jax.vmap(convolve, (0, None)))(data, weight)
    close(made, np.stack([convolve(one, weight) for one in data]))


# Deconvolution ------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=thorough(1000, 14))
@given(windows(), st.data(), st.integers(0, 99))
def test_deconvolutions_and_their_gradients(
    case: dict[str, Any], data: st.DataObject, seed: int
) -> None:
    attrs, axes, groups = dict(case["attrs"]), len(case["attrs"]["kernel"]), case["groups"]
    sizes = [1 + data.draw(st.integers(0, 4)) for _ in range(axes)]
    along = list(zip(sizes, *attrs.values(), strict=True))
    whole = [(size - 1) * s + d * (k - 1) + 1 for size, k, s, d, _ in along]
    if data.draw(st.booleans()):
        # What is cut off both ends may differ only where windows are apart: the plain lowering.
        cuts = [data.draw(st.integers(0, one - 1)) for one in whole]
        cuts = [cut - cut % 2 * (s == 1) for cut, s in zip(cuts, attrs["stride"], strict=True)]
        attrs["target_shape"] = tuple(one - cut for one, cut in zip(whole, cuts, strict=True))
        fits = True
    else:
        attrs["adj"] = tuple(data.draw(st.integers(0, one - 1)) for one in attrs["stride"])
        attrs["pad"] = tuple(
            min(pad, (one + adj - 1) // 2)
            for pad, one, adj in zip(attrs["pad"], whole, attrs["adj"], strict=True)
        )
        fits = all(a <= p for a, p in zip(attrs["adj"], attrs["pad"], strict=True))
    last = case["last"]
    attrs |= {"num_group": groups, "num_filter": case["filters"], "no_bias": not case["bias"]}
    attrs["layout"] = layouts(axes, last)[0] if last else None
    arrays = [
        random(*shaped(case["batch"], case["channels"], sizes, last), seed=seed),
        random(
            *shaped(case["channels"], case["filters"] // groups, attrs["kernel"], last),
            seed=seed + 1,
        ),
        *([random(case["filters"], seed=seed + 2)] if case["bias"] else []),
    ]
    call, _ = get("Deconvolution").bind(attrs)
    made, name = chosen(call, arrays)
    assert name == (NAME if fits else PLAIN)
    close(made, plainly(call, arrays))
    if fits:
        params = {**call.attrs, "platform": "cpu"}
        plain = get("Deconvolution").lowering
        assert_same(
            lambda *arrays: lowering("Deconvolution", NAME)(*arrays, **params),
            lambda *arrays: plain(*arrays, **params),
            arrays,
        )


# Derivatives of any order -------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["x", "w"])
def test_gradients_of_gradients(which: str) -> None:
    """All three maps are differentiated, by each of what they are given."""
    case = {"sizes": [6, 5], "batch": 2, "channels": 4, "filters": 6, "groups": 2, "bias": True}
    attrs = {"kernel": (3, 2), "stride": (2, 1), "dilate": (1, 2), "pad": (1, 1)}
    case |= {"last": True, "attrs": attrs}
    arrays = arrays_for(case)

    def ours(*arrays: Any) -> Any:
        params = {**attrs, "num_group": 2, "layout": "NHWC"}
        return lowering("Convolution", NAME)(*arrays, **params)

    def energy(function: Any) -> Any:
        def first(x: Any, w: Any, b: Any) -> Any:
            def loss(*arrays: Any) -> Any:
                return jnp.sum(jnp.tanh(function(*arrays) / 4))

            grads = jax.grad(loss, argnums=(0, 1, 2))(x, w, b)
            return (
                jnp.sum(jnp.sin(grads[0]))
                if which == "x"
                else sum(jnp.sum(one**2) for one in grads[1:])
            )

        return jax.grad(first, argnums=(0, 1, 2))

    with jax.enable_x64(True):
        found = hurried_jit(energy(ours))(*arrays)
        wide = [one.astype(np.float64) for one in arrays]
        reference = hurried_jit(energy(by_jax(case)))(*wide)
    for one, other in zip(found, reference, strict=True):
        close(one, other)


def test_gradients_of_gradients_by_autograd(monkeypatch: pytest.MonkeyPatch) -> None:
    def penalty(dtype: str) -> list[Any]:
        x, w = (nd.array(one, dtype=dtype) for one in (random(2, 3, 6, 6), random(4, 3, 3, 3)))
        for one in (x, w):
            one.attach_grad()
        with autograd.record():
            y = nd.Convolution(x, w, kernel=(3, 3), num_filter=4, no_bias=True)
            (first,) = autograd.grad(nd.tanh(y / 4).sum(), [x], create_graph=True)
            loss = (first**2).sum()
        loss.backward()
        return [x.grad.asnumpy(), w.grad.asnumpy()]

    found = penalty("float32")
    monkeypatch.setenv("HYBRIDNET_ONEDNN", "0")
    programs.cache.clear()
    for one, other in zip(found, penalty("float64"), strict=True):
        close(one, other)


# Weights that stay the same -----------------------------------------------------------------------


@settings(max_examples=thorough(1000, 12))
@given(windows(), st.integers(0, 99))
def test_packed_convolutions(case: dict[str, Any], seed: int) -> None:
    case["last"] = True
    arrays = arrays_for(case, seed)
    layout = layouts(len(case["attrs"]["kernel"]), True)[0]
    attrs = {**case["attrs"], "num_group": case["groups"], "layout": layout}
    attrs |= {"num_filter": case["filters"], "no_bias": not case["bias"]}
    call, _ = get("Convolution").bind(attrs)
    made, name = chosen(call, arrays, constant=True)
    assert name == PACKED
    close(made, by_jax(case)(*arrays))


@pytest.mark.slow
@settings(max_examples=thorough(1000, 12))
@given(windows(), st.integers(0, 99), st.booleans(), st.booleans())
def test_fused_convolutions(case: dict[str, Any], seed: int, with_addend: bool, relu: bool) -> None:
    case.update(last=True, bias=True)
    arrays = arrays_for(case, seed)
    layout = layouts(len(case["attrs"]["kernel"]), True)[0]
    attrs = {**case["attrs"], "num_group": case["groups"], "layout": layout}
    attrs |= {"num_filter": case["filters"], "with_addend": with_addend, "relu": relu}
    if with_addend:
        arrays.append(random(*jax.eval_shape(by_jax(case), *arrays).shape, seed=seed + 3))
    call, _ = get("_fused_convolution").bind(attrs)
    made, name = chosen(call, arrays, constant=True)
    assert name == PACKED
    plain, name = chosen(call, arrays)
    assert name == PLAIN
    close(made, plain)
    close(made, plainly(call, arrays))


@settings(max_examples=thorough(300, 8))
@given(
    lead=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    flatten=st.booleans(),
    bias=st.booleans(),
    seed=st.integers(0, 99),
)
def test_products(lead: list[int], flatten: bool, bias: bool, seed: int) -> None:
    """With weights as they come, which has gradients, and packed."""
    features = 24 * int(np.prod(lead[1:], dtype=int)) if flatten else 24
    arrays = [random(*lead, 24, seed=seed), random(18, features, seed=seed + 1)]
    arrays += [random(18, seed=seed + 2)] if bias else []
    attrs = {"num_hidden": 18, "flatten": flatten, "no_bias": not bias}
    packed = hurried_jit(lambda *arrays: lowering("FullyConnected", PACKED)(*arrays, **attrs))

    def reference(x: Any, w: Any, b: Any = 0.0) -> Any:
        return (x.reshape(x.shape[0], -1) if flatten else x) @ w.T + b

    close(packed(*arrays), reference(*arrays))
    product = lowering("FullyConnected", NAME)
    assert_same(lambda *arrays: product(*arrays, **attrs), reference, arrays)


@pytest.mark.parametrize(
    "rows, features, filters, changing, constant",
    [
        (4, 16, 8, PLAIN, PLAIN),
        (4, 256, 256, PLAIN, PACKED),
        (64, 256, 256, NAME, PACKED),
        (1, 256, 256, PLAIN, NAME),
    ],
)
def test_small_products_are_left_to_xla(
    rows: int, features: int, filters: int, changing: str, constant: str
) -> None:
    call, _ = get("FullyConnected").bind({"num_hidden": filters, "no_bias": True})
    arrays = [random(rows, features), random(filters, features)]
    for is_constant, name in ((False, changing), (True, constant)):
        made, found = chosen(call, arrays, is_constant)
        assert found == name
        close(made, arrays[0] @ arrays[1].T)


# Where it does not apply --------------------------------------------------------------------------

CALLS = {
    "Convolution": ((2, 6, 6, 3), (4, 3, 3, 3), {"num_filter": 4}),
    "Deconvolution": ((2, 6, 6, 3), (3, 3, 3, 4), {"num_filter": 4}),
    "_fused_convolution": ((2, 6, 6, 3), (4, 3, 3, 3), {"num_filter": 4, "with_addend": True}),
    "FullyConnected": ((2, 300), (256, 300), {"num_hidden": 256}),
}


def call_of(name: str, dtype: Any = np.float32) -> tuple[Any, list[Any]]:
    data, weight, attrs = CALLS[name]
    attrs = dict(attrs)
    if name != "FullyConnected":
        attrs |= {"kernel": (3, 3), "layout": "NHWC"}
    if name == "Deconvolution":
        attrs["no_bias"] = False
    filters = weight[-1] if name == "Deconvolution" else weight[0]
    call, _ = get(name).bind(attrs)
    # What is added to the result of the fused one.
    more = [(2, 4, 4, 4)] if name == "_fused_convolution" else []
    return call, [random(*one).astype(dtype) for one in (data, weight, (filters,), *more)]


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_other_dtypes_are_left_to_xla(name: str) -> None:
    for constant in (False, True):
        call, arrays = call_of(name)
        assert chosen(call, arrays, constant)[1] in (NAME, PACKED, PLAIN)
        for dtype, tolerance in (("float16", 1e-2), ("float64", 1e-12), (jnp.bfloat16, 5e-2)):
            call, arrays = call_of(name, jnp.dtype(dtype))
            made, lowered_by = chosen(call, arrays, constant)
            assert lowered_by not in (NAME, PACKED)
            assert made.dtype == arrays[0].dtype
            close(made, plainly(call, arrays), tolerance)


@pytest.mark.parametrize("name", CALLS)
def test_empty_batches_are_left_to_xla(name: str) -> None:
    alternatives = alternatives_of(name)
    assert alternatives is not None
    call, arrays = call_of(name)
    for batch in (1, 0):
        arrays[0] = arrays[0][:batch]
        operands = tuple(OperandType(one.shape, one.dtype) for one in arrays)
        sites = [
            Site("cpu", call, operands, constant_weights=constant) for constant in (False, True)
        ]
        names = {one.name for site in sites for one in alternatives.applying(site)}
        assert bool({NAME, PACKED} & names) == (batch > 0)


@pytest.mark.parametrize("name", CALLS)
def test_open_sizes_are_left_to_xla(name: str) -> None:
    call, arrays = call_of(name)
    seen: dict[Any, str] = {}

    def run(*arrays: Any) -> Any:
        with picking({}, seen), constant_weights():
            return call.lower("cpu", arrays, ())[0]

    with jax.enable_x64(True):
        (size,) = jax.export.symbolic_shape("batch")
        given = [jax.ShapeDtypeStruct(one.shape, one.dtype) for one in arrays]
        for place in {0, len(arrays) - 1} - {2}:
            given[place] = jax.ShapeDtypeStruct((size, *arrays[place].shape[1:]), np.float32)
        exported = jax.export.export(jax.jit(run), platforms=["cpu"])(*given)
        made = exported.call(*arrays)
    assert not {NAME, PACKED}.intersection(seen.values())
    close(made, plainly(call, arrays))


def test_exported_models_do_not_need_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, in_channels=3), nn.Dense(5, in_units=8 * 36))
    net.initialize()
    net.hybridize()
    x = nd.array(random(1, 3, 8, 8))
    right = net(x).asnumpy()
    hn.export(net, tmp_path / "model.hnx", hn.TensorSpec((1, 3, 8, 8)))
    monkeypatch.setenv("HYBRIDNET_ONEDNN", "0")
    close(hn.load(tmp_path / "model.hnx")(x).asnumpy(), right)


@pytest.mark.parametrize("variable", ["HYBRIDNET_ONEDNN=0", "HYBRIDNET_TUNE=off"])
def test_it_can_be_turned_off(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(*variable.split("="))
    call, arrays = call_of("Convolution")
    made, name = chosen(call, arrays)
    assert name != NAME
    close(made, plainly(call, arrays))


# Networks -----------------------------------------------------------------------------------------


class Unit(nn.HybridBlock):
    """A residual unit whose data are convolved, too."""

    def __init__(self, filters: int, channels: int) -> None:
        super().__init__()
        with self.name_scope():
            self.body = nn.HybridSequential()
            for given, more in ((channels, [nn.Activation("relu")]), (filters, [])):
                self.body.add(
                    nn.Conv2D(filters, 3, padding=1, use_bias=False, in_channels=given),
                    nn.BatchNorm(in_channels=filters),
                    *more,
                )
            self.short = nn.Conv2D(filters, 1, in_channels=channels)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Activation(self.body(x) + self.short(x), act_type="relu")


def network() -> Any:
    hn.random.seed(5)
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(16, 3, padding=1, in_channels=3),
        nn.BatchNorm(in_channels=16),
        nn.Activation("relu"),
        Unit(16, 16),
        nn.MaxPool2D(2),
        nn.Conv2D(16, 3, groups=16, in_channels=16, activation="relu"),
        nn.GlobalAvgPool2D(),
        nn.Flatten(),
        nn.Dense(2048, in_units=16, activation="relu"),
        nn.Dense(10, in_units=2048),
    )
    net.initialize(hn.init.Xavier())
    return net


def specialized() -> list[Specialized]:
    found = [one.compiled for one in programs.cache.programs()]
    return [one for one in found if isinstance(one, Specialized)]


@pytest.fixture
def winning(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is made for weights that stay the same is used at once, however fast it is."""

    def at_once(work: Callable[[], None], name: str, **_: Any) -> None:
        work()

    monkeypatch.setattr(making, "later", at_once)
    monkeypatch.setattr(improve, "later", at_once)
    monkeypatch.setattr(improve, "decide_constants", lambda *_: Decision(Purchase.CONSTANTS))
    monkeypatch.setattr(specializing, "compare", lambda *_: Comparison(1.0, 0.5, 0.5, 0.0))
    yield
    programs.cache.clear()
    gc.collect()
    memory.clear()


def test_a_network_is_the_same_with_its_weights_specialized(
    winning: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[Any, str] = {}
    both = specializing.lower_specialized

    def looking(*given: Any) -> Any:
        program = both(*given)
        assert program is not None

        def watched(*arguments: Any) -> Any:
            with picking({}, seen):
                return program(*arguments)

        return watched

    monkeypatch.setattr(specializing, "lower_specialized", looking)
    # Large enough an image that batch norms go into the weights.
    net, x = network(), random(4, 3, 36, 36)
    for name, one in net.collect_params().items():
        if name.endswith(("running_mean", "running_var", "gamma", "beta")):
            one.set_data(nd.array(np.abs(random(*one.shape)) + 0.5))
    monkeypatch.setenv("HYBRIDNET_ONEDNN", "0")
    right = net(nd.array(x)).asnumpy()
    monkeypatch.setenv("HYBRIDNET_ONEDNN", "1")
    programs.cache.clear()
    net.hybridize()
    for _ in range(40):
        net(nd.array(x)).wait_to_read()
        if specialized():
            break
    (found,) = specialized()
    for _ in range(3):
        close(net(nd.array(x)).asnumpy(), right, 2e-5)
    assert found.versions == 1
    names = [site.call.name for site, name in seen.items() if name == PACKED]
    # One of the unit's three convolutions adds the other branch.
    fused = [site.attrs for site, name in seen.items() if site.call.name == "_fused_convolution"]
    assert [one["with_addend"] for one in fused].count(True) == 1
    assert any(one["relu"] for one in fused)
    assert names.count("_fused_convolution") == len(fused)
    assert names.count("_fused_convolution") + names.count("Convolution") == 5
    assert names.count("FullyConnected") == 1, "the other is small"
    for one in net.collect_params().values():
        one.set_data(one.data() * 0.5)
    changed = net(nd.array(x)).asnumpy()
    net.hybridize(False)
    monkeypatch.setenv("HYBRIDNET_ONEDNN", "0")
    programs.cache.clear()
    close(changed, net(nd.array(x)).asnumpy(), 2e-5)


@pytest.mark.slow
def test_training_goes_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    x, labels = random(8, 3, 12, 12), np.arange(8) % 10

    def losses() -> list[float]:
        programs.cache.clear()
        return losses_of(network(), x, labels, 0.02)

    found = losses()
    monkeypatch.setenv("HYBRIDNET_ONEDNN", "0")
    np.testing.assert_allclose(found, losses(), rtol=1e-4)
    assert found[-1] < found[0]


# Threads and errors -------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_threads_at_once() -> None:
    """Each has its own convolutions and gradients; they share oneDNN's one thread."""
    rounds, barrier = 40, threading.Barrier(2)
    wrong: list[Any] = []

    def function(weight: Any) -> Any:
        attrs = {"kernel": weight.shape[2:], "stride": (), "dilate": (), "pad": (1, 1)}
        convolve = lowering("Convolution", NAME)

        def loss(x: Any, w: Any) -> Any:
            return (convolve(x, w, **attrs, num_group=1, layout=None) ** 2).sum()

        return hurried_jit(jax.value_and_grad(loss, argnums=(0, 1)))

    def work(number: int) -> None:
        sizes = [(number + 1 + i) % 4 + 3 for i in range(4)]
        cases = [(random(2, 5, size, 8), random(16, 5, 3, 1 + number)) for size in sizes]
        made = [function(w) for _, w in cases]
        barrier.wait()
        right = [jax.tree.leaves(f(*case)) for f, case in zip(made, cases, strict=True)]
        barrier.wait()
        for _ in range(rounds):
            for f, case, first in zip(made, cases, right, strict=True):
                for one, other in zip(jax.tree.leaves(f(*case)), first, strict=True):
                    if not np.allclose(one, other, rtol=1e-5, atol=1e-5):
                        wrong.append((number, case[0].shape))
        for (x, w), first in zip(cases, right, strict=True):
            y = lax.conv_general_dilated(x, w, (1, 1), [(1, 1)] * 2)
            close(first[0], (np.asarray(y, np.float64) ** 2).sum())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


def test_callbacks_between_convolutions_run_programs_that_convolve() -> None:
    """The thread that computes convolutions goes on with the program, and waits in its callback."""
    data, weight = random(2, 4, 9, 9), random(4, 4, 3, 3)
    attrs = {"kernel": (3, 3), "stride": (), "dilate": (), "pad": (1, 1), "num_group": 1}

    @jax.jit
    def convolve(x: Any, w: Any) -> Any:
        return lowering("Convolution", NAME)(x, w, **attrs, layout=None)

    depth = 3

    def nested(level: int, x: Any, w: Any) -> Any:
        """Convolves, has a callback do so one level deeper, and convolves what that gives."""

        def inner(y: Any) -> Any:
            y = np.asarray(y)
            return np.asarray(nested(level - 1, y, w) if level else convolve(y, w))

        @jax.jit
        def both(x: Any, w: Any) -> Any:
            y = convolve(x, w)
            return convolve(jax.pure_callback(inner, jax.ShapeDtypeStruct(y.shape, y.dtype), y), w)

        return both(x, w)

    found = nested(depth - 1, data, weight / 3)
    wanted = data.astype(np.float64)
    for _ in range(2 * depth + 1):
        wanted = lax.conv_general_dilated(
            wanted, (weight / 3).astype(np.float64), (1, 1), [(1, 1)] * 2
        )
    close(found, wanted)
    close(convolve(data, weight), plain_convolution(data, weight))


def plain_convolution(data: Any, weight: Any) -> Any:
    return lax.conv_general_dilated(data, weight, (1, 1), [(1, 1)] * 2)


@pytest.mark.slow
def test_a_process_may_end_while_convolutions_are_computed(tmp_path: Path, compiler: str) -> None:
    script = """
        import numpy as np
        import hybridnet as hn
        from hybridnet import nd

        x = nd.array(np.ones((8, 32, 56, 56)))
        w = nd.array(np.ones((32, 32, 3, 3)) / 288)

        @hn.function(autograph=False)
        def chain(x):
            for _ in range(20):
                x = nd.Convolution(x, w, kernel=(3, 3), pad=(1, 1), num_filter=32, no_bias=True)
                x = nd.relu(x)
            return x

        chain(x).wait_to_read()
        for _ in range(5):
            y = chain(x)
        print("left", y.shape)
        """
    environ = {"HYBRIDNET_CACHE_DIR": str(tmp_path), "CXX": compiler}
    for _ in range(3):
        assert run_script(script, **environ).startswith("left")


@pytest.mark.compiled
def test_exit_handlers_may_compute(tmp_path: Path, compiler: str) -> None:
    """What runs after the process has begun to end does without the thread, and at last fails."""
    script = """
        import atexit
        import numpy as np
        from hybridnet import nd
        from hybridnet.base.errors import MXNetError
        from hybridnet.native import onednn

        x = nd.array(np.arange(8 * 16 * 9 * 9).reshape(8, 16, 9, 9) % 7)
        w = nd.array(np.ones((16, 16, 3, 3)))

        def convolve():
            return nd.Convolution(x, w, kernel=(3, 3), num_filter=16, no_bias=True).asnumpy()

        def last():
            print("closed", np.array_equal(convolve(), wanted))
            onednn._loaded()[0].HybridnetLeave()
            try:
                convolve()
            except MXNetError as error:
                print("left", "the process is at its end" in str(error))

        atexit.register(last)  # called after those that are registered later
        wanted = convolve()
        print(onednn.state().startswith("onednn"))
        """
    environ = {"HYBRIDNET_CACHE_DIR": str(tmp_path), "CXX": compiler}
    assert run_script(script, **environ).split() == ["True", "closed", "True", "left", "True"]


class Busy:
    """A library whose worker never comes to an end until it must."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def HybridnetClose(self, _milliseconds: int) -> int:
        self.calls.append("close")
        if self.calls == ["close"] * 3:
            raise KeyboardInterrupt
        return "leave" in self.calls

    def HybridnetLeave(self) -> None:
        self.calls.append("leave")


def test_ctrl_c_at_the_end_waits_for_present_calls_only() -> None:
    library = Busy()
    onednn._close(library)  # type: ignore[arg-type]
    assert library.calls == ["close", "close", "close", "leave", "close"]


def impossible() -> Any:
    """Returns a window whose result is larger than its data allow."""
    ones, zeros = (1, 1), (0, 0)
    make = onednn_convolution.Window
    return make(1, False, (1, 3, 5, 5), (1, 4, 9, 9), (3, 3), ones, ones, zeros, zeros)


def test_its_errors_name_it() -> None:
    forward, *_ = onednn_convolution._linear()
    data, weight = random(1, 5, 5, 3), random(4, 3, 3, 3)
    with pytest.raises(Exception, match="oneDNN"):
        hurried_jit(lambda x, w: forward(impossible(), x, (w,)))(data, weight).block_until_ready()
    with pytest.raises(MXNetError, match="oneDNN has no kernel"):
        onednn.pack(impossible().spec(0, packed=True), weight)
    call, arrays = call_of("Convolution")  # and the next one works
    close(chosen(call, arrays)[0], plainly(call, arrays))


# Found, compiled and loaded -----------------------------------------------------------------------


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nobody had asked yet whether it can be loaded."""
    monkeypatch.setattr(onednn, "_result", None)


@pytest.mark.parametrize(
    "compiler, why",
    [("no-such-compiler", "there is no C\\+\\+ compiler .*no-such-compiler"), ("false", "failed")],
)
def test_without_a_compiler_that_works_programs_go_without(
    compiler: str,
    why: str,
    anew: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("CXX", compiler)
    call, arrays = call_of("Convolution")
    with caplog.at_level(logging.WARNING, "hybridnet.native"):
        for constant in (False, True):
            made, name = chosen(call, arrays, constant)
            assert name not in (NAME, PACKED)
            close(made, plainly(call, arrays))
        assert (
            nd.Convolution(
                nd.ones((1, 3, 5, 5)),
                nd.ones((4, 3, 3, 3)),
                kernel=(3, 3),
                num_filter=4,
                no_bias=True,
            )
            .asnumpy()
            .sum()
            == 4 * 9 * 27
        )
    (said,) = caplog.messages
    assert "oneDNN is installed but cannot be used" in said
    assert onednn.state().startswith("cannot be used: ")
    assert re.search(why, onednn.state())
    assert not onednn.load()
    assert onednn.name() is not None


def test_what_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert onednn.load()
    assert str(onednn.name()) == onednn.state()
    assert str(onednn.name()).startswith("onednn 20")
    monkeypatch.setenv("HYBRIDNET_ONEDNN", "0")
    assert onednn.name() is None
    assert not onednn.load()
    assert onednn.state() == "off (HYBRIDNET_ONEDNN=0)"
    monkeypatch.setenv("HYBRIDNET_ONEDNN", "2")
    for ask in (onednn.name, onednn.load, onednn.state):
        with pytest.raises(ParameterError, match="HYBRIDNET_ONEDNN must be 0 or 1, got '2'"):
            ask()


def test_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onednn, "_package", lambda: None)
    assert onednn.name() is None
    assert not onednn.load()
    assert onednn.state() == "not installed (pip install 'hybridnet[onednn]')"
    call, arrays = call_of("Convolution")
    made, name = chosen(call, arrays)
    assert name != NAME
    close(made, plainly(call, arrays))


def pretending(tmp_path: Path, text: str) -> str:
    """Returns a compiler that notes that it was called, and then does what a shell script says."""
    file = tmp_path / "compiler"
    file.write_text(f'#!/bin/sh\necho called >> "{tmp_path}/calls"\n{text}\n')
    file.chmod(0o700)
    return str(file)


def calls_of(tmp_path: Path) -> int:
    file = tmp_path / "calls"
    return len(file.read_text().splitlines()) if file.exists() else 0


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="has no users")
def test_a_folder_that_others_may_write_to_is_not_used(
    tmp_path: Path, anew: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYBRIDNET_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", pretending(tmp_path, "exit 1"))
    folder = tmp_path / "cache" / "native"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert onednn._folder() is None
    assert not onednn.load()
    assert calls_of(tmp_path) == 1
    assert not list(folder.iterdir())
    folder.chmod(0o700)
    assert onednn._folder() == folder


@pytest.mark.slow
@pytest.mark.parametrize("umask", [0o022, 0o002])
def test_what_is_not_whole_is_compiled_again_and_what_is_is_not(
    umask: int, tmp_path: Path, compiler: str, anew: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYBRIDNET_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", pretending(tmp_path, f'exec "{compiler}" "$@"'))
    before = os.umask(umask)
    try:
        run_script(LOADING)
        run_script(LOADING)
        assert calls_of(tmp_path) == 1
        (library,) = (tmp_path / "cache" / "native").glob("*.so")
        os.truncate(library, 40_000)
        assert run_script(LOADING).startswith("True")
        assert calls_of(tmp_path) == 2
    finally:
        os.umask(before)


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="tells no priorities")
def test_what_nobody_waits_for_is_compiled_at_low_priority(
    tmp_path: Path, anew: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    monkeypatch.setenv("HYBRIDNET_CACHE_DIR", str(tmp_path / "cache"))
    # (The 19th field; the second, the name, has no spaces in it.)
    note = f'cut -d" " -f19 /proc/$$/stat >> "{tmp_path}/niceness"; exit 1'
    monkeypatch.setenv("CXX", pretending(tmp_path, note))
    assert not onednn.is_decided()
    onednn.build()
    assert not onednn.load()  # for which somebody waits
    noted = (tmp_path / "niceness").read_text().split()
    assert noted == [str(min(own + 10, 19)), str(own)]
    assert onednn.is_decided()  # nothing more is tried


@pytest.mark.parametrize("groups", [1, 16])
@pytest.mark.parametrize("with_addend", [False, True])
def test_relu_within_a_convolution(groups: int, with_addend: bool) -> None:
    """Exact for all numbers, NaN stays NaN; what is infinite and negative becomes NaN, too."""
    tiny = np.finfo(np.float32).tiny
    special = [np.nan, np.inf, 3e38, -3e38, tiny, -tiny, 1.5 * tiny, -1.5 * tiny, 0, -0.0]
    scaled = random(100) * 10.0 ** np.linspace(-35, 37, 100)
    # Each output is one input, so that what is infinite meets no weight of 0.
    data = np.repeat(np.concatenate([special, scaled]), groups).astype(np.float32)
    data = data.reshape(1, 1, -1, groups)
    weight = np.ones((16, 1, 1, 1), np.float32)
    attrs = {"kernel": (1, 1), "num_filter": 16, "num_group": groups, "layout": "NHWC"}
    arrays = [data, weight, np.zeros(16, np.float32)]
    if with_addend:
        arrays.append(np.zeros((*data.shape[:3], 16), np.float32))
    call, _ = get("_fused_convolution").bind({**attrs, "with_addend": with_addend, "relu": True})
    made, name = chosen(call, arrays, constant=True)
    assert name == PACKED
    wanted = np.broadcast_to(np.maximum(data, 0), made.shape)
    np.testing.assert_array_equal(made, wanted)
    arrays[0] = np.full_like(data, -np.inf)
    assert np.isnan(chosen(call, arrays, constant=True)[0]).all()


def test_a_compiler_that_fails_or_is_killed_leaves_nothing(
    tmp_path: Path, anew: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYBRIDNET_CACHE_DIR", str(tmp_path / "cache"))
    # It writes half of its file, and dies.
    half = 'for one; do case "$one" in -o*) echo half > "${one#-o}";; esac; done; kill -9 $$'
    monkeypatch.setenv("CXX", pretending(tmp_path, half))
    assert not onednn.load()
    assert "failed" in onednn.state()
    left = list((tmp_path / "cache" / "native").iterdir())
    assert [file.suffix for file in left] == [".lock"]


def test_a_folder_that_cannot_be_written_to_is_done_without(tmp_path: Path, compiler: str) -> None:
    full = """
    import errno, os
    from hybridnet.native import onednn

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    onednn.atomic_write = full
    print(onednn.load(), onednn.state())
    """
    printed = run_script(full, HYBRIDNET_CACHE_DIR=str(tmp_path / "cache"), CXX=compiler)
    assert printed.startswith("True onednn")


def test_what_a_compiler_left_that_was_killed_is_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYBRIDNET_CACHE_DIR", str(tmp_path / "cache"))
    left = tmp_path / "cache" / "native" / "onednn-left"
    left.mkdir(parents=True, mode=0o700)
    (left / "half.so").write_bytes(b"half")
    assert onednn.clear() == 0
    assert not left.exists()


LOADING = """
    from hybridnet.native import onednn

    print(onednn.load(), onednn.state())
    """


def test_it_is_compiled_ahead_without_jax(tmp_path: Path, compiler: str) -> None:
    script = """
        import sys
        from hybridnet.native import onednn

        onednn.build()
        print("jax" in sys.modules, onednn.load())
        """
    environ = {"HYBRIDNET_CACHE_DIR": str(tmp_path / "cache"), "HYBRIDNET_ONEDNN": "1"}
    environ["CXX"] = pretending(tmp_path, f'exec "{compiler}" "$@"')
    assert run_script(script, **environ).split() == ["False", "True"]
    assert calls_of(tmp_path) == 1
    assert onednn._xla_headers() == jax.ffi.include_dir()


@pytest.mark.slow
def test_a_process_that_ends_at_once_leaves_the_compiler_behind(
    tmp_path: Path, compiler: str
) -> None:
    """Its next one finds what was compiled; two that begin together compile once."""
    held = tmp_path / "held"
    os.mkfifo(held)
    script = """
        import os
        from hybridnet.native import onednn
        from hybridnet.runtime.platform import background

        background.in_own_thread(onednn.build, "build")
        if "HELD" in os.environ:
            os.close(os.open(os.environ["HELD"], os.O_WRONLY))  # the compiler has begun
        """
    environ = {"HYBRIDNET_CACHE_DIR": str(tmp_path / "cache"), "HYBRIDNET_ONEDNN": "1"}
    environ["CXX"] = pretending(
        tmp_path, f'cat "{held}"; cat "{held}"; exec "{compiler}" "$@" 2>/dev/null'
    )
    run_script(script, HELD=str(held), **environ)
    run_script(script, **environ)
    assert not list((tmp_path / "cache" / "native").glob("*.so"))
    os.close(os.open(held, os.O_WRONLY))  # it may go on
    assert run_script(LOADING, **environ).startswith("True")  # waits for it
    assert calls_of(tmp_path) == 1


def test_dense_layers_alone_need_no_compiler(anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA's own products are faster there; beside a convolution they are not."""
    monkeypatch.setattr(onednn, "_load", lambda: pytest.fail("it was loaded"))
    types = tuple(map(tensor_type, ((64, 512), (512, 512)), (np.dtype("float32"),) * 2))
    call, _ = get("FullyConnected").bind({"num_hidden": 512, "no_bias": True})
    code = Code(hn.cpu(), ((call, (~0, ~1)),), types, (0,), ())
    assert not may_call_onednn(code)
    assert list(sites_of(code).values()) == [PLAIN]
    convolution, _ = get("Convolution").bind({"kernel": (3,), "num_filter": 2, "no_bias": True})
    types = tuple(map(tensor_type, ((1, 2, 8), (2, 2, 3)), (np.dtype("float32"),) * 2))
    assert may_call_onednn(Code(hn.cpu(), ((convolution, (~0, ~1)),), types, (0,), ()))


@pytest.mark.slow
def test_two_processes_that_begin_at_once_compile_once(tmp_path: Path, compiler: str) -> None:
    """One waits for what the other compiles; a third finds it."""
    cache = tmp_path / "cache"
    environ = {"HYBRIDNET_CACHE_DIR": str(cache), "HYBRIDNET_ONEDNN": "1"}
    environ["CXX"] = pretending(tmp_path, f'exec "{compiler}" "$@"')
    running = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(LOADING)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environ},
            text=True,
        )
        for _ in range(2)
    ]
    try:
        for one in running:
            printed, noise = one.communicate(timeout=120)
            assert not noise
            assert printed.startswith("True onednn"), printed
    finally:
        for one in running:
            one.kill()
    assert calls_of(tmp_path) == 1
    left = sorted(one.suffix for one in (cache / "native").iterdir())
    assert left == [".hash", ".lock", ".so"]
    assert run_script(LOADING, **environ).startswith("True onednn")
    assert calls_of(tmp_path) == 1


# Programs on disk ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.compiled
def test_programs_on_disk_that_call_it(tmp_path: Path, compiler: str) -> None:
    script = """
        import numpy as np
        from hybridnet import autograd, engine, nd
        from hybridnet.runtime.programs.cache import cache

        def numbers(*shape):
            return nd.array(np.cos(np.arange(np.prod(shape))).reshape(shape))

        x, w = numbers(2, 3, 8, 8), numbers(8, 3, 3, 3)
        w.attach_grad()
        for _ in range(3):
            with autograd.record():
                y = nd.Convolution(x, w, kernel=(3, 3), num_filter=8, no_bias=True)
                loss = (y * y).sum()
            loss.backward()
            print(y.asnumpy().tobytes().hex(), w.grad.asnumpy().tobytes().hex())
            engine.wait_for_all()
        print(cache.statistics().compilations, cache.statistics().loaded)
        """
    environ = {"HYBRIDNET_CACHE_DIR": str(tmp_path), "CXX": compiler}
    first, again, without = (
        run_script(script, **environ, HYBRIDNET_ONEDNN=one).split() for one in "110"
    )

    def arrays(printed: list[str]) -> list[Any]:
        return [np.frombuffer(bytes.fromhex(one), np.float32) for one in printed[:-2]]

    assert int(first[-2]) > 0
    assert again[-2] == "0" and int(again[-1]) > 0
    assert int(without[-2]) > 0, "it does not use what was made for oneDNN"
    for one, two, other in zip(*map(arrays, (first, again, without)), strict=True):
        np.testing.assert_array_equal(one, two)
        close(one, other)
    kept = [one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()]
    assert any(onednn.PREFIX in one for one in kept)


def test_a_program_that_calls_it_is_not_loaded_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYBRIDNET_ONEDNN", "0")
    with pytest.raises(RuntimeError, match="oneDNN, which is off"):
        executable_from(None, b"..." + onednn.PREFIX + b"...")  # type: ignore[arg-type]


def test_the_operators_take_numpy_arrays_as_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through all that is between an operator and its lowering."""
    data, weight = random(2, 3, 7, 7), random(8, 3, 3, 3)
    attrs = {"kernel": (3, 3), "num_filter": 8, "no_bias": True}
    (found,) = run_op("Convolution", data, weight, **attrs)
    monkeypatch.setenv("HYBRIDNET_ONEDNN", "0")
    (plain,) = run_op("Convolution", data, weight, **attrs)
    close(found, plain)


def test_a_small_program_does_without_until_its_calls_are_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The program of a first process on a machine; what replaces it begins with a pair."""
    built: list[bool] = []
    monkeypatch.setattr(onednn, "is_built", lambda: bool(built))
    monkeypatch.setattr(onednn, "build", lambda: built.append(True))
    monkeypatch.setattr(making, "is_worth_twice", lambda account, prices: True)
    monkeypatch.setattr(
        again,
        "decide_again",
        lambda account, *other: Decision(Purchase.LIBRARY if account.is_plain else Purchase.NONE),
    )
    x = random(2, 3, 8, 8)
    images, weight = nd.array(x), nd.array(random(4, 3, 3, 3, seed=1))

    def step() -> nd.NDArray:
        made = nd.Convolution(images, weight, kernel=(3, 3), num_filter=4, no_bias=True) * 2 + 0.5
        made.wait_to_read()
        return made

    wanted = step().asnumpy()
    calls: list[tuple[bool, bool]] = []  # of each launch: by a program, that calls oneDNN
    for _ in range(24):
        close(step().asnumpy(), wanted)
        hn.engine.wait_for_all()
        (program,) = [one for one in programs.cache.programs() if len(one.code.instructions) == 3]
        if program.compiled is not None:
            modules = innermost(program.compiled).runtime_executable().hlo_modules()
            text = "".join(one.to_string() for one in modules)
            calls.append((program.account.is_plain, onednn.COMPUTE in text))
    assert calls[0] == (True, False)
    assert calls[-1] == (False, True)
    assert calls == sorted(calls, reverse=True)
    assert calls.index((False, True)) % 2  # after the second run of a pair
    assert built
