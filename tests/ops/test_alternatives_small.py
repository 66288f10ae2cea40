"""Other lowerings of small operators, against the operators' own: values and gradients.

The plain lowerings have tests of their own, against NumPy, PyTorch and MXNet's answers.
"""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from op_samples_rnn import parameter_size
from traced import hurried_jit

import hybridnet as hn
from hybridnet.ops.core.alternatives import OperandType, Site, alternatives_of
from hybridnet.ops.core.registry import get


def _assert_same(operator, name, arrays, attrs, by):
    """Compares an alternative with the plain lowering: outputs, and gradients by some inputs."""
    alternative = alternatives_of(operator).by_name[name]
    weights = None

    def run(lowering, chosen):
        nonlocal weights
        inputs = [*arrays]
        for index, value in zip(by, chosen, strict=True):
            inputs[index] = value
        made = lowering(*inputs, **attrs)
        outputs = list(made) if isinstance(made, list | tuple) else [made]
        if weights is None:
            draw = np.random.RandomState(5)
            weights = [draw.standard_normal(one.shape).astype(one.dtype) for one in outputs]
        total = sum((w * one).sum() for w, one in zip(weights, outputs, strict=True))
        return total, outputs

    chosen = [arrays[index] for index in by]

    def both(lowering):
        run_and_pull = jax.grad(lambda *values: run(lowering, values), range(len(by)), has_aux=True)
        gradients, outputs = hurried_jit(run_and_pull)(*chosen)
        return [np.asarray(one, np.float64) for one in (*outputs, *gradients)]

    with jax.enable_x64(True):
        found, wanted = both(alternative.lowering), both(get(operator).lowering)
    for one, reference in zip(found, wanted, strict=True):
        assert one.shape == reference.shape
        largest = np.abs(reference).max(initial=1e-6)
        np.testing.assert_allclose(one, reference, rtol=0, atol=alternative.tolerance * largest)


#: Each example compiles two programs.
_FEW = settings(max_examples=4)


@pytest.mark.slow
@_FEW
@given(
    mode=st.sampled_from(["rnn_relu", "rnn_tanh", "lstm", "gru"]),
    time=st.integers(1, 3),
    batch=st.integers(2, 5),
    layers=st.integers(1, 2),
    bidirectional=st.booleans(),
    lengths=st.booleans(),
    projected=st.booleans(),
    dtype=st.sampled_from(["float32", "float64"]),
    seed=st.integers(0, 99),
)
def test_rnn_in_halves(mode, time, batch, layers, bidirectional, lengths, projected, dtype, seed):
    draw = np.random.RandomState(seed)
    features, hidden = draw.randint(1, 5, 2)
    projection = 2 if projected and mode == "lstm" else None
    directions = layers * (1 + bidirectional)
    size = parameter_size(mode, features, hidden, layers, bidirectional, projection)
    arrays = [draw.standard_normal((time, batch, features)), draw.uniform(-1, 1, size)]
    arrays.append(draw.standard_normal((directions, batch, projection or hidden)))
    if mode == "lstm":
        arrays.append(draw.standard_normal((directions, batch, hidden)))
    arrays = [one.astype(dtype) for one in arrays]
    by = range(len(arrays))
    if lengths:
        arrays.append(draw.randint(1, time + 1, batch).astype(np.int32))
    attrs = {
        "mode": mode,
        "state_size": int(hidden),
        "num_layers": layers,
        "bidirectional": bidirectional,
        "projection_size": projection,
        "state_outputs": True,
        "p": 0.0,
        "use_sequence_length": lengths,
        "train": True,
    }
    _assert_same("RNN", "halves", arrays, attrs, by)


@pytest.mark.parametrize("rows", [1, 8, 32, 33])
def test_products_of_few_rows_are_exact_sums(rows):
    # Whole numbers: all sums are exact in float32, so nothing may be rounded on the way.
    draw = np.random.RandomState(rows)
    x, w = draw.randint(-9, 9, (rows, 40)), draw.randint(-9, 9, (40, 7))
    for dtype in ("float32", "float64"):
        a, b = hn.nd.array(x, dtype=dtype), hn.nd.array(w, dtype=dtype)
        b.attach_grad()
        with hn.autograd.record():
            y = hn.nd.dot(a, b)
            z = hn.nd.FullyConnected(a, b.T, num_hidden=7, no_bias=True)
            total = y + z
        total.backward()
        np.testing.assert_array_equal(y.asnumpy(), x @ w)
        np.testing.assert_array_equal(z.asnumpy(), x @ w)
        np.testing.assert_array_equal(b.grad.asnumpy(), 2 * x.T @ np.ones((rows, 7)))


@pytest.mark.slow
@settings(max_examples=7)
@given(
    dtype=st.sampled_from(["float32", "float16", "float64", "int32", "uint8"]),
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    axis=st.integers(-3, 3),
    is_ascend=st.booleans(),
    k=st.integers(0, 7),
    seed=st.integers(0, 99),
)
def test_sorting_by_whole_numbers(dtype, shape, axis, is_ascend, k, seed):
    draw = np.random.RandomState(seed)
    special = [0.0, -0.0, 1, 1, 2, 3] + [np.nan, -np.nan, np.inf, -np.inf] * dtype.startswith("f")
    data = draw.choice(np.array(special), shape).astype(dtype)
    place = axis if -len(shape) <= axis < len(shape) else None
    attrs = {"axis": place, "is_ascend": is_ascend}
    top = {**attrs, "k": k, "dtype": "int32"}
    calls = [("sort", attrs), ("argsort", {**attrs, "dtype": "int32"}), ("topk", top)]
    calls += [("topk", {**top, "ret_typ": ret_typ}) for ret_typ in ("mask", "both")]
    with jax.enable_x64(True):
        for operator, params in calls:
            wanted = get(operator).lowering(data, **params)
            call = get(operator).bind(params)[0]
            site = Site("cpu", call, (OperandType(data.shape, data.dtype),))
            for one in alternatives_of(operator).applying(site):
                jax.tree.map(np.testing.assert_array_equal, one.lowering(data, **params), wanted)


@pytest.mark.parametrize("is_ascend", [True, False])
def test_gradients_of_sorting_by_whole_numbers(is_ascend):
    data = np.random.RandomState(3).permutation(24).reshape(4, 6).astype(np.float32)
    _assert_same("sort", "packed", [data], {"axis": 0, "is_ascend": is_ascend}, [0])
    attrs = {"axis": 1, "is_ascend": is_ascend, "k": 3, "ret_typ": "value"}
    _assert_same("topk", "packed", [data], attrs, [0])
    if not is_ascend:
        _assert_same("topk", "largest", [data], attrs, [0])


def test_large_arrays_are_sorted_by_whole_numbers():
    data = np.random.RandomState(0).standard_normal((3, 400)).astype(np.float32)
    x = hn.nd.array(data)
    np.testing.assert_array_equal(hn.nd.sort(x, axis=1).asnumpy(), np.sort(data, 1))
    order = np.argsort(-data, 1, kind="stable")
    np.testing.assert_array_equal(hn.nd.argsort(x, axis=1, is_ascend=False).asnumpy(), order)
    np.testing.assert_array_equal(hn.nd.topk(x, axis=1, k=5).asnumpy(), order[:, :5])
