"""LSTMs by oneDNN, held against the plain lowering in float64, which has tests against MXNet's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest
from helpers import thorough
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onednn_checks import close, lowering, random
from op_samples_rnn import parameter_size
from traced import hurried_jit

from hybridnet import autograd, nd
from hybridnet.native import onednn
from hybridnet.ops.core.alternatives import OperandType, Site, alternatives_of
from hybridnet.ops.core.registry import get
from hybridnet.ops.nn.rnn import onednn as onednn_lstm
from hybridnet.runtime.programs import cache as programs

pytestmark = pytest.mark.usefixtures("with_onednn")

NAME = onednn_lstm.NAME


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    return {
        "steps": draw(st.integers(1, 5)),
        "batch": draw(st.integers(1, 9)),
        "features": draw(st.integers(1, 5)),
        "hidden": draw(st.integers(1, 40)),
        "layers": draw(st.integers(1, 3)),
        "bidirectional": draw(st.booleans()),
        "state_outputs": draw(st.booleans()),
    }


def attrs_of(case: dict[str, Any]) -> dict[str, Any]:
    attrs = {"mode": "lstm", "state_size": case["hidden"], "num_layers": case["layers"]}
    attrs |= {one: case[one] for one in ("bidirectional", "state_outputs")}
    call, _ = get("RNN").bind(attrs, True)
    return dict(call.attrs)


def arrays_for(case: dict[str, Any], seed: int = 0) -> list[np.ndarray[Any, Any]]:
    rows = case["layers"] * (1 + case["bidirectional"])
    size = parameter_size(
        "lstm", case["features"], case["hidden"], case["layers"], case["bidirectional"]
    )
    state = (rows, case["batch"], case["hidden"])
    data = random(case["steps"], case["batch"], case["features"], seed=seed)
    parameters = random(size, seed=seed + 1) / np.sqrt(case["hidden"])
    return [data, parameters, random(*state, seed=seed + 2), random(*state, seed=seed + 3)]


def both(operator: str, arrays: list[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    """Runs an operator by oneDNN, and plainly in float64."""
    with jax.enable_x64(True):
        native, plain = lowering(operator, NAME), get(operator).lowering
        found = hurried_jit(lambda *arrays: native(*arrays, **params))(*arrays)
        wide = [one.astype(np.float64) for one in arrays]
        wanted = hurried_jit(lambda *arrays: plain(*arrays, **params))(*wide)
    return found, wanted


@pytest.fixture
def threads_are_reset() -> Iterator[None]:
    yield
    onednn.use_threads(0)


@pytest.mark.slow
@pytest.mark.usefixtures("threads_are_reset")
@settings(
    max_examples=thorough(500, 12), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cases(), st.integers(0, 99), st.data())
def test_networks_and_their_gradients(case: dict[str, Any], seed: int, data: st.DataObject) -> None:
    onednn.use_threads(data.draw(st.integers(0, 3)))
    arrays, attrs = arrays_for(case, seed), attrs_of(case)
    found, wanted = both("RNN", arrays, **attrs, train=True)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == np.float32
        close(one, other)
    shown = 3 if case["state_outputs"] else 1
    given = tuple(i for i in range(shown) if data.draw(st.booleans())) or (0,)
    by = tuple(i for i in range(4) if data.draw(st.booleans())) or (1,)
    heads = [random(*found[i].shape, seed=seed + 5 + i) for i in given]
    operands = [*arrays, *map(np.asarray, found[shown:]), *heads]
    found, wanted = both("_backward_RNN", operands, **attrs, train=True, wanted=by, given=given)
    for one, other in zip(found, wanted, strict=True):
        close(one, other)


def test_gates_that_are_saturated_and_nan() -> None:
    case = {"steps": 3, "batch": 4, "features": 2, "hidden": 17, "layers": 1}
    case |= {"bidirectional": False, "state_outputs": True}
    arrays = arrays_for(case)
    arrays[0] *= 1e4
    arrays[0][1, 2] = np.nan
    found, wanted = both("RNN", arrays, **attrs_of(case), train=True)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    assert np.isnan(found[0][1:, 2]).all()
    assert not np.isnan(found[0][:, :2]).any()


def site_of(operator: str, call: Any, shapes: Any, dtype: Any = np.float32, **more: Any) -> Site:
    return Site("cpu", call, tuple(OperandType(one, np.dtype(dtype)) for one in shapes), **more)


@pytest.mark.parametrize(
    "attrs",
    [
        {"mode": "gru"},
        {"projection_size": 3},
        {"lstm_state_clip_max": 1.0},
        {"lstm_state_clip_nan": True},
        {"use_sequence_length": True},
        {"p": 0.5},
        {"dtype": np.float64},
        {"wanted": (0,)},
        {"batch": 0},
    ],
)
def test_other_networks_are_not_its_own(attrs: dict[str, Any]) -> None:
    attrs = dict(attrs)
    dtype, wanted = attrs.pop("dtype", np.float32), attrs.pop("wanted", None)
    batch = attrs.pop("batch", 64)
    call, _ = get("RNN").bind({"mode": "lstm", "state_size": 128, "num_layers": 1} | attrs, True)
    alternatives = alternatives_of("RNN")
    assert alternatives is not None and alternatives.choose is not None
    shapes = [(5, batch, 128), (132096,), (1, batch, 128), (1, batch, 128)]
    for_it = site_of("RNN", call, shapes, dtype, wanted=wanted)
    assert NAME not in {one.name for one in alternatives.applying(for_it)}
    assert alternatives.choose(for_it) != NAME


def test_networks_that_are_trained_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYBRIDNET_HOST", "off")
    x, weights = random(6, 32, 32), random(parameter_size("lstm", 32, 64, 2)) / 8
    kinds: set[int] = set()
    compute = onednn.compute

    def watched(spec: Any, *rest: Any) -> Any:
        kinds.add(spec[1])
        return compute(spec, *rest)

    def losses() -> list[float]:
        programs.cache.clear()
        data, parameters = nd.array(x), nd.array(weights)
        state = nd.zeros((2, 32, 64))
        parameters.attach_grad()
        found = []
        for _ in range(5):
            with autograd.record():
                y = nd.RNN(data, parameters, state, state, mode="lstm", state_size=64, num_layers=2)
                loss = ((y - 0.3) ** 2).mean()
            loss.backward()
            parameters -= 20 * parameters.grad
            found.append(float(loss.asscalar()))
        return found

    monkeypatch.setattr(onednn, "compute", watched)
    found = losses()
    assert {3, 4} <= kinds, "forward and gradient"
    monkeypatch.setenv("HYBRIDNET_ONEDNN", "0")
    np.testing.assert_allclose(found, losses(), rtol=1e-4)
    assert found[-1] < found[0]
