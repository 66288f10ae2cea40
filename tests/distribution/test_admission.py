"""Who may connect: nobody without the run's token; what strangers send harms nobody."""

import contextlib
import random
import socket
import struct
import subprocess
import sys
import textwrap
import time
from dataclasses import replace

import numpy as np
import pytest
import zmq
import zmq.utils.monitor
from dist_run import started
from helpers import thorough
from strangers import needs_strangers, open_folder, stranger

from hybridnet.kvstore import KVStoreError
from hybridnet.kvstore import user_token as user_token_module
from hybridnet.kvstore.drivers.plans import plan_of, split_address
from hybridnet.kvstore.drivers.remote_store import RemoteStore
from hybridnet.kvstore.protocol.words import SCHEDULER, Join, Peer
from hybridnet.kvstore.run_token import RunToken
from hybridnet.kvstore.transport.interface import Connected, Disconnected, Heard
from hybridnet.kvstore.transport.unproven import MOST
from hybridnet.kvstore.transport.wire import decode, encode
from hybridnet.kvstore.transport.zmq_transport import ZmqTransport
from hybridnet.kvstore.user_token import user_folder, user_token

SERVER = Peer("server", 0)
REFUSED = (
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)


def server_address(store):
    """Where the server listens, as a worker knows it."""
    peers = store._driver.view.peers
    return next(split_address(one.address)[0] for one in peers if one.peer.role == "server")


def works(store):
    value, out = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    store.push_pull("w", value, out)
    return out.tolist() == value.tolist()


def connected(address):
    """A transport of this user's that is connected to a server."""
    transport = ZmqTransport(me=Peer("worker", 0))
    transport.connect(SERVER, address)
    while not any(isinstance(one, Connected) for one in transport.receive(10.0)):
        pass
    return transport


def has_read_all(transport, ticket):
    """Waits until a server has read all that was sent: it refuses what another run says."""
    transport.send(SERVER, encode(Join(ticket, 0), Peer("worker", 0), 1, 99))
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for report in transport.receive(1.0):
            if isinstance(report, Heard):
                (answer,) = decode(report.frames)
                if answer.message.ticket == ticket:
                    return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("encrypt", [False, True])
def test_only_who_has_the_token_comes_in(encrypt):
    with started(1, 1, token=True, encrypt=encrypt) as run:
        (store,) = run.workers()
        store.init("w", np.zeros(5, np.float32))
        assert works(store)
        for token in (RunToken.new(), None):
            other = replace(run.cluster, token=token, rank=0)
            with pytest.raises(KVStoreError, match="the scheduler refuses this process: the run's"):
                RemoteStore(other, timeout=20.0)
        assert works(store)


def test_without_a_token_who_is_the_same_user_comes_in(monkeypatch):
    """Nobody else has the user's; a client without any, or with another, is not let in."""
    with started(1, 1) as run:
        (store,) = run.workers()
        store.init("w", np.zeros(5, np.float32))
        assert works(store)
        context = zmq.Context()
        bare = context.socket(zmq.DEALER)
        bare.linger = 0
        monitor = bare.get_monitor_socket()
        bare.connect(server_address(store).split()[0])
        bare.send_multipart(encode(Join(1, 0), Peer("worker", 0), 1, plan_of(run.cluster).run))
        found = 0
        while not found & (zmq.EVENT_HANDSHAKE_SUCCEEDED | REFUSED):
            found = zmq.utils.monitor.recv_monitor_message(monitor)["event"]
        assert found & REFUSED
        bare.disable_monitor()
        monitor.close()
        bare.close()
        context.term()
        other = replace(run.cluster, token=RunToken.new(), rank=0)
        with pytest.raises(KVStoreError, match="the scheduler refuses this process: the run's"):
            RemoteStore(other, timeout=20.0)
        assert works(store)


@needs_strangers
def test_another_user_is_not_let_in_on_loopback():
    """It cannot read what the processes of this one show each other; and has a token of its own."""
    token = user_token()
    path = user_folder() / "token"
    look = """
        print("begun", flush=True)
        sys.stdin.readline()
        try:
            print("read", Path(sys.argv[1]).read_text(), flush=True)
        except PermissionError:
            print("no", flush=True)
    """
    assert RunToken.from_file(path) == token == user_token()
    with stranger(look, path) as process:
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "no\n"


@needs_strangers
def test_the_users_token_is_at_home_where_another_user_was_first(tmp_path, monkeypatch):
    with open_folder(0o1777) as memory:
        monkeypatch.setattr(user_token_module, "_MEMORY", memory)
        monkeypatch.setattr(user_token_module, "user_folder", lambda: user_folder(memory))
        monkeypatch.setenv("HOME", str(tmp_path))
        squats = "os.mkdir(sys.argv[1], 0o777); print('made', flush=True); sys.stdin.readline()"
        with stranger(squats, user_folder(memory)):
            token = user_token()
        assert token == user_token()
        assert list(user_folder(memory).iterdir()) == []
        (file,) = tmp_path.rglob("token/token")
        assert file.stat().st_mode & 0o777 == 0o600
        file.write_text("damaged")
        with pytest.raises(KVStoreError, match="HYBRIDNET_DIST_TOKEN"):
            user_token()


def test_a_process_of_another_run_is_refused():
    """Without tokens the port tells runs apart; a worker of another run came to the wrong one."""
    with started(1, 1) as run:
        (store,) = run.workers()
        store.init("w", np.zeros(5, np.float32))
        other = replace(run.cluster, root="localhost", rank=0)
        assert other.run != run.cluster.run
        with pytest.raises(KVStoreError, match="this process belongs to another run"):
            RemoteStore(other, timeout=10.0)
        assert works(store)


def test_noise_disturbs_nobody():
    with started(1, 1) as run:
        (store,) = run.workers()
        store.init("w", np.zeros(5, np.float32))
        generator = random.Random(0)
        server = run.live["server", 0].process.pid
        before = resident(server)
        noisy = connected(server_address(store))
        for turn in range(thorough(200_000, 3000)):
            head = b"HNKV\1" + generator.randbytes(59) if turn % 2 else generator.randbytes(64)
            noisy.send(SERVER, [head, generator.randbytes(generator.randrange(100))])
            if turn % 500 == 0:
                assert works(store)
                assert has_read_all(noisy, turn + 1)  # what waits to be read takes memory, too
        large = connected(server_address(store))
        large.send(SERVER, [bytes(20 << 20)])  # more than a frame may have
        while not any(isinstance(one, Disconnected) for one in large.receive(10.0)):
            pass
        assert works(store)
        noisy.close()
        large.close()
        assert works(store)
        assert resident(server) - before < 10e6


@pytest.mark.slow
def test_who_has_proved_nothing_gets_little_memory():
    """Before, 100 connections that announced 16 MB, and sent them, took 1.5 GB."""
    greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"CURVE".ljust(20, b"\0") + bytes(32)
    announced = b"\x06" + struct.pack(">Q", 16 << 20)
    with started(1, 1, token=True) as run, contextlib.ExitStack() as held:
        (store,) = run.workers()
        store.init("w", np.zeros(5, np.float32))
        process = run.live["scheduler", 0].process.pid
        before, most = resident(process), 0
        for _ in range(100):
            one = held.enter_context(socket.create_connection(("127.0.0.1", run.cluster.port)))
            one.settimeout(0.2)
            with contextlib.suppress(OSError):  # it was parted from
                one.sendall(greeting + announced)
                one.sendall(bytes((16 << 20) - 100))
            most = max(most, resident(process))
        assert most - before < (MOST + 8) * (16 << 20)
        assert works(store)
        other = replace(run.cluster, role="server", rank=0)
        asks = ZmqTransport(token=other.token, me=SERVER)
        asks.connect(SCHEDULER, f"tcp://127.0.0.1:{run.cluster.port}")
        while not any(isinstance(one, Connected) for one in asks.receive(10.0)):
            pass  # who has the token comes in beside them
        asks.close()


def test_a_push_that_does_not_fit_is_refused_by_the_server():
    with started(1, 1) as run:
        (store,) = run.workers()
        store.init("w", np.zeros(5, np.float32))
        key = store._keys.find("push", "w")
        key.spec = replace(key.spec, size=7)  # as a worker with a fault would have it
        with pytest.raises(KVStoreError, match="a part of 5 float32 was sent as 24 bytes"):
            store._driver._machine._slices._parts[0, 0] = replace(
                store._driver._machine._slices._parts[0, 0], last=6
            )
            store.push_pull("w", np.zeros(7, np.float32), np.zeros(7, np.float32))


def test_listening_for_other_machines_requires_a_token():
    with pytest.raises(KVStoreError, match="requires the run's token, got none for 0.0.0.0"):
        ZmqTransport(host="0.0.0.0")


def test_a_taken_port_is_named():
    one = ZmqTransport(host="127.0.0.1")
    port = int(one.address.split()[0].rpartition(":")[2])
    with pytest.raises(KVStoreError, match=f"127.0.0.1:{port} cannot be listened on"):
        ZmqTransport(host="127.0.0.1", port=port)
    one.close()


def test_without_pyzmq_the_cure_is_named(tmp_path):
    (tmp_path / "zmq.py").write_text("raise ImportError('no')")
    script = """
        from hybridnet.kvstore.cluster import Cluster
        from hybridnet.kvstore.drivers.remote_store import RemoteStore
        try:
            RemoteStore(Cluster(port=1))
        except ImportError as error:
            print(error)
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True,
        env={"PYTHONPATH": str(tmp_path)}, check=True,
    )  # fmt: skip
    assert "requires pyzmq: pip install 'hybridnet[dist]'" in found.stdout


def test_nobody_there_is_said_in_time():
    with (
        started(2, 1, processes=False) as run,
        pytest.raises(KVStoreError, match="requires 2 workers, 1 server and a scheduler at 127"),
    ):
        RemoteStore(run.cluster, timeout=0.3)


def test_a_forked_process_must_not_use_the_store():
    script = """
        import os, sys
        import numpy as np
        from dist_run import started
        from hybridnet.kvstore import KVStoreError

        with started(1, 1) as run:
            (store,) = run.workers()
            store.init("w", np.zeros(5, np.float32))
            child = os.fork()
            if not child:
                try:
                    store.push("w", np.zeros(5, np.float32))
                except KVStoreError as error:
                    os._exit("was forked from it" in str(error))
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
            store.push_pull("w", np.ones(5, np.float32), np.zeros(5, np.float32))
    """
    path = ":".join(one for one in sys.path if one.endswith(("/tests", "/support")))
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], env={"PYTHONPATH": path}, check=True
    )


def resident(process):
    with open(f"/proc/{process}/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * 4096
