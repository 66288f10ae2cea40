"""Other lowerings of convolution, pooling and batch normalization, against JAX's own operations.

Pooling is held against the operator's own lowering, which has tests against loops and MXNet.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import thorough
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from traced import hurried_jit

import hybridnet as hn
from hybridnet.ops.core.alternatives import PLAIN, alternatives_of, picking
from hybridnet.ops.core.registry import get
from hybridnet.ops.nn.conv import row_sums

#: By dtype: the greatest difference, as a share of the greatest magnitude.
TOLERANCE = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-5, "float64": 1e-12}


def lowering(operator, name):
    return alternatives_of(operator).by_name[name].lowering


def assert_same(found, reference, arrays, dtype):
    """Compares values and gradients by all arrays of two functions."""

    def run(*arrays):
        for function in (found, reference):
            y, pull = jax.vjp(function, *arrays)
            head = np.cos(np.arange(y.size)).reshape(y.shape).astype(y.dtype)
            yield y, *pull(jnp.asarray(head))

    with jax.enable_x64(True):
        for one, wanted in zip(*hurried_jit(lambda *arrays: [*run(*arrays)])(*arrays), strict=True):
            assert (one.shape, one.dtype) == (wanted.shape, wanted.dtype)
            one, wanted = np.asarray(one, np.float64), np.asarray(wanted, np.float64)
            largest = np.abs(wanted).max(initial=1e-6)
            np.testing.assert_allclose(one, wanted, rtol=0, atol=TOLERANCE[dtype] * largest)


@st.composite
def convolutions(draw):
    spatial = draw(st.integers(1, 3))
    kernel = [draw(st.integers(1, 3)) for _ in range(spatial)]
    dilate = [draw(st.integers(1, 2)) for _ in range(spatial)]
    pad = [draw(st.integers(0, 2)) for _ in range(spatial)]
    least = [d * (k - 1) + 1 - 2 * p for k, d, p in zip(kernel, dilate, pad, strict=True)]
    return {
        "sizes": [max(one, 1) + draw(st.integers(0, 4)) for one in least],
        "batch": draw(st.integers(0, 3)),
        "channels": draw(st.integers(1, 5)),
        "filters": draw(st.integers(1, 9)),
        "depthwise": draw(st.booleans()),
        "bias": draw(st.booleans()),
        "last": draw(st.booleans()),
        "dtype": draw(st.sampled_from(sorted(TOLERANCE))),
        "attrs": {
            "kernel": tuple(kernel),
            "stride": draw(st.sampled_from([(), (2,) * spatial, (3,) * spatial])),
            "dilate": tuple(dilate),
            "pad": tuple(pad),
        },
    }


@pytest.mark.slow
@settings(max_examples=thorough(1000, 12))
@given(convolutions(), st.integers(0, 99))
def test_channels_last_convolution(case, seed):
    draw, attrs, dtype = np.random.RandomState(seed), case["attrs"], case["dtype"]
    n = len(attrs["kernel"])
    axes = "DHW"[-n:]
    layout = f"N{axes}C" if case["last"] else f"NC{axes}"
    kernels = f"O{axes}I" if case["last"] else f"OI{axes}"

    def shape(outer, channels, spatial):
        return (outer, *spatial, channels) if case["last"] else (outer, channels, *spatial)

    channels, groups = case["channels"], 1
    if case["depthwise"]:
        channels = groups = case["filters"]
    data = draw.standard_normal(shape(case["batch"], channels, case["sizes"]))
    weight = draw.standard_normal(shape(case["filters"], channels // groups, attrs["kernel"]))
    arrays = [data, weight]
    if case["bias"]:
        arrays.append(draw.standard_normal(case["filters"]))
    arrays = [one.astype(jnp.dtype(dtype)) for one in arrays]

    def reference(data, weight, bias=None):
        wide = [one.astype("float64") for one in (data, weight)]
        y = lax.conv_general_dilated(
            *wide,
            attrs["stride"] or (1,) * n,
            [(one, one) for one in attrs["pad"]],
            rhs_dilation=attrs["dilate"],
            dimension_numbers=(layout, kernels, layout),
            feature_group_count=groups,
        )
        if bias is not None:
            y = y + bias.astype("float64").reshape([-1 if one == "C" else 1 for one in layout])
        return y.astype(data.dtype)

    channels_last = lowering("Convolution", "turned")
    given_layout = layout if case["last"] else None
    assert_same(
        lambda *arrays: channels_last(*arrays, **attrs, num_group=groups, layout=given_layout),
        reference,
        arrays,
        dtype,
    )


@settings(max_examples=thorough(500, 10))
@given(
    sizes=st.lists(st.integers(3, 7), min_size=1, max_size=3),
    kernel=st.integers(1, 3),
    stride=st.integers(1, 3),
    pad=st.integers(0, 1),
    kind=st.sampled_from(["max", "avg", "sum", "lp"]),
    whole=st.booleans(),
    convention=st.sampled_from(["valid", "full", "same"]),
    last=st.booleans(),
    seed=st.integers(0, 99),
)
def test_channels_last_pooling(sizes, kernel, stride, pad, kind, whole, convention, last, seed):
    n = len(sizes)
    attrs = {
        "kernel": (kernel,) * n,
        "stride": (stride,) * n,
        "pad": (min(pad, kernel - 1),) * n,
        "pool_type": kind,
        "global_pool": whole,
        "pooling_convention": convention,
        "p_value": 2 if kind == "lp" else None,
        "count_include_pad": seed % 2 == 0,
        "layout": ("NWC", "NHWC", "NDHWC")[n - 1] if last else None,
    }
    data = np.random.RandomState(seed).standard_normal((2, *sizes, 3) if last else (2, 3, *sizes))
    channels_last, plain = lowering("Pooling", "turned"), get("Pooling").lowering
    assert_same(
        lambda data: channels_last(data, **attrs, platform="cpu"),
        lambda data: plain(data, **attrs, platform="cpu"),
        [data.astype(np.float64)],
        "float64",
    )


@pytest.mark.slow
@settings(max_examples=thorough(500, 12))
@given(
    shape=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    axis=st.integers(-1, 1),
    fix_gamma=st.booleans(),
    by_batch=st.booleans(),
    far=st.sampled_from([0.0, 1e4]),
    seed=st.integers(0, 99),
)
def test_channels_last_batch_norm(shape, axis, fix_gamma, by_batch, far, seed):
    """Values, new moving statistics and the gradient's own operator; `far` is the data's mean."""
    draw, channels = np.random.RandomState(seed), shape[axis]
    data = draw.standard_normal(shape) + far
    gamma, beta, mean = draw.standard_normal((3, channels))
    arrays = [data, gamma, beta, mean, draw.uniform(0.5, 2, channels)]
    attrs = {"fix_gamma": fix_gamma, "use_global_stats": not by_batch, "axis": axis, "train": True}
    forward = {**attrs, "eps": 1e-3, "momentum": 0.9}
    channels_last = lowering("BatchNorm", "turned")
    others = tuple(i for i in range(data.ndim) if i != axis % data.ndim)

    def along(vector):
        return vector.reshape([-1 if i == axis % data.ndim else 1 for i in range(data.ndim)])

    def reference(data, gamma, beta, mean, var):
        if by_batch:
            mean, var = data.mean(others), data.var(others)
        normal = (data - along(mean)) / jnp.sqrt(along(var) + 1e-3)
        return normal * (1 if fix_gamma else along(gamma)) + along(beta)

    backward = lowering("_backward_BatchNorm", "turned")

    @jax.jit
    def both(head, *arrays):
        y, used, inverse, *moved = channels_last(*arrays, **forward)
        wanted, pull = jax.vjp(reference, *arrays)
        found = backward(head, *arrays[:2], used, inverse, **attrs)
        return y, wanted, moved, found, pull(head)[:3]

    with jax.enable_x64(True):
        y, wanted, (new_mean, new_var), found, gradients = both(
            draw.standard_normal(shape), *arrays
        )
    np.testing.assert_allclose(y, wanted, rtol=0, atol=1e-6 if far else 1e-10)
    moved = [data.mean(others), data.var(others)] if by_batch else arrays[3:]
    for one, old, new in zip((new_mean, new_var), arrays[3:], moved, strict=True):
        np.testing.assert_allclose(one, 0.9 * old + 0.1 * new, rtol=1e-7, atol=1e-7)
    for one, other in zip(found, gradients, strict=True):
        scale = max(1.0, np.abs(other).max())
        np.testing.assert_allclose(one, other, rtol=0, atol=(1e-5 if far else 1e-9) * scale)


@pytest.mark.parametrize("rows", [0, 1, 15, 16, 17, 300, 4113])
def test_row_sum(rows):
    data = np.random.RandomState(rows).standard_normal((rows, 3)).astype(np.float32)
    found = hurried_jit(lambda x: row_sums.row_sum(jnp.square, x))(data)
    np.testing.assert_allclose(found, np.square(data, dtype=np.float64).sum(0), rtol=2e-6)


def test_a_network_has_its_channels_last_throughout():
    """Choices of one training step: by the number of channels, the same at every operator."""

    def choices(filters):
        net = hn.gluon.nn.HybridSequential()
        net.add(
            hn.gluon.nn.Conv2D(filters, 3, padding=1, in_channels=3),
            hn.gluon.nn.BatchNorm(in_channels=filters),
            hn.gluon.nn.MaxPool2D(2),
        )
        net.initialize()
        net.hybridize()
        data = hn.nd.random.normal(shape=(2, 3, 8, 8))
        seen = {}
        with picking({}, seen):
            with hn.autograd.record():
                loss = net(data).sum()
            loss.backward()
            loss.asscalar()
        assert np.isfinite(net[0].weight.grad().asnumpy()).all()
        return {site.call.name: name for site, name in seen.items()}

    assert set(choices(12).values()) <= {PLAIN}
    assert set(choices(16).values()) <= {"turned"}
