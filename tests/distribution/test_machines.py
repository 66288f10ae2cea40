"""The machines of the protocol, read as scripts: events in, actions out. No network, no time."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from places import ROOT

from hybridnet.kvstore.protocol import SchedulerMachine, ServerMachine, WorkerMachine
from hybridnet.kvstore.protocol.rounds import HeldPart
from hybridnet.kvstore.protocol.standby import Leader, follow, tell
from hybridnet.kvstore.protocol.words import (
    SCHEDULER,
    Adopt,
    Applied,
    Arrived,
    Barrier,
    Begin,
    Broke,
    CallBarrier,
    CallConfigure,
    CallInit,
    CallLeave,
    CallPull,
    CallPush,
    CallRestore,
    Commit,
    Configure,
    Configured,
    Content,
    Copied,
    Copy,
    Deliver,
    Done,
    Finish,
    Fold,
    Gone,
    Hello,
    Initialized,
    InitPart,
    Install,
    Join,
    Joined,
    KeySpec,
    Left,
    Part,
    PartRecord,
    PartStates,
    PartValue,
    Peer,
    PeerLost,
    Peers,
    PeerState,
    Post,
    ProcessIdentity,
    PullPart,
    PullStates,
    PushPart,
    PutStates,
    Raise,
    Refused,
    RunPlan,
    Seen,
    ServerMemory,
    ShardPlace,
    StatesPut,
    Stop,
    StoredPart,
    StoreSettings,
    Tick,
    View,
    Wake,
    Welcome,
)

PLAN = RunPlan(run=5, workers=2, shards=1)
SPEC = KeySpec(3)
PART = Part(0, 0, 0, 0, 3)
ASYNC = StoreSettings(1, "async", "sgd")
W0, W1, S0 = Peer("worker", 0), Peer("worker", 1), Peer("server", 0)


def state(peer, generation=1, how="up"):
    return PeerState(peer, generation, "address", "host", how, "killed")


def view(number=1, settings=None, *states):
    every = settings if isinstance(settings, tuple) else (settings,) if settings else ()
    return View(number, states or (state(W0), state(W1), state(S0)), (ShardPlace(0),), every)


def arrive(machine, source, message, generation=1, run=5, now=0.0):
    actions = machine.handle(Arrived(source, generation, run, message), now)
    return [one for one in actions if not isinstance(one, Wake)]


def a_server(settings=None):
    """A server that has a part of one key, in round 0."""
    machine = ServerMachine(PLAN, ProcessIdentity("s", S0))
    machine.start(0.0)
    arrive(machine, SCHEDULER, Welcome("s", S0, view(1, settings)))
    arrive(machine, W0, InitPart(1, PART, "w", SPEC, "value"))
    return machine


def a_worker(high=0, below=False, before=0, settings=None, me=W0):
    """A worker that has a key."""
    machine = WorkerMachine(PLAN, ProcessIdentity("w", me, 1))
    machine.start(0.0)
    seen = view(1, settings)
    join = arrive(machine, SCHEDULER, Welcome("w", me, seen, before))[-1].message
    assert Begin(me.rank, 2, high - below, seen) in arrive(
        machine, S0, Joined(join.ticket, high, below)
    )
    (post,) = machine.handle(CallInit(1, "w", SPEC, "value"), 0.0)
    assert arrive(machine, S0, Initialized(post.message.ticket, PART.id, high)) == [Done(1)]
    return machine


def messages(actions):
    return [one.message for one in actions if isinstance(one, Post)]


def come_to(worker, call):
    """Comes to a barrier; returns what the scheduler is told."""
    (told,) = messages(worker.handle(CallBarrier(call), 0.0))
    return told


def test_barriers_are_known_by_the_pushes_before_them():
    """So a worker that is started again, and goes on after two pushes, meets the others there."""
    first = a_worker()
    setup = come_to(first, 2)
    assert setup == Barrier("", 1)
    first.handle(CallPush(3, "w", 1), 0.0)
    first.handle(CallPush(4, "w", 1), 0.0)
    after_two = come_to(first, 5)
    first.handle(CallPush(6, "w", 1), 0.0)
    after_three = [come_to(first, 7), come_to(first, 8)]

    again = a_worker(high=2, before=1)
    assert come_to(again, 2) == setup
    told = messages(again.handle(CallPush(3, "w", 1), 0.0))
    # Nobody waits for it any more at what comes before its third push.
    (passed,) = [one for one in told if isinstance(one, Barrier)]
    assert passed.name == after_two.name
    assert after_two.count < passed.count < after_three[0].count
    assert [come_to(again, 4), come_to(again, 5)] == after_three

    idle = a_worker(high=2, before=1)
    assert come_to(idle, 2) == setup
    assert come_to(idle, 3) == after_two


def test_barriers_of_asynchronous_stores_are_counted():
    worker = a_worker(high=2, before=1)
    worker.handle(CallConfigure(2, ASYNC), 0.0)
    worker.handle(CallPush(3, "w", 1), 0.0)
    assert [come_to(worker, 4).count, come_to(worker, 5).count] == [1, 2]


def test_pushes_without_rounds_do_not_count_for_barriers_where_there_are_rounds():
    worker, other = a_worker(), KeySpec(3, store=1)
    worker.handle(CallConfigure(2, StoreSettings(0)), 0.0)
    worker.handle(CallConfigure(3, replace(ASYNC, store=1)), 0.0)
    (post,) = messages(worker.handle(CallInit(4, "v", other, "value"), 0.0))
    arrive(worker, S0, Initialized(post.ticket, post.part.id, 0))
    worker.handle(CallPush(5, "v", 1), 0.0)
    assert come_to(worker, 6) == Barrier("", 1)
    worker.handle(CallPush(7, "w", 1), 0.0)
    once = come_to(worker, 8)
    for call in (9, 10):
        worker.handle(CallPush(call, "v", 1), 0.0)
    assert come_to(worker, 11) == Barrier(once.name, once.count + 1)


def configured(scheduler, store, number, settings=None, rank=W0):
    """Has a worker ask for settings, and all servers hear of them; returns who is answered."""
    said = arrive(scheduler, rank, Configure(store, number, settings))
    for one in views(said):
        said += arrive(scheduler, S0, Seen(one.number))
    return [(one.to, one.message) for one in said if isinstance(one.message, Configured)]


def test_settings_of_stores_are_counted_apart():
    scheduler = a_scheduler()
    sgd, adam = StoreSettings(0, optimizer="sgd"), StoreSettings(0, optimizer="adam", store=1)
    for store, number, settings in ((0, 1, sgd), (0, 2, sgd), (1, 1, adam)):
        found = configured(scheduler, store, number, settings)
        assert set(found) == {(W0, Configured(store, number))}
    # Worker 0 has not said the second of that store.
    assert not configured(scheduler, 1, 2, rank=W1)
    assert configured(scheduler, 0, 2, rank=W1) == [(W1, Configured(0, 2))]
    found = configured(scheduler, 1, 2, replace(adam, optimizer="nag"))
    assert set(found) == {(W0, Configured(1, 2)), (W1, Configured(1, 2))}

    # One that takes its place hears of them all from the others.
    another = SchedulerMachine(PLAN, ProcessIdentity("d", SCHEDULER, 2))
    another.start(0.0)
    newest = view(9, (replace(sgd, number=2), replace(adam, number=2, optimizer="nag")))
    for peer, seen in ((W0, None), (W1, None), (S0, newest)):
        told = messages(
            arrive(another, peer, Hello(peer.role + str(peer.rank), peer, 1, view=seen))
        )
    welcome = next(one for one in told if isinstance(one, Welcome))
    assert welcome.view.settings == newest.settings
    arrive(another, S0, Seen(welcome.view.number))
    assert configured(another, 0, 2) == [(W0, Configured(0, 2))]
    (changed, *_) = views(arrive(another, W0, Configure(1, 3, adam)))
    assert changed.settings_of(1) == replace(adam, number=3)
    assert changed.settings_of(0) == newest.settings[0]


def test_a_server_takes_pushes_as_the_store_of_the_key_says():
    """A round waits for all beside a push that is an update; one store has no optimizer yet."""
    specs = [KeySpec(3, store=store) for store in (0, 1, 2)]
    parts = [Part(store, 0, 0, 0, 3) for store in (0, 1, 2)]
    server = a_server((StoreSettings(4), replace(ASYNC, store=1)))
    for part, spec in zip(parts[1:], specs[1:], strict=True):
        arrive(server, W0, InitPart(1, part, f"w{spec.store}", spec, "value"))
    assert arrive(server, W1, PushPart(3, parts[0].id, 1, "it")) == []
    assert Commit(parts[1].id, PartRecord(1, (1, 0))) in arrive(
        server, W0, PushPart(4, parts[1].id, 1, "it")
    )
    assert arrive(server, W1, PushPart(5, parts[2].id, 1, "it")) == []
    # What is set for one is adopted for that one, and what is older is not.
    bare, older = StoreSettings(2, "async", store=2), StoreSettings(3, "async", "sgd")
    done = arrive(server, SCHEDULER, Peers(view(2, (older, replace(ASYNC, store=1), bare))))
    assert [one for one in done if isinstance(one, Adopt)] == [Adopt(bare)]
    (answer,) = messages(arrive(server, W0, PushPart(6, parts[2].id, 1, "it")))
    assert answer.code == "wrong" and "set_optimizer" in answer.sentence
    assert arrive(server, W1, PullPart(7, parts[0].id, 1)) == []


def asks(worker, call, settings, changes=False):
    """Asks for settings; returns which store's, and after how many pushes the how-manieth."""
    (asked,) = [
        one
        for one in messages(worker.handle(CallConfigure(call, settings, changes), 0.0))
        if isinstance(one, Configure)
    ]
    assert asked.settings == replace(settings, number=asked.number)
    return asked.store, *divmod(asked.number, 1 << 20)


def push(worker, call, name):
    """A push, and its answer."""
    for one in messages(worker.handle(CallPush(call, name, 1), 0.0)):
        if isinstance(one, PushPart):
            arrive(worker, S0, Applied(one.ticket, one.part, one.number))


def two_stores(high=0):
    """A worker with a key in each of two stores, both of which it may have pushed so often."""
    worker = a_worker(high, settings=(RATES, replace(RATES, store=1)))
    (post,) = messages(worker.handle(CallInit(90, "v", KeySpec(3, store=1), "value"), 0.0))
    arrive(worker, S0, Initialized(post.ticket, post.part.id, high))
    return worker


RATES = StoreSettings(0, optimizer="sgd")


def test_settings_are_known_by_the_pushes_before_them():
    """So a worker that begins again need not know how often there were others."""
    first, other = two_stores(), replace(RATES, store=1)
    assert [asks(first, call, RATES) for call in (1, 2)] == [(0, 0, 1), (0, 0, 2)]
    assert asks(first, 3, other) == (1, 0, 1)
    for call in (4, 5, 6):
        push(first, call, "w")
    push(first, 7, "v")
    after = [asks(first, call, RATES, True) for call in (8, 9)]
    assert after == [(0, 3, 1), (0, 3, 2)]
    assert asks(first, 10, other, True) == (1, 1, 1)


def test_a_worker_that_begins_again_does_so_in_each_store():
    """A second trainer sets its store up when the first one has begun to push."""
    worker, other = two_stores(high=5), replace(RATES, store=1)
    assert worker.handle(CallConfigure(2, RATES), 0.0) == [Done(2)]
    assert asks(worker, 3, RATES, True) == (0, 5, 1)
    push(worker, 4, "w")
    assert worker.handle(CallConfigure(5, other), 0.0) == [Done(5)]
    assert asks(worker, 6, RATES) == (0, 6, 1)
    # One that nobody has pushed to is set up as at the first time.
    third = replace(RATES, store=2)
    assert [asks(worker, call, third) for call in (7, 8)] == [(2, 0, 1), (2, 0, 2)]


def test_settings_without_rounds_are_counted():
    each = replace(ASYNC, number=0)
    worker = a_worker(high=5, settings=replace(each, number=3))
    assert worker.handle(CallConfigure(2, each), 0.0) == [Done(2)]
    push(worker, 3, "w")
    assert [asks(worker, call, each) for call in (4, 5)] == [(0, 0, 4), (0, 0, 5)]
    # Another one does not know which of them are to come: worker 0 waits for nobody.
    worker = a_worker(high=5, settings=replace(each, number=3), me=W1)
    push(worker, 3, "w")
    for call, store in ((4, 0), (5, 0), (6, 1)):
        (asked,) = messages(worker.handle(CallConfigure(call, replace(each, store=store)), 0.0))
        assert asked == Configure(store, 1 if store else 3)


def test_a_call_for_settings_ends_when_this_worker_knows_of_them():
    worker = two_stores()
    assert asks(worker, 2, replace(RATES, store=1)) == (1, 0, 1)
    assert arrive(worker, SCHEDULER, Configured(0, 1)) == []
    # Who asked looks at what it is told of all: it is not told earlier.
    assert arrive(worker, SCHEDULER, Configured(1, 1)) == []
    arrive(worker, SCHEDULER, Peers(view(2, StoreSettings(1, store=1))))
    assert arrive(worker, SCHEDULER, Configured(1, 1)) == [Done(2)]


def test_who_begins_again_with_other_settings_passes_the_barriers_before_them():
    worker = two_stores(high=5)
    told = messages(worker.handle(CallConfigure(2, RATES, changes=True), 0.0))
    (passed,) = [one for one in told if isinstance(one, Barrier)]
    assert [one.number for one in told if isinstance(one, Configure)] == [(5 << 20) + 1]
    (again,) = [
        one for one in messages(worker.handle(CallPush(3, "w", 1), 0.0)) if isinstance(one, Barrier)
    ]
    assert again == passed


def test_a_commit_made_by_older_settings_is_copied_whole():
    """The standby would make another one of its sum by the newer ones."""
    plan, place = replace(PLAN, standby=True), ShardPlace(0, 1, True, 5)
    peers = (state(W0), state(W1), state(S0), state(Peer("server", 1)))
    other = replace(ASYNC, optimizer="adam", store=1)
    server = ServerMachine(plan, ProcessIdentity("s", S0))
    server.start(0.0)
    arrive(server, SCHEDULER, Welcome("s", S0, View(1, peers, (place,), (ASYNC, other))))
    for number in (0, 1):
        part = Part(number, 0, 0, 0, 3)
        arrive(server, W0, InitPart(1, part, f"w{number}", KeySpec(3, store=number), "value"))
        arrive(server, Peer("server", 1), Copied(part.id, 5, 0))
        copies = messages(arrive(server, W0, PushPart(2, part.id, 1, "it")))
        assert [(one.full, one.settings) for one in copies] == [(False, 1)]
    newer = (replace(ASYNC, number=2, optimizer="nag"), other)
    arrive(server, SCHEDULER, Peers(View(2, peers, (place,), newer)))
    for number, full in ((0, True), (1, False)):
        (copy,) = messages(arrive(server, Peer("server", 1), Copied((number, 0), 5, 0)))
        assert (copy.full, copy.settings) == (full, 2 - number)


def test_a_round_is_added_up_by_rank_and_answered_after_its_commit():
    server = a_server()
    assert arrive(server, W1, PushPart(7, PART.id, 1, "from 1", wants_value=True)) == []
    done = arrive(server, W0, PushPart(3, PART.id, 1, "from 0"))
    assert done[:3] == [
        Fold(PART.id, 0, "from 0", None, True),
        Fold(PART.id, 1, "from 1", None, False),
        Commit(PART.id, PartRecord(1, (1, 1))),
    ]
    assert {one.to: one.message for one in done[3:]} == {
        W0: Applied(3, PART.id, 1),
        W1: Applied(7, PART.id, 1, Content.STORED),
    }


def test_a_push_that_comes_again_is_answered_and_not_counted():
    server = a_server(ASYNC)
    first = arrive(server, W0, PushPart(3, PART.id, 1, "it"))
    assert Commit(PART.id, PartRecord(1, (1, 0))) in first
    assert arrive(server, W0, PushPart(3, PART.id, 1, "it")) == [Post(W0, Applied(3, PART.id, 1))]


def test_what_a_replaced_worker_says_is_refused():
    server = a_server(ASYNC)
    arrive(server, W0, PushPart(3, PART.id, 1, "it"), generation=2)
    (answer,) = messages(arrive(server, W0, PushPart(4, PART.id, 2, "late"), generation=1))
    assert (answer.ticket, answer.code) == (4, "stale")


def test_other_runs_are_not_heard():
    assert arrive(a_server(ASYNC), W0, PushPart(3, PART.id, 1, "it"), run=6) == []


def test_an_asynchronous_push_without_an_optimizer_is_refused():
    server = a_server(StoreSettings(1, "async"))
    (answer,) = messages(arrive(server, W0, PushPart(3, PART.id, 1, "it")))
    assert answer.code == "wrong"
    assert "set_optimizer" in answer.sentence


def test_who_begins_again_is_not_ahead_of_others_by_what_its_predecessor_pushed():
    server = a_server(replace(ASYNC, staleness=0))
    for ticket, worker, number in ((1, W0, 1), (2, W1, 1), (3, W0, 2)):
        arrive(server, worker, PushPart(ticket, PART.id, number, "it"))
    assert arrive(server, W0, PullPart(4, PART.id, 2)) == []
    (told,) = messages(arrive(server, W0, PullPart(5, PART.id, 1), generation=2))
    assert told == PartValue(5, PART.id, 3, Content.STORED)


def test_a_pull_waits_for_the_push_that_it_names():
    server = a_server(ASYNC)
    assert arrive(server, W0, PullPart(9, PART.id, 1)) == []
    assert PartValue(9, PART.id, 1, Content.STORED) in messages(
        arrive(server, W0, PushPart(3, PART.id, 1, "it"))
    )


@pytest.mark.parametrize("pulls_first", [False, True])
def test_a_pull_behind_a_push_that_cannot_be_taken_is_refused_as_well(pulls_first):
    """A worker has finished: whoever comes with one push more waits for nothing."""
    server = a_server()
    first = [] if pulls_first else [PushPart(3, PART.id, 1, "it")]
    for one in (*first, PullPart(4, PART.id, 1)):
        assert not [x for x in messages(arrive(server, W0, one)) if isinstance(x, PartValue)]
    over = view(2, None, state(W0), state(W1, how="left"), state(S0))
    said = [x for x in messages(arrive(server, SCHEDULER, Peers(over))) if isinstance(x, Refused)]
    if pulls_first:  # its push may still be on the way
        said += messages(arrive(server, W0, PushPart(3, PART.id, 1, "it")))
    assert {one.ticket: one.code for one in said} == {3: "left", 4: "left"}
    (answer,) = messages(arrive(server, W0, PullPart(5, PART.id, 1)))
    assert (answer.ticket, answer.code) == (5, "left")
    assert "worker 1 has ended after round 0" in answer.sentence


def test_keys_in_another_order_are_refused():
    server = a_server()
    (answer,) = messages(arrive(server, W1, InitPart(1, PART, "bias", SPEC)))
    assert answer.code == "wrong"
    assert "same order" in answer.sentence


def test_a_server_that_lost_its_state_says_so():
    server = ServerMachine(PLAN, ProcessIdentity("s", S0, 2))
    server.start(0.0)
    arrive(server, SCHEDULER, Welcome("s", S0, view()))
    (answer,) = messages(arrive(server, W0, PushPart(3, PART.id, 8, "it")))
    assert answer.code == "lost"


def test_a_commit_that_breaks_is_told_to_all_who_wait():
    server = a_server(ASYNC)
    arrive(server, W0, PushPart(3, PART.id, 1, "it"))
    server.handle(Broke(PART.id, PartRecord(0, (0, 0)), "no such optimizer"), 0.0)
    (answer,) = messages(arrive(server, W0, PushPart(3, PART.id, 1, "it")))
    assert (answer.code, answer.sentence) == ("broke", "no such optimizer")


def test_a_worker_holds_a_push_back_until_the_one_before_is_applied():
    worker = a_worker()
    (first,) = messages(worker.handle(CallPush(2, "w", "one"), 0.0))
    assert (first.number, first.payload) == (1, "one")
    assert messages(worker.handle(CallPush(3, "w", "two"), 0.0)) == []
    done, post = arrive(worker, S0, Applied(first.ticket, PART.id, 1))
    assert done == Done(2)
    assert (post.message.number, post.message.payload) == (2, "two")


def test_a_pull_names_the_pushes_before_it_and_holds_back_those_after_it():
    worker = a_worker()
    (push,) = messages(worker.handle(CallPush(2, "w", "one"), 0.0))
    (pull,) = messages(worker.handle(CallPull(3, "w"), 0.0))
    assert pull.least == 1
    assert messages(worker.handle(CallPush(4, "w", "two"), 0.0)) == []
    assert arrive(worker, S0, Applied(push.ticket, PART.id, 1)) == [Done(2)]
    delivered, done, _ = arrive(worker, S0, PartValue(pull.ticket, PART.id, 1, "value"))
    assert (delivered, done) == (Deliver(3, PART.id, "value", None, 1), Done(3))


def test_pushes_are_sent_again_to_a_server_that_was_started_again():
    worker = a_worker()
    (push,) = messages(worker.handle(CallPush(2, "w", "one"), 0.0))
    newer = view(2, None, state(W0), state(W1), state(S0, 2))
    assert push in messages(arrive(worker, SCHEDULER, Peers(newer)))


def test_a_dead_worker_is_named():
    worker = a_worker()
    worker.handle(CallPush(2, "w", "one"), 0.0)
    newer = view(2, None, state(W0), state(W1, 1, "gone"), state(S0))
    raised = arrive(worker, SCHEDULER, Peers(newer))[0]
    assert isinstance(raised, Raise)
    assert (raised.call, raised.code) == (2, "dead")
    assert "worker 1 on host host is gone (killed)" in raised.sentence
    later = worker.handle(CallPush(3, "w", "two"), 0.0)
    assert [type(one) for one in later] == [Raise]


def test_a_death_while_a_worker_leaves_does_not_keep_it():
    worker = a_worker()
    worker.handle(CallLeave(2), 0.0)
    newer = view(2, None, state(W0), state(W1, 1, "gone"), state(S0))
    assert arrive(worker, SCHEDULER, Peers(newer))[-2:] == [Done(2), Finish()]


def test_a_worker_that_was_replaced_ends():
    worker = a_worker()
    assert Finish("stale", "replaced") in arrive(worker, S0, Refused(0, "stale", "replaced"))


def test_a_key_that_was_never_made_is_named():
    (raised,) = a_worker().handle(CallPull(2, "bias"), 0.0)
    assert raised == Raise(
        2, "wrong", "pull requires an initialized key, got 'bias', which never was"
    )


def test_the_scheduler_welcomes_when_all_are_there():
    scheduler = SchedulerMachine(PLAN, ProcessIdentity("c", SCHEDULER))
    scheduler.start(0.0)
    assert arrive(scheduler, W0, Hello("a", W0, 1)) == []
    assert arrive(scheduler, S0, Hello("b", S0, 1)) == []
    sent = arrive(scheduler, Peer("worker", -1), Hello("c", Peer("worker", -1), 1))
    welcomes = [one for one in sent if isinstance(one, Post) and isinstance(one.message, Welcome)]
    # Those who came early need not say their Hello again; who has no rank is known by its name.
    assert [(one.to, one.message.name, one.message.peer) for one in welcomes] == [
        (W0, "a", W0),
        (S0, "b", S0),
        (Peer("worker", -1), "c", W1),
    ]


def test_a_process_that_will_not_come_back_is_declared_dead_at_once():
    scheduler = SchedulerMachine(PLAN, ProcessIdentity("c", SCHEDULER))
    for peer in (W0, W1, S0):
        arrive(scheduler, peer, Hello(peer.role + str(peer.rank), peer, 1))
    gone = Gone(W1, 1, "killed by signal 9", returns=False)
    sent = messages(arrive(scheduler, Peer("supervisor", 0), gone, generation=0))
    newest = [one.view for one in sent if isinstance(one, Peers)][-1]
    assert newest.find(W1).state == "gone"
    assert "killed by signal 9" in newest.find(W1).reason


def a_scheduler():
    """A scheduler to which all have said Hello."""
    scheduler = SchedulerMachine(PLAN, ProcessIdentity("c", SCHEDULER))
    for peer in (W0, W1, S0):
        arrive(scheduler, peer, Hello(peer.role + str(peer.rank), peer, 1))
    return scheduler


def test_who_waits_at_its_end_is_told_good_bye_when_all_are_there():
    """The others hear at once that nothing comes from it any more, so none waits for its pushes."""
    scheduler = a_scheduler()
    (*told, _) = views(arrive(scheduler, W0, Left(waits=True)))
    assert told and all(one.find(W0).state == "left" for one in told)
    assert Left() not in messages(arrive(scheduler, W0, Left(waits=True)))  # it asks again
    last = [one for one in arrive(scheduler, W1, Left(waits=True)) if isinstance(one, Post)]
    assert {one.to for one in last if one.message == Left()} == {W0, W1}


def test_who_is_killed_at_its_end_is_waited_for():
    scheduler = a_scheduler()
    arrive(scheduler, W0, Left(waits=True))
    gone = Gone(W0, 1, "killed by signal 9", returns=True)
    (view, *_) = views(arrive(scheduler, Peer("supervisor", 0), gone, generation=0))
    assert view.find(W0).state == "lost"
    assert Left() not in messages(arrive(scheduler, W1, Left(waits=True)))
    arrive(scheduler, W0, Hello("again", W0, 2))
    assert Left() in messages(arrive(scheduler, W0, Left(waits=True), generation=2))


def views(actions):
    return [one.view for one in messages(actions) if isinstance(one, Peers)]


def test_a_replaced_process_that_goes_on_after_the_run_is_told_that_it_was_replaced():
    scheduler = a_scheduler()
    arrive(scheduler, W0, Hello("another", W0, 2))
    arrive(scheduler, Peer("supervisor", 0), Stop("enough"), generation=0)
    (told,) = messages(arrive(scheduler, W0, Hello("worker0", W0, 1)))
    assert isinstance(told, Refused) and told.code == "stale"
    (told,) = messages(arrive(scheduler, W1, Hello("worker1", W1, 1)))
    assert isinstance(told, Stop)


@pytest.mark.parametrize("comes", [False, True])
def test_who_was_killed_when_all_had_finished_hears_that_the_run_is_over(comes):
    """However long its start takes, as a loaded machine's does; but not for ever."""
    scheduler, supervisor = a_scheduler(), Peer("supervisor", 0)
    for peer in (W0, W1):
        arrive(scheduler, peer, Left())
    gone = Gone(W1, 1, "killed by signal 9", returns=True)
    arrive(scheduler, supervisor, gone, generation=0, now=0.1)
    assert not [one for one in scheduler.handle(Tick(), 20.0) if isinstance(one, Finish)]
    arrive(scheduler, W1, Hello("worker1", W1, 1), now=20.0)  # of the dead one, on its way
    assert not [one for one in scheduler.handle(Tick(), 21.0) if isinstance(one, Finish)]
    if comes:
        (told,) = messages(arrive(scheduler, W1, Hello("again", W1, 2), generation=2, now=22.0))
        assert isinstance(told, Stop) and not told.code
    (finish,) = [one for one in scheduler.handle(Tick(), 24.0 if comes else 70.0)
                 if isinstance(one, Finish)]  # fmt: skip
    assert not finish.code


@pytest.mark.parametrize("left", [False, True])
def test_where_all_workers_are_dead_the_run_has_not_ended_as_it_should(left):
    """Servers keep their files then; not where a worker has come to its end."""
    scheduler, supervisor = a_scheduler(), Peer("supervisor", 0)
    if left:
        arrive(scheduler, W0, Left())
    said = []
    for peer in (W0, W1):
        gone = Gone(peer, 2, "killed by signal 9", returns=False)
        said += messages(arrive(scheduler, supervisor, gone, generation=0))
    codes = {one.code for one in said if isinstance(one, Stop)}
    assert codes == ({""} if left else {"dead"})
    (finish,) = [one for one in scheduler.handle(Tick(), 1e6) if isinstance(one, Finish)]
    assert finish.code in codes


def test_the_view_says_who_is_being_started_again_and_waits_longer_for_it():
    scheduler, supervisor = a_scheduler(), Peer("supervisor", 0)
    found = views(arrive(scheduler, supervisor, Gone(S0, 1, "killed by signal 9"), generation=0))
    assert found[-1].find(S0).state == "lost"
    # A Hello of the process that has ended, which was on its way, changes nothing.
    arrive(scheduler, S0, Hello("server0", S0, 1))
    later = [scheduler.handle(Tick(), time) for time in (9.0, 59.0)]
    assert not any(one.find(S0).state == "gone" for each in later for one in views(each))
    assert views(scheduler.handle(Tick(), 61.0))[-1].find(S0).state == "gone"


def test_a_process_that_ended_before_its_hello_and_is_given_up_is_declared_dead():
    scheduler, supervisor = a_scheduler(), Peer("supervisor", 0)
    arrive(scheduler, supervisor, Gone(S0, 1, "killed by signal 9"), generation=0)
    assert not arrive(scheduler, supervisor, Gone(S0, 2, "exited with status 3"), generation=0)
    last = Gone(S0, 3, "exited with status 3", returns=False)
    (newest, *_) = views(arrive(scheduler, supervisor, last, generation=0))
    assert newest.find(S0).state == "gone"
    assert "exited with status 3" in newest.find(S0).reason


@pytest.mark.parametrize("told_first", [False, True])
def test_a_worker_waits_as_long_as_a_server_is_being_started_again(told_first):
    worker = a_worker()
    worker.handle(CallPush(2, "w", "gradient"), 0.0)
    lost, view_of_it = (
        PeerLost(S0, "its connection is gone", 1),
        view(2, None, state(W0), state(W1), state(S0, how="lost")),
    )
    if told_first:
        arrive(worker, SCHEDULER, Peers(view_of_it))
        worker.handle(lost, 0.0)
    else:
        worker.handle(lost, 0.0)
        arrive(worker, SCHEDULER, Peers(view_of_it))
    raised = [one for one in worker.handle(Tick(), 59.0) if isinstance(one, Raise)]
    assert not raised
    (failed,) = [one for one in worker.handle(Tick(), 61.0) if isinstance(one, Raise)]
    assert (failed.call, failed.code) == (2, "dead")
    assert "server 0 is gone since 61.0 s" in failed.sentence


def test_the_protocol_needs_the_standard_library_only():
    for path in (Path(ROOT) / "kvstore" / "protocol").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names.append(node.module or "")
            for name in names:
                top = name.split(".")[0]
                assert top in sys.stdlib_module_names or name.startswith(
                    "hybridnet.kvstore.protocol"
                ), f"{path.name} imports {name}"
                assert top not in {"time", "socket", "threading", "os"}, f"{path.name}: {name}"


def test_states_are_put_once_and_between_two_rounds():
    server = a_server()
    arrive(server, W1, PushPart(7, PART.id, 1, "from 1"))
    arrive(server, W0, PushPart(3, PART.id, 1, "from 0"))
    record = PartRecord(1, (1, 1), 0, ahead=9, restored=1)
    assert arrive(server, W0, PutStates(4, PART.id, 1, 10, "states")) == [
        Install(PART, "w", SPEC, record, "states", True),
        Post(W0, StatesPut(4, PART.id)),
    ]
    # What comes again, and the same of a process that replaces the worker, changes nothing.
    again = PutStates(5, PART.id, 1, 10, "older states")
    assert arrive(server, W0, again, generation=2)[1:] == [Post(W0, StatesPut(5, PART.id))]
    (answer,) = arrive(server, W0, PullStates(6, PART.id, 1), generation=2)
    assert answer == Post(W0, PartStates(6, PART.id, 10, Content.STORED))
    arrive(server, W0, PushPart(8, PART.id, 2, "from 0"), generation=2)
    # In the middle of a sum they wait, until the worker asks again.
    assert arrive(server, W0, PutStates(9, PART.id, 2, 3, "states"), generation=2) == []
    done = arrive(server, W1, PushPart(9, PART.id, 2, "from 1"))
    assert Commit(PART.id, PartRecord(2, (2, 2), 0, 9, 1)) in done


def test_a_standby_takes_over_states_that_were_put():
    """A full copy, although no round has closed; an old one of before them does not undo it."""
    held, out = HeldPart(PART, "w", SPEC, PartRecord(3, (3, 3), 5)), []
    put = Copy(PART, "w", SPEC, 5, PartRecord(3, (3, 3), 5, 4, 1), True, "states")
    held = follow(held, put, out)
    assert out == [Install(PART, "w", SPEC, put.record, "states", True)]
    assert tell(held, PART.id, 5) == Copied(PART.id, 5, 3, 1)
    before = Copy(PART, "w", SPEC, 5, PartRecord(4, (4, 4), 5), False, "sum")
    assert follow(held, before, out) is held and len(out) == 1
    told = []
    leader = Leader(PLAN.patience, told, lambda held: told.append("settled"), {0: ASYNC})
    place = ShardPlace(0, 1, True, 5)
    held = HeldPart(PART, "w", SPEC, PartRecord(3, (3, 3), 0, 4, 1), followed=5, merged=True)
    leader.copied(held, place, Copied(PART.id, 5, 3, 0), 0.0)
    assert told.pop().message.full
    leader.copied(held, place, Copied(PART.id, 5, 3, 1), 0.0)
    assert told == ["settled"]


def test_a_worker_is_told_how_far_a_shard_is_when_that_cannot_be_lost_any_more():
    """A server that was started again does not know yet whether its standby has all."""
    plan, late = replace(PLAN, standby=True), Part(1, 0, 0, 0, 3)
    place = ShardPlace(0, 1, True, 5)
    seen = View(6, (state(W0), state(W1), state(S0)), (place,), (ASYNC,))
    parts = [
        StoredPart(PART, "w", SPEC, PartRecord(4, (2, 2))),
        StoredPart(late, "v", SPEC, PartRecord(3, (1, 2))),
    ]
    memory = ServerMemory(seen, (1, 1))
    server = ServerMachine(plan, ProcessIdentity("s", S0, 2), memory, parts)
    server.start(0.0)
    here = replace(seen, number=7, peers=(state(W0), state(W1), state(S0, 2)))
    arrive(server, SCHEDULER, Welcome("s", S0, here))
    arrive(server, Peer("server", 1), Copied(PART.id, 5, 4))
    assert not messages(arrive(server, W0, Join(1, 0)))
    assert not messages(arrive(server, W1, Join(2, 1)))  # another server's
    told = messages(arrive(server, Peer("server", 1), Copied(late.id, 5, 3)))
    assert told[-1] == Joined(1, 2, True)


def test_a_push_waits_for_states_that_are_being_put():
    worker = a_worker()
    (put,) = arrive_call(worker, CallRestore(2, "w", "states", 7, 1))
    assert put == PutStates(put.ticket, PART.id, 1, 7, "states")
    assert arrive_call(worker, CallPush(3, "w", "gradient")) == []
    done, push = arrive(worker, S0, StatesPut(put.ticket, PART.id))
    assert done == Done(2)
    assert push.message.payload == "gradient"


def arrive_call(worker, call):
    return messages(worker.handle(call, 0.0))


def test_a_pull_is_given_the_round_that_it_names():
    """Worker 0 repeats a step that others have done this part of; then it goes on."""
    plan = replace(PLAN, workers=2)
    place = ShardPlace(0, None, False, 5)
    rounds = replace(ASYNC, consistency="sync")
    seen = View(6, (state(W0), state(W1), state(S0)), (place,), (rounds,))
    for has_previous in (True, False):
        stored = StoredPart(PART, "w", SPEC, PartRecord(4, (4, 4)), has_previous)
        server = ServerMachine(
            plan, ProcessIdentity("s", S0, 2), ServerMemory(seen, (1, 1)), [stored]
        )
        server.start(0.0)
        arrive(server, SCHEDULER, Welcome("s", S0, replace(seen, number=7)))
        (told,) = messages(arrive(server, W0, PullPart(1, PART.id, 3)))
        if has_previous:
            assert told == PartValue(1, PART.id, 3, Content.PREVIOUS)
        else:
            assert (told.ticket, told.code) == (1, "lost")
        (told,) = messages(arrive(server, W0, PullPart(2, PART.id, 4)))
        assert told == PartValue(2, PART.id, 4, Content.STORED)


def test_a_standby_gets_the_round_before_with_a_full_copy():
    told = []
    leader = Leader(PLAN.patience, told, lambda held: None, {0: ASYNC})
    place = ShardPlace(0, 1, True, 5)
    held = HeldPart(PART, "w", SPEC, PartRecord(3, (3, 3)), has_previous=True)
    leader.copy(held, place, 0.0)
    copy = told.pop().message
    assert (copy.full, copy.previous) == (True, True)
    out = []
    follower = follow(None, copy, out)
    assert out[0].previous and follower.has_previous


def test_a_key_that_is_pushed_more_rarely_is_refused_by_who_begins_again():
    worker, events = WorkerMachine(PLAN, ProcessIdentity("w", W0, 2)), []
    worker.start(0.0)
    place = ShardPlace(0, None, False, 5)
    seen = View(6, (state(W0, 2), state(W1), state(S0)), (place,))
    (join,) = [
        one for one in messages(arrive(worker, SCHEDULER, Welcome("w", W0, seen)))
        if isinstance(one, Join)
    ]  # fmt: skip
    assert join.shard == 0
    arrive(worker, S0, Joined(join.ticket, 9, True))
    for call, (name, number) in enumerate([("often", 8), ("never", 0), ("now and then", 3)]):
        (asked,) = messages(worker.handle(CallInit(call, name, SPEC, "v"), 0.0))
        events += arrive(worker, S0, Initialized(asked.ticket, asked.part.id, number))
    assert [one for one in events if isinstance(one, Done)] == [Done(0), Done(1)]
    (raised,) = [one for one in events if isinstance(one, Raise)]
    assert raised.call == 2 and "'now and then' has had 3 pushes of it" in raised.sentence
