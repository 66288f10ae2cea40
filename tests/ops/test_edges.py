"""Every operator at the edges of its dtypes: no hang, no crash, NumPy's answer or an error.

Calls are made in processes that are watched (`edge_watch`), on the least and greatest whole
numbers, zeros of either sign, NaN, infinities, shifts too far, and axes without elements; types
alone are inferred for sizes above 2**31. A table in `docs/differences.md`, "At the edges of
dtypes", is read here: a difference from NumPy that no row explains fails.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from drawn_ops import matches
from edge_calls import DTYPES, SAMPLES, Plan, findings, numbers_of
from edge_numpy import FUNCTIONS, differs
from edge_watch import watch
from helpers import thorough
from places import ROOT

from hybridnet import nd, sym
from hybridnet import np as mnp
from hybridnet.base.errors import MXNetError, OutOfMemoryError, ShapeError

_NIGHTLY = bool(thorough(1, 0))
_SHARDS = thorough(16, 2)
# Seconds of one call, which compiles: far more than any takes, and far less than for ever.
_LIMIT = thorough(300, 60)
_NAMES = [one.name for one in DTYPES]
_KINDS = {"result", "zero"}


def _rows() -> list[tuple[str, set[str]]]:
    """Returns the operators and the kinds of each row of the table."""
    text = (ROOT / "docs" / "differences.md").read_text()
    section = text.split("# At the edges of dtypes")[1].split("\n# ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [(row[0], set(row[1].split(", "))) for row in cells]


def _dtypes(operator: str) -> list[str]:
    """Returns the dtypes to try: all by night, else one, and three where NumPy can answer."""
    if _NIGHTLY:
        return _NAMES
    at = sorted(SAMPLES).index(operator)
    if operator in FUNCTIONS:
        return ["float32", "int8", ("int32", "int64", "uint8", "float64", "float16")[at % 5]]
    return [_NAMES[at % len(_NAMES)]]


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(_SHARDS))
def test_every_operator_ends_with_numpys_answer_or_an_error(shard):
    operators = sorted(SAMPLES)[shard::_SHARDS][:: thorough(1, 2)]
    found = watch(
        operators,
        {name: _dtypes(name) for name in operators},
        every=_NIGHTLY,
        draws=thorough(40, 2),
        hurry=not _NIGHTLY,
        limit=_LIMIT,
    )
    rows = _rows()
    unexplained = [
        f"{one.where}: {one.kind}: {one.text}"
        for one in found
        if not any(one.kind in kinds and matches(names, one.operator) for names, kinds in rows)
    ]
    assert not unexplained, "\n".join(unexplained)


def test_rows_are_of_operators_that_numpy_has():
    assert set(FUNCTIONS) <= set(SAMPLES)
    for names, kinds in _rows():
        assert kinds <= _KINDS, names
        for pattern in names.split(","):
            assert any(matches(pattern, one) for one in FUNCTIONS), f"there is no {pattern}"


def test_a_hang_and_a_crash_are_found_and_the_rest_goes_on(tmp_path):
    worker = tmp_path / "worker.py"
    worker.write_text(
        "import json, os, sys, time\n"
        "for name in json.loads(sys.argv[1])['operators']:\n"
        "    print(json.dumps(['begin', name, name + ' of int8']), flush=True)\n"
        "    if name == 'slow': time.sleep(1000)\n"
        "    if name == 'bad': os.abort()\n"
        "    if name == 'wrong':\n"
        "        print(json.dumps(['found', name, 'it', 'result', 'x']), flush=True)\n"
        "print(json.dumps(['end']), flush=True)\n"
    )
    names = ["good", "slow", "bad", "wrong", "good"]
    started, told = time.monotonic(), []
    found = watch(
        names, {name: ["int8"] for name in names}, every=False, draws=1, hurry=True, limit=2,
        worker=worker, told=told.append,
    )  # fmt: skip
    assert time.monotonic() - started < 60
    assert [(one.operator, one.where, one.kind) for one in found] == [
        ("slow", "slow of int8", "hang"),
        ("bad", "bad of int8", "crash"),
        ("wrong", "it", "result"),
    ]
    assert [one.split()[0] for one in told] == names


def test_wrong_results_are_found(monkeypatch):
    plan = Plan("_npi_add", 0, np.dtype("int32"))
    assert findings(plan, 2, hurry=True) == []
    monkeypatch.setitem(FUNCTIONS, "_npi_add", np.subtract)
    assert {one.kind for one in findings(plan, 2, hurry=True)} == {"result"}
    one = np.ones(2, "float32")
    assert differs(one, one) == ("", "")
    assert differs(one * 0, -one * 0)[0] == "zero"
    assert differs(one * np.nan, one)[0] == differs(one, one * np.inf)[0] == "result"
    assert differs(one.astype("int8"), 2 * one.astype("int8"))[0] == "result"
    assert differs(one[:1], one)[0] == "shape"


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_lcm_of_the_least_whole_number_ends_as_numpys(dtype):
    pool = np.array(numbers_of(np.dtype(dtype)), dtype)
    a, b = (side.ravel() for side in np.meshgrid(pool, pool))
    got = mnp.lcm(mnp.array(a, dtype=dtype), mnp.array(b, dtype=dtype))
    np.testing.assert_array_equal(got.asnumpy(), np.lcm(a, b))
    least = np.iinfo(dtype).min
    assert mnp.lcm(mnp.array(a, dtype=dtype), int(least)).tolist() == np.lcm(a, least).tolist()


@pytest.mark.parametrize("a", [np.inf, np.nan, 3e38, 0.0, -1.0])
def test_samples_end_at_the_edges_of_parameters_and_are_refused_beyond(a):
    draws = (
        (lambda: nd.random.gamma(a, 1, shape=3), a > 0),
        (lambda: nd.random.gamma(1, a, shape=3), a >= 0),
        (lambda: mnp.random.beta(a, 1, 3), a > 0),
        (lambda: nd.random.poisson(a, shape=3), a >= 0),
        (lambda: nd.random.negative_binomial(a, 0.5, shape=3), a >= 0),
        (lambda: nd.random.generalized_negative_binomial(a, a, shape=3), a >= 0),
    )
    for draw, is_parameter in draws:
        if is_parameter:
            made = draw()
            assert made.shape == (3,)
            assert made.dtype == np.float32
            made.wait_to_read()
        else:  # at the line in np, at the wait in nd, as in MXNet
            with pytest.raises(MXNetError, match=f"must be >=? 0, got {a:g}"):
                draw().wait_to_read()
    if a == np.inf:
        assert nd.random.gamma(a, 1, shape=2).asnumpy().tolist() == [np.inf, np.inf]
        assert nd.random.poisson(a, shape=2).asnumpy().tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("call", [nd.argmax, nd.argmin, nd.max, nd.min])
def test_nothing_is_the_largest_of_nothing(call):
    with pytest.raises(ShapeError, match="needs at least one element along axis"):
        call(nd.empty((2, 0)), axis=1)
    assert call(nd.empty((0, 3)), axis=1).shape == (0,)  # of no row there is no question


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_singular_values_of_what_is_not_finite_are_nan(dtype):
    a = np.array([[[np.nan, 1], [2, 3]], [[1, np.inf], [0, 1]], [[2, 0], [0, 1]]], dtype)
    parts = mnp.linalg.svd(mnp.array(a, dtype=dtype))
    for part in (*parts, mnp.linalg.pinv(mnp.array(a, dtype=dtype))):
        assert np.isnan(part.asnumpy()[:2]).all()
        assert np.isfinite(part.asnumpy()[2]).all()
    np.testing.assert_allclose(parts[1].asnumpy()[2], [2, 1])


def test_regions_without_end_are_pooled():
    data = nd.ones((1, 1, 4, 4))
    for far in (np.inf, np.nan, 3e38, -np.inf):
        rois = nd.array([[0, 0, 0, far, far], [0, 0, 0, 3, 3]])
        made = nd.contrib.ROIAlign(data, rois, pooled_size=(2, 2), spatial_scale=1.0)
        assert made.shape == (2, 1, 2, 2)
        assert made.asnumpy()[1].tolist() == [[[1, 1], [1, 1]]]


# Sizes above 2**31


def test_large_shapes_are_computed_without_overflow():
    large = 2**33
    x = sym.var("x", shape=(large, 3))
    for made, wanted in [
        (sym.reshape(x, shape=(-1,)), (3 * large,)),
        (sym.reshape(x, shape=(3, -1)), (3, large)),
        (sym.concat(x, x, dim=0), (2 * large, 3)),
        (sym.tile(x, reps=(4, 2)), (4 * large, 6)),
        (sym.repeat(x, repeats=2**10), (2**10 * 3 * large,)),
        (sym.slice_axis(x, axis=0, begin=2**32, end=None), (large - 2**32, 3)),
        (sym.Pad(sym.reshape(x, shape=(1, 1, large, 3)), mode="constant",
                 pad_width=(0, 0, 0, 0, 2**32, 1, 0, 0)), (1, 1, large + 2**32 + 1, 3)),
        (sym.dot(x, x, transpose_b=True), (large, large)),
    ]:  # fmt: skip
        assert made.infer_shape()[1] == [wanted]


@pytest.mark.parametrize("shape", [(2**40, 2**40), (2**61,), (0, 2**40, 2**40), (2**64,)])
def test_what_no_memory_could_hold_is_refused_by_name(shape):
    one = (nd.ones, "_ones") if all(shape) else (nd.empty, "_zeros")
    for make, name in [(nd.empty, "_zeros"), one, (mnp.zeros, "_npi_zeros")]:
        with pytest.raises(MXNetError, match=rf"^{name}.*fewer than 2\*\*63 bytes|{name}: "):
            make(shape).asnumpy()


def test_what_this_machine_cannot_hold_is_refused_with_its_size():
    with pytest.raises(OutOfMemoryError, match=r"_zeros on cpu.*needs 4,194,304 MiB"):
        nd.zeros((2**20, 2**20)).asnumpy()
