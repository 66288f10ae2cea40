"""Computing at once: operators that are run by NumPy as they are called, and not recorded first.

A result that is read as soon as it is made gains nothing by being recorded. So the next operators
of a thread are computed as they are called, by the host forms that run them as steps of a launch,
in two cases:

- The thread reads what it has just recorded, again and again, and NumPy runs that in less time than
  it takes to wait for XLA. This ends when it has computed for as long as that wait takes without
  reading anything: then a program of XLA's may be quicker, and what nobody needs is not computed.
- What it reads comes of structures that are new each time, as of sentences of ever new lengths.
  Nothing would be compiled for them, and to find their steps takes longer than to run these. This
  ends when it has computed for as long as it takes to compile a program, to see whether they are
  still new.

Once something is recorded, what follows is recorded with it until it is launched: in one program
XLA may fold it (the ones that a gradient begins with).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from operator import attrgetter
from time import perf_counter
from typing import Any, Final

import numpy as np

from hybridnet.base import config
from hybridnet.base.context import Context
from hybridnet.base.dtype import is_float
from hybridnet.base.host_array import HostArray
from hybridnet.base.interrupts import defer_interrupts, is_from_signal
from hybridnet.ops.core import Call, Types
from hybridnet.ops.host import NoHostForm, by_numpy

from ..checks.asked import NANS, asked
from ..devices.device import users
from ..observe import events
from ..observe.journal import Launch, launches, listeners
from ..platform.blas_threads import others
from ..platform.jax_devices import fork
from ..platform.transfers import twin_of
from ..programs.cache import cache
from ..programs.host_program import FEW_ELEMENTS, HostProgram, host_elements, put_owned
from ..programs.program import Program
from ..segments.code import Code
from ..segments.segment import Value, note_origin, origins
from ..tiers.ledger import current
from ..tiers.prices import SAMPLES, prices

__all__ = ["compute", "note_launched", "note_read", "thread"]

# Types that a call has run for once, before there is anything that runs it for these.
_MAX_MET_TYPES: Final = 4096

_type_of: Final = attrgetter("type")
_new: Final = object.__new__
_met: Final[set[Any]] = set()


class _AtOnce(threading.local):
    """Whether this thread computes at once.

    Attributes:
        seconds: for how long it may go on; 0: what it calls is recorded.
        is_new: whether it computes what is new, and so goes on though it reads nothing.
        reads: how many of its launches in a row were read at once.
        new: how many of them in a row were of new structures.
    """

    seconds = 0.0
    is_new = False
    reads = new = 0

    def stop(self) -> None:
        """Ends computing at once: what this thread calls is recorded again."""
        # One more structure that is new tells that they still are.
        self.new = SAMPLES - 1 if self.is_new else 0
        self.seconds, self.is_new, self.reads = 0.0, False, 0


#: The state of the calling thread: hot code reads ``thread.seconds``.
thread: Final = _AtOnce()


def note_launched(array: object) -> None:
    """Notes that this thread has launched a segment in order to read an array that it makes."""
    account = current.account
    if type(array) is not HostArray or account is None:
        thread.reads = thread.new = 0
        return
    thread.new = thread.new + 1 if account.launches == 1 else 0
    thread.reads = thread.reads + 1 if account.by_steps.best <= prices.handover else 0
    # (HYBRIDNET_HOST=only promises the same bits, whatever the clock says: how operators are cut
    # into launches decides which of their results are laid out anew in memory.)
    if max(thread.new, thread.reads) < SAMPLES or fork.is_child or config.host() != "auto":
        return
    thread.is_new = thread.new >= SAMPLES
    thread.seconds = prices.compiling(1) if thread.is_new else prices.handover


def note_read() -> None:
    """Notes that this thread, which computes at once, reads an array that is there."""
    defer_interrupts()
    now = perf_counter()
    if now > others.due:
        others.look(now)
    if not thread.is_new:
        thread.seconds = prices.handover


def compute(
    ctx: Context, call: Call, values: Sequence[Value], scalars: tuple[Any, ...], types: Types
) -> list[Value] | None:
    """Computes a call, for which there must be time left; see `recorder.record`.

    Returns:
        Its outputs; None where it is to be recorded, as any other.
    """
    arrays = []
    try:
        for value in values:
            array = value.array
            if type(array) is HostArray:
                arrays.append(array.numpy)
            elif array is None or not array.is_ready():  # somebody would have to wait for it
                return None
            elif not ctx.is_accelerator:
                arrays.append(np.asarray(array))
            else:  # a launch may read it where it is
                twin = twin_of(array)
                if twin is None:
                    return None
                arrays.append(twin)
    except RuntimeError:  # its memory is gone, which is said where it is read
        return None
    if events.observer is not None or listeners.count or (users and ctx in users):
        return None
    kinds = tuple(map(_type_of, values))
    if thread.is_new and _is_first(ctx, call, kinds, types):
        return _computed_first(ctx, call, kinds, arrays, scalars, types)
    program, _ = cache.part(ctx, call, kinds)
    account = program.account
    rent = account.by_numpy
    host, took = program.host, rent.best
    if host is None or rent.runs >= account.due:
        host = _host_of(program, types)
    if host is None or program.compiled is not None or program.ready is not None:
        return None
    if took > thread.seconds and rent.runs:
        if thread.is_new or took <= prices.handover:
            thread.stop()  # its time is over; else this operator is too long, others are not
        return None
    try:
        made = by_numpy(host.run, arrays, scalars)
    except NoHostForm:
        return None
    if asked.mode & NANS and not _are_finite(made):
        return None  # a launch says who is to blame
    thread.seconds -= rent.best
    return _values(ctx, program.code, scalars, types, made)


def _are_finite(arrays: Sequence[Any]) -> bool:
    return all(np.isfinite(array).all() for array in arrays if is_float(array.dtype))


def _host_of(program: Program, types: Types) -> HostProgram | None:
    """Returns what runs a program by NumPy, when it is new or a decision about it is due.

    Returns:
        None where it may take long, or nothing can.
    """
    if program.hostless:
        return None
    if program.host is None:
        program.hostless = host_elements(program.code.input_types + types) > FEW_ELEMENTS
        if program.hostless:
            return None
    host = program.on_host()
    program.hostless = host is None
    return host


def _is_first(ctx: Context, call: Call, kinds: Types, types: Types) -> bool:
    """Whether a call is run for the first time for small arrays of these types."""
    key = call, kinds
    if key in _met or not (ctx.is_accelerator or (ctx.device_type == "cpu" and not ctx.device_id)):
        return False
    if len(_met) >= _MAX_MET_TYPES:
        _met.clear()
    _met.add(key)
    return host_elements(kinds + types) <= FEW_ELEMENTS


def _computed_first(
    ctx: Context,
    call: Call,
    kinds: Types,
    arrays: Sequence[Any],
    scalars: tuple[Any, ...],
    types: Types,
) -> list[Value] | None:
    """Computes a call that may never come again: there is no program, nor any account, of it."""
    started = perf_counter()
    numbers = [*map(np.float64, scalars)]
    try:
        made = [*map(np.asarray, by_numpy(call.evaluate, arrays, numbers))]
    except Exception as error:  # then it is recorded, and XLA will say
        if is_from_signal(error):
            raise
        return None
    for array, kind in zip(made, types, strict=True):
        if array.shape != kind.shape or array.dtype != kind.dtype:
            return None
    if asked.mode & NANS and not _are_finite(made):
        return None
    thread.seconds -= perf_counter() - started
    if thread.seconds <= 0:
        thread.stop()
    inputs = tuple(range(-1, ~len(kinds), -1))
    code = Code(ctx, ((call, inputs),), kinds, tuple(range(len(types))), ())
    return _values(ctx, code, scalars, types, made)


def _values(
    ctx: Context, code: Code, scalars: Sequence[Any], types: Types, made: Sequence[Any]
) -> list[Value]:
    """Returns Values of what was computed, and writes it into the journal."""
    current.account = None  # what is read next is none of what was launched
    note = _new(Launch)
    note.code, note.scalars = code, [*scalars]
    launches.append(note)
    outputs = []
    for kind, array in zip(types, put_owned(ctx, made), strict=True):
        value = _new(Value)
        value.type = kind
        value.array = array
        outputs.append(value)
    if not origins.least:
        note_origin(outputs, 3)
    return outputs
