"""A launch is run again, operator by operator, from its inputs, while somebody looks on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np

from hybridnet import engine
from hybridnet.base.context import Context
from hybridnet.base.host_array import HostArray
from hybridnet.base.origins import CallSite
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph import ControlCall, Node, watching_nodes
from hybridnet.ops.core import Call
from hybridnet.ops.host import NoHostForm, by_jax, by_numpy

from ..platform.transfers import host_view
from ..programs.cache import cache
from ..segments.code import Code
from .opened import OpenedCall, opened

__all__ = ["Cell", "RerunStep", "rerun"]


@final
class Cell:
    """An array on its way through a launch, and what who looks on has noted of it.

    Attributes:
        array: NumPy's.
        note: anything.
    """

    __slots__ = ("array", "note")

    def __init__(self, array: Any, note: Any = None) -> None:
        self.array = array
        self.note = note


class RerunStep(NamedTuple):
    """One operator of a launch as it was run again.

    Attributes:
        call: the operator.
        inputs, outputs: the arrays; what is noted of the outputs goes on with them.
        scalars: the numbers that it took.
        place: where it was called.
        inside: the steps of the turns of a loop, or of a branch, that it is; empty for others.
    """

    call: Call
    inputs: Sequence[Cell]
    outputs: Sequence[Cell]
    scalars: Sequence[float]
    place: CallSite
    inside: Sequence[RerunStep] = ()


Look = Callable[[RerunStep], None]


def rerun(
    code: Code,
    inputs: Sequence[Any],
    scalars: Sequence[float],
    lines: Mapping[int, engine.Origin | None],
    look: Look,
    begin: Callable[[Sequence[Cell]], None] = lambda inputs: None,
) -> list[Cell]:
    """Runs a launch again, operator by operator.

    Args:
        code: its structure.
        inputs: the arrays that it was given.
        scalars: the numbers that it was given.
        lines: where its instructions were recorded, by the numbers of their first results.
        look: called after each operator, in the order in which they run.
        begin: called before the first with the inputs.

    Returns:
        Its outputs.
    """
    launch = opened(code, scalars, lines)
    given = [Cell(host_view(code.ctx, array)) for array in inputs]
    begin(given)
    uses = Counter(i for one in launch.calls for i in one.operands)
    uses.update(launch.outputs)
    results: dict[int, Cell] = {}
    count = 0
    for one in launch.calls:
        cells = [results[i] if i >= 0 else given[~i] for i in one.operands]
        for cell in _run(code.ctx, one, cells, look):
            results[count] = cell
            count += 1
        for i in one.operands:  # a network need not lie in memory as a whole
            uses[i] -= 1
            if i >= 0 and not uses[i]:
                del results[i]
    return [results[i] if i >= 0 else given[~i] for i in launch.outputs]


def _run(ctx: Context, one: OpenedCall, inputs: Sequence[Cell], look: Look) -> list[Cell]:
    call, _, scalars, site = one
    inside: list[RerunStep] = []
    arrays = [cell.array for cell in inputs]
    if isinstance(call, ControlCall):
        made = _run_control(ctx, call, arrays, scalars, site, inside)
    else:
        made = _compute(ctx, call, arrays, scalars)
    outputs = [Cell(array) for array in made]
    look(RerunStep(call, inputs, outputs, scalars, site, inside))
    return outputs


def _compute(
    ctx: Context, call: Call, arrays: Sequence[Any], scalars: Sequence[float]
) -> list[Any]:
    """Computes one operator by itself: by NumPy where it can, else by a program."""
    if ctx.device_type == "cpu":
        try:
            numbers = [*map(np.float64, scalars)]
            return [*map(np.asarray, by_numpy(call.evaluate, arrays, numbers))]
        except (NoHostForm, NotImplementedError):
            pass
    types = tuple(tensor_type(array.shape, array.dtype) for array in arrays)
    program, _ = cache.part(ctx, call, types)
    inputs: list[Any] = [HostArray(array, ctx) for array in arrays]
    return [*map(partial(host_view, ctx), by_jax(program.run, inputs, [*scalars]))]


def _run_control(
    ctx: Context,
    call: ControlCall,
    arrays: Sequence[Any],
    scalars: Sequence[float],
    outer: CallSite,
    inside: list[RerunStep],
) -> list[Any]:
    """Runs a loop or a branch; adds the steps of its turns to a list, where NumPy can run them."""
    turns: dict[Node, int] = {}
    called = outer.outer or outer.origin

    def note(node: Node, operands: Sequence[Any], own: Any, made: Sequence[Any]) -> None:
        turns[node] = turn = turns.get(node, -1) + 1
        place = CallSite(node.origin or called, called, node.name, turn)
        cells = [Cell(array) for array in operands], [Cell(array) for array in made]
        assert node.call is not None
        inside.append(RerunStep(node.call, *cells, [*map(float, own or ())], place))

    numbers = [*map(np.float64, scalars)]
    try:
        with watching_nodes(note):
            return [*map(np.asarray, by_numpy(call.evaluate, arrays, numbers))]
    except (NoHostForm, NotImplementedError):
        inside.clear()
        return _compute(ctx, call, arrays, scalars)
