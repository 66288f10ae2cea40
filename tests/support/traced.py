"""Operators run inside a program that is being built, with their gradient rules, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import jax
import numpy as np

from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.core.call import Call
from hybridnet.ops.core.handle import Operand
from hybridnet.runtime.programs.compile_options import is_known

__all__ = ["Traced", "hurried_jit", "hurry", "quick", "types_of"]

#: Compiling takes most of the time that tests take, and running what is compiled hardly any.
_QUICK: Final[dict[str, Any]] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_parallel_codegen_split_count": 1,
    "xla_cpu_use_fusion_emitters": False,
}


@cache
def quick() -> dict[str, Any]:
    """Compiler options for a program that runs once: those of them that the installed JAX knows."""
    return {name: value for name, value in _QUICK.items() if is_known("cpu", name, value)}


def hurried_jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `jax.jit` of a function, compiled with the options `quick`."""
    return jax.jit(function, compiler_options=quick())


class _Compiling:
    """Whether this process compiles in a hurry."""

    compile: Any = None
    hurries = False


def hurry(on: bool) -> bool:
    """Has programs compiled with the options `quick`, or as users' are, from now on.

    Returns:
        Whether that changes anything.
    """
    if _Compiling.compile is None:
        compiled = _Compiling.compile = jax.stages.Lowered.compile

        def compile(lowered: Any, compiler_options: Any = None) -> Any:
            options = dict(compiler_options or {})
            # (`quick` itself compiles, to ask which options there are.)
            if _Compiling.hurries and options.keys().isdisjoint(_QUICK):
                options |= quick()
            return compiled(lowered, options)

        jax.stages.Lowered.compile = compile  # type: ignore[method-assign]
    jax.config.update("jax_disable_most_optimizations", on)  # of what the tests compile themselves
    was, _Compiling.hurries = _Compiling.hurries, on
    return was != on


def types_of(arrays: Sequence[Any]) -> tuple[TensorType, ...]:
    return tuple(tensor_type(tuple(one.shape), np.dtype(one.dtype)) for one in arrays)


class Traced(Operand):
    """An operand inside the program that is being built; it checks inferred types."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @classmethod
    def apply_call(cls, call: Call, inputs: Sequence[Any], scalars: tuple[Any, ...]) -> list[Any]:
        arrays = [one.array for one in inputs]
        inferred = call.infer(types_of(arrays))
        outputs = call.lower("cpu", arrays, [np.float64(one) for one in scalars])
        assert types_of(outputs) == inferred, f"{call}: inferred {inferred}"
        return [cls(one) for one in outputs]

    @classmethod
    def apply_operator(
        cls, op: Any, inputs: Sequence[Any], attrs: Any, *, name: Any = None, out: Any = None
    ) -> Any:
        call, scalars = op.bind(attrs)
        outputs = cls.apply_call(call, inputs, scalars)
        return outputs[0] if call.num_visible == 1 else outputs[: call.num_visible]

    @property
    def inferred_dtype(self) -> Any:
        return self.array.dtype

    @property
    def type(self) -> TensorType:
        return types_of([self.array])[0]

    def asnumpy(self) -> np.ndarray:
        return np.asarray(self.array)
