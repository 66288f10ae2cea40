"""The memory of a graph: what XLA allocates for its program, and what a plan says before that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hybridnet.base.context import Context
from hybridnet.graph import Graph, Node, infer_types, joined
from hybridnet.ops.core import Types
from hybridnet.passes import MemoryPlan, plan_memory

from ..programs.compiling import compile_code
from ..segments.code import Code, Instruction
from .graph_programs import Run


class Allocation(NamedTuple):
    """The memory of a compiled program, in bytes.

    Attributes:
        arguments: of its arguments.
        outputs: of its outputs, without those that are written over arguments.
        temporary: what it needs besides, while it runs.
    """

    arguments: int
    outputs: int
    temporary: int


class PlannedGraph(NamedTuple):
    """A graph and where its results lie.

    Attributes:
        graph: its nodes run in their order, in training backward's after forward's.
        types: the types of the results of each node.
        plan: where these results lie.
    """

    graph: Graph
    types: Mapping[Node, Types]
    plan: MemoryPlan


def allocation_of(run: Run, input_types: Types, ctx: Context) -> Allocation:
    """Compiles a run, in training together with its gradient, as one program; returns its memory.

    The gradients of the outputs are arguments of the program. Arrays that the run overwrites are
    donated, as they are in a real run.

    Args:
        run: the run.
        input_types: the types of the graph's inputs, and of the random state if it takes one.
        ctx: the context on which it would run.

    Raises:
        MXNetError: a part of it runs on the host, so there is no such program.
    """
    call = run.call
    types = list(input_types)
    instructions: list[Instruction] = [(call, tuple(~i for i in range(len(types))))]
    outputs = list(range(run.num_results))
    if call.split is not None:
        back, _ = run.backward()
        operands = [*range(run.num_results, call.num_outputs), *(~i for i in call.split.uses)]
        operands += [~(len(types) + i) for i in range(len(call.split.given))]
        types += [call.output_types[i] for i in call.split.given]
        instructions.append((back, tuple(operands)))
        outputs += range(call.num_outputs, call.num_outputs + back.num_outputs)
    code = Code(ctx, tuple(instructions), tuple(types), tuple(outputs), run.writes)
    found = compile_code(code).memory_analysis()  # type: ignore[attr-defined]
    return Allocation(
        found.argument_size_in_bytes,
        found.output_size_in_bytes - found.alias_size_in_bytes,
        found.temp_size_in_bytes,
    )


def planned(run: Run, input_types: Types, strategy: str) -> PlannedGraph:
    """Plans the memory of the results that a run, in training with its gradient, computes.

    Args:
        run: the run.
        input_types: the types of the graph's inputs, and of the random state if it takes one.
        strategy: how results share memory; see `hybridnet.passes.memory`.
    """
    call, types = run.call, input_types
    graph = call.graph
    if call.split is not None:
        graph = joined(call.split)
        # From the last argument back, since backward comes to these first.
        heads, grads = graph.outputs[: run.num_results], graph.outputs[run.num_results :]
        graph = Graph(graph.inputs, (*heads, *reversed(grads)))
        types = (*types, *(call.output_types[i] for i in call.split.given))
    of_nodes = infer_types(graph, types)
    return PlannedGraph(graph, of_nodes, plan_memory(graph, of_nodes, strategy))
