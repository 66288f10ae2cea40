"""LeNet's first steps against MXNet 1.9.1, each of the three ways, from the same weights."""

import json

import numpy as np
import pytest
from helpers import settle
from places import ORACLE, ROOT

from hybridnet import cpu, nd
from hybridnet.lenet import Bound, Eager, Settings, Traced
from hybridnet.runtime.programs.cache import cache

pytestmark = pytest.mark.optimized

FOLDER = ROOT / "hybridnet" / "data" / "mnist-5k"
ANSWERS = json.loads((ORACLE / "lenet_losses.json").read_text())
WAYS = (Eager, Bound, Traced)


def load_setup():
    """The setup module that the oracle's script used too."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("lenet_setup", ORACLE / "lenet_setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SETUP = load_setup()


@pytest.fixture(scope="module")
def digits():
    return SETUP.digits(FOLDER, "train")


def run(way, digits, steps):
    losses = []
    for step in range(steps):
        data, label = SETUP.batch(*digits, step)
        losses.append(float(way.step(nd.array(data), nd.array(label)).mean().asscalar()))
    return losses


@pytest.mark.slow
@pytest.mark.parametrize("kind", WAYS)
def test_losses_are_those_of_mxnet(kind, digits):
    settings = Settings(SETUP.BATCH_SIZE, SETUP.LEARNING_RATE, cpu(), SETUP.WEIGHT_DECAY)
    way = kind(SETUP.initial_weights(), settings)
    losses = run(way, digits, len(ANSWERS["losses"]))
    np.testing.assert_allclose(losses, ANSWERS["losses"], rtol=1e-4)
    for name, norm in ANSWERS["norms"].items():
        ours = np.linalg.norm(way.weights()[name].asnumpy().astype(np.float64))
        np.testing.assert_allclose(ours, norm, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("kind", WAYS)
def test_a_training_step_is_one_program(kind, digits):
    """Forward, backward and update, however written, are one dispatch once compiled."""
    settings = Settings(SETUP.BATCH_SIZE, SETUP.LEARNING_RATE, cpu())
    way = kind(SETUP.initial_weights(), settings)
    data, label = (nd.array(one) for one in SETUP.batch(*digits, 0))
    for _ in range(3):
        way.step(data, label)
        settle()
    before = cache.statistics()
    for _ in range(4):
        way.step(data, label)
    nd.waitall()
    after = cache.statistics()
    assert after.hot - before.hot == 4
    assert after.cold == before.cold
    assert after.compilations == before.compilations
