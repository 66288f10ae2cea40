"""Thousands of runs in which something goes wrong: nothing is lost, nothing counts twice."""

from __future__ import annotations

import pytest
from distribution.simulation.checks import first_problem, first_problem_of, story
from distribution.simulation.planted import BUGS
from helpers import thorough

#: In how many schedules a planted bug must have been found.
SOON = 40_000
#: Bugs that need a rare schedule -> the seed at which the short form begins to look.
BEGIN = {
    "a restarted worker does not say that it has passed barriers": 1_900,
    "a round without a worker is not scaled": 2_600,
    "who begins again with other settings is waited for at barriers before them": 2_700,
    "workers do not hear that a server is being started again": 3_300,
    "a standby follows a primary that was replaced": 7_500,
    "who begins again waits for those whom its predecessor was ahead of": 32_200,
    "nobody waits for who is killed at its end": 36_800,
}


@pytest.mark.slow
def test_every_schedule_ends_as_promised():
    found = first_problem_of(thorough(100_000, 1_000))
    assert found is None, "\n" + story(found[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", list(BUGS)[:: thorough(1, 2)])
def test_a_planted_bug_is_found(name):
    begin = thorough(0, BEGIN.get(name, 0))
    with BUGS[name]():
        assert first_problem(range(begin, SOON)) is not None, name


def test_a_failing_seed_is_told_and_made_smaller():
    with BUGS["answered before the standby has it"]():
        found = first_problem(range(SOON))
        assert found is not None
        text = story(found[0])
    assert text.startswith(f"seed {found[0]}: ")
    assert "server" in text
