"""What waits for ZeroMQ's sockets and for descriptors, beside ZeroMQ's own poller."""

from __future__ import annotations

import random
import socket

import pytest

from hybridnet.kvstore.transport.poller import Poller

zmq = pytest.importorskip("zmq")


@pytest.fixture
def pair():
    """Makes two connected ZeroMQ sockets of a name."""
    made, context = [], zmq.Context()

    def make(name):
        one, other = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
        made.extend((one, other))
        one.bind(f"inproc://{name}")
        other.connect(f"inproc://{name}")
        return one, other

    yield make
    for each in made:
        each.close(0)
    context.term()


def test_descriptors_and_sockets_are_found_and_no_others(pair):
    one, other = pair("a")
    left, right = socket.socketpair()
    poller = Poller(zmq)
    poller.register(other)
    poller.register(right.fileno())
    assert poller.poll(0) == {}
    left.send(b"x")
    assert set(poller.poll(None)) == {right.fileno()}
    one.send(b"y")
    assert set(poller.poll(None)) == {right.fileno(), other}
    right.recv(1)
    other.recv()
    assert poller.poll(0) == {}
    left.send(b"x")
    one.send(b"y")
    poller.unregister(other)
    poller.unregister(right.fileno())
    assert poller.poll(0) == {}
    left.close()
    right.close()


def test_a_message_is_found_whose_ring_was_heard_by_something_else(pair):
    one, other = pair("a")
    poller = Poller(zmq)
    poller.register(other)
    assert poller.poll(0) == {}
    one.send(b"x")
    other.send(b"y")  # ZeroMQ hears the ring here
    poller.use()
    assert set(poller.poll(0)) == {other}
    assert set(poller.poll(0)) == {other}  # it was not read


def test_one_of_many_messages_is_read_at_a_time(pair):
    one, other = pair("a")
    poller = Poller(zmq)
    poller.register(other)
    for _ in range(5):
        one.send(b"x")
    for _ in range(5):
        assert set(poller.poll(None)) == {other}
        other.recv()
    assert poller.poll(0) == {}


@pytest.mark.parametrize("seed", range(20))
def test_it_finds_what_zeromqs_own_finds(pair, seed):
    draw = random.Random(seed)
    pairs = [pair(f"{seed} {number}") for number in range(4)]
    ours, theirs = Poller(zmq), zmq.Poller()
    for _, other in pairs:
        ours.register(other)
        theirs.register(other, zmq.POLLIN)
    found = {}
    for _ in range(200):
        one, other = draw.choice(pairs)
        what = draw.randrange(4)
        if what == 0:
            one.send(b"x")
        elif what == 1:
            other.send(b"y")
            ours.use()
        elif found and what == 2:
            draw.choice(list(found)).recv()
            # The rest of what was found may be left alone.
        found = ours.poll(0)
        assert set(found) == set(dict(theirs.poll(0)))
