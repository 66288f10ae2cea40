"""The gang of this process: how it becomes part of one, asks about it, and leaves it."""

from __future__ import annotations

import atexit
import os
import sys
import threading

from hybridnet import engine
from hybridnet.base.context import cpu
from hybridnet.base.errors import MXNetError
from hybridnet.base.jax_private import backends_have_begun, gang_state
from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.system import check_system
from hybridnet.runtime.contexts import device_of, has_begun, spanning

from .membership import find_membership
from .team import EXIT_CODE, Gang, end_broken

__all__ = [
    "EXIT_CODE",
    "current",
    "initialize",
    "is_initialized",
    "local_rank",
    "rank",
    "shutdown",
    "size",
]


class _Process:
    """The gang of this process; None while it is on its own."""

    gang: Gang | None = None


def current() -> Gang | None:
    """Returns the gang of this process; None while it is on its own."""
    return _Process.gang


def initialize(
    address: str | None = None,
    size: int | None = None,
    rank: int | None = None,
    *,
    timeout: float = 120.0,
) -> None:
    """Makes this process part of a gang; to be called before anything is computed.

    Without arguments it is as the environment says: that of ``hybridnet launch -n N -s 0`` and of
    MXNet's launchers (DMLC_PS_ROOT_URI, DMLC_PS_ROOT_PORT, DMLC_NUM_WORKER, and DMLC_WORKER_ID,
    DMLC_TASK_ID or HYBRIDNET_DIST_RANK), of SLURM or of Open MPI. HYBRIDNET_DIST_COORDINATOR,
    HYBRIDNET_DIST_SIZE and HYBRIDNET_DIST_RANK come first. Where nothing says that there are
    others, the process is a gang of one. A second call does nothing.

    Rank 0 listens on the host of `address` (HYBRIDNET_DIST_BIND names another address), and lets in
    who has the token of the gang: HYBRIDNET_DIST_TOKEN, or the file that
    HYBRIDNET_DIST_TOKEN_FILE names, the same in all processes. ``hybridnet launch`` makes one, and
    on loopback it is not needed: there all processes of one user have one. What the processes
    compute goes by JAX's service and Gloo or NCCL, which ask for nothing: whoever reaches their
    ports can disturb, read and write. Use networks that you trust.

    Args:
        address: ``"host:port"`` at which rank 0 coordinates.
        size: how many processes there are.
        rank: which of them this one is, from 0 on.
        timeout: seconds to wait for the others.

    Raises:
        ParameterError: something is missing, or is not what it must be.
        MXNetError: something was computed already, this is a parameter server's process, there is
            no token and other machines are addressed, the others did not come, or this is
            Windows.
    """
    if _Process.gang is not None:
        return
    member = find_membership(address, size, rank)
    if member is None:
        return
    try:
        check_system()
    except KVStoreError as error:
        raise MXNetError(f"distributed.initialize: {error}") from error
    if has_begun() or backends_have_begun():
        raise MXNetError(
            "distributed.initialize: must be called before anything is computed by XLA, since its "
            "devices must know of the other processes; call it first of all"
        )
    _Process.gang = spanning.gang = Gang(member, timeout)
    # What is printed to stderr may be lost later, when threads are left behind in XLA.
    getattr(threading, "_register_atexit", atexit.register)(_say_why)
    atexit.register(_at_exit)
    device_of(cpu())  # makes XLA's devices, for which all processes must be there


def is_initialized() -> bool:
    """Whether this process is part of a gang of several."""
    return _Process.gang is not None


def rank() -> int:
    """The number of this process in its gang, from 0 on; 0 while it is on its own."""
    return 0 if _Process.gang is None else _Process.gang.rank


def size() -> int:
    """The number of processes in the gang; 1 while this one is on its own."""
    return 1 if _Process.gang is None else _Process.gang.size


def local_rank() -> int:
    """The number of this process among those of the gang on its host; 0 while it is on its own."""
    return 0 if _Process.gang is None else _Process.gang.local_rank


def shutdown() -> None:
    """Waits until all processes are here, and ends the gang; the end of a program does it, too.

    The process cannot be part of another gang afterwards: XLA's devices stay as they are.

    Raises:
        DeadNodeError: a process is gone.
        MXNetError: another process has made other calls.
    """
    gang = _Process.gang
    if gang is None:
        return
    engine.wait_for_all()
    gang.check()
    atexit.unregister(_at_exit)
    _Process.gang = spanning.gang = None
    _unhook()
    gang.leave(None)
    if not isinstance(gang.broken, gang.fault):  # who is gone now is the others' affair
        gang.check()


def _unhook() -> None:
    """Makes JAX's own end leave the connection alone."""
    gang_state().client = None


def _forget() -> None:
    """In a forked child: it is no process of the gang, and says nothing to the others."""
    if _Process.gang is not None:
        _Process.gang = spanning.gang = None
        _unhook()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _say_why() -> None:
    if _Process.gang is not None:
        _Process.gang.say_why()


def _at_exit() -> None:
    gang = _Process.gang
    if gang is None:
        return
    if gang.broken is None:
        _unhook()
        gang.leave(None if hasattr(sys, "ps1") else getattr(sys, "last_value", None))
        if gang.broken is None or isinstance(gang.broken, gang.fault):
            return  # who is gone now is the others' affair
    end_broken(gang)
