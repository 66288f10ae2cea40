"""Training in half precision with float32 masters: losses of float32, and of PyTorch's autocast.

Either all weights are cast and the optimizer keeps float32 ones (`multi_precision`), or they stay
and `amp` casts what goes into products. float16 has its losses scaled.
"""

import json
from itertools import product

import numpy as np
import pytest
from helpers import thorough
from oracle import autocast_cases as cases
from places import ORACLE
from text_models import FOLDERS, whole

from hybridnet import autograd, gluon
from hybridnet.contrib import amp
from hybridnet.gluon.model_zoo import text

RECORDED = json.loads((ORACLE / "autocast.json").read_text())
#: How far a loss may be from another's whose numbers have so few digits, too.
NEAR = {"float32": 1e-4, "bfloat16": 0.04, "float16": 0.01}


@pytest.fixture(autouse=True)
def _no_amp_after():
    yield
    amp.stop()


def trained(name, dtype, way, hybridized):
    """Returns the losses, the network, and how often an update was left out."""
    net = text.load(FOLDERS / name)
    if way == "amp":
        amp.init(dtype)
    elif dtype != "float32":
        net.cast(dtype)
    net.hybridize(hybridized)
    entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    options = {"learning_rate": cases.RATE, "multi_precision": way == "masters"}
    trainer = gluon.Trainer(net.collect_params(), "adamw", options)
    if dtype == "float16":
        amp.init_trainer(trainer)
    weight = net.features.layers[0].hidden.weight
    held, left_out = [weight.data().asnumpy()], []

    def step(batch):
        tokens = whole(batch)
        with autograd.record(train_mode=False):  # as theirs, without dropout
            scores = net(tokens[:, :-1])
            loss = entropy(scores.astype("float32"), tokens[:, 1:]).mean()
            if dtype == "float16":
                with amp.scale_loss(loss, trainer) as scaled:
                    scaled.backward()
        if dtype != "float16":
            loss.backward()
        trainer.step(1)
        assert str(np.dtype(scores.dtype)) == dtype
        return loss.asscalar()

    def is_taken():
        held.append(weight.data().asnumpy())
        moved = not np.array_equal(held[-1], held[-2])
        left_out.append(not moved)
        return moved

    return cases.losses(step, is_taken), net, sum(left_out)


#: Network, dtype, way, and whether it is hybridized; but for a night's run four of them.
WAYS = thorough(
    list(product(cases.NETWORKS, ["bfloat16", "float16"], ["masters", "amp"], [True, False])),
    [
        ("gpt2", "bfloat16", "masters", True),
        ("gpt2", "float16", "amp", True),
        ("llama", "bfloat16", "amp", False),
        ("llama", "float16", "masters", False),
    ],
)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype", "way", "hybridized"), WAYS)
def test_losses_are_those_of_float32_and_of_autocast(name, dtype, way, hybridized):
    losses, net, left_out = trained(name, dtype, way, hybridized)
    for other in ("float32", dtype):
        np.testing.assert_allclose(
            losses, RECORDED[f"{name} {other}"], rtol=0, atol=NEAR[dtype], err_msg=other
        )
    kept = {str(np.dtype(one.dtype)) for one in net.collect_params().values()}
    assert kept == {"float32" if way == "amp" else dtype}
    assert left_out <= (2 if dtype == "float16" else 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", cases.NETWORKS)
def test_losses_of_float32(name):
    losses, _, _ = trained(name, "float32", "masters", True)
    np.testing.assert_allclose(losses, RECORDED[f"{name} float32"], rtol=0, atol=NEAR["float32"])
