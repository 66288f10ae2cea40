"""Random programs over the whole library give the same on NumPy arrays, by XLA, and mixed."""

import pytest
from helpers import thorough
from wide_programs import WAYS, check, make_program


@pytest.mark.slow
@pytest.mark.parametrize("block", range(3))
def test_tiers_agree_whatever_is_called(block):
    for seed in range(block, block + 3 * thorough(5000, 4), 3):
        program = make_program(seed)
        for way in WAYS:
            if way != "XLA" or seed % 12 == 0:  # each operator is compiled
                check(program, way)


def test_a_program_of_a_seed_is_the_same_again():
    assert make_program(3).lines == make_program(3).lines
