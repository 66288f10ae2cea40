"""NaN and infinity where no operator of one's own makes them: in data, losses, updates, metrics."""

from __future__ import annotations

from specials import Special

_TORCH_NET = """
import torch

torch.manual_seed($SEED)
$net = torch.nn.Sequential(torch.nn.Linear($C, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
"""

NAN = [
    Special(
        "a missing value in the data",
        "nan",
        "data",
        """
import numpy

import hybridnet as mx
from hybridnet import autograd, gluon, nd

rows = numpy.linspace(0, 1, $N, dtype="float32").reshape($R, $C)
rows[1, 2] = {{numpy.nan || 0}}
$data = nd.array(rows)  # !
mx.random.seed($SEED)
$net = gluon.nn.Dense(1, in_units=$C)
$net.initialize()
trainer = gluon.Trainer($net.collect_params(), "sgd", {"learning_rate": 0.1})
for $turn in range($T):
    with autograd.record():
        $y = $net($data)  # !
        $loss = nd.mean($y * $y)
    $loss.backward()
    trainer.step(1)
results = [$loss.asnumpy()]
""",
        {
            "torch": _TORCH_NET
            + """
rows = [[0.1] * $C for _ in range($R)]
rows[1][2] = float("nan")
$data = torch.tensor(rows)  # !
for $turn in range($T):
    $y = $net($data)  # !
    $loss = torch.mean($y * $y)
    $loss.backward()
results = [$loss.item()]
""",
            "jax": """
import jax
import jax.numpy as jnp

rows = [[0.1] * $C for _ in range($R)]
rows[1][2] = float("nan")
$data = jnp.array(rows)  # !
$w = jnp.ones(($C, 1))


def $f($w):
    $y = $data @ $w  # !
    return jnp.mean($y * $y)


results = [jax.jit(jax.value_and_grad($f))($w)[0].tolist()]
""",
        },
    ),
    Special(
        "a column of zeros is standardized",
        "nan",
        "data",
        """
import numpy

import hybridnet as mx
from hybridnet import nd


def standardized(rows):
    centred = nd.broadcast_sub(rows, nd.mean(rows, axis=0, keepdims=True))
    deviation = nd.sqrt(nd.mean(centred * centred, axis=0, keepdims=True))
    return nd.broadcast_div(centred, deviation)  # !


rows = numpy.random.RandomState($SEED).rand(4 * $R, $C).astype("float32")
rows[:, 1] = {{0 || rows[:, 0]}}
batches = mx.io.NDArrayIter(standardized(nd.array(rows)), batch_size=$R)
results = [sum(nd.sum(batch.data[0]).asscalar() for batch in batches)]
""",
        {
            "torch": """
import torch


def standardized(rows):
    centred = rows - rows.mean(dim=0, keepdim=True)
    return centred / torch.sqrt(torch.mean(centred * centred, dim=0, keepdim=True))  # !


rows = torch.linspace(0, 1, $N).reshape($R, $C)
rows[:, 1] = 0
results = [standardized(rows).tolist()]
""",
            "jax": """
import jax.numpy as jnp


def standardized(rows):
    centred = rows - rows.mean(axis=0, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred * centred, axis=0, keepdims=True))  # !


rows = jnp.linspace(0, 1, $N).reshape($R, $C).at[:, 1].set(0)
results = [standardized(rows).tolist()]
""",
        },
    ),
    Special(
        "the rate is too large: weights overflow in the update",
        "nan",
        "optimizer",
        """
import hybridnet as mx
from hybridnet import autograd, gluon, nd

mx.random.seed($SEED)
$net = gluon.nn.HybridSequential()
$net.add(gluon.nn.Dense(8, in_units=$C), gluon.nn.Dense(1, in_units=8))
$net.initialize()
trainer = gluon.Trainer($net.collect_params(), "sgd", {"learning_rate": {{3e38 || 0.01}}})
$data = (nd.arange(1, $N + 1) / $N).reshape(($R, $C))
with autograd.record():
    $loss = nd.sum($net($data) * 100)
$loss.backward()
trainer.step(1)  # !
results = [one.data().asnumpy() for one in $net.collect_params().values()]
""",
        {
            "torch": _TORCH_NET
            + """
trainer = torch.optim.SGD($net.parameters(), lr=3e38)
$loss = torch.sum($net(torch.ones($R, $C)) * 100)
$loss.backward()
trainer.step()  # !
results = [one.tolist() for one in $net.parameters()]
""",
        },
    ),
    Special(
        "a module's update overflows",
        "nan",
        "optimizer",
        """
import hybridnet as mx
from hybridnet import nd, sym

$net = sym.FullyConnected(sym.var("data"), num_hidden=2, name="$name1")
$net = sym.LinearRegressionOutput($net, sym.var("label"))
module = mx.mod.Module($net, label_names=["label"])
module.bind([("data", ($R, $C))], [("label", ($R, 2))])
mx.random.seed($SEED)
module.init_params(mx.init.One())
module.init_optimizer(
    optimizer="sgd", optimizer_params={"learning_rate": {{2e38 || 0.01}}, "rescale_grad": 100}
)
batch = mx.io.DataBatch([nd.ones(($R, $C))], [nd.zeros(($R, 2))])
module.forward_backward(batch)
module.update()  # !
results = [one.asnumpy() for one in module.get_params()[0].values()]
""",
    ),
    Special(
        "Adam without its epsilon",
        "nan",
        "optimizer",
        """
import hybridnet as mx
from hybridnet import autograd, gluon, nd


class $Net(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.used = self.params.get("used", shape=(1, $C))
            self.idle = self.params.get("idle", shape=(1, $C))

    def hybrid_forward(self, F, v, used, idle):
        return F.broadcast_mul(v, used) + F.broadcast_mul(F.zeros_like(v), idle)


mx.random.seed($SEED)
$net = $Net()
$net.initialize(mx.init.Normal(0.5))
$net.hybridize()
rate = {"learning_rate": 0.01, "epsilon": {{0 || 1e-8}}, "wd": 0}
trainer = gluon.Trainer($net.collect_params(), "adam", rate)
for $turn in range($T):
    with autograd.record():
        $loss = nd.sum($net(nd.ones(($R, $C))))
    $loss.backward()
    trainer.step($R)  # !
results = [$net.idle.data().asnumpy()]
""",
        {
            "torch": """
import torch

used, idle = torch.ones($C, requires_grad=True), torch.ones($C, requires_grad=True)
trainer = torch.optim.Adam([used, idle], lr=0.01, eps=0)
for $turn in range($T):
    trainer.zero_grad()
    $loss = torch.sum(torch.ones($R, $C) * used + torch.zeros($R, $C) * idle)
    $loss.backward()
    trainer.step()  # !
results = [idle.tolist()]
""",
        },
    ),
    Special(
        "gradients of float16 overflow by the scale of the loss",
        "nan",
        "np",
        """
from hybridnet import autograd, np

$w = np.ones(($R, $C), dtype="float16") * 0.5
$w.attach_grad()
with autograd.record():
    $x = $w * 2
    $y = $x * {{1000 || 2}}  # !
    $loss = np.sum($y.astype("float32")) * {{1000 || 2}}
$loss.backward()
results = [$loss.item(), $w.grad.asnumpy()]
""",
        {
            "torch": """
import torch

$w = (torch.ones($R, $C) * 0.5).half().requires_grad_()
$x = $w * 2
$y = $x * 1000  # !
$loss = torch.sum($y.float()) * 1000
$loss.backward()
results = [$w.grad.tolist()]
""",
            "jax": """
import jax
import jax.numpy as jnp


def $f($w):
    $x = $w * 2
    $y = $x * jnp.float16(1000)  # !
    return jnp.sum($y.astype("float32")) * 1000


$w = jnp.ones(($R, $C), "float16") * 0.5
results = [jax.grad($f)($w).tolist()]
""",
        },
    ),
    Special(
        "a loss that takes the log of a probability of 0",
        "nan",
        "gluon",
        """
import hybridnet as mx
from hybridnet import autograd, gluon, nd

mx.random.seed($SEED)
$net = gluon.nn.HybridSequential()
$net.add(gluon.nn.Dense(8, activation="relu", in_units=$C))
$net.add(gluon.nn.Dense(3, in_units=8))
$net.initialize()
$net.hybridize()
$loss = gluon.loss.SoftmaxCrossEntropyLoss(from_logits=True)
$data, labels = nd.ones(($R, $C)), nd.zeros(($R,))
with autograd.record():
    chances = nd.softmax($net($data))
    chances = nd.broadcast_mul(chances, nd.array([[{{0 || 0.5}}, 1, 1]]))
    logs = nd.log(chances)  # !
    found = $loss(logs, labels)
found.backward()
results = [found.asnumpy()]
""",
        {
            "torch": _TORCH_NET.replace("(8, 1)", "(8, 3)")
            + """
chances = torch.softmax($net(torch.ones($R, $C)), dim=1) * torch.tensor([[0, 1, 1]])
logs = torch.log(chances)  # !
$loss = torch.nn.functional.nll_loss(logs, torch.zeros($R, dtype=torch.long))
$loss.backward()
results = [$loss.item()]
""",
        },
    ),
]
