"""The processes of a job as subprocesses on this machine.

Each leads a process group, so that a signal reaches what it has started, too, and Ctrl-C at a
terminal reaches the supervisor alone, which then ends all of them in order. The kernel kills them
when the supervisor dies (PR_SET_PDEATHSIG, Linux), so that none is left to disturb the next run.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.supervise.job import ProcessPlan
from hybridnet.kvstore.supervise.printing import pipes
from hybridnet.kvstore.supervise.supervisor import Handle, Supervisor

_PR_SET_PDEATHSIG: Final = 1


@final
class LocalSupervisor(Supervisor):
    """Starts all processes of a job on this machine."""

    def start(self, plan: ProcessPlan) -> Handle:
        """See `Supervisor.start`."""
        return start_process(plan.title, plan.command, plan.environment)


@final
class ProcessHandle(Handle):
    """A subprocess.

    Args:
        process: leads a process group of its own.
        translate: makes of its exit status that of what it stands for.
    """

    def __init__(
        self, process: subprocess.Popen[Any], translate: Callable[[int], int] = int
    ) -> None:
        self._process = process
        self._translate = translate
        self._is_over = False
        self._descriptor: int | None = None
        if hasattr(os, "pidfd_open"):
            # Not there on old kernels and macOS; then the process is looked at now and then.
            with contextlib.suppress(OSError):
                self._descriptor = os.pidfd_open(process.pid)

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def poll(self) -> int | None:
        """See `Handle.poll`."""
        code = self._process.poll()
        if code is None:
            return None
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if not self._is_over:
            self._is_over = True
            # What it has started and left behind ends with it.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        return self._translate(code)

    def signal(self, number: int) -> None:
        """See `Handle.signal`."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def fileno(self) -> int | None:
        """See `Handle.fileno`."""
        return self._descriptor


def start_process(
    title: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    text: str | None = None,
    translate: Callable[[int], int] = int,
    output: tuple[int, int] | None = None,
    farewell: int | None = None,
) -> ProcessHandle:
    """Starts a subprocess that ends with this process.

    Args:
        title: what messages call it.
        command: what to run.
        environment: variables over this process's own.
        text: what it finds on its standard input, which then stays open as long as it lives. By
            default it finds nothing.
        translate: see `ProcessHandle`.
        output: descriptors of its standard output and error; by default it prints, in whole lines,
            where this process does (`printing`).
        farewell: the signal that the kernel sends it when this thread has died, by default
            SIGKILL. What has started others elsewhere is asked to end, and ends them.

    Raises:
        KVStoreError: it cannot be started.
    """
    ends = pipes() if output is None else output
    try:
        process = subprocess.Popen(
            list(command),
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL if text is None else subprocess.PIPE,
            stdout=ends[0],
            stderr=ends[1],
            process_group=0,
            preexec_fn=_tie(signal.SIGKILL if farewell is None else farewell),
            text=True,
        )
    except OSError as error:
        raise KVStoreError(
            f"{title} cannot be started: {command[0]}: {error.strerror or error}"
        ) from error
    finally:
        if output is None:
            for one in ends:
                if one is not None:
                    os.close(one)
    if text is not None:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(text)
            process.stdin.flush()
    return ProcessHandle(process, translate)


def _tie(farewell: int) -> Callable[[], None] | None:
    """Returns what a child does first: it asks the kernel for a signal when its parent dies."""
    if not sys.platform.startswith("linux"):
        return None
    # Loaded here: after a fork nothing may be that takes a lock.
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def tie() -> None:
        prctl(_PR_SET_PDEATHSIG, farewell, 0, 0, 0)
        if os.getppid() != parent:  # it died before the kernel was asked
            os.kill(os.getpid(), signal.SIGKILL)

    return tie
