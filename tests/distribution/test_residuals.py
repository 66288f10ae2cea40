"""What 2-bit compression has left to send, when a worker is killed between any two lines."""

import pytest

from hybridnet.kvstore.drivers.residuals import Residuals

SIZE = 5


def pushed(residuals, pushes):
    """Compresses a push: its rest is that of before and its number."""
    rest = residuals.begin(0, SIZE, pushes)
    rest += pushes + 1
    residuals.commit(0, pushes + 1)
    return rest[0]


@pytest.mark.parametrize("in_files", [True, False])
def test_a_rest_is_added_to_the_next_push(tmp_path, in_files):
    residuals = Residuals(tmp_path if in_files else tmp_path / "none", 1)
    assert [pushed(residuals, number) for number in range(4)] == [1, 3, 6, 10]
    residuals.close()
    assert not list(tmp_path.iterdir())


def test_a_process_in_place_of_a_killed_one_goes_on_with_its_rest(tmp_path):
    """Its predecessor had made three pushes, and died in the fourth; so does this one."""
    first = Residuals(tmp_path, 1)
    assert [pushed(first, number) for number in range(3)] == [1, 3, 6]
    first.begin(0, SIZE, 3)[:] = 77  # killed before it was put down
    second = Residuals(tmp_path, 1)
    assert pushed(second, 3) == 10
    third = Residuals(tmp_path, 1)
    assert pushed(third, 3) == 10  # once more, from the same rest
    assert pushed(third, 4) == 15


def test_the_step_that_a_process_died_in_is_compressed_as_before(tmp_path):
    first = Residuals(tmp_path, 1)
    assert [pushed(first, number) for number in range(3)] == [1, 3, 6]
    for _ in range(2):  # push 3 does not count yet
        later = Residuals(tmp_path, 1)
        assert pushed(later, 2) == 6
    assert pushed(later, 3) == 10


def test_a_rest_that_is_lost_is_told(tmp_path, capfd):
    residuals = Residuals(tmp_path, 1)
    assert pushed(residuals, 7) == 8
    assert "key number 0 died with the worker 1" in capfd.readouterr().err
