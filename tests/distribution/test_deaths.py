"""Processes of a job die, several of them and a moment apart: the weights are those of a quiet run.

What is drawn: what the workers train, how the job is launched, who dies, when, and how far apart.
"""

from __future__ import annotations

import functools
import json
import os
import random
import signal
import threading
from itertools import product
from pathlib import Path

import pytest
from helpers import thorough
from launched import popen

pytest.importorskip("zmq")

SCRIPT = Path(__file__).parents[1] / "support" / "trained.py"
STEPS = 40
#: One order of additions, so that runs can be compared.
ENVIRON = {"HYBRIDNET_HOST": "only"}
OPTIONS = (
    {},
    {"rates": True},
    {"rows": True},
    {"compressed": True},
    {"adam": True, "rates": True},
    {"named": True},
    {"several": True, "rates": True},
    {"several": True, "named": True},
)
SWITCHES = (("-s", 2), ("-s", 2), ("-s", 1), ("-s", 3), ("-s", 2, "--standby"), ("-s", 2, "--p3"))


def process_of(launcher: int, role: str, rank: int) -> int | None:
    """The newest process of this name among the children of a launcher."""
    wanted = {f"DMLC_ROLE={role}".encode(), f"HYBRIDNET_DIST_RANK={rank}".encode()}
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((one / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == launcher and wanted <= {*(one / "environ").read_bytes().split(b"\0")}:
                found.append(int(one.name))
        except OSError:
            continue
    return max(found, default=None)


def run(options, switches, deaths=(), at=0):
    """Trains; returns the status, what the workers have at their ends, and what was said.

    Args:
        options: of the script.
        switches: of the launcher.
        deaths: by (seconds after the one before, role, rank).
        at: the step at which the first of them counts from.
    """
    running = popen(
        SCRIPT, "-n", 2, "--restarts", 9, *switches, environ=ENVIRON,
        arguments=(STEPS, json.dumps(options)),
    )  # fmt: skip
    said: list[str] = []
    reached, ended = threading.Event(), threading.Event()

    def read(stream):
        for line in stream:
            said.append(line.rstrip())
            if line == f"step {at}\n":
                reached.set()

    readers = [threading.Thread(target=read, args=(one,)) for one in (running.stdout,
                                                                     running.stderr)]  # fmt: skip
    for one in readers:
        one.start()
    try:
        if deaths:
            assert reached.wait(60), said
        for apart, role, rank in deaths:
            ended.wait(apart)
            process = process_of(running.pid, role, rank)
            if process is not None:
                os.kill(process, signal.SIGKILL)
        status = running.wait(120)
    finally:
        running.kill()
        running.wait()
        for one in readers:
            one.join()
        running.stdout.close()
        running.stderr.close()
    return status, sorted(line for line in said if line.startswith("weights")), said


@functools.cache
def quiet(options, switches):
    """What the workers have when nothing dies."""
    status, weights, said = run(json.loads(options), switches)
    assert status == 0, said
    assert len(weights) == 2, said
    assert weights[0].split()[2] == weights[1].split()[2]
    return weights


def drawn(seed):
    """Draws what is trained, how, and who dies."""
    rnd = random.Random(seed)
    options, switches = OPTIONS[seed % len(OPTIONS)], rnd.choice(SWITCHES)
    servers = [("server", rank) for rank in range(switches[1])]
    everybody = [("worker", 0), ("worker", 1), *servers, *servers, ("scheduler", 0)]
    apart = rnd.choice((0.0, 0.05, 0.3, 1.0))
    deaths = [
        (apart * rnd.random() * 2, *rnd.choice(everybody)) for _ in range(rnd.choice((2, 2, 3, 5)))
    ]
    return options, switches, deaths, rnd.randrange(3, STEPS - 10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", thorough(range(200), (2, 7)))
def test_the_weights_are_those_of_a_quiet_run(seed):
    options, switches, deaths, at = drawn(seed)
    status, weights, said = run(options, switches, deaths, at)
    what = [options, switches, deaths, at, *said]
    assert status == 0, what
    assert weights == quiet(json.dumps(options), switches), what


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "dead"),
    thorough(
        [*product(["sgd", "adam", "named"], [[0], [1], [0, 1]])],
        [("sgd", [1]), ("named", [0, 1])],
    ),
)
def test_a_step_that_begins_with_another_rate_is_the_one_that_is_done_again(kind, dead):
    """A worker that was started again has changed the rate before its trainer sends anything."""
    options = {"rates": True, kind: True}
    for step in thorough((15, 16, 20, 25), (15,)):
        status, weights, said = run({**options, "dies": [step, *dead]}, ("-s", 2))
        assert status == 0, said
        assert weights == quiet(json.dumps(options), ("-s", 2)), [step, *said]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dead", "halfway"),
    thorough(
        [*product([[0], [1], [0, 1]], [False, True])],
        [([1], False), ([0, 1], True)],
    ),
)
def test_a_worker_that_trains_two_networks_goes_on_with_both(dead, halfway):
    """Each has its optimizer and its rate, whichever was made and trained first."""
    options = {"several": True, "rates": True, "named": True}
    for step in thorough((14, 15, 18, 20), (15,)):
        died = {**options, "dies": [step, *dead], "halfway": halfway}
        status, weights, said = run(died, ("-s", 2))
        assert status == 0, said
        assert weights == quiet(json.dumps(options), ("-s", 2)), [step, *said]


@pytest.mark.slow
@pytest.mark.parametrize("role", ["server", "scheduler"])
def test_a_server_that_is_started_again_has_the_optimizers_of_all_stores(role):
    options = {"several": True, "rates": True, "named": True}
    status, weights, said = run(options, ("-s", 2), [(0.0, role, 0)], 16)
    assert status == 0, said
    assert weights == quiet(json.dumps(options), ("-s", 2)), said


@pytest.mark.slow
def test_a_server_dies_and_before_it_is_back_a_worker_does():
    """Parts stand at two rounds then; the step is done again from the first of them."""
    deaths = [(0.0, "server", 0), (0.3, "worker", 1)]
    for _ in range(thorough(20, 2)):
        status, weights, said = run({}, ("-s", 2), deaths, 10)
        assert status == 0, said
        assert weights == quiet("{}", ("-s", 2)), said
