"""Placed graphs cut into parts, run in many orders, against the interpreter on one device."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import graph_programs as gp
import jax
import numpy as np
import pytest
from helpers import thorough
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import Simulated, running_on, simulated

import hybridnet as hn
from hybridnet.base.device_name import DEVICE
from hybridnet.base.errors import GraphError, OpError, ParameterError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.engine import ManualPool, NaiveEngine, ThreadedEngine
from hybridnet.graph.evaluate import evaluate, infer_types
from hybridnet.graph.node import Edge, Graph, Node, variable
from hybridnet.ops.core.registry import get
from hybridnet.passes.partition import Partition, RecvCall, SendCall, partition
from hybridnet.passes.pieces import pieces_of
from hybridnet.passes.place import on_devices
from hybridnet.runtime.devices.device import full_name
from hybridnet.runtime.executor import device_plan
from hybridnet.runtime.executor.device_run import GraphRun
from hybridnet.runtime.executor.partitioned import PartitionedCall
from hybridnet.runtime.executor.rendezvous import LocalRendezvous, Rendezvous
from hybridnet.runtime.graphs.graph_call import GraphCall
from hybridnet.runtime.record import recorder
from hybridnet.runtime.segments.segment import Value

TYPE = tensor_type(gp.SHAPE, np.dtype(np.float64))


def node(op, *inputs, name=None, scalars=None, **attrs):
    call, bound = get(op).bind(attrs, True)
    edges = tuple(Edge(one, 0) if isinstance(one, Node) else one for one in inputs)
    return Node(call, edges, name or op, bound if scalars is None else scalars)


def cut_pairs(graph, devices, wanted):
    """Counts, by brute force, the (tensor, device) pairs of readers elsewhere."""
    pairs = {
        (edge, devices[reader])
        for reader in graph.nodes
        for edge in reader.inputs
        if devices[edge.node] != devices[reader]
    }
    for edge, device in zip(graph.outputs, wanted, strict=True):
        if device is not None and devices[edge.node] != device:
            pairs.add((edge, device))
    return len(pairs)


@st.composite
def placed_programs(draw, count=3):
    """A random graph, and a random device for each node, input and output."""
    program = draw(gp.programs(most=7))
    last = len(program) + 1
    outputs = draw(st.lists(st.integers(0, last), min_size=1, max_size=3))
    graph = gp.graph_of(program, outputs)
    numbers = st.integers(0, count - 1)
    devices = {one: draw(numbers) for one in dict.fromkeys((*graph.inputs, *graph.nodes))}
    wanted = [draw(st.none() | numbers) for _ in outputs]
    return graph, devices, wanted


def call_of(graph, contexts, devices, wanted, types=(TYPE, TYPE)):
    """Makes the call of a graph whose nodes are on devices given by number."""
    names = {one: str(full_name(contexts[number])) for one, number in devices.items()}
    call = GraphCall(on_devices(graph, names), types, "program")
    return PartitionedCall(
        call,
        [contexts[devices[one]] for one in graph.inputs],
        [None if one is None else contexts[one] for one in wanted],
        contexts[0],
    )


def values_of(arrays):
    with jax.enable_x64(True):
        return [Value(TYPE, jax.numpy.asarray(one)) for one in arrays]


def run(call, arrays):
    return [np.asarray(recorder.wait(one)) for one in call.run(values_of(arrays), ())]


def interpreted(graph, arrays):
    with jax.enable_x64(True):
        return [np.asarray(one) for one in evaluate(graph, "cpu", arrays)]


# -- cutting ---------------------------------------------------------------------------------


def test_a_tensor_is_sent_once_to_each_device():
    """x(0) -> sin(0) -> tanh(1), negative(1), sigmoid(2); the output of sin is wanted on 1 too."""
    x = variable("x")
    sin = node("sin", x)
    ends = [node("tanh", sin), node("negative", sin), node("sigmoid", sin)]
    graph = Graph((x,), (*(Edge(one, 0) for one in ends), Edge(sin, 0)))
    devices = dict(zip((x, sin, *ends), ["0", "0", "1", "1", "2"], strict=True))
    cut = partition(graph, devices, infer_types(graph, [TYPE]), [None, None, "0", "1"])
    assert [tuple(one) for one in cut.transfers] == [
        ("0", "1", "sin:0"),
        ("0", "2", "sin:0"),
        ("2", "0", "sigmoid:0"),
    ]
    assert list(cut.parts) == ["0", "1", "2"]
    assert [one.results for one in cut.parts.values()] == [(2,), (0, 1, 3), ()]
    assert [len(one.sends) for one in cut.parts.values()] == [2, 0, 1]
    assert [len(one.receives) for one in cut.parts.values()] == [1, 1, 1]
    assert "_Recv(name='sin/recv', attrs={'__tensor__': 'sin:0', '__from__': '0'" in str(
        cut.parts["1"].graph
    )


def test_tensors_of_one_name_are_told_apart():
    x = variable("x")
    one, two = node("sin", x, name="n"), node("cos", x, name="n")
    both = node("elemwise_add", one, two)
    graph = Graph((x,), (Edge(both, 0),))
    devices = {x: "0", one: "0", two: "0", both: "1"}
    cut = partition(graph, devices, infer_types(graph, [TYPE]))
    assert [one.tensor for one in cut.transfers] == ["n:0", "n:0#1"]


def test_a_node_without_a_device_is_named():
    x = variable("x")
    graph = Graph((x,), (Edge(node("sin", x, name="lost"), 0),))
    with pytest.raises(GraphError, match=r"partition: node 'lost' \(sin\) has no device"):
        partition(graph, {x: "0"}, infer_types(graph, [TYPE]))


def wrong_cut(change):
    """x(0) -> sin(0) -> tanh(1), cut, and then changed."""
    x = variable("x")
    sin = node("sin", x)
    graph = Graph((x,), (Edge(node("tanh", sin), 0),))
    devices = dict(zip((x, sin, graph.nodes[-1]), "001", strict=True))
    cut = partition(graph, devices, infer_types(graph, [TYPE]))
    cut.verify(graph, devices)
    parts = {device: replace(part, **change(part)) for device, part in cut.parts.items()}
    return lambda: Partition(parts, cut.transfers).verify(graph, devices)


def without_sends(part):
    return {"graph": Graph(part.graph.inputs, part.graph.outputs[: len(part.results)])}


def without_inputs(part):
    return {"graph": replace(part.graph, inputs=())}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_sends, r"'sin:0' has 0 Sends from 0 and 1 Recvs on 1"),
        (without_inputs, r"variable 'x' is not an input of the graph"),
        (lambda part: {"results": ()}, r"the parts have the outputs \[\] of the graph"),
        (lambda part: {"originals": {}}, r"0 has 'sin' \(sin\), which is not its"),
    ],
)
def test_what_is_no_cut_of_the_graph_is_told(change, message):
    with pytest.raises(GraphError, match=message):
        wrong_cut(change)()


def test_a_node_that_is_in_no_part_is_told():
    x = variable("x")
    graph = Graph((x,), (Edge(node("sin", x, name="lost"), 0),))
    with pytest.raises(GraphError, match=r"node 'lost' \(sin\) is in no part"):
        Partition({}, ()).verify(graph, dict.fromkeys((x, *graph.nodes), "0"))


def test_another_function_may_cut():
    graph, devices = chain(3)
    asked = []

    def cut(*args):
        asked.append(args)
        return partition.own(*args)

    def nothing(*args):
        return Partition({}, ())

    with simulated(Simulated(0), Simulated(1)) as toys:
        contexts = [one.context for one in toys]
        with partition.replaced_by(cut):
            call = call_of(graph, contexts, devices, [None], (TYPE,))
        assert len(asked) == 1
        np.testing.assert_allclose(run(call, [np.zeros(gp.SHAPE)])[0], 0)
        with partition.replaced_by(nothing), pytest.raises(GraphError, match="is in no part"):
            call_of(graph, contexts, devices, [None], (TYPE,))


@given(placed_programs())
def test_there_are_as_many_pairs_as_cut_tensors_and_destinations(case):
    graph, devices, wanted = case
    names = {one: str(number) for one, number in devices.items()}
    places = [None if one is None else str(one) for one in wanted]
    cut = partition(graph, names, infer_types(graph, [TYPE, TYPE]), places)
    assert len(cut.transfers) == len(set(cut.transfers)) == cut_pairs(graph, names, places)
    sends, receives, computing = [], [], 0
    for device, part in cut.parts.items():
        part.graph.verify()
        for one in part.graph.nodes:
            if isinstance(one.call, SendCall):
                sends.append(one.call.transfer)
                assert one.call.transfer.source == one.attrs[DEVICE] == device
            elif isinstance(one.call, RecvCall):
                receives.append(one.call.transfer)
                assert one.call.transfer.destination == one.attrs[DEVICE] == device
            elif not one.is_variable:
                computing += 1
                assert names[part.originals[one]] == device
    assert sorted(sends) == sorted(receives) == sorted(cut.transfers)
    assert computing == sum(not one.is_variable for one in graph.nodes)


@given(placed_programs(), st.booleans())
def test_pieces_hold_every_node_once_and_wait_for_nothing_in_a_circle(case, heavy):
    """Run by a plain loop that starts a piece when all it reads is there."""
    graph, devices, _ = case
    names = {one: str(number) for one, number in devices.items()}
    cut = partition(graph, names, infer_types(graph, [TYPE, TYPE]))
    there, sent = set(), set()
    waiting = []
    for device, part in cut.parts.items():
        pieces = pieces_of(part, lambda nodes: heavy)
        assert sum(len(one.nodes) for one in pieces) == len(part.originals)
        if not part.sends and not part.receives:
            assert len(pieces) <= 1
        waiting += [(device, part, one) for one in pieces]
        there |= {(device, Edge(one, 0)) for one in part.graph.inputs}
    before = -1
    while before != len(there) + len(sent):
        before = len(there) + len(sent)
        for device, part in cut.parts.items():
            for send in part.sends:
                if (device, send.inputs[0]) in there:
                    sent.add(send.call.transfer)
            for receive in part.receives:
                if receive.call.transfer in sent:
                    there.add((device, Edge(receive, 0)))
        for entry in list(waiting):
            device, _, piece = entry
            if all((device, edge) in there for edge in piece.reads):
                there |= {(device, edge) for edge in piece.makes}
                waiting.remove(entry)
    assert not waiting
    assert len(sent) == len(cut.transfers)


def pieces_by_name(part, heavy):
    return [{one.name for one in piece.nodes} for piece in pieces_of(part, lambda nodes: heavy)]


def test_where_work_is_heavy_nothing_waits_for_what_it_does_not_need():
    """On 0: x -> early -> late. On 1: y -> own -> both <- early, and early -> other."""
    x, y = variable("x"), variable("y")
    early = node("sin", x, name="early")
    late = node("cos", early, name="late")
    own = node("tanh", y, name="own")
    both = node("elemwise_add", early, own, name="both")
    other = node("exp", early, name="other")
    back = node("negative", other, name="back")
    graph = Graph((x, y), (Edge(late, 0), Edge(both, 0), Edge(back, 0)))
    devices = {x: "0", early: "0", late: "0", own: "1", both: "1", y: "1", other: "1", back: "0"}
    cut = partition(graph, devices, infer_types(graph, [TYPE, TYPE]))
    assert pieces_by_name(cut.parts["0"], False) == [{"early", "late"}, {"back"}]
    assert pieces_by_name(cut.parts["0"], True) == [{"early"}, {"late"}, {"back"}]
    assert pieces_by_name(cut.parts["1"], False) == [{"own"}, {"both", "other"}]
    assert pieces_by_name(cut.parts["1"], True) == [{"own"}, {"other"}, {"both"}]


# -- running ---------------------------------------------------------------------------------


class LeastUrgentFirst(hn.runtime.ReadyQueue):
    """Looks through all programs each time, by the definition."""

    def __init__(self, programs):
        self.waiting, self.came = list(programs), set()

    def put(self, slots):
        self.came.update(slots)

    def next(self):
        ready = [one for one in self.waiting if self.came.issuperset(one.reads)]
        found = min(ready, key=lambda one: one.urgency, default=None)
        if found is not None:
            self.waiting.remove(found)
        return found


@pytest.fixture
def ordering(kind):
    hn.runtime.set_ready_queue(LeastUrgentFirst if kind == "queue" else None)
    yield
    hn.runtime.set_ready_queue(None)


@pytest.mark.slow
@pytest.mark.usefixtures("ordering")
@pytest.mark.parametrize("kind", ["manual", "threads", "naive", "queue"])
@settings(max_examples=thorough(2000, 30))
@given(placed_programs(), st.booleans(), st.integers(0, 99))
def test_parts_in_any_order_give_what_one_device_gives(kind, case, heavy, seed):
    graph, devices, wanted = case
    arrays = np.random.default_rng(seed).normal(size=(2, *gp.SHAPE))
    engines = {
        "manual": lambda: ThreadedEngine(pool=ManualPool(seed=seed)),
        "threads": lambda: ThreadedEngine(workers={"compute": 3}),
        "naive": NaiveEngine,
        "queue": lambda: ThreadedEngine(pool=ManualPool(seed=seed)),
    }
    with (
        simulated(*(Simulated(number) for number in range(3))) as toys,
        running_on(engines[kind]()),
    ):
        contexts = [one.context for one in toys]
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(device_plan, "_HEAVY", 0.0 if heavy else 1e9)
            call = call_of(graph, contexts, devices, wanted)
        for plan in call.plans:  # nothing is light: every program is a task
            plan.programs = [replace(one, light=False) for one in plan.programs]
        got = run(call, arrays)
        assert call.contexts == tuple(
            contexts[devices[edge.node] if where is None else where]
            for edge, where in zip(graph.outputs, wanted, strict=True)
        )
    for one, want in zip(got, interpreted(graph, arrays), strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-12, atol=1e-12)


@settings(max_examples=thorough(200, 6))
@given(placed_programs(count=2), st.integers(0, 99))
def test_compiled_parts_give_what_one_device_gives(case, seed):
    graph, devices, wanted = case
    arrays = np.random.default_rng(seed).normal(size=(2, *gp.SHAPE))
    call = call_of(graph, [hn.cpu(0), hn.cpu(1)], devices, wanted)
    for one, want in zip(run(call, arrays), interpreted(graph, arrays), strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-10, atol=1e-10)


def chain(length):
    """x -> sin -> sin -> ..., alternately on devices 0 and 1."""
    x = variable("x")
    last, devices = x, {x: 0}
    for number in range(length):
        last = node("sin", last, name=f"n{number}")
        devices[last] = number % 2
    return Graph((x,), (Edge(last, 0),)), devices


@pytest.mark.slow
def test_long_chains_between_devices_do_not_nest():
    graph, devices = chain(600)
    with simulated(Simulated(0), Simulated(1)) as toys:
        call = call_of(graph, [one.context for one in toys], devices, [None], (TYPE,))
        assert [len(one.programs) for one in call.plans] == [300, 300]
        x = np.full(gp.SHAPE, 0.5)
        want = x
        for _ in range(600):
            want = np.sin(want)
        for other in (ThreadedEngine(), NaiveEngine()):
            with running_on(other):
                np.testing.assert_allclose(run(call, [x])[0], want, rtol=1e-12)


# -- what goes wrong -------------------------------------------------------------------------


def test_a_failing_node_is_named_and_the_next_run_is_not_hurt():
    """n0(0) -> n1(1) -> n2(0) -> n3(1): n2 fails once, while device 1 waits for it."""
    graph, devices = chain(4)
    with simulated(Simulated(0), Simulated(1)) as toys:
        call = call_of(graph, [one.context for one in toys], devices, [None], (TYPE,))

        def refuse(name):
            if len(toys[0].ran) == 1:
                raise ValueError("no more memory")

        toys[0].before = refuse
        x = np.full(gp.SHAPE, 0.5)
        with pytest.raises(OpError, match=r"node 'n2' \(sin\) on toy\(0\) failed: no more memory"):
            run(call, [x])
        assert toys[1].ran == ["sin"]
        toys[0].before = lambda name: None
        np.testing.assert_allclose(run(call, [x])[0], np.sin(np.sin(np.sin(np.sin(x)))))
        hn.nd.waitall()  # the error was raised where the output was read, and is not raised again


def test_of_a_program_of_many_nodes_the_one_that_fails_is_named():
    x = variable("x")
    first = node("sin", x, name="a")
    second = node("cos", first, name="b")
    third = node("tanh", second, name="c")
    last = node("negative", third, name="d")
    graph = Graph((x,), (Edge(last, 0),))
    devices = {x: 0, first: 0, second: 0, third: 0, last: 1}
    with simulated(Simulated(0), Simulated(1)) as toys:
        call = call_of(graph, [one.context for one in toys], devices, [None], (TYPE,))

        def refuse(name):
            if name == "cos":
                raise ValueError("bad day")

        toys[0].before = refuse
        with pytest.raises(OpError, match=r"node 'b' \(cos\) on toy\(0\) failed: bad day"):
            run(call, [np.ones(gp.SHAPE)])


def test_an_input_that_failed_is_the_error_of_the_outputs():
    graph, devices = chain(2)
    with simulated(Simulated(0), Simulated(1)) as toys:
        call = call_of(graph, [one.context for one in toys], devices, [None], (TYPE,))
        broken = Value(TYPE)
        broken.error = OpError("the reader failed")
        (out,) = call.run([broken], ())
        with pytest.raises(OpError, match="the reader failed"):
            recorder.wait(out)
        assert toys[0].ran == []


def test_a_missing_input_is_named():
    graph, devices = chain(2)
    call = call_of(graph, [hn.cpu(0), hn.cpu(1)], devices, [None], (TYPE,))
    with pytest.raises(ParameterError, match=r"the input 'x' \(variable\) is missing"):
        call.run([], ())


def test_a_device_that_is_not_there_is_named():
    x = variable("x")
    far = node("sin", x, name="far")
    graph = on_devices(Graph((x,), (Edge(far, 0),)), {far: "/device:toy:7"})
    with pytest.raises(GraphError, match=r"node 'far' \(sin\) is on an unknown device: toy\(7\)"):
        PartitionedCall(GraphCall(graph, (TYPE,), "g"), [hn.cpu(0)], [None], hn.cpu(0))


def started(call, rendezvous):
    """Runs a call with a rendezvous of the test's own; returns the list of its ends."""
    ends = []
    run = GraphRun(call.plans, rendezvous, {}, len(call.contexts), None)
    run.when_ended(lambda: ends.append(run))
    with jax.enable_x64(True):
        feeds = [jax.numpy.ones(gp.SHAPE)]
    run.start(feeds)
    hn.engine.wait_for_all()
    return ends


class Lossy(Rendezvous):
    """Loses, or sends as dead, what device 0 sends."""

    def __init__(self, dead):
        self.inner, self.dead = LocalRendezvous(), dead

    def send(self, key, value, dead=False):
        if self.dead:
            self.inner.send(key, value, dead=True)

    def receive_all(self, wanted, take):
        self.inner.receive_all(wanted, take)

    def abort(self, error):
        self.inner.abort(error)


def test_a_recv_whose_send_died_ends_the_run():
    """As a rendezvous between processes does when the other process is gone."""
    graph, devices = chain(2)
    with simulated(Simulated(0), Simulated(1)) as toys:
        call = call_of(graph, [one.context for one in toys], devices, [None], (TYPE,))
        rendezvous = Lossy(dead=False)
        ends = started(call, rendezvous)
        assert not ends and toys[1].ran == []
        rendezvous.abort(OpError("worker 1 is gone"))
        (run,) = ends
        with pytest.raises(OpError, match=r"n0:0 from .*toy:0 to .*toy:1 will not come: worker 1"):
            raise run.error


def test_what_reads_a_dead_tensor_does_not_run():
    graph, devices = chain(4)
    with simulated(Simulated(0), Simulated(1)) as toys:
        call = call_of(graph, [one.context for one in toys], devices, [None], (TYPE,))
        (run,) = started(call, Lossy(dead=True))
        assert toys[0].ran == ["sin"] and toys[1].ran == []
        with pytest.raises(GraphError, match="output 0 .* is dead"):
            raise run.error


def test_what_a_run_held_goes_with_it_and_not_when_cycles_are_looked_for():
    graph, devices = chain(2)
    with simulated(Simulated(0), Simulated(1)) as toys:
        call = call_of(graph, [one.context for one in toys], devices, [None], (TYPE,))
        gc.disable()
        try:
            (run,) = started(call, LocalRendezvous())  # whose end knows it
            assert run.error is None
            left = weakref.ref(run)
            del run
            assert left() is None
        finally:
            gc.enable()
