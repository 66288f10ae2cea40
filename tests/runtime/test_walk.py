"""The way of a launch: how many calls of Python it takes, and that it goes downwards only."""

import sys
from pathlib import Path

import pytest
from helpers import settle

import hybridnet as hn
from hybridnet import nd
from hybridnet.runtime.programs.program import Program

pytestmark = pytest.mark.optimized

_HOUSE = Path(hn.__file__).parent
_MOST = 50


def calls_of(function):
    """Returns (depth, file, name) of each call of hybridnet's own functions."""
    found, depth = [], 0

    def note(frame, event, _):
        nonlocal depth
        code = frame.f_code
        if not Path(code.co_filename).is_relative_to(_HOUSE):
            return
        if event == "call":
            found.append((depth, code.co_filename, code.co_qualname))
            depth += 1
        elif event == "return":
            depth -= 1

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found


@pytest.fixture
def walk(monkeypatch):
    monkeypatch.setenv("HYBRIDNET_HOST", "off")
    a, b = nd.ones((64, 64)), nd.ones((64, 64))

    def step():
        nd.relu(a + b).wait_to_read()

    for _ in range(40):
        step()
        settle()
    step()
    found = calls_of(step)
    assert any(name == Program.run.__qualname__ for _, _, name in found)  # it is one program
    return found


def test_a_launch_of_a_compiled_program_takes_few_calls(walk):
    lines = [f"{'  ' * depth}{name}" for depth, _, name in walk]
    assert len(walk) <= _MOST, "\n".join(lines)


def test_a_launch_does_not_come_back_to_a_file_that_it_left(walk):
    path = []
    for depth, file, name in walk:
        del path[depth:]
        path.append(file)
        left = path[: len(path) - 1]
        while left and left[-1] == file:  # functions of one file call each other
            left.pop()
        assert file not in left, f"{name} is called from below: {[Path(one).name for one in path]}"
