"""Initializers, against MXNet 1.9.1's facts (`oracle/make_optimizer.py`) and their definitions."""

from __future__ import annotations

import json
import logging
import math
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from places import ORACLE

import hybridnet as hn
from hybridnet import initializer, nd
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.initializer import InitDesc

ANSWERS = json.loads((ORACLE / "optimizer.json").read_text())["initializers"]
# Large enough that the sample's spread is within a few per cent of the distribution's.
SHAPE = (60, 50, 2, 2)


def filled(init: Any, shape: tuple[int, ...], name: str = "fc_weight", **attrs: Any) -> Any:
    array = nd.ones(shape) * -5
    init(InitDesc(name, attrs), array)
    return array.asnumpy()


@pytest.mark.parametrize(("name", "settings", "text"), ANSWERS["dumps"])
def test_json_forms_are_mxnets_and_read_back(
    name: str, settings: dict[str, Any], text: str
) -> None:
    made = initializer.create(name, **settings)
    assert made.dumps() == text
    assert initializer.create(text) == made
    assert hash(initializer.create(text)) == hash(made)


@pytest.mark.parametrize(("name", "value"), ANSWERS["by_name"].items())
def test_the_names_ending_decides(name: str, value: float) -> None:
    assert (filled(initializer.Constant(9), (2, 2), name) == value).all()


@pytest.mark.parametrize(
    ("name", "value"), [("bn_running_mean", 0), ("bn_moving_var", 1), ("bn_running_var", 1)]
)
def test_running_statistics_are_known_by_name(name: str, value: float) -> None:
    assert (filled(initializer.Xavier(), (3,), name) == value).all()


def test_a_variables_own_initializer_wins_over_its_name() -> None:
    own = initializer.Constant(4)
    assert (filled(initializer.Zero(), (3,), "x_bias", __init__=own.dumps()) == 4).all()
    assert (filled(initializer.Zero(), (3,), "foo", __init__=own) == 4).all()
    assert (filled(initializer.Zero(), (3,), "foo", __init__="ones") == 1).all()
    mixed = initializer.Mixed([".*"], [initializer.One()])
    assert (filled(initializer.Zero(), (3,), "x_gamma", __init__=mixed) == 1).all()


def test_fixed_patterns_are_mxnets() -> None:
    even, odd = (np.array(one) for one in ANSWERS["bilinear"])
    bilinear = initializer.Bilinear()
    np.testing.assert_allclose(filled(bilinear, even.shape), even, rtol=1e-6)
    np.testing.assert_allclose(filled(bilinear, odd.shape), odd, rtol=1e-6)
    own = initializer.LSTMBias(2.0).dumps()
    bias = filled(initializer.Zero(), (8,), "lstm_bias", __init__=own)
    np.testing.assert_array_equal(bias, ANSWERS["lstm_bias"])


def test_constant_takes_arrays() -> None:
    value = np.arange(6.0).reshape(2, 3)
    for one in (value, value.tolist(), nd.array(value)):
        np.testing.assert_array_equal(filled(initializer.Constant(one), (2, 3)), value)
        assert json.loads(initializer.Constant(one).dumps())[1]["value"] == value.tolist()


FAN_IN, FAN_OUT = 50 * 4, 60 * 4
UNIFORMS = [
    (initializer.Uniform(), 0.07),
    (initializer.Uniform(2.0), 2.0),
    (initializer.Xavier(), math.sqrt(3 / ((FAN_IN + FAN_OUT) / 2))),
    (initializer.Xavier(factor_type="in", magnitude=2), math.sqrt(2 / FAN_IN)),
    (initializer.Xavier(factor_type="out"), math.sqrt(3 / FAN_OUT)),
]
NORMALS = [
    (initializer.Normal(), 0.01),
    (initializer.Normal(3.0), 3.0),
    (initializer.Xavier("gaussian", "out", 2), math.sqrt(2 / FAN_OUT)),
    (initializer.MSRAPrelu(), math.sqrt(2 / (1 + 0.25**2) / ((FAN_IN + FAN_OUT) / 2))),
    (initializer.MSRAPrelu("in", 0.0), math.sqrt(2 / FAN_IN)),
]


@pytest.mark.parametrize(("init", "bound"), UNIFORMS, ids=str)
def test_uniform_draws_fill_their_range(init: Any, bound: float) -> None:
    hn.random.seed(3)
    drawn = filled(init, SHAPE) / bound
    assert 0.999 < np.abs(drawn).max() <= 1 + 1e-6
    assert abs(drawn.mean()) < 0.02
    assert drawn.std() == pytest.approx(1 / math.sqrt(3), rel=0.02)


@pytest.mark.parametrize(("init", "deviation"), NORMALS, ids=str)
def test_normal_draws_have_their_deviation(init: Any, deviation: float) -> None:
    hn.random.seed(3)
    drawn = filled(init, SHAPE) / deviation
    assert abs(drawn.mean()) < 0.03
    assert drawn.std() == pytest.approx(1, rel=0.03)
    # The fourth moment tells a normal distribution (3) from a uniform one (1.8).
    assert (drawn**4).mean() == pytest.approx(3, rel=0.15)


@pytest.mark.parametrize("shape", [(4, 2, 3), (6, 4), (5, 5)])
@pytest.mark.parametrize("rand_type", ["uniform", "normal"])
def test_orthogonal_rows_or_columns(shape: tuple[int, ...], rand_type: str) -> None:
    matrix = filled(initializer.Orthogonal(1.5, rand_type), shape).reshape(shape[0], -1)
    if matrix.shape[0] > matrix.shape[1]:
        matrix = matrix.T
    np.testing.assert_allclose(matrix @ matrix.T, 2.25 * np.eye(len(matrix)), atol=1e-5)


@pytest.mark.parametrize(
    "init", [initializer.Uniform(), initializer.Normal(), initializer.Orthogonal()], ids=str
)
def test_draws_follow_the_seed(init: Any) -> None:
    hn.random.seed(11)
    first, second = filled(init, (4, 4)), filled(init, (4, 4))
    hn.random.seed(11)
    np.testing.assert_array_equal(filled(init, (4, 4)), first)
    assert (first != second).any()


def test_mixed_takes_the_first_pattern_that_the_name_begins_with() -> None:
    mixed = initializer.Mixed(
        ["fc.*weight", ".*weight", ".*"],
        [initializer.Constant(5), initializer.One(), initializer.Zero()],
    )
    values = [filled(mixed, (2,), name)[0] for name in ("fc1_weight", "conv_weight", "fc1_bias")]
    assert values == [5, 1, 0]
    with pytest.raises(ParameterError, match=r"got 'x_bias'; add the pattern '\.\*'"):
        filled(initializer.Mixed(["fc"], [initializer.Zero()]), (2,), "x_bias")
    with pytest.raises(ParameterError, match="got 2 patterns and 0 initializers"):
        initializer.Mixed(["a", "b"], [])


def test_load_fills_from_arrays_and_files(tmp_path: Path) -> None:
    saved = {"arg:x_weight": nd.array([7, 8]), "aux:bn_mean": nd.array([1, 2])}
    nd.save(tmp_path / "a.params", saved)
    for source in (saved, tmp_path / "a.params", str(tmp_path / "a.params")):
        load = initializer.Load(source, default_init=initializer.Zero())
        assert filled(load, (2,), "x_weight").tolist() == [7, 8]
        assert filled(load, (2,), "bn_mean").tolist() == [1, 2]
        assert filled(load, (2,), "y_bias").tolist() == [0, 0]
    with pytest.raises(ShapeError, match=r"'x_weight' must have the shape \(3,\), got \(2,\)"):
        filled(load, (3,), "x_weight")
    with pytest.raises(ParameterError, match="got 'y_weight' that was not"):
        filled(initializer.Load(saved), (2,), "y_weight")
    nd.save(tmp_path / "list.params", [nd.ones((2,))])
    with pytest.raises(ParameterError, match="must hold arrays with names"):
        initializer.Load(tmp_path / "list.params")


def test_verbose_initializers_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    filled(initializer.Constant(3).set_verbosity(True), (2,))
    assert "initialized fc_weight as weight: 3.0" in caplog.text
    filled(initializer.One().set_verbosity(True, lambda arr: arr.shape), (2,), "x_bias")
    assert "initialized x_bias as bias: (2,)" in caplog.text


def test_an_initializer_of_ones_own() -> None:
    @initializer.alias("countdown")
    @initializer.register
    class Ramp(initializer.Initializer):
        def __init__(self, start: float) -> None:
            super().__init__(start=start)
            self.start = start

        def _init_weight(self, name: str, arr: Any) -> None:
            arr[:] = self.start - np.arange(arr.size).reshape(arr.shape)

    made = initializer.create("COUNTDOWN", start=3)
    assert filled(made, (3,)).tolist() == [3, 2, 1]
    assert filled(initializer.Zero(), (3,), "b_bias", __init__=made.dumps()).tolist() == [3, 2, 1]
    assert made.dumps() == '["ramp", {"start": 3}]'
    assert repr(made) == "Ramp(start=3)"


def test_initializers_are_equal_by_class_and_arguments() -> None:
    assert initializer.Xavier() == initializer.create("xavier")
    assert initializer.Xavier() != initializer.Xavier(magnitude=2)
    assert initializer.Zero() != initializer.One()
    assert initializer.create(initializer.Zero()) == initializer.create("zeros")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: initializer.create("foo"), r"must be registered \(one of .*xavier.*got 'foo'"),
        (lambda: initializer.create('{"x": 1}'), "JSON must be"),
        (lambda: initializer.create("[1, 2]"), "JSON must be"),
        (lambda: initializer.create("[" * 9999), "JSON must be"),
        (lambda: initializer.create(), "a name is required"),
        (lambda: initializer.create(initializer.Zero(), 3), "takes no further arguments"),
        (lambda: initializer.Xavier("foo"), "rnd_type must be one of uniform, gaussian"),
        (lambda: initializer.Xavier(factor_type="foo"), "factor_type must be one of avg, in, out"),
        (lambda: initializer.Orthogonal(rand_type="foo"), "rand_type must be one of"),
        (lambda: initializer.Zero()(cast(str, 3), nd.ones((2,))), "must be the array's name"),
        (lambda: filled(initializer.Xavier(), (4,)), r"at least 2 dimensions, got 'fc_weight'"),
        (lambda: filled(initializer.Bilinear(), (4, 4)), "requires 4 dimensions"),
        (lambda: filled(initializer.Zero(), (4,), "foo"), "must end in one of weight, bias,"),
        (lambda: filled(initializer.Zero(), (4,), "x_weight_q"), "got 'x_weight_q'"),
        (lambda: initializer.register(int), "subclass of Initializer"),
    ],
)
def test_misuse_is_explained(call: Any, message: str) -> None:
    with pytest.raises((ParameterError, ShapeError), match=message):
        call()


def test_constants_are_written_as_json_whatever_they_are() -> None:
    for value, plain in ((nd.ones((2,)), [1.0, 1.0]), (np.ones((1, 2)), [[1.0, 1.0]]), (1, 1)):
        init = initializer.Constant(value)
        assert init.dumps() == json.dumps(["constant", {"value": plain}])
        assert json.dumps(init._kwargs) == json.dumps({"value": plain})


def test_registering_a_taken_name_warns_and_takes_it():
    first, second = (
        type("Rare", (initializer.One,), {"__qualname__": f"{owner}.Rare"}) for owner in "ab"
    )
    initializer.register(first)
    with pytest.warns(UserWarning, match="takes the name 'rare' from .*a.Rare"):
        initializer.register(second)
    assert type(initializer.create("rare")) is second


def test_plain_names_say_more_by_their_beginning() -> None:
    """As text, and not as an `InitDesc`, a name may begin with what it is for, as in MXNet."""

    def by_text(name: str, shape: tuple[int, ...]) -> Any:
        array = nd.ones(shape)
        initializer.Xavier()(name, array)
        return array.asnumpy()

    enlarged = by_text("upsampling_bias", (2, 1, 3, 5))
    row = [0.11111111, 0.22222222, 0.33333334, 0.22222222, 0.11111111]
    np.testing.assert_allclose(enlarged[1, 0, 0], row, rtol=1e-6)
    bilinear = filled(initializer.Bilinear(), (2, 1, 3, 5))
    np.testing.assert_array_equal(enlarged, bilinear)
    assert by_text("stn_loc_weight", (6, 3)).tolist() == [[0, 0, 0]] * 6
    assert by_text("stn_loc_fc_bias", (6,)).tolist() == [1, 0, 0, 0, 1, 0]
    assert filled(initializer.Xavier(), (6,), "stn_loc_fc_bias").tolist() == [0] * 6
    with pytest.raises(ShapeError, match="6 elements, got 'stn_loc_bias' of shape"):
        by_text("stn_loc_bias", (5,))
    with pytest.raises(ShapeError, match="upsampling layer requires 4 dimensions"):
        by_text("upsampling_bias", (6,))


def test_names_of_quantized_arrays() -> None:
    weight, bias = nd.ones((50,), dtype="int8"), nd.ones((50,), dtype="int8")
    initializer.Xavier()(InitDesc("fc_weight_quantize"), weight)
    initializer.Xavier()(InitDesc("fc_bias_quantize"), bias)
    assert len(set(weight.asnumpy().tolist())) > 1
    assert not bias.asnumpy().any()
