"""Modules that are loaded when first used."""

import os
import subprocess
import sys

import numpy as np
import pytest
from helpers import run_script

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


@pytest.mark.slow
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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_until_no_other_thread_imports(tmp_path):
    """Else the module would be locked for ever in the child, which does not have that thread."""
    (tmp_path / "slow.py").write_text(
        "import gate\ngate.begun.set()\nwhile gate.imports._forking is None: pass\nvalue = 7\n"
    )
    out = run_script(
        f"""
        import faulthandler, os, sys, threading, types, warnings
        from hybridnet.base import lazy

        warnings.simplefilter("ignore")  # Python's, of a fork beside threads
        sys.path.insert(0, {str(tmp_path)!r})
        begun = threading.Event()
        sys.modules["gate"] = types.SimpleNamespace(begun=begun, imports=lazy._imports)
        thread = threading.Thread(target=lambda: lazy._LazyModule("slow").value)
        thread.start()
        begun.wait()
        number = os.fork()
        if number == 0:
            faulthandler.dump_traceback_later(60, exit=True)
            os._exit(lazy._LazyModule("slow").value)
        print(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]))
        thread.join()
        """
    )
    assert out == "7\n"
