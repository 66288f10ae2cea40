"""Arrays for which there is no room: weights, batches, states, and what is kept turn by turn."""

from __future__ import annotations

from specials import Special

MEMORY = [
    Special(
        "a layer with too many weights",
        "memory",
        "gluon",
        """
import hybridnet as mx
from hybridnet import gluon, nd

mx.random.seed($SEED)
$net = gluon.nn.HybridSequential()
$net.add(gluon.nn.Dense(8, in_units=$C))
$net.add(gluon.nn.Dense({{2 ** 22 || 4}}, in_units=8))
$net.add(gluon.nn.Dense({{2 ** 18 || 4}}, in_units={{2 ** 22 || 4}}))
$net.initialize()  # !
results = [$net(nd.ones((1, $C))).asnumpy().shape]  # !
""",
        {
            "torch": """
import torch

$net = torch.nn.Sequential(  # !
    torch.nn.Linear($C, 8), torch.nn.Linear(8, 2**22), torch.nn.Linear(2**22, 2**18)
)
results = [$net(torch.ones(1, $C)).shape]
""",
        },
    ),
    Special(
        "a table of words that is too large",
        "memory",
        "hybridized",
        """
import hybridnet as mx
from hybridnet import gluon, nd


class $Net(gluon.HybridBlock):
    def __init__(self, words, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embedding = gluon.nn.Embedding(words, 256)

    def hybrid_forward(self, F, words):
        return F.sum(self.embedding(words), axis=1)


mx.random.seed($SEED)
$net = $Net({{10**9 || 100}})
$net.hybridize()
$net.initialize(mx.init.Normal())  # !
results = [$net(nd.array([[1, 2], [3, 4]])).asnumpy().shape]  # !
""",
        {
            "torch": """
import torch


class $Net(torch.nn.Module):
    def __init__(self, words):
        super().__init__()
        self.embedding = torch.nn.Embedding(words, 256)  # !

    def forward(self, words):
        return self.embedding(words).sum(dim=1)


$net = $Net(10**9)
results = [$net(torch.tensor([[1, 2], [3, 4]])).shape]
""",
        },
    ),
    Special(
        "a batch too large in a training step",
        "memory",
        "gluon",
        """
import hybridnet as mx
from hybridnet import autograd, gluon, nd

mx.random.seed($SEED)
$net = gluon.nn.HybridSequential()
$net.add(gluon.nn.Dense({{4096 || 16}}, activation="relu", in_units=$C))
$net.add(gluon.nn.Dense(2, in_units={{4096 || 16}}))
$net.initialize()
$loss = gluon.loss.L2Loss()
trainer = gluon.Trainer($net.collect_params(), "sgd", {"learning_rate": 0.1})


def step(size):
    $data, labels = nd.ones((size, $C)), nd.ones((size, 2))
    with autograd.record():
        out = $net($data)  # !
        found = $loss(out, labels)
    found.backward()
    trainer.step(size)
    return found.mean().asscalar()


results = [step(size) for size in (4, 8, {{1_000_000 || 64}})]
""",
        {
            "torch": """
import torch

torch.manual_seed($SEED)
$net = torch.nn.Sequential(
    torch.nn.Linear($C, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 2)
)


def step(size):
    $data, labels = torch.ones(size, $C), torch.ones(size, 2)
    out = $net($data)  # !
    $loss = torch.nn.functional.mse_loss(out, labels)
    $loss.backward()
    return $loss.item()


results = [step(size) for size in (4, 8, 1_000_000)]
""",
            "jax": """
import jax
import jax.numpy as jnp


def $f($w, $data):
    out = jnp.maximum($data @ $w[0], 0) @ $w[1]  # !
    return jnp.mean((out - 1) ** 2)


$w = [jnp.ones(($C, 4096)), jnp.ones((4096, 2))]
step = jax.jit(jax.grad($f))
results = [step($w, jnp.ones((size, $C)))[0].sum().tolist() for size in (4, 8, 1_000_000)]
""",
        },
    ),
    Special(
        "what is kept of each turn",
        "memory",
        "nd",
        """
import hybridnet as mx
from hybridnet import nd

$data = nd.ones((1024, 1024))
kept = []
for $turn in range({{2000 || 3}}):
    $y = nd.tanh($data * $turn)
    kept.append(nd.concat($y, $y, dim=1) + 1)  # !
    nd.waitall()
results = [nd.sum(kept[-1]).asscalar()]
""",
        {
            "torch": """
import torch

$data = torch.ones(1024, 1024)
kept = []
for $turn in range(2000):
    $y = torch.tanh($data * $turn)
    kept.append(torch.cat([$y, $y], dim=1) + 1)  # !
results = [torch.sum(kept[-1]).item()]
""",
            "jax": """
import jax.numpy as jnp

$data = jnp.ones((1024, 1024))
kept = []
for $turn in range(2000):
    $y = jnp.tanh($data * $turn)
    kept.append(jnp.concatenate([$y, $y], axis=1) + 1)  # !
results = [jnp.sum(kept[-1]).tolist()]
""",
        },
    ),
    Special(
        "losses are summed with their tape",
        "memory",
        "nd",
        """
import hybridnet as mx
from hybridnet import autograd, nd

$w = nd.ones((2048, 2048)) * 0.001
$w.attach_grad()
total = nd.zeros((1,))
with autograd.record():
    for $turn in range({{3000 || 3}}):
        $y = nd.tanh($w * $turn)  # !
        total = total + nd.sum($y * $y)  # !
        total.wait_to_read()
total.backward()
results = [$w.grad.asnumpy().shape]
""",
    ),
]
