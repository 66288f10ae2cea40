"""Layers as Graphviz draws them: boxes and lines in the text of a Digraph."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final

from hybridnet.base.errors import MXNetError

from .layers import Layer, import_extra

# Inches and points. Boxes are as large as their words, and these are the smallest; MXNet's are all
# of one size, over which longer names flow. Deep networks are to be read without much scrolling.
_NODE_STYLE: Final = {
    "shape": "box",
    "style": "filled",
    "fixedsize": "false",
    "width": "1.2",
    "height": "0.3",
    "margin": "0.08,0.03",
    "fontsize": "11",
}
_ARROW: Final = {"dir": "back", "arrowtail": "open", "arrowsize": "0.7", "fontsize": "10"}
_SPACE: Final = {"ranksep": "0.2", "nodesep": "0.2"}
#: The colors of devices, in the order of their names: the ground of a frame and its line.
_DEVICES: Final = (
    ("#eef3fb", "#4a78b8"),
    ("#fdf4e6", "#c07a1e"),
    ("#eef8ee", "#4b9150"),
    ("#f8eef6", "#a04d8c"),
    ("#f3f3e4", "#8a8a2c"),
    ("#eaf7f7", "#2f8f8f"),
)


def new_digraph(function: str, title: str, save_format: str, **attrs: str) -> Any:
    """Returns an empty picture with Graphviz attributes; `function` is for messages.

    Raises:
        ImportError: the package graphviz is not installed.
    """
    kind = _digraph_type(import_extra("graphviz", function))
    return kind(name=title, format=save_format, graph_attr={**_SPACE, **attrs})


def add_layers(
    digraph: Any,
    layers: Sequence[Layer],
    *,
    node_attrs: Mapping[str, str] | None = None,
    marks: Mapping[str, Mapping[str, str]] | None = None,
    prefix: str = "",
    framed: bool = True,
) -> None:
    """Draws layers, the lines between them, and a frame around those of each device.

    Args:
        digraph: the picture.
        layers: each after those it takes values from.
        node_attrs: Graphviz attributes of all boxes.
        marks: further ones of single boxes, by the layer's name.
        prefix: what tells these boxes from others of the same names in the picture.
        framed: whether devices get frames.
    """
    style = {**_NODE_STYLE, **(node_attrs or {})}
    devices = sorted({layer.device for layer in layers} - {""}) if framed else []
    for number, device in enumerate(["", *devices], -1):
        with frame(digraph, device, number) if device else nullcontext(digraph) as part:
            for layer in layers:
                if not framed or layer.device == device:
                    attrs = {**style, "fillcolor": layer.color, "label": _label(layer)}
                    if layer.operator == "null":
                        attrs["shape"] = "oval"
                    attrs |= (marks or {}).get(layer.name, {})
                    part.node(prefix + layer.name, **attrs)
    for layer in layers:
        for link in layer.links:
            words = [link.dtype or "", "" if link.shape is None else dimensions(link.shape)]
            label = " ".join(word for word in words if word)
            ends = prefix + layer.name, prefix + link.source
            digraph.edge(*ends, **_ARROW, label=label)
        for before in layer.controls:
            ends = prefix + layer.name, prefix + before
            digraph.edge(*ends, **_ARROW, style="dashed", color="#888888")


def frame(digraph: Any, device: str, number: int) -> Any:
    """Returns a context that gives the part of a picture in which a device's layers are drawn.

    `number` says which of the picture's devices it is, for its color.
    """
    ground, line = _DEVICES[number % len(_DEVICES)]
    return digraph.subgraph(
        name=f"cluster_{device}",
        graph_attr={
            "label": device,
            "style": "filled,rounded",
            "fillcolor": ground,
            "color": line,
            "fontcolor": line,
            "labeljust": "l",
        },
    )


def dimensions(shape: tuple[int, ...]) -> str:
    """Returns a shape without the batch, as MXNet writes it: ``4x6x6``."""
    return "x".join(map(str, shape[1:]))


def _label(layer: Layer) -> str:
    if layer.operator == "null":
        return layer.name
    return f"{layer.operator}\n{layer.facts}" if layer.facts else layer.name


@functools.cache
def _digraph_type(graphviz: Any) -> type:
    """Returns graphviz's Digraph, with an error that says what to do where ``dot`` is missing."""

    class Digraph(graphviz.Digraph):
        def render(self, *args: Any, **kwargs: Any) -> str:
            with _dot_needed(graphviz):
                path: str = super().render(*args, **kwargs)
                return path

        def pipe(self, *args: Any, **kwargs: Any) -> Any:
            with _dot_needed(graphviz):
                return super().pipe(*args, **kwargs)

    return Digraph


@contextmanager
def _dot_needed(graphviz: Any) -> Iterator[None]:
    """Turns the error of a missing ``dot`` into one with the ways out."""
    try:
        yield
    except graphviz.ExecutableNotFound as error:
        raise MXNetError(
            "plot_network: drawing needs the program dot of Graphviz, which is not on the "
            "PATH; install Graphviz with your system's package manager, use draw_network, "
            "which needs Matplotlib only, or take the text of the picture from .source"
        ) from error
