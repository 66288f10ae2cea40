"""A real process of a run behind a card that is slower than the machine: calibration's real side.

    python benchmarks/paced.py      (as PACED_ROLE and the variables of a run say)

The transport is ZeroMQ's; what leaves and what comes waits as long as a card of `PACED_RATE` bytes
a second would take, in each direction. Everything else is what users run.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import deque
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

import hybridnet.kvstore.drivers.remote_store as remote_store
import hybridnet.kvstore.serve as serve
from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.drivers.completion import Completion
from hybridnet.kvstore.protocol.words import Peer
from hybridnet.kvstore.transport.interface import Heard, Report, Transport
from hybridnet.kvstore.transport.zmq_transport import ZmqTransport


class Paced(Transport):
    """ZeroMQ behind a card.

    Args:
        rate: bytes a second, in each direction.
        how: for the transport of ZeroMQ.
    """

    def __init__(self, rate: float, **how: Any) -> None:
        self._inner = ZmqTransport(**how)
        self.address = self._inner.address
        self._rate = rate
        self._out: deque[tuple[float, Peer, list[bytes], bytes, bool]] = deque()
        self._in: deque[tuple[float, Report]] = deque()
        self._out_free = self._in_free = 0.0

    def connect(self, peer: Peer, address: str, near: Path | None = None) -> None:
        self._inner.connect(peer, address)  # all of it goes over the card

    def bind(self, peer: Peer, route: bytes) -> None:
        self._inner.bind(peer, route)

    def send(
        self, to: Peer, frames: Sequence[Any], *, route: bytes = b"", copy: bool = False,
        sealed: bool = False,
    ) -> bool:  # fmt: skip
        begin = max(time.monotonic(), self._out_free)
        self._out_free = begin + sum(map(len, frames)) / self._rate
        self._out.append((begin, to, [bytes(one) for one in frames], route, sealed))
        return True

    def flush(self) -> None:
        while self._out and self._out[0][0] <= time.monotonic():
            _, to, frames, route, sealed = self._out.popleft()
            self._inner.send(to, frames, route=route, copy=True, sealed=sealed)
        self._inner.flush()

    def receive(self, timeout: float | None) -> list[Report]:
        self.flush()
        now = time.monotonic()
        due = min(self._out[0][0] if self._out else inf, self._in[0][0] if self._in else inf)
        if due < inf:
            timeout = max(0.0, due - now) if timeout is None else min(timeout, max(0.0, due - now))
        for report in self._inner.receive(timeout):
            begin = max(time.monotonic(), self._in_free)
            if isinstance(report, Heard):
                self._in_free = begin + sum(map(len, report.frames)) / self._rate
            self._in.append((max(begin, self._in_free), report))
        found, now = [], time.monotonic()
        while self._in and self._in[0][0] <= now:
            found.append(self._in.popleft()[1])
        return found

    def wake(self) -> None:
        self._inner.wake()

    def disconnect(self, peer: Peer) -> None:
        self._inner.disconnect(peer)

    def close(self, linger: float = 0.0) -> None:
        for _, to, frames, route, sealed in self._out:
            self._inner.send(to, frames, route=route, copy=True, sealed=sealed)
        self._inner.close(linger)


def spent(pid: int) -> float:
    """Processor seconds of a process so far, of all its threads."""
    found = 0.0
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += int((task / "schedstat").read_text().split()[0]) / 1e9
    return found


def work() -> None:
    """A worker: some rounds of each work; prints their times, and what was spent on them."""
    store = remote_store.RemoteStore(Cluster.from_environment())
    store.configure("assign", {})
    server = int(os.environ["PACED_SERVER"])
    found = []
    for number, (keys, floats, rounds) in enumerate(json.loads(os.environ["PACED_WORK"])):
        grads = [np.ones(floats, np.float32) for _ in range(keys)]
        outs = [np.zeros(floats, np.float32) for _ in range(keys)]
        for key in range(keys):
            store.init(f"{number} {key}", outs[key])
        times = []
        for turn in range(rounds + 1):
            if turn == 1:
                before = spent(os.getpid()), spent(server)
            store.barrier()
            begun = time.perf_counter()
            waits = [Completion() for _ in range(keys)]
            for key in range(keys):
                store.push_pull(f"{number} {key}", grads[key], outs[key], done=waits[key])
            for one in waits:
                one.wait()
            times.append(time.perf_counter() - begun)
        after = spent(os.getpid()), spent(server)
        assert all((one == store.num_workers).all() for one in outs)
        used = [(b - a) / rounds for a, b in zip(before, after, strict=True)]
        found.append({"times": times[1:], "worker": used[0], "server": used[1]})
    store.barrier()
    print(json.dumps(found), flush=True)
    store.close()


def main() -> int:
    rate = float(os.environ.get("PACED_RATE", "inf"))

    def paced(**how: Any) -> Paced:
        return Paced(rate, **how)

    # Not said in DMLC_ROLE before this: the import of hybridnet would serve, and not come here.
    role = os.environ["DMLC_ROLE"] = os.environ["PACED_ROLE"]
    if rate < inf and role != "scheduler":
        remote_store.ZmqTransport = serve.ZmqTransport = paced  # type: ignore[misc,assignment]
    if role != "worker":
        return serve.main([])
    work()
    return 0


if __name__ == "__main__":
    sys.exit(main())
