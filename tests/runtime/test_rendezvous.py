"""Where Sends and Recvs meet: order, dead tensors, waiting, and what an abort does."""

from __future__ import annotations

import threading
from collections import defaultdict, deque

import pytest
from helpers import in_thread
from hypothesis import given
from hypothesis import strategies as st

from hybridnet.base.errors import OpError
from hybridnet.runtime.executor.rendezvous import Key, LocalRendezvous

A, B = Key("x", "y", "fc1:0"), Key("x", "y", "fc1:0", "loop", 3)


def received(rendezvous, key):
    """Asks for a key; returns a list that what comes is put in."""
    found = []
    rendezvous.receive_async(key, found.append)
    return found


@pytest.mark.parametrize("send_first", [True, False])
def test_a_tensor_is_handed_over_whoever_comes_first(send_first):
    rendezvous = LocalRendezvous()
    if send_first:
        rendezvous.send(A, 7)
        assert rendezvous.pending == (1, 0)
        found = received(rendezvous, A)
    else:
        found = received(rendezvous, A)
        assert not found and rendezvous.pending == (0, 1)
        rendezvous.send(A, 7)
    assert [(one.value, one.dead, one.error) for one in found] == [(7, False, None)]
    assert rendezvous.pending == (0, 0)


def test_frames_and_iterations_are_told_apart():
    rendezvous = LocalRendezvous()
    rendezvous.send(B, "third turn")
    assert not received(rendezvous, A)
    assert not received(rendezvous, B._replace(iteration=2))
    assert rendezvous.receive(B).value == "third turn"
    assert str(A) == "fc1:0 from x to y" and str(B) == "fc1:0 (loop:3) from x to y"


def test_a_dead_tensor_has_no_value():
    rendezvous = LocalRendezvous()
    rendezvous.send(A, "ignored", dead=True)
    one = rendezvous.receive(A)
    assert one.dead and one.value is None


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([A, B])), max_size=30))
def test_each_send_answers_one_receive_in_order(steps):
    rendezvous = LocalRendezvous()
    sent, waiting, wanted = defaultdict(deque), defaultdict(deque), {}
    found = {}
    for number, (is_send, key) in enumerate(steps):
        if is_send:
            rendezvous.send(key, number)
            if waiting[key]:
                wanted[waiting[key].popleft()] = number
            else:
                sent[key].append(number)
        else:
            rendezvous.receive_async(
                key, lambda one, number=number: found.__setitem__(number, one.value)
            )
            if sent[key]:
                wanted[number] = sent[key].popleft()
            else:
                waiting[key].append(number)
    assert found == wanted
    assert rendezvous.pending == (
        sum(map(len, sent.values())),
        sum(map(len, waiting.values())),
    )


def test_a_producer_is_never_blocked():
    """Nobody receives, and a callback that is slow to come back does not hold the lock."""
    rendezvous = LocalRendezvous()
    for number in range(1000):
        rendezvous.send(B._replace(iteration=number), number)
    assert rendezvous.pending == (1000, 0)
    order = []

    def callback(one):
        in_thread(lambda: rendezvous.send(A, "another thread gets in"))
        order.append(one.value)

    key = B._replace(frame="other")
    rendezvous.receive_async(key, callback)
    rendezvous.send(key, "first")
    assert order == ["first"]
    assert rendezvous.receive(A).value == "another thread gets in"


def test_a_blocking_receive_waits_for_another_thread():
    rendezvous = LocalRendezvous()
    asked = threading.Event()

    def produce():
        asked.wait()
        rendezvous.send(A, 5)

    thread = threading.Thread(target=produce)
    thread.start()
    asked.set()
    assert rendezvous.receive(A, timeout=60).value == 5
    thread.join()


def test_a_receive_in_vain_says_what_did_not_come():
    with pytest.raises(OpError, match=r"fc1:0 from x to y did not come within 0 seconds"):
        LocalRendezvous().receive(A, timeout=0)


def test_an_abort_tells_all_who_wait_now_or_later():
    rendezvous = LocalRendezvous()
    waiting = received(rendezvous, A)
    rendezvous.send(B, 1)
    error = OpError("node 'fc1' failed")
    rendezvous.abort(error)
    rendezvous.abort(OpError("a later one does not count"))
    rendezvous.send(B, 2)
    assert rendezvous.pending == (0, 0)
    assert [one.error for one in (*waiting, *received(rendezvous, B))] == [error, error]
    with pytest.raises(OpError, match=r"fc1:0 from x to y will not come: node 'fc1' failed"):
        rendezvous.receive(A)
