"""Waiting: until a Value has an array, until the array is computed, or until all work is done."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from hybridnet import engine
from hybridnet.base.errors import MXNetError, OpError, OutOfMemoryError
from hybridnet.base.host_array import HostArray
from hybridnet.base.lazy import jax

from ..live.lack import explained
from ..observe import events
from ..platform.jax_devices import fork, is_stranded, on_device, refuse_forked
from ..programs.room import is_lack
from ..programs.spanning import spanning
from ..segments.segment import Value
from ..tiers.ledger import current
from .answers import look_at_answers, unanswered
from .apart import InterruptedLaunchError, computed_apart
from .at_once import note_launched, note_read
from .at_once import thread as at_once
from .dispatched import recent
from .failures import raise_first, raise_kept
from .launch import flush_all, launch

__all__ = ["TRACED", "await_ends", "loops", "ready_array", "settled", "wait", "wait_all"]

TRACED: Final = (
    "this array belongs to a traced function (hn.function or hybridize()), where it stands for "
    "values to come: it cannot be read there (asnumpy, print, float, if), nor after the function "
    "returned; return it from the function, or do this part outside"
)

#: Runs of graphs with loops that are under way, by their `id`. As a loop may never end by itself,
#: Ctrl-C in a wait ends the runs that its thread has started.
loops: Final[dict[int, Any]] = {}


def ready_array(value: Value) -> jax.Array:
    """Returns the JAX array of a Value; launches its segment or waits for its task if need be.

    XLA may still be computing the array's contents.

    Raises:
        OpError: it could not be computed.
        MXNetError: it belongs to a trace, or this process was forked.
    """
    array = settled(value)
    return on_device(array.ctx, array) if type(array) is HostArray else array


def settled(value: Value) -> Any:
    """Returns the array of a Value as `ready_array` does, but leaves a `HostArray` as it is."""
    segment = value.segment
    if segment is not None and not segment.traced:
        try:
            launch(segment)
        except InterruptedLaunchError:
            return computed_apart(value)
    if value.array is None and value.error is None:
        if value.var is None:
            raise MXNetError(TRACED)
        try:
            engine.wait_for_var(value.var)
        except engine.TaskError as error:
            kind = OutOfMemoryError if is_lack(error.__cause__) else OpError
            raise kind(str(error)) from error.__cause__
        except KeyboardInterrupt:
            _interrupt_loops()
            raise
    if value.error is not None:
        raise_kept(value.error)
    if fork.is_child and is_stranded(value.array):
        refuse_forked()
    return value.array


def wait(value: Value) -> Any:
    """Waits until a Value has been computed; returns its array, JAX's or a `HostArray`.

    Raises:
        OpError: it could not be computed.
        MXNetError: it belongs to a trace, or this process was forked.
    """
    if events.observer is not None:
        with events.span("wait", str(value.type)):
            array = _finished(settled(value))
        if unanswered:
            look_at_answers()
        return array
    segment = value.segment
    if segment is None:
        array = value.array
        if at_once.seconds:
            note_read()
    elif not segment.traced:
        try:
            launch(segment)
        except InterruptedLaunchError:
            return computed_apart(value)
        array = value.array
        note_launched(array)
    else:
        array = None
    if array is None or fork.is_child:
        array = settled(value)
    account = current.account
    if account is not None and account.reads < account.launches + account.runs:
        account.reads += 1  # the thread that launched it last waits for its results
    if type(array) is not HostArray:
        _finished(array)
    if unanswered:
        look_at_answers()
    return array


def await_ends(values: Sequence[Value]) -> None:
    """Waits until tasks have made Values, or have failed, which is raised where they are read."""
    for value in values:
        if value.var is None or value.array is not None or value.error is not None:
            continue
        try:
            with suppress(engine.TaskError):
                engine.wait_for_var(value.var)
        except KeyboardInterrupt:
            _interrupt_loops()
            raise


def _interrupt_loops() -> None:
    for run in list(loops.values()):
        run.interrupt(threading.get_ident())


def _finished(array: Any) -> Any:
    gang = spanning.gang
    try:
        if gang is not None and type(array) is not HostArray and not array.is_fully_addressable:
            gang.finish(array)
        return array.block_until_ready()
    except RuntimeError as error:
        if isinstance(error, MXNetError):
            raise
        message = f"a program failed while it ran: {error}"
        raise (
            explained(OutOfMemoryError(message)) if is_lack(error) else OpError(message)
        ) from error


def wait_all() -> None:
    """Waits until everything recorded by any thread, and every task, has run.

    It does not wait for work in the background (compilations and writing their files).

    Raises:
        OpError: something has failed. This is the first failure that no wait has raised before.
    """
    with events.span("wait", "everything"):
        flush_all()
        try:
            engine.wait_for_all(background=False)
        except engine.TaskError as error:
            raise OpError(str(error)) from error.__cause__
        except KeyboardInterrupt:
            _interrupt_loops()
            raise
        for ref in recent():
            array = ref()
            try:
                if array is not None and not array.is_deleted():
                    _finished(array)
            except OpError:
                # That is no failure if the array was donated to a later program meanwhile.
                if array is None or not array.is_deleted():
                    raise
    if unanswered:
        look_at_answers(wait=True)
    raise_first()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=loops.clear)
