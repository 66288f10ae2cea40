"""Steps for which there is no memory: an error, and everything as it was."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from helpers import run_script

from hybridnet import nd
from hybridnet.base.allocator import has_room
from hybridnet.base.params_file import save_params
from hybridnet.base.sparse_parts import SparseParts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space")

STEP = """
    import re, resource
    import numpy as np
    import hybridnet as hn
    from hybridnet import autograd, gluon, nd

    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(512, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dense(4))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    loss = gluon.loss.L2Loss()

    def step(x, y):
        with autograd.record():
            found = loss(net(x), y)
        found.backward()
        trainer.step(x.shape[0])
        return found

    def batch(size):
        return nd.array(np.random.rand(size, 64)), nd.array(np.random.rand(size, 4))

    small, large = batch(32), batch(300_000)
    """
LIMIT = """
    nd.waitall()
    weights = [parameter.data() for parameter in net.collect_params().values()]
    before = [weight.asnumpy() for weight in weights]
    with open("/proc/self/status") as status:
        used = int(re.search(r"VmSize:\\s+(\\d+)", status.read()).group(1)) * 1024
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29),) * 2)
    for _ in range(3):
        try:
            train(*large).asnumpy()
        except hn.base.errors.OutOfMemoryError as error:
            assert isinstance(error, MemoryError) and "MiB beside its inputs" in str(error), error
        else:
            raise AssertionError("there was room")
        for weight, value in zip(weights, before):
            np.testing.assert_array_equal(weight.asnumpy(), value)
        assert not autograd.is_recording()
    for _ in range(3):
        found = train(*small)
    assert np.isfinite(found.asnumpy()).all()
    assert any((weight.asnumpy() != value).any() for weight, value in zip(weights, before))
    """


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(
    "train",
    [
        "train = step",
        "net.hybridize(); train = step",
        "step(*small); train = hn.function(step, autograph=False)",
    ],
    ids=["eager", "hybridized", "function"],
)
def test_a_training_step_without_room_changes_nothing(train):
    begin = f"\n    {train}\n    for _ in range(4): train(*small)\n"
    run_script(STEP + begin + LIMIT, HYBRIDNET_CACHE_DIR="off")


def test_an_array_without_room_is_an_error_where_it_is_read():
    run_script(
        """
        import hybridnet as hn
        x = hn.nd.zeros((1 << 20, 1 << 20), dtype="float64")
        try:
            (x + 1).asnumpy()
        except MemoryError as error:
            assert "8,388,608 MiB" in str(error), error
        else:
            raise AssertionError("8 TiB were there")
        print(hn.nd.ones((2,)).asnumpy())
        """,
        HYBRIDNET_CACHE_DIR="off",
    )


@pytest.mark.parametrize("stype", ["row_sparse", "csr"])
def test_a_file_can_claim_any_size_and_harms_nobody(stype, tmp_path):
    far = np.array([1, 1 << 49])
    aux = [far] if stype == "row_sparse" else [np.array([0, 1, 2]), far]
    shape = (1 << 50, 4) if stype == "row_sparse" else (2, 1 << 50)
    stored = np.ones((2, 4) if stype == "row_sparse" else 2, np.float32)
    save_params(tmp_path / "x.params", {"x": SparseParts(stype, shape, stored, aux)})
    x = nd.load(str(tmp_path / "x.params"))["x"]
    assert x.shape == shape
    np.testing.assert_array_equal(x.data.asnumpy(), stored)
    for ask in (x.asnumpy, lambda: x.tostype("default").asnumpy(), lambda: (x + 1).asnumpy()):
        with pytest.raises(MemoryError, match="go on with smaller batches"):
            ask()


def test_room():
    assert has_room(1 << 20)
    assert not has_room(1 << 62)


def test_xla_does_not_begin_where_it_would_end_the_process():
    script = """
        import re, resource
        import jax
        import hybridnet as hn

        with open("/proc/self/status", encoding="utf-8") as status:
            used = int(re.search(r"VmSize:\\s+(\\d+)", status.read()).group(1)) * 1024
        resource.setrlimit(resource.RLIMIT_AS, (used + (330 << 20), resource.RLIM_INFINITY))
        try:
            (hn.nd.ones(3) + 1).asnumpy()
        except hn.base.errors.OutOfMemoryError as error:
            assert re.search("XLA needs 384 MiB of addresses to begin with 2 threads", str(error))
            assert "ulimit -v" in str(error) and "HYBRIDNET_HOST=only" in str(error)
        else:
            raise AssertionError("it has begun")
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        print((hn.nd.ones(3) + 1).asnumpy())
        """
    said = run_script(script, HYBRIDNET_HOST="off", HYBRIDNET_NUM_THREADS="2")
    assert said == "[2. 2. 2.]\n"
