"""What is done when a process of a job ends: decisions only, without processes and clock."""

import pytest

from hybridnet.kvstore.cluster import CANNOT_SERVE, Cluster
from hybridnet.kvstore.run_token import RunToken
from hybridnet.kvstore.supervise.job import Job
from hybridnet.kvstore.supervise.policy import Policy
from hybridnet.kvstore.supervise.words import (
    Conclude,
    Elapsed,
    Ended,
    Interrupted,
    Kill,
    Start,
    Tell,
    reason,
    status,
)


def made(workers=2, servers=1, **more):
    cluster = Cluster(port=1, workers=workers, servers=servers, token=RunToken(bytes(32)))
    plans = Job(("train",), cluster).plans()
    policy = Policy(plans, **more)
    assert policy.start() == [Start(plan) for plan in plans]
    return policy, {plan.title: plan for plan in plans}


def ended(plans, title, code):
    return Ended(plans[title], code)


def test_the_job_ends_when_all_workers_have():
    """Workers end with 0: the servers are asked to end, and the status is 0."""
    policy, plans = made()
    assert policy.handle(ended(plans, "worker 0", 0), 1.0) == []
    assert policy.handle(ended(plans, "worker 1", 0), 2.0) == [
        Kill(plans["the scheduler"], 15),
        Kill(plans["server 0"], 15),
    ]
    assert policy.handle(ended(plans, "server 0", 0), 2.1) == []
    assert policy.handle(ended(plans, "the scheduler", -15), 2.1) == [Conclude(0)]


def test_who_is_killed_is_started_again_with_the_next_generation():
    policy, plans = made()
    killed = ended(plans, "server 0", -9)
    told, start = policy.handle(killed, 1.0)
    assert told == Tell(
        "server 0 was killed by signal 9 (SIGKILL); started again, generation 1",
        killed,
        returns=True,
    )
    assert isinstance(start, Start) and start.plan.generation == 1
    assert start.plan.environment["DMLC_NUM_ATTEMPT"] == "1"
    assert plans["server 0"].environment["DMLC_NUM_ATTEMPT"] == "0"
    # The first one's end is told once more: nothing.
    assert policy.handle(killed, 1.1) == []


def test_a_server_that_fails_is_started_again_but_a_worker_that_fails_is_lost():
    policy, plans = made(patience=12.0)
    assert isinstance(policy.handle(ended(plans, "server 0", 1), 1.0)[1], Start)
    lost = ended(plans, "worker 1", 3)
    assert policy.handle(lost, 1.0) == [
        Tell("worker 1 failed with status 3 and is not started again", lost)
    ]
    assert policy.next_time == 13.0 and policy.handle(Elapsed(), 12.9) == []
    # The others have had their time.
    kills = policy.handle(Elapsed(), 13.0)
    assert {kill.plan.title for kill in kills} == {"the scheduler", "server 0", "worker 0"}
    assert {kill.number for kill in kills} == {15}
    for kill in kills:
        last = policy.handle(Ended(kill.plan, -15), 13.5)
    assert last == [Conclude(3)]


@pytest.mark.parametrize("title", ["server 0", "the scheduler"])
def test_what_cannot_begin_is_not_started_again_and_nobody_waits_for_it(title):
    policy, plans = made()
    failed = ended(plans, title, CANNOT_SERVE)
    told, *kills = policy.handle(failed, 1.0)
    assert told == Tell(f"{title} failed with status 4 and is not started again", failed)
    assert {kill.plan.title for kill in kills} == {*plans} - {title}
    # One that served before is tried again: its port may be taken for a moment only.
    policy, plans = made()
    _, start = policy.handle(ended(plans, title, -9), 1.0)
    assert isinstance(policy.handle(Ended(start.plan, CANNOT_SERVE), 2.0)[1], Start)


def test_no_more_than_so_many_times():
    policy, plans = made(workers=1, restarts=1)
    first = ended(plans, "worker 0", -11)
    _, start = policy.handle(first, 1.0)
    told, *kills = policy.handle(Ended(start.plan, -11), 2.0)
    assert told.line == "worker 0 was killed by signal 11 (SIGSEGV) and is not started again"
    assert not told.returns
    assert [kill.number for kill in kills] == [15, 15]  # no worker is left to wait for
    policy.handle(ended(plans, "server 0", 0), 2.1)
    assert policy.handle(ended(plans, "the scheduler", 0), 2.1) == [Conclude(139)]


@pytest.mark.parametrize("title", ["worker 1", "server 0"])
def test_who_is_killed_after_the_scheduler_has_ended_is_not_started_again(title):
    """Nobody would tell it that the run is over."""
    policy, plans = made()
    assert policy.handle(ended(plans, "worker 0", 0), 1.0) == []
    assert policy.handle(ended(plans, "the scheduler", 0), 1.0) == []
    told = policy.handle(ended(plans, title, -9), 1.1)
    if title == "worker 1":
        assert told == [Kill(plans["server 0"], 15)]
        assert policy.handle(ended(plans, "server 0", 0), 1.2) == [Conclude(0)]
    else:
        assert told == []
        assert policy.handle(ended(plans, "worker 1", 0), 1.2) == [Conclude(0)]


def test_servers_that_were_dismissed_are_not_started_again():
    policy, plans = made(workers=1)
    assert policy.handle(ended(plans, "server 0", 0), 1.0) == []
    assert policy.handle(ended(plans, "worker 0", 0), 1.0) == [Kill(plans["the scheduler"], 15)]


@pytest.mark.parametrize("number, code", [(2, 130), (15, 143)])
def test_ctrl_c_ends_all_and_then_kills(number, code):
    policy, plans = made(workers=1)
    assert [kill.number for kill in policy.handle(Interrupted(number), 1.0)] == [15, 15, 15]
    assert policy.handle(ended(plans, "worker 0", 1), 1.5) == []
    assert policy.handle(ended(plans, "server 0", 0), 1.5) == []
    assert policy.handle(Elapsed(), 5.9) == []
    scheduler = plans["the scheduler"]
    assert policy.handle(Elapsed(), 6.0) == [
        Tell("the scheduler does not end; killed"),
        Kill(scheduler, 9),
    ]
    assert policy.handle(Ended(scheduler, -9), 6.1) == [Conclude(code)]


def test_words_and_statuses():
    assert reason(-9) == "was killed by signal 9 (SIGKILL)"
    assert reason(2) == "failed with status 2"
    assert (status(7), status(-9)) == (7, 137)


@pytest.mark.parametrize("generation, status", [(0, 4), (1, 137)])
def test_what_cannot_begin_is_not_started_again(generation, status):
    """At the first start nothing has been done, and all end; later the others have their time."""
    cluster = Cluster(port=1, workers=2, servers=1, token=RunToken(bytes(32)))
    plans = Job(("train",), cluster).plans()
    policy = Policy(plans)
    policy.start()
    worker = plans[-1]
    if generation:
        worker = policy.handle(Ended(worker, -9), 1.0)[-1].plan
    why = "worker 1 cannot be started: no room"
    lost = Ended(worker, -9 if generation else 4, why)
    told, *kills = policy.handle(lost, 2.0)
    assert told == Tell(why, lost)
    assert kills == ([] if generation else [Kill(plan, 15) for plan in plans[:-1]])
    *_, last = [policy.handle(Ended(plan, 0), 3.0) for plan in reversed(plans[:-1])]
    assert last[-1] == Conclude(status)


def test_the_others_go_on_where_the_run_may_shrink():
    """Without a worker that was killed; not without one that failed by itself."""
    cluster = Cluster(port=1, workers=3, servers=1, token=RunToken(bytes(32)))
    plans = {plan.title: plan for plan in Job(("train",), cluster).plans()}
    policy = Policy(list(plans.values()), 0, shrinks=True)
    policy.start()
    (told,) = policy.handle(ended(plans, "worker 1", -9), 1.0)
    assert told.line == "worker 1 was killed by signal 9 (SIGKILL); the others go on without it"
    assert not told.returns and policy.next_time is None
    assert policy.handle(ended(plans, "worker 0", 0), 2.0) == []
    kills = policy.handle(ended(plans, "worker 2", 0), 3.0)
    assert [kill.plan.title for kill in kills] == ["the scheduler", "server 0"]
    policy.handle(ended(plans, "server 0", 0), 3.1)
    assert policy.handle(ended(plans, "the scheduler", 0), 3.1) == [Conclude(0)]
