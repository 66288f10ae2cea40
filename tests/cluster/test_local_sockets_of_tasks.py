"""Local sockets of tasks: there while a task is, and swept away where one died."""

import os
import socket
import sys

import pytest
from cluster_tasks import on_tasks, served

import hybridnet.compat.tf1 as tf
from hybridnet.clusters import channel
from hybridnet.clusters.channel import near_folder
from hybridnet.kvstore.transport.local_sockets import SOCKET

pytest.importorskip("zmq")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux has these sockets")


def left(folder):
    """A socket at which nobody listens any more."""
    folder.mkdir(mode=0o700, parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dead:
        dead.bind(str(folder / SOCKET))
        dead.listen()
    return folder / SOCKET


def test_a_socket_is_there_while_its_task_is_and_those_of_killed_tasks_go(tmp_path, monkeypatch):
    monkeypatch.setattr(channel, "_MEMORY", tmp_path)
    spec = on_tasks()
    where = near_folder(spec["ps"][0])
    old, new = left(where.with_name("task-1-1")), left(where.with_name("task-1-2"))
    os.utime(old, (0, 0))
    with served(spec, "ps"):
        path = where / SOCKET
        assert path.exists() and new.exists() and not old.parent.exists()
        os.utime(path, (0, 0))
        with served(spec, "worker") as server, tf.Session(server.target) as session:
            assert path.exists()  # somebody listens
            with tf.device("/job:ps/task:0"):
                assert session.run(tf.constant(3.0) + 1.0) == 4.0
    assert not where.exists()


def test_a_task_that_is_stopped_does_not_keep_others_from_starting(tmp_path, monkeypatch):
    monkeypatch.setattr(channel, "_MEMORY", tmp_path)
    spec = on_tasks()
    folder = near_folder(spec["ps"][0]).with_name("task-1-1")
    folder.mkdir(mode=0o700, parents=True)
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stopped,
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as waits,
    ):
        stopped.bind(str(folder / SOCKET))
        stopped.listen(0)
        waits.connect(str(folder / SOCKET))  # no other may wait beside it
        os.utime(folder / SOCKET, (0, 0))
        with served(spec, "ps"):
            assert (folder / SOCKET).exists()


def test_other_hosts_have_no_socket_here():
    assert near_folder("10.0.0.1:2222") is None
