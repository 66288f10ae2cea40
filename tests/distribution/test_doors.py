"""What somebody on the network between the processes, or one of them, cannot make the others do.

Each of these opened a door before values were encrypted by default and every key had a role: a
password that was read on the way was enough to fetch weights, to have a server write a file
anywhere, and to end it, which removed its values.
"""

import contextlib
import socket
import struct
import typing
from dataclasses import replace

import numpy as np
import pytest
import zmq
from dist_run import started
from relays import other_address, relayed

from hybridnet.kvstore import KVStoreError
from hybridnet.kvstore.drivers import rules
from hybridnet.kvstore.drivers.completion import Completion
from hybridnet.kvstore.drivers.plans import plan_of, processes_of, split_address
from hybridnet.kvstore.drivers.scheduler_driver import Reporter, SchedulerDriver
from hybridnet.kvstore.protocol import words as w
from hybridnet.kvstore.serve import FAILED
from hybridnet.kvstore.transport.interface import Heard
from hybridnet.kvstore.transport.mapped_lane import server_folder
from hybridnet.kvstore.transport.wire import decode, encode
from hybridnet.kvstore.transport.zmq_transport import ZmqTransport

SERVER = w.Peer("server", 0)
W0 = w.Peer("worker", 0)
SUPERVISOR = w.Peer("supervisor", 0)
#: What weights look like on the way.
WEIGHT = np.float32(1234.5678)
SEEN = struct.pack("<4f", *4 * [WEIGHT])


def address_of(store, peer=SERVER):
    """Where a process listens, as a worker knows it."""
    return split_address(store._driver.view.find(peer).address)[0]


def works(store):
    value, out = np.full(100, WEIGHT), np.zeros(100, np.float32)
    store.push_pull("w", value, out)
    return bool((out == WEIGHT).all())


@contextlib.contextmanager
def far_worker(monkeypatch, tmp_path, **settings):
    """A run whose worker reaches its server over the network alone, with relays in between."""
    with relayed(monkeypatch) as relays, started(1, 1, token=True, **settings) as run:
        (store,) = run.workers(folder=tmp_path / "elsewhere")
        store.init("w", np.zeros(100, np.float32))
        assert works(store)
        yield relays, run, store


class Speaker:
    """A process that has connected, and says what it likes."""

    def __init__(self, cluster, address, me, to=SERVER, **how):
        self.transport = ZmqTransport(token=cluster.token, me=me, **how)
        self.transport.connect(to, address)
        self.to, self.run = to, plan_of(cluster).run

    def say(self, source, message, **how):
        """Sends a message in somebody's name."""
        self.transport.send(self.to, encode(message, source, 1, self.run), **how)

    def is_heard(self, source, ticket):
        """Whether a server has read all that was said before, and answers us at all."""
        self.say(source, w.Join(ticket, 0))
        return isinstance(self.hear(ticket), w.Joined)

    def hear(self, ticket):
        for _ in range(60):
            for report in self.transport.receive(1.0):
                if isinstance(report, Heard):
                    for event in decode(report.frames):
                        if getattr(event.message, "ticket", None) == ticket:
                            return event.message
        return None

    def close(self):
        self.transport.close()


def try_everything(speaker, source, tmp_path):
    """Says all that a stranger would like a server to do; where it would write."""
    path = tmp_path / "stolen"
    for name in (source, w.SCHEDULER, SUPERVISOR, SERVER):
        speaker.say(name, w.Stop("enough"))
        speaker.say(name, w.Gone(SERVER, 9, "killed"))
        speaker.say(name, w.Refused(0, "wrong", "you are not wanted"))
        speaker.say(name, w.Peers(w.View(1 << 40)))
        speaker.say(name, w.Command(7, "snapshot", str(path)), sealed=False)
        speaker.say(name, w.AskCopy((0, 0), 1))
    return path


def assert_unharmed(run, store, path):
    assert run.live["server", 0].process.poll() is None
    assert server_folder(run.cluster.state_folder, 0).exists()
    assert not list(path.parent.glob(f"{path.name}*"))
    assert works(store)


# -- on the way ------------------------------------------------------------------------------------


def passwords(said):
    """The (name, password) pairs that ZeroMQ's PLAIN has sent in clear."""
    at, found = 0, []
    while b"PLAIN\0" in said and (at := said.find(b"\5HELLO", at)) >= 0:
        name = said[at + 7 : at + 7 + said[at + 6]]
        rest = said[at + 7 + len(name) :]
        found.append((name, rest[1 : 1 + rest[0]]))
        at += 1
    return found


def is_let_in(address, name, password):
    """Whether a listener takes a password that was heard."""
    context = zmq.Context()
    dealer = context.socket(zmq.DEALER)
    dealer.linger = 0
    dealer.plain_username, dealer.plain_password = name, password
    events = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_HANDSHAKE_FAILED_AUTH
    monitor = dealer.get_monitor_socket(events | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL)
    dealer.connect(address)
    try:
        assert monitor.poll(60_000)
        event, _ = struct.unpack("=Hi", monitor.recv_multipart()[0])
        return event == zmq.EVENT_HANDSHAKE_SUCCEEDED
    finally:
        dealer.disable_monitor()
        monitor.close(0)
        dealer.close(0)
        context.term()


def answer_to(place, said):
    """What a listener says to bytes that were heard, until it hangs up."""
    found = bytearray()
    with socket.create_connection(place, timeout=60) as line:
        line.sendall(said)
        with contextlib.suppress(ConnectionResetError):
            while data := line.recv(1 << 16):
                found += data
    return bytes(found)


@pytest.mark.parametrize("encrypt", [False, True])
def test_what_is_heard_on_the_way_lets_nobody_in(monkeypatch, tmp_path, encrypt):
    with far_worker(monkeypatch, tmp_path, encrypt=encrypt) as (relays, run, store):
        heard = [(place, bytes(line.said)) for place, all in relays.lines.items() for line in all]
        known = [(place, *one) for place, said in heard for one in passwords(said)]
        assert bool(known) is not encrypt
        assert (SEEN in relays.heard()) is not encrypt
        secret = run.cluster.token
        for one in (secret.secret, secret.text.encode()):
            assert one not in relays.heard()
        for (host, port), name, password in known:
            assert not is_let_in(f"tcp://{host}:{port}", name, password)
        for place, said in heard:
            answer = answer_to(place, said)
            assert b"HNKV" not in answer
            assert SEEN not in answer
        assert_unharmed(run, store, tmp_path / "nothing")


def test_a_connection_without_encryption_is_made_anew_by_another_password(monkeypatch, tmp_path):
    with far_worker(monkeypatch, tmp_path, encrypt=False) as (relays, _, store):
        for _ in range(3):
            relays.cut()
            assert works(store)
        lines = [line for all in relays.lines.values() for line in all]
        found = [one for line in lines for one in passwords(bytes(line.said))]
        assert len(found) >= 4
        # A connection that was made by itself says the old one again, and is not let in.
        assert len({password for _, password in found}) >= 4


@pytest.mark.parametrize("encrypt", [None, False])
def test_values_are_encrypted_where_an_address_is_not_loopback(monkeypatch, tmp_path, encrypt):
    with other_address() as host:
        settings = {"root": host, "host": host, "encrypt": encrypt}
        with far_worker(monkeypatch, tmp_path, **settings) as (relays, _, _):
            heard = relays.heard()
            assert (SEEN in heard) is (encrypt is False)
            assert bool(passwords(heard)) is (encrypt is False)


def test_a_command_is_encrypted_where_values_are_not(monkeypatch, tmp_path):
    settings = {"encrypt": False, "snapshots": tmp_path}
    with far_worker(monkeypatch, tmp_path, **settings) as (relays, _, store):
        store.snapshot("telling")
        assert (tmp_path / "telling.server-0.npz").exists()
        assert b"telling" not in relays.heard()
        assert SEEN in relays.heard()


# -- one of the run --------------------------------------------------------------------------------


@pytest.mark.parametrize("encrypt", [False, True])
def test_a_worker_cannot_speak_as_another_process(tmp_path, encrypt):
    with started(2, 1, token=True, encrypt=encrypt, snapshots=tmp_path / "snapshots") as run:
        (tmp_path / "snapshots").mkdir()
        stores = run.workers()
        for store in stores:
            store.init("w", np.zeros(100, np.float32))
        me = w.Peer("worker", 1)
        speaker = Speaker(run.cluster, address_of(stores[0]), me, encrypt=encrypt)
        path = try_everything(speaker, me, tmp_path)
        assert speaker.is_heard(me, 77)
        speaker.say(W0, w.Join(78, 0))
        assert speaker.is_heard(me, 79)  # and of 78 nothing: it was said in another's name
        scheduler = f"tcp://{run.cluster.root}:{run.cluster.port}"
        other = Speaker(run.cluster, scheduler, me, w.SCHEDULER)
        for name in (me, SUPERVISOR, SERVER, W0):
            other.say(name, w.Stop("enough"))
            other.say(name, w.Gone(W0, 9, "killed by signal 9", False))
        other.say(W0, w.Left())
        other.say(me, w.Hello("x", W0, 99, "", "here"))
        assert not list(tmp_path.glob(f"{path.name}*"))
        assert run.live["server", 0].process.poll() is None
        assert run.live["scheduler", 0].process.poll() is None
        waits, outs = [Completion() for _ in stores], [np.zeros(100, np.float32) for _ in stores]
        for store, out, wait in zip(stores, outs, waits, strict=True):
            store.push_pull("w", np.ones(100, np.float32), out, done=wait)
        for out, wait in zip(outs, waits, strict=True):
            wait.wait(60)
            assert (out == 2).all()
        for store in stores:
            assert store.dead_nodes() == []
        speaker.close()
        other.close()


def test_a_run_without_a_token_obeys_no_stop_but_its_schedulers(tmp_path):
    with started(1, 1, snapshots=tmp_path) as run:
        (store,) = run.workers()
        store.init("w", np.zeros(100, np.float32))
        speaker = Speaker(run.cluster, address_of(store), W0)
        for name in (W0, w.SCHEDULER, SUPERVISOR, SERVER):
            speaker.say(name, w.Stop("enough"))
        assert speaker.is_heard(W0, 77)
        assert run.live["server", 0].process.poll() is None
        assert server_folder(run.cluster.state_folder, 0).exists()
        speaker.close()


def test_a_command_that_came_without_encryption_is_refused(tmp_path):
    with started(1, 1, token=True, encrypt=False, snapshots=tmp_path) as run:
        (store,) = run.workers()
        store.init("w", np.zeros(100, np.float32))
        speaker = Speaker(run.cluster, address_of(store), W0, encrypt=False)
        command = w.Command(7, "snapshot", "mine")
        speaker.say(W0, command)
        assert speaker.is_heard(W0, 8)
        assert not list(tmp_path.iterdir())
        speaker.say(W0, command, sealed=True)
        assert isinstance(speaker.hear(7), w.CommandDone)
        assert [one.name for one in tmp_path.iterdir()] == ["mine.server-0.npz"]
        speaker.close()


def test_the_supervisor_ends_a_run_in_order():
    with started(1, 1, token=True) as run:
        (store,) = run.workers()
        store.init("w", np.zeros(100, np.float32))
        folder = server_folder(run.cluster.state_folder, 0)
        assert folder.exists()
        reporter = Reporter(run.cluster)
        reporter.stop("enough")
        assert run.live["server", 0].process.wait(60) == 0
        assert run.live["scheduler", 0].process.wait(60) == 0
        assert not folder.exists()
        reporter.close()


@pytest.mark.slow
def test_a_server_whose_workers_are_all_dead_keeps_its_files():
    """Nobody has asked that they be deleted, and the run may be started again."""
    with started(1, 1, token=True) as run:
        (store,) = run.workers()
        store.init("w", np.zeros(100, np.float32))
        folder = server_folder(run.cluster.state_folder, 0)
        reporter = Reporter(run.cluster)
        reporter.gone("worker", 0, 1, "killed by signal 9", returns=False)
        assert run.live["server", 0].process.wait(60) == FAILED
        assert run.live["scheduler", 0].process.wait(60) == FAILED
        assert list(folder.iterdir())
        reporter.close()


def test_what_does_not_fit_is_counted_and_the_rest_is_heard():
    with started(2, 1, token=True, processes=False) as run:
        cluster = replace(run.cluster, role="scheduler", rank=0)
        how = {"me": w.SCHEDULER, "admits": processes_of(cluster)}
        transport = ZmqTransport(host="127.0.0.1", token=cluster.token, encrypt=True, **how)
        driver = SchedulerDriver(cluster, transport)
        driver.start()
        speaker = Speaker(cluster, transport.address, W0, w.SCHEDULER)
        for message in (w.Stop("enough"), w.Gone(SERVER, 1, "x"), w.StandbyReady(0, 1)):
            speaker.say(W0, message)
            speaker.say(SUPERVISOR, message)
        speaker.say(w.Peer("worker", 1), w.Seen(1))
        speaker.say(W0, w.Hello("x", w.Peer("worker", 1), 1, "", "here"))
        speaker.say(W0, w.Hello("x", W0, 1, "", "here"))
        while W0 not in driver._machine._states:
            driver.turn(1.0)
            speaker.transport.receive(0.0)
        assert driver.refused == 8
        assert driver.finished is None
        speaker.close()
        driver.close()


def test_every_message_has_somebody_who_may_say_it():
    said = {kind for kinds in rules.WORDS.values() for kind in kinds}
    assert said == set(typing.get_args(w.Message))


@pytest.mark.parametrize("of", sorted(rules.WORDS))
def test_only_what_is_in_the_table_fits(of):
    sender, receiver = of
    source = w.Peer(sender, 0)
    for kind in typing.get_args(w.Message):
        message = w.Hello("x", source, 1, "", "") if kind is w.Hello else object.__new__(kind)
        event = w.Arrived(source, 1, 1, message)
        may = kind in rules.WORDS[of]
        route = b"" if sender == "scheduler" or of == ("server", "worker") else b"way"
        heard = Heard(route, [], source if not route else None, source)
        assert rules.fits(heard, event, receiver) is may
        assert rules.fits(replace(heard, sealed=False), event, receiver) is (
            may and kind not in rules.SEALED
        )
        for other in (w.Peer(sender, 1), w.Peer("supervisor" if sender != "supervisor"
                                                else "worker", 0)):  # fmt: skip
            wrong = replace(heard, sender=other, peer=None if route else other)
            assert not rules.fits(wrong, event, receiver)


# -- where a server writes -------------------------------------------------------------------------


def test_snapshots_stay_below_their_folder(tmp_path):
    """Also where somebody has put symbolic links there."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for one in (inside / "sub", outside):
        one.mkdir(parents=True)
    (inside / "link").symlink_to(outside)
    (inside / "last.server-0.npz").symlink_to(outside / "kept")
    (inside / "early.server-0.npz.new").symlink_to(outside / "kept")
    (outside / "kept").write_text("as it was")
    with started(1, 1, snapshots=inside) as run:
        (store,) = run.workers()
        store.init("w", np.full(3, WEIGHT))
        for name in (
            str(outside / "x"), "../outside/x", "sub/../../outside/x", "link/x",
            str(inside / "link" / "x"), str(inside / ".." / "outside" / "x"), "/",
        ):  # fmt: skip
            with pytest.raises(KVStoreError, match="a server writes below .*inside only"):
                store.snapshot(name)
        with pytest.raises(KVStoreError, match="FileNotFoundError"):
            store.snapshot("nowhere/x")
        good = ("one", "sub/two", str(inside / "three"), "last", "early")
        for name in good:
            store.snapshot(name)
            with np.load(inside / f"{name}.server-0.npz") as saved:
                assert saved["0/0/0"].tolist() == 3 * [WEIGHT]
    assert [one.name for one in outside.iterdir()] == ["kept"]
    assert (outside / "kept").read_text() == "as it was"
    assert not (inside / "last.server-0.npz").is_symlink()


def test_what_went_with_its_connection_since_a_socket_was_asked_is_nothing_heard():
    with started(2, 1, token=True, processes=False) as run:
        cluster = replace(run.cluster, role="scheduler", rank=0)
        how = {"me": w.SCHEDULER, "admits": processes_of(cluster)}
        transport = ZmqTransport(host="127.0.0.1", token=cluster.token, encrypt=True, **how)
        speaker = Speaker(cluster, transport.address, W0, w.SCHEDULER)
        heard: list[object] = []
        for one in transport, speaker.transport:
            sockets = [one._router, *[dealer.socket for dealer in one._dealers.values()]]
            one._hear_others(dict.fromkeys([x for x in sockets if x is not None], 1), heard)
        assert heard == []
        speaker.close()
        transport.close()
