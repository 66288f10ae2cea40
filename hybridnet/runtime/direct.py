"""`Direct`: one call, again and again, as the dispatch of its program and nothing else.

A call that is a unit of work of its own (a traced function's) is usually one program whose inputs
are there. Recording it, finding its program and launching that takes longer than XLA's dispatch; so
who calls it again keeps the program.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.attrs import HostScalar
from hybridnet.base.context import Context
from hybridnet.base.lazy import jax
from hybridnet.ops.call import Call, Types

from .observe import events as observe
from .observe import journal
from .platform.jax_devices import sharding_of
from .programs.cache import cache
from .programs.program import replaced
from .record import recorder
from .record.dispatched import note_dispatched
from .segments.code import Code

__all__ = ["Direct", "forks"]

#: Programs are of the process that compiled them: how often this one was forked.
forks: Final = [0]
_FLOAT64: Final = np.dtype(np.float64)


@final
class Direct:
    """A compiled call with its numbers, which keeps its inputs.

    Args:
        program: what the cache has of it.
        code: its structure.
        scalars: the numbers that it takes.
    """

    __slots__ = ("_compiled", "_forks", "_launch", "_numbers", "_program", "_replaced", "ctx")

    def __init__(self, program: Any, code: Code, scalars: Sequence[float]) -> None:
        self.ctx = code.ctx
        self._program = program
        self._take()
        self._launch = journal.Launch(code, list(scalars))
        self._forks = forks[0]
        with jax.enable_x64(True):
            host = np.array(scalars, _FLOAT64)
            self._numbers = jax.device_put(host, sharding_of(self.ctx))

    def _take(self) -> None:
        """Takes the program's executable as it is now."""
        self._replaced = replaced[0]
        compiled = self._program.compiled
        # What JAX's own object hands on to, once it has been called, is called without it.
        self._compiled = getattr(compiled, "_call", None) or compiled

    @classmethod
    def of(cls, ctx: Context, call: Call, types: Types, scalars: Sequence[Any]) -> Direct | None:
        """Returns what runs a call with all its outputs; None where that has no program yet.

        Args:
            ctx: where it runs.
            call: the call.
            types: of its inputs.
            scalars: the numbers that it takes.
        """
        if call.on_host or any(type(one) is HostScalar for one in scalars):
            return None
        operands = tuple(range(-1, ~len(types), -1))
        outputs = tuple(range(call.num_outputs))
        code = Code(ctx, ((call, operands),), tuple(types), outputs, ())
        program = cache.compiled(code)
        return None if program is None else cls(program, code, scalars)

    def __call__(self, arrays: list[Any]) -> Sequence[Any] | None:
        """Starts the program; returns its outputs.

        Args:
            arrays: the JAX arrays of its inputs, None for what is not there yet.

        Returns:
            None where it has to be recorded: an input is not there or of another type, or somebody
            wants to see what is launched.
        """
        if observe.observer is not None or recorder.is_special() or self._forks != forks[0]:
            return None
        if self._replaced != replaced[0]:
            self._take()
        recorder.mark()
        try:
            outputs: Sequence[Any] = self._compiled(*arrays, self._numbers)
        except (TypeError, ValueError):  # before anything has run
            return None
        self._program.note_run(arrays, self._launch.scalars)
        launches = journal.launches
        if not launches or launches[-1] is not self._launch:
            launches.append(self._launch)
        if outputs:
            note_dispatched(self.ctx, outputs[0])
        return outputs


def _after_fork_in_child() -> None:
    forks[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
