"""`plot_network` and `print_summary`: a network as MXNet draws it, and as a table."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hybridnet.base.array_types import Shape
from hybridnet.base.errors import ParameterError
from hybridnet.symbol import Symbol

from .digraph import add_layers, dimensions, new_digraph
from .layers import layers_of

_POSITIONS: Final = (0.44, 0.64, 0.74, 1.0)
_HEADINGS: Final = ("Layer (type)", "Output Shape", "Param #", "Previous Layer")


def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, Shape] | None = None,
    dtype: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, str] | None = None,
    hide_weights: bool = True,
) -> Any:
    """Draws a network with Graphviz: the inputs at the bottom, a box for each layer.

    Layers that name a device (``with hn.device(...)``) or a group of devices stand in a frame with
    its name and color. A dashed line is a control edge: no value goes along it.

    Args:
        symbol: the network.
        title: of the picture; also the name of its file.
        save_format: of the file that ``render`` writes: 'pdf', 'svg', 'png', ...
        shape: shapes of inputs by name; the lines are labelled with shapes then, without the batch.
        dtype: dtypes of inputs by name; the lines are labelled with dtypes then.
        node_attrs: Graphviz attributes for all boxes.
        hide_weights: leave out the parameters and auxiliary states.

    Returns:
        A ``graphviz.Digraph``. Notebooks show it; ``render()`` writes the file. Both run Graphviz's
        program ``dot``, which is no Python package; `draw_network` does without.

    Raises:
        ImportError: the package graphviz is not installed.
        ParameterError, ShapeError: see `print_summary`.
    """
    layers = layers_of("plot_network", symbol, shape, dtype, hide_weights)
    repeated = [name for name, count in Counter(symbol.list_inputs()).items() if count > 1]
    if repeated:
        warnings.warn(
            "plot_network: There are multiple variables with the same name in your graph, which "
            f"are drawn as they are and cannot be bound: {', '.join(repeated)}",
            stacklevel=2,
        )
    digraph = new_digraph("plot_network", title, save_format)
    add_layers(digraph, layers, node_attrs=node_attrs)
    return digraph


def print_summary(
    symbol: Symbol,
    shape: Mapping[str, Shape] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = _POSITIONS,
) -> None:
    """Prints a table of a network's layers: output shape (without the batch), parameters, inputs.

    Args:
        symbol: the network.
        shape: shapes of inputs by name; without them shapes and sizes stay blank.
        line_length: characters in a line.
        positions: where the columns end, as shares of a line, or in characters.

    Raises:
        ParameterError: `symbol` is no symbol, or `positions` are not four increasing numbers.
        ShapeError: the shapes given do not tell all others.
    """
    if len(positions) != len(_HEADINGS) or list(positions) != sorted(positions):
        raise ParameterError(
            f"print_summary: positions must be {len(_HEADINGS)} increasing numbers, got {positions}"
        )
    layers = layers_of("print_summary", symbol, shape)
    scale = line_length if positions[-1] <= 1 else 1
    ends = [int(position * scale) for position in positions]
    print("_" * line_length)
    print(_row(_HEADINGS, ends))
    print("=" * line_length)
    for number, layer in enumerate(layers):
        sources = [link.source for link in layer.links] or [""]
        cells = (
            f"{layer.name} ({layer.operator})",
            "" if layer.shape is None else dimensions(layer.shape),
            "" if layer.num_parameters is None else f"{layer.num_parameters}",
            sources[0],
        )
        print(_row(cells, ends))
        for source in sources[1:]:
            print(_row(("", "", "", source), ends))
        print(("=" if number == len(layers) - 1 else "_") * line_length)
    print(f"Total params: {_total([layer.num_parameters for layer in layers])}")
    states = _total([layer.num_states for layer in layers])
    if states != "0":
        print(f"Auxiliary states: {states}")
    print("_" * line_length)


def _total(sizes: Sequence[int | None]) -> str:
    known = [size for size in sizes if size is not None]
    return str(sum(known)) if len(known) == len(sizes) else "unknown; give shape= for it"


def _row(cells: Sequence[str], ends: Sequence[int]) -> str:
    line = ""
    for cell, end in zip(cells, ends, strict=True):
        line = (line + cell)[: max(end - 1, 0)].ljust(end)
    return line.rstrip()
