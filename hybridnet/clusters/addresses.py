"""The addresses of a cluster's tasks, as users write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybridnet.base.errors import ParameterError


def read_addresses(tasks: Any) -> dict[str, dict[int, str]]:
    """Returns the addresses of tasks by job and number, in order.

    Args:
        tasks: job -> addresses, or job -> {number of a task: its address}.

    Raises:
        ParameterError: it is nothing of that.
    """
    if not isinstance(tasks, Mapping):
        raise ParameterError(
            f"the tasks of a cluster must be a dictionary from jobs to addresses, got {tasks!r}"
        )
    for job in tasks:
        if not isinstance(job, str):
            raise ParameterError(f"the name of a job must be a string, got {job!r}")
    return {job: _by_number(job, tasks[job]) for job in sorted(tasks)}


def _by_number(job: str, given: Any) -> dict[int, str]:
    found = dict(enumerate(given)) if isinstance(given, (list, tuple)) else given
    if not isinstance(found, Mapping) or not all(
        isinstance(number, int) and isinstance(address, str) for number, address in found.items()
    ):
        raise ParameterError(
            f"the tasks of job {job!r} must be a list of addresses, or a dictionary from numbers "
            f"to addresses, got {given!r}"
        )
    if any(number < 0 for number in found):
        raise ParameterError(f"job {job!r}: the number of a task must be >= 0")
    return dict(sorted(found.items()))
