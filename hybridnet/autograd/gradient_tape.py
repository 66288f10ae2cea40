"""`GradientTape`: TensorFlow's way to ask for gradients, over autograd's own tape."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final, Literal, final

from hybridnet import tape
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import DTypeError, MXNetError, ParameterError
from hybridnet.base.nested import leaves_of, with_leaves
from hybridnet.ndarray import NDArray
from hybridnet.tape import backward as run_backward

from ._function_call import heads_of
from .scopes import Scope

__all__ = ["GradientTape"]


class _Thread(threading.local):
    """The tapes that this thread is in, outermost first."""

    def __init__(self) -> None:
        self.tapes: list[GradientTape] = []


_thread: Final = _Thread()


@final
class GradientTape:
    """Records operations, and differentiates what they computed.

        x = hn.nd.array([3.0])
        with hn.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        dy = tape.gradient(y, x)

    Arrays with `attach_grad`, and so the Parameters of blocks, are watched by themselves. Unlike
    `autograd.record` it does not switch to training mode, and writes to no `grad` array. What an
    inner tape differentiates inside an outer one is recorded by the outer one, for gradients of
    gradients. It works inside an `hn.function`, and around one.

    Args:
        persistent: whether `gradient` may be called several times.
        watch_accessed_variables: whether arrays with `attach_grad` are watched by themselves; else
            only what `watch` names has gradients.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watches_all = watch_accessed_variables
        self._scope = Scope(True, None)
        self._is_on = False
        # Whether somebody else wants what is recorded, too.
        self._is_shared = False
        self._is_used = False
        # By id: the array, where it is on the tape, and whether this tape has put it there.
        self._watched: dict[int, tuple[NDArray, tape.Edge, bool]] = {}

    def __enter__(self) -> GradientTape:
        if self._is_on:
            raise MXNetError("GradientTape: it is recording already; make another one")
        around = _thread.tapes
        if around or tape.state.recording:
            self._is_shared = True
            for outer in around:
                outer._is_shared = True
        around.append(self)
        self._scope.__enter__()
        self._is_on, self._is_used = True, False
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._scope.__exit__(kind, error, traceback)
        _thread.tapes.remove(self)
        self._is_on = False
        for array, edge, is_ours in self._watched.values():
            if is_ours and array.edge is edge:
                array.set_edge(None)

    def watch(self, tensor: Any) -> None:
        """Asks for the gradients of an array, or of each in nested lists, tuples and dicts.

        Raises:
            MXNetError: the tape is not recording.
            DTypeError: an array is not of floats.
        """
        if not self._is_on:
            raise MXNetError("GradientTape.watch: call it inside `with hn.GradientTape() as tape:`")
        for array in _arrays_of(tensor, "what it watches"):
            if not is_float(array.inferred_dtype):
                raise DTypeError(
                    f"GradientTape.watch: only arrays of floats have gradients, got {array.type}"
                )
            edge = array.edge
            is_new = edge is None or not edge.node.wanted
            if is_new:
                leaf = tape.Leaf(None, "write")
                leaf.watched = True
                edge = tape.Edge(leaf, 0)
                array.set_edge(edge)
            assert edge is not None
            self._watched.setdefault(id(array), (array, edge, is_new))

    def stop_recording(self) -> Scope:
        """Returns a scope in which nothing is recorded, by this tape or one around it."""
        return Scope(False, None)

    def reset(self) -> None:
        """Forgets what was watched; what was recorded goes with the arrays that were computed."""
        self._watched.clear()
        self._is_used = False

    def watched_variables(self) -> tuple[NDArray, ...]:
        """Returns the arrays that `watch` named."""
        return tuple(array for array, _, _ in self._watched.values())

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Literal["none", "zero"] = "none",
    ) -> Any:
        """Returns the gradient of `target` with respect to each of `sources`.

        Args:
            target: an array, or nested lists, tuples and dicts of arrays, whose gradients add up.
            sources: an array or Parameter, or nested lists, tuples and dicts of these.
            output_gradients: the gradients of the targets, in their structure; None for ones.
            unconnected_gradients: what stands for the gradient of a source that no target depends
                on: 'none' for None, or 'zero'.

        Returns:
            Gradients in the structure of `sources`.

        Raises:
            MXNetError: a tape that is not persistent was asked before.
            ParameterError: an argument is of another kind.
        """
        if unconnected_gradients not in ("none", "zero"):
            raise ParameterError(
                "GradientTape.gradient: unconnected_gradients must be 'none' or 'zero', got "
                f"{unconnected_gradients!r}"
            )
        if self._is_used and not self._persistent:
            raise MXNetError(
                "GradientTape.gradient: a tape that is not persistent answers once; ask for all "
                "sources together, or make it with persistent=True"
            )
        self._is_used = True
        heads, wanted = _arrays_of(target, "target"), _arrays_of(sources, "sources")
        given: Sequence[Any] = [None] * len(heads)
        if output_gradients is not None:
            given = _arrays_of(output_gradients, "output_gradients")
        if len(given) != len(heads):
            raise ParameterError(
                f"GradientTape.gradient: needs one of output_gradients for each of {len(heads)} "
                f"targets, got {len(given)}"
            )
        found = self._run(heads, given, [self._place(array) for array in wanted])
        if unconnected_gradients == "zero":
            found = heads_of(found, wanted)
        return with_leaves(sources, found)

    def _place(self, array: NDArray) -> NDArray | None:
        """Returns a source with its place on the tape; None if it has none."""
        watched = self._watched.get(id(array))
        if watched is None:
            is_leaf = array.edge is not None and type(array.edge.node) is tape.Leaf
            if array.edge is None or (is_leaf and not self._watches_all):
                return None
            return array if array.edge.node.wanted else None
        placed = array.detach()
        placed.set_edge(watched[1])
        return placed

    def _run(
        self, heads: list[NDArray], given: Sequence[Any], sources: list[NDArray | None]
    ) -> list[Any]:
        """Walks the tape; returns a gradient for each source, or None."""
        placed = zip(map(self._place, heads), given, strict=True)
        pairs = [(head, grad) for head, grad in placed if head is not None]
        targets = [source for source in sources if source is not None]
        if not pairs or not targets:
            return [None] * len(sources)
        recording = tape.state.recording
        found = run_backward(
            *zip(*pairs, strict=True),
            retain_graph=self._persistent or self._is_shared or recording,
            create_graph=recording,
            train_mode=tape.state.training,
            targets=targets,
        )
        grads = iter(found)
        return [None if source is None else next(grads) for source in sources]


def _arrays_of(given: Any, what: str) -> list[NDArray]:
    """Returns the arrays in a structure; that of a Parameter stands for it."""
    found = []
    for leaf in leaves_of(given):
        read: Callable[[], Any] | None = getattr(leaf, "data", None)
        array = leaf if isinstance(leaf, NDArray) or not callable(read) else read()
        if not isinstance(array, NDArray):
            raise ParameterError(
                f"GradientTape: {what} must be NDArrays, Parameters, or nested lists, tuples and "
                f"dicts of them, got {type(leaf).__name__}"
            )
        found.append(array)
    return found
