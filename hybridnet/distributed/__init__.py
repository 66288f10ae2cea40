"""`distributed`: processes that compute together, by collectives.

    hn.distributed.initialize()                  # in each process, before anything is computed
    total = hn.distributed.all_reduce(gradient)  # the same call in each

A *gang* is some processes, of which each has a *rank*, from 0 on. They run the same program, and
make the same collective calls in the same order. ``hybridnet launch -n 4 -s 0 python train.py``
starts one on this machine. The calls are XLA's (Gloo on CPUs, NCCL on GPUs), connected by
``jax.distributed``.

A gang lives and dies as one. When a process is gone, the calls of the others raise
`DeadNodeError`, and they end with the status `EXIT_CODE`, so that what started them starts all
again, from a checkpoint. What shall go on without a process that died uses a parameter server
(``kv.create("dist_sync")``), in processes that make no gang.

A process that is in no gang is a gang of one: every call gives back what it is given.
"""

from .collectives import all_gather, all_reduce, barrier, broadcast, reduce_scatter
from .errors import DeadNodeError, LostPeerError
from .gang import EXIT_CODE, initialize, is_initialized, local_rank, rank, shutdown, size

__all__ = [
    "EXIT_CODE",
    "DeadNodeError",
    "LostPeerError",
    "all_gather",
    "all_reduce",
    "barrier",
    "broadcast",
    "initialize",
    "is_initialized",
    "local_rank",
    "rank",
    "reduce_scatter",
    "shutdown",
    "size",
]
