"""`Gang`: this process among those it computes with, and what becomes of it when one is gone.

Collective calls are tasks of the engine, all of which write one Var: so they run one after the
other, in the order in which the program makes them, which is the same in all processes. Programs on
a mesh over the gang are launched by the thread that needs them. A thread of its own runs, or waits
for, what may never return, as when another process is stopped in its middle; whoever waits for it
is freed when the gang breaks.

A gang breaks once and for all: when a process is gone, when one leaves while others still need it,
or when two do not do the same (`Agreement`). What is called then raises why, and the process ends
with `EXIT_CODE`, however its program ends.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, final

from hybridnet import engine
from hybridnet.base.errors import MXNetError
from hybridnet.base.host_array import DeviceArray
from hybridnet.engine import RLock

from .agreement import Agreement
from .coordination import Coordination, connect
from .errors import LostPeerError
from .ledger import Ledger
from .membership import Membership
from .worker import Worker

#: The status with which the processes of a broken gang end: start all of them again.
EXIT_CODE: Final = 75  # EX_TEMPFAIL of sysexits.h

# Seconds between two looks at how far this process has come.
_BEAT: Final = 1.0
# Seconds that who lost a connection waits to be told whose it was: until TCP gives a machine up.
_NEWS: Final = 8.0
# Seconds after which a launch that does not return, in a gang that is broken, never will.
_STUCK: Final = 4.0
# Seconds to wait at the end until the others are at theirs.
_LEAVING: Final = 300.0
_BIND: Final = "HYBRIDNET_DIST_BIND"


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
        fault: the kind of the errors that say that a process is gone.

    Raises:
        MXNetError: not all came.
    """

    fault = LostPeerError

    def __init__(self, member: Membership, patience: float) -> None:
        self.rank, self.size = member.rank, member.size
        self.order = engine.new_variable("collectives")
        self._broken: MXNetError | None = None
        self._left: set[int] = set()
        # Taken by itself: see `background._Exit`.
        self._lock = RLock()
        self._changed = threading.Condition(self._lock)
        self._leaving = False
        self._said = False
        self._launching_since: float | None = None
        self._caller = Worker("hybridnet-collectives")
        self._waiter = Worker("hybridnet-gang-wait")
        bind = os.environ.get(_BIND, "").strip() or member.host
        self._coordination: Coordination = connect(member, patience, bind)
        self.names = self._coordination.names
        self._agreement = Agreement(
            self.rank, self.size, self._named, self._coordination.tell, self._break
        )
        self._coordination.listen(self._hear)
        threading.Thread(target=self._watch, name="hybridnet-gang-watch", daemon=True).start()

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
        self._enter(self._agreement.calls, what)
        try:
            arrays = self._caller.run(program)
        except Exception as error:
            raise self._explained(what, error) from error
        self.check()
        assert arrays is not None
        return arrays

    def launch(self, what: str) -> None:
        """See `Peers`."""
        self._enter(self._agreement.launches, what)
        self._launching_since = time.monotonic()

    def launched(self) -> None:
        """See `Peers`."""
        self._launching_since = None

    def finish(self, array: Any) -> None:
        """See `Peers`."""
        if array.is_ready():
            return
        self.check()
        try:
            made = self._waiter.run(lambda: [array])
        except RuntimeError as error:
            raise self.explained(error) from error
        if made is None:
            self.check()

    def explained(self, error: Exception) -> Exception:
        """See `Peers`; that somebody is gone is known a little later."""
        with self._lock:
            self._changed.wait_for(lambda: self._broken is not None, _NEWS)
        return self._broken or error

    def check(self) -> None:
        """Raises why the gang is broken, if it is."""
        if self._broken is not None:
            raise type(self._broken)(*self._broken.args)

    def leave(self, failure: BaseException | None) -> None:
        """Parts from the others, and says what this process has done, for all to compare.

        Args:
            failure: why the program ends early; then the others are not waited for.
        """
        self._leaving = True
        if failure is not None:
            self._agreement.leave(f"failed: {type(failure).__name__}: {failure}", compare=False)
            return
        self._agreement.leave("ended", compare=True)
        with self._lock:
            self._changed.wait_for(
                lambda: self._broken is not None or len(self._left) == self.size - 1, _LEAVING
            )
            if self._agreement.suspects:  # the others say what they did
                self._changed.wait_for(lambda: self._broken is not None, _NEWS)
        self._coordination.close()

    def _enter(self, ledger: Ledger, what: str) -> None:
        self.check()
        self._agreement.enter(ledger, what)
        self.check()

    def _watch(self) -> None:
        """Tells how far this process has come; ends it where a launch will never return."""
        broken_since: float | None = None
        while not self._leaving:
            time.sleep(_BEAT)
            if self._broken is None:
                self._agreement.beat()
                continue
            broken_since = broken_since or time.monotonic()
            since = self._launching_since
            if since and time.monotonic() - max(since, broken_since) > _STUCK:
                end_broken(self)

    # -- what the others do ------------------------------------------------------------------

    def _hear(self, sender: int | None, message: Mapping[str, Any]) -> None:
        """Takes what another process says, in a thread of its own."""
        if sender is None:
            self._is_cut_off()
            return
        if "of" in message:
            self._agreement.hear(sender, message)
            return
        how, counts = message.get("left"), message.get("counts")
        was_here = sender not in self._left
        if isinstance(how, str) or message.get("gone"):
            with self._lock:
                self._left.add(sender)
                self._changed.notify_all()
        if isinstance(how, str) and isinstance(counts, Mapping):
            self._agreement.note_left(sender, counts, how)
        failed = isinstance(how, str) and how != "ended"
        if failed or (message.get("gone") and was_here):
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
                f"checkpoint. Of that process: {self._coordination.how_it_ended()}"
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
        self._agreement.stop()
        self._caller.free()
        self._waiter.free()

    def _explained(self, what: str, error: Exception) -> Exception:
        """Returns why a call failed."""
        found = self.explained(error)
        if found is error:
            self._break(LostPeerError(f"distributed: {what}: a connection was lost: {error}"))
        assert self._broken is not None
        return self._broken


def end_broken(gang: Gang) -> NoReturn:
    """Ends the process of a broken gang at once; XLA's own end would wait for who is gone."""
    gang.say_why()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(EXIT_CODE)
