"""Doors of tasks, for processes of their host: there while a task is, and swept where one died."""

import os
import socket
import sys

import pytest
from cluster_tasks import on_tasks, served

import hybridnet.compat.tf1 as tf
from hybridnet.cluster import channel
from hybridnet.cluster.channel import near_folder

pytest.importorskip("zmq")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux has these sockets")


def left(folder):
    """A door at which nobody listens any more."""
    folder.mkdir(mode=0o700, parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dead:
        dead.bind(str(folder / "door"))
        dead.listen()
    return folder / "door"


def test_a_door_is_there_while_its_task_is_and_those_of_killed_tasks_go(tmp_path, monkeypatch):
    monkeypatch.setattr(channel, "_MEMORY", tmp_path)
    spec = on_tasks()
    where = near_folder(spec["ps"][0])
    old, new = left(where.with_name("task-1-1")), left(where.with_name("task-1-2"))
    os.utime(old, (0, 0))
    with served(spec, "ps"):
        door = where / "door"
        assert door.exists() and new.exists() and not old.parent.exists()
        os.utime(door, (0, 0))
        with served(spec, "worker") as server, tf.Session(server.target) as session:
            assert door.exists()  # somebody listens
            with tf.device("/job:ps/task:0"):
                assert session.run(tf.constant(3.0) + 1.0) == 4.0
    assert not where.exists()


def test_other_hosts_have_no_door_here():
    assert near_folder("10.0.0.1:2222") is None
