"""AdamW and LAMB for one weight and for several at once, against their formulas in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from hybridnet import nd, sym
from hybridnet.base.errors import MXNetError

_SHAPES = ((3, 4), (5,), (2, 2, 2))
_LRS, _WDS, _ETAS = (0.1, 0.2, 0.3), (0.01, 0.0, 0.02), (1.0, 0.5, 1.0)


def _arrays(mixed):
    """Returns weights, gradients, two moments, and in mixed precision the wide copies."""
    generator = np.random.default_rng(3)
    dtype = "float16" if mixed else "float32"
    drawn = [[generator.normal(size=shape) for shape in _SHAPES] for _ in range(2)]
    weights, grads = ([nd.array(one, dtype=dtype) for one in kind] for kind in drawn)
    means, variances = ([nd.zeros(shape) for shape in _SHAPES] for _ in range(2))
    wide = [[weight.astype("float32") for weight in weights]] if mixed else []
    return [weights, grads, means, variances, *wide]


def _moments(grad, mean, var):
    return 0.9 * mean + 0.1 * grad, 0.999 * var + 0.001 * grad**2


@pytest.mark.parametrize("mixed", [False, True])
def test_adamw_steps_of_several_weights(mixed):
    lists = _arrays(mixed)
    wanted = [lists[-1 if mixed else 0][i].asnumpy().astype("float64") for i in range(3)]
    states = [(0.0, 0.0)] * 3
    update = nd.contrib.multi_mp_adamw_update if mixed else nd.contrib.multi_adamw_update
    for _ in range(3):
        update(*lists, 0.5, _LRS, _WDS, _ETAS, out=lists[0], clip_gradient=0.4)
        for i, grad in enumerate(lists[1]):
            clipped = np.clip(0.5 * grad.asnumpy().astype("float64"), -0.4, 0.4)
            mean, var = states[i] = _moments(clipped, *states[i])
            step = _LRS[i] * mean / (np.sqrt(var) + 1e-8) + _WDS[i] * wanted[i]
            wanted[i] = wanted[i] - _ETAS[i] * step
    for i, weight in enumerate(wanted):
        np.testing.assert_allclose(lists[-1 if mixed else 0][i].asnumpy(), weight, rtol=1e-3)
        np.testing.assert_allclose(lists[0][i].asnumpy(), weight, rtol=3e-3)
        np.testing.assert_allclose(lists[2][i].asnumpy(), states[i][0], rtol=1e-3)


@pytest.mark.parametrize("mixed", [False, True])
def test_lamb_steps_of_several_weights(mixed):
    lists = _arrays(mixed)
    wanted = [lists[-1 if mixed else 0][i].asnumpy().astype("float64") for i in range(3)]
    states = [(0.0, 0.0)] * 3
    update = nd.contrib.multi_mp_lamb_update if mixed else nd.contrib.multi_lamb_update
    for t in (1, 2, 3):
        update(*lists, [t] * 3, _LRS, _WDS, out=lists[0], rescale_grad=0.5, lower_bound=2.5)
        for i, grad in enumerate(lists[1]):
            mean, var = states[i] = _moments(0.5 * grad.asnumpy().astype("float64"), *states[i])
            step = (mean / (1 - 0.9**t)) / (np.sqrt(var / (1 - 0.999**t)) + 1e-6)
            step = step + _WDS[i] * wanted[i]
            ratio = max(np.linalg.norm(wanted[i]), 2.5) / np.linalg.norm(step)
            wanted[i] = wanted[i] - _LRS[i] * ratio * step
    for i, weight in enumerate(wanted):
        got = lists[-1 if mixed else 0][i].asnumpy()
        np.testing.assert_allclose(got, weight, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("scale", [0.0, np.nan, np.inf])
def test_a_step_of_mixed_adamw_is_skipped_where_the_scale_overflowed(scale):
    weight, grad, mean, var, wide = (kind[0] for kind in _arrays(True))
    before = weight.asnumpy(), wide.asnumpy()
    nd.contrib.mp_adamw_update(
        weight, grad, mean, var, wide, nd.array([scale]), 0.1, 1.0, out=weight
    )
    np.testing.assert_array_equal(weight.asnumpy(), before[0])
    np.testing.assert_array_equal(wide.asnumpy(), before[1])
    assert not mean.asnumpy().any()


def test_adamw_of_one_weight_is_the_same_for_arrays_and_symbols():
    weight, grad, mean, var = (kind[0] for kind in _arrays(False))
    arguments = {"lr": 0.1, "eta": 0.5, "wd": 0.1}
    names = ("weight", "grad", "mean", "var")
    step = sym.contrib.adamw_update(*map(sym.var, names), 0.25, **arguments)
    states = {"mean": mean.copy(), "var": var.copy()}
    bound = step.bind(weight.context, {"weight": weight, "grad": grad}, aux_states=states)
    (symbolic,) = bound.forward()
    eager = nd.contrib.adamw_update(weight, grad, mean, var, nd.array([0.25]), **arguments)
    np.testing.assert_allclose(symbolic.asnumpy(), eager.asnumpy(), rtol=1e-6)


def test_what_does_not_fit_says_what_does():
    lists = _arrays(False)
    with pytest.raises(MXNetError, match="rescale_grad must be one number"):
        nd.contrib.multi_adamw_update(*lists, nd.ones((2,)), _LRS, _WDS, _ETAS)
    with pytest.raises(MXNetError, match="num_weights=2"):
        nd.contrib.multi_adamw_update(*lists, 1.0, _LRS[:2], _WDS[:2], _ETAS[:2], size=2)
