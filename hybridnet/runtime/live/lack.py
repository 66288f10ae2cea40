"""The text of an `OutOfMemoryError`: who needs what, what is alive, and what would fit.

All of it is found out when there is no room, from the launch that did not run: nothing is kept for
it while programs run. Numbers of what would fit are computed from the launch's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from traceback import clear_frames
from typing import Final

from hybridnet import engine
from hybridnet.base import config
from hybridnet.base.context import Context
from hybridnet.base.errors import OutOfMemoryError
from hybridnet.base.memory_limits import MemoryLimit
from hybridnet.graph import ControlCall
from hybridnet.ops.core import Call

from ..platform.device_memory import memory_left
from ..programs.room import LEAST_BYTES, is_lack, room_left, tight_limit, tight_limit_on
from ..segments.code import Code
from .arrays import LiveArray, live_arrays
from .needs import MadeInLaunch, Peak, peak_of
from .noting import notes_all

__all__ = ["explained", "look_for_bytes", "told_lack"]

# How many lines, arrays and results are named.
_NAMED_LINES: Final = 3
_NAMED_ARRAYS: Final = 5
_NAMED_RESULTS: Final = 3
# What would fit is to fit: the model is a straight line, and programs are not.
_SAFE_SHARE: Final = 0.85
# What runs operator by operator makes some arrays more on the way.
_ON_THE_WAY_FACTOR: Final = 2
# What grows with the batch must be most of it, or a smaller batch is no help.
_MIN_BATCH_SHARE: Final = 0.5
_WIDE: Final = {"float32": 2, "float64": 4}


def told_lack(
    error: BaseException, code: Code, origins: Mapping[int, engine.Origin | None]
) -> OutOfMemoryError:
    """Returns the error for a launch that found no room, with all that can be said of it.

    Args:
        error: what was raised where there was no room: hybridnet's, Python's or XLA's.
        code: the structure of the launch.
        origins: where its instructions were recorded, by the numbers of their first results.
    """
    cause = error.__cause__
    first = error
    _let_go(error)
    if isinstance(cause, OutOfMemoryError):
        first = cause  # of a step of the launch, with its own numbers
    told = OutOfMemoryError(str(first))
    if isinstance(first, OutOfMemoryError):
        told.needed, told.limit, told.planned = first.needed, first.limit, first.planned
        told.structure = first.structure
    return explained(told, code, origins)


def look_for_bytes(what: str, size: int, ctx: Context) -> None:
    """Sees that an array can be made, if it is large.

    Args:
        what: who makes it, for the message.
        size: its bytes.
        ctx: where; there is to be room in host memory, too.

    Raises:
        OutOfMemoryError: it cannot.
    """
    if size < LEAST_BYTES:
        return
    limit = tight_limit(size)
    if limit is None and ctx.is_accelerator:
        limit = tight_limit_on(ctx, size)
    if limit is not None:
        raise _lack_of(what, size, limit)


def told_put(error: RuntimeError, what: str, size: int, ctx: Context) -> RuntimeError:
    """Returns what is to be raised where JAX could not put an array on a device.

    Args:
        error: JAX's.
        what, size, ctx: as for `look_for_bytes`.
    """
    return _lack_of(what, size, memory_left(ctx)) if is_lack(error) else error


def _lack_of(what: str, size: int, limit: MemoryLimit | None) -> OutOfMemoryError:
    error = OutOfMemoryError(f"{what}: needs {_size(size)}, which the process cannot get")
    error.needed, error.limit = size, limit
    return explained(error)


def _let_go(error: BaseException) -> None:
    """Drops the arrays that a launch had made, which the tracebacks of its error keep alive."""
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop()
        seen.add(id(one))
        clear_frames(one.__traceback__)
        around = (one.__cause__, one.__context__)
        waiting += [other for other in around if other is not None and id(other) not in seen]


def explained(
    error: OutOfMemoryError,
    code: Code | None = None,
    origins: Mapping[int, engine.Origin | None] | None = None,
) -> OutOfMemoryError:
    """Adds to an error what can be said of the launch and of what is alive; returns it."""
    try:
        lines = [*_about(error, code, origins or {})]
    except Exception as failure:  # there may be no room for this either; the error counts
        lines = [f"(no more can be said: {type(failure).__name__}: {failure})"]
    error.args = ("\n  ".join([str(error), *lines]),)
    return error


def _about(
    error: OutOfMemoryError, code: Code | None, origins: Mapping[int, engine.Origin | None]
) -> Iterator[str]:
    place = _line(engine.caller_origin(3))
    peak = None if code is None else peak_of(code, origins)
    # (The launch may be run step by step: then there is no room for one of these.)
    is_whole = code is None or error.structure is None or _is_of(error.structure, code)
    where = [f"asked for at {place}"] if place else []
    if peak is not None and peak.made:
        where += [f"largest results: {', '.join(map(_told, _largest(error, peak)))}"]
    if where:
        yield f"where:   {'; '.join(where)}"
    planned = [error.planned] if error.planned and is_whole else []
    needed = error.needed or 0
    if peak is not None and not planned and peak.nbytes:
        needed = max(needed, int(peak.nbytes * _ON_THE_WAY_FACTOR))
        planned.append(
            f"{_size(peak.nbytes)} for results that are there at once, at the most, of "
            f"{len(peak.made):,} in the whole launch"
        )
    if planned:
        yield f"planned: {planned[0]}"
    limit = _limit(error, code, needed)
    if limit is not None:
        size = f" of {_size(limit.size)}" if limit.size else ""
        yield f"room:    {_size(limit.left)} left{size}, by {limit.name}"
    yield from _alive()
    if code is not None and peak is not None and limit is not None and needed and peak.nbytes:
        advice = [*_advice(code, peak, needed, int(limit.left * _SAFE_SHARE))]
        if advice:
            yield f"fits:    {'; '.join(advice)}"


def _is_of(structure: Code, code: Code) -> bool:
    return structure.instructions == code.instructions


def _limit(error: OutOfMemoryError, code: Code | None, needed: int) -> MemoryLimit | None:
    """Returns what limits memory, with what it leaves now that nothing of the launch is there."""
    device = memory_left(code.ctx) if code is not None and code.ctx.is_accelerator else None
    if device is not None:
        return device
    found = room_left(needed) if needed else None
    return found if found is not None and found.left < needed else error.limit or found


def _largest(error: OutOfMemoryError, peak: Peak) -> Sequence[MadeInLaunch]:
    """Returns the largest results, what the step made first that found no room."""
    found = sorted(peak.made, key=lambda one: -one.type.nbytes)
    structure = error.structure
    if structure is not None and len(structure.instructions) == 1:
        ((call, operands),) = structure.instructions
        if not isinstance(call, ControlCall):  # there something inside is what is large
            kinds = call.infer(tuple(structure.input_types[~i] for i in operands))
            found.sort(key=lambda one: one.call != call.name or one.type not in kinds)
    kept: dict[tuple[str, object, str], MadeInLaunch] = {}
    for one in found:
        kept.setdefault((one.call, one.type, _line(one.origin)), one)
    return list(kept.values())[:_NAMED_RESULTS]


def _told(made: MadeInLaunch) -> str:
    place = _line(made.origin)
    at = f" at {place}" if place else ""
    return f"{_size(made.type.nbytes)} {made.call} {made.type}{at}"


def _alive() -> Iterator[str]:
    """Yields what is alive: by lines, and the largest arrays."""
    arrays = live_arrays()
    if not arrays:
        return
    total, unknown = sum(x.nbytes for x in arrays), sum(x.nbytes for x in arrays if not x.line)
    by_line: dict[str, list[LiveArray]] = {}
    for array in arrays:
        if array.line:
            by_line.setdefault(array.line, []).append(array)
    sums = sorted(
        ((sum(x.nbytes for x in some), len(some), line) for line, some in by_line.items()),
        reverse=True,
    )
    lines = ", ".join(
        f"{_size(size)} of {line} in {_count(n)}" for size, n, line in sums[:_NAMED_LINES]
    )
    missing = ""
    if unknown and not notes_all():
        missing = f"; the lines of {_size(unknown)} are known with HYBRIDNET_DEBUG=memory"
    yield f"alive:   {_size(total)} in {_count(len(arrays))}{': ' if lines else ''}{lines}{missing}"
    named = ", ".join(_shown(array) for array in arrays[:_NAMED_ARRAYS])
    yield f"largest: {named}"


def _shown(array: LiveArray) -> str:
    named = f" {', '.join(array.names)}" if array.names else ""
    at = f" at {array.line}" if array.line else ""
    return f"{_size(array.nbytes)}{named} {array.kind}{at}"


# -- what would fit --------------------------------------------------------------------------


def _advice(code: Code, peak: Peak, needed: int, left: int) -> Iterator[str]:
    """Yields what would fit into the bytes that are left, of a launch that needs more."""
    batch, growing = _batch(code, peak)
    if batch:
        fixed = needed * (1 - growing)
        fits = int(batch * (left - fixed) / (needed * growing))
        if 0 < fits < batch:
            yield f"a batch of about {_rounded(fits):,} instead of {batch:,}"
        elif fixed > left:
            yield f"no batch: {_size(int(fixed))} of it do not grow with the batch"
    yield from _mirrored(code, needed, left)
    factor = _WIDE.get(peak.alive[0].type.dtype.name, 1)
    if factor > 1 and needed / factor <= left:
        yield f"float16 or bfloat16, in about {_size(needed // factor)}"


def _batch(code: Code, peak: Peak) -> tuple[int, float]:
    """Returns the batch size, and what part of the launch's memory grows with it.

    It is the first dimension that the inputs share with most of what is there at once; 0 where
    there is no such.
    """
    sizes: dict[int, int] = {}
    for made in peak.alive:
        if made.type.shape:
            sizes[made.type.shape[0]] = sizes.get(made.type.shape[0], 0) + made.type.nbytes
    firsts = {kind.shape[0] for kind in code.input_types if kind.shape and kind.shape[0] > 1}
    best = max(firsts, key=lambda first: sizes.get(first, 0), default=0)
    share = sizes.get(best, 0) / peak.nbytes
    return (best, share) if share >= _MIN_BATCH_SHARE else (0, 0.0)


def _rounded(count: int) -> int:
    """Returns a number with its first three binary digits only: nobody takes a batch of 37,411."""
    drop = max(count.bit_length() - 3, 0)
    return count >> drop << drop


def _mirrored(code: Code, needed: int, left: int) -> Iterator[str]:
    """Yields what is saved if what the backward pass reads is computed again."""
    if config.do_mirror():
        return
    kept = mirrored = 0
    for call, _ in code.instructions:
        found = _kept(call)
        if found is not None:
            kept, mirrored = kept + found[0], mirrored + found[1]
    saved = kept - mirrored
    if saved > 0 and saved >= needed // 16:
        enough = "" if needed - saved <= left else ", which alone is not enough"
        yield (
            f"MXNET_BACKWARD_DO_MIRROR=1, which keeps {_size(mirrored)} for the backward pass "
            f"instead of {_size(kept)}{enough}"
        )


def _kept(call: Call) -> tuple[int, int] | None:
    """Returns the bytes that a call keeps for its gradient, and those that it would, mirrored.

    None where it keeps nothing. (Graphs are above this, so that they are asked by name.)
    """
    ask = getattr(call, "kept_for_gradient", None)
    found: tuple[int, int] | None = None if ask is None else ask()
    return found


# -- words -----------------------------------------------------------------------------------


def _line(origin: engine.Origin | None) -> str:
    place = engine.resolve_origin(origin)
    return f"{place[0]}:{place[1]}" if place else ""


def _size(nbytes: int) -> str:
    if nbytes < 10 << 20:
        return f"{nbytes / 2**20:.2f} MiB"
    return f"{nbytes / 2**20:,.0f} MiB"


def _count(number: int) -> str:
    return f"{number:,} array{'' if number == 1 else 's'}"
