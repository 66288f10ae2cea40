"""Hooks on operators: a hybridized block is run node by node, and each one's arrays are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from hybridnet import autograd, symbol
from hybridnet.graph import Edge, Node, topological
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import OpCall
from hybridnet.symbol import Symbol
from hybridnet.tracing import flatten, unflatten

#: Operators whose inputs have no names in MXNet, which then numbers them.
_NAMELESS: Final = frozenset({"Activation"})


class OpHook(NamedTuple):
    """A function ``callback(name, operator, array)``, whose names are bytes as in MXNet.

    Attributes:
        callback: the function.
        monitor_all: whether it is also shown what operators are given.
    """

    callback: Callable[[bytes, bytes, NDArray], object]
    monitor_all: bool

    def show(self, name: str, call: OpCall, array: NDArray) -> None:
        """Calls the function."""
        self.callback(name.encode(), call.operator.name.encode(), array)


def run_watched(
    compose: Callable[..., Any],
    args: tuple[Any, ...],
    values: dict[str, NDArray],
    hooks: Sequence[OpHook],
) -> Any:
    """Runs a block on arrays, one operator after the other, and shows hooks what each makes.

    Args:
        compose: makes the block's symbol of variables, which stand for the arrays.
        args: the arrays, in lists where the block takes them so.
        values: the parameters by name.
        hooks: to whom it is shown.
    """
    leaves, tree = flatten(args)
    arrays = [number for number, leaf in enumerate(leaves) if isinstance(leaf, NDArray)]
    given = dict(values)
    for number in arrays:
        name = f"data{number}" if len(arrays) > 1 else "data"
        given[name], leaves[number] = leaves[number], _variable(name, leaves[number])
    outputs, form = flatten(compose(*unflatten(tree, leaves)))
    edges = [edge for output in outputs for edge in output.edges]
    training = autograd.is_training()
    made: dict[Edge, NDArray] = {}
    for node in topological(edges):
        if node.call is None:
            made[Edge(node, 0)] = given[node.name]
            continue
        inputs = [made[edge] for edge in node.inputs]
        call = node.call.with_train(training) if isinstance(node.call, OpCall) else node.call
        results = NDArray.apply_call(call, inputs, node.scalars)
        made.update((Edge(node, index), result) for index, result in enumerate(results))
        _show(node, inputs, results, hooks)
    return unflatten(form, [made[edge] for edge in edges])


def _variable(name: str, array: NDArray) -> Symbol:
    variable = symbol.var(name)
    return variable if array.kind_of_results is None else variable.as_np_ndarray()


def _show(
    node: Node, inputs: Sequence[NDArray], results: Sequence[NDArray], hooks: Sequence[OpHook]
) -> None:
    if not isinstance(node.call, OpCall):
        return
    shown = list(zip(_output_names(node), results, strict=False))
    for hook in hooks:
        if hook.monitor_all:
            for name, array in zip(_input_names(node), inputs, strict=True):
                hook.show(name, node.call, array)
        for name, array in shown:
            hook.show(name, node.call, array)


def _output_names(node: Node) -> list[str]:
    assert node.call is not None
    return Symbol([Edge(node, index) for index in range(node.call.num_visible)]).list_outputs()


def _input_names(node: Node) -> Iterator[str]:
    call = node.call
    assert isinstance(call, OpCall)
    names = call.input_names(len(node.inputs))
    for number in range(len(node.inputs)):
        known = call.operator.name not in _NAMELESS and number < len(names)
        yield f"{node.name}_{names[number] if known else f'input{number}'}"
