"""`CollectiveCall`: a collective call as an operator, of arrays and of graphs, with its gradient.

It runs on the host, as a task that all collective calls of the process are in order with, and never
inside of a compiled program: a graph that has one is run in stretches, with the call between them.
So it is the same program of XLA's, and is compared with what the other processes call, wherever it
is made. In a trace it is ordered, and kept though nothing reads what it gives, by `world`, as other
calls on the host are.

The loss whose gradients these are is the sum of the losses of all processes, as in PyTorch's
`torch.distributed.nn.functional`. Gradients are collective calls, too, so all processes make them,
or none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, final
from weakref import WeakValueDictionary

from hybridnet.base.context import Context
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import MXNetError
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.lazy import jax
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import Arrays, Backward, HostOnlyCall, Scalars, Types, only, registry
from hybridnet.runtime.recording import recorder
from hybridnet.runtime.tasks import push_task
from hybridnet.tracing import world

from .gang import current, size
from .programs import (
    AllGather,
    AllReduce,
    Broadcast,
    Collective,
    Kind,
    ProductOfOthers,
    Reduce,
    ReduceScatter,
    run_collective,
)

_IN_PROGRAM: Final = (
    "{call}: is made by all processes together, and is no part of a compiled program; take it out "
    "of the loop or branch it is in"
)

_made: Final[WeakValueDictionary[Any, CollectiveCall]] = WeakValueDictionary()

#: Applies a kind of call to handles.
_Apply = Callable[[Kind, Sequence[Any]], list[Any]]


@final
class CollectiveCall(HostOnlyCall):
    """A collective call of some arrays; made by `collective_call`.

    Args:
        kind: of call.
        count: how many arrays it takes.
        ordered: whether it has one more input and output, the world outside, by which a graph keeps
            it in its place.
        priority: of its task.
        of: the call that it is the gradient of, in words; or nothing.
    """

    __slots__ = ("_count", "_of", "_ordered", "kind", "mutates", "priority")
    refusal, fault = _IN_PROGRAM, MXNetError
    on_host = True
    in_order = True
    one_dtype = False
    symbolic_rule = False

    def __init__(self, kind: Kind, count: int, ordered: bool, priority: int, of: str) -> None:
        super().__init__(count + ordered)
        self.num_visible = count
        self.kind = kind
        self.priority = priority
        self.mutates = {count: count} if ordered else {}
        self._count = count
        self._ordered = ordered
        self._of = of

    @property
    def name(self) -> str:
        """As the functions are called."""
        return str(self.kind).partition("(")[0]

    def infer(self, types: Types) -> Types:
        """The kind of call says it."""
        given, world = types[: self._count], types[self._count :]
        shapes = [self.kind.shape(one.shape, size()) for one in given]
        made = [tensor_type(shape, one.dtype) for shape, one in zip(shapes, given, strict=True)]
        return (*made, *world)

    def run_on_host(
        self, ctx: Context, values: Arrays, scalars: Scalars, record: object
    ) -> list[Any]:
        """Makes the call, as a task after the calls before it."""
        gang = current()
        if gang is None:
            raise MXNetError(f"{self}: was traced in a gang, and this process is in none any more")
        given = list(values[: self._count])
        types = tuple(value.type for value in given)
        plan = Collective(self.kind, types)
        what = f"{self._of and f'the gradient of {self._of}: '}{plan}"

        def run(*inputs: jax.Array) -> Sequence[DeviceArray]:
            return gang.run(what, lambda: run_collective(plan, inputs))

        kinds = self.infer(types)
        made = push_task(
            run, given, kinds, writes=[gang.order], priority=self.priority, name=str(self.kind)
        )
        return [*made, *values[self._count :]]

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Makes the calls that `_GRADIENTS` has; of all arrays of floats, whichever are wanted.

        So processes that want the gradients of different ones make the same calls.
        """
        inputs, outputs = back.inputs[: self._count], back.outputs[: self._count]
        floats = [i for i, x in enumerate(inputs) if is_float(x.type.dtype)]
        if not any(back.wanted[i] for i in floats):
            return [None] * len(back.inputs)
        heads = [
            outputs[i].zeros_like() if back.grads[i] is None else back.grads[i] for i in floats
        ]
        of = self._of or str(self.kind)

        def apply(kind: Kind, arrays: Sequence[Any]) -> list[Any]:
            return apply_collective(kind, arrays, self.priority, of)

        rule = _GRADIENTS[type(self.kind)]
        found = rule(self.kind, *([x[i] for i in floats] for x in (inputs, outputs)), heads, apply)
        return back.placed(floats, found)

    def __repr__(self) -> str:
        return str(self.kind)


def collective_call(
    kind: Kind, count: int, *, ordered: bool = False, priority: int = 0, of: str = ""
) -> CollectiveCall:
    """Returns the one `CollectiveCall` of these arguments; see there."""
    made: CollectiveCall = only(_made, (kind, count, ordered, priority, of), CollectiveCall)
    return made


def apply_collective(kind: Kind, handles: Sequence[Any], priority: int, of: str = "") -> list[Any]:
    """Applies a kind of call to arrays, or to edges of a graph; in a trace in its place there.

    Args:
        handles: what it is applied to, on one device.
        priority, of: see `CollectiveCall`.

    Returns:
        As many handles.
    """
    ordered = isinstance(handles[0], NDArray) and recorder.current_trace() is not None
    call = collective_call(kind, len(handles), ordered=ordered, priority=priority, of=of)
    given = [*handles, world(handles[0].context)] if ordered else handles
    made: list[Any] = type(handles[0]).apply_call(call, given, ())
    return made[: len(handles)]


# -- gradients: (kind, inputs, outputs, gradients of these, apply) -> gradients of the inputs ------

_Handles = Sequence[Any]


def _of_all_reduce(
    kind: AllReduce, xs: _Handles, ys: _Handles, heads: _Handles, apply: _Apply
) -> _Handles:
    if kind.op in ("sum", "mean"):
        return apply(kind, heads)
    totals = apply(AllReduce("sum"), heads)
    return _multiplied(xs, totals, apply) if kind.op == "prod" else _shared(xs, ys, totals, apply)


def _of_reduce_scatter(
    kind: ReduceScatter, xs: _Handles, ys: _Handles, heads: _Handles, apply: _Apply
) -> _Handles:
    totals = apply(AllGather(kind.axis), heads)
    if kind.op in ("sum", "mean"):
        return totals if kind.op == "sum" else [one / size() for one in totals]
    if kind.op == "prod":
        return _multiplied(xs, totals, apply)
    return _shared(xs, apply(AllGather(kind.axis), ys), totals, apply)


def _of_all_gather(
    kind: AllGather, xs: _Handles, ys: _Handles, heads: _Handles, apply: _Apply
) -> _Handles:
    return apply(ReduceScatter("sum", kind.axis), heads)


def _of_broadcast(
    kind: Broadcast, xs: _Handles, ys: _Handles, heads: _Handles, apply: _Apply
) -> _Handles:
    return apply(Reduce(kind.root), heads)


def _of_reduce(
    kind: Reduce, xs: _Handles, ys: _Handles, heads: _Handles, apply: _Apply
) -> _Handles:
    return apply(Broadcast(kind.root), heads)


def _of_product(
    kind: ProductOfOthers, xs: _Handles, ys: _Handles, heads: _Handles, apply: _Apply
) -> _Handles:
    raise MXNetError(
        "all_reduce, reduce_scatter: the gradient of op='prod' has no gradient itself; gather the "
        "arrays (all_gather) and multiply them"
    )


def _multiplied(xs: _Handles, totals: _Handles, apply: _Apply) -> _Handles:
    """Returns the gradients of what was multiplied, from those of the products."""
    others = apply(ProductOfOthers(), xs)
    return [total * other for total, other in zip(totals, others, strict=True)]


def _shared(xs: _Handles, extremes: _Handles, totals: _Handles, apply: _Apply) -> _Handles:
    """Returns the gradients of what the extremes were taken of, from those of the extremes.

    Those that are equal to one share its gradient in equal parts, as in TensorFlow's `reduce_max`.
    """
    equal = registry.get("broadcast_equal")
    pairs = zip(xs, extremes, strict=True)
    held = [x.apply_operator(equal, [x, extreme], {}) for x, extreme in pairs]
    counts = apply(AllReduce("sum"), held)
    return [total * one / n for total, one, n in zip(totals, held, counts, strict=True)]


_GRADIENTS: Final[dict[type, Callable[..., Sequence[Any]]]] = {
    AllReduce: _of_all_reduce,
    ReduceScatter: _of_reduce_scatter,
    AllGather: _of_all_gather,
    Broadcast: _of_broadcast,
    Reduce: _of_reduce,
    ProductOfOthers: _of_product,
}
