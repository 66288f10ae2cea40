"""Hooks about the ends of a training loop: what is computed last, and when a worker begins."""

from __future__ import annotations

import logging
import time
from typing import Any, Final, final

from .rates import step_tensor
from .run_hook import SessionRunContext, SessionRunHook

__all__ = ["FinalOpsHook", "GlobalStepWaiterHook"]

log: Final = logging.getLogger("hybridnet.tf1")
#: Seconds between two looks at the global step.
_LOOK: Final = 0.5


@final
class FinalOpsHook(SessionRunHook):
    """Fetches something when the loop has ended.

    Args:
        final_ops: what, as for `Session.run`.
        final_ops_feed_dict: what it is fed.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._ops, self._feeds = final_ops, final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """What was fetched; None before."""
        return self._values

    def end(self, session: Any) -> None:
        """Fetches it."""
        if self._ops is not None:
            self._values = session.run(self._ops, feed_dict=self._feeds)


@final
class GlobalStepWaiterHook(SessionRunHook):
    """Has a worker wait until others have made some steps: so workers begin one after the other.

    Args:
        wait_until_step: the value of the global step.
    """

    def __init__(self, wait_until_step: int) -> None:
        self._until = wait_until_step
        self._is_there = wait_until_step <= 0

    def begin(self) -> None:
        """Finds the global step."""
        self._step = step_tensor("GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        """Waits, before the first run."""
        while not self._is_there:
            step = int(run_context.session.run(self._step))
            self._is_there = step >= self._until
            if not self._is_there:
                log.info("waiting for global step %d; it is %d", self._until, step)
                time.sleep(_LOOK)
