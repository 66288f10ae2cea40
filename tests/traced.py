"""Operators run inside a program that is being built, with their gradient rules, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import jax
import numpy as np
import pytest

from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.call import Call
from hybridnet.ops.handle import Operand

__all__ = ["QUICK", "Traced", "in_a_hurry", "types_of"]

#: Compiler options for a program that runs once: compiling it well is not worth its time.
QUICK: Final[dict[str, Any]] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_parallel_codegen_split_count": 1,
}


@pytest.fixture
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has all programs of a test compiled with the options `QUICK`."""
    compiled = jax.stages.Lowered.compile
    monkeypatch.setattr(jax.stages.Lowered, "compile", lambda one: compiled(one, QUICK))


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
