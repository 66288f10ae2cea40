"""Programs that NumPy runs: single instructions, by their operators' host forms.

Compiling an operator for XLA takes tens of milliseconds; running it on NumPy arrays takes some
microseconds. So an instruction that runs only a few times runs here. It is compiled when its runs
have taken as long, all together, as compiling it takes; or at once, if a single run would.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from operator import attrgetter
from time import perf_counter
from typing import Any, Final, final
from weakref import WeakSet

import numpy as np

from hybridnet.base import config
from hybridnet.base.allocator import has_room, keep_memory
from hybridnet.base.context import Context
from hybridnet.base.host_array import DeviceArray, HostArray
from hybridnet.base.interrupts import is_from_signal
from hybridnet.base.memory_limits import address_space
from hybridnet.graph import ControlCall
from hybridnet.ops.core import Call, Types
from hybridnet.ops.host import (
    FUNCTIONS,
    HOST_DTYPES,
    NoHostForm,
    by_numpy,
    on_host_in,
    straight_line,
)
from hybridnet.passes import DeviceCost, operations

from ..platform.background import hook
from ..platform.blas_threads import keep_to_limit, others
from ..platform.jax_devices import on_device, put
from ..platform.transfers import fetch
from ..segments.code import Code
from ..tiers.choice import is_small
from ..tiers.ledger import Account, current
from ..tiers.prices import prices
from .room import LEAST_BYTES, look_for_room, tight_limit

Array = np.ndarray[Any, Any]

#: With no more elements than this no operator runs as long as it would be compiled: a product or a
# convolution takes at most the square of their number of operations.
FEW_ELEMENTS: Final = 1 << 14

# How fast NumPy is, before anything has run.
_NUMPY: Final = DeviceCost()
# NumPy runs an operator in pieces, of which some are there at once: up to so many arrays as large
# as the largest that it reads or returns (BatchNorm, Pooling).
_TEMPORARY_ARRAYS: Final = 4
_ARRAYS: Final = frozenset({np.ndarray})
_HOST_ARRAYS: Final = frozenset({HostArray})
_ON_HOST: Final = _ARRAYS | _HOST_ARRAYS
_numpy_of: Final = attrgetter("numpy")
_new: Final = object.__new__

# Calls that turned out to have no host form.
_without: Final[WeakSet[Call]] = WeakSet()


@final
class HostProgram:
    """Runs one instruction by its host form.

    Args:
        code: a structure of one instruction.
        types: the types of all its results.
        account: where its runs are noted.
    """

    __slots__ = (
        *("_alone", "_call", "_code", "_compute", "_can_straighten", "_is_timed", "_numbers"),
        *("_inside", "_is_far", "_might", "_operands", "_rent", "_size", "_wanted"),
    )

    def __init__(self, code: Code, types: Types, account: Account) -> None:
        """Raises NoHostForm where there is none."""
        self._code = code
        ((self._call, operands),) = code.instructions
        self._operands = tuple([~i for i in operands])
        self._wanted = [(i, types[i]) for i in code.outputs]
        self._rent, self._alone = account.by_numpy, account.by_steps
        self._size = sum([kind.nbytes for _, kind in self._wanted])
        largest = [kind.nbytes for kind in (*types, *code.input_types)]
        inputs = tuple([code.input_types[i] for i in self._operands])
        self._inside = 0
        if isinstance(self._call, ControlCall):
            self._inside = self._call.largest_inside(inputs)
            largest.append(self._inside)
        self._might = _TEMPORARY_ARRAYS * max(largest, default=0)
        self._is_timed = True
        self._is_far = code.ctx.is_accelerator
        self._compute, self._numbers, self._can_straighten = self._call.host_form(inputs)

    def __call__(
        self, inputs: Sequence[DeviceArray], numbers: Sequence[float]
    ) -> list[DeviceArray]:
        """Runs it on arrays of JAX or `HostArray`; returns such.

        Raises:
            NoHostForm: see `run`.
        """
        started = perf_counter()
        operands = [*map(inputs.__getitem__, self._operands)]
        made = by_numpy(self.run, operands, numbers)
        arrays = put_owned(self._code.ctx, made)
        ended = perf_counter()
        self._alone.note(ended - started)
        if ended > others.due:
            others.look(ended)
        return arrays

    def run(
        self,
        operands: Sequence[Any],
        numbers: Sequence[float],
        spare: Array | None = None,
    ) -> list[Array]:
        """Runs it on arrays; returns NumPy arrays, which may be views of the inputs.

        The caller is inside `by_numpy`.

        Args:
            operands: of the instruction, in its order: arrays of JAX or NumPy, or `HostArray`.
            numbers: the numbers that the call takes beside them.
            spare: the first operand, if the call returns it with a part changed (`Call.rewrites`)
                and may change it in place, as nothing else refers to it; else None.

        Raises:
            NoHostForm: NumPy cannot run it, with these arrays or at all.
            OutOfMemoryError: there is no room for its results.
        """
        if self._might >= _TEMPORARY_ARRAYS * LEAST_BYTES:
            self._look_for_room(0 if spare is not None else self._size)
        started = perf_counter() if self._is_timed else 0.0
        kinds = {*map(type, operands)}
        if kinds != _ARRAYS:
            if kinds == _HOST_ARRAYS:
                operands = [*map(_numpy_of, operands)]
            elif self._is_far and not kinds <= _ON_HOST:
                operands = _fetched(operands)
                started = perf_counter()
            else:
                operands = [*map(in_host_memory, operands)]
        if numbers:
            given = zip(self._numbers, numbers, strict=True)
            operands = [*operands, *[number(value) for number, value in given]]
        try:
            if spare is None:
                results = self._compute(operands)
            else:
                results = on_host_in(spare, FUNCTIONS, self._compute, operands)
        except NoHostForm:
            _without.add(self._call)
            raise
        except Exception as error:  # if the call is wrong, running it by XLA will say how
            if is_from_signal(error):
                raise
            if isinstance(error, MemoryError):
                look_for_room(self._code, self._might)
            raise NoHostForm(str(error)) from error
        several = type(results) is tuple or type(results) is list
        made = []
        for number, kind in self._wanted:
            array = results[number] if several else results
            if type(array) is not np.ndarray:
                array = np.asarray(array)
            if array.shape != kind.shape or array.dtype != kind.dtype:
                _without.add(self._call)
                raise NoHostForm(f"{array.dtype}{array.shape} instead of {kind}")
            # Give the array itself and not a view of all of it, so that it can be rewritten again.
            made.append(spare if spare is not None and array.base is spare else array)
        rent = self._rent
        if self._is_timed:
            rent.note(perf_counter() - started)
            self._is_timed = not is_small(rent, prices)
        else:
            rent.runs += 1
            if self._can_straighten and rent.seconds > prices.passes:
                self._can_straighten = False
                self._straighten(operands)
        return made

    def _look_for_room(self, size: int) -> None:
        """Sees that there is room for the results, and for what NumPy makes on the way.

        Args:
            size: bytes of the results.

        Raises:
            NoHostForm: XLA may need less, and says how much before it runs. (Where addresses have
                a limit NumPy raises an error by itself, and XLA's compiler may end the process.)
            OutOfMemoryError: there is not even room for the results.
        """
        if tight_limit(self._might) is None:
            return
        # What is made inside of a loop XLA may do without, but not an array that no machine has
        # room for, which it would take hours to compile.
        look_for_room(self._code, size if has_room(self._inside) else self._inside)
        if not address_space() and config.host() != "only":
            raise NoHostForm("too little memory")

    def _straighten(self, operands: Sequence[Any]) -> None:
        """Replaces the lowering by its straight line, if it has one; see `straight_line`."""
        with suppress(Exception):  # what the lowering refuses, XLA will say
            self._compute = straight_line(self._compute, operands)


def in_host_memory(array: Any) -> Array:
    """Returns an array of JAX, or a `HostArray`, as one of NumPy."""
    return array.numpy if type(array) is HostArray else np.asarray(array)


def _fetched(operands: Sequence[Any]) -> list[Array]:
    """Returns operands of which some are on an accelerator; notes how long that took the launch."""
    started = perf_counter()
    made = [*map(fetch, operands)]
    whole = current.account
    if whole is not None:
        whole.note_waited(perf_counter() - started)
    return made


def put_owned(ctx: Context, arrays: Sequence[Array], *, stay: bool = False) -> list[DeviceArray]:
    """Returns what programs run on, of NumPy arrays; copies those that may share memory.

    Args:
        ctx: the context. On cpu(0), and on accelerators if they are small, they become `HostArray`,
            and stay NumPy's until a program of XLA's reads them; on others, arrays of JAX.
        arrays: of NumPy's.
        stay: whether they become `HostArray` on others, too.
    """
    far = ctx.is_accelerator
    if ctx.device_id and not (stay or far):
        return put(ctx, _owned(arrays))
    made: list[DeviceArray] = []
    for x in arrays:
        flags = x.flags
        if not (flags.owndata and flags.carray):  # nor if it was there before: see the next lines
            x = np.array(x, order="C")
            flags = x.flags
        flags.writeable = False
        array = _new(HostArray)
        array.ctx = ctx
        array.numpy = x
        array.placed = None
        made.append(array if not far or x.nbytes <= prices.stays else on_device(ctx, array))
    return made


def _owned(arrays: Sequence[Array]) -> list[Array]:
    """Returns arrays with memory of their own."""
    taken: set[int] = set()
    owned = []
    for x in arrays:
        own = is_own(x.flags) and id(x) not in taken  # an array may be there twice
        taken.add(id(x))
        owned.append(x if own else np.array(x, order="C"))
    return owned


def is_own(flags: Any) -> bool:
    """Whether a NumPy array owns its memory, in C order, and may write to it."""
    return bool(flags.owndata and flags.c_contiguous and flags.writeable)


@cache
def _prepare() -> None:
    """Prepares the process, once, before the first host program runs."""
    hook()
    keep_to_limit()
    keep_memory()  # else each temporary array would be allocated from the system anew


def host_elements(kinds: Types) -> float:
    """Returns how many elements arrays of some types have; infinity if NumPy lacks a dtype."""
    elements = 0
    for kind in kinds:
        if kind.dtype.char not in HOST_DTYPES:
            return math.inf
        elements += kind.size
    return elements


def computes_by_numpy(ctx: Context) -> bool:
    """Whether NumPy may compute for a context: not for devices that users bring."""
    return ctx.device_type.startswith("cpu") or ctx.is_accelerator


def host_program(code: Code, account: Account) -> HostProgram | None:
    """Returns what runs a structure of one instruction on NumPy arrays; None if XLA is better.

    That is so where a single run takes twice as long as compiling it; for an accelerator, which
    runs it in no time, where a run and the transfers take as long, or where an array is so large
    that it is there in any case.
    """
    how = config.host()
    ((call, operands),) = code.instructions
    if how == "off" or call in _without or not computes_by_numpy(code.ctx):
        return None
    inputs = tuple([code.input_types[~i] for i in operands])
    outputs = call.infer(inputs)
    elements = host_elements(inputs + outputs)
    if elements == math.inf:
        return None
    if elements > FEW_ELEMENTS and how != "only":
        moved = sum(kind.nbytes for kind in inputs + outputs)
        takes = _NUMPY.seconds(operations(call, inputs, outputs), moved)
        compiling = prices.compiling(call.weight)
        if code.ctx.is_accelerator:
            largest = max([kind.nbytes for kind in inputs + outputs])
            if largest > prices.stays or takes + moved / prices.bus > compiling:
                return None
        elif takes > 2 * compiling:
            return None
    _prepare()
    try:
        return HostProgram(code, outputs, account)
    except NoHostForm:
        _without.add(call)
        return None
