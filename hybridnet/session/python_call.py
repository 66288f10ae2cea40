"""`PythonCall`: Python on the host, as a node of a graph that sessions run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.errors import MXNetError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ndarray.copies import put
from hybridnet.ops.core import Arrays, HostOnlyCall, Scalars
from hybridnet.runtime.recording import recorder
from hybridnet.runtime.tasks import push_task

#: What a task hands on that returns nothing.
_DONE: Final = np.zeros((), np.int32)


class PythonCall(HostOnlyCall):
    """A function from NumPy arrays to NumPy arrays, which runs as a task of the engine."""

    refusal, fault = "{name}: a Python function cannot be part of a compiled program", MXNetError
    on_host, symbolic_rule = True, False
    no_gradient = "it is a Python function"
    __slots__ = ()

    @abstractmethod
    def compute(self, arrays: Sequence[Any]) -> list[Any]:
        """Returns the results, of the types that `infer` tells."""

    def run_on_host(self, ctx: Any, values: Arrays, scalars: Scalars, record: Any) -> list[Any]:
        """Runs it. One that returns nothing is waited for: its errors would be lost."""

        def run(*arrays: Any) -> list[Any]:
            made = self.compute([np.asarray(one) for one in arrays]) or [_DONE]
            return [put(one, ctx).array for one in made]

        types = self.infer(tuple(one.type for one in values))
        made = push_task(run, values, types or (tensor_type((), _DONE.dtype),), name=self.name)
        if not types:
            recorder.ready_array(made[0])
        return made[: len(types)]
