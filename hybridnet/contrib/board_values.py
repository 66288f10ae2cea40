"""Arrays and networks for TensorBoard: images side by side, and nodes of a graph."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.errors import DTypeError, ParameterError, ShapeError
from hybridnet.events import Node
from hybridnet.gluon import HybridBlock
from hybridnet.symbol import Symbol

__all__ = ["image_grid", "network_nodes"]

Array = np.ndarray[Any, Any]

_IN_A_ROW: Final = 8  # images of a batch
_APART: Final = 2  # pixels between them, which are black


def image_grid(image: Any) -> Array:
    """Returns images as one, as mxboard lays them out.

    Args:
        image: (height, width), (channels, height, width) or (batch, channels, height, width), with
            1 or 3 channels: uint8, or floats from 0 to 1.

    Returns:
        (height, width, 3) of uint8, red first; several images are rows of eight, with black lines
        around them.

    Raises:
        ShapeError: the array has other dimensions.
        DTypeError: its numbers are neither uint8 nor floats.
        ParameterError: floats are below 0 or above 1, or no numbers.
    """
    given = np.asarray(image)
    batch = given.reshape((1,) * max(4 - given.ndim, 0) + given.shape)
    if given.ndim < 2 or batch.ndim != 4 or batch.shape[1] not in (1, 3) or not batch.size:
        raise ShapeError(
            "add_image: image must be (height, width), (channels, height, width) or (batch, "
            f"channels, height, width) with 1 or 3 channels, got shape {given.shape}"
        )
    pixels = np.repeat(_pixels(batch), 3 // batch.shape[1], axis=1).transpose(0, 2, 3, 1)
    return pixels[0] if len(pixels) == 1 else _side_by_side(pixels)


def _pixels(values: Array) -> Array:
    """Returns numbers as whole ones from 0 to 255."""
    if values.dtype == np.uint8:
        return values
    if not np.issubdtype(values.dtype, np.floating):
        raise DTypeError(f"add_image: image must be uint8 or floats, got {values.dtype}")
    low, high = values.min(), values.max()
    if not (low >= 0 and high <= 1):  # also where one is NaN
        raise ParameterError(
            f"add_image: floats of an image must be from 0 to 1, got {low} to {high}"
        )
    # In less than 32 bits, 255 times a number may be rounded up to the next whole one.
    wide = values.astype(np.promote_types(values.dtype, np.float32))
    return (wide * 255).astype(np.uint8)


def _side_by_side(pixels: Array) -> Array:
    """Returns images of (batch, height, width, 3) as one."""
    count, height, width, _ = pixels.shape
    across = min(_IN_A_ROW, count)
    down = -(-count // across)
    size = (down * (height + _APART) + _APART, across * (width + _APART) + _APART, 3)
    grid = np.zeros(size, np.uint8)
    for number, one in enumerate(pixels):
        row, column = divmod(number, across)
        top, left = row * (height + _APART) + _APART, column * (width + _APART) + _APART
        grid[top : top + height, left : left + width] = one
    return grid


def network_nodes(net: Any) -> list[Node]:
    """Returns the nodes of a network.

    A variable that one operator reads is in that operator's group, so that a layer is one box; the
    first variable is not, which is what data comes in by.

    Args:
        net: a Symbol, or a HybridBlock, of which the variables are as many as its last call on
            arrays had arguments, and one without a call.

    Raises:
        ParameterError: it is something else.
    """
    if isinstance(net, HybridBlock):
        net = net._cached_graph[1]
    if not isinstance(net, Symbol):
        raise ParameterError(f"add_graph: needs a Symbol or a HybridBlock, got {type(net)}")
    nodes: list[dict[str, Any]] = json.loads(net.tojson())["nodes"]
    names = list(_grouped_names(nodes))
    return [
        Node(
            name,
            node["op"],
            [f"{names[at]}:{out}" if out else names[at] for at, out, *_ in node["inputs"]],
            # TensorBoard shows quotes with a stroke before each.
            attr=(
                {"param": json.dumps(node["attrs"], sort_keys=True).replace('"', " ")}
                if "attrs" in node
                else {}
            ),
        )
        for name, node in zip(names, nodes, strict=True)
    ]


def _grouped_names(nodes: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yields the name of each node behind that of its group."""
    reads = [{at for at, *_ in node["inputs"]} for node in nodes]
    readers = Counter(at for one in reads for at in one)
    reader = {at: number for number, one in enumerate(reads) for at in one}
    for number, node in enumerate(nodes):
        if node["op"] != "null":
            yield f"{node['name']}/{node['name']}"
        elif number and readers[number] == 1:
            yield f"{nodes[reader[number]]['name']}/{node['name']}"
        else:
            yield node["name"]
