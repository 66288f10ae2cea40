"""The end of a process, whatever its threads are doing: at once, with Python's status, quietly."""

from __future__ import annotations

import itertools
import time

import pytest
from endings import ENDS, WORK, run_to_the_end
from helpers import thorough

TRIES = thorough(100, 1)
ALL = list(itertools.product(WORK, ENDS))


@pytest.mark.parametrize(("work", "end"), ALL[:: thorough(1, 3)])
def test_a_process_ends(work, end):
    status = ENDS[end][1]
    for turn in range(TRIES):
        done = run_to_the_end(work, end, 0.2 + 0.013 * turn)
        assert done.returncode == status, (turn, done.stderr)
        assert float(done.stdout) <= time.time()
        noise = done.stderr.splitlines()
        told = [line for line in noise if line.startswith(("Value", "Keyboard"))]
        if status in (1, -2):
            assert told == noise[-1:], done.stderr
        else:
            assert not noise, done.stderr
