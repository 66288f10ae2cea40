"""The way of a launch: how many calls of Python it takes, and that it goes downwards only."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import settle

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.runtime.platform.blas_threads import others
from hybridnet.runtime.programs.program import Program

pytestmark = pytest.mark.optimized

_HOUSE = Path(hn.__file__).parent
_HERE = str(Path(__file__).parent)
_MOST = 41
# Optimizers, and the most calls in a training step of a hybridized network: from Python 3.12 on,
# and on 3.11, where lists are made by calls. (The rates of Adam are other numbers in each step,
# which go to the device.)
_OPTIMIZERS = {
    "plain": ("sgd", {"learning_rate": 0.1}, 99, 130),
    "momentum": ("sgd", {"learning_rate": 0.1, "momentum": 0.9}, 102, 139),
    "adam": ("adam", {}, 107, 146),
}


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
    monkeypatch.setattr(others, "due", math.inf)  # a launch now and then looks what others compute
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


def calls_of_a_training_step(optimizer, layers, active=True):
    net = gluon.nn.HybridSequential()
    for _ in range(layers):
        net.add(gluon.nn.Dense(4, in_units=4))
    net.initialize()
    net.hybridize(active)
    loss_of = gluon.loss.L2Loss()
    loss_of.hybridize(active)
    trainer = gluon.Trainer(net.collect_params(), *_OPTIMIZERS[optimizer][:2])
    x, y = nd.ones((2, 4)), nd.zeros((2, 4))

    def step():
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(2)

    for _ in range(6):
        step()
        settle()
    others.due = math.inf
    found = calls_of(step)
    assert any(name == Program.run.__qualname__ for _, _, name in found)
    return [name for _, _, name in found]


def counted(*steps):
    """Counts the calls in a process in which one thread records, and nobody has brought devices."""
    counts = f"[len(t.calls_of_a_training_step(*step)) for step in {[*steps]}]"
    code = f"import test_walk as t; print({counts})"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:] = {[_HERE, *sys.path]!r}; {code}"],
        env={**os.environ, "HYBRIDNET_HOST": "off"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", _OPTIMIZERS)
def test_a_training_step_asks_python_for_few_calls_however_many_weights_there_are(optimizer):
    few, many = counted((optimizer, 2), (optimizer, 10))
    *_, most, most_by_calls = _OPTIMIZERS[optimizer]
    assert few <= (most if sys.version_info >= (3, 12) else most_by_calls)
    assert many == few


@pytest.mark.slow
def test_a_step_that_is_not_hybridized_asks_for_few_calls_for_each_operator():
    (count,) = counted(("plain", 2, False))
    assert count <= (189 if sys.version_info >= (3, 12) else 224)
