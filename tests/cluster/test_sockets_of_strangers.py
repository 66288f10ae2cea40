"""Local sockets where another user was first: nothing goes there, and nothing from there is heard.

Before, a folder that somebody else had made under the name that a task's has was connected to, past
token and encryption.
"""

import logging
import os

import pytest
from cluster_tasks import on_tasks, served
from strangers import needs_strangers, open_folder, stranger

import hybridnet.compat.tf1 as tf
from hybridnet.clusters import channel
from hybridnet.clusters.channel import near_folder
from hybridnet.kvstore.protocol.words import Peer
from hybridnet.kvstore.transport import local_sockets
from hybridnet.kvstore.transport.local_sockets import SOCKET, LocalSockets
from hybridnet.kvstore.transport.poller import Poller

zmq = pytest.importorskip("zmq")
pytestmark = needs_strangers

#: Listens in a folder that it makes, for all; answers a line with how many have connected.
SQUATS = """
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(folder / "socket"))
    listener.listen(99)
    listener.setblocking(False)
    for one in (folder, folder.parent, folder / "socket"):
        os.chmod(one, 0o777)
    print("begun", flush=True)
    sys.stdin.readline()
    count = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            listener.accept()
            count += 1
    print(count, flush=True)
"""
#: Listens at a path where a folder is.
LISTENS = """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(sys.argv[1])
    listener.listen(99)
    os.chmod(sys.argv[1], 0o777)
    print("begun", flush=True)
    sys.stdin.readline()
"""
#: Connects, says a name, and then what it has heard until it is closed.
CONNECTS = """
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made.connect(sys.argv[1])
    with contextlib.suppress(OSError):
        made.send(b"worker")
    print("begun", flush=True)
    sys.stdin.readline()
    made.settimeout(20)
    try:
        heard = made.recv(4096)
    except OSError as error:
        heard = b""
    print(heard, flush=True)
"""


@pytest.fixture(autouse=True)
def nobody_was_warned(monkeypatch):
    monkeypatch.setattr(local_sockets._Warned, "once", False)


@pytest.fixture
def memory(monkeypatch):
    """What stands for /dev/shm."""
    with open_folder(0o1777) as folder:
        monkeypatch.setattr(channel, "_MEMORY", folder)
        yield folder


@pytest.fixture
def sockets():
    made = LocalSockets(Poller(zmq))
    yield made
    made.close()


def answered(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def test_a_folder_that_another_user_made_first_is_left_alone(memory, caplog):
    spec = on_tasks()
    folders = [near_folder(spec[job][0]) for job in ("ps", "worker")]
    with stranger(SQUATS, folders[0]) as squatter, served(spec, "ps"):
        with served(spec, "worker") as server, tf.Session(server.target) as session:
            with tf.device("/job:ps/task:0"):
                value = tf.Variable(tf.ones((100_000,)))  # a large one, which lanes would take
                session.run(value.initializer)
            total = tf.reduce_sum(value) + 1.0
            assert session.run(total) == 100_001.0
        assert answered(squatter) == "0"
    (warning,) = [one for one in caplog.records if "local sockets are not used" in one.message]
    assert warning.levelno == logging.WARNING
    assert str(folders[0].parent) in warning.message


def test_the_kernel_is_asked_who_listens(sockets, caplog):
    """A socket of another user's in a folder that has become one of this user's."""
    with open_folder(0o777) as folder, stranger(LISTENS, folder / SOCKET):
        folder.chmod(0o700)
        assert sockets.connect(Peer("server", 0), folder, b"name") is None
    (warning,) = caplog.messages
    assert "is at the other end" in warning


def test_the_kernel_is_asked_who_connects(caplog):
    with open_folder(0o700) as folder:
        poller = Poller(zmq)
        sockets = LocalSockets(poller)
        sockets.listen(folder)
        folder.chmod(0o755)
        (folder / SOCKET).chmod(0o777)
        with stranger(CONNECTS, folder / SOCKET) as process:
            assert not list(sockets.heard(poller.poll(5000)))
            assert sockets.find(b"worker") is None
            assert answered(process) == "b''"  # the connection was closed
        sockets.close()
    (warning,) = caplog.messages
    assert "is at the other end" in warning


def test_ones_own_folder_with_loose_rights_is_not_listened_in(sockets):
    with open_folder(0o755) as folder:
        with pytest.raises(Exception, match="mode 0700"):
            sockets.listen(folder)
        assert not os.path.exists(folder / SOCKET)
