"""Networks at later stages of their life: after each pass, and cut up for several devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hybridnet.base.errors import ParameterError
from hybridnet.executor import Executor
from hybridnet.graph import Edge, Graph, Node, infer_types
from hybridnet.ops.core import Types
from hybridnet.passes import (
    PIPELINE,
    DevicePart,
    RecvCall,
    SendCall,
    Transfer,
    optimize,
    passes_by_name,
    size_of,
)
from hybridnet.symbol import Symbol
from hybridnet.symbol.optimization import with_context

from .digraph import add_layers, frame, new_digraph
from .layers import layers_of_nodes, short_device

#: Boxes that the next pass takes away, and those that the last one put in.
_GOING: Final = {"color": "#c0392b", "penwidth": "3", "style": "filled,dashed"}
_NEW_STYLE: Final = {"color": "#27803b", "penwidth": "3"}
_LINK: Final = {"color": "#c0392b", "penwidth": "2"}


def plot_passes(
    symbol: Symbol,
    passes: Sequence[str] | None = None,
    unsafe: bool = False,
    train: bool = False,
    save_format: str = "pdf",
    hide_weights: bool = True,
    type_dict: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Draws a network as it is written, and after each pass that changed it.

    A box with a dashed red line is gone after the next pass that changes something; one with a
    thick green line was put in by this pass. Above each picture stand the numbers of nodes, and the
    rules that fired.

    Args:
        symbol: the network.
        passes: which are run, by name; default those of `hybridnet.passes.PIPELINE` that run by
            default.
        unsafe, train, type_dict: see `Symbol.optimize`.
        save_format: of the files that ``render`` writes: 'pdf', 'svg', 'png', ...
        hide_weights: leave out the parameters and auxiliary states.
        kwargs: shapes of inputs by name.

    Returns:
        Pictures (``graphviz.Digraph``) by name: 'written', and then by pass.

    Raises:
        ImportError: the package graphviz is not installed.
        ParameterError: `symbol` is no symbol, or there is no such pass.
        MXNetError: the shapes do not tell all others.
    """
    if not isinstance(symbol, Symbol):
        raise ParameterError(f"plot_passes: needs a Symbol, got {type(symbol).__name__}")
    graph, context = with_context(
        symbol, unsafe, train, type_dict=type_dict, function="plot_passes", **kwargs
    )
    chosen = (
        [pass_ for pass_ in PIPELINE if pass_.by_default]
        if passes is None
        else passes_by_name(passes)
    )
    stages = [("written", f"as written: {size_of(graph)} nodes", graph)]
    for pass_ in chosen:
        before = stages[-1][2]
        after, report = optimize(before, context, [pass_])
        if after is not before and _facts(after) != _facts(before):
            (record,) = report.records
            rules = "".join(f"\\n{rule} x{count}" for rule, count in record.fired.items())
            title = f"{pass_.name}: {size_of(before)} -> {size_of(after)} nodes{rules}"
            stages.append((pass_.name, title, after))
    facts = [_facts(graph) for _, _, graph in stages]
    pictures: dict[str, Any] = {}
    for number, (name, title, graph) in enumerate(stages):
        last = facts[number - 1] if number else facts[0]
        following = facts[number + 1] if number + 1 < len(stages) else facts[-1]
        attrs = {"label": title, "labelloc": "t"}
        picture = new_digraph("plot_passes", f"{number}-{name}", save_format, **attrs)
        layers = layers_of_nodes(
            graph.nodes, _shapes(context.types(graph)), {}, _auxiliary(graph), hide_weights
        )
        marks = {
            layer.name: (_NEW_STYLE if _fact(layer.node) not in last else {})
            | (_GOING if _fact(layer.node) not in following else {})
            for layer in layers
        }
        add_layers(picture, layers, marks=marks)
        pictures[name if name not in pictures else f"{name}#{number}"] = picture
    return pictures


def plot_partitions(
    executor: Executor, is_train: bool = False, save_format: str = "pdf", hide_weights: bool = True
) -> list[Any]:
    """Draws what each device does of a network that is bound to several.

    The layers of a device stand in a frame. A thick line leads from each Send to its Recv, with the
    name and the type of the tensor.

    Args:
        executor: the network, bound.
        is_train: forward as it is in training, and backward.
        save_format: of the files that ``render`` writes: 'pdf', 'svg', 'png', ...
        hide_weights: leave out the parameters and auxiliary states.

    Returns:
        Pictures (``graphviz.Digraph``) of forward, and in training of backward; none where it is
        bound to one device.

    Raises:
        ImportError: the package graphviz is not installed.
        ParameterError: `executor` is none.
    """
    if not isinstance(executor, Executor):
        raise ParameterError(f"plot_partitions: needs an Executor, got {type(executor).__name__}")
    pictures = []
    for number, cut in enumerate(executor.partitioned(is_train)):
        title = "backward" if number else "forward"
        picture = new_digraph("plot_partitions", title, save_format, label=title, labelloc="t")
        ends: dict[Transfer, dict[str, str]] = {}
        for place, (device, part) in enumerate(cut.parts.items()):
            prefix = f"{place}/"
            types = infer_types(part.graph, [cut.call.input_types[i] for i in part.inputs])
            layers = layers_of_nodes(
                _nodes(part), _shapes(types), {}, _auxiliary(part.graph), hide_weights
            )
            marks: dict[str, dict[str, str]] = {}
            for layer in layers:
                call = layer.node.call
                if isinstance(call, (SendCall, RecvCall)):
                    found = ends.setdefault(call.transfer, {"type": str(call.type)})
                    found[call.name] = prefix + layer.name
                    marks[layer.name] = {"fillcolor": "white", **_LINK}
            with frame(picture, short_device(device), place) as inside:
                add_layers(inside, layers, marks=marks, prefix=prefix, framed=False)
        for transfer, found in ends.items():
            label = f"{transfer.tensor}\n{found['type']}"
            picture.edge(found["_Recv"], found["_Send"], dir="back", label=label, **_LINK)
        pictures.append(picture)
    return pictures


def _nodes(part: DevicePart) -> Sequence[Node]:
    """Returns the nodes of a part, the Recv nodes that nothing reads included."""
    return tuple(dict.fromkeys((*part.graph.nodes, *part.receives)))


def _shapes(types: Mapping[Node, Types]) -> dict[Edge, tuple[int, ...]]:
    return {
        Edge(node, index): output.shape
        for node, outputs in types.items()
        for index, output in enumerate(outputs)
    }


def _auxiliary(graph: Graph) -> set[str]:
    """Returns the names of the variables that a node overwrites."""
    return {
        node.inputs[position].node.name
        for node in graph.nodes
        if node.call is not None
        for position in node.call.mutates
        if node.inputs[position].node.is_variable
    }


def _fact(node: Node) -> Any:
    """Returns a node's visible facts: nodes that only read others anew are the same."""
    return node.name, node.call, node.scalars


def _facts(graph: Graph) -> set[Any]:
    return {_fact(node) for node in graph.nodes}
