"""`Gang`: this process among those it computes with, and what becomes of it when one is gone.

Collective calls are tasks of the engine, all of which write one Var: so they run one after the
other, in the order in which the program makes them, which is the same in all processes. A thread of
its own runs what may never return, as when another process is stopped in its middle; whoever waits
for it is freed when the gang breaks.

A gang breaks once and for all: when a process is gone, when one leaves while others still call it,
or when two do not make the same calls. What is called then raises why, and the process ends with
`EXIT_CODE`, however its program ends.
"""

from __future__ import annotations

import atexit
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NoReturn, final

from hybridnet import engine
from hybridnet.base.context import cpu
from hybridnet.base.errors import MXNetError
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.jax_private import backends_have_begun, gang_state
from hybridnet.base.lazy import jax
from hybridnet.engine import RLock
from hybridnet.runtime.contexts import device_of, has_begun

from .coordination import Coordination, connect
from .errors import LostPeerError
from .membership import Membership, find_membership

#: The status with which the processes of a broken gang end: start all of them again.
EXIT_CODE: Final = 75  # EX_TEMPFAIL of sysexits.h

# Seconds after which a call that waits looks what the others do.
_LOOK_EVERY: Final = 2.0
# Seconds that who lost a connection waits to be told whose it was: until TCP gives a machine up.
_NEWS: Final = 8.0
# Seconds to wait at the end until the others are at theirs.
_LEAVING: Final = 300.0
_BIND: Final = "HYBRIDNET_DIST_BIND"


@final
class _Job:
    """A program to run, and what came of it."""

    def __init__(self, program: Callable[[], Sequence[DeviceArray]]) -> None:
        self.program = program
        self.ended = engine.Flag()
        self.arrays: Sequence[DeviceArray] | None = None
        self.error: Exception | None = None


@final
class Gang:
    """This process among its peers.

    Args:
        member: its place.
        patience: seconds to wait for the others.

    Attributes:
        rank, size: its number, and how many there are.
        names: for each rank ``"host, process 123"``.
        order: the Var that all collective calls write.

    Raises:
        MXNetError: not all came.
    """

    def __init__(self, member: Membership, patience: float) -> None:
        self.rank, self.size = member.rank, member.size
        self.order = engine.new_variable("collectives")
        self._broken: MXNetError | None = None
        self._others = [one for one in range(member.size) if one != member.rank]
        self._calls = 0
        # What all processes have been seen to call; what this one has stated of its calls.
        self._agreed: set[str] = set()
        self._stated = 0
        # What others have stated, by call and rank; who has left, and how.
        self._theirs: dict[int, dict[int, str]] = {}
        self._left: dict[int, str] = {}
        # Taken by itself: see `background._Exit`.
        self._lock = RLock()
        self._changed = threading.Condition(self._lock)
        self._leaving = False
        self._said = False
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._job: _Job | None = None
        bind = os.environ.get(_BIND, "").strip() or member.host
        self._coordination: Coordination = connect(member, patience, bind)
        self.names = self._coordination.names
        self._coordination.listen(self._hear)
        threading.Thread(target=self._work, name="hybridnet-collectives", daemon=True).start()

    @property
    def broken(self) -> MXNetError | None:
        """Why nothing can be called any more; None while all is well."""
        return self._broken

    @property
    def local_rank(self) -> int:
        """This process's number among those of its host."""
        hosts = [name.partition(",")[0] for name in self.names]
        return hosts[: self.rank].count(hosts[self.rank])

    def run(self, what: str, program: Callable[[], Sequence[DeviceArray]]) -> Sequence[DeviceArray]:
        """Runs a program in all processes; to be called by tasks that write `order`.

        Args:
            what: says which call it is, with types: the same in all processes.
            program: returns JAX arrays.

        Raises:
            LostPeerError: a process is gone.
            MXNetError: the others call something else.
        """
        self.check()
        self._calls += 1
        number = self._calls
        if what not in self._agreed:
            self._agree(number, what)
        job = self._job = _Job(program)
        self._jobs.put(job)
        while not job.ended.wait(_LOOK_EVERY):
            self._look(number, what)
        self._job = None
        self.check()
        if job.error is not None:
            raise self._explained(what, job.error)
        self._agreed.add(what)
        with self._lock:  # all have begun this call
            for old in [one for one in self._theirs if one <= number]:
                del self._theirs[old]
        assert job.arrays is not None
        return job.arrays

    def check(self) -> None:
        """Raises why the gang is broken, if it is."""
        if self._broken is not None:
            raise type(self._broken)(*self._broken.args)

    def leave(self, failure: BaseException | None) -> None:
        """Parts from the others.

        Args:
            failure: why the program ends early; then the others are not waited for.
        """
        self._leaving = True
        if failure is not None:
            text = f"failed: {type(failure).__name__}: {failure}"
            self._coordination.tell({"left": text})
            return
        self._coordination.tell({"left": "ended"})
        with self._lock:
            self._changed.wait_for(lambda: len(self._left) == len(self._others), _LEAVING)
        self._coordination.close()

    # -- who runs the programs ---------------------------------------------------------------

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                arrays = job.program()
                jax.block_until_ready(arrays)
                job.arrays = arrays
            except Exception as error:
                job.error = error
            job.ended.set()

    # -- what the others do ------------------------------------------------------------------

    def _agree(self, number: int, what: str) -> None:
        """Sees that all make the same call, which is new to all of them."""
        self._state(number, what)
        with self._lock:
            self._wait_for_others(number)
        self._compare(number, what)

    def _wait_for_others(self, number: int) -> None:
        while self._broken is None and len(self._theirs.get(number, ())) < len(self._others):
            self._changed.wait(_LOOK_EVERY)
            if self._left:
                break

    def _look(self, number: int, what: str) -> None:
        """Looks why a call takes long: somebody may have left, or call something else."""
        self._state(number, what)
        self._compare(number, what)

    def _state(self, number: int, what: str) -> None:
        if self._stated < number:
            self._stated = number
            self._coordination.tell({"call": number, "what": what})

    def _compare(self, number: int, what: str) -> None:
        with self._lock:
            theirs, left = dict(self._theirs.get(number, {})), dict(self._left)
        for other, said in theirs.items():
            if said != what:
                (low, first), (high, second) = sorted([(self.rank, what), (other, said)])
                self._break(
                    MXNetError(
                        "distributed: all processes must make the same collective calls in the "
                        f"same order, with the same shapes and dtypes; call {number} is {first} "
                        f"in rank {low} and {second} in rank {high}"
                    )
                )
        for other, how in left.items():
            self._break(
                LostPeerError(
                    f"distributed: {self._named(other)} has {how}, while others still call it; "
                    "all of a gang end together"
                )
            )
        self.check()

    def _hear(self, sender: int | None, message: Mapping[str, object]) -> None:
        """Takes what another process says, in a thread of its own."""
        if sender is None:
            self._is_cut_off()
            return
        number, what, how = (message.get(name) for name in ("call", "what", "left"))
        with self._lock:
            if isinstance(number, int) and isinstance(what, str):
                self._theirs.setdefault(number, {})[sender] = what
            elif isinstance(how, str):
                self._left[sender] = how
            self._changed.notify_all()
        failed = isinstance(how, str) and how != "ended"
        if failed or (message.get("gone") and self._left.get(sender) is None):
            with self._lock:
                self._left.setdefault(sender, "gone")
                self._changed.notify_all()
            why = f"has {how}" if failed else "is gone"
            self._break(
                LostPeerError(
                    f"distributed: {self._named(sender)} {why}, and with it the gang; start all "
                    "processes again, from a checkpoint"
                )
            )

    def _is_cut_off(self) -> None:
        """Takes the end of the connection to all others."""
        if self._leaving:
            return
        self._break(
            LostPeerError(
                "distributed: the connection to the other processes is lost (the process beside "
                f"rank 0 ({self.names[0]}) that keeps it has ended); start all again, from a "
                "checkpoint"
            )
        )
        # JAX's client ends the process by SIGABRT a moment after its service is gone.
        end_broken(self)

    # -- the end -----------------------------------------------------------------------------

    def say_why(self) -> None:
        """Prints why the gang is broken, once."""
        if self._broken is not None and not self._said:
            self._said = True
            print(f"hybridnet: {self._broken}", file=sys.stderr)

    def _named(self, rank: int) -> str:
        return f"rank {rank} ({self.names[rank]})"

    def _break(self, error: MXNetError) -> None:
        with self._lock:
            if self._broken is None:
                self._broken = error
            self._changed.notify_all()
        job = self._job
        if job is not None:
            job.ended.set()

    def _explained(self, what: str, error: Exception) -> MXNetError:
        """Returns why a call failed: that somebody is gone is known a little later."""
        with self._lock:
            self._changed.wait_for(lambda: self._broken is not None, _NEWS)
        if self._broken is None:
            self._break(LostPeerError(f"distributed: {what}: a connection was lost: {error}"))
        assert self._broken is not None
        return self._broken


def end_broken(gang: Gang) -> NoReturn:
    """Ends the process of a broken gang at once; XLA's own end would wait for who is gone."""
    gang.say_why()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(EXIT_CODE)


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
            no token and other machines are addressed, or the others did not come.
    """
    if _Process.gang is not None:
        return
    member = find_membership(address, size, rank)
    if member is None:
        return
    if has_begun() or backends_have_begun():
        raise MXNetError(
            "distributed.initialize: must be called before anything is computed by XLA, since its "
            "devices must know of the other processes; call it first of all"
        )
    _Process.gang = Gang(member, timeout)
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
    """How many processes the gang has; 1 while this one is on its own."""
    return 1 if _Process.gang is None else _Process.gang.size


def local_rank() -> int:
    """The number of this process among those of the gang on its host; 0 while it is on its own."""
    return 0 if _Process.gang is None else _Process.gang.local_rank


def shutdown() -> None:
    """Waits until all processes are here, and ends the gang; the end of a program does it, too.

    The process cannot be part of another gang afterwards: XLA's devices stay as they are.

    Raises:
        DeadNodeError: a process is gone.
    """
    gang = _Process.gang
    if gang is None:
        return
    engine.wait_for_all()
    gang.check()
    atexit.unregister(_at_exit)
    _Process.gang = None
    _unhook()
    gang.leave(None)


def _unhook() -> None:
    """Makes JAX's own end leave the connection alone."""
    gang_state().client = None


def _forget() -> None:
    """In a forked child: it is no process of the gang, and says nothing to the others."""
    if _Process.gang is not None:
        _Process.gang = None
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
        return
    end_broken(gang)
