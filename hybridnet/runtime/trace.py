"""A trace: the recording of a function, kept as a graph instead of being launched.

While a thread traces, its recorder hands every call to the trace, and every Storage asks the trace
what it holds. Arrays from outside become inputs when they are read, and outputs when they are
written; arrays made inside belong to the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hybridnet.base.attrs import HostScalar
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError
from hybridnet.ops.call import Call, Types

from . import recorder
from .segment import Segment, Value

__all__ = ["Trace", "host_scalars"]


class Trace:
    """One tracing of one function.

    Attributes:
        ctx: the device that everything in it is on; known at the first array.
        segment: what has been recorded.
        reads: arrays from outside that were read, and the Values that stand for them.
        writes: arrays from outside that were written, and their Values now.
        sources: what is asked for numbers at each call, and how many it gives.
    """

    def __init__(self) -> None:
        self.ctx: Context | None = None
        self.segment = Segment(Context("cpu", 0))
        self.segment.traced = True
        self.reads: dict[Any, Value] = {}
        self.writes: dict[Any, Value] = {}
        self.sources: list[tuple[Callable[[], Sequence[float]], list[HostScalar]]] = []
        self._outer: Any = None

    def __enter__(self) -> Trace:
        self._outer = recorder.set_trace(self)
        return self

    def __exit__(self, *exc: object) -> None:
        recorder.set_trace(self._outer)

    def append(
        self, ctx: Context, call: Call, values: tuple[Value, ...], scalars: Any, types: Types
    ) -> list[Value]:
        """Records one call."""
        if self.ctx is None:
            self.ctx = self.segment.ctx = ctx
        elif self.ctx is not ctx:
            raise MXNetError(
                f"{call.name}: a traced function runs on one device: it began on {self.ctx}, "
                f"and this is on {ctx}"
            )
        for value in values:
            foreign = value.segment
            if foreign is not None and foreign is not self.segment:
                # A value from before the trace (autograd keeps some): a constant of this trace.
                if foreign.traced:
                    raise MXNetError(f"{call.name}: an array of another trace was used here")
                recorder.launch(foreign)
        self.segment.size += sum(one.nbytes for one in types)
        return self.segment.append(call, values, scalars, types)

    def argument(self, storage: Any) -> Value:
        """Declares an input; what is read from this Storage is it."""
        value = self.reads[storage] = Value(storage.type)
        return value

    def read(self, storage: Any) -> Value:
        """Returns what a Storage from outside holds now, in the trace."""
        value = self.writes.get(storage)
        if value is None:
            value = self.reads.get(storage)
        return self.argument(storage) if value is None else value

    def write(self, storage: Any, value: Value) -> None:
        """Notes that a Storage from outside is overwritten."""
        self.writes[storage] = value

    def host_scalars(self, source: Callable[[], Sequence[float]], count: int) -> list[HostScalar]:
        """Notes numbers to be asked for at each call."""
        made = [HostScalar(source, index) for index in range(count)]
        self.sources.append((source, made))
        return made


def host_scalars(source: Callable[[], Sequence[float]], count: int) -> list[Any]:
    """Returns numbers that Python must compute anew each time (a scheduled learning rate).

    Outside a trace they are computed now. In a trace `source` will be called at each call of the
    traced function, and what is returned stands for its results; it can be given to `Scalar`
    parameters of operators only.

    Args:
        source: returns the numbers, and may change Python state (count a step).
        count: how many.
    """
    trace = recorder.current_trace()
    if trace is not None:
        made: list[Any] = trace.host_scalars(source, count)
        return made
    numbers = [float(one) for one in source()]
    if len(numbers) != count:
        raise MXNetError(f"host_scalars: expected {count} numbers, got {len(numbers)}")
    return numbers
