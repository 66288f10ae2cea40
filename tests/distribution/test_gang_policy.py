"""What is done when a process of a gang ends: decisions only; and gangs that are launched."""

import pytest
from launched import launch, script

from hybridnet import distributed
from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.run_token import RunToken
from hybridnet.kvstore.supervise.gang_policy import ASKS_TO_RESTART, GangPolicy
from hybridnet.kvstore.supervise.job import Job
from hybridnet.kvstore.supervise.words import (
    Conclude,
    Elapsed,
    Ended,
    Interrupted,
    Kill,
    Start,
    Tell,
)


def made(**more):
    cluster = Cluster(port=1, workers=2, servers=0, token=RunToken(bytes(32)))
    plans = Job(("train",), cluster).plans()
    assert [plan.title for plan in plans] == ["worker 0", "worker 1"]
    policy = GangPolicy(plans, **more)
    assert policy.start() == [Start(plan) for plan in plans]
    return policy, plans


def test_a_gang_that_ends_well():
    policy, (first, second) = made()
    assert policy.handle(Ended(first, 0), 1.0) == []
    assert policy.handle(Ended(second, 0), 1.0) == [Conclude(0)]


def test_one_is_lost_and_all_begin_again():
    policy, (first, second) = made(restarts=1)
    lost = Ended(second, -9)
    told, kill = policy.handle(lost, 1.0)
    assert told.line.endswith("all are started again") and told == Tell(told.line, lost, True)
    assert kill == Kill(first, 15)
    assert policy.handle(Elapsed(), 6.0) == [Tell("worker 0 does not end; killed"), Kill(first, 9)]
    starts = policy.handle(Ended(first, -9), 6.1)
    assert [start.plan.title for start in starts] == ["worker 0", "worker 1"]
    assert {start.plan.environment["DMLC_NUM_ATTEMPT"] for start in starts} == {"1"}
    # That was the last time.
    again, other = (start.plan for start in starts)
    (told,) = policy.handle(Ended(again, -9), 7.0)
    assert told.line == "worker 0 was killed by signal 9 (SIGKILL) and is not started again"
    told, concluded = policy.handle(Ended(other, ASKS_TO_RESTART), 8.0)
    assert concluded == Conclude(137)


@pytest.mark.parametrize("code", [-9, ASKS_TO_RESTART])
def test_who_asks_to_begin_again_may_be_seen_before_who_is_lost(code):
    policy, (first, second) = made()
    (told,) = policy.handle(Ended(first, ASKS_TO_RESTART), 1.0)
    assert told.line.endswith("all are started again") and policy.next_time == 13.0
    told, *starts = policy.handle(Ended(second, code), 1.5)
    assert [start.plan.generation for start in starts] == [1, 1]
    assert policy.next_time is None


def test_who_asks_to_begin_again_may_be_seen_before_who_fails_by_itself():
    policy, (first, second) = made()
    policy.handle(Ended(first, ASKS_TO_RESTART), 1.0)
    told, concluded = policy.handle(Ended(second, 3), 1.5)
    assert told.line == "worker 1 failed with status 3: none is started again"
    assert concluded == Conclude(3)


def test_who_asks_to_begin_again_waits_for_others_no_longer_than_that():
    policy, (first, second) = made(patience=12.0)
    policy.handle(Ended(first, ASKS_TO_RESTART), 1.0)
    assert policy.handle(Elapsed(), 13.0) == [Kill(second, 15)]
    starts = policy.handle(Ended(second, -15), 13.1)
    assert [start.plan.generation for start in starts] == [1, 1]


def test_one_that_fails_by_itself_ends_the_job():
    policy, (first, second) = made(patience=12.0)
    policy.handle(Ended(first, 1), 1.0)
    assert policy.next_time == 13.0
    assert policy.handle(Elapsed(), 13.0) == [Kill(second, 15)]
    assert policy.handle(Ended(second, -15), 13.5) == [Conclude(1)]


def test_ctrl_c_ends_all():
    policy, (first, second) = made()
    assert policy.handle(Interrupted(2), 1.0) == [Kill(first, 15), Kill(second, 15)]
    policy.handle(Ended(first, -15), 1.1)
    assert policy.handle(Ended(second, -15), 1.1) == [Conclude(130)]


def test_the_status_is_that_of_gangs():
    assert ASKS_TO_RESTART == distributed.EXIT_CODE


@pytest.mark.slow
def test_a_gang_is_launched_and_begins_again_when_one_is_killed(tmp_path):
    path = script(
        tmp_path,
        """
    attempt = os.environ["DMLC_NUM_ATTEMPT"]
    hn.distributed.initialize()
    total = hn.distributed.all_reduce(hn.nd.array([hn.distributed.rank() + 1.0]))
    if attempt == "0" and hn.distributed.rank() == 1:
        total.wait_to_read()
        os.kill(os.getpid(), 9)
    if attempt == "0":
        hn.distributed.barrier()
    say(attempt, float(total.asscalar()))
    """,
    )
    code, lines, error = launch(path, "-n", 2, "-s", 0)
    # (Gloo writes lines of its own, in pieces, among which the others' may come.)
    assert code == 0 and sum(line.endswith("1 3.0") for line in lines) == 2, error
    assert "worker 1 was killed by signal 9 (SIGKILL); all are started again" in error


def test_a_process_that_cannot_begin_ends_the_gang():
    policy, (first, second) = made()
    lost = Ended(second, 4, "worker 1 cannot be started: no room")
    assert policy.handle(lost, 1.0) == [Tell(lost.why, lost), Kill(first, 15)]
    assert policy.handle(Ended(first, -15), 1.1) == [Conclude(4)]
