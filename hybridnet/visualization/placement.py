"""`plot_placement`: which device of a mesh has which part of an array, or of parameters.

What is drawn is only asked of arrays, not read from them: nothing is sent between devices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, final

from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.mesh import Mesh
from hybridnet.base.placement import Split
from hybridnet.gluon import Block, Parameter
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.placed import regions_of

from .placement_drawing import Held, PlacementPicture, drawn_array, drawn_table

__all__ = ["PlacementPicture", "plot_placement"]

_WHAT: Final = "plot_placement"
#: Devices that are drawn; of larger meshes the first ones.
_MOST: Final = 64
_UNITS: Final = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def plot_placement(what: NDArray | Parameter | Block) -> PlacementPicture:
    """Draws which device of a mesh has which part of an array, or how a network's parameters lie.

    Of an array, or of one parameter: each device's box shows the array with its part filled, the
    range of indices that this is, and how large it is. Boxes of one color hold the same. Of a
    network: a line for each parameter, with its placement, and the bytes that a device holds of it.

    What makes the array is launched; it is neither waited for, nor are parts sent anywhere.

    Args:
        what: the array, parameter, or network.

    Returns:
        The picture. Notebooks show it, ``str`` and the prompt give it as text, and
        ``.save("parts.svg")`` writes it.

    Raises:
        ParameterError: it is none of these, or lies on no mesh.

    Examples:
        >>> x = nd.ones((4, 3), ctx=hn.Mesh({"data": 2}), placement=hn.parallel.split(0))
        >>> print(hn.viz.plot_placement(x))
        (4, 3) float32 on Mesh(data=2)
        split(0) over data
        24 of 48 bytes on each device
        data 0: cpu(0) has [0:2, :]
        data 1: cpu(1) has [2:4, :]
    """
    if isinstance(what, Block):
        return _of_block(what)
    if isinstance(what, Parameter):
        if not what.is_initialized:
            raise ParameterError(
                f"{_WHAT}: {what.name!r} has no value yet; initialize it, or run the network once"
            )
        return _of_array(what.name, what.data(what.list_ctx()[0]))
    if isinstance(what, NDArray):
        return _of_array("", what)
    raise ParameterError(
        f"{_WHAT}: requires an array, a parameter or a block, got {type(what).__name__}"
    )


@final
@dataclass(frozen=True, slots=True)
class _Line:
    """The line of a parameter in a network's picture.

    Attributes:
        name: as files have it.
        shape: its shape.
        dtype: and dtype, in words.
        lies: its placement, in words.
        held: bytes on a device.
        size: bytes of the whole.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    lies: str
    held: int = 0
    size: int = 0


def _of_array(name: str, array: NDArray) -> PlacementPicture:
    regions = regions_of(array, _WHAT)
    mesh = array.context
    assert isinstance(mesh, Mesh)
    dtype = as_dtype(array.dtype)
    held = _sizes(dtype.itemsize * _count(regions[0]), dtype.itemsize * array.size)
    head = f"{name} {array.shape} {dtype} on {mesh}".lstrip()
    lines = [head, _placement_words(array), f"{held} on each device"]
    parts = [
        Held(device, region, _range_words(region, array.shape))
        for device, region in zip(_devices(mesh), regions, strict=True)
    ]
    places = _places(mesh.axes)
    said = (f"{at}: {one.device} has {one.words}" for at, one in zip(places, parts, strict=True))
    text = "\n".join([*lines, *said])
    *outer, inner = mesh.axes
    across = mesh.axes[inner]
    if outer:
        lines[-1] += f"; from left to right: {inner}"
    if len(parts) > _MOST:
        lines.append(f"the first {_MOST} of {len(parts)} devices")
    rows = {
        label: parts[i * across : (i + 1) * across]
        for i, label in enumerate(_places({name: mesh.axes[name] for name in outer}))
        if i * across < _MOST
    }
    return PlacementPicture(name or "array", text, drawn_array(lines, rows, array.shape))


def _of_block(net: Block) -> PlacementPicture:
    found: dict[Parameter, str] = {}
    for name, param in net.structural_params().items():  # one that layers share has several names
        found.setdefault(param, name)
    if not any(isinstance(ctx, Mesh) for param in found for ctx in _contexts(param)):
        raise ParameterError(
            f"{_WHAT}: requires a network that has parameters on a mesh, got none in {net.name!r}; "
            "lay it there with initialize(ctx=hn.Mesh(...)), or with hn.parallel"
        )
    lines = [_line(name, param) for param, name in found.items()]
    held, size = sum(line.held for line in lines), sum(line.size for line in lines)
    meshes = {str(ctx) for param in found for ctx in _contexts(param) if isinstance(ctx, Mesh)}
    head = f"{net.name}: {len(lines)} parameters on {', '.join(sorted(meshes))}"
    facts = f"{_sizes(held, size)} on each device"
    rows = [
        (one.name, f"{one.shape} {one.lies}", _sizes(one.held, one.size), one.held, one.size)
        for one in lines
    ]
    return PlacementPicture(net.name, _table(head, facts, lines), drawn_table([head, facts], rows))


def _contexts(param: Parameter) -> Sequence[object]:
    try:
        return param.list_ctx()
    except MXNetError:  # nobody has initialized it
        return ()


def _line(name: str, param: Parameter) -> _Line:
    if not param.is_initialized:
        return _Line(name, param.shape or (), "", "no value yet")
    array = param.data(param.list_ctx()[0])
    dtype = as_dtype(array.dtype)
    kind = array.shape, str(dtype)
    size = dtype.itemsize * array.size
    if not isinstance(array.context, Mesh):
        return _Line(name, *kind, f"on {', '.join(map(str, param.list_ctx()))}", size, size)
    held = dtype.itemsize * _count(regions_of(array, _WHAT)[0])
    return _Line(name, *kind, _placement_words(array), held, size)


def _count(region: Sequence[slice]) -> int:
    """Returns how many elements a region has."""
    return math.prod(one.stop - one.start for one in region)


def _table(head: str, facts: str, lines: Sequence[_Line]) -> str:
    """Returns a network's lines as text in columns."""
    cells = [
        (one.name, f"{one.shape} {one.dtype}", one.lies, _sizes(one.held, one.size))
        for one in lines
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rows = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)
    return "\n".join([head, facts, *rows])


def _placement_words(array: NDArray) -> str:
    """Returns a placement in words: ``split(0) over data``; "whole" where no axis is split."""
    try:
        placement: Mapping[str, Split] = array.placement
    except ParameterError:
        return "as XLA chose"
    split = [f"{how} over {axis}" for axis, how in placement.items() if how.axis is not None]
    return ", ".join(split) or "whole"


def _places(axes: Mapping[str, int]) -> list[str]:
    """Returns the places of some axes, the last first: ``data 0, model 1``."""
    ranges = ([f"{name} {i}" for i in range(size)] for name, size in axes.items())
    return [", ".join(place) for place in product(*ranges)]


def _devices(mesh: Mesh) -> list[str]:
    """Returns the names of a mesh's devices, those of all its processes."""
    own = [str(ctx) for ctx in mesh.contexts]
    if mesh.processes == 1:
        return own
    return [f"{name} of {rank}" for rank in range(mesh.processes) for name in own]


def _range_words(region: Sequence[slice], shape: Sequence[int]) -> str:
    """Returns a region as one would index it: ``[0:2, :]``."""
    words = (
        ":" if (one.start, one.stop) == (0, size) else f"{one.start}:{one.stop}"
        for one, size in zip(region, shape, strict=True)
    )
    return f"[{', '.join(words)}]"


def _sizes(held: int, size: int) -> str:
    """Returns what a device holds of a number of bytes, in words: ``1.2 of 9.6 MiB``."""
    for unit, scale in _UNITS:
        if size >= scale:
            return f"{held / scale:.3g} of {size / scale:.3g} {unit}"
    return f"{held} of {size} bytes"
