"""Lowerings of convolution and pooling against loops in NumPy and answers of MXNet 1.9.1."""

import itertools
from functools import partial

import jax
import numpy as np
import pytest
from traced import quick

from hybridnet import autograd, nd
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ops.host.derivatives import vjp
from hybridnet.ops.host.functions import FUNCTIONS
from hybridnet.ops.host.namespace import on_host
from hybridnet.ops.host.traced import plain
from hybridnet.ops.nn.conv import lowerings as _conv_pool
from hybridnet.ops.nn.conv.lowerings import (
    convolution,
    convolved_size,
    deconvolution,
    deconvolution_padding,
    pooled_size,
    pooling,
)

CHANNEL_LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
PLATFORMS = ("cpu", "gpu")  # the methods; all of them run on any device
POOLING_PLATFORMS = (*PLATFORMS, "host")  # which is NumPy's


def random(*shape, dtype="float64", seed=0):
    return np.random.default_rng(seed + len(shape)).standard_normal(shape).astype(dtype)


def head_gradient(shape):
    """A cotangent that differs at every element."""
    size = np.prod(shape)
    return (np.arange(1, size + 1) / size).reshape(shape)


def last(x):
    return np.moveaxis(x, 1, -1)


def run(function, *arguments, beside=lambda: (), platform="cpu"):
    """The value and the gradients of ``function``, and what ``beside`` gives, as one program."""
    if platform == "host":
        y, pull = vjp(function, *arguments)
        y = plain(y)
        grads = pull(head_gradient(y.shape).astype(y.dtype))
        return [y, *grads, *on_host(FUNCTIONS, beside)]

    def program(*arguments):
        y, pull = jax.vjp(function, *arguments)
        return y, *pull(head_gradient(y.shape).astype(y.dtype)), *beside()

    return [np.asarray(x) for x in jax.jit(program, compiler_options=quick())(*arguments)]


def assert_all_close(got, want, rtol):
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1.0, np.abs(b).max()))


def convolved_by_loops(x, w, b, kernel, stride, dilate, pad, groups):
    """Convolution of (batch, channel, *spatial), and its three gradients."""
    padded = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in pad)))
    sizes = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(padded.shape[2:], kernel, stride, dilate, strict=True)
    ]
    y = np.zeros((len(x), len(w), *sizes))
    dy = head_gradient(y.shape)
    dx, dw = np.zeros_like(padded), np.zeros_like(w)
    channel, filters = x.shape[1] // groups, len(w) // groups
    for g, position in itertools.product(range(groups), np.ndindex(*sizes)):
        window = (
            slice(None),
            slice(g * channel, (g + 1) * channel),
            *(
                slice(i * s, i * s + d * (k - 1) + 1, d)
                for i, k, s, d in zip(position, kernel, stride, dilate, strict=True)
            ),
        )
        mine = slice(g * filters, (g + 1) * filters)
        axes = range(1, y.ndim)
        y[(slice(None), mine, *position)] = np.tensordot(padded[window], w[mine], (axes, axes))
        here = dy[(slice(None), mine, *position)]
        dx[window] += np.tensordot(here, w[mine], 1)
        dw[mine] += np.tensordot(here.T, padded[window], 1)
    others = (0, *range(2, y.ndim))
    y += np.expand_dims(b, tuple(range(1, y.ndim - 1)))
    inner = (..., *(slice(p, n - p) for p, n in zip(pad, padded.shape[2:], strict=True)))
    return y, dx[inner], dw, dy.sum(others)


# Each: batch, channel, filter, spatial, kernel, stride, dilate, pad, groups.
CONVOLUTIONS = {
    "plain": (3, 2, 4, (7, 6), (3, 2), (1, 1), (1, 1), (0, 0), 1),
    "odd": (2, 3, 4, (9, 11), (2, 3), (2, 3), (2, 1), (1, 2), 1),
    "pointwise": (2, 5, 3, (4, 5), (1, 1), (2, 1), (1, 1), (0, 1), 1),
    "grouped": (2, 4, 6, (6, 5), (3, 3), (1, 2), (1, 1), (1, 1), 2),
    "depthwise": (2, 3, 6, (6, 5), (3, 2), (2, 1), (1, 2), (1, 1), 3),
    "1-D": (3, 4, 2, (11,), (3,), (2,), (2,), (2,), 1),
    "3-D": (2, 2, 3, (5, 4, 6), (2, 3, 2), (1, 2, 1), (1, 1, 2), (1, 0, 1), 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["cpu, small", "cpu, large", "gpu"])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolution_and_its_gradients(case, method, monkeypatch):
    platform, _, size = method.partition(", ")
    monkeypatch.setattr(_conv_pool, "_PATCH_LIMIT", 0 if size == "large" else 1 << 20)
    batch, channel, filters, spatial, kernel, stride, dilate, pad, groups = CONVOLUTIONS[case]
    x, w, b = arguments = (
        random(batch, channel, *spatial),
        random(filters, channel // groups, *kernel, seed=1),
        random(filters),
    )
    want = convolved_by_loops(x, w, b, kernel, stride, dilate, pad, groups)
    f = partial(
        convolution, kernel=kernel, stride=stride, dilate=dilate, pad=pad, num_group=groups,
        platform=platform,
    )  # fmt: skip
    layout = CHANNEL_LAST[len(kernel)]
    with jax.enable_x64(True):
        *got, y = run(f, *arguments, beside=lambda: (f(last(x), last(w), b, layout=layout),))
    assert_all_close([*got, y], [*want, last(want[0])], 1e-12)
    sizes = map(convolved_size, spatial, kernel, stride, dilate, pad)
    assert got[0].shape == (batch, filters, *sizes)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_convolution_in_float32_as_in_lenet(platform):
    shapes = ((4, 1, 14, 14), (20, 1, 5, 5), (20,))
    arguments = [random(*shape, dtype="float32") for shape in shapes]
    got = run(partial(convolution, kernel=(5, 5), platform=platform), *arguments)
    exact = [x.astype("float64") for x in arguments]
    want = convolved_by_loops(*exact, (5, 5), (1, 1), (1, 1), (0, 0), 1)
    assert_all_close(got, [x.astype("float32") for x in want], 1e-5)


# Each: batch, channel, filter, spatial, kernel, stride, dilate, pad, adj, groups.
DECONVOLUTIONS = {
    "plain": (2, 3, 4, (4, 5), (3, 2), (1, 1), (1, 1), (0, 0), (0, 0), 1),
    "odd": (2, 2, 3, (4, 3), (3, 4), (2, 3), (2, 1), (1, 2), (1, 2), 1),
    "grouped": (2, 4, 6, (3, 4), (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), 2),
    "1-D": (3, 2, 4, (5,), (4,), (3,), (1,), (1,), (2,), 1),
    "3-D": (1, 2, 3, (2, 3, 2), (2, 2, 3), (2, 1, 2), (1, 1, 1), (0, 1, 1), (1, 0, 1), 1),
}


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("case", DECONVOLUTIONS)
def test_deconvolution_and_its_gradients(case, platform):
    batch, channel, filters, spatial, kernel, stride, dilate, pad, adj, groups = DECONVOLUTIONS[
        case
    ]
    x, w, b = arguments = (
        random(batch, channel, *spatial),
        random(channel, filters // groups, *kernel, seed=1),
        random(filters),
    )
    f = partial(
        deconvolution, kernel=kernel, stride=stride, dilate=dilate, pad=pad, adj=adj,
        num_group=groups, platform=platform,
    )  # fmt: skip
    layout = CHANNEL_LAST[len(kernel)]
    with jax.enable_x64(True):
        y, dx, dw, db, y_last = run(
            f, *arguments, beside=lambda: (f(last(x), last(w), b, layout=layout),)
        )
    sizes = [
        (i - 1) * s + d * (k - 1) + 1 - 2 * p + a
        for i, k, s, d, p, a in zip(spatial, kernel, stride, dilate, pad, adj, strict=True)
    ]
    assert y.shape == (batch, filters, *sizes)
    # It is the transpose of a convolution: <deconvolution(x), u> = <x, convolution(u)> for all u.
    # Its gradients, with u the head gradient, follow from the same convolution.
    u = head_gradient(y.shape)
    back, _, _, _ = convolved_by_loops(u, w, np.zeros(channel), kernel, stride, dilate, pad, groups)
    assert_all_close([dx, db], [back, u.sum((0, *range(2, u.ndim)))], 1e-12)
    unbiased = y - np.expand_dims(b, tuple(range(1, y.ndim - 1)))
    np.testing.assert_allclose((unbiased * u).sum(), (x * back).sum(), rtol=1e-12)
    for index in itertools.islice(np.ndindex(*y.shape), 0, None, 7):
        u = np.zeros(y.shape)
        u[index] = 1
        back, *_ = convolved_by_loops(u, w, np.zeros(channel), kernel, stride, dilate, pad, groups)
        np.testing.assert_allclose(unbiased[index], (x * back).sum(), rtol=1e-12, atol=1e-12)
    assert_all_close([y_last], [last(y)], 1e-12)
    # y is linear in w without bias, so <dw, w> = <y, u>; and each entry of dw alone:
    u = head_gradient(y.shape)
    np.testing.assert_allclose((dw * w).sum(), (unbiased * u).sum(), rtol=1e-12)
    for index in itertools.islice(np.ndindex(*w.shape), 0, None, 5):
        one = np.zeros(w.shape)
        one[index] = 1
        back, *_ = convolved_by_loops(
            u, one, np.zeros(channel), kernel, stride, dilate, pad, groups
        )
        np.testing.assert_allclose(dw[index], (x * back).sum(), rtol=1e-12, atol=1e-12)


def test_target_shape_cuts_both_ends_as_mxnet_does():
    # Answers of MXNet 1.9.1 (its own kernels) for data 1, 2, 3 and weight 1, 10, 100, stride 2.
    whole = [1.0, 10.0, 102.0, 20.0, 203.0, 30.0, 300.0]
    answers = {7: whole, 6: whole[1:], 5: whole[1:6], 4: whole[2:6], 3: whole[2:5]}
    data = np.array([[[1, 2, 3]]], "float32")
    weight = np.array([[[1, 10, 100]]], "float32")
    for target, answer in answers.items():
        # pad and adj are ignored beside a target shape
        y = deconvolution(
            data, weight, kernel=(3,), stride=(2,), pad=(1,), adj=(1,), target_shape=(target,)
        )
        np.testing.assert_array_equal(y, [[answer]])
    with pytest.raises(ShapeError, match="target_shape must be at most 7 here, got 9"):
        deconvolution_padding(3, 3, 2, 1, 0, 0, 9)
    # MXNet refuses this, too: what is added at one end must be less than the stride.
    with pytest.raises(ShapeError, match="less an even number .* got 4; ask for 3 or 5"):
        deconvolution_padding(3, 3, 1, 1, 0, 0, 4)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("operator", [nd.Convolution, nd.Deconvolution])
def test_an_empty_batch_has_an_empty_answer_and_no_slope(operator, layout, groups):
    first, last = (4, 8 // groups) if operator is nd.Deconvolution else (8, 4 // groups)
    shapes = ((0, 4, 9, 9), (first, last, 3, 3))
    if layout == "NHWC":
        shapes = tuple((one[0], *one[2:], one[1]) for one in shapes)
    data, weight = nd.empty(shapes[0]), nd.ones(shapes[1])
    attrs = {"kernel": (3, 3), "num_filter": 8, "num_group": groups, "no_bias": True}
    for stride in ((1, 1), (2, 2)):
        for one in (data, weight):
            one.attach_grad()
        with autograd.record():
            y = operator(data, weight, **attrs, stride=stride, layout=layout)
        y.backward()
        assert 0 in y.shape and y.asnumpy().shape == y.shape
        assert data.grad.asnumpy().shape == shapes[0]
        np.testing.assert_array_equal(weight.grad.asnumpy(), np.zeros(shapes[1]))


# Pooling ------------------------------------------------------------------------------------------


def pooled_by_loops(x, kernel, stride, pad, kind, convention="valid", include_pad=True, p=2):
    """Pooling of (batch, channel, *spatial) and its gradient for ``head_gradient``."""
    spatial = x.shape[2:]
    sizes, lows, ends = [], [], []
    for size, k, s, q in zip(spatial, kernel, stride, pad, strict=True):
        if convention == "same":
            out = int(np.ceil(size / s))
            missing = max((out - 1) * s + k - size, 0)
            q, end = missing // 2, size + missing - missing // 2
        else:
            rounding = np.ceil if convention == "full" else np.floor
            out, end = int(rounding((size + 2 * q - k) / s)) + 1, size + q
        sizes.append(out)
        lows.append(q)
        ends.append(end)
    y, dx = np.zeros((*x.shape[:2], *sizes), x.dtype), np.zeros_like(x)
    for number, index in enumerate(np.ndindex(*y.shape), 1):
        starts = [i * s - q for i, s, q in zip(index[2:], stride, lows, strict=True)]
        stops = [min(a + k, e) for a, k, e in zip(starts, kernel, ends, strict=True)]
        inside = tuple(
            slice(max(a, 0), max(min(b, n), 0))
            for a, b, n in zip(starts, stops, spatial, strict=True)
        )
        window, gradient = x[index[:2]][inside], dx[index[:2]][inside]
        dy = number / y.size
        if kind == "max":
            if window.size == 0:
                y[index] = np.finfo(x.dtype).min
                continue
            y[index] = window.max()
            gradient[np.unravel_index(window.argmax(), window.shape)] += dy
        elif kind == "lp":
            total = (window**p).sum()
            y[index] = {1: total, 2: np.sqrt(total), 3: np.cbrt(total)}[p]
            if y[index] != 0:
                gradient += dy * window ** (p - 1) / y[index] ** (p - 1)
        else:
            counted = np.prod([b - a for a, b in zip(starts, stops, strict=True)])
            count = counted if include_pad else window.size
            divisor = max(count, 1) if kind == "avg" else 1
            y[index] = window.sum() / divisor
            gradient += dy / divisor
    return y, dx


# Each: spatial, kernel, stride, pad, convention.
POOLINGS = {
    "tiles": ((6, 8), (2, 2), (2, 2), (0, 0), "valid"),
    "tiles with a rest": ((7, 8), (2, 3), (2, 3), (0, 0), "valid"),
    "tiles padded": ((7, 8), (2, 3), (2, 3), (1, 1), "full"),
    "overlap": ((7, 6), (3, 3), (2, 1), (1, 1), "valid"),
    "overlap full": ((8, 6), (3, 2), (2, 3), (1, 0), "full"),
    "gaps": ((8, 5), (2, 1), (3, 3), (1, 0), "full"),
    "same": ((7, 5), (3, 2), (2, 2), (0, 0), "same"),
    "1-D": ((9,), (4,), (2,), (1,), "full"),
    "3-D": ((4, 5, 3), (2, 3, 2), (2, 1, 1), (1, 0, 1), "valid"),
    "long": ((70,), (35,), (35,), (0,), "valid"),
    "long overlap": ((70,), (35,), (30,), (2,), "full"),
}


KINDS = [
    *itertools.product(["max", "avg"], POOLINGS),
    *itertools.product(["avg of data", "sum"], ["tiles padded", "overlap full", "same", "3-D"]),
    *itertools.product(["lp1", "lp2", "lp3"], ["overlap full"]),
]


@pytest.mark.slow
@pytest.mark.parametrize("platform", POOLING_PLATFORMS)
@pytest.mark.parametrize(("kind", "case"), KINDS)
def test_pooling_and_its_gradient(kind, case, platform):
    spatial, kernel, stride, pad, convention = POOLINGS[case]
    # Integers give ties; most max-pooling bugs live there.
    x = np.random.default_rng(3).integers(-3, 4, (2, 3, *spatial)).astype("float64")
    if kind.startswith("lp"):
        x = np.abs(x) + 0.5
    name, p = (kind[:2], int(kind[2])) if kind.startswith("lp") else (kind[:3], None)
    include_pad = kind != "avg of data"
    want = pooled_by_loops(x, kernel, stride, pad, name, convention, include_pad, p)
    f = partial(
        pooling, kernel=kernel, stride=stride, pad=pad, pool_type=name,
        pooling_convention=convention, count_include_pad=include_pad, p_value=p, platform=platform,
    )  # fmt: skip
    layout = CHANNEL_LAST[len(kernel)]
    with jax.enable_x64(True):
        *got, y = run(f, x, beside=lambda: (f(last(x), layout=layout),), platform=platform)
    assert_all_close([*got, y], [*want, last(want[0])], 1e-12)
    sizes = map(partial(pooled_size, convention=convention), spatial, kernel, stride, pad)
    assert got[0].shape[2:] == tuple(sizes)


@pytest.mark.parametrize("platform", POOLING_PLATFORMS)
@pytest.mark.parametrize("kind", ["max", "avg", "sum", "lp"])
def test_global_pooling_ignores_kernel_stride_and_pad(kind, platform):
    x = random(2, 3, 6, 7, dtype="float32") + 3
    want = pooled_by_loops(x, (6, 7), (1, 1), (0, 0), kind)
    got = run(
        lambda x: pooling(
            x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type=kind, p_value=2,
            global_pool=True, platform=platform,
        ),
        x, platform=platform,
    )  # fmt: skip
    assert_all_close(got, want, 1e-5)


@pytest.mark.parametrize("platform", POOLING_PLATFORMS)
def test_max_gradient_goes_to_the_first_of_equals(platform):
    # Answers of MXNet 1.9.1 for ones of shape (4, 4) and head gradients 1, 2, 3, 4.
    answers = {
        (2, 2): [[1, 0, 2, 0], [0, 0, 0, 0], [3, 0, 4, 0], [0, 0, 0, 0]],
        (3, 1): [[1, 2, 0, 0], [3, 4, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
    }
    x = np.ones((1, 1, 4, 4), "float32")
    for (k, s), answer in answers.items():
        pool = partial(pooling, kernel=(k, k), stride=(s, s), platform=platform)
        _, dx = run(pool, x, platform=platform)
        np.testing.assert_array_equal(dx[0, 0] * 4, answer)


@pytest.mark.parametrize("platform", POOLING_PLATFORMS)
@pytest.mark.parametrize("stride", [4, 2])
def test_not_a_number_is_not_hidden_by_max(stride, platform):
    x = np.tile(np.arange(8, dtype="float32"), (1, 4, 1))
    np.fill_diagonal(x[0, :, :4], np.nan)
    y, dx = run(
        partial(pooling, kernel=(4,), stride=(stride,), platform=platform), x, platform=platform
    )
    assert np.isnan(y[0, :, 0]).all()
    if platform != "gpu":  # XLA's own gradient looks for what is greater, and finds nothing
        assert dx[0, :, :4].diagonal().all()
    np.testing.assert_array_equal(y[0, :, -1], [7, 7, 7, 7])


def test_signed_powers_and_flat_points_of_lp_pooling_as_in_mxnet():
    # Answers of MXNet 1.9.1.
    x = np.array([[[1.0, -2, 0, 0, -1, 3]]], "float32")
    answers = {
        1: ([-1, 0, 2], [1, 1, 2, 2, 3, 3]),
        2: ([2.23607, 0, 3.162278], [0.447214, -0.894427, 0, 0, -0.948683, 2.84605]),
        3: ([-1.912931, 0, 2.962496], [0.273276, 1.093104, 0, 0, 0.341826, 3.076438]),
    }
    for p, (value, gradient) in answers.items():
        y, dx = run(partial(pooling, kernel=(2,), stride=(2,), pool_type="lp", p_value=p), x)
        np.testing.assert_allclose(y[0, 0], value, rtol=1e-5)
        np.testing.assert_allclose(dx[0, 0] * 3, gradient, rtol=1e-5)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_max_of_integers_and_of_padding_alone(platform):
    f = partial(pooling, kernel=(1,), stride=(3,), pooling_convention="full", platform=platform)
    for dtype, lowest in (("float32", np.finfo("float32").min), ("int32", -(2**31))):
        y = f(np.arange(1, 6, dtype=dtype).reshape(1, 1, 5))
        assert y.dtype == dtype
        np.testing.assert_array_equal(y[0, 0], np.array([1, 4, lowest], dtype))


# Second derivatives, errors -----------------------------------------------------------------------


@pytest.mark.parametrize("platform", PLATFORMS)
def test_second_derivatives_equal_numeric_ones(platform):
    x, w, v = random(2, 2, 6, 6), random(3, 2, 3, 3), random(2, 2, 6, 6, seed=5)

    def loss(x):
        y = jax.numpy.sin(convolution(x, w, kernel=(3, 3), platform=platform))
        y = pooling(y, kernel=(2, 2), stride=(2, 2), platform=platform)
        y = pooling(y, kernel=(2, 2), pool_type="lp", p_value=2, platform=platform)
        return (deconvolution(y**2, w, kernel=(3, 3), platform=platform) ** 2).sum()

    with jax.enable_x64(True):
        gradient = jax.jit(jax.grad(loss), compiler_options=quick())

        @partial(jax.jit, compiler_options=quick())
        def product(x):
            return jax.grad(lambda x: (jax.grad(loss)(x) * v).sum())(x)

        h = 1e-5
        numeric = (gradient(x + h * v) - gradient(x - h * v)) / (2 * h)
        scale = np.abs(numeric).max()
        np.testing.assert_allclose(product(x), numeric, rtol=1e-5, atol=1e-6 * scale)


def test_wrong_parameters_are_named():
    x = np.ones((1, 1, 4, 4), "float32")
    with pytest.raises(ParameterError, match=r"layout must be NCHW or NHWC .* got 'NCW'"):
        pooling(x, kernel=(2, 2), layout="NCW")
    with pytest.raises(ParameterError, match=r"pool_type must be .* got 'median'"):
        pooling(x, kernel=(2, 2), pool_type="median")
    with pytest.raises(ParameterError, match=r"p_value must be 1, 2 or 3 .* got 4"):
        pooling(x, kernel=(2, 2), pool_type="lp", p_value=4)
