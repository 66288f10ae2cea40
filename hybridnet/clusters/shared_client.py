"""`SharedClient`: a client's questions to the queues and accumulators of tasks."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable
from concurrent.futures import Future
from typing import final

from hybridnet.graph import Node
from hybridnet.runtime.between_tasks import TravellingTensor

from .cut import task_of
from .members import Members
from .packets import Packet
from .shared import Asked, SharedUse


@final
class SharedClient:
    """Asks queues and accumulators, each on the task of its node's device.

    Args:
        members: the tasks.
        home_of: returns a node's device.
    """

    def __init__(self, members: Members, home_of: Callable[[Node], str]) -> None:
        self._members = members
        self._home_of = home_of
        # Of its own among all clients of the process, which speak by one name.
        self._numbers = itertools.count(secrets.randbits(31) << 31)

    def ask(self, use: SharedUse, asked: Asked) -> Callable[[], None]:
        """Asks something; ``asked.answer`` is set when there is an answer.

        Returns:
            What takes the question back.

        Raises:
            UnavailableError: the task does not answer.
        """
        task = task_of(self._home_of(use.home))
        number = next(self._numbers)
        words = {
            "kind": "shared", "number": number, "name": use.name, "about": use.about,
            "method": asked.method, "words": asked.words,
        }  # fmt: skip
        tensors = [TravellingTensor.of(one) for one in asked.arrays]

        def answered(found: Future[Packet]) -> None:
            error = found.exception()
            if error is None:
                asked.answer.set_result([one.array() for one in found.result().tensors])
            else:
                asked.answer.set_exception(error)

        self._members.request(task, words, tensors).add_done_callback(answered)
        return lambda: self._members.tell(task, {"kind": "unshared", "number": number})
