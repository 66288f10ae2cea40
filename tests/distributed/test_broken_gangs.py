"""What becomes of a gang when one of its processes is gone: real processes, and SIGKILL."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
from pathlib import Path

import pytest
from gangs import await_end, await_line, free_port, start_gang

from hybridnet.base.errors import MXNetError
from hybridnet.distributed import EXIT_CODE
from hybridnet.distributed.coordination import connect
from hybridnet.distributed.membership import Membership

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
@pytest.mark.slow
@pytest.mark.parametrize(("work", "dead"), [("in a call", 1), ("in its own work", 0)])
def test_when_a_process_is_killed_the_others_say_so_and_end(work, dead):
    script = textwrap.dedent(_BEGINS) + textwrap.dedent(_GOES_ON[work].format(dead=dead))
    gang = start_gang(script, 2)
    try:
        for process in gang:
            await_line(process, "begun")
        gang[dead].send_signal(signal.SIGKILL)
    finally:
        ended = await_end(gang)
    survivor = ended[1 - dead]
    assert ended[dead].status == -signal.SIGKILL
    assert survivor.status == EXIT_CODE, survivor.err
    assert f"rank {dead} (" in survivor.err and "is gone" in survivor.err
    if work == "in a call":
        assert "LostPeerError" in survivor.err
    else:
        assert survivor.out == "told\n"


def relay_of(process):
    """Returns the number of the process that rank 0 has started to keep the connections."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (found,) = (
        int(child)
        for child in children
        if b"hybridnet.distributed.relay" in Path(f"/proc/{child}/cmdline").read_bytes()
    )
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize(
    ("number", "said"),
    [(signal.SIGKILL, ""), (signal.SIGSEGV, "  | Fatal Python error: Segmentation fault")],
)
def test_when_the_process_that_keeps_the_connections_dies_rank_0_says_how(number, said):
    script = textwrap.dedent(_BEGINS) + textwrap.dedent(
        """
        while True:
            dist.all_reduce(nd.ones((1000,))).wait_to_read()
        """
    )
    gang = start_gang(script, 2, PYTHONFAULTHANDLER="1")
    try:
        for process in gang:
            await_line(process, "begun")
        os.kill(relay_of(gang[0]), number)
    finally:
        ended = await_end(gang)
    for one in ended:
        assert one.status == EXIT_CODE, one.err
        assert "that keeps it has ended); start all again" in one.err
    assert f"Of that process: it was ended by {number.name}" in ended[0].err
    assert said in ended[0].err
    assert "Of that process: rank 0 says how" in ended[1].err


def test_a_process_for_the_connections_that_cannot_begin_says_why(tmp_path, monkeypatch):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'no such library' >&2\nexit 3\n")
    broken.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(broken))
    said = r"the process for it: its status is 3; it said:\n  \| no such library"
    with pytest.raises(MXNetError, match=said):
        connect(Membership(f"127.0.0.1:{free_port()}", 2, 0), 20.0, "127.0.0.1")


@pytest.mark.slow
def test_processes_must_make_the_same_calls():
    script = """
        from hybridnet import distributed as dist, nd
        dist.initialize()
        dist.all_reduce(nd.ones((2,))).wait_to_read()
        dist.all_reduce(nd.ones((2 + dist.rank(), 3))).wait_to_read()
    """
    for ended in await_end(start_gang(script, 2)):
        assert ended.status == EXIT_CODE
        assert (
            "call 2 is all_reduce(sum) of float32[2,3] in rank 0 and all_reduce(sum) of "
            "float32[3,3] in rank 1" in ended.err
        )


@pytest.mark.slow
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
    for ended in await_end(start_gang(script, 2)):
        assert ended.status == EXIT_CODE
        assert (
            "call 2 is the gradient of broadcast(root=0): reduce(root=0) of float32[2] in rank 0 "
            "and all_reduce(sum) of float32[2] in rank 1" in ended.err
        )


@pytest.mark.slow
def test_a_process_that_ends_early_breaks_the_gang():
    script = """
        from hybridnet import distributed as dist, nd
        dist.initialize()
        if dist.rank() == 1:
            raise ValueError("meant")
        dist.all_reduce(nd.ones((2,))).wait_to_read()
    """
    first, second = await_end(start_gang(script, 2))
    assert second.status == 1 and "ValueError: meant" in second.err
    assert first.status == EXIT_CODE, first.err
    assert "rank 1 (" in first.err and "has failed: ValueError: meant" in first.err


@pytest.mark.slow
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
    ended = await_end(gang)[0]
    assert ended.status == 0, ended.err
    assert "rank 0 of 2 found not all others at 127.0.0.1:" in ended.out
