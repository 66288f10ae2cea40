"""Positions outside of an array that come from data, or that no operator of one's own takes."""

from __future__ import annotations

from specials import Special

INDEX = [
    Special(
        "a word beyond the vocabulary",
        "index",
        "hybridized",
        """
import hybridnet as mx
from hybridnet import autograd, gluon, nd


class $Net(gluon.HybridBlock):
    def __init__(self, words, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embedding = gluon.nn.Embedding(words, 8)
            self.last = gluon.nn.Dense(2)

    def hybrid_forward(self, F, tokens_in):
        $x = self.embedding(tokens_in)  # !
        $x = F.mean($x, axis=1)
        return self.last($x)


mx.random.seed($SEED)
words = 10 * $C
$net = $Net(words)
$net.initialize()
$net.hybridize()
trainer = gluon.Trainer($net.collect_params(), "adam", {"learning_rate": 0.01})
sentences = nd.array([[1, 2, 3], [4, {{10 * $C || 5}}, 6]])
for $turn in range($T):
    with autograd.record():
        $loss = nd.sum($net(sentences))
    $loss.backward()
    trainer.step(2)
results = [$loss.asnumpy()]
""",
        {
            "torch": """
import torch


class $Net(torch.nn.Module):
    def __init__(self, words):
        super().__init__()
        self.embedding = torch.nn.Embedding(words, 8)
        self.last = torch.nn.Linear(8, 2)

    def forward(self, tokens_in):
        $x = self.embedding(tokens_in)  # !
        $x = torch.mean($x, dim=1)
        return self.last($x)


$net = $Net(10 * $C)
$loss = torch.sum($net(torch.tensor([[1, 2, 3], [4, 10 * $C, 6]])))
$loss.backward()
results = [$loss.item()]
""",
            "jax": """
import jax
import jax.numpy as jnp

table = jnp.ones((10 * $C, 8))


def $f(table, tokens_in):
    $x = table[tokens_in]  # !
    return jnp.sum(jnp.mean($x, axis=1))


$loss, slope = jax.jit(jax.value_and_grad($f))(table, jnp.array([[1, 2, 3], [4, 10 * $C, 6]]))
results = [$loss.tolist()]
""",
        },
    ),
    Special(
        "labels that count from 1",
        "index",
        "gluon",
        """
import hybridnet as mx
from hybridnet import autograd, gluon, nd

mx.random.seed($SEED)
$net = gluon.nn.HybridSequential()
$net.add(gluon.nn.Dense(16, activation="relu"), gluon.nn.Dense($R))
$net.initialize()
$net.hybridize()
$loss = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer($net.collect_params(), "sgd", {"learning_rate": 0.1})
$data, labels = nd.ones(($R, $C)), nd.arange({{1 || 0}}, $R {{+ 1||}})
for $turn in range($T):
    with autograd.record():
        found = $loss($net($data), labels)  # !
    found.backward()
    trainer.step($R)
results = [found.asnumpy()]
""",
        {
            "torch": """
import torch

$net = torch.nn.Sequential(torch.nn.Linear($C, 16), torch.nn.ReLU(), torch.nn.Linear(16, $R))
$loss = torch.nn.CrossEntropyLoss()
found = $loss($net(torch.ones($R, $C)), torch.arange(1, $R + 1))  # !
found.backward()
results = [found.item()]
""",
            "jax": """
import jax
import jax.numpy as jnp


def $f($w, labels):
    logs = jax.nn.log_softmax(jnp.ones(($R, $C)) @ $w)
    return -jnp.mean(jnp.take_along_axis(logs, labels[:, None], axis=1))  # !


found, slope = jax.jit(jax.value_and_grad($f))(jnp.ones(($C, $R)), jnp.arange(1, $R + 1))
results = [found.tolist()]
""",
        },
    ),
    Special(
        "an array of positions in brackets",
        "index",
        "nd",
        """
import hybridnet as mx
from hybridnet import nd


def shuffled(rows, order):
    return rows[order]  # !


rows = nd.arange($N).reshape(($R, $C))
orders = [nd.array([0, 1, 2]), nd.array([2, 1, {{$R || 0}}]), nd.array([1, 1, 1])]
results = [nd.sum(shuffled(rows, one)).asscalar() for one in orders]
""",
        {
            "torch": """
import torch


def shuffled(rows, order):
    return rows[order]  # !


rows = torch.arange($N).reshape($R, $C)
results = [shuffled(rows, torch.tensor(one)).sum().item() for one in ([0, 1], [1, $R])]
""",
            "jax": """
import jax.numpy as jnp


def shuffled(rows, order):
    return rows[order]  # !


rows = jnp.arange($N).reshape($R, $C)
results = [shuffled(rows, jnp.array(one)).sum().tolist() for one in ([0, 1], [1, $R])]
""",
        },
    ),
    Special(
        "a number in brackets",
        "index",
        "nd",
        """
import hybridnet as mx
from hybridnet import nd

rows = nd.arange($N).reshape(($R, $C))
total = 0
for $turn in range($R {{+ 1||}}):
    total += nd.max(rows[$turn]).asscalar()  # !
results = [total]
""",
        {
            "torch": """
import torch

rows = torch.arange($N).reshape($R, $C)
total = 0
for $turn in range($R + 1):
    total += torch.max(rows[$turn]).item()  # !
results = [total]
""",
            "jax": """
import jax.numpy as jnp

rows = jnp.arange($N).reshape($R, $C)
total = 0
for $turn in range($R + 1):
    total += jnp.max(rows[$turn]).item()  # !
results = [total]
""",
        },
    ),
    Special(
        "rows written by positions",
        "index",
        "nd",
        """
import hybridnet as mx
from hybridnet import nd

counts = nd.zeros(($R,))
for word in (0, 1, 1, 2, 0):
    place = nd.array([word + {{$R || 0}} * (word == 2)])
    counts[place] = counts.max() + 1  # !
results = [counts.asnumpy()]
""",
        {
            "torch": """
import torch

counts = torch.zeros($R)
for word in (0, 1, 1, 2, 0):
    place = torch.tensor([word + $R * (word == 2)])
    counts[place] = counts.max() + 1  # !
results = [counts.tolist()]
""",
            "jax": """
import jax.numpy as jnp

counts = jnp.zeros($R)
for word in (0, 1, 1, 2, 0):
    place = jnp.array([word + $R * (word == 2)])
    counts = counts.at[place].set(counts.max() + 1)  # !
results = [counts.tolist()]
""",
        },
    ),
    Special(
        "a bin of numbers of which the largest is the edge",
        "index",
        "np",
        """
from hybridnet import np

table = np.arange($R, dtype="float32") * 2


def $f(values_in):
    bins = np.floor(values_in * $R).astype("int32")
    return table[bins]  # !


found = $f(np.linspace(0, {{1.0 || 0.99}}, $N))
results = [np.sum(found).item()]
""",
        {
            "torch": """
import torch

table = torch.arange($R) * 2


def $f(values_in):
    bins = torch.floor(values_in * $R).long()
    return table[bins]  # !


results = [$f(torch.linspace(0, 1, $N)).sum().item()]
""",
            "jax": """
import jax
import jax.numpy as jnp

table = jnp.arange($R) * 2


@jax.jit
def $f(values_in):
    bins = jnp.floor(values_in * $R).astype("int32")
    return table[bins]  # !


results = [$f(jnp.linspace(0, 1, $N)).sum().tolist()]
""",
        },
    ),
]
