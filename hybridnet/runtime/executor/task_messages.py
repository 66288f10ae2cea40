"""What tasks of a cluster say to each other while a step runs, and how the messages travel.

A *task* is a process that runs the parts of a graph for its devices. The words are those of
TensorFlow's RecvTensor (Abadi et al., "TensorFlow: Large-Scale Machine Learning on Heterogeneous
Distributed Systems", 2015, section 3.3): who needs a tensor asks for it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from hybridnet.base.dtype import TRAVELLING, TRAVELLING_CODE
from hybridnet.base.errors import DTypeError, FormatError

from .rendezvous import Key

__all__ = ["Answer", "Ask", "Cancel", "Got", "Message", "TaskTransport", "TravellingTensor"]


@final
@dataclass(frozen=True, slots=True)
class TravellingTensor:
    """A tensor as bytes.

    Attributes:
        dtype: its code in `TRAVELLING`.
        shape: the dimensions.
        payload: the elements in C order, as this machine has them.
    """

    dtype: int
    shape: tuple[int, ...]
    payload: bytes | memoryview

    @staticmethod
    def of(array: Any) -> TravellingTensor:
        """Takes a JAX or NumPy array, for which it waits; memory is shared where that is possible.

        Raises:
            DTypeError: its dtype is none that travels.
        """
        host = np.ascontiguousarray(array)
        code = TRAVELLING_CODE.get(host.dtype)
        if code is None:
            raise DTypeError(f"a tensor of dtype {host.dtype} cannot go to another task")
        # A dtype that came later has no letter for `memoryview`.
        return TravellingTensor(code, np.shape(array), host.reshape(-1).view(np.uint8).data)

    def array(self) -> np.ndarray[Any, Any]:
        """Returns it as a NumPy array on the memory of the payload.

        Raises:
            FormatError: there is no such dtype, or the payload has not the bytes of that shape.
        """
        dtype = TRAVELLING.get(self.dtype)
        if dtype is None or any(extent < 0 for extent in self.shape):
            raise FormatError(f"a tensor with dtype code {self.dtype} and shape {self.shape}")
        wanted, got = math.prod(self.shape) * dtype.itemsize, len(self.payload)
        if wanted != got:
            raise FormatError(
                f"a tensor {dtype.name}{list(self.shape)} needs {wanted} bytes, got {got}"
            )
        return np.frombuffer(self.payload, np.uint8).view(dtype).reshape(self.shape)


@final
@dataclass(frozen=True, slots=True)
class Ask:
    """Asks for the next tensor of a key, from the task that makes it.

    Attributes:
        step: of which step.
        number: of this request, among those of the asking task to that one; from 0 on.
        key: what is wanted.
    """

    step: int
    number: int
    key: Key


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """Answers `Ask`.

    Attributes:
        step, number: as asked.
        dead: whether the tensor's branch was not taken.
        tensor: None where it is dead, or stands for a control edge.
    """

    step: int
    number: int
    dead: bool
    tensor: TravellingTensor | None


@final
@dataclass(frozen=True, slots=True)
class Got:
    """Says that an `Answer` has come, so that it need not be kept.

    Attributes:
        step, number: as asked.
    """

    step: int
    number: int


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


Message = Ask | Answer | Got | Cancel


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
        """Has a function called with the sender and each message that comes."""
