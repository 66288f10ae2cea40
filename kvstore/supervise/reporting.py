"""Tells a run's scheduler which processes have ended, why, and whether others take their places."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.drivers.scheduler_driver import Reporter
from hybridnet.kvstore.supervise.words import Ended, reason


@contextlib.contextmanager
def reporting(cluster: Cluster) -> Iterator[Callable[[Ended, bool], None]]:
    """A block with what `run_job` is to report to.

    Args:
        cluster: of the run.

    Raises:
        ImportError: pyzmq is missing; says what to install.
    """
    with contextlib.closing(Reporter(cluster)) as reporter:

        def report(ended: Ended, returns: bool) -> None:
            plan = ended.plan
            if plan.role != "scheduler" and plan.count == 1:
                why = reason(ended.code).removeprefix("was ")
                reporter.gone(plan.role, plan.rank, plan.generation, why, returns=returns)

        yield report
