"""`KVStoreServer`: a process that serves instead of training, by MXNet's name."""

from __future__ import annotations

import sys
from typing import Any, final

from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.serve import serve

from . import server_updates
from .failures import translated


@final
class KVStoreServer:
    """The server, or the scheduler, that this process's environment describes.

    Programs need it not: `import hybridnet` in such a process serves and does not return.

    Args:
        kvstore: is not looked at; MXNet's takes a store.
    """

    def __init__(self, kvstore: Any = None) -> None:
        self.kvstore = kvstore

    def run(self) -> None:
        """Serves until the run ends.

        Raises:
            MXNetError: the environment describes no such process.
            SystemExit: it had to end before, with the status of that.
        """
        with translated():
            cluster = Cluster.from_environment()
            status = serve(cluster, (server_updates.__name__, *cluster.imports))
        if status:
            sys.exit(status)
