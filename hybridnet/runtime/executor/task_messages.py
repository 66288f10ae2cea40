"""The messages between tasks of a cluster while a step runs, and how they travel.

A *task* is a process that runs the parts of a graph for its devices. In TensorFlow who needs a
tensor asks for it (RecvTensor in Abadi et al., "TensorFlow: Large-Scale Machine Learning on
Heterogeneous Distributed Systems", 2015, section 3.3). But every Send has its Recv, so that each
tensor would be asked for in each step: here it is sent unasked, with all that was made with it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.dtype import CODE_OF, DTYPE_OF_CODE
from hybridnet.base.errors import DTypeError, FormatError
from hybridnet.base.host_array import DeviceArray, HostArray

from .rendezvous import Key


class TravellingTensor(NamedTuple):
    """A tensor as bytes.

    Attributes:
        dtype: its code in `DTYPE_OF_CODE`.
        shape: the dimensions.
        payload: the elements in C order, as this machine has them.
    """

    dtype: int
    shape: tuple[int, ...]
    payload: bytes | memoryview

    @property
    def nbytes(self) -> int:
        """Bytes of the payload."""
        return len(self.payload)

    @staticmethod
    def of(array: DeviceArray | NumpyArray) -> TravellingTensor:
        """Takes a JAX or NumPy array, for which it waits; memory is shared where that is possible.

        Raises:
            DTypeError: its dtype is none that travels.
        """
        host = array.numpy if type(array) is HostArray else np.asarray(array)
        code = CODE_OF.get(host.dtype)
        if code is None:
            raise DTypeError(f"a tensor of dtype {host.dtype} cannot go to another task")
        # A dtype that came later has no letter for `memoryview`.
        payload = np.ascontiguousarray(host).reshape(-1).view(np.uint8).data
        return TravellingTensor(code, host.shape, payload)

    def array(self) -> NumpyArray:
        """Returns it as a NumPy array, on the memory of the payload where that is aligned.

        Raises:
            FormatError: there is no such dtype, or the payload has not the bytes of that shape.
        """
        code, shape, payload = self
        dtype = DTYPE_OF_CODE.get(code)
        if dtype is None or min(shape, default=0) < 0:
            raise FormatError(f"a tensor with dtype code {code} and shape {shape}")
        wanted, got = math.prod(shape) * dtype.itemsize, len(payload)
        if wanted != got:
            raise FormatError(f"a tensor {dtype.name}{list(shape)} needs {wanted} bytes, got {got}")
        array: NumpyArray = np.ndarray(shape, dtype, payload)
        return array if array.flags.aligned else array.copy()


class Made(NamedTuple):
    """A tensor that was made for another task.

    Attributes:
        key: what it is known by.
        dead: whether its branch was not taken.
        tensor: None where it is dead, or stands for a control edge.
    """

    key: Key
    dead: bool
    tensor: TravellingTensor | None


@final
@dataclass(frozen=True, slots=True)
class Tensors:
    """Brings tensors, as soon as they are made.

    Attributes:
        step: of which step.
        number: of this message, among those of its sender to that task; from 0 on.
        made: the tensors.
    """

    step: int
    number: int
    made: tuple[Made, ...]


@final
@dataclass(frozen=True, slots=True)
class Have:
    """Says which `Tensors` have come, so that they need not be kept.

    Attributes:
        step: of which step.
        below: all with a lower number have come.
        beyond: and these.
        again: whether the others are to be sent again.
    """

    step: int
    below: int
    beyond: tuple[int, ...]
    again: bool


@final
@dataclass(frozen=True, slots=True)
class Cancel:
    """Ends a step for all tasks.

    Attributes:
        step: which.
        why: the message of the error.
    """

    step: int
    why: str


Message = Tensors | Have | Cancel


class TaskTransport(ABC):
    """Takes messages to other tasks. It may lose them, take long, or bring them twice.

    What is heard is told to one listener, in any thread, one message at a time or several.
    """

    @property
    @abstractmethod
    def task(self) -> str:
        """The name of this process's task, ``/job:worker/replica:0/task:1``."""

    @abstractmethod
    def send(self, task: str, message: Message) -> None:
        """Sends a message; never blocks, and raises nothing where the other is gone."""

    @abstractmethod
    def listen(self, hear: Callable[[str, Message], None]) -> None:
        """Registers the function that is called with the sender and each message that comes."""

    def send_again(self, task: str, message: Tensors) -> None:
        """Sends a message again that has not come."""
        self.send(task, message)

    def forget(self, task: str, message: Tensors) -> None:  # noqa: B027 - most keep nothing
        """Is told that a message has come, or is not needed any more."""
