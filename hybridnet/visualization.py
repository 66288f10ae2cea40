"""`viz`: pictures and tables of networks.

    hn.viz.print_summary(symbol, shape={"data": (1, 1, 28, 28)})
    hn.viz.plot_network(symbol, shape={"data": (1, 1, 28, 28)}).render("lenet")   # needs Graphviz
    hn.viz.draw_network(symbol, shape={"data": (1, 1, 28, 28)})                   # Matplotlib only

The packages for it come with the viz extra: ``pip install 'hybridnet[viz]'``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.symbol import Symbol

from ._network import Layer, import_extra, layers_of
from ._network_drawing import draw_network as draw_network

__all__ = ["draw_network", "plot_network", "print_summary"]

Shape = tuple[int, ...]

_NODE_STYLE: Final = {
    "shape": "box",
    "style": "filled",
    "fixedsize": "true",
    "width": "1.7",
    "height": "0.8",
}
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
    digraph = _digraph_type(import_extra("graphviz", "plot_network"))(
        name=title, format=save_format
    )
    style = {**_NODE_STYLE, **(node_attrs or {})}
    for one in layers:
        attrs = {**style, "fillcolor": one.color, "label": _label(one)}
        if one.operator == "null":
            attrs["shape"] = "oval"
        digraph.node(one.name, **attrs)
    for one in layers:
        for link in one.links:
            words = [link.dtype or "", "" if link.shape is None else _dimensions(link.shape)]
            label = " ".join(word for word in words if word)
            digraph.edge(one.name, link.source, dir="back", arrowtail="open", label=label)
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
    ends = [int(one * scale) for one in positions]
    print("_" * line_length)
    print(_row(_HEADINGS, ends))
    print("=" * line_length)
    for number, one in enumerate(layers):
        sources = [link.source for link in one.links] or [""]
        cells = (
            f"{one.name} ({one.operator})",
            "" if one.shape is None else _dimensions(one.shape),
            "" if one.num_parameters is None else f"{one.num_parameters}",
            sources[0],
        )
        print(_row(cells, ends))
        for source in sources[1:]:
            print(_row(("", "", "", source), ends))
        print(("=" if number == len(layers) - 1 else "_") * line_length)
    print(f"Total params: {_total([one.num_parameters for one in layers])}")
    states = _total([one.num_states for one in layers])
    if states != "0":
        print(f"Auxiliary states: {states}")
    print("_" * line_length)


def _total(sizes: Sequence[int | None]) -> str:
    known = [one for one in sizes if one is not None]
    return str(sum(known)) if len(known) == len(sizes) else "unknown; give shape= for it"


def _row(cells: Sequence[str], ends: Sequence[int]) -> str:
    line = ""
    for cell, end in zip(cells, ends, strict=True):
        line = (line + cell)[: max(end - 1, 0)].ljust(end)
    return line.rstrip()


def _label(layer: Layer) -> str:
    if layer.operator == "null":
        return layer.name
    return f"{layer.operator}\n{layer.facts}" if layer.facts else layer.name


def _dimensions(shape: Shape) -> str:
    return "x".join(map(str, shape[1:]))


@functools.cache
def _digraph_type(graphviz: Any) -> type:
    """Returns graphviz's Digraph, with an error that says what to do where ``dot`` is missing."""

    class Digraph(graphviz.Digraph):
        def render(self, *args: Any, **kwargs: Any) -> str:
            with _DotNeeded(graphviz):
                path: str = super().render(*args, **kwargs)
                return path

        def pipe(self, *args: Any, **kwargs: Any) -> Any:
            with _DotNeeded(graphviz):
                return super().pipe(*args, **kwargs)

    return Digraph


class _DotNeeded:
    """Turns the error of a missing ``dot`` into one with the ways out."""

    def __init__(self, graphviz: Any) -> None:
        self._missing = graphviz.ExecutableNotFound

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, self._missing):
            raise MXNetError(
                "plot_network: drawing needs the program dot of Graphviz, which is not on the "
                "PATH; install Graphviz with your system's package manager, use draw_network, "
                "which needs Matplotlib only, or take the text of the picture from .source"
            ) from error
