"""Random eager programs give the same however they are run, and what NumPy gives in float64."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from eager_maker import Program, make_program
from eager_programs import check_stepwise, check_whole, short_segments, step_by_step
from eager_runs import before_jax, compare, compare_exactly, run_ours, run_reference
from helpers import naive, settle, thorough


@pytest.fixture(autouse=True)
def exactly(request, monkeypatch):
    """Most compare bit by bit, and NumPy and XLA round differently."""
    if "tiers" not in request.node.name:
        monkeypatch.setenv("HYBRIDNET_HOST", "off")


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_however_they_are_run(block):
    for seed in range(50 * block, 50 * block + thorough(50, 3)):
        check_stepwise(make_program(seed), 4 + seed % 60)


def test_a_remainder_by_zero_is_zero_here_and_in_the_reference():
    steps = [("constant", "a", (3,), "int32", 1), ("loop", 2, [("scalar", "b", "%", "a", 7)])]
    program = Program(steps, dict.fromkeys("ab", ((3,), "int32", 0)))
    assert check_stepwise(program, 4).arrays[1].tolist() == [0, 0, 0]


@pytest.mark.slow
def test_cut_anywhere():
    for limit in (1, 3, 7):
        for seed in range(8):
            check_stepwise(make_program(seed), limit)


@pytest.mark.slow
def test_two_threads():
    """Each runs programs on arrays of its own, and hands some to a third thread."""
    seeds = {k: range(3000 + 15 * k, 3000 + 15 * k + thorough(15, 5)) for k in range(2)}
    found: dict[int, Any] = {}

    def program_of(seed):
        # All threads draw from one generator, and which goes first is not defined.
        return make_program(seed, draws=False)

    def run(number):
        try:
            found[number] = [run_ours(program_of(seed)) for seed in seeds[number]]
        except BaseException as error:
            found[number] = error

    with naive():
        wanted = {k: [run_ours(program_of(seed)) for seed in v] for k, v in seeds.items()}
    with step_by_step():
        threads = [threading.Thread(target=run, args=(number,)) for number in seeds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for number, outcomes in wanted.items():
        assert not isinstance(found[number], BaseException), found[number]
        for seed, got, one in zip(seeds[number], found[number], outcomes, strict=True):
            compare_exactly(got, one, program_of(seed))


@pytest.mark.slow
def test_many_programs():
    for seed in range(5000, 5000 + thorough(20_000, 10)):
        program = make_program(seed)
        wanted = check_stepwise(program, 4 + seed % 60)
        if seed % 100 == 0:
            check_whole(program, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_tiers_agree(block, monkeypatch):
    """On NumPy arrays alone, by XLA alone, mixed, before JAX is there, and operator by operator."""
    for seed in range(7000 + block, 7000 + block + 4 * thorough(5_000, 5), 4):
        program = make_program(seed)
        monkeypatch.setenv("HYBRIDNET_HOST", "only")
        with naive():
            wanted = run_ours(program)
        compare(wanted, run_reference(program, wanted.draws), program)
        outcomes = [run_ours(program)]
        monkeypatch.setenv("HYBRIDNET_HOST", "auto")
        outcomes += [run_ours(program) for _ in range(3)]
        with before_jax():
            outcomes += [run_ours(program) for _ in range(2)]
        if seed % 16 < 4:  # each operator is compiled
            monkeypatch.setenv("HYBRIDNET_HOST", "off")
            with step_by_step():
                outcomes.append(run_ours(program))
        for got in outcomes:
            assert got.errors == wanted.errors, program
            assert [x.dtype for x in got.arrays] == [x.dtype for x in wanted.arrays], program
            compare(got, wanted, program)


@pytest.mark.slow
def test_long_programs():
    for seed in range(thorough(30, 2)):
        program = make_program(20000 + seed, 150)
        wanted = check_stepwise(program, 50)
        for _ in range(3):
            compare(run_ours(program), wanted, program)


@pytest.mark.slow
def test_short_segments_of_compiled_programs():
    for seed in range(30000, 30000 + thorough(10, 4)):
        program = make_program(seed)
        with naive():
            wanted = run_ours(program)
        with short_segments(30):
            compare(run_ours(program), wanted, program)


# As users have them: last, since the tests above share what they have compiled in a hurry.


@pytest.mark.slow
@pytest.mark.optimized
@pytest.mark.parametrize("block", range(3))
def test_compiled_and_from_disk(block):
    for seed in range(1000 + 3 * block, 1000 + 3 * block + 2):
        program = make_program(seed, 20)
        check_whole(program, check_stepwise(program, 20))


@pytest.mark.slow
@pytest.mark.optimized
def test_cold_then_warm_then_hot():
    for seed in range(2000, 2004):
        program = make_program(seed, 15)
        with naive():
            wanted = run_ours(program)
        compare(wanted, run_reference(program, wanted.draws), program)
        for _ in range(4):
            got = run_ours(program)
            assert got.errors == wanted.errors
            compare(got, wanted, program)
            settle()
