"""Runs a job: starts processes, waits for their ends and for signals, does what the policy says.

Guarantee: when `run_job` returns or raises, no process that it started lives, and the files of the
run in memory are gone. When this process is killed, the kernel ends those on this machine (see
`local`), and the next job on it removes the files.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Final, final

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.own_folder import make_folder
from hybridnet.kvstore.supervise.gang_policy import GangPolicy
from hybridnet.kvstore.supervise.job import Job, ProcessPlan
from hybridnet.kvstore.supervise.policy import Policy
from hybridnet.kvstore.supervise.printing import hand_on_rest
from hybridnet.kvstore.supervise.supervisor import Handle, Supervisor
from hybridnet.kvstore.supervise.words import (
    Action,
    Conclude,
    Elapsed,
    Ended,
    Interrupted,
    Kill,
    Start,
    Tell,
)

_POLL: Final = 0.05  # seconds between looks at processes that have no descriptor to wait for
_OWNER: Final = "supervisor"  # in the folder of a run: the process that will remove it


def run_job(
    job: Job,
    supervisor: Supervisor,
    *,
    restarts: int = 3,
    tell: Callable[[str], None] | None = None,
    report: Callable[[Ended, bool], None] | None = None,
) -> int:
    """Runs a job to its end.

    Args:
        job: what to run.
        supervisor: what starts its processes.
        restarts: how often one process may be started again.
        tell: is called with each line of status; by default they are printed to stderr.
        report: is called with each process that was lost, and whether another takes its place.

    Returns:
        0 if all workers ended with 0; else the status of the first process that was lost, and
        128 + n where that, or this process, was ended by signal n.

    Raises:
        KVStoreError: a process cannot be started.
    """
    run = _Run(supervisor, tell or _print, report)
    with contextlib.closing(supervisor):
        code = _run_job(job, supervisor, restarts, run)
    hand_on_rest()
    run.tell(f"ended with status {code}")
    return code


def _run_job(job: Job, supervisor: Supervisor, restarts: int, run: _Run) -> int:
    plans = supervisor.plans(job, run.tell)
    policy = _policy(job, plans, restarts)
    with _folder_of(job), _signals() as wake:
        try:
            run.tell(_summary(job, plans, restarts))
            return _until_concluded(run, policy, wake)
        finally:
            run.kill_all()


def _until_concluded(run: _Run, policy: Policy | GangPolicy, wake: _Wake) -> int:
    """Does what the policy says until that has concluded; returns the exit status."""
    code = run.do(policy.start())
    while code is None:
        run.wait(wake, policy.next_time)
        code = run.look(policy, wake)
    return code


def _policy(job: Job, plans: list[ProcessPlan], restarts: int) -> Policy | GangPolicy:
    patience = job.cluster.deadline + 2
    if not job.cluster.servers:
        return GangPolicy(plans, restarts, patience)
    return Policy(plans, restarts, patience, shrinks=job.cluster.on_loss == "shrink")


@final
class _Run:
    """The processes of a job that is running."""

    def __init__(
        self,
        supervisor: Supervisor,
        tell: Callable[[str], None],
        report: Callable[[Ended, bool], None] | None,
    ) -> None:
        self._supervisor = supervisor
        self.tell = tell
        self._report = report
        self._handles: dict[str, tuple[ProcessPlan, Handle]] = {}

    def do(self, actions: list[Action]) -> int | None:
        """Does what was decided; returns the job's status if it has ended."""
        for action in actions:
            match action:
                case Start(plan):
                    self._handles[plan.title] = plan, self._supervisor.start(plan)
                case Kill(plan, number):
                    if plan.title in self._handles:
                        self._handles[plan.title][1].signal(number)
                case Tell(line, ended, returns):
                    self.tell(line)
                    if ended is not None and self._report is not None:
                        self._report(ended, returns)
                case Conclude(code):
                    return code
        return None

    def look(self, policy: Policy | GangPolicy, wake: _Wake) -> int | None:
        """Tells the policy what has happened; returns the job's status if it has ended."""
        for number in wake.take():
            code = self.do(policy.handle(Interrupted(number), time.monotonic()))
            if code is not None:
                return code
        for title, (plan, handle) in list(self._handles.items()):
            status = handle.poll()
            if status is not None:
                del self._handles[title]
                code = self.do(policy.handle(Ended(plan, status, handle.why), time.monotonic()))
                if code is not None:
                    return code
        return self.do(policy.handle(Elapsed(), time.monotonic()))

    def wait(self, wake: _Wake, until: float | None) -> None:
        """Waits for an end, a signal, or the time."""
        known = [handle.fileno() for _, handle in self._handles.values()]
        waits: list[float] = [] if until is None else [max(until - time.monotonic(), 0.0)]
        if None in known:
            waits.append(_POLL)
        descriptors = [one for one in known if one is not None]
        select.select([wake.reader, *descriptors], [], [], min(waits, default=None))

    def kill_all(self) -> None:
        """Kills what still runs, and waits for its end."""
        for _, handle in self._handles.values():
            handle.signal(signal.SIGKILL)
        for _, handle in self._handles.values():
            deadline = time.monotonic() + 5
            while handle.poll() is None and time.monotonic() < deadline:
                time.sleep(_POLL / 10)
        self._handles.clear()


@final
class _Wake:
    """Signals that have come, as bytes of a pipe."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        for end in (self.reader, self.writer):
            os.set_blocking(end, False)

    def take(self) -> bytes:
        """Returns the numbers of the signals that have come since the last time."""
        try:
            return os.read(self.reader, 64)
        except BlockingIOError:
            return b""

    def note(self, number: int, frame: FrameType | None) -> None:
        """Takes note of a signal; its handler."""
        with contextlib.suppress(BlockingIOError):
            os.write(self.writer, bytes([number]))

    def close(self) -> None:
        """Closes the pipe."""
        os.close(self.reader)
        os.close(self.writer)


@contextlib.contextmanager
def _signals() -> Iterator[_Wake]:
    """A block in which Ctrl-C and its like are noted instead of ending this process."""
    with contextlib.closing(_Wake()) as wake:
        before: dict[int, Any] = {}
        try:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                before[number] = signal.signal(number, wake.note)
            yield wake
        finally:
            for known, handler in before.items():
                signal.signal(known, handler)


@contextlib.contextmanager
def _folder_of(job: Job) -> Iterator[None]:
    """A block in which the folder for the state of a run's servers is there."""
    folder = job.cluster.state_folder
    if job.cluster.folder is None:  # other machines, whose processes are not here, may see another
        _remove_orphans(folder)
    # Servers that need it here say why they cannot have it.
    with contextlib.suppress(OSError, KVStoreError):
        make_folder(folder)
        (folder / _OWNER).write_text(str(os.getpid()), encoding="utf-8")
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_orphans(folder: Path) -> None:
    """Removes the folders of runs of this user whose supervisors were killed."""
    pattern = f"{folder.name.partition('-')[0]}-*"
    for one in folder.parent.glob(pattern):
        with contextlib.suppress(OSError, ValueError):
            if one.lstat().st_uid == os.getuid() and not _lives(
                int((one / _OWNER).read_text(encoding="utf-8"))
            ):
                shutil.rmtree(one, ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _summary(job: Job, plans: Sequence[ProcessPlan], restarts: int) -> str:
    cluster = job.cluster
    if not cluster.servers:
        again = f"all started again up to {restarts} times" if restarts else "not started again"
        count = "1 process" if cluster.workers == 1 else f"{cluster.workers} processes"
        root = plans[0].environment.get("DMLC_PS_ROOT_URI")  # a supervisor may choose it later
        first = ", the first" if cluster.workers > 1 else ""
        return f"{count}{first} at {root}:{cluster.port}; {again}" if root else f"{count}; {again}"
    parts = cluster.counted()
    if cluster.p3:
        parts.append("p3")
    if not restarts:
        again = "none started again"
    elif all(plan.returns for plan in plans):
        again = f"each started again up to {restarts} times"
    else:
        again = "none started again but the scheduler"
    return f"{', '.join(parts)}, scheduler at {cluster.root}:{cluster.port}; {again}"


def _print(line: str) -> None:
    sys.stderr.write(f"hybridnet launch: {line}\n")  # as one piece, where others print, too
    sys.stderr.flush()
