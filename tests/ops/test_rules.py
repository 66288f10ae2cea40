"""Rules that every registered operator obeys; `op_samples` holds calls to try them on."""

from __future__ import annotations

import itertools
import re
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from helpers import assert_gradient, run_gradient
from op_samples import NOT_THE_DERIVATIVE, SAMPLES, Sample

from hybridnet.base.errors import DTypeError, MXNetError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.documentation import documentation, signature_of
from hybridnet.ops.core.registry import REGISTRY, get, operator
from hybridnet.ops.random.state import initial_state

_ROWS = {name: row for name, row in REGISTRY.items() if name == row.name}
# Gradients that are operators of their own are tried by differentiating their operator.
_PUBLIC = [name for name in _ROWS if not name.startswith("_backward_")]
_STATE = initial_state(0)
_DTYPES = [
    np.dtype(one)
    for one in ("float64", "float32", "float16", ml_dtypes.bfloat16, "int32", "uint8", "bool")
]
_MAY_BE_REFUSED = {np.dtype("int32"), np.dtype("uint8"), np.dtype("bool")}
_SAMPLED = [
    pytest.param(name, sample, id=f"{name}-{index}")
    for name, samples in SAMPLES.items()
    for index, sample in enumerate(samples)
]


def test_every_operator_has_a_sample():
    assert sorted(set(_PUBLIC) - set(SAMPLES)) == []
    assert sorted(set(SAMPLES) - set(_PUBLIC)) == []


@pytest.mark.parametrize("name", _ROWS)
def test_operator_is_documented(name):
    doc = get(name).doc
    assert len(doc) > 10, f"{name} has no documentation"
    assert re.match(r"[^\n]+[.:](\n|$)", doc), f"{name}: the first line is no sentence: {doc!r}"


@pytest.mark.parametrize("name", _ROWS)
def test_help_is_one_docstring_with_every_argument_once(name):
    op = get(name)
    text = documentation(op)
    sections = re.findall(r"^([A-Z]\w+):$", text, re.MULTILINE)
    assert sections in (["Args"], ["Args", "Returns"])
    assert max(map(len, text.splitlines())) < 100
    body = text.split("\nArgs:\n")[1].split("\nReturns:\n")[0]
    listed = [match[1] for match in re.finditer(r"^    (\w+)(?: \(.*)?:? ?", body, re.MULTILINE)]
    assert listed == [*op.inputs, *op.params, "out", "name"]
    assert list(signature_of(op).parameters) == listed


@pytest.mark.parametrize("name", _ROWS)
def test_operator_without_gradient_says_why(name):
    row = get(name)
    assert not (row.no_gradient and row.gradient), f"{name} has a gradient and a reason against it"
    if row.no_gradient:
        assert len(row.no_gradient) > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_inferred_types_are_those_of_the_lowering(name):
    refused = set()
    for dtype, sample in itertools.product(_DTYPES, SAMPLES[name]):
        call, scalars = get(name).bind(sample.attrs, sample.train)
        operands = [
            jax.ShapeDtypeStruct(one.shape, dtype if one.dtype == np.float64 else one.dtype)
            for one in sample.inputs
        ]
        if call.takes_state:
            operands.append(jax.ShapeDtypeStruct(_STATE.shape, _STATE.dtype))
        try:
            inferred = call.infer(tuple(tensor_type(one.shape, one.dtype) for one in operands))
        except DTypeError:
            refused.add(dtype)
            continue
        numbers = [jax.ShapeDtypeStruct((), np.float64) for _ in scalars]
        with jax.enable_x64(True):
            outputs = jax.eval_shape(
                lambda a, s, c=call: tuple(c.lower("cpu", a, s)), operands, numbers
            )
        computed = [(one.shape, np.dtype(one.dtype)) for one in outputs]
        assert [(one.shape, one.dtype) for one in inferred] == computed, f"of {dtype}"
    assert refused <= _MAY_BE_REFUSED


def _differentiable(name: str, sample: Sample) -> bool:
    """Whether the numeric gradient says something: of a function of floats, to floats.

    Steps in float64 do not show in a result that is always float32: MXNet's answers check that.
    """
    return (
        not get(name).no_gradient
        and name not in NOT_THE_DERIVATIVE
        and name != "_image_to_tensor"
        and sample.attrs.get("dtype") not in ("int32",)
        and any(one.dtype == np.float64 for one in sample.inputs)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name,sample", [one for one in _SAMPLED if _differentiable(*one.values)])
def test_gradient_equals_a_numeric_one(name, sample):
    assert_gradient(
        name,
        *sample.inputs,
        train=sample.train,
        outputs=sample.outputs,
        skip=sample.skip,
        **sample.attrs,
    )


@pytest.mark.parametrize("name", NOT_THE_DERIVATIVE)
def test_listed_exceptions_really_differ_from_the_derivative(name):
    sample: Any = SAMPLES[name][0]
    heads = [np.full(sample.inputs[0].shape, 3.0)]
    grads = run_gradient(name, *sample.inputs, heads=heads, train=sample.train, **sample.attrs)
    assert not np.allclose(grads[0], 3.0)


def test_a_name_is_registered_once():
    with pytest.raises(MXNetError, match="operator 'flip' is already registered"):
        operator("flip", doc="Another operator.")(lambda data: data)


def test_unknown_operator_names_near_ones():
    with pytest.raises(
        MXNetError, match=r"no operator named 'broadcast_ad'; did you mean .*broadcast_add"
    ):
        get("broadcast_ad")


@pytest.mark.parametrize(
    "name,second,attrs",
    [
        ("relu", lambda x: 0 * x, {}),
        ("max", lambda x: 0 * x, {}),
        ("_power_scalar", lambda x: 6 * x, {"scalar": 3}),
        ("sin", lambda x: -np.sin(x), {}),
        ("exp", np.exp, {}),
    ],
)
def test_second_derivatives(name, second, attrs):
    x = np.array([0.4, 1.3, -0.8])
    call, scalars = get(name).bind(attrs)
    numbers = [np.float64(one) for one in scalars]

    def first(x: Any) -> Any:
        outputs, pull = jax.vjp(lambda x: call.lower("cpu", [x], numbers)[0], x)
        return pull(np.ones(outputs.shape))[0]

    with jax.enable_x64(True):
        _, pull = jax.vjp(first, x)
        got = pull(np.ones(3))[0]
    np.testing.assert_allclose(got, second(x), atol=1e-12)
