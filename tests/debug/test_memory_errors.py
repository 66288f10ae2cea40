"""`OutOfMemoryError`: the user's lines, what is alive and what would fit, and nothing is lost."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from helpers import run_script

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import OutOfMemoryError
from hybridnet.base.memory_limits import MemoryLimit
from hybridnet.runtime.live import lack
from hybridnet.runtime.live.needs import peak_of
from hybridnet.runtime.platform import device_memory
from hybridnet.runtime.record.recorder import thread

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory")

QUIET = {"HYBRIDNET_CACHE_DIR": "off", "HYBRIDNET_ONEDNN": "0"}
BEGIN = """
    import re, resource, sys
    import jax
    import numpy as np
    import hybridnet as hn
    from hybridnet import autograd, gluon, nd, sym

    jax.jit(lambda x: x + 1)(1.0)  # its threads are there before the limit

    def limit(mebibytes):
        nd.waitall()
        status = open("/proc/self/status").read()
        used = int(re.search(r"VmSize:\\s+(\\d+)", status)[1]) * 1024
        resource.setrlimit(resource.RLIMIT_AS, (used + (mebibytes << 20),) * 2)

    def refused(call):
        try:
            call()
        except hn.base.errors.OutOfMemoryError as error:
            print(error)
            return str(error)
        raise AssertionError("there was room")
    """
WAYS = {
    "eager": """
        net = gluon.nn.Dense(1800, in_units=64)
        net.initialize()
        large = nd.ones((300_000, 64))
        limit(1400)
        def use():
            made = net(large)  # here
            made.wait_to_read()
        refused(use)
        """,
    "hybridized": """
        class Net(gluon.HybridBlock):
            def hybrid_forward(self, F, x):
                return F.tile(x, (1, 28)) + 1  # here
        net = Net()
        net.initialize()
        net.hybridize()
        small, large = nd.ones((30, 64)), nd.ones((300_000, 64))
        for _ in range(5):
            net(small).wait_to_read()
        limit(1400)
        refused(lambda: net(large).wait_to_read())
        """,
    "function": """
        @hn.function
        def run(x):
            return nd.tile(x, (1, 28)) + 1  # here
        small, large = nd.ones((30, 64)), nd.ones((300_000, 64))
        for _ in range(5):
            run(small).wait_to_read()
        limit(1400)
        refused(lambda: run(large).wait_to_read())
        """,
    "executor": """
        made = sym.tile(sym.var("data"), reps=(1, 28)) + 1  # here
        large = nd.ones((300_000, 64))
        large.wait_to_read()
        limit(1400)
        refused(lambda: made.bind(hn.cpu(), {"data": large}).forward()[0].wait_to_read())
        """,
    "module": """
        made = sym.tile(sym.var("data"), reps=(1, 28)) + 1  # here
        module = hn.mod.Module(made, label_names=None)
        module.bind([("data", (300_000, 64))], for_training=False)
        module.init_params()
        batch = hn.io.DataBatch([nd.ones((300_000, 64))])
        batch.data[0].wait_to_read()
        limit(1400)
        def use():
            module.forward(batch)
            module.get_outputs()[0].wait_to_read()
        refused(use)
        """,
}


def script_of(way):
    return textwrap.dedent(BEGIN) + textwrap.dedent(WAYS[way])


@pytest.mark.slow
@pytest.mark.parametrize("way", list(WAYS))
def test_an_error_names_the_line_of_the_operator_that_finds_no_room(way):
    script = script_of(way)
    line = 1 + [text.endswith("# here") for text in script.splitlines()].index(True)
    told = run_script(script, **QUIET)
    assert "MiB beside its inputs" in told
    assert f"at <string>:{line}" in told, told
    assert "asked for at <string>:" in told
    assert re.search(r"room: +[\d,.]+ MiB left of [\d,]+ MiB, by the limit of address space", told)
    assert re.search(r"alive: +(7|14)\d MiB in .* of <string>:\d+", told), told


# -- containers ------------------------------------------------------------------------------


@pytest.fixture
def group():
    """A control group of memory of its own, inside of that of the tests."""
    told = Path("/proc/self/cgroup").read_text(encoding="utf-8")
    old = re.search(r"(?m)^\d+:(?:[^:\n]*,)?memory(?:,[^:\n]*)?:(.*)$", told)
    new = re.search(r"(?m)^0::(.*)$", told)
    root, files = Path("/sys/fs/cgroup"), ("memory.max", "memory.swap.max")
    if old:
        place, files = root / "memory" / old[1].strip("/"), ("memory.limit_in_bytes", "")
    elif new:
        place = root / new[1].strip("/")
    else:
        pytest.skip("no control groups")
    made = place / f"hybridnet-test-{os.getpid()}"
    try:
        made.mkdir()
    except OSError:
        pytest.skip("may make no control group")
    try:
        if not (made / files[0]).exists():
            pytest.skip("control groups without memory")
        yield made, files[0]
    finally:
        with suppress(OSError):
            made.rmdir()


STEPS = """
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(256, activation="tanh"), gluon.nn.BatchNorm(), gluon.nn.Dense(4))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    def step(x):
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trainer.step(x.shape[0])
        return loss
    small, large = nd.ones((32, 64)), nd.ones((400_000, 64))
    for _ in range(4):
        step(small).asnumpy()
    """


def in_group(group, script):
    """Runs a script in a process of that group, which leaves it 900 MiB."""
    place, limit = group
    (place / limit).write_text(str(900 << 20))
    join = f"import os; open({str(place / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))\n"
    parts = [join, *map(textwrap.dedent, (BEGIN, STEPS, script))]
    done = subprocess.run(
        [sys.executable, "-c", "".join(parts)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **QUIET},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_container_raises_an_error_instead_of_ending_the_process(group):
    told = in_group(
        group,
        """
        before = {name: one.data().asnumpy() for name, one in net.collect_params().items()}
        for _ in range(3):
            refused(lambda: step(large).asnumpy())
        for name, one in net.collect_params().items():
            np.testing.assert_array_equal(one.data().asnumpy(), before[name])
        for _ in range(3):
            assert np.isfinite(step(small).asnumpy()).all()
        print("went on")
        """,
    )
    assert told.count("by the memory limit of the container") == 3
    assert told.endswith("went on\n")


@pytest.mark.slow
def test_the_batch_that_is_said_to_fit_does(group):
    in_group(
        group,
        """
        told = refused(lambda: step(large).asnumpy())
        found, batch = re.search(r"a batch of about ([\\d,]+) instead of ([\\d,]+)", told).groups()
        assert batch == "400,000", told
        fits = int(found.replace(",", ""))
        assert 20_000 < fits < 300_000, told
        part = large[:fits].copy()
        for _ in range(3):
            assert np.isfinite(step(part).asnumpy()).all()
        """,
    )


# -- XLA and devices -------------------------------------------------------------------------


def test_what_xla_cannot_allocate_is_the_same_error():
    told = run_script(
        """
        import hybridnet as hn
        from hybridnet.runtime.programs import room
        room.tight_limit = lambda *_, **__: None  # so that XLA is asked
        x = hn.nd.zeros((1 << 20, 1 << 20))
        try:
            (x + 1).asnumpy()
        except hn.base.errors.OutOfMemoryError as error:
            assert isinstance(error, MemoryError)
            print(error)
        print(hn.nd.ones((2,)).asnumpy())
        """,
        HYBRIDNET_HOST="off",
        **QUIET,
    )
    assert "RESOURCE_EXHAUSTED" in told and told.endswith("[1. 1.]\n")
    assert "asked for at <string>:7" in told


def test_a_device_that_tells_of_its_memory_is_asked(monkeypatch):
    class Device:
        def memory_stats(self):
            return {"bytes_limit": 8 << 30, "bytes_in_use": 5 << 30, "peak_bytes_in_use": 7 << 30}

    monkeypatch.setattr(device_memory, "device_of", lambda ctx: Device())
    code = code_of(lambda x: x + 1, (4096, 1024))._replace(ctx=hn.gpu(0))
    error = OutOfMemoryError("RESOURCE_EXHAUSTED: out of memory")
    told = str(lack.told_lack(error, code, {}))
    assert "3,072 MiB left of 8,192 MiB, by the memory of gpu(0) (7,168 MiB" in told


def test_an_array_that_is_too_large_to_be_copied_is_such_an_error(monkeypatch):
    limit = MemoryLimit("a limit of the test", 100, 10)
    monkeypatch.setattr(lack, "tight_limit", lambda *_, **__: limit)
    with pytest.raises(OutOfMemoryError, match=r"needs 16 MiB(.|\n)*a limit of the test"):
        nd.array(np.ones((2048, 2048), np.float32))


# -- the numbers -----------------------------------------------------------------------------


def code_of(function, *shapes):
    """The structure that a function of arrays records."""
    arrays = [nd.ones(shape) for shape in shapes]
    nd.waitall()
    made = function(*arrays)
    segment = thread.segments[hn.cpu()]
    segment.find_live()
    code = segment.code()
    nd.waitall()
    assert made is not None
    return code


def test_the_peak_is_when_most_results_are_there():
    size = 256 * 1024 * 4
    chain = peak_of(code_of(lambda x: nd.tanh(nd.exp(x * 2)), (256, 1024)), {})
    assert chain.nbytes == 2 * size
    kept = peak_of(code_of(lambda x: [x * 2, nd.exp(x), x + 1], (256, 1024)), {})
    assert kept.nbytes == 3 * size
    summed = peak_of(code_of(lambda x: nd.exp(x).sum() + 1, (256, 1024)), {})
    assert summed.nbytes == size + 4
    viewed = peak_of(code_of(lambda x: nd.exp(x).reshape((1024, 256)) + 1, (256, 1024)), {})
    assert viewed.nbytes == 2 * size


def test_the_batch_is_the_dimension_that_the_memory_grows_with():
    code = code_of(lambda x, w: nd.dot(nd.tanh(x), w), (100, 30), (30, 7))
    peak = peak_of(code, {})
    assert lack._batch(code, peak) == (100, 1.0)
    advice = [*lack._advice(code, peak, peak.nbytes, peak.nbytes // 4)]
    assert advice[0] == "a batch of about 24 instead of 100"  # 25, of which three binary digits
    assert not any("float16" in one for one in advice)
    assert "float16 or bfloat16" in [*lack._advice(code, peak, peak.nbytes, peak.nbytes // 2)][-1]


def test_what_mirroring_saves_is_what_it_keeps_less():
    net = gluon.nn.HybridSequential()
    for _ in range(9):
        net.add(gluon.nn.Dense(64, activation="tanh", in_units=64))
    net.initialize()
    net.hybridize()
    x = nd.ones((50, 64))
    with autograd.record():
        net(x)
    (call,) = (call for call, _ in thread.segments[hn.cpu()].instructions if call.has_parts)
    kept, mirrored = call.kept_for_gradient()
    one = 50 * 64 * 4
    assert kept >= 8 * one
    assert 0 < mirrored <= kept * 2 // 3
    nd.waitall()
