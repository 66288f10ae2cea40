"""The driver of the scheduler, and how a supervisor tells it of processes that have ended."""

from __future__ import annotations

from typing import Any, final

from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.drivers.driver import Driver
from hybridnet.kvstore.drivers.plans import SUPERVISOR, identity_of, plan_of
from hybridnet.kvstore.protocol.scheduler import SchedulerMachine
from hybridnet.kvstore.protocol.words import SCHEDULER, Gone, Message, Peer, Role, Stop
from hybridnet.kvstore.transport.interface import Transport
from hybridnet.kvstore.transport.wire import encode
from hybridnet.kvstore.transport.zmq_transport import ZmqTransport


@final
class SchedulerDriver(Driver):
    """Runs the scheduler's machine.

    Args:
        cluster: what this process is.
        transport: it listens.
    """

    def __init__(self, cluster: Cluster, transport: Transport) -> None:
        plan = plan_of(cluster)
        machine = SchedulerMachine(plan, identity_of(cluster, transport.address))
        super().__init__(machine, transport, plan)

    def _act(self, action: Any) -> str:
        raise TypeError(f"a scheduler does not carry out {type(action).__name__}")


@final
class Reporter:
    """Tells the scheduler what only the supervisor of the processes knows. It never waits.

    Args:
        cluster: of the run; its role does not matter.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._run = plan_of(cluster).run
        self._transport = ZmqTransport(token=cluster.token, me=SUPERVISOR)
        self._transport.connect(SCHEDULER, f"tcp://{cluster.root}:{cluster.port}")

    def gone(
        self, role: Role, rank: int, generation: int, reason: str, *, returns: bool = True
    ) -> None:
        """Says that a process has ended.

        Args:
            role: its.
            rank: its number.
            generation: its DMLC_NUM_ATTEMPT.
            reason: e.g. "killed by signal 9".
            returns: whether another is started in its place.
        """
        self._send(Gone(Peer(role, rank), generation + 1, reason, returns))

    def stop(self, reason: str = "") -> None:
        """Says that the run is over: all processes are to end."""
        self._send(Stop(reason))

    def _send(self, message: Message) -> None:
        frames = encode(message, SUPERVISOR, 1, self._run)
        self._transport.send(SCHEDULER, frames)
        self._transport.receive(0.0)  # what the connection has to tell is not kept

    def close(self) -> None:
        """Closes the connection, when what was said has left: a second at most."""
        self._transport.close(1.0)
