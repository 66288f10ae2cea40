"""Processes of a gang that do not launch the same programs on a mesh are told, and end."""

from __future__ import annotations

import signal
import textwrap

import pytest
from gangs import await_end, await_line, start_gang

from hybridnet.distributed import EXIT_CODE

# Each has launched three programs, and has read what lies in parts.
_BEGINS = """
    import os, signal, sys
    import numpy as np
    import hybridnet as hn
    from hybridnet import distributed as dist, nd
    from hybridnet.parallel import join, split
    dist.initialize()
    me = dist.rank()
    mesh = hn.Mesh({"data": 4}, processes=2)
    x = join(np.ones((2, 3)), mesh, split(0))

    def double():
        return (x * 2).sum()

    def halve():
        return (x / 2).mean()

    def parts():
        y = x + 1
        y.wait_to_read()
        return y

    held = parts()
    for _ in range(2):
        assert (double().asscalar(), halve().asscalar()) == (24, 0.5)
        assert held.asnumpy().shape == (4, 3)
    print("begun", flush=True)
"""


def ended_after(script: str, seconds: float = 60) -> list[tuple[int, str]]:
    """Returns how two processes end that do the same, and then what a script says."""
    gang = start_gang(
        textwrap.dedent(_BEGINS) + textwrap.dedent(script), 2, HYBRIDNET_NUM_CPU_DEVICES="2"
    )
    return [(one.status, one.err) for one in await_end(gang, seconds)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "differ"),
    [
        pytest.param(
            "((x - 1).sum() if me else (x / 3).mean()).wait_to_read()",
            ("_div_scalar, mean on Mesh", "_minus_scalar, sum on Mesh"),
            id="new programs that differ",
        ),
        pytest.param(
            """
            if me == 0:
                print(parts().asnumpy())
            (x - 3).sum().wait_to_read()
            """,
            ("_plus_scalar on Mesh", "_minus_scalar, sum on Mesh"),
            id="read alone, of what is made alone",
        ),
        pytest.param(
            """
            if me == 1:
                print(held)
            double().wait_to_read()
            """,
            ("_mul_scalar, sum on Mesh", "_to_placement on Mesh"),
            id="read alone, as all have before",
        ),
        pytest.param(
            """
            for each in (double, halve) if me else (halve, double):
                each().wait_to_read()
            """,
            ("_div_scalar, mean on Mesh", "_mul_scalar, sum on Mesh"),
            id="programs of before, in another order",
        ),
    ],
)
def test_processes_that_launch_other_programs_are_told(script, differ):
    ended = ended_after(script)
    for status, err in ended:
        assert status == EXIT_CODE, ended
        assert "all processes must launch the same programs on their mesh" in err
        first, second = err.partition(" in rank 0 and ")[::2]
        assert differ[0] in first and differ[1] in second, err


@pytest.mark.slow
@pytest.mark.parametrize("work", ["held.asnumpy()", "(x * 7).asnumpy()"])
def test_a_process_that_reads_what_one_that_ended_does_not_is_told(work):
    first, second = ended_after(f"if me == 0: {work}")
    assert first[0] == EXIT_CODE and "rank 1 (" in first[1], first
    assert "has ended, while others still call it" in first[1]
    assert second == (0, "")


@pytest.mark.slow
def test_a_process_that_is_killed_is_named_by_the_next_launch():
    script = """
    if me:
        signal.pause()
    while dist.gang.current().broken is None:
        nd.ones((3, 3)).wait_to_read()
    try:
        double().wait_to_read()
    except dist.DeadNodeError as error:
        print("told:", error, flush=True)
    """
    gang = start_gang(
        textwrap.dedent(_BEGINS) + textwrap.dedent(script), 2, HYBRIDNET_NUM_CPU_DEVICES="2"
    )
    try:
        for process in gang:
            await_line(process, "begun")
        gang[1].send_signal(signal.SIGKILL)
    finally:
        ended = await_end(gang)
    assert ended[0].status == EXIT_CODE, ended
    assert "told: distributed: rank 1 (" in ended[0].out, ended
