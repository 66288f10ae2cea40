"""Modules that are loaded when first used."""

import subprocess
import sys

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
