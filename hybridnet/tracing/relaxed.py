"""`Relaxed`: sizes that keep changing are padded to a few, without being told to."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, final

from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import recorder

from .bucketed import Bucketed, TracedFunction
from .buckets import Buckets
from .call_arguments import CallArguments
from .padding_check import PaddingError


@final
class Relaxed:
    """The work of `reduce_retracing` for one function.

    Arrays that come in a second size along some axes, with all else as before, are padded to the
    next power of two along these from then on, if the function is one whose results do not depend
    on that (`hybridnet.tracing.padding_check`). Otherwise each size is traced, as without it.
    """

    def __init__(self, function: TracedFunction) -> None:
        self._function = function
        self._seen: dict[Hashable, tuple[tuple[int, ...], ...]] = {}
        self._bucketed: dict[Hashable, Bucketed] = {}
        self._refused: set[Hashable] = set()

    def __call__(self, given: CallArguments) -> Any:
        """Runs the function, on padded arrays if their sizes vary."""
        run = self._function.run
        if recorder.current_trace() is not None:
            return run(given)
        kind, shapes = _kind_and_shapes(given)
        if kind is None or kind in self._refused or any(0 in shape for shape in shapes):
            return run(given)
        bucketed = self._bucketed.get(kind) or self._vary(kind, shapes)
        if bucketed is None:
            return run(given)
        concrete = self._function.find_if_there(given)
        if concrete is not None:  # this very size has a trace
            return concrete.run(given.arguments.arrays)
        try:
            return bucketed(*given.args)
        except PaddingError:
            self._bucketed.pop(kind, None)
            self._refused.add(kind)
            return run(given)

    def _vary(self, kind: Hashable, shapes: tuple[tuple[int, ...], ...]) -> Bucketed | None:
        """Notes shapes; returns what pads, once they are seen to vary."""
        before = self._seen.setdefault(kind, shapes)
        if before == shapes:
            return None
        # Axes that change together, from one size to one other, are one length.
        groups: dict[tuple[int, int], dict[str | int, int]] = {}
        for place, (old, new) in enumerate(zip(before, shapes, strict=True)):
            changed = [axis for axis in range(len(old)) if old[axis] != new[axis]]
            if len({(old[axis], new[axis]) for axis in changed}) < len(changed):
                self._refused.add(kind)  # one array has a length twice: a square matrix
                return None
            for axis in changed:
                axes = groups.setdefault((old[axis], new[axis]), {})
                axes[place] = axis
        buckets = [Buckets(axes) for axes in groups.values()]
        made = Bucketed(self._function, buckets, (), strict=True)
        return self._bucketed.setdefault(kind, made)


def _kind_and_shapes(given: CallArguments) -> tuple[Hashable, tuple[tuple[int, ...], ...]]:
    """Returns what stays the same when sizes vary, and the shapes; None where nothing is padded.

    Only arrays that are arguments by themselves, by position, are; and those are not that have
    gradients.
    """
    shapes: list[tuple[int, ...]] = []
    kinds: list[Hashable] = []
    if given.kwargs or given.moved:
        return None, ()
    for arg in given.args:
        if not isinstance(arg, NDArray) or arg.edge is not None:
            return None, ()
        shapes.append(arg.shape)
        kinds.append((type(arg), arg.inferred_dtype, len(arg.shape), arg.context))
    return tuple(kinds), tuple(shapes)
