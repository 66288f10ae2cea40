"""The placements of a network's parameters on a mesh, said from outside of the network.

Whatever is said, the network computes the same: XLA divides the work by how the arrays lie, and
puts in what devices have to tell each other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from hybridnet.base.errors import ParameterError
from hybridnet.base.mesh import Mesh
from hybridnet.base.placement import BROADCAST, Placement, Split, split
from hybridnet.gluon import Block, Parameter

__all__ = ["COLUMNS", "ROWS", "data", "fully_sharded", "tensor"]

#: Of a dense layer's weight (units, inputs) and bias: each device computes some of the units.
COLUMNS = split(0)
#: Of a weight: each device computes with some of the inputs, of which all then add up the results.
ROWS = split(1)

#: Parameters with fewer elements stay whole: to bring their parts together would take longer.
_SMALL = 1024


def data(net: Block, mesh: Mesh) -> None:
    """Replicates all parameters on each device, for batches that are split: data parallel training.

    Args:
        net: with parameters that are initialized, or not yet.
        mesh: where they lie from now on.
    """
    _check_axis("data", mesh, None)
    for param in net.collect_params().values():
        param.place(mesh, None)


def fully_sharded(net: Block, mesh: Mesh, axis: str = "data", least: int = _SMALL) -> None:
    """Splits each parameter, its gradient and the optimizer's states over the devices.

    A layer brings the parts of its own together when it computes. (Rajbhandari et al., "ZeRO",
    2020.)

    Args:
        net: with parameters that are initialized, or not yet.
        mesh: where they lie from now on.
        axis: along which axis of the mesh; batches are split along it, too.
        least: how many elements a parameter has at least that is split.
    """
    _check_axis("fully_sharded", mesh, axis)
    for param in net.collect_params().values():
        used = param.used or param.lies or _whole  # as `tensor` said, before or after this
        param.place(mesh, partial(_sharded, mesh, axis, least, used), used)


def tensor(net: Block, mesh: Mesh, plan: Mapping[str, Split], axis: str = "model") -> None:
    """Splits the weights of layers over devices that compute them together: tensor parallelism.

    Of two dense layers in a row the first is split by `COLUMNS` and the second by `ROWS`: then
    devices have to tell each other nothing in between. So it is for the heads of an attention and
    the layer that follows. (Shoeybi et al., "Megatron-LM", 2019.)

    Args:
        net: with parameters that are initialized, or not yet.
        mesh: where they lie from now on.
        plan: regular expressions for the names of parameters -> how they are split; of several that
            match the first counts. Names are those in files: ``0.weight``, ``layers.2.query.bias``.
            Other parameters are whole on each device.
        axis: along which axis of the mesh.

    Raises:
        ParameterError: no parameter's name matches one of the expressions, or the devices cannot
            have equal parts of one.
    """
    _check_axis("tensor", mesh, axis)
    params = net.structural_params()
    for pattern in plan:
        if not any(re.search(pattern, name) for name in params):
            raise ParameterError(
                f"tensor: {pattern!r} requires a parameter that it matches, got {_some(params)}"
            )
    chosen: dict[Parameter, Split] = {}
    for name, param in params.items():  # one that layers share has several names
        how = next((how for pattern, how in plan.items() if re.search(pattern, name)), None)
        if how is not None:
            chosen.setdefault(param, how)
    for param in dict.fromkeys(params.values()):
        param.place(mesh, {axis: chosen.get(param, BROADCAST)})


def _sharded(
    mesh: Mesh, axis: str, least: int, under: Any, shape: tuple[int, ...]
) -> Mapping[str, Split]:
    """Returns the placement that splits the largest axis of an array that can be split."""
    held: Placement = (under(shape) if callable(under) else under) or {}
    held = dict(held) if isinstance(held, Mapping) else {next(iter(mesh.axes)): held}
    taken = {one.axis % len(shape) for one in held.values() if one.axis is not None}
    fits = [i for i, size in enumerate(shape) if size % mesh.axes[axis] == 0 and i not in taken]
    if math.prod(shape) < least or not fits:
        return held
    return {**held, axis: Split(max(fits, key=lambda i: shape[i]))}


def _whole(shape: tuple[int, ...]) -> Placement:
    return {}


def _check_axis(what: str, mesh: Mesh, axis: str | None) -> None:
    if not isinstance(mesh, Mesh):
        raise ParameterError(f"{what}: requires a Mesh, got {mesh!r}")
    if axis is not None and axis not in mesh.axes:
        raise ParameterError(f"{what}: {mesh} has no axis {axis!r}")


def _some(names: Mapping[str, Any]) -> str:
    first = list(names)[:5]
    return ", ".join(first) + (" ..." if len(names) > len(first) else "")
