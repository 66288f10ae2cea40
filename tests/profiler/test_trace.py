"""Traces: arrows from launches to devices, and numbers by which those of several fit together."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from hybridnet import nd, profiler
from hybridnet.profiler.spans import Span
from hybridnet.profiler.trace import trace_text

#: The largest number that Linux gives a process: /proc/sys/kernel/pid_max is at most 2**22.
LARGEST_PID = 2**22 - 1

Events = list[dict[str, Any]]


def traced(*spans: tuple[str, str, str, float, float, str]) -> Events:
    """Returns the trace of events: kind, name, row, start, duration and device of each."""
    events = [Span(*facts, {"device": device}) for *facts, device in spans]
    found: Events = json.loads(trace_text(events))["traceEvents"]
    return found


def arrows(trace: Events) -> list[tuple[str, str]]:
    """Returns what each arrow leads from and to: kinds and devices of the events around its ends.

    The format has an end belong to the innermost event of its row that is going on.
    """
    found = []
    for start, end in zip(
        (one for one in trace if one["ph"] == "s"),
        (one for one in trace if one["ph"] == "f"),
        strict=True,
    ):
        assert all(start[key] == end[key] for key in ("id", "name", "cat")) and end["bp"] == "e"
        assert start["ts"] <= end["ts"] and trace.index(start) < trace.index(end)
        around = []
        for one in (start, end):
            inside = [
                each
                for each in trace[: trace.index(one)]
                if each["ph"] == "X"
                and (each["pid"], each["tid"]) == (one["pid"], one["tid"])
                and each["ts"] <= one["ts"] < each["ts"] + each["dur"]
            ]
            around.append(
                f"{inside[-1]['cat']} {inside[-1]['args']['device']} {inside[-1]['name']}"
            )
        found.append((around[0], around[1]))
    return found


def test_an_arrow_leads_from_a_launch_to_each_device_that_worked_for_it() -> None:
    """In thread 0 two launches, the second on a mesh of two; in thread 1 one beside the first.

    0: [device a [program a] ] [device b, twice [program b] ]  [program c]
    1:   [device a  [program a] ]
    """
    trace = traced(
        ("device", "a", "0", 0.0, 10.0, "cpu(0)"),
        ("program", "a", "0", 1.0, 4.0, "cpu(0)"),
        ("device", "a", "1", 2.0, 10.0, "cpu(1)"),
        ("program", "a", "1", 3.0, 4.0, "cpu(1)"),
        ("device", "b", "0", 20.0, 10.0, "cpu(0)"),
        ("device", "b", "0", 20.0, 10.0, "cpu(1)"),
        ("program", "b", "0", 21.0, 1.0, "mesh"),
        ("program", "c", "0", 40.0, 1.0, "cpu(0)"),
    )
    assert arrows(trace) == [
        ("program cpu(0) a", "device cpu(0) a"),
        ("program cpu(1) a", "device cpu(1) a"),
        ("program mesh b", "device cpu(0) b"),
        ("program mesh b", "device cpu(1) b"),
    ]
    assert len({one["id"] for one in trace if one["ph"] == "s"}) == 4


@pytest.mark.compiled
def test_a_run_that_waits_for_programs_has_an_arrow_for_each_launch() -> None:
    x = nd.ones((3,))
    profiler.set_config(wait_for_programs=True)
    try:
        with profiler.profile():
            for _ in range(3):
                (nd.exp(x) * 3).wait_to_read()
        found = profiler.events()
    finally:
        profiler.set_config(wait_for_programs=False)
    launches = [one.name for one in found if one.kind == "program"]
    assert launches
    led = arrows(json.loads(trace_text(found))["traceEvents"])
    assert led == [(f"program cpu(0) {name}", f"device cpu(0) {name}") for name in launches]


def numbers(trace: Events) -> set[tuple[str, int]]:
    """Returns the numbers of processes, devices and arrows."""
    return {(key, one[key]) for one in trace for key in ("pid", "id") if key in one}


def test_numbers_are_of_no_other_process_and_of_no_other_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The traces of the first processes, of two neighbors, and of the last that there can be."""
    seen: set[tuple[str, int]] = set()
    for pid in (1, 2, 1000, 1001, LARGEST_PID - 1, LARGEST_PID):
        monkeypatch.setattr(os, "getpid", lambda pid=pid: pid)
        trace = traced(
            *(("device", "a", "0", 0.0, 10.0, f"gpu({number})") for number in range(8)),
            ("program", "a", "0", 1.0, 4.0, "mesh"),
        )
        mine = numbers(trace)
        assert len(mine) == 9 + 8 and not mine & seen
        devices = {number for key, number in mine if key == "pid"} - {pid}
        assert min(devices) > LARGEST_PID and max(number for _, number in mine) < 2**53
        seen |= mine
