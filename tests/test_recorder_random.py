"""Random eager programs give the same however they are run, and what NumPy gives in float64."""

from __future__ import annotations

import pytest
from eager_programs import compare, make_program, run_ours, run_reference
from helpers import naive

from hybridnet import nd
from hybridnet.runtime import launch, programs, recorder


@pytest.fixture
def cold(monkeypatch):
    """Structures run instruction by instruction, always."""
    monkeypatch.setattr(programs, "_WHOLE_SHARE", 1e9)
    monkeypatch.setattr(programs, "_WARM", 1 << 30)


@pytest.fixture
def hot(monkeypatch):
    """Structures are compiled as a whole, always; gives the cache, which is empty."""
    cache = programs.ProgramCache()
    monkeypatch.setattr(launch, "cache", cache)
    monkeypatch.setattr(programs, "_WHOLE_SHARE", -1)
    return cache


def check(seeds, length=30):
    """Runs the programs of these seeds, and compares."""
    for seed in seeds:
        program = make_program(seed, length)
        compare(run_ours(program), run_reference(program), program)


@pytest.mark.parametrize("block", range(5))
def test_step_by_step(cold, block):
    check(range(40 * block, 40 * block + 40))


@pytest.mark.parametrize("block", range(5))
def test_naive(block):
    with naive():
        check(range(40 * block, 40 * block + 40))


@pytest.mark.parametrize("block", range(3))
def test_compiled(hot, block):
    check(range(1000 + 8 * block, 1000 + 8 * block + 8))
    assert hot.statistics().cold == 0


def test_cut_anywhere(cold, monkeypatch):
    for limit in (1, 3, 7):
        recorder.flush()
        monkeypatch.setattr(recorder.thread, "limit", limit)
        check(range(10))


def test_once_cold_then_hot():
    for seed in range(2000, 2006):
        program = make_program(seed, 15)
        wanted = run_reference(program)
        for _ in range(3):
            compare(run_ours(program), wanted, program)
            nd.waitall()


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_many_programs(block):
    check(range(5000 + 100 * block, 5000 + 100 * block + 100))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(5))
def test_many_programs_compiled(hot, block):
    check(range(9000 + 40 * block, 9000 + 40 * block + 40))


@pytest.mark.slow
def test_long_programs():
    for seed in range(60):
        program = make_program(20000 + seed, 150)
        wanted = run_reference(program)
        for _ in range(3):
            compare(run_ours(program), wanted, program)
