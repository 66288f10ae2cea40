"""`Runner`: the variables of a session, and the runs that read and change them.

The values are one dict that is never changed: a run reads one, and puts another in its place when
all its results are there. So readers in other threads see all of a run's updates or none, whoever
holds a value holds a snapshot, and an error or a Ctrl-C in the midst of a run changes nothing.
Memory is the price: the old values live until the new ones are there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_owners import owns_arrays
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.device_name import DeviceName
from hybridnet.base.errors import MXNetError
from hybridnet.base.locks import free_in_children
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.engine import RLock
from hybridnet.graph import Node
from hybridnet.ndarray import NDArray, array
from hybridnet.ndarray.copies import put
from hybridnet.ops.random import initial_state
from hybridnet.runtime.calls import PreparedCall
from hybridnet.runtime.placing import list_devices
from hybridnet.runtime.recording import Value, generator, recorder
from hybridnet.runtime.tasks import awaited

from .metadata import Trace
from .step import (
    Request,
    RunStep,
    SessionProgram,
    TypeOf,
    made_for_types,
    make_program,
    make_step,
)

#: Requests that are remembered; the least recently used give way.
_LIMIT: Final = 256
#: How many runs that change variables may be under way while another one begins.
_AHEAD: Final = 1
#: Larger arrays are copied into memory that XLA takes as its own, bytes.
_SMALL_BYTES: Final = 1 << 20
#: Dtypes that JAX narrows, unless it is told not to.
_WIDE_DTYPES: Final = frozenset(map(np.dtype, ("float64", "int64")))


@owns_arrays
@final
class Runner:
    """The variables of a session, by node, and its programs.

    Args:
        ctx: where nodes run that nothing is said of.
        constants: values of nodes that stand for large constants.
        expected: the type that a node's value would have, where that is known.
        missing: the error for a node that has no value.
        seed: where its random numbers begin; None: they are the context's generator's.
        soft: whether nodes that cannot be on their device are put on another.

    Attributes:
        step: returns the step of a `Request`, which is made once.
        timeout: seconds that a run may wait for others; None: any.
    """

    timeout: float | None = None

    def __init__(
        self,
        ctx: Context,
        constants: Mapping[Node, NumpyArray],
        expected: Callable[[Node], TensorType | None],
        missing: Callable[[Node], MXNetError],
        seed: int | None,
        soft: bool,
    ) -> None:
        self.ctx = ctx
        self._constants = constants
        self._expected = expected
        self._missing = missing
        self._soft = soft
        self._held: Mapping[Node, NDArray] = {}
        self._kept: dict[Node, NDArray] = {}
        self._random: NDArray | None = None
        if seed is not None:
            self._random = NDArray.from_value(put(np.array(initial_state(seed)), ctx), ctx)
        self.step: Final = lru_cache(_LIMIT)(make_step)
        self._under_way: deque[Value] = deque()
        self._lock: Final = free_in_children(RLock())

    @staticmethod
    def devices() -> list[DeviceName]:
        """Returns the devices of this process."""
        return [one.name for one in list_devices()]

    @property
    def variables(self) -> Mapping[Node, NDArray]:
        """The values of the variables, which nobody changes: a run puts another dict here."""
        return self._held

    def named_arrays(self) -> list[tuple[str, NDArray]]:
        """Returns the values of the variables, each with its name."""
        return [(node.name, value) for node, value in self._held.items()]

    def set(self, values: Mapping[Node, NDArray]) -> None:
        """Gives variables values, all at once."""
        with self._lock:
            self._held = {**self._held, **values}

    def clear(self) -> None:
        """Forgets all values and programs."""
        with self._lock:
            self._held = {}
            self.step.cache_clear()
            self._kept.clear()

    def run(
        self, request: Request, feeds: Sequence[Any], trace: Trace | None = None
    ) -> list[NDArray]:
        """Runs a request; `trace`, if given, notes what runs when.

        Args:
            feeds: NumPy arrays or NDArrays, in the order of the request's feeds.

        Returns:
            The outputs; they may still be being computed.

        Raises:
            MXNetError: a value is missing, or a node fails; the message names it. Variables are
                as they were before.
        """
        return self.run_step(self.step(request), feeds, trace)

    def run_step(
        self, step: RunStep, feeds: Sequence[Any], trace: Trace | None = None
    ) -> list[NDArray]:
        """Runs a request, as `run` does, of which `step` has made the step."""
        if recorder.current_trace() is not None:
            raise MXNetError(
                "session: a traced function (hn.function or hybridize()) is one program and cannot "
                "run a session; run it outside"
            )
        with self._lock if step.exclusive else nullcontext():
            return self._run(step, feeds, trace)

    def _run(self, step: RunStep, feeds: Sequence[Any], trace: Trace | None) -> list[NDArray]:
        held = self._held
        inputs = step.graph.inputs
        given: list[Any] = [self._value(node, held) for node in inputs[: len(inputs) - len(feeds)]]
        given += feeds
        program = self._program(step, given, held)
        state = self._random_state(program.ctx) if program.draws else None
        made = dispatch(program, given, state) if trace is None else None
        if made is None:
            pairs = zip(program.reads, program.contexts, strict=False)
            values = [_on(ctx, given[number]) for number, ctx in pairs]
            made = _computed(program, values if state is None else [*values, state], trace)
        self._commit(program, made)
        outputs = zip(made[: program.num_heads], program.results, strict=False)
        return [NDArray.from_value(value, ctx) for value, ctx in outputs]

    def _value(self, node: Node, held: Mapping[Node, NDArray]) -> NDArray | None:
        found = held.get(node)
        if found is not None:
            return found
        found = self._kept.get(node)
        if found is None and (constant := self._constants.get(node)) is not None:
            found = self._kept[node] = array(constant, self.ctx, constant.dtype)
        return found

    def _program(
        self, step: RunStep, given: Sequence[Any], held: Mapping[Node, NDArray]
    ) -> SessionProgram:
        types = tuple([None if value is None else _type(value) for value in given])
        key: Any = types
        values = {}
        if step.values:
            values = {
                step.graph.inputs[i]: _host(given[i]) for i in step.values if given[i] is not None
            }
            key = (types, *(array.tobytes() for array in values.values()))
        found = step.programs.get(key)
        if found is None:
            places = {node: value.context for node, value in held.items()}

            def make(type_of: TypeOf, expected: TypeOf) -> SessionProgram:
                return make_program(step, type_of, expected, values, places, self.ctx, self._soft)

            known = dict(zip(step.graph.inputs, types, strict=True))
            made = made_for_types(step, known, self._expected, self._missing, make)
            if len(step.programs) >= _LIMIT:
                step.programs.clear()
            found = step.programs.setdefault(key, made)
        return found

    def _random_state(self, ctx: Context) -> Value:
        if self._random is None:
            return generator.state_of(ctx).read()
        return self._random.as_in_context(ctx).read()

    def _commit(self, program: SessionProgram, made: Sequence[Value]) -> None:
        """Makes the results of a run the variables' values."""
        writes = program.writes
        if not writes and not program.draws:
            return
        start = program.num_heads
        new = {
            node: NDArray.from_value(value, ctx)
            for node, value, ctx in zip(writes, made[start:], program.results[start:], strict=False)
        }
        if program.draws:
            state = made[start + len(writes)]
            if self._random is None:
                generator.state_of(program.ctx).write(state)
            else:
                self._random = NDArray.from_value(state, program.ctx)
        if new:
            with self._lock:
                self._held = {**self._held, **new}
                self._under_way.append(made[start])
                # Values that nobody will read take memory until their run has ended.
                if len(self._under_way) > _AHEAD:
                    recorder.wait(self._under_way.popleft())


def dispatch(
    program: SessionProgram, given: Sequence[Any], state: Value | None
) -> list[Value] | None:
    """Dispatches a program that is compiled, without recording it.

    Small arrays that are fed go to XLA as they are: making JAX arrays of them first takes ten times
    as long as the dispatch.

    Args:
        given: the inputs of its step, NumPy arrays and NDArrays.
        state: of the random generator, if it draws.

    Returns:
        Its outputs; None where it has to be recorded, or is on several devices.

    Raises:
        OpError: it failed.
    """
    if program.parts is not None:
        return None
    prepared = program.prepared or _prepare(program)
    if prepared is None:
        return None
    recorder.mark()
    arrays: list[Any] = []
    hosts = wide = False
    for number in program.reads:
        value = given[number]
        if type(value) is np.ndarray:
            if program.takes_arrays_of_numpy and value.nbytes <= _SMALL_BYTES:
                arrays.append(value.copy())  # whose it is may change it at once
                hosts = True
                wide = wide or value.dtype in _WIDE_DTYPES
                continue
            value = array(value, program.ctx, value.dtype)
        elif value.context is not program.ctx:
            return None
        arrays.append(value.read().array)
    if state is not None:
        arrays.append(state.array)
    made = prepared(arrays, wide=wide)
    if made is None and hosts:
        program.takes_arrays_of_numpy = False
    return made


def _prepare(program: SessionProgram) -> PreparedCall | None:
    call = program.call
    count = len(call.input_types)
    program.prepared = PreparedCall.pure(
        program.ctx, call, call.input_types, program.scalars, count, range(count)
    )
    return program.prepared


def _computed(program: SessionProgram, values: Sequence[Value], trace: Trace | None) -> list[Value]:
    """Runs a program; its results have been dispatched, and none has failed so far."""
    recorder.mark()
    with awaited():  # what has effects may be all that was asked for
        if trace is not None:
            made = trace.run(program, values)
        elif program.parts is not None:
            made = program.parts.run(values, program.scalars)
        else:
            call = program.call
            made = recorder.record(program.ctx, call, values, program.scalars, call.output_types)
            recorder.flush()
        for value in made:
            recorder.ready_array(value)
    return made


def _type(given: Any) -> TensorType:
    if type(given) is np.ndarray:
        return tensor_type(given.shape, given.dtype)
    found: TensorType = given.type
    return found


def _host(given: Any) -> NumpyArray:
    found: NumpyArray = given if type(given) is np.ndarray else given.asnumpy()
    return found


def _on(ctx: Context, given: Any) -> Value:
    """Returns a value on a device."""
    if type(given) is np.ndarray:
        given = array(given, ctx, given.dtype)
    elif given.context is not ctx:
        given = given.as_in_context(ctx)
    found: Value = given.read()
    return found
