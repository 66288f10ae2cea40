"""Modules that are loaded when first used."""

import subprocess
import sys

import numpy as np
import pytest

_COMPILES = """
import logging
logging.basicConfig(level=logging.DEBUG, format="%(name)s %(message)s")
if {level}:
    logging.getLogger("jax").setLevel({level})
from hybridnet import nd
with __import__("hybridnet").engine.naive():
    nd.relu(nd.ones((2,)) + 1).asnumpy()
from hybridnet.base.lazy import jax
jax.jit(lambda x: x + 1)(1)
logging.info("mine")
"""


@pytest.mark.parametrize("level,lines", [(0, False), (10, True)])
def test_jax_logs_no_steps_unless_it_is_told_to(level, lines):
    """As when a script of MXNet's sets the root logger to DEBUG."""
    code = _COMPILES.format(level=level)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said = done.stderr.splitlines()
    assert "root mine" in said
    assert any(line.startswith("jax.") for line in said) is lines


def test_loading_jax_draws_none_of_numpys_random_numbers():
    """A seeded program draws the same whenever, and in whatever thread, JAX is loaded."""
    code = (
        "import numpy, sys; rand = numpy.random.rand; numpy.random.seed(0); numpy.random.rand()\n"
        "from hybridnet.base.lazy import jax; jax.numpy\n"
        "assert numpy.random.rand is rand\n"
        "print(numpy.random.rand())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wanted = np.random.RandomState(0)
    wanted.rand()
    assert float(done.stdout) == wanted.rand()
