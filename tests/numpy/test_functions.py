"""Functions of `np` against NumPy itself, over shapes with no dimension, no element and size 1."""

from __future__ import annotations

import numpy as onp
import pytest
from op_sample import words as _words

import hybridnet as mx
from hybridnet import np

_SHAPES = [(), (1,), (0,), (2, 3), (0, 3), (3, 1, 2)]
_UNARY = _words(
    "negative abs sign ceil floor trunc square cbrt exp expm1 sin cos tan arctan sinh "
    "cosh tanh arcsinh degrees radians isnan isinf isfinite logical_not"
)
_BINARY = _words(
    "add subtract multiply divide maximum minimum hypot arctan2 copysign equal not_equal "
    "greater greater_equal less less_equal power mod"
)
_REDUCE = _words("sum prod mean std var max min any all argmax argmin")


def _host(*shape, seed=0, dtype="float32"):
    """Distinct numbers without ties, of either sign, never 0."""
    count = int(onp.prod(shape, dtype=int))
    grid = onp.linspace(-1.87, 2.11, count + 3)[1 : count + 1] + 0.013
    return onp.random.default_rng(seed).permutation(grid).reshape(shape).astype(dtype)


def _close(got, wanted, what=""):
    """Compares arrays or nested sequences of them; the shapes must be equal."""
    if isinstance(wanted, (list, tuple)):
        assert len(got) == len(wanted), what
        for one, other in zip(got, wanted, strict=True):
            _close(one, other, what)
        return
    host = got.asnumpy() if hasattr(got, "asnumpy") else onp.asarray(got)
    assert host.shape == onp.shape(wanted), what
    onp.testing.assert_allclose(host, wanted, rtol=2e-5, atol=2e-6, err_msg=what)


def _all_at_once(function, *hosts):
    """Runs a function of arrays as one program: compiling one for each call would take longer."""
    return mx.function(function)(*(np.array(one) for one in hosts))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_unary_functions_are_numpys(dtype):
    hosts = [_host(*shape, dtype=dtype) for shape in _SHAPES]
    made = _all_at_once(
        lambda *x: [[getattr(np, name)(one) for one in x] for name in _UNARY], *hosts
    )
    for name, found in zip(_UNARY, made, strict=True):
        _close(found, [getattr(onp, name)(one) for one in hosts], name)
        bools = name.startswith("is") or name == "logical_not"
        assert {one.dtype for one in found} == {onp.dtype(bool if bools else dtype)}, name


def test_binary_functions_broadcast_as_numpys():
    pairs = [((), ()), ((2, 3), (3,)), ((2, 1), (1, 3)), ((0, 3), (3,)), ((1,), (4,)), ((), (0,))]
    lefts = [abs(_host(*one)) for one, _ in pairs]
    rights = [abs(_host(*one, seed=1)) for _, one in pairs]

    def whole(*arrays):
        sides = list(zip(arrays[: len(pairs)], arrays[len(pairs) :], strict=True))
        return [[getattr(np, name)(a, b) for a, b in sides] for name in _BINARY]

    made = _all_at_once(whole, *lefts, *rights)
    for name, found in zip(_BINARY, made, strict=True):
        wanted = [getattr(onp, name)(a, b) for a, b in zip(lefts, rights, strict=True)]
        _close(found, wanted, name)


@pytest.mark.parametrize("name", _REDUCE)
def test_reductions_are_numpys(name):
    x = _host(2, 3, 4)
    options = [{}, {"axis": 0}, {"axis": -1}, {"axis": 1}]
    if not name.startswith("arg"):
        options += [{"axis": (0, -1)}, {"axis": 1, "keepdims": True}, {"keepdims": True}]
    if name in ("sum", "prod", "max", "min"):
        options += [{"initial": 0.25}, {"axis": 2, "initial": -3.0}]
    if name in ("std", "var"):
        options += [{"ddof": 1, "axis": 0}]
    made = _all_at_once(lambda a: [getattr(np, name)(a, **one) for one in options], x)
    for one, found in zip(options, made, strict=True):
        _close(found, getattr(onp, name)(x, **one), f"{name} {one}")
    if name in ("sum", "prod", "any", "all"):
        _close(
            getattr(np, name)(np.zeros((0, 3)), axis=0), getattr(onp, name)(onp.zeros((0, 3)), 0)
        )
    empty = onp.zeros((0, 3))
    _close(getattr(np, name)(np.array(empty), axis=1), getattr(onp, name)(empty, axis=1), name)


_CALLS = {
    "reshape": lambda n, x: n.reshape(x, (-1, 2)),
    "ravel": lambda n, x: n.ravel(x),
    "transpose": lambda n, x: n.transpose(x, (2, 0, 1)),
    "swapaxes": lambda n, x: n.swapaxes(x, 0, -1),
    "moveaxis": lambda n, x: n.moveaxis(x, (0, 1), (-1, 0)),
    "rollaxis": lambda n, x: n.rollaxis(x, 2),
    "expand_dims": lambda n, x: n.expand_dims(x, -2),
    "squeeze": lambda n, x: n.squeeze(x[:1]),
    "broadcast_to": lambda n, x: n.broadcast_to(x[:, :1], (2, 3, 4)),
    "concatenate": lambda n, x: n.concatenate([x, x[:1]], axis=0),
    "concatenate flat": lambda n, x: n.concatenate([x, x[0]], axis=None),
    "stack": lambda n, x: n.stack([x, x], axis=-1),
    "vstack": lambda n, x: n.vstack([x[0, 0], x[1, 1]]),
    "hstack": lambda n, x: n.hstack([x[0, 0], x[1, 1]]),
    "dstack": lambda n, x: n.dstack([x[0], x[1]]),
    "column_stack": lambda n, x: n.column_stack([x[0, 0], x[1, 1]]),
    "split": lambda n, x: n.split(x, 2, axis=2),
    "split at": lambda n, x: n.split(x, [1, 3], axis=-1),
    "array_split": lambda n, x: n.array_split(x, 3, axis=2),
    "hsplit": lambda n, x: n.hsplit(x, 3),
    "flip": lambda n, x: n.flip(x, (0, 2)),
    "flipud": lambda n, x: n.flipud(x),
    "fliplr": lambda n, x: n.fliplr(x),
    "roll": lambda n, x: n.roll(x, (1, -2), (0, 2)),
    "rot90": lambda n, x: n.rot90(x, 3, (1, 2)),
    "tile": lambda n, x: n.tile(x, (2, 1, 1, 2)),
    "repeat": lambda n, x: n.repeat(x, 2, axis=1),
    "resize": lambda n, x: n.resize(x, (5, 7)),
    "pad": lambda n, x: n.pad(x, ((0, 0), (1, 2), (2, 0)), mode="edge"),
    "pad constant": lambda n, x: n.pad(x, 1, constant_values=2.5),
    "append": lambda n, x: n.append(x, x[:1], axis=0),
    "delete": lambda n, x: n.delete(x, [0, -1], axis=2),
    "delete flat": lambda n, x: n.delete(x, slice(2, 9, 3)),
    "insert": lambda n, x: n.insert(x, 1, 2.5, axis=1),
    "insert many": lambda n, x: n.insert(x, [0, 2, 2], x[:, :, :3], axis=2),
    "insert flat": lambda n, x: n.insert(x, 3, 9.0),
    "meshgrid": lambda n, x: list(n.meshgrid(x[0, 0], x[1, :, 0])),
    "meshgrid ij": lambda n, x: list(n.meshgrid(x[0, 0], x[1, :, 0], indexing="ij")),
    "broadcast_arrays": lambda n, x: list(n.broadcast_arrays(x, x[:, :1], x[0])),
    "atleast_2d": lambda n, x: n.atleast_2d(x[0, 0, 0]),
    "atleast_3d": lambda n, x: n.atleast_3d(x[0]),
    "dot": lambda n, x: n.dot(x, x[0].T),
    "matmul": lambda n, x: n.matmul(x, n.swapaxes(x, 1, 2)),
    "tensordot": lambda n, x: n.tensordot(x, x, ([0, 2], [0, 2])),
    "inner": lambda n, x: n.inner(x, x[0]),
    "outer": lambda n, x: n.outer(x[0], x[1, 0]),
    "vdot": lambda n, x: n.vdot(x, x),
    "einsum": lambda n, x: n.einsum("ijk,ljk->il", x, x),
    "einsum diagonal": lambda n, x: n.einsum("ii->i", x[:, :2, 1]),
    "trace": lambda n, x: n.trace(x, 1, 1, 2),
    "diag": lambda n, x: n.diag(x[0], -1),
    "diagflat": lambda n, x: n.diagflat(x[0, 0], 1),
    "diagonal": lambda n, x: n.diagonal(x, 1, 1, 2),
    "tril": lambda n, x: n.tril(x, -1),
    "triu": lambda n, x: n.triu(x, 1),
    "take": lambda n, x: n.take(x, n.array([[0, -1], [1, 2]], dtype="int32"), axis=-1),
    "where": lambda n, x: n.where(x > 0, x, -x[0]),
    "sort": lambda n, x: n.sort(x, axis=1),
    "argsort": lambda n, x: n.argsort(x, axis=0),
    "cumsum": lambda n, x: n.cumsum(x, axis=1),
    "diff": lambda n, x: n.diff(x, n=2, axis=-1, prepend=x[..., :1]),
    "ediff1d": lambda n, x: n.ediff1d(x, to_begin=x[0, 0]),
    "clip": lambda n, x: n.clip(x, -0.5, None),
    "nan_to_num": lambda n, x: n.nan_to_num(x / (x - x), nan=1.0, posinf=2.0, neginf=3.0),
    "percentile": lambda n, x: n.percentile(x, 30, axis=(0, 2)),
    "quantile": lambda n, x: n.quantile(x, 0.7, axis=1, keepdims=True),
    "average": lambda n, x: n.average(x, axis=1, weights=x[0, :, 0] ** 2),
    "polyval": lambda n, x: n.polyval(x[0, 0], x),
    "unravel_index": lambda n, x: list(n.unravel_index(n.array([5, 0, 11], dtype="int64"), (3, 4))),
    "around": lambda n, x: n.around(x, 1),
    "norm": lambda n, x: n.linalg.norm(x, axis=(0, 1)),
    "norm 1": lambda n, x: n.linalg.norm(x, ord=1, axis=2),
    "det": lambda n, x: n.linalg.det(x[:, :2, :2]),
    "inv": lambda n, x: n.linalg.inv(x[:, :2, :2] + 2 * n.eye(2)),
}  # fmt: skip


def test_functions_are_numpys():
    x = _host(2, 3, 4)
    with onp.errstate(all="ignore"):
        made = _all_at_once(lambda a: [call(np, a) for call in _CALLS.values()], x)
        for (name, call), found in zip(_CALLS.items(), made, strict=True):
            _close(found, call(onp, x), name)


def test_functions_of_values():
    x = onp.array([[3, 0, 3], [1, 0, 2]], "int32")
    a = np.array(x)
    _close(np.nonzero(a), onp.nonzero(x))
    _close(np.where(a > 0), onp.where(x > 0))
    _close(np.unique(a, return_counts=True), onp.unique(x, return_counts=True))
    _close(np.unique(a, axis=1), onp.unique(x, axis=1))
    _close(np.bincount(a.reshape(-1), minlength=6), onp.bincount(x.reshape(-1), minlength=6))
    _close(np.histogram(a, bins=4), onp.histogram(x, bins=4))
    assert np.histogram(a, bins=[0, 1, 5])[0].tolist() == [2, 4]
    assert np.unique(np.zeros((0,))).shape == (0,)
    _close(np.linalg.eigvals(np.array([[2.0, 1.0], [0.0, 3.0]])), [2.0, 3.0])


def test_fallbacks_run_numpy_on_the_host():
    x = _host(3, 4)
    a = np.array(x)
    _close(np.nanmax(a, axis=0), onp.nanmax(x, axis=0))
    _close(
        np.interp(a[0], np.array([-2.0, 3.0]), np.array([0.0, 1.0])),
        onp.interp(x[0], [-2, 3], [0, 1]),
    )
    assert type(np.isclose(a, a)) is np.ndarray
    assert np.allclose(a, a) is True
    assert np.count_nonzero(a) == 12
    with pytest.raises(NotImplementedError, match="numpy-financial"):
        np.npv(0.1, a)
    with pytest.raises(mx.MXNetError, match="cannot be part of a graph"):
        mx.function(np.nanmax)(a)
    a.attach_grad()
    with mx.autograd.record(), pytest.raises(mx.MXNetError, match="x.detach"):
        np.nanmax(a * 2)


def test_out_and_where():
    x, out = np.array([1.0, -2.0, 3.0]), np.zeros(3)
    assert np.abs(x, out=out) is out
    assert out.tolist() == [1, 2, 3]
    assert np.add(x, 1, out) is out
    assert out.tolist() == [2, -1, 4]
    np.exp(x, out=out, where=x > 2)
    onp.testing.assert_allclose(out.asnumpy(), [2, -1, onp.exp(3)], rtol=1e-6)
    assert np.sqrt(x, where=np.array([True, False, False])).tolist() == [1, 0, 0]
    assert np.sum(x, where=x > 0).item() == 4
    with pytest.raises(NotImplementedError, match="casting='no' is not supported"):
        np.add(x, x, casting="no")


def test_numbers_give_numbers():
    assert np.add(1, 2) == 3
    assert np.sqrt(4) == 2.0
    assert np.maximum(1, 2) == 2


@pytest.mark.parametrize(
    "call,message",
    [
        (
            lambda x: np.reshape(x, (4, 2)),
            r"_np_reshape: cannot give a, .*float32\[2,3\].*\(4, 2\)",
        ),
        (lambda x: np.dot(x, x), "the last axis of a must have the size of axis 0 of b"),
        (lambda x: np.matmul(x, np.array(2.0)), "at least one axis; multiply with"),
        (lambda x: np.split(x, 2, axis=1), "axis 1 of size 3 cannot be cut into 2 equal parts"),
        (lambda x: np.max(np.zeros((0, 2)), axis=0), "needs at least one element"),
        (lambda x: np.argmax(np.zeros((0,))), "needs at least one element"),
        (lambda x: np.sum(x, axis=2), "axis must be from -2 to 1"),
        (lambda x: np.bitwise_and(x, x), "needs integers or bool"),
        (lambda x: np.zeros((2, -1)), "dimensions must be >= 0"),
        (lambda x: np.arange(1, 2, 0), "step must not be 0"),
        (lambda x: np.zeros(2, order="F"), "order must be 'C'"),
        (lambda x: np.random.choice(3, 5, replace=False), "at most 3 can be chosen"),
        (lambda x: np.random.randint(3, 3), "low must be less than high"),
        (lambda x: np.linalg.inv(x), "needs square matrices"),
        (lambda x: np.einsum(x), "the subscripts must be text"),
    ],
)
def test_errors_say_what_is_needed(call, message):
    with pytest.raises(mx.MXNetError, match=message):
        call(np.ones((2, 3)))


def test_plain_numbers_give_numpys_numbers() -> None:
    assert np.unravel_index(1621, (6, 7, 8, 9)) == (3, 1, 4, 1)
    assert np.nan_to_num(onp.inf) == onp.finfo("float64").max and np.nan_to_num(onp.nan) == 0.0
