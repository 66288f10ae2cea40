"""The program cache: from the structure of a segment to the XLA executable that runs it.

A structure seen for the first time runs instruction by instruction, each through a program of its
own, which most other structures share; unless most of those programs are missing too, when
compiling the whole at once is cheaper. Seen again, it is compiled in the background; once that is
done it is one dispatch. So no user waits for a compilation that running step by step would have
beaten.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np

from hybridnet import engine
from hybridnet.base.errors import MXNetError, OpError
from hybridnet.base.lazy import jax
from hybridnet.base.tensor_type import TensorType

from . import observe
from .devices import platform_of, sharding_of
from .segment import Code, Instruction

__all__ = ["CacheStatistics", "Failed", "ProgramCache", "cache", "lower"]

_log: Final = logging.getLogger("hybridnet.programs")

_FLOAT64: Final = np.dtype(np.float64)
# Programs kept, and instructions in all of them together; the least recently used program is
# dropped. A training script uses tens, of some hundred instructions each.
_CAPACITY: Final = 2048
_INSTRUCTIONS: Final = 1 << 18
# What compiling a structure as a whole takes, as a share of compiling each instruction alone.
# Measured on LeNet's training step: 33 instructions 2.7 s, their parts 4.2 s.
_WHOLE_SHARE: Final = 0.65
# Launches after which the whole structure is compiled: the first runs step by step.
_WARM: Final = 2


class Failed:
    """Stands for an array that could not be computed."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


def lower(code: Code) -> Callable[..., tuple[Any, ...]]:
    """Returns the JAX function of a structure: (*inputs, scalars) -> outputs."""
    platform = platform_of(code.ctx)

    def program(*arguments: Any) -> tuple[Any, ...]:
        *inputs, numbers = arguments
        results: list[Any] = []
        position = 0
        for call, operands in code.instructions:
            scalars: Sequence[Any] = ()
            if call.num_scalars:
                scalars = [numbers[position + i] for i in range(call.num_scalars)]
                position += call.num_scalars
            arrays = [results[i] if i >= 0 else inputs[~i] for i in operands]
            results.extend(call.lower(platform, arrays, scalars))
        return tuple(results[i] for i in code.outputs)

    return program


class _Program:
    """One structure, and what has been made of it so far."""

    __slots__ = ("compiled", "launches", "submitted")

    def __init__(self) -> None:
        self.compiled: Any = None
        self.launches = 0
        self.submitted = False


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """Counts since the process started."""

    #: Programs in the cache.
    size: int
    #: XLA compilations.
    compilations: int
    #: Launches that were one dispatch.
    hot: int
    #: Launches that ran instruction by instruction.
    cold: int


class ProgramCache:
    """Programs by structure, for the whole process; safe from many threads."""

    def __init__(self, capacity: int = _CAPACITY, instructions: int = _INSTRUCTIONS) -> None:
        self._programs: OrderedDict[Code, _Program] = OrderedDict()
        # Re-entrant, like every lock here: a finalizer may compute with arrays.
        self._lock = threading.RLock()
        self._capacity = capacity
        self._max_instructions = instructions
        self._instructions = 0
        self._compilations = 0
        self._hot = 0
        self._cold = 0

    def run(self, code: Code, inputs: list[Any], scalars: list[Any]) -> Sequence[Any]:
        """Dispatches the program of this structure; returns its outputs.

        Args:
            code: the structure.
            inputs: JAX arrays on the structure's context, or `Failed`; donated ones are consumed.
            scalars: numbers, in the order of the instructions.

        Returns:
            Arrays; `Failed` for what could not be computed, where the rest could.
        """
        program = self._find(code)
        compiled = program.compiled
        if compiled is None and len(code.instructions) > 1:
            program.launches += 1
            if program.launches == 1 and self._whole_is_cheaper(code):
                self._try_compile(code, program)
            elif program.launches >= _WARM and not program.submitted:
                program.submitted = True
                _in_background(lambda: self._try_compile(code, program))
            compiled = program.compiled
        if any(type(one) is Failed for one in inputs) or (
            compiled is None and len(code.instructions) > 1
        ):
            self._cold += 1
            with observe.span("steps", code):
                return self._step_by_step(code, inputs, scalars)
        if compiled is None:
            compiled = self._compile(code, program)
        self._hot += 1
        if observe.observer is not None:
            with observe.span("program", code):
                return _dispatch(compiled, inputs, scalars)
        return _dispatch(compiled, inputs, scalars)

    def statistics(self) -> CacheStatistics:
        """Returns how full the cache is and how often it was hit."""
        return CacheStatistics(len(self._programs), self._compilations, self._hot, self._cold)

    def clear(self) -> None:
        """Forgets every program."""
        with self._lock:
            self._programs.clear()
            self._instructions = 0

    def reset_after_fork(self) -> None:
        """In a forked child: forgets the programs, which belong to the parent's devices."""
        self._lock._at_fork_reinit()  # type: ignore[attr-defined]
        self.clear()

    def _whole_is_cheaper(self, code: Code) -> bool:
        """Whether compiling a new structure takes less than compiling its missing parts."""
        with self._lock:
            missing = sum(
                part.instructions[0].call.weight
                for part in set(_parts(code))
                if part not in self._programs or self._programs[part].compiled is None
            )
        return missing >= _WHOLE_SHARE * sum(call.weight for call, _ in code.instructions)

    def _find(self, code: Code) -> _Program:
        with self._lock:
            program = self._programs.get(code)
            if program is not None:
                self._programs.move_to_end(code)
                return program
            program = self._programs[code] = _Program()
            self._instructions += len(code.instructions)
            while len(self._programs) > 1 and (
                len(self._programs) > self._capacity or self._instructions > self._max_instructions
            ):
                dropped, _ = self._programs.popitem(last=False)
                self._instructions -= len(dropped.instructions)
            return program

    def _try_compile(self, code: Code, program: _Program) -> None:
        """Compiles ahead; where that fails, running step by step says what is wrong."""
        try:
            self._compile(code, program)
        except Exception as error:
            _log.info("%d instructions do not compile: %s", len(code.instructions), error)

    def _compile(self, code: Code, program: _Program) -> Any:
        started = perf_counter()
        sharding = sharding_of(code.ctx)
        shapes = [
            jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=sharding)
            for one in code.input_types
        ]
        count = sum(call.num_scalars for call, _ in code.instructions)
        shapes.append(jax.ShapeDtypeStruct((count,), _FLOAT64, sharding=sharding))
        # 64-bit types exist while the program is built and nowhere else: the process's own JAX
        # configuration is not ours to change.
        with observe.span("compile", code), jax.enable_x64(True):
            jitted = jax.jit(
                lower(code),
                donate_argnums=code.donated,
                keep_unused=True,
                out_shardings=sharding,
            )
            program.compiled = compiled = jitted.lower(*shapes).compile()
        self._compilations += 1
        if _log.isEnabledFor(logging.INFO):
            _log.info(
                "compiled %d instructions for %s in %.0f ms",
                len(code.instructions),
                code.ctx,
                1e3 * (perf_counter() - started),
            )
        return compiled

    def _step_by_step(self, code: Code, inputs: list[Any], scalars: list[Any]) -> list[Any]:
        """Runs each instruction through a program of its own, dropping what is not needed again.

        An instruction that fails, or reads what failed, gives `Failed`; the others run.
        """
        last_use = _last_uses(code)
        results: dict[int, Any] = {}
        number = position = 0
        for step, (one, (call, operands)) in enumerate(
            zip(_parts(code), code.instructions, strict=True)
        ):
            slots = dict.fromkeys(operands)
            arrays = [results[i] if i >= 0 else inputs[~i] for i in slots]
            numbers = scalars[position : position + call.num_scalars]
            position += call.num_scalars
            for output in self._run_one(one, arrays, numbers):
                if number in last_use:
                    results[number] = output
                number += 1
            for operand in slots:
                if operand >= 0 and last_use[operand] == step:
                    del results[operand]
        return [results[i] for i in code.outputs]

    def _run_one(self, one: Code, arrays: list[Any], numbers: list[Any]) -> Sequence[Any]:
        """Runs a program of one instruction; its error is a value."""
        for array in arrays:
            if type(array) is Failed:
                return [array] * len(one.outputs)
        try:
            return self.run(one, arrays, numbers)
        except Exception as caught:
            error: MXNetError = OpError(
                f"{one.instructions[0].call.name} on {one.ctx} failed: {caught}"
            )
            error.__cause__ = caught
            return [Failed(error)] * len(one.outputs)


def _parts(code: Code) -> list[Code]:
    """Returns, for each instruction, the structure of a program that runs it alone.

    Its inputs are the instruction's operands, each once, in order of first use.
    """
    parts = []
    types: list[TensorType] = []
    for call, operands in code.instructions:
        slots = {operand: slot for slot, operand in enumerate(dict.fromkeys(operands))}
        in_types = tuple(types[i] if i >= 0 else code.input_types[~i] for i in slots)
        one = Instruction(call, tuple(~slots[operand] for operand in operands))
        parts.append(Code(code.ctx, (one,), in_types, tuple(range(call.num_outputs)), ()))
        types.extend(call.infer(tuple(in_types[slots[operand]] for operand in operands)))
    return parts


def _last_uses(code: Code) -> dict[int, int]:
    """Returns, for each result that is used at all, the last instruction that reads it."""
    last: dict[int, int] = {}
    for step, (_, operands) in enumerate(code.instructions):
        for operand in operands:
            last[operand] = step
    for number in code.outputs:
        last[number] = len(code.instructions)
    return last


def _dispatch(compiled: Any, inputs: list[Any], scalars: list[Any]) -> Sequence[Any]:
    numbers = np.array(scalars, _FLOAT64)
    # Only here do the scalars enter JAX, which would narrow them to float32 outside this scope.
    with jax.enable_x64(True):
        outputs: Sequence[Any] = compiled(*inputs, numbers)
    return outputs


class _Exit:
    """Whether the process is ending: compilations that have not begun are left out then."""

    def __init__(self) -> None:
        self.begun = False
        self.hooked = False

    def begin(self) -> None:
        self.begun = True


_exit: Final = _Exit()


def _in_background(compilation: Callable[[], None]) -> None:
    """Has the engine compile something when it has a thread to spare."""
    if not _exit.hooked:
        _exit.hooked = True
        engine.get()  # hooks in first, so that it waits for its tasks after ours has run
        register = getattr(threading, "_register_atexit", atexit.register)
        try:
            register(_exit.begin)
        except RuntimeError:  # the interpreter is going down already
            _exit.begun = True
    engine.push(
        lambda: None if _exit.begun else compilation(), priority=-1, name="compile", lane="io"
    )


cache: Final = ProgramCache()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=cache.reset_after_fork)
