"""The protocol of the parameter server over machines: decisions without IO and without a clock.

`words` says what is said and how the machines are used; docs/protocol.md, why it is enough.
"""

from .scheduler import SchedulerMachine
from .server import ServerMachine
from .worker import WorkerMachine

__all__ = ["SchedulerMachine", "ServerMachine", "WorkerMachine"]
