"""The program cache: from the structure of a segment to the XLA executable that runs it.

A structure seen for the first time runs instruction by instruction, each through a program of its
own, which most other structures share. Seen again, it is compiled in the background; once that is
done it is one dispatch. So no user waits for a compilation that running step by step would have
beaten.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np

from hybridnet import engine
from hybridnet.base.lazy import jax

from .devices import platform_of, sharding_of
from .segment import Code, Instruction

__all__ = ["CacheStatistics", "ProgramCache", "cache", "lower"]

_log: Final = logging.getLogger("hybridnet.programs")

_FLOAT64: Final = np.dtype(np.float64)
# Programs kept; the least recently used is dropped. A training script uses tens.
_CAPACITY: Final = 2048
# Launches after which the whole structure is compiled: the first runs step by step.
_WARM: Final = 2


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

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._programs: OrderedDict[Code, _Program] = OrderedDict()
        self._lock = threading.Lock()
        self._capacity = capacity
        self._compilations = 0
        self._hot = 0
        self._cold = 0

    def run(self, code: Code, inputs: list[Any], scalars: list[Any]) -> Sequence[Any]:
        """Dispatches the program of this structure; returns its outputs.

        Args:
            code: the structure.
            inputs: JAX arrays on the structure's context; the donated ones are consumed.
            scalars: numbers, in the order of the instructions.
        """
        with self._lock:
            program = self._programs.get(code)
            if program is None:
                program = self._programs[code] = _Program()
                while len(self._programs) > self._capacity:
                    self._programs.popitem(last=False)
            else:
                self._programs.move_to_end(code)
        compiled = program.compiled
        if compiled is None:
            program.launches += 1
            if len(code.instructions) > 1:
                if program.launches >= _WARM and not program.submitted:
                    program.submitted = True
                    engine.push(
                        lambda: self._compile(code, program), priority=-1, name="compile", lane="io"
                    )
                compiled = program.compiled
                if compiled is None:
                    self._cold += 1
                    return self._step_by_step(code, inputs, scalars)
            else:
                self._compile(code, program)
                compiled = program.compiled
        self._hot += 1
        return _dispatch(compiled, inputs, scalars)

    def statistics(self) -> CacheStatistics:
        """Returns how full the cache is and how often it was hit."""
        return CacheStatistics(len(self._programs), self._compilations, self._hot, self._cold)

    def clear(self) -> None:
        """Forgets every program."""
        with self._lock:
            self._programs.clear()

    def _compile(self, code: Code, program: _Program) -> None:
        started = perf_counter()
        sharding = sharding_of(code.ctx)
        shapes = [
            jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=sharding) for one in code.input_types
        ]
        count = sum(call.num_scalars for call, _ in code.instructions)
        shapes.append(jax.ShapeDtypeStruct((count,), _FLOAT64, sharding=sharding))
        # 64-bit types exist while the program is built and nowhere else: the process's own JAX
        # configuration is not ours to change.
        with jax.enable_x64(True):
            program.compiled = (
                jax.jit(
                    lower(code),
                    donate_argnums=code.donated,
                    keep_unused=True,
                    out_shardings=sharding,
                )
                .lower(*shapes)
                .compile()
            )
        self._compilations += 1
        if _log.isEnabledFor(logging.INFO):
            _log.info(
                "compiled %d instructions for %s in %.0f ms",
                len(code.instructions),
                code.ctx,
                1e3 * (perf_counter() - started),
            )

    def _step_by_step(self, code: Code, inputs: list[Any], scalars: list[Any]) -> list[Any]:
        """Runs each instruction through a program of its own, dropping what is not needed again."""
        last_use = _last_uses(code)
        results: dict[int, Any] = {}
        types: dict[int, Any] = {}
        number = position = 0
        for step, (call, operands) in enumerate(code.instructions):
            slots = {operand: slot for slot, operand in enumerate(dict.fromkeys(operands))}
            one = Code(
                code.ctx,
                (Instruction(call, tuple(~slots[operand] for operand in operands)),),
                tuple(types[i] if i >= 0 else code.input_types[~i] for i in slots),
                tuple(range(call.num_outputs)),
                (),
            )
            arrays = [results[i] if i >= 0 else inputs[~i] for i in slots]
            numbers = scalars[position : position + call.num_scalars]
            position += call.num_scalars
            outputs = self.run(one, arrays, numbers)
            in_types = tuple(one.input_types[~slot] for slot in one.instructions[0].operands)
            for output, type_ in zip(outputs, call.infer(in_types), strict=True):
                if number in last_use:
                    results[number] = output
                    types[number] = type_
                number += 1
            for operand in slots:
                if operand >= 0 and last_use[operand] == step:
                    del results[operand]
        return [results[i] for i in code.outputs]


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


cache: Final = ProgramCache()
