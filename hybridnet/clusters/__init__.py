"""Tasks of a cluster: processes that each run their part of a graph, and keep its variables.

`ClusterTask` is the process's end; `ClusterRunner` cuts a graph into one part for each device of
each task, and has the tasks run them. `cluster` makes the one, and sessions over the other. What
several sessions use by a name, such as a queue, is in a `SharedStore`.
"""

from .addresses import read_addresses
from .containers import CONTAINER, in_container
from .errors import (
    AbortedError,
    ClusterError,
    EndedError,
    GivenUpError,
    LateError,
    UnavailableError,
    WrongError,
)
from .joining import Cluster, cluster
from .master import ClusterRunner
from .shared import SharedStore, SharedUse
from .task import ClusterTask

__all__ = [
    "CONTAINER",
    "AbortedError",
    "Cluster",
    "ClusterError",
    "ClusterRunner",
    "ClusterTask",
    "EndedError",
    "GivenUpError",
    "LateError",
    "SharedStore",
    "SharedUse",
    "UnavailableError",
    "WrongError",
    "cluster",
    "in_container",
    "read_addresses",
]
