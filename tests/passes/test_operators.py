"""Every operator by itself, in and out of training: what the passes leave computes the same."""

import numpy as np
import pytest
from op_samples import SAMPLES
from passes_samples import assert_same_bits, context_of, run

from hybridnet import passes
from hybridnet.graph.node import Edge, Graph, Node, variable
from hybridnet.ops.core.call import Call
from hybridnet.ops.core.registry import get


def graph_of(call: Call, scalars, arrays) -> tuple[Graph, dict[str, np.ndarray]]:
    """Returns the sum of an operator with itself: two equal nodes over the same variables."""
    inputs = [variable(f"x{i}") for i in range(len(arrays))]
    edges = tuple(Edge(one, 0) for one in inputs)
    nodes = [Node(call, edges, name, scalars) for name in ("one", "other")]
    outputs = tuple(Edge(node, i) for node in nodes for i in range(call.num_visible))
    named = {node.name: np.asarray(one) for node, one in zip(inputs, arrays, strict=True)}
    return Graph(tuple(inputs), outputs), named


@pytest.mark.slow
def test_every_operator_alone():
    compared = 0
    for name, samples in SAMPLES.items():
        for sample in samples:
            for train in (False, True):
                call, scalars = get(name).bind(sample.attrs, train)
                graph, arrays = graph_of(call, scalars, sample.inputs)
                context = context_of(graph, arrays, tolerance=0)
                made, report = passes.optimize(graph, context)
                fired = report.fired.keys() - {"duplicate"}
                drawn = call.takes_state or call.on_host
                assert drawn or call.mutates or len(made.nodes) < max(len(graph.nodes), 1), name
                if fired and not call.takes_state:
                    compared += 1
                    assert_same_bits(run(made, arrays), run(graph, arrays), (name, report))
    assert compared > 20
