"""This process's connection to the servers of its run: one, however many stores use it."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import weakref
from collections.abc import MutableSet
from dataclasses import replace
from typing import TYPE_CHECKING, Final, final

from hybridnet.base.errors import MXNetError
from hybridnet.kvstore import Kind
from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.drivers.remote_store import RemoteStore
from hybridnet.kvstore.errors import RunOverError

from .failures import translated

if TYPE_CHECKING:
    from .remote import RemoteBackend


@final
class _Connection:
    """The connection of this process, made when the first store needs it."""

    def __init__(self) -> None:
        self._remote: RemoteStore | None = None
        self._process = 0
        self._made = 0
        self._stores: MutableSet[RemoteBackend] = weakref.WeakSet()
        self._staleness: int | None = None
        #: whether the end of this process waits for the other workers.
        self.barrier_before_exit = True

    def get(self, kind: Kind) -> tuple[RemoteStore, int | None, int, MutableSet[RemoteBackend]]:
        """Returns it with what a `RemoteBackend` is made of.

        That is the staleness that the environment allows, the number of the store that asks among
        those of this process, and these stores.

        Args:
            kind: of the store that asks; the first one's says how large parts are.

        Raises:
            SystemExit: this process takes the place of one that was killed at its end, and the run
                is over.
            MXNetError: the environment describes no run, the scheduler refuses this process, or
                others did not come.
        """
        if self._remote is None or self._process != os.getpid():
            with translated():
                cluster = Cluster.from_environment()
                if not cluster.servers:
                    raise MXNetError(
                        f"a store of type {kind.name!r} requires servers, and this run has none "
                        "(DMLC_NUM_SERVER=0): start it with hybridnet launch -s S, or use 'horovod'"
                    )
                if kind.small_parts:
                    cluster = replace(cluster, p3=True)
                try:
                    self._remote = RemoteStore(cluster)
                except RunOverError as error:
                    if not cluster.generation:
                        raise
                    # Its predecessor was killed at its end: nothing of its work is missing.
                    print(f"hybridnet: nothing is left to do here: {error}", file=sys.stderr)
                    raise SystemExit(0) from None
                self._staleness = cluster.staleness
            self._process, self._made, self._stores = os.getpid(), 0, weakref.WeakSet()
            atexit.register(self.close)
        self._made += 1
        return self._remote, self._staleness, self._made - 1, self._stores

    def close(self) -> None:
        """Leaves the run, at the end of this process.

        If the process ends by an error, it does not wait for the other workers; they learn at once
        that it is gone.
        """
        remote, self._remote = self._remote, None
        if remote is not None and self._process == os.getpid():
            failed = getattr(sys, "last_value", None) is not None
            with contextlib.suppress(Exception):  # who can no longer be reached is told nothing
                remote.close(barrier=self.barrier_before_exit and not failed)


connection: Final = _Connection()
