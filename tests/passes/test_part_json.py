"""Parts of graphs as JSON: what is read is what was written, and what cannot be is refused."""

from __future__ import annotations

import copy
import json
import random
import threading
from typing import Any

import numpy as np
import pytest
from partitioned_calls import TOYS, call_of
from simulated import Simulated, simulated

import hybridnet as hn
from hybridnet import nd, sym
from hybridnet.base.attrs import HostScalar
from hybridnet.base.errors import FormatError, GraphError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.node import Edge, Graph, Node, variable
from hybridnet.graph.text import to_text
from hybridnet.ops.core.registry import get
from hybridnet.passes.call_json import read_call, write_call
from hybridnet.passes.part_json import read_part, write_part
from hybridnet.passes.partition import partition
from hybridnet.runtime.executor.device_plan import DevicePlan
from hybridnet.runtime.executor.device_run import GraphRun
from hybridnet.runtime.executor.partitioned import PartitionedCall
from hybridnet.runtime.executor.rendezvous import LocalRendezvous

TYPE = tensor_type((2, 3), np.dtype(np.float32))


@pytest.fixture(autouse=True)
def toys():
    with simulated(*(Simulated(number) for number in range(3))) as made:
        yield made


def written(call: PartitionedCall, name: str) -> Any:
    """Returns a part as another process has it."""
    return json.loads(
        json.dumps(write_part(call.parts[name], call.call.input_types, call.ranks, call.call.hosts))
    )


def network() -> sym.Symbol:
    """Layers on three devices, with a state, random numbers and a loss."""
    with hn.device(TOYS[0]):
        h = sym.Convolution(sym.var("data"), num_filter=4, kernel=(3, 3), pad=(1, 1), name="conv")
        h = sym.BatchNorm(h, name="bn", fix_gamma=False)
    with hn.device(TOYS[1]):
        h = sym.Pooling(sym.relu(h), kernel=(2, 2), stride=(2, 2), pool_type="max")
        h = sym.FullyConnected(sym.Flatten(h) * 0.5, num_hidden=3, name="fc")
    with hn.device(TOYS[2]):
        return sym.SoftmaxOutput(sym.LeakyReLU(h, slope=0.1) + 1, name="softmax")


def bound() -> Any:
    made = network().simple_bind(
        hn.Context("toy", 0), data=(2, 1, 4, 4), softmax_label=(2,), grad_req="write"
    )
    draw = np.random.default_rng(0)
    for name, array in made.arg_dict.items():
        drawn = draw.normal(size=array.shape) * 0.3
        array[:] = nd.array(np.array([0, 2]) if name == "softmax_label" else drawn)
    return made


def test_a_training_pass_goes_to_other_processes_and_is_the_same_there():
    executor = bound()
    executor.forward(is_train=True)
    executor.backward()
    calls = executor.partitioned(is_train=True)
    assert len(calls) == 2
    for call in calls:
        for name, part in call.parts.items():
            read = read_part(written(call, name), call.call.hosts)
            assert to_text(read.part.graph) == to_text(part.graph)
            assert read.part.inputs == part.inputs and read.part.results == part.results
            order = zip(read.part.graph.nodes, part.graph.nodes, strict=True)
            for mine, theirs in order:
                assert mine.call is theirs.call or mine.call.name in ("_Send", "_Recv")
                if theirs in part.levels:
                    assert read.part.levels[mine] == part.levels[theirs]
                    assert read.part.regions[mine] == part.regions[theirs]
                    assert read.ranks[mine] == call.ranks[part.originals[theirs]]
            again = write_part(
                read.part, [read.input_types.get(i) for i in range(99)], read.ranks, call.call.hosts
            )
            assert json.loads(json.dumps(again)) == written(call, name)


def test_what_was_read_runs_with_numbers_that_are_given_then(toys):
    x = variable("x")
    host = HostScalar(lambda: [0.0], 0)
    with_number = Node(get("_mul_scalar").bind({"scalar": 1.0})[0], (Edge(x, 0),), "m", (host,))
    graph = Graph((x,), (Edge(with_number, 0),))
    name = str(toys[0].name)
    types = {x: (TYPE,), with_number: (TYPE,)}
    cut = partition(graph, dict.fromkeys((x, with_number), name), types, [name])
    data = json.loads(
        json.dumps(write_part(cut.parts[name], [TYPE], {with_number: 1e-6, x: 0.0}, [host]))
    )
    here = HostScalar(lambda: [0.0], 0)
    read = read_part(data, [here])
    plan = DevicePlan(read.part, toys[0], read.input_types, read.ranks)
    run = GraphRun([plan], LocalRendezvous(), {here: 3.0}, 1, None)
    ended = threading.Event()
    run.when_ended(ended.set)
    run.start([np.ones((2, 3), np.float32)])
    assert ended.wait(60) and run.error is None
    assert np.asarray(run.outputs[0]).tolist() == [[3.0] * 3] * 2


def test_what_is_code_of_pythons_is_refused_with_its_line(toys):
    class Doubled(hn.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 2)

    @hn.operator.register("doubled_elsewhere")
    class Prop(hn.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Doubled()

    with hn.device(TOYS[0]):
        y = sym.Custom(sym.var("x"), op_type="doubled_elsewhere", name="twice")
    call = call_of(y, toys[0].context, (TYPE,))
    with pytest.raises(GraphError, match="'twice' .* cannot run in another process"):
        written(call, str(toys[0].name))


def test_parameters_of_all_kinds_come_back():
    for name, attrs in (
        ("clip", {"a_min": float("-inf"), "a_max": 2.5}),
        ("transpose", {"axes": (1, 0)}),
        ("Cast", {"dtype": "bfloat16"}),
        ("slice", {"begin": (None, 1), "end": (2, None)}),
        ("sum", {"axis": None, "keepdims": True}),
    ):
        call = get(name).bind(attrs)[0]
        assert read_call(json.loads(json.dumps(write_call(call)))) is call


@pytest.mark.parametrize(
    "data",
    [
        None,
        {"op": "no_such_operator"},
        {"op": ["relu"]},
        {"op": "relu", "attrs": {"no": 1}},
        {"op": "relu", "attrs": []},
        {"op": "relu", "train": 3},
        {"op": "clip", "attrs": {"a_min": {"float": "1"}, "a_max": 2}},
        {"row": []},
        {"row": ["_goes_on", -1]},
        {"row": ["_goes_on"]},
        {"row": ["_no"]},
        {"vjp": {"op": "relu"}, "wanted": [-1], "given": [0]},
        {"vjp": {"op": "relu"}, "wanted": 0, "given": [0]},
    ],
)
def test_calls_that_are_none_are_refused(data):
    with pytest.raises(FormatError):
        read_call(data)


def test_gradients_of_gradients_end_somewhere():
    data: Any = {"op": "relu"}
    for _ in range(40):
        data = {"vjp": data, "wanted": [0], "given": [0]}
    with pytest.raises(FormatError, match="deep"):
        read_call(data)


def _places(data: Any) -> list[tuple[Any, Any]]:
    """Returns each place in JSON, as what holds it and where."""
    found = []
    keys = data.keys() if isinstance(data, dict) else range(len(data))
    for key in keys:
        found.append((data, key))
        if isinstance(data[key], (dict, list)):
            found += _places(data[key])
    return found


def test_whatever_is_in_a_message_it_is_read_or_refused():
    calls = bound().partitioned(is_train=True)
    texts = [written(call, name) for call in calls for name in call.parts]
    draw = random.Random(0)
    junk = [None, -1, 10**30, 1.5, "", "x" * 99, [], {}, [[]], True, {"float": "nan"}, [0, 0]]
    refused = 0
    for turn in range(600):
        data = copy.deepcopy(texts[turn % len(texts)])
        for _ in range(draw.randint(1, 3)):
            holder, key = draw.choice(_places(data))
            if draw.random() < 0.3:
                del holder[key]
            else:
                holder[key] = copy.deepcopy(draw.choice(junk))
        try:
            read_part(data)
        except FormatError:
            refused += 1
    assert refused > 300
