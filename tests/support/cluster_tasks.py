"""Tasks of clusters for tests: in this process, and in processes of their own."""

import json
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import hybridnet.compat.tf1 as tf

__all__ = ["on_tasks", "served", "started"]

HERE = Path(__file__).parent


def address():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"localhost:{one.getsockname()[1]}"


@contextmanager
def started(spec, job, number=0):
    """A task in a process of its own, which listens."""
    command = [sys.executable, str(HERE / "task_process.py"), json.dumps(spec), job, str(number)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().strip() == "started"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextmanager
def served(spec, job, number=0):
    """A task in this process."""
    server = tf.train.Server(spec, job, number)
    try:
        yield server
    finally:
        server._task.close()


def on_tasks(ps=1, workers=1):
    return {"ps": [address() for _ in range(ps)], "worker": [address() for _ in range(workers)]}
