"""The JAX function of a structure whose weights stay the same from call to call.

What passes and lowerings do to weights alone is done once then (`constants`), so inference is built
another way: batch normalizations go into the weights before them, and on CPUs images have their
channels last from end to end, with each weight in the order that its operator likes best. Results
stay within `passes.TOLERANCE` of those of the program that does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from hybridnet.base.lazy import jax
from hybridnet.graph import Edge, Graph, Node, evaluate, variable
from hybridnet.native import onednn
from hybridnet.ops.core import OpCall, Types, constant_weights
from hybridnet.passes import PIPELINE, TOLERANCE, PassContext, optimize

from ..graphs.graph_call import GraphCall
from ..platform.jax_devices import platform_of
from ..segments.code import Code

_FILTERS: Final = frozenset({"Convolution", "Deconvolution", "FullyConnected"})
# Passes that gain where weights stay the same: on CPUs, and where oneDNN is there.
_ON_CPUS: Final = "layout"
_WITH_ONEDNN: Final = "epilogue"


def lower_specialized(
    code: Code, constant: Iterable[int]
) -> Callable[..., tuple[jax.Array, ...]] | None:
    """Returns the JAX function of a structure: (*inputs, scalars) -> outputs.

    None where it is none of inference, or no operator's weight is among the inputs, by slot, that
    stay the same: then it is lowered as any.
    """
    platform = platform_of(code.ctx)
    fixed = frozenset(constant)
    found = _alone(code) or _recorded(code)
    if found is None:
        return None
    graph, slots, outputs, hosts = found
    inputs = [node for node, slot in zip(graph.inputs, slots, strict=True) if slot in fixed]
    if not _is_inference(graph, inputs):
        return None
    types = tuple(code.input_types[slot] for slot in slots)
    made = _optimized(graph, types, platform)

    def program(*arguments: jax.Array) -> tuple[jax.Array, ...]:
        *arrays, numbers = arguments
        scalars = {host: numbers[place] for place, host in enumerate(hosts)}
        with constant_weights():
            results = evaluate(made, platform, [arrays[slot] for slot in slots], scalars)
        return tuple(results[number] for number in outputs)

    return program


#: A graph, the slots that its inputs are, the numbers of the outputs that are wanted, and what it
#: asks for numbers.
_Found = tuple[Graph, list[int], list[int], tuple[Any, ...]]


def _alone(code: Code) -> _Found | None:
    """Returns the graph that a structure consists of; None where it does not."""
    if len(code.instructions) != 1:
        return None
    call, operands = code.instructions[0]
    if not isinstance(call, GraphCall) or not call.optimized:
        return None
    return call.graph, [~operand for operand in operands], list(code.outputs), call.hosts


def _recorded(code: Code) -> _Found | None:
    """Returns recorded operators as a graph; None where they take numbers, or are no operators."""
    if any(type(call) is not OpCall or call.num_scalars for call, _ in code.instructions):
        return None
    inputs = [variable(f"input{slot}") for slot in range(len(code.input_types))]
    results: list[Edge] = []
    for number, (call, operands) in enumerate(code.instructions):
        edges = tuple(results[i] if i >= 0 else Edge(inputs[~i], 0) for i in operands)
        node = Node(call, edges, f"{call.name}{number}")
        results.extend(Edge(node, index) for index in range(call.num_outputs))
    graph = Graph(tuple(inputs), tuple(results[i] for i in code.outputs))
    return graph, list(range(len(inputs))), list(range(len(code.outputs))), ()


def _is_inference(graph: Graph, inputs: Iterable[Node]) -> bool:
    """Whether a graph computes no gradient, and all its filters follow from some inputs alone."""
    known = set(inputs)
    filters = 0
    for node in graph.nodes:
        call = node.call
        if call is None:
            continue
        if type(call) is not OpCall or call.train or call.name.startswith("_backward_"):
            return False
        if call.name in _FILTERS:
            if node.inputs[1].node not in known:
                return False
            filters += 1
        elif node.inputs and all(edge.node in known for edge in node.inputs):
            known.add(node)
    return filters > 0


def _optimized(graph: Graph, types: Types, platform: str) -> Graph:
    context = PassContext(types, platform, tolerance=TOLERANCE)
    further = set()
    if platform == "cpu":
        further = {_ON_CPUS, _WITH_ONEDNN} if onednn.load() else {_ON_CPUS}
    chosen = [step for step in PIPELINE if step.by_default or step.name in further]
    return optimize(graph, context, chosen, lenient=True)[0]
