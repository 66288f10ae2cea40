"""Normalizations, beyond MXNet's recorded answers."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_gradient, run_gradient, run_op

import hybridnet as hn
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.registry import get


def _array(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def _infer(name, *shapes, **attrs):
    types = (tensor_type(shape, np.dtype("float32")) for shape in shapes)
    return get(name).bind(attrs)[0].infer(tuple(types))


def _vectors(count, dtype="float32"):
    """Scale, offset, moving mean and moving variance."""
    mean, var = _array(count, dtype=dtype, seed=3), np.abs(_array(count, dtype=dtype, seed=4))
    return _array(count, dtype=dtype, seed=1), _array(count, dtype=dtype, seed=2), mean, var


# BatchNorm --------------------------------------------------------------------------------------


def test_batch_norm_of_halves_keeps_wide_statistics():
    # The squares of these overflow a float16, and 2000 of them lose every digit of a sum.
    data = (_array(2000, 3) * 300 + 500).astype("float16")
    vectors = _vectors(3)
    output, mean, inverse, new_mean, new_var = run_op(
        "BatchNorm", data, *vectors, fix_gamma=False, train=True
    )
    wide = data.astype("float64")
    normal = (wide - wide.mean(0)) / np.sqrt(wide.var(0) + 1e-3)
    np.testing.assert_allclose(output, normal * vectors[0] + vectors[1], rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(mean, wide.mean(0), rtol=1e-5)
    np.testing.assert_allclose(inverse, 1 / wide.std(0), rtol=1e-4)
    np.testing.assert_allclose(new_mean, 0.9 * vectors[2] + 0.1 * wide.mean(0), rtol=1e-5)
    np.testing.assert_allclose(new_var, 0.9 * vectors[3] + 0.1 * wide.var(0), rtol=1e-4)
    assert (output.dtype, mean.dtype, new_var.dtype) == (np.float16, np.float32, np.float32)


def test_batch_norm_far_from_zero_keeps_its_digits():
    data = (_array(1000, 2) + 10000).astype("float32")
    _, _, inverse, *_ = run_op("BatchNorm", data, *_vectors(2), train=True, eps=0.0)
    # The mean of the squares minus the square of the mean would have no correct digit.
    np.testing.assert_allclose(inverse, 1 / data.astype("float64").std(0), rtol=1e-4)


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("use_global_stats", [True, False])
def test_batch_norm_gradients_of_all_outputs(train, axis, use_global_stats):
    data = _array(3, 4, 5, dtype="float64")
    assert_gradient(
        "BatchNorm",
        data,
        *_vectors(data.shape[axis], dtype="float64"),
        outputs=1 if use_global_stats or not train else 3,
        skip=(3, 4),
        train=train,
        axis=axis,
        fix_gamma=False,
        use_global_stats=use_global_stats,
        output_mean_var=True,
    )


def test_fixed_gamma_counts_as_one_and_has_no_gradient():
    data, vectors = _array(3, 4), _vectors(4)
    one = (np.ones(4, "float32"), *vectors[1:])
    fixed = run_op("BatchNorm", data, *vectors, train=True)
    np.testing.assert_array_equal(
        fixed[0], run_op("BatchNorm", data, *one, train=True, fix_gamma=False)[0]
    )
    grads = run_gradient("BatchNorm", data, *vectors, heads=[data], train=True)
    np.testing.assert_array_equal(grads[1], 0)


def test_batch_norm_moves_its_statistics_in_training_alone():
    data = hn.nd.array(_array(8, 3))
    gamma, beta, mean, var = (hn.nd.array(one) for one in _vectors(3))
    before = mean.asnumpy(), var.asnumpy()
    hn.nd.BatchNorm(data, gamma, beta, mean, var)
    np.testing.assert_array_equal((mean.asnumpy(), var.asnumpy()), before)
    gamma.attach_grad()
    with hn.autograd.record():
        out = hn.nd.BatchNorm(data, gamma, beta, mean, var, momentum=0.5)
    np.testing.assert_array_equal((mean.asnumpy(), var.asnumpy()), before)
    out.backward()
    host = data.asnumpy()
    np.testing.assert_allclose(mean.asnumpy(), (before[0] + host.mean(0)) / 2, rtol=1e-5)
    np.testing.assert_allclose(var.asnumpy(), (before[1] + host.var(0)) / 2, rtol=1e-5)


def test_sync_batch_norm_is_batch_norm():
    data, vectors = _array(3, 4, 5), _vectors(4)
    attrs = {"fix_gamma": False, "train": True, "momentum": 0.7}
    plain = run_op("BatchNorm", data, *vectors, **attrs)
    synced = run_op("_contrib_SyncBatchNorm", data, *vectors, ndev=2, key="bn0", **attrs)
    for place, (one, other) in enumerate(zip(plain, synced, strict=True)):
        if place != 2:
            np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(synced[2], data.var((0, 2)), rtol=1e-5)  # not the inverse, here


def test_batch_norm_completes_and_refuses():
    complete = get("BatchNorm").complete
    call, _ = get("BatchNorm").bind({"axis": -1})
    assert complete([(2, 3, 5), *[None] * 4], **call.attrs) == [(2, 3, 5), *[(5,)] * 4]
    message = r"BatchNorm: beta must have shape \(3,\) for axis 1 of data float32\[2,3\]"
    with pytest.raises(ShapeError, match=message):
        _infer("BatchNorm", (2, 3), (3,), (4,), (3,), (3,))
    with pytest.raises(ShapeError, match="BatchNorm: axis must be from -1 to 0"):
        _infer("BatchNorm", (3,), *[(3,)] * 4)


# The others -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["LayerNorm", "InstanceNorm", "GroupNorm"])
def test_norms_of_halves_are_computed_wide(name):
    data = (_array(2, 4, 600) * 300 + 500).astype("float16")
    size, axes = {"LayerNorm": (600, (2,)), "InstanceNorm": (4, (2,)), "GroupNorm": (1, (1, 2))}[
        name
    ]
    one, zero = np.ones(size, "float16"), np.zeros(size, "float16")
    (output,) = run_op(name, data, one, zero)
    wide = data.astype("float64")
    normal = (wide - wide.mean(axes, keepdims=True)) / wide.std(axes, keepdims=True)
    np.testing.assert_allclose(output, normal, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_layer_norm_gradients_of_all_outputs(axis):
    data = _array(3, 4, 5, dtype="float64")
    gamma, beta, *_ = _vectors(data.shape[axis], dtype="float64")
    assert_gradient("LayerNorm", data, gamma, beta, outputs=3, axis=axis, output_mean_var=True)


def test_group_norm_gradients_of_all_outputs():
    data = _array(2, 4, 3, dtype="float64")
    gamma, beta, *_ = _vectors(2, dtype="float64")
    assert_gradient("GroupNorm", data, gamma, beta, outputs=3, num_groups=2, output_mean_var=True)


def test_lrn_sums_over_neighboring_channels():
    data = _array(2, 7, 3, 2)
    (output,) = run_op("LRN", data, nsize=5, alpha=0.3, beta=0.6, knorm=1.5)
    for channel in range(7):
        near = data[:, max(channel - 2, 0) : channel + 3]
        scale = (1.5 + 0.3 / 5 * (near**2).sum(1)) ** -0.6
        np.testing.assert_allclose(output[:, channel], data[:, channel] * scale, rtol=1e-5)


def test_length_of_zero_has_a_finite_gradient():
    data = np.zeros((2, 3), "float32")
    gradient, *_ = run_gradient("L2Normalization", data, heads=[np.ones_like(data)])
    np.testing.assert_allclose(gradient, 1e5, rtol=1e-5)  # 1 / sqrt(eps)


@pytest.mark.parametrize(
    ("name", "shapes", "attrs", "error", "message"),
    [
        ("LayerNorm", [(2, 3), (2,), (2,)], {}, ShapeError, r"gamma must have shape \(3,\)"),
        ("InstanceNorm", [(2, 3), (3,), (3,)], {}, ShapeError, r"\(batch, channels, \*spatial\)"),
        (
            "GroupNorm",
            [(2, 3, 4), (2,), (2,)],
            {"num_groups": 2},
            ParameterError,
            "num_groups must divide the 3 channels",
        ),
        (
            "L2Normalization",
            [(2, 3)],
            {"mode": "spatial"},
            ShapeError,
            "data must have 3 dimensions or more for mode='spatial'",
        ),
        ("LRN", [(2,)], {"nsize": 3}, ShapeError, r"data must have shape \(batch, channels"),
    ],
)
def test_norms_refuse(name, shapes, attrs, error, message):
    with pytest.raises(error, match=f"{name}: .*{message}"):
        _infer(name, *shapes, **attrs)
