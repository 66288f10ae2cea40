"""Positions outside of arrays: errors where MXNet reads what is not there, told of by a scope else.

What is outside is compared with NumPy, which raises IndexError for the same positions.
"""

import inspect

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import OutOfBoundsError
from hybridnet.ops.core import IndexBound, bounds_call


def test_take_raises_at_its_line_where_the_positions_are_at_hand():
    x = nd.ones((3, 2))
    with pytest.raises(IndexError) as caught:
        nd.take(x, nd.array([0, 5]), mode="raise")
    line = inspect.currentframe().f_lineno - 1
    text = str(caught.value)
    assert f"test_indices.py:{line}" in text
    assert "take: index 5 is out of bounds for axis 0 with size 3, at position [1]" in text


def test_positions_that_are_computed_are_told_of_where_a_value_is_read():
    x, at = nd.ones((3, 2)), nd.array([0, 4])
    taken = nd.take(x, at + 1, mode="raise")
    line = inspect.currentframe().f_lineno - 1
    with pytest.raises(OutOfBoundsError, match=rf"index 5 .*test_indices.py:{line}"):
        taken.asnumpy()


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, at: nd.gather_nd(x, at.reshape((1, -1))),
        lambda x, at: x[at],
        lambda x, at: x.as_np_ndarray()[at.as_np_ndarray()],
        lambda x, at: hn.np.take(x.as_np_ndarray(), at.as_np_ndarray(), axis=0),
        lambda x, at: nd.scatter_nd(nd.ones((2, 2)), at.reshape((1, -1)), shape=(3, 2)),
        lambda x, at: nd.contrib.index_copy(x, at, nd.ones((2, 2))),
        lambda x, at: x.__setitem__(at, 1.0) or x,
    ],
)
def test_who_has_no_meaning_for_positions_outside(call, computed):
    for wrong in (3, -4):
        x, at = nd.ones((3, 2)), nd.array([0, wrong], dtype="int32")
        with pytest.raises(IndexError, match=f"index {wrong} "):
            call(x, at + 0 if computed else at).asnumpy()
    call(nd.ones((3, 2)), nd.array([0, 2], dtype="int32") * 1).asnumpy()


ASKED = [
    ("take", lambda x, at: nd.take(x, at, axis=1)),
    ("pick", lambda x, at: nd.pick(x, at)),
    ("batch_take", lambda x, at: nd.batch_take(x, at)),
    ("one_hot", lambda x, at: nd.one_hot(at, 4)),
    ("Embedding", lambda x, at: nd.Embedding(at, nd.ones((4, 2)), input_dim=4, output_dim=2)),
    ("softmax_cross_entropy", lambda x, at: nd.softmax_cross_entropy(x, at)),
    ("SoftmaxOutput", lambda x, at: nd.SoftmaxOutput(x, at)),
    ("SVMOutput", lambda x, at: nd.SVMOutput(x, at)),
]


@pytest.mark.parametrize("name, call", ASKED, ids=[name for name, _ in ASKED])
def test_what_has_a_meaning_in_mxnet_is_told_of_in_the_scope_alone(name, call):
    x = nd.ones((3, 4))
    for wrong in (4, -1):
        at = nd.array([0, 3, wrong])
        before = call(x, at).asnumpy()
        for computed in (False, True):
            with (
                pytest.raises(OutOfBoundsError, match=rf"^{name}: index {wrong} "),
                hn.debug.indices(),
            ):
                call(x, at * 1 if computed else at).asnumpy()
        np.testing.assert_array_equal(call(x, at).asnumpy(), before)
    with hn.debug.indices():
        call(x, nd.array([0, 3, 1])).asnumpy()


@pytest.mark.parametrize(
    "call, right, wrong",
    [
        (nd.SequenceMask, (0, 4), (5, -1)),
        (nd.SequenceLast, (1, 4), (5, 0)),
        (nd.SequenceReverse, (0, 4), (5, -1)),
    ],
)
def test_lengths_of_sequences(call, right, wrong):
    x = nd.ones((4, 2, 3))
    with hn.debug.indices():
        call(x, nd.array(right), use_sequence_length=True).asnumpy()
    for length in wrong:
        with pytest.raises(IndexError, match="sequence_length"), hn.debug.indices():
            call(x, nd.array([1, length]), use_sequence_length=True).asnumpy()


def test_a_label_that_is_to_be_ignored_is_none_outside():
    x, label = nd.ones((2, 3)), nd.array([-1, 2])
    with hn.debug.indices():
        nd.SoftmaxOutput(x, label, use_ignore=True, ignore_label=-1).asnumpy()
        nd.SoftmaxOutput(x, nd.ones((2, 3)) / 3).asnumpy()  # probabilities
        nd.take(x, nd.array([7, -7]), mode="wrap").asnumpy()


class _Rows(gluon.HybridBlock):
    def __init__(self, mode):
        super().__init__()
        self._mode = mode

    def hybrid_forward(self, F, x, at):
        return F.take(x, at + 1, mode=self._mode).sum()


@pytest.mark.parametrize("calls", [0, 1, 6])
@pytest.mark.parametrize("mode", ["raise", "clip"])
def test_a_hybridized_block_however_often_it_has_run(mode, calls):
    net, x = _Rows(mode), nd.ones((5, 2))
    net.hybridize()

    def run():
        for _ in range(calls):
            assert net(x, nd.array([1, 2])).asscalar() == 4
        return net(x, nd.array([1, 6])).asscalar()

    line = inspect.getsourcelines(_Rows.hybrid_forward)[1] + 1
    wanted = rf"take: index 7 .* size 5, at position \[1\] .*test_indices.py:{line}"
    if mode == "raise":
        with pytest.raises(OutOfBoundsError, match=wanted):
            run()
    else:
        assert run() == 4
    with pytest.raises(OutOfBoundsError, match=wanted), hn.debug.indices():
        run()


def test_training_goes_on_after_an_error():
    """The step that was told of has been made, by clipped positions; the next ones are right."""
    net = gluon.nn.Embedding(4, 2)
    net.initialize(hn.init.One())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})

    def step(rows):
        with autograd.record():
            loss = net(nd.array(rows)).sum()
        loss.backward()
        trainer.step(1)
        return loss.asscalar()

    with hn.debug.indices():
        assert step([0, 1]) == 4
        with pytest.raises(OutOfBoundsError, match="Embedding: index 9"):
            step([0, 9])
        assert step([2, 2]) == 4
    weight = net.weight.data().asnumpy()
    np.testing.assert_array_equal(weight, [[-1, -1], [0, 0], [-1, -1], [0, 0]])


def test_symbols():
    taken = hn.sym.take(hn.sym.var("a"), hn.sym.var("at"), mode="raise")
    bound = taken.bind(hn.cpu(), {"a": nd.ones((3, 2)), "at": nd.array([1, 7])})
    bound.forward()
    with pytest.raises(hn.MXNetError, match="take: index 7 .*test_indices.py"):
        bound.outputs[0].asnumpy()


class _Loop(gluon.HybridBlock):
    def __init__(self, kind):
        super().__init__()
        self._kind = kind

    def hybrid_forward(self, F, x, at):
        return getattr(self, self._kind)(F, x, at)

    def foreach(self, F, x, at):
        def body(row, states):
            return F.take(x, row, mode="raise"), states

        return F.contrib.foreach(body, at, [])[0].sum()

    def nested(self, F, x, at):
        def outer(row, states):
            def inner(one, states):
                return F.take(x, one, mode="raise"), states

            return F.contrib.foreach(inner, row, [])[0], states

        return F.contrib.foreach(outer, at.reshape((1, -1)), [])[0].sum()

    def while_loop(self, F, x, at):
        def body(number, total):
            row = F.take(at, number, mode="raise")
            return [], [number + 1, total + F.take(x, row, mode="raise").sum()]

        start = [F.zeros((1,)), F.zeros((1,))]
        test = lambda number, total: number < 3  # noqa: E731
        return F.contrib.while_loop(test, body, start, max_iterations=4)[1][1]

    def cond(self, F, x, at):
        def yes():
            return F.take(x, at, mode="raise").sum()

        def no():
            return F.take(x, at - 9, mode="raise").sum()

        return F.contrib.cond(at.sum() < 20, yes, no)


@pytest.mark.parametrize("kind", ["foreach", "nested", "while_loop", "cond"])
def test_loops_and_branches(kind):
    net, x = _Loop(kind), nd.arange(5)
    net.hybridize()
    assert net(x, nd.array([4, 0, 3])).asscalar() == 7
    with pytest.raises(OutOfBoundsError, match=r"take: index 6 .* size 5"):
        net(x, nd.array([4, 6, 3])).asscalar()
    assert net(x, nd.array([1, 1, 1])).asscalar() == 3


def test_rows_of_a_store():
    store = hn.kv.create("local")
    store.init("w", nd.ones((4, 2)).tostype("row_sparse"))
    out = nd.sparse.zeros("row_sparse", (4, 2))
    with pytest.raises(IndexError, match="row_sparse_pull: index 4"), hn.debug.indices():
        store.row_sparse_pull("w", out=out, row_ids=nd.array([1, 4]))


class _OneTooFar(gluon.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, number):
        return nd.take(nd.arange(4), nd.array([number + 1]))


def test_workers_of_a_loader_that_is_made_in_the_scope():
    with hn.debug.indices():
        loader = gluon.data.DataLoader(_OneTooFar(), batch_size=2, num_workers=1)
        with pytest.raises(Exception, match="take: index 4 is out of bounds"):
            list(loader)


@pytest.mark.slow
@given(
    st.lists(st.integers(-12, 12), min_size=1, max_size=6),
    st.integers(1, 8),
    st.sampled_from(["int32", "int64", "float32", "uint8"]),
    st.booleans(),
)
def test_what_is_outside_by_numpy(positions, size, dtype, counts_from_end):
    """The rows that programs and NumPy give, for positions that NumPy itself refuses or takes."""
    host = np.array(positions).astype(dtype)
    bound = IndexBound(0, "at", (size,), (0,), None if counts_from_end else 0)
    call = bounds_call((bound,))
    by_host = call.evaluate([host], [])[0]
    wanted = np.zeros((1, 2), np.int64)
    for place, value in enumerate(host):
        try:
            np.empty(size)[int(value)]
            is_outside = value < 0 and not counts_from_end
        except IndexError:
            is_outside = True
        if is_outside:
            wanted[0] = place + 1, value
            break
    np.testing.assert_array_equal(by_host[:, 0], wanted[:, 0])
    if wanted[0, 0]:
        np.testing.assert_array_equal(by_host, wanted)
    with jax.enable_x64(True):
        by_program = np.asarray(call.lower("cpu", [jax.numpy.asarray(host)], [])[0])
    np.testing.assert_array_equal(by_program[:, 0], wanted[:, 0])


@pytest.mark.parametrize("computed", [False, True])
def test_nan_and_infinity_are_no_positions(computed):
    for wrong in (np.nan, np.inf, -np.inf):
        at = nd.array([0.0, wrong])
        with pytest.raises(IndexError, match=r"at position \[1\]"):
            nd.take(nd.ones((3, 2)), at * 1 if computed else at, mode="raise").asnumpy()


def test_no_positions_at_all():
    empty = nd.array(np.zeros((0,), "int32"))
    assert nd.ones((3, 2))[empty].shape == (0, 2)


def test_the_first_position_of_several_axes():
    data = nd.ones((2, 3, 4))
    at = np.array([[0, 1], [2, 2], [3, 9]])
    with pytest.raises(IndexError, match=r"index 9 is out of bounds for axis 2 with size 4"):
        nd.gather_nd(data, nd.array(at))
    with pytest.raises(IndexError):
        np.ones((2, 3, 4))[tuple(at)]
