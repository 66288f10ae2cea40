"""What becomes of a gang when one of its processes is gone: real processes, and SIGKILL."""

from __future__ import annotations

import signal
import textwrap

import pytest
from gangs import await_end, await_line, start_gang

from hybridnet.distributed import EXIT_CODE

# Each says when it has begun; then one of them is killed, and the others go on.
_BEGINS = """
    import os, signal, sys
    import hybridnet as hn
    from hybridnet import distributed as dist, nd
    dist.initialize()
    me = dist.rank()
    assert dist.all_reduce(nd.array([1.0])).asscalar() == 2
    print("begun", flush=True)
"""
_GOES_ON = {
    "in a call": """
        while me != {dead}:
            dist.all_reduce(nd.ones((1000,))).wait_to_read()
        signal.pause()
        """,
    "in its own work": """
        import time
        if me == {dead}:
            signal.pause()
        x, until = nd.ones((100, 100)), time.monotonic() + 60
        while dist.gang.current().broken is None and time.monotonic() < until:
            (nd.dot(x, x) * 0.01).wait_to_read()
        try:
            dist.all_reduce(x).wait_to_read()
        except dist.DeadNodeError:
            print("told", flush=True)
            sys.exit(0)  # whatever it says, the gang is broken
        """,
}


# (Rank 0 in its own work, where nobody would hear of it by a call that fails.)
@pytest.mark.parametrize(("work", "dead"), [("in a call", 1), ("in its own work", 0)])
def test_when_a_process_is_killed_the_others_say_so_and_end(work, dead):
    script = textwrap.dedent(_BEGINS) + textwrap.dedent(_GOES_ON[work].format(dead=dead))
    gang = start_gang(script, 2)
    try:
        for process in gang:
            await_line(process, "begun")
        gang[dead].send_signal(signal.SIGKILL)
    finally:
        ended = await_end(gang, 30)
    survivor = ended[1 - dead]
    assert ended[dead].status == -signal.SIGKILL
    assert survivor.status == EXIT_CODE, survivor.err
    assert f"rank {dead} (" in survivor.err and "is gone" in survivor.err
    if work == "in a call":
        assert "LostPeerError" in survivor.err
    else:
        assert survivor.out == "told\n"


def test_processes_must_make_the_same_calls():
    script = """
        from hybridnet import distributed as dist, nd
        dist.initialize()
        dist.all_reduce(nd.ones((2,))).wait_to_read()
        dist.all_reduce(nd.ones((2 + dist.rank(), 3))).wait_to_read()
    """
    for ended in await_end(start_gang(script, 2), 30):
        assert ended.status == EXIT_CODE
        assert (
            "call 2 is all_reduce(sum) of float32[2,3] in rank 0 and all_reduce(sum) of "
            "float32[3,3] in rank 1" in ended.err
        )


def test_gradients_are_wanted_by_all_or_by_none():
    script = """
        from hybridnet import autograd, distributed as dist, nd
        dist.initialize()
        x = nd.ones((2,))
        if dist.rank() == 0:
            x.attach_grad()
        with autograd.record():
            y = dist.broadcast(x) * 2
        if dist.rank() == 0:
            y.backward()
        dist.all_reduce(x).wait_to_read()
    """
    for ended in await_end(start_gang(script, 2), 30):
        assert ended.status == EXIT_CODE
        assert (
            "call 2 is the gradient of broadcast(root=0): reduce(root=0) of float32[2] in rank 0 "
            "and all_reduce(sum) of float32[2] in rank 1" in ended.err
        )


def test_a_process_that_ends_early_breaks_the_gang():
    script = """
        from hybridnet import distributed as dist, nd
        dist.initialize()
        if dist.rank() == 1:
            raise ValueError("meant")
        dist.all_reduce(nd.ones((2,))).wait_to_read()
    """
    first, second = await_end(start_gang(script, 2), 30)
    assert second.status == 1 and "ValueError: meant" in second.err
    assert first.status == EXIT_CODE, first.err
    assert "rank 1 (" in first.err and "has failed: ValueError: meant" in first.err


def test_who_does_not_find_the_others_says_so():
    script = """
        from hybridnet import distributed as dist
        try:
            dist.initialize(timeout=1)
        except Exception as error:
            print(error)
    """
    gang = start_gang(script, 2)
    gang[1].kill()
    ended = await_end(gang, 30)[0]
    assert ended.status == 0, ended.err
    assert "rank 0 of 2 found not all others at 127.0.0.1:" in ended.out
