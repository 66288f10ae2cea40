"""Each private name of JAX's that hybridnet uses is in the JAX that is installed, and works."""

import ast
from pathlib import Path

import jax
import numpy as np
import pytest
from places import ROOT

from hybridnet.base import jax_private


@pytest.mark.slow
def test_there_is_one_place_for_them():
    found = set()
    for path in (ROOT / "hybridnet").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if isinstance(node, ast.Import):
                names = [one.name for one in node.names]
            if any(name.startswith(("jax._src", "jaxlib")) for name in names):
                found.add(path.name)
    # `lazy` loads `jaxlib.xla_client`; where that lacks a name, a public function is called.
    assert found == {Path(jax_private.__file__).name, "lazy.py"}


def test_a_client_of_its_own_compiles():
    client = jax_private.cpu_client()
    (device,) = client.local_devices()
    options = jax_private.compile_options(
        device_assignment=np.zeros((1, 1), int), env_options_overrides={}, backend=client
    )
    lowered = jax.jit(lambda x: x + 1).lower(np.ones(3, np.float32))
    made = client.compile_and_load(
        lowered.compiler_ir(),
        executable_devices=jax_private.device_list(device),
        compile_options=options,
    )
    assert client.serialize_executable(made)


def test_the_modules_that_wrap_executables():
    core, stages, pxla = jax_private.executable_modules()
    assert core.ShapedArray((2, 3), np.dtype("float32")).shape == (2, 3)
    assert stages.Compiled and pxla.UnloadedMeshExecutable


def test_lapack_is_looked_up():
    jax_private.initialize_lapack()


def test_whether_jax_has_devices():
    jax.devices()
    assert jax_private.backends_have_begun()


def test_what_a_gang_needs():
    state = jax_private.gang_state()
    for name in ("client", "process_id", "num_processes", "coordinator_address"):
        assert hasattr(state, name)
    from jaxlib import _jax  # tests/distributed connects processes by these

    assert callable(_jax.get_distributed_runtime_client)
    assert callable(_jax.get_distributed_runtime_service)


def test_copies_in_host_memory_are_kept_beside_arrays():
    array = jax.device_put(np.ones(3, np.float32))
    copy = np.ones(3, np.float32)
    jax_private.keep_host_copy(array, copy)
    assert jax_private.host_copy(array) is copy
