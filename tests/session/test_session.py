"""`hn.Session`: what is asked for runs, variables are kept, and an error changes nothing."""

import collections
import gc
import threading
import weakref

import numpy as np
import pytest
from helpers import settle
from noted_steps import noted_steps

import hybridnet as hn
from hybridnet.graph.node import Edge, Graph, Node
from hybridnet.ops.state.variables import ASSIGN, NO_OP, READ
from hybridnet.runtime.record import recorder
from hybridnet.session import FeedError, MissingFeedError, RunMetadata, RunOptions
from hybridnet.session.runner import Runner
from hybridnet.session.step import Request, make_step
from hybridnet.symbol import Symbol

Pair = collections.namedtuple("Pair", "first second")


def network():
    x, w = hn.sym.var("x"), hn.sym.var("w")
    y = hn.sym.dot(x, w, name="y")
    return x, w, y, hn.sym.relu(y, name="z") + 1.0


def assigned(ref, value):
    """Returns a symbol that overwrites a variable."""
    return Symbol([Edge(Node(ASSIGN, (ref.edges[0], value.edges[0]), "assign"), 0)])


def test_what_is_fetched_comes_back_nested_as_it_was_asked_for():
    x, w, y, z = network()
    with hn.Session() as session:
        session.set({w: np.eye(2, dtype="float32")})
        feeds = {x: np.array([[1.0, -2.0]], "float32")}
        np.testing.assert_array_equal(session.run(y, feeds), [[1, -2]])
        first, (second,) = session.run([y, (z,)], feeds)
        np.testing.assert_array_equal(first, [[1, -2]])
        np.testing.assert_array_equal(second, [[2, 1]])
        found = session.run({"a": Pair(y, z), "b": []}, feeds)
        assert isinstance(found["a"], Pair)
        assert found["b"] == []
        np.testing.assert_array_equal(found["a"].second, [[2, 1]])
        two = hn.sym.Group([y, z])
        assert [one.tolist() for one in session.run(two, feeds)] == [[[1, -2]], [[2, 1]]]


def test_a_value_without_dimensions_is_a_scalar():
    total = hn.sym.var("x", shape=()) * 2.0
    assert hn.Session().run(total, {total.get_internals()["x"]: 3.0}) == np.float32(6)


def test_any_value_can_be_given_and_what_only_it_needs_does_not_run():
    _x, _w, y, z = network()
    session = hn.Session()
    found = session.run(z, {y: np.array([[3.0, -3.0]], "float32")})  # x and w have no value
    np.testing.assert_array_equal(found, [[4, 1]])
    given = session.run([y, z], {y: np.array([[1.0]], "float32")})
    assert [one.tolist() for one in given] == [[[1]], [[2]]]


def test_what_is_missing_is_named_with_the_line_that_made_it():
    x, w, _y, z = network()
    session = hn.Session()
    session.set({w: np.eye(2, dtype="float32")})
    with pytest.raises(MissingFeedError, match=r"'x' \(variable, made at .*test_session.py:\d+\)"):
        session.run(z)
    assert session.run(z, {x: np.zeros((1, 2), "float32")}).shape == (1, 2)


def test_what_does_not_fit_is_named_and_the_session_goes_on():
    x, w, _y, z = network()
    session = hn.Session()
    session.set({w: np.eye(2, dtype="float32")})
    with pytest.raises(hn.MXNetError, match=r"'y' \(dot, made at .*test_session.py:\d+\).*rhs"):
        session.run(z, {x: np.zeros((1, 3), "float32")})
    assert session.run(z, {x: np.zeros((1, 2), "float32")}).shape == (1, 2)


def test_values_are_held_against_what_variables_were_made_with():
    x = hn.sym.var("x", shape=(0, 2), dtype="float32")
    session = hn.Session()
    assert session.run(x * 2.0, {x: [[1, 2]]}).tolist() == [[2, 4]]
    with pytest.raises(FeedError, match=r"'x'.*shape \(0, 2\), got a value of shape \(1, 3\)"):
        session.run(x * 2.0, {x: np.zeros((1, 3), "float32")})
    with pytest.raises(FeedError, match="'x'.*dtype float32.*got a value of complex128"):
        session.run(x * 2.0, {x: np.zeros((1, 2), complex)})


def test_keys_and_fetches_must_be_symbols():
    session = hn.Session()
    with pytest.raises(hn.MXNetError, match="fetches must be symbols"):
        session.run("y")
    with pytest.raises(hn.MXNetError, match="symbol of one output as a key"):
        session.run(hn.sym.var("x"), {"x": 1})
    with pytest.raises(hn.MXNetError, match="is no variable"):
        session.set({hn.sym.var("x") * 2: np.ones(1)})
    session.close()
    with pytest.raises(hn.MXNetError, match="closed"):
        session.run(hn.sym.var("x"))


def test_variables_keep_what_runs_make_of_them():
    w = hn.sym.var("w")
    step = assigned(w, w * 2.0)
    session = hn.Session()
    session.set({w: np.ones(2, "float32")})
    before = session.variables["w"]
    assert session.run(step).tolist() == [2, 2]
    assert session.run([step, w])[1].tolist() == [2, 2]  # w is what it was when the run began
    assert session.variables["w"].asnumpy().tolist() == [4, 4]
    assert before.asnumpy().tolist() == [1, 1]  # whoever holds a value holds a snapshot


def test_a_variable_that_is_only_overwritten_needs_no_value():
    w, x = hn.sym.var("w"), hn.sym.var("x")
    session = hn.Session()
    assert session.run(assigned(w, x + 1.0), {x: np.zeros(2, "float32")}).tolist() == [1, 1]
    assert session.run(w * 3.0).tolist() == [3, 3]


def test_a_failed_run_changes_no_variable():
    v, w, x = (hn.sym.var(name) for name in "vwx")
    good, bad = assigned(v, v + 1.0), hn.sym.dot(w, x)
    session = hn.Session()
    session.set({v: np.zeros(2, "float32"), w: np.ones((2, 2), "float32")})
    with pytest.raises(hn.MXNetError, match="dot"):
        session.run([good, bad], {x: np.ones((3, 1), "float32")})
    assert session.variables["v"].asnumpy().tolist() == [0, 0]
    session.run([good, bad], {x: np.ones((2, 1), "float32")})
    assert session.variables["v"].asnumpy().tolist() == [1, 1]


def test_an_interrupt_leaves_variables_as_they_were(monkeypatch):
    v = hn.sym.var("v")
    session = hn.Session()
    session.set({v: np.zeros(2, "float32")})
    step = assigned(v, v + 1.0)

    def interrupted():
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("hybridnet.session.runner.dispatch", lambda *_: None)
        patch.setattr(recorder, "flush", interrupted)  # all is recorded, nothing runs
        with pytest.raises(KeyboardInterrupt):
            session.run(step)
    assert session.run(v).tolist() == [0, 0]
    assert session.run(step).tolist() == [1, 1]


def test_control_edges_say_what_runs_first():
    doubled = hn.sym.var("v")
    source = doubled.edges[0].node
    put = Node(ASSIGN, (Edge(source, 0), (doubled * 2.0).edges[0]), "put")
    read = Node(READ, (Edge(source, 0),), "read", controls=(put,))
    runner = plain_runner({source: np.ones(2, "float32")})
    (found,) = runner.run(Request((Edge(read, 0),), (), ()), [])
    assert found.asnumpy().tolist() == [2, 2]
    done = Node(NO_OP, (), "done", controls=(put,))
    assert runner.run(Request((), (done,), ()), []) == []
    assert runner.variables[source].asnumpy().tolist() == [4, 4]


def plain_runner(values):
    def missing(node):
        return hn.MXNetError(f"no value for {node.name}")

    runner = Runner(hn.cpu(), {}, lambda node: None, missing, None, False)
    runner.set({node: hn.nd.array(value) for node, value in values.items()})
    return runner


def test_a_cycle_of_control_edges_is_named():
    first = Node(NO_OP, (), "first")
    second = Node(NO_OP, (), "second", controls=(first,))
    object.__setattr__(first, "controls", (second,))  # what no user can write
    with pytest.raises(hn.MXNetError, match="cycle through 'first'|cycle through 'second'"):
        make_step(Request((), (second,), ()))


def test_a_second_run_compiles_nothing_and_prunes_nothing(monkeypatch):
    x, w, _y, z = network()
    steps = noted_steps(monkeypatch)
    session = hn.Session()
    session.set({w: np.eye(2, dtype="float32")})
    session.run(z, {x: np.ones((1, 2), "float32")})
    (step,) = steps
    (program,) = step.programs.values()
    session.run(z, {x: np.zeros((1, 2), "float32")})
    assert steps == [step]
    assert list(step.programs.values()) == [program]
    session.run(z, {x: np.zeros((3, 2), "float32")})
    assert len(step.programs) == 2


def heated(runner, request, feeds):
    """Runs a request until its program takes the short way."""
    for _ in range(8):
        outputs = runner.run(request, feeds)
        settle()
    (program,) = runner.step(request).programs.values()
    assert program.prepared is not None
    return [one.asnumpy() for one in outputs]


@pytest.mark.compiled
def test_what_is_compiled_is_only_dispatched(monkeypatch):
    x, w, _, z = network()
    runner = plain_runner({w.edges[0].node: np.eye(2, dtype="float32")})
    request = Request(z.edges, (), x.edges)
    (first,) = heated(runner, request, [np.ones((1, 2), "float32")])

    def recorded(*_):
        raise AssertionError("it is recorded")

    with monkeypatch.context() as patch:
        patch.setattr(recorder, "record", recorded)
        (again,) = runner.run(request, [np.ones((1, 2), "float32")])
        np.testing.assert_array_equal(again.asnumpy(), first)
        with pytest.raises(AssertionError, match="it is recorded"):
            runner.run(request, [np.ones((2, 2), "float32")])  # another program


@pytest.mark.compiled
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int64", "int32", "float16", "uint8", "bool"]
)
@pytest.mark.parametrize("size", [4, 20000])
def test_what_is_fed_may_be_changed_at_once(dtype, size):
    x = hn.sym.var("x")
    y = hn.sym.Group([x, hn.sym.concat(x, x, dim=0)])
    runner = plain_runner({})
    request = Request(y.edges, (), x.edges)
    held = np.zeros(size, dtype)
    heated(runner, request, [held])
    made = []
    for number in range(6):
        held[:] = number % 2
        made.append(runner.run(request, [held]))
    for number, (same, twice) in enumerate(made):
        assert same.asnumpy().dtype == held.dtype
        np.testing.assert_array_equal(same.asnumpy(), np.full(size, number % 2, dtype))
        np.testing.assert_array_equal(twice.asnumpy(), np.full(2 * size, number % 2, dtype))


def test_a_closed_session_holds_nothing():
    x, w, _y, z = network()
    session = hn.Session()
    session.set({w: np.eye(2, dtype="float32")})
    session.run(z, {x: np.ones((1, 2), "float32")})
    held = weakref.ref(session.variables["w"])
    session.close()
    gc.collect()
    assert held() is None


def test_two_threads_run_one_session():
    v = hn.sym.var("v")
    step, total = assigned(v, v + 1.0), hn.sym.sum(v)
    session = hn.Session()
    session.set({v: np.zeros(8, "float32")})
    seen, errors = [], []

    def train():
        try:
            for _ in range(50):
                session.run(step)
        except BaseException as error:
            errors.append(error)

    def read():
        try:
            for _ in range(50):
                seen.append(float(session.run(total)[0]))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one) for one in (train, train, read)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not errors
    assert session.run(v).tolist() == [100] * 8
    assert all(one % 8 == 0 for one in seen)  # all of an update, or none of it
    assert seen == sorted(seen)


def test_random_numbers_begin_at_the_seed():
    draw = hn.sym.random.uniform(shape=(3,))
    first, again = hn.Session(seed=3), hn.Session(seed=3)
    one = first.run(draw)
    assert one.tolist() == again.run(draw).tolist()
    assert one.tolist() != first.run(draw).tolist()
    hn.random.seed(5)
    plain = hn.Session().run(draw)
    hn.random.seed(5)
    assert hn.Session().run(draw).tolist() == plain.tolist()


def test_training_is_asked_for():
    x = hn.sym.var("x")
    y = hn.sym.Dropout(x, p=0.5)
    session, feeds = hn.Session(seed=1), {x: np.ones(64, "float32")}
    assert session.run(y, feeds).tolist() == [1] * 64
    assert set(session.run(y, feeds, train=True).tolist()) == {0, 2}


def test_auxiliary_states_are_variables_that_training_moves():
    x = hn.sym.var("x")
    y = hn.sym.BatchNorm(x, name="bn", fix_gamma=False, momentum=0.5)
    inside = y.get_internals()
    start = {"gamma": 1.0, "beta": 0.0, "moving_mean": 0.0, "moving_var": 1.0}
    session = hn.Session()
    session.set({inside[f"bn_{name}"]: np.full(3, one, "f") for name, one in start.items()})
    data = np.random.RandomState(0).randn(8, 3).astype("f") + 5
    made = session.run(y, {x: data}, train=True)
    np.testing.assert_allclose(made.mean(0), [0, 0, 0], atol=1e-5)
    mean = session.variables["bn_moving_mean"].asnumpy()
    np.testing.assert_allclose(mean, data.mean(0) / 2, rtol=1e-5)
    session.run(y, {x: data})  # not in training: nothing moves
    np.testing.assert_array_equal(session.variables["bn_moving_mean"].asnumpy(), mean)


def test_devices_split_a_graph_and_change_no_result():
    x, w, u = (hn.sym.var(name) for name in "xwu")
    with hn.cpu(0):
        hidden = hn.sym.tanh(hn.sym.dot(x, w))
    with hn.device("/device:cpu:1"):
        made = hn.sym.dot(hidden, u)
    plain = hn.sym.dot(hn.sym.tanh(hn.sym.dot(x, w)), u)
    random = np.random.RandomState(0)
    values = {w: random.randn(4, 3).astype("f"), u: random.randn(3, 2).astype("f")}
    session = hn.Session()
    session.set(values)
    feeds = {x: random.randn(5, 4).astype("f")}
    metadata = RunMetadata()
    found = session.run(
        made, feeds, RunOptions(RunOptions.FULL_TRACE, output_partition_graphs=True), metadata
    )
    np.testing.assert_allclose(found, session.run(plain, feeds), rtol=1e-5)
    devices = [one.device.rpartition(":")[2] for one in metadata.partition_graphs]
    assert sorted(devices) == ["0", "1"]
    ops = [node.op for one in metadata.partition_graphs for node in one.node]
    assert ops.count("_Send") == ops.count("_Recv")
    assert {one.device.rpartition(":")[2] for one in metadata.step_stats.dev_stats} == {"0", "1"}


def test_an_unknown_device_is_named():
    x = hn.sym.var("x")
    with hn.device("/device:gpu:7"):
        y = hn.sym.relu(x, name="away")
    session, feeds = hn.Session(), {x: np.ones(2, "float32")}
    with pytest.raises(hn.MXNetError, match=r"'away'.*test_session.py:\d+.*unknown device"):
        session.run(y, feeds)
    assert session.run(x * 2.0, feeds).tolist() == [2, 2]
    assert hn.Session(soft_placement=True).run(y, feeds).tolist() == [1, 1]


def test_step_stats_have_a_row_for_each_node():
    x, w, _y, z = network()
    session, metadata = hn.Session(), RunMetadata()
    session.set({w: np.eye(2, dtype="float32")})
    feeds = {x: np.ones((1, 2), "float32")}
    traced = session.run(z, feeds, RunOptions(RunOptions.FULL_TRACE), metadata)
    assert traced.tolist() == session.run(z, feeds).tolist()
    (device,) = metadata.step_stats.dev_stats
    assert device.device.endswith("/device:cpu:0")
    assert [one.timeline_label for one in device.node_stats] == ["dot", "relu", "_plus_scalar"]
    assert [one.node_name for one in device.node_stats][:2] == ["y", "z"]
    starts = [one.all_start_micros for one in device.node_stats]
    assert starts == sorted(starts)
    assert metadata.partition_graphs == []


def test_a_traced_function_cannot_run_a_session():
    x = hn.sym.var("x")
    session = hn.Session()

    @hn.function
    def traced(a):
        session.run(x, {x: np.ones(1, "float32")})
        return a

    with pytest.raises(hn.MXNetError, match="traced function"):
        traced(hn.nd.ones((1,)))
    assert session.run(x, {x: np.ones(1, "float32")}).tolist() == [1]


def test_graphs_are_pruned_to_what_runs():
    _x, _w, y, z = network()
    step = make_step(Request(z.edges, (), y.edges))
    assert isinstance(step.graph, Graph)
    assert [node.name for node in step.graph.inputs] == ["y"]
    assert len([node for node in step.graph.nodes if not node.is_variable]) == 2
