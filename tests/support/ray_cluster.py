"""A cluster of Ray's on this machine, for tests: raylets that are killed and added.

    python ray_cluster.py CPUS ['{"NAME": "TEXT"}']

It says at which address it is, and then answers each line: ``add CPUS`` starts a machine (with the
variables of the last argument), ``kill`` kills the last one that was added. It ends with its input.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["RayCluster", "ray_cluster"]


class RayCluster:
    """A running cluster.

    Attributes:
        address: where it is.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.address = self._answer()

    def add(self, cpus: int, **environ: str) -> None:
        """Adds a machine."""
        self._ask(f"add {cpus} {json.dumps(environ)}")

    def kill(self) -> None:
        """Kills the machine that was added last."""
        self._ask("kill")

    def _ask(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        assert self._answer() == "done"

    def _answer(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("> "):
                return line[2:].strip()
        raise AssertionError("Ray's cluster has ended")


@contextlib.contextmanager
def ray_cluster(cpus: int) -> Iterator[RayCluster]:
    """A block with a cluster of one machine."""
    with subprocess.Popen(
        [sys.executable, Path(__file__), str(cpus)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        yield RayCluster(process)


def _serve(cpus: int) -> None:
    from ray.cluster_utils import Cluster

    cluster: Any = Cluster(
        initialize_head=True, head_node_args={"num_cpus": cpus, "include_dashboard": False}
    )
    print(">", cluster.address, flush=True)
    added = []
    try:
        for line in sys.stdin:
            word, _, rest = line.strip().partition(" ")
            if word == "add":
                count, _, environ = rest.partition(" ")
                # Workers have the environment of their raylet, which has this one's.
                os.environ.update(json.loads(environ))
                added.append(cluster.add_node(num_cpus=int(count)))
                for name in json.loads(environ):
                    del os.environ[name]
            else:
                cluster.remove_node(added.pop(), allow_graceful=False)
            print("> done", flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
