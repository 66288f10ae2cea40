"""Operators on sparse arrays give what MXNet 1.9.1 gives, in the storage that it gives it in."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from helpers import naive
from oracle.sparse_cases import CASES, make, run
from places import ORACLE

import hybridnet as hn
from hybridnet import nd
from hybridnet.base.errors import MXNetError
from hybridnet.ops.core import registry

_ANSWERS = json.loads((ORACLE / "sparse.json").read_text())
_OPERATORS = sorted({case[0] for case in CASES.values()})

A = np.array([[0, 1, 0], [2, 0, 3], [0, 0, 0], [-4, 0, 0]], np.float32)

#: Operators whose values are not compared: those of others with the same rule are. Every value
#: that is asked for costs a compilation.
_TYPES_ONLY = (
    "sign rint ceil floor trunc fix round negative cbrt sin tan arcsin arctan sinh arcsinh "
    "degrees radians cos cosh exp sigmoid log1p tanh expm1 square stop_gradient ones_like "
    "broadcast_add broadcast_sub broadcast_div elemwise_div py.add py.sub py.gt py.lt py.eq py.ne"
)


def _is_compared(name: str) -> bool:
    if name.startswith("dot"):
        sides = name.split()[1:3]
        of_csr = sides[0].endswith("csr") and sides[1].endswith("default")
        return (of_csr or sides == ["A:default", "D:csr"]) and not name.endswith("b=True")
    if name.startswith(("mean", "sum", "add_n", "where", "broadcast_to")):
        return ":csr" in name and "keepdims=True" not in name and "axis=-1" not in name
    return name.split()[0] not in _TYPES_ONLY.split()


def _differences(name: str, got: Any, wanted: dict[str, Any]) -> list[str]:
    found = [got.stype, list(got.shape), np.dtype(got.dtype).name]
    expected = [wanted["stype"], wanted["shape"], wanted["dtype"]]
    values = np.array(wanted["values"], np.float64).reshape(wanted["shape"])
    if found != expected:
        return [f"{name}: {found}, not {expected}"]
    if not _is_compared(name):
        return []
    if not np.allclose(got.asnumpy(), values, rtol=2e-5, atol=1e-6, equal_nan=True):
        return [f"{name}: {got.asnumpy().tolist()}, not {values.tolist()}"]
    if "rows" in wanted and got.indices.asnumpy().tolist() != wanted["rows"]:
        return [f"{name}: rows {got.indices.asnumpy().tolist()}, not {wanted['rows']}"]
    if got.stype != "default":
        got.check_format()
    return []


@pytest.mark.parametrize("op", _OPERATORS)
def test_answers_of_mxnet(op: str) -> None:
    wrong = []
    with naive():  # operators one by one compile fast
        for name, case in CASES.items():
            if case[0] == op and name in _ANSWERS:
                result = run(hn, case, make(hn, case))
                wrong += _differences(name, result, _ANSWERS[name])
    assert not wrong, "\n".join(wrong)


def test_at_most_one_case_has_no_answer() -> None:
    # MXNet refuses csr / dense of one shape.
    assert set(CASES) - set(_ANSWERS) == {"py.truediv A:csr B:default"}


def test_a_number_in_front_is_the_first_operand() -> None:
    # MXNet takes it for the second.
    x = nd.array(A + 5).tostype("csr")
    np.testing.assert_array_equal(nd.sparse.subtract(2, x).asnumpy(), -3 - A)
    np.testing.assert_allclose(nd.sparse.divide(2, x).asnumpy(), 2 / (A + 5), rtol=1e-6)


def test_python_arithmetic_keeps_storage_in_place() -> None:
    x = nd.array(A).tostype("csr")
    x += x
    x *= 2
    assert x.stype == "csr"
    np.testing.assert_array_equal(x.asnumpy(), 4 * A)
    x[:] = nd.array(A)
    assert x.nnz == 4


def test_sums_of_many_have_no_room_that_shows() -> None:
    parts = [nd.sparse.row_sparse_array((np.ones((2, 2)), [0, i]), shape=(6, 2)) for i in (2, 4, 5)]
    total = nd.add_n(*parts) + parts[0]
    assert total.indices.asnumpy().tolist() == [0, 2, 4, 5]
    np.testing.assert_array_equal(total.data.asnumpy()[:, 0], [4, 2, 1, 1])
    np.testing.assert_allclose(total.square().norm().asscalar(), np.sqrt(2 * (256 + 16 + 1 + 1)))


def test_dot_gives_the_gradient_of_the_dense_side() -> None:
    x, head = nd.array(A).tostype("csr"), np.arange(8.0).reshape(4, 2)
    for transpose in (False, True):
        weight = nd.ones((4 if transpose else 3, 2))
        weight.attach_grad()
        with hn.autograd.record():
            made = nd.sparse.dot(x, weight, transpose_a=transpose, forward_stype="default")
            loss = (made * nd.array(head[: len(made)])).sum()
        loss.backward()
        wanted = A @ head[:3] if transpose else A.T @ head
        np.testing.assert_allclose(weight.grad.asnumpy(), wanted, rtol=1e-6)


def test_a_square_sum_of_rows_stays_sparse() -> None:
    x = nd.array(A).tostype("row_sparse")
    op = registry.get("_square_sum")
    made = nd.NDArray.apply_operator(op, (x,), {"axis": 1, "keepdims": True})
    assert made.stype == "row_sparse"
    np.testing.assert_array_equal(made.asnumpy(), (A**2).sum(1, keepdims=True))
    dense = nd.NDArray.apply_operator(op, (x,), {"axis": 0})
    np.testing.assert_array_equal(dense.asnumpy(), (A**2).sum(0))


@pytest.mark.parametrize(
    "call,message",
    [
        (lambda x: nd.dot(x, nd.ones((2, 2))), r"dot: lhs.shape\[1\] must equal rhs.shape\[0\]"),
        (lambda x: nd.dot(x, nd.ones(3)), "rhs must have 2 dimensions"),
        (lambda x: nd.elemwise_add(x, x[1:]), "elemwise_add: the inputs must have equal shapes"),
        (lambda x: nd.elemwise_mul(x, nd.ones((4, 1))), "must have equal shapes"),
        (lambda x: x.reshape((2, 6)), "reshape: requires a dense NDArray"),
        (lambda x: x[::2], "without a step"),
        (lambda x: x.tostype("row_sparse"), "from csr the storage type must be 'csr' or 'default'"),
        (lambda x: nd.array(A).tostype("coo"), "stype must be one of 'default', 'csr'"),
        (lambda x: nd.ones(3).tostype("csr"), "must have 2 dimensions"),
        (lambda x: nd.sgd_update(x, x, out=x, lr=0.1, mom=1), "sgd_update"),
        (lambda x: nd.sparse.foo, "nd.sparse has no function 'foo'"),
    ],
)
def test_errors_name_what_is_wrong(call: Any, message: str) -> None:
    x = nd.array(A).tostype("csr")
    with pytest.raises((MXNetError, AttributeError), match=message):
        call(x)


def test_draws_fill_a_row_sparse_array() -> None:
    """Initializers of sparse parameters do that."""
    out = nd.sparse.zeros("row_sparse", (3, 4))
    assert nd.random.uniform(1, 2, out=out) is out
    assert out.stype == "row_sparse"
    values = out.asnumpy()
    assert ((values >= 1) & (values < 2)).all()
